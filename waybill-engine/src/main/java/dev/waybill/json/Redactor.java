package dev.waybill.json;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import tools.jackson.databind.JsonNode;

/**
 * Removes secret values from what a provider or a network error says back (case A36): a value is found raw, in base64 (also inside a
 * longer base64 text such as Basic credentials), URL-encoded and JSON-escaped, and replaced with {@code [redacted:NAME]}.
 */
public final class Redactor {
    /** A shorter value cannot be told from ordinary text, and replacing it would wreck the evidence without hiding it. */
    public static final int MIN_LENGTH = 4;

    public static final Redactor NONE = new Redactor(List.of());

    private record Pattern(String text, String replacement) {}

    private final List<Pattern> patterns;

    private Redactor(List<Pattern> patterns) {
        this.patterns = patterns;
    }

    /**
     * @param secrets name to value; values shorter than {@link #MIN_LENGTH} characters are ignored
     */
    public static Redactor of(Map<String, String> secrets) {
        List<Pattern> patterns = new ArrayList<>();
        secrets.forEach((name, value) -> {
            if (value.length() >= MIN_LENGTH) {
                forms(value).forEach(form -> patterns.add(new Pattern(form, "[redacted:" + name + "]")));
            }
        });
        // Longest first: a secret that contains another one must not be left in halves.
        patterns.sort(Comparator.comparingInt((Pattern pattern) -> pattern.text().length()).reversed());
        return patterns.isEmpty() ? NONE : new Redactor(List.copyOf(patterns));
    }

    /**
     * For one request: the secrets that its frozen params (not scrubbed) refer to, and the literal credentials written in them. A
     * reference without a value is left out.
     */
    public static Redactor forRequest(JsonNode frozen, String tenant, SecretSource secrets) {
        Map<String, String> values = new LinkedHashMap<>(Fingerprints.literalCredentials(frozen));
        SecretText.names(frozen).forEach(name -> secrets.secret(tenant, name).ifPresent(value -> values.put(name, value)));
        return of(values);
    }

    public String redact(String text) {
        String clean = text;
        for (Pattern pattern : patterns) {
            if (clean.contains(pattern.text())) {
                clean = clean.replace(pattern.text(), pattern.replacement());
            }
        }
        return clean;
    }

    /** On bytes of any encoding; returns the same array when nothing was found. */
    public byte[] redact(byte[] bytes) {
        if (patterns.isEmpty()) {
            return bytes;
        }
        // ISO 8859-1 maps every byte to one char and back, so bytes that are not text survive.
        String text = new String(bytes, StandardCharsets.ISO_8859_1);
        String clean = text;
        for (Pattern pattern : patterns) {
            String form = latin1(pattern.text());
            if (clean.contains(form)) {
                clean = clean.replace(form, latin1(pattern.replacement()));
            }
        }
        return clean.equals(text) ? bytes : clean.getBytes(StandardCharsets.ISO_8859_1);
    }

    private static String latin1(String text) {
        return new String(text.getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1);
    }

    private static Set<String> forms(String value) {
        Set<String> forms = new LinkedHashSet<>();
        forms.add(value);
        String json = Json.write(Json.NODES.stringNode(value));
        String escaped = json.substring(1, json.length() - 1);
        forms.add(escaped);
        forms.add(escaped.replace("/", "\\/"));
        String form = URLEncoder.encode(value, StandardCharsets.UTF_8);
        String percent = form.replace("+", "%20");
        forms.add(form);
        forms.add(percent);
        forms.add(lowerHex(percent));
        byte[] bytes = value.getBytes(StandardCharsets.UTF_8);
        for (int shift = 0; shift < 3; shift++) {
            byte[] shifted = new byte[bytes.length + shift];
            System.arraycopy(bytes, 0, shifted, shift, bytes.length);
            // Characters that also carry bits of a neighbour are cut off at both ends; at shift 0 the start is clean.
            int from = (shift * 8 + 5) / 6;
            int to = shifted.length * 8 / 6;
            if (to - from >= MIN_LENGTH) {
                forms.add(Base64.getEncoder().encodeToString(shifted).substring(from, to));
                forms.add(Base64.getUrlEncoder().encodeToString(shifted).substring(from, to));
            }
        }
        return forms;
    }

    private static String lowerHex(String percent) {
        StringBuilder text = new StringBuilder(percent);
        for (int i = 0; i + 2 < text.length(); i++) {
            if (text.charAt(i) == '%') {
                text.replace(i + 1, i + 3, text.substring(i + 1, i + 3).toLowerCase(Locale.ROOT));
            }
        }
        return text.toString();
    }
}
