package dev.waybill.definition;

import dev.waybill.json.Json;
import java.util.Locale;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What of an HTTP request can be sent as written (RFC 9110 sections 5 and 9, case A34). The same rule speaks when a sequence is published
 * and when it runs, so that nothing constant is accepted first and refused later. Messages never quote a value.
 */
public final class HeaderRules {
    /** RFC 9110, section 5.6.2. */
    private static final Pattern TOKEN = Pattern.compile("[!#$%&'*+.^_`|~0-9A-Za-z-]+");

    private static final Pattern METHOD = Pattern.compile("[A-Za-z-]{1,32}");
    private static final Set<String> NEVER_SENT = Set.of("CONNECT", "TRACE");

    /**
     * They belong to the transport: framing, routing and the connection; or they ask for an answer it does not read. Who sets them by
     * hand asks for request smuggling or a lie about the length.
     */
    private static final Set<String> FORBIDDEN = Set.of(
            "host", "content-length", "transfer-encoding", "connection", "keep-alive", "te", "trailer", "upgrade", "expect",
            "accept-encoding");

    private HeaderRules() {}

    /** Whether {@code name} is a token, as a header's name must be. */
    public static boolean isToken(String name) {
        return TOKEN.matcher(name).matches();
    }

    /** Whether the transport sets a header of this name, a token, itself. */
    public static boolean isForbidden(String name) {
        String lower = name.toLowerCase(Locale.ROOT);
        return FORBIDDEN.contains(lower) || lower.startsWith("proxy-") || lower.startsWith("waybill-");
    }

    /**
     * Why this cannot be the value of a header, or null: control characters, a tab too, end or fold a line for somebody, and white space
     * other than spaces is taken away at the ends by clients and servers that count it as white space (a no-break space, say).
     */
    public static @Nullable String valueFault(String value) {
        boolean control = value.chars().anyMatch(c -> c < 0x20 || c >= 0x7f && c < 0xa0);
        if (control || Json.hasLoneSurrogate(value)) {
            return "a control character or a broken one in its value";
        }
        int start = 0;
        int end = value.length();
        while (start < end && value.charAt(start) == ' ') {
            start++;
        }
        while (end > start && value.charAt(end - 1) == ' ') {
            end--;
        }
        boolean trimmed = start < end && (isSpace(value.charAt(start)) || isSpace(value.charAt(end - 1)));
        return trimmed ? "white space at an end of its value that would not arrive" : null;
    }

    private static boolean isSpace(char c) {
        return Character.isWhitespace(c) || Character.isSpaceChar(c);
    }

    /** Why this is no method that is sent, or null. */
    public static @Nullable String methodFault(String method) {
        if (!METHOD.matcher(method).matches()) {
            return "method must be the name of an HTTP method";
        }
        return NEVER_SENT.contains(method.toUpperCase(Locale.ROOT)) ? "method " + method.toUpperCase(Locale.ROOT) + " is not sent" : null;
    }
}
