package dev.waybill.json;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * Who is called and with what, as text for people and as hashes (semantics.md sections 2 and 3). No credential reaches either, neither
 * a secret's value nor one that the author wrote as a literal (case A36): userinfo, query values whose name looks like a credential, and
 * the credential headers.
 */
public final class Fingerprints {
    private static final String DESTINATION_V1 = "waybill-destination-v1\0";
    private static final List<String> DESTINATION_FIELDS =
            List.of("url", "provider", "model", "topic", "queue", "resource", "endpoint");
    private static final Set<String> CREDENTIAL_HEADERS =
            Set.of("authorization", "proxy-authorization", "cookie", "x-api-key", "api-key", "x-auth-token");
    private static final Set<String> VOLATILE_HEADERS = Set.of("traceparent", "tracestate", "date", "x-request-id");
    private static final Set<String> CREDENTIAL_NAMES =
            Set.of("key", "sig", "pwd", "passwd", "auth", "accesskey", "secretkey", "subscriptionkey", "appkey");
    private static final List<String> CREDENTIAL_ENDINGS = List.of("apikey", "token", "secret", "signature", "password");

    private Fingerprints() {}

    /**
     * @param text        for people: the handler, then {@code scheme://host:port/path} for a URL and {@code name=value} for the rest
     * @param fingerprint hex SHA-256 of the handler and those fields
     */
    public record Destination(String text, String fingerprint) {}

    /**
     * @param frozen resolved params, secrets as references; scrubbed or not gives the same answer
     */
    public static Destination destination(String handler, JsonNode frozen) {
        StringBuilder text = new StringBuilder(handler);
        ObjectNode identity = Json.NODES.objectNode().put("handler", handler);
        for (String field : DESTINATION_FIELDS) {
            JsonNode value = frozen.get(field);
            if (value == null || value.isNull()) {
                continue;
            }
            JsonNode shown = SecretText.masked(value);
            String plain = shown.isString() ? shown.stringValue() : Json.write(shown);
            boolean address = plain.contains("://");
            String clean = address ? displayUrl(plain) : plain;
            identity.put(field, clean);
            text.append(' ').append(address ? clean : field + "=" + clean);
        }
        return new Destination(text.toString(), CanonicalJson.sha256Hex(DESTINATION_V1, identity));
    }

    /**
     * Hex SHA-256 of the resolved params: secrets by name, literal credentials masked, header names in lower case and volatile headers
     * ({@code traceparent, tracestate, date, x-request-id}) left out. Rotating a token or another trace does not change it.
     */
    public static String requestSha256(JsonNode frozen) {
        JsonNode scrubbed = scrubForStorage(frozen);
        JsonNode headers = headers(scrubbed);
        if (headers == null) {
            return CanonicalJson.sha256Hex(scrubbed);
        }
        ObjectNode stable = Json.NODES.objectNode();
        for (Map.Entry<String, JsonNode> header : headers.properties()) {
            String name = CaseMapping.lower(header.getKey());
            if (!VOLATILE_HEADERS.contains(name)) {
                stable.set(name, header.getValue());
            }
        }
        ObjectNode request = Json.NODES.objectNode();
        scrubbed.properties().forEach(member -> request.set(member.getKey(), member.getKey().equals("headers") ? stable : member.getValue()));
        return CanonicalJson.sha256Hex(request);
    }

    /**
     * What may be stored with the receipt: literal credentials in URLs and credential headers become masked parts of a
     * {@link SecretText}, which cannot be sent by mistake: {@link SecretText#reveal} of a stored request that holds one is
     * SECRET_MISSING. The mask carries nothing of the value, not even a hash, since a hash of a weak password is the password. The
     * params in memory, used for sending, are not changed; without credentials the same node comes back.
     */
    public static JsonNode scrubForStorage(JsonNode frozen) {
        if (!frozen.isObject()) {
            return frozen;
        }
        ObjectNode clean = null;
        for (String field : DESTINATION_FIELDS) {
            JsonNode value = frozen.get(field);
            JsonNode scrubbed = value == null ? null : scrubUrl(value, null);
            if (scrubbed != value && scrubbed != null) {
                clean = clean == null ? shallow(frozen) : clean;
                clean.set(field, scrubbed);
            }
        }
        JsonNode headers = headers(frozen);
        if (headers != null) {
            ObjectNode cleanHeaders = null;
            for (Map.Entry<String, JsonNode> header : headers.properties()) {
                String name = CaseMapping.lower(header.getKey());
                if (CREDENTIAL_HEADERS.contains(name) && !SecretText.hasSecrets(header.getValue())) {
                    cleanHeaders = cleanHeaders == null ? shallow(headers) : cleanHeaders;
                    cleanHeaders.set(header.getKey(), SecretText.of(List.of(new SecretText.Part.Masked(name))));
                }
            }
            if (cleanHeaders != null) {
                clean = clean == null ? shallow(frozen) : clean;
                clean.set("headers", cleanHeaders);
            }
        }
        return clean == null ? frozen : clean;
    }

    /** Whether {@link #scrubForStorage} took something out: such a stored request can't be sent again as it stands. */
    public static boolean isScrubbed(JsonNode stored) {
        if (stored.isObject() || stored.isArray()) {
            List<SecretText.Part> parts = SecretText.parts(stored);
            if (parts != null) {
                return parts.stream().anyMatch(part -> part instanceof SecretText.Part.Masked);
            }
            for (JsonNode child : stored) {
                if (isScrubbed(child)) {
                    return true;
                }
            }
        }
        return false;
    }

    /** Literal credentials in the params, by the name of the query parameter or header: what a {@link Redactor} must look for. */
    static Map<String, String> literalCredentials(JsonNode frozen) {
        Map<String, String> found = new LinkedHashMap<>();
        for (String field : DESTINATION_FIELDS) {
            if (frozen.get(field) instanceof JsonNode value) {
                scrubUrl(value, found);
            }
        }
        JsonNode headers = headers(frozen);
        if (headers != null) {
            headers.properties().forEach(header -> {
                String name = CaseMapping.lower(header.getKey());
                if (CREDENTIAL_HEADERS.contains(name) && header.getValue().isString()) {
                    String value = header.getValue().stringValue();
                    found.put(name, value);
                    // A provider echoes the token alone, without its scheme.
                    int space = value.lastIndexOf(' ');
                    if (space > 0) {
                        found.put(name + "#token", value.substring(space + 1));
                    }
                }
            });
        }
        return found;
    }

    /** {@code scheme://host:port/path}: no userinfo, no query, no fragment; scheme and host in lower case, default ports left out. */
    public static String displayUrl(String url) {
        int schemeEnd = url.indexOf("://");
        if (schemeEnd < 0) {
            return cut(url, "?#");
        }
        int authorityStart = schemeEnd + 3;
        String rest = cut(url.substring(authorityStart), "?#");
        int slash = rest.indexOf('/');
        String authority = slash < 0 ? rest : rest.substring(0, slash);
        String path = slash < 0 ? "/" : rest.substring(slash);
        String host = authority.substring(authority.lastIndexOf('@') + 1);
        // A secret's name is case-sensitive; a host name is not.
        String origin = (url.substring(0, authorityStart) + host);
        origin = origin.contains("{{") ? origin : CaseMapping.lower(origin);
        String defaultPort = origin.startsWith("https://") ? ":443" : origin.startsWith("http://") ? ":80" : " ";
        return (origin.endsWith(defaultPort) ? origin.substring(0, origin.length() - defaultPort.length()) : origin) + path;
    }

    /** Whether a query parameter of this name carries a credential; hyphens, underscores, dots and case do not matter. */
    static boolean namesCredential(String parameter) {
        String name = CaseMapping.lower(parameter).replaceAll("%5f|%2d|%2e|[-_.]", "");
        return CREDENTIAL_NAMES.contains(name) || CREDENTIAL_ENDINGS.stream().anyMatch(name::endsWith);
    }

    private static String cut(String text, String stops) {
        for (int i = 0; i < text.length(); i++) {
            if (stops.indexOf(text.charAt(i)) >= 0) {
                return text.substring(0, i);
            }
        }
        return text;
    }

    private static @Nullable JsonNode headers(JsonNode frozen) {
        JsonNode headers = frozen.get("headers");
        return headers != null && headers.isObject() && !headers.properties().isEmpty() && SecretText.parts(headers) == null ? headers : null;
    }

    private static ObjectNode shallow(JsonNode object) {
        ObjectNode copy = Json.NODES.objectNode();
        object.properties().forEach(member -> copy.set(member.getKey(), member.getValue()));
        return copy;
    }

    private static JsonNode scrubUrl(JsonNode value, @Nullable Map<String, String> found) {
        List<SecretText.Part> parts = SecretText.parts(value);
        if (parts == null) {
            return value;
        }
        if (parts.stream().noneMatch(part -> part instanceof SecretText.Part.Text(String text) && (text.indexOf('?') >= 0 || text.indexOf('@') >= 0))) {
            return value;
        }
        UrlScrubber scrubber = new UrlScrubber(found);
        for (SecretText.Part part : parts) {
            switch (part) {
                case SecretText.Part.Text(String text) -> scrubber.text(text);
                case SecretText.Part.Secret _, SecretText.Part.Masked _ -> scrubber.opaque(part);
            }
        }
        return scrubber.finish() ? SecretText.of(scrubber.out) : value;
    }

    /**
     * Walks a URL that may be interrupted by secrets and masks the literal text of userinfo and credential query values. Masking what is
     * not a URL at all would hide evidence, so nothing happens before {@code ://} or {@code ?}.
     */
    private static final class UrlScrubber {
        final List<SecretText.Part> out = new ArrayList<>();
        private final @Nullable Map<String, String> found;
        private final StringBuilder plain = new StringBuilder();
        private boolean masked;
        /** Where the authority began in {@code plain}; -1 outside of an authority. */
        private int authority = -1;

        private boolean query;
        private final StringBuilder name = new StringBuilder();
        private boolean inValue;
        private boolean credentialName;
        private final StringBuilder credential = new StringBuilder();
        private boolean credentialHere;

        UrlScrubber(@Nullable Map<String, String> found) {
            this.found = found;
        }

        void text(String text) {
            for (int i = 0; i < text.length(); i++) {
                next(text.charAt(i));
            }
        }

        private void next(char c) {
            if (query) {
                queryChar(c);
                return;
            }
            plain.append(c);
            if (c == '?') {
                query = true;
                authority = -1;
            } else if (authority < 0) {
                int end = plain.length();
                if (c == '/' && end >= 3 && plain.charAt(end - 2) == '/' && plain.charAt(end - 3) == ':') {
                    authority = end;
                }
            } else if (c == '@') {
                String userinfo = plain.substring(authority, plain.length() - 1);
                if (!userinfo.isEmpty()) {
                    keep("userinfo", userinfo.substring(userinfo.indexOf(':') + 1));
                    plain.setLength(authority);
                    mask("userinfo");
                    plain.append('@');
                }
                // What follows may still be userinfo: the last '@' ends it.
                authority = plain.length();
            } else if (c == '/' || c == '#') {
                authority = -1;
            }
        }

        private void queryChar(char c) {
            if (c == '&' || c == '#' || c == ';') {
                endValue();
                inValue = false;
                credentialName = false;
                name.setLength(0);
                query = c != '#';
                plain.append(c);
            } else if (credentialName) {
                if (!credentialHere) {
                    credentialHere = true;
                    mask(name.toString());
                }
                credential.append(c);
            } else {
                if (c == '=' && !inValue) {
                    inValue = true;
                    credentialName = namesCredential(name.toString());
                } else if (!inValue) {
                    name.append(c);
                }
                plain.append(c);
            }
        }

        private void endValue() {
            if (credentialHere) {
                keep(name.toString(), credential.toString());
            }
            credential.setLength(0);
            credentialHere = false;
        }

        private void keep(String what, String value) {
            if (found != null) {
                found.put(what, value);
            }
        }

        private void mask(String what) {
            masked = true;
            opaque(new SecretText.Part.Masked(what));
        }

        void opaque(SecretText.Part part) {
            boolean inAuthority = authority >= 0 && !query;
            out.add(new SecretText.Part.Text(plain.toString()));
            plain.setLength(0);
            out.add(part);
            authority = inAuthority ? 0 : -1;
        }

        boolean finish() {
            endValue();
            out.add(new SecretText.Part.Text(plain.toString()));
            return masked;
        }
    }
}
