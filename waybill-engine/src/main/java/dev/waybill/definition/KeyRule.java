package dev.waybill.definition;

import dev.waybill.model.Problem;
import java.util.List;
import java.util.Locale;
import java.util.function.IntPredicate;
import org.jspecify.annotations.Nullable;

/**
 * What a destination accepts as an idempotency key; checked before anything is sent, because a provider that cuts or ignores a key it does
 * not like applies the request twice.
 *
 * @param minLength in characters
 * @param maxLength in characters
 * @param quoted    sent as a string of structured fields, in double quotes (RFC 9651 section 3.3.3)
 */
record KeyRule(int minLength, int maxLength, Charset charset, boolean quoted) {
    /** A key that the destination would not take: the step fails, nothing is sent. */
    static final String REFUSED = "KEY_NOT_ACCEPTED";

    static final int LONGEST = 1_024;

    enum Charset {
        /** 0x21 to 0x7E and the space, as a header value may hold. */
        ASCII(c -> c >= 0x20 && c <= 0x7E),
        /** 0x21 to 0x7E. */
        VISIBLE_ASCII(c -> c >= 0x21 && c <= 0x7E),
        /** The unreserved characters of RFC 3986 section 2.3. */
        URL_SAFE(c -> letterOrDigit(c) || "-._~".indexOf(c) >= 0),
        ALPHANUMERIC(KeyRule::letterOrDigit),
        /** A UUID in its 36 characters (RFC 9562 section 4). */
        UUID(c -> Character.digit(c, 16) >= 0 && c < 0x80 || c == '-');

        private final IntPredicate holds;

        Charset(IntPredicate holds) {
            this.holds = holds;
        }

        static final List<String> NAMES = List.of("ascii", "visible_ascii", "url_safe", "alphanumeric", "uuid");

        String wire() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    private static final java.util.regex.Pattern UUID_FORM =
            java.util.regex.Pattern.compile("[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}");

    private static boolean letterOrDigit(int c) {
        return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z';
    }

    /** Null when the destination takes the key. */
    @Nullable Problem fault(String key, String destination) {
        int length = key.codePointCount(0, key.length());
        String why = null;
        if (length < minLength || length > maxLength) {
            why = "has " + length + " characters, and " + minLength + " to " + maxLength + " are taken";
        } else if (!key.codePoints().allMatch(charset.holds) || charset == Charset.UUID && !UUID_FORM.matcher(key).matches()) {
            why = "has characters that are not taken (charset " + charset.wire() + ")";
        }
        return why == null ? null : Problem.of(REFUSED, "the key of this effect " + why + " by destination " + destination + "; nothing was sent");
    }

    /** As it is sent. */
    String sent(String key) {
        return quoted ? '"' + key.replace("\\", "\\\\").replace("\"", "\\\"") + '"' : key;
    }
}
