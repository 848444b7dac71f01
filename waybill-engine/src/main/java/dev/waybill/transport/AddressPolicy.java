package dev.waybill.transport;

import dev.waybill.model.Problem;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import okhttp3.HttpUrl;
import org.jspecify.annotations.Nullable;

/**
 * Which addresses an effect may dial (reliability.md section 6.2, case A35). Every address a name resolves to must be public; one
 * that is not blocks the whole name. Exact {@code host:port} pairs can be opened for test targets. Immutable.
 */
public final class AddressPolicy {
    public static final String DESTINATION_BLOCKED = "DESTINATION_BLOCKED";
    /** Longest URL that is accepted, in characters. */
    public static final int MAX_URL_CHARS = 8_192;

    private static final Pattern URL = Pattern.compile("(?i)(https?)://([^/?#]*)[^\\t\\n\\r\\f]*");
    private static final Pattern AUTHORITY = Pattern.compile("(\\[[0-9A-Fa-f:.]+]|[^:\\[\\]/?#@%\\\\\\s]+)(?::([0-9]{1,5}))?");
    /** A last label like this makes a host a number to some resolver or other (WHATWG URL, "ends in a number"). */
    private static final Pattern ENDS_IN_NUMBER = Pattern.compile("(?:.*\\.)?(?:[0-9]+|0[xX][0-9a-fA-F]*)");

    /**
     * Java's own predicates miss most of these (measured, reliability.md 6.2). For IPv6 everything outside 2000::/3 is closed, which
     * takes in loopback, v4-compatible, 64:ff9b::/96, fc00::/7, fe80::/10 and multicast.
     */
    private static final List<Cidr> BLOCKED = Cidr.list(
            "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
            "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
            "224.0.0.0/4", "240.0.0.0/4", "::/3", "4000::/2", "8000::/1", "2001::/23", "2001:db8::/32", "2002::/16",
            "3fff::/20");

    private static final List<Cidr> INTERNAL = Cidr.list(
            "127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "100.64.0.0/10", "::1/128", "fc00::/7");

    /** Cloud metadata services inside {@link #INTERNAL}: they hand out credentials, so only an exact pair opens them. */
    private static final List<Cidr> METADATA = Cidr.list("100.100.100.200/32", "fd00:ec2::254/128", "fd20:ce::254/128");

    private final Set<String> allowedPairs;
    private final boolean allowInternal;

    private AddressPolicy(Set<String> allowedPairs, boolean allowInternal) {
        this.allowedPairs = Set.copyOf(allowedPairs);
        this.allowInternal = allowInternal;
    }

    /** Public addresses only. */
    public static AddressPolicy publicOnly() {
        return new AddressPolicy(Set.of(), false);
    }

    /**
     * @param allowHostPorts exact pairs such as {@code 127.0.0.1:8080}, {@code [::1]:8080}, {@code stub.test:80}; blank, {@code false}
     *                       and {@code 0} open nothing (case A35: an allow flag that was on for {@code false})
     * @param allowInternal  opens loopback, private, shared and unique local addresses; link-local and metadata stay closed
     * @throws IllegalArgumentException when an entry is not an exact pair
     */
    public static AddressPolicy fromConfig(List<String> allowHostPorts, boolean allowInternal) {
        Set<String> pairs = new HashSet<>();
        for (String entry : allowHostPorts) {
            String pair = entry.trim().toLowerCase(Locale.ROOT);
            if (pair.isEmpty() || pair.equals("false") || pair.equals("0")) continue;
            pairs.add(canonicalPair(pair));
        }
        return new AddressPolicy(pairs, allowInternal);
    }

    /** The value of a flag like WAYBILL_ALLOW_INTERNAL: on for {@code true} and {@code 1} only. */
    public static boolean flag(@Nullable String value) {
        return value != null && (value.trim().equalsIgnoreCase("true") || value.trim().equals("1"));
    }

    /**
     * Opens one more exact pair.
     *
     * @throws IllegalArgumentException when it is not one
     */
    public AddressPolicy allow(String hostPort) {
        Set<String> pairs = new HashSet<>(allowedPairs);
        pairs.add(canonicalPair(hostPort.trim().toLowerCase(Locale.ROOT)));
        return new AddressPolicy(pairs, allowInternal);
    }

    /** What {@link #vet} says. */
    public sealed interface Verdict {
        /** May be dialled; {@link Destination#resolved()} is false when the name has no address now. */
        record Allowed(Destination destination) implements Verdict {}

        /** PARAM_INVALID: not a URL this engine sends to. DESTINATION_BLOCKED: an address that is closed. Never retried. */
        record Refused(Problem problem) implements Verdict {}
    }

    /** True when {@link #vet} has to ask the resolver for this URL. */
    public static boolean needsLookup(String url) {
        return parse(url) instanceof Parsed.Host host && host.literal() == null;
    }

    /** Canonicalises, resolves once and checks every address. */
    public Verdict vet(String url, Resolver resolver) {
        return switch (parse(url)) {
            case Parsed.Bad(Problem problem) -> new Verdict.Refused(problem);
            case Parsed.Host host -> vet(host, resolver);
        };
    }

    private Verdict vet(Parsed.Host host, Resolver resolver) {
        List<InetAddress> addresses;
        try {
            addresses = host.literal() != null ? List.of(host.literal()) : resolver.resolve(host.url().host());
        } catch (UnknownHostException e) {
            addresses = List.of();
        }
        Destination destination = new Destination(host.url(), addresses);
        if (allowedPairs.contains(pair(host.url().host(), host.url().port()))) return new Verdict.Allowed(destination);
        for (InetAddress address : addresses) {
            if (!open(address)) {
                return new Verdict.Refused(blocked(
                        destination + " resolves to " + address.getHostAddress() + ", which is not a public address"));
            }
        }
        return new Verdict.Allowed(destination);
    }

    boolean open(InetAddress address) {
        byte[] bytes = address.getAddress();
        if (allowInternal && contains(INTERNAL, bytes) && !contains(METADATA, bytes)) return true;
        return !contains(BLOCKED, bytes);
    }

    private sealed interface Parsed {
        record Host(HttpUrl url, @Nullable InetAddress literal) implements Parsed {}

        record Bad(Problem problem) implements Parsed {}
    }

    /** Messages here never repeat the URL: where it does not parse, nobody knows which part is the secret. */
    private static Parsed parse(String raw) {
        if (raw.length() > MAX_URL_CHARS) return invalid("url is longer than " + MAX_URL_CHARS + " characters");
        Matcher whole = URL.matcher(raw);
        if (raw.indexOf('\\') >= 0 || raw.chars().anyMatch(c -> c < 0x20 || c == 0x7f) || !whole.matches()) {
            return invalid("url must be an absolute http or https URL without control characters or backslashes");
        }
        String authority = whole.group(2);
        if (authority.indexOf('@') >= 0) return invalid("url must not carry user information; use a header");
        Matcher parts = AUTHORITY.matcher(authority);
        if (!parts.matches()) return invalid("url has no valid host and port");
        HttpUrl url = HttpUrl.parse(raw.strip());
        if (url == null) return invalid("url has no valid host and port");
        String written = withoutTrailingDot(parts.group(1));
        String host = withoutTrailingDot(url.host());
        if (host.isEmpty() || host.endsWith(".")) return invalid("url has no valid host and port");
        if (!host.equals(url.host())) url = url.newBuilder().host(host).build();
        if (written.startsWith("[")) {
            InetAddress literal = InetAddress.ofLiteral(written.substring(1, written.length() - 1));
            // Java turns ::ffff:a.b.c.d into IPv4: nobody writes that but to hide an address.
            if (literal instanceof Inet4Address) return new Parsed.Bad(blocked("url hides an IPv4 address in an IPv6 one"));
            return new Parsed.Host(url, literal);
        }
        if (!ENDS_IN_NUMBER.matcher(host).matches()) return new Parsed.Host(url, null);
        InetAddress literal = canonicalV4(host);
        if (literal == null || !host.equals(written)) {
            return new Parsed.Bad(blocked("url names its host by a number that is not a plain IPv4 address"));
        }
        return new Parsed.Host(url, literal);
    }

    /** Null unless {@code text} is the one canonical spelling: 127.1, 0177.0.0.1 and 2130706433 mean different hosts to different libraries. */
    private static @Nullable InetAddress canonicalV4(String text) {
        try {
            InetAddress address = Inet4Address.ofLiteral(text);
            return address.getHostAddress().equals(text) ? address : null;
        } catch (IllegalArgumentException e) {
            return null;
        }
    }

    private static String canonicalPair(String hostPort) {
        Matcher parts = AUTHORITY.matcher(hostPort);
        HttpUrl url = parts.matches() && parts.group(2) != null ? HttpUrl.parse("http://" + hostPort + "/") : null;
        if (url == null) throw new IllegalArgumentException("not an exact host:port pair: " + hostPort);
        return pair(withoutTrailingDot(url.host()), url.port());
    }

    private static String pair(String host, int port) {
        return host + " " + port;
    }

    private static String withoutTrailingDot(String host) {
        return host.endsWith(".") ? host.substring(0, host.length() - 1) : host;
    }

    private static Parsed invalid(String message) {
        return new Parsed.Bad(Problem.of("PARAM_INVALID", message));
    }

    private static Problem blocked(String message) {
        return Problem.of(DESTINATION_BLOCKED, message);
    }

    private static boolean contains(List<Cidr> networks, byte[] address) {
        for (Cidr network : networks) if (network.contains(address)) return true;
        return false;
    }

    @SuppressWarnings("ArrayRecordComponent") // private, never compared
    private record Cidr(byte[] network, int bits) {
        static List<Cidr> list(String... texts) {
            List<Cidr> all = new ArrayList<>();
            for (String text : texts) {
                int slash = text.indexOf('/');
                byte[] network = InetAddress.ofLiteral(text.substring(0, slash)).getAddress();
                all.add(new Cidr(network, Integer.parseInt(text.substring(slash + 1))));
            }
            return List.copyOf(all);
        }

        boolean contains(byte[] address) {
            if (address.length != network.length) return false;
            for (int i = 0; i < network.length && i * 8 < bits; i++) {
                int mask = bits - i * 8 >= 8 ? 0xff : 0xff << (8 - (bits - i * 8)) & 0xff;
                if ((address[i] & mask) != (network[i] & mask)) return false;
            }
            return true;
        }
    }
}
