package dev.waybill.trigger;

import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.function.Function;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;

/**
 * How a sender signs its webhooks, and whether a delivery is signed so (case A30). Every scheme covers the raw bytes of the body: what a
 * parser would write again is another text. Any signature of the scheme's version, by any active secret, is enough, so that a sender can
 * rotate its secret; another version never is.
 *
 * <p>Sources: standardwebhooks.com, specification 1.0; docs.stripe.com/webhooks/signature;
 * docs.slack.dev/authentication/verifying-requests-from-slack; docs.github.com, "Validating webhook deliveries";
 * shopify.dev, "Verify webhook deliveries".
 */
public enum Signer {
    /** {@code webhook-id}, {@code webhook-timestamp}, {@code webhook-signature: v1,BASE64 v1,BASE64}; secrets {@code whsec_BASE64}. */
    STANDARD_WEBHOOKS {
        @Override
        Claimed claimed(Function<String, List<String>> headers) throws Refusal {
            String id = one(headers, "webhook-id");
            if (id.isEmpty() || id.length() > MAX_ID || id.indexOf('.') >= 0) {
                throw new Refusal("webhook-id is not an id of 1 to " + MAX_ID + " characters without a dot");
            }
            String at = one(headers, "webhook-timestamp");
            List<byte[]> signatures = new ArrayList<>();
            for (String entry : one(headers, "webhook-signature").split(" ", -1)) {
                if (entry.startsWith("v1,")) {
                    base64(entry.substring(3)).ifPresent(signatures::add);
                }
            }
            return new Claimed(id, seconds(at), id + "." + at + ".", signatures);
        }

        @Override
        byte[] key(String secret) {
            return base64(secret.startsWith(STANDARD_PREFIX) ? secret.substring(STANDARD_PREFIX.length()) : secret)
                    .orElseThrow(() -> new IllegalArgumentException("a secret of Standard Webhooks is whsec_ and base64"));
        }
    },
    /** {@code stripe-signature: t=SECONDS,v1=HEX,v1=HEX}. */
    STRIPE {
        @Override
        Claimed claimed(Function<String, List<String>> headers) throws Refusal {
            String at = null;
            List<byte[]> signatures = new ArrayList<>();
            for (String part : one(headers, "stripe-signature").split(",", -1)) {
                String member = part.strip();
                if (member.startsWith("t=")) {
                    if (at != null) {
                        throw new Refusal("the time is given twice");
                    }
                    at = member.substring(2);
                } else if (member.startsWith("v1=")) {
                    hex(member.substring(3)).ifPresent(signatures::add);
                }
            }
            if (at == null) {
                throw new Refusal("no time is given");
            }
            return new Claimed(null, seconds(at), at + ".", signatures);
        }
    },
    /** {@code x-slack-request-timestamp}, {@code x-slack-signature: v0=HEX}. */
    SLACK {
        @Override
        Claimed claimed(Function<String, List<String>> headers) throws Refusal {
            String at = one(headers, "x-slack-request-timestamp");
            return new Claimed(null, seconds(at), "v0:" + at + ":", prefixed(one(headers, "x-slack-signature"), "v0="));
        }
    },
    /** {@code x-hub-signature-256: sha256=HEX}; no time, and {@code x-github-delivery}, by which a repeat is known, is not signed. */
    GITHUB {
        @Override
        Claimed claimed(Function<String, List<String>> headers) throws Refusal {
            return new Claimed(one(headers, "x-github-delivery"), null, "", prefixed(one(headers, "x-hub-signature-256"), "sha256="));
        }
    },
    /** {@code x-shopify-hmac-sha256: BASE64}; no time, and {@code x-shopify-webhook-id}, by which a repeat is known, is not signed. */
    SHOPIFY {
        @Override
        Claimed claimed(Function<String, List<String>> headers) throws Refusal {
            List<byte[]> signature = base64(one(headers, "x-shopify-hmac-sha256")).map(List::of).orElse(List.of());
            return new Claimed(one(headers, "x-shopify-webhook-id"), null, "", signature);
        }
    };

    /** A delivery older than this is refused (reliability.md, security rule 6). */
    public static final Duration PAST = Duration.ofSeconds(300);

    /** A delivery from further ahead than this is refused. */
    public static final Duration AHEAD = Duration.ofSeconds(60);

    private static final int MAX_ID = 255;
    private static final String STANDARD_PREFIX = "whsec_";

    /** What became of the look at a delivery. */
    public sealed interface Answer {
        /**
         * It is the sender's.
         *
         * @param id what its repeats share: the sender's own id of the delivery, or else a hash of what was signed
         */
        record Genuine(String id) implements Answer {}

        /** @param why for the owner of the trigger; who sent it is told only that it was refused */
        record Refused(String why) implements Answer {}
    }

    /**
     * @param id     as the sender names the delivery; null where it does not
     * @param at     when it was signed; null where the scheme does not say
     * @param before what is signed before the body
     */
    record Claimed(@Nullable String id, @Nullable Instant at, String before, List<byte[]> signatures) {}

    /** A header that is not as the scheme has it. */
    static final class Refusal extends Exception {
        private static final long serialVersionUID = 1L;

        Refusal(String why) {
            super(why, null, false, false);
        }

        String why() {
            return String.valueOf(getMessage());
        }
    }

    abstract Claimed claimed(Function<String, List<String>> headers) throws Refusal;

    byte[] key(String secret) {
        return secret.getBytes(StandardCharsets.UTF_8);
    }

    /** As documents and the API name it. */
    public String wire() {
        return name().toLowerCase(Locale.ROOT).replace('_', '-');
    }

    /**
     * Looks at a delivery.
     *
     * @param headers values of a header by its name in lower case, empty when it is not there
     * @param body    as it came, before anything parsed it
     * @param secrets the active ones: two while the sender rotates
     * @param now     when it arrived, which is not when its run begins
     * @throws IllegalArgumentException when a secret is not one of this scheme
     */
    public Answer verify(Function<String, List<String>> headers, byte[] body, List<String> secrets, Instant now) {
        Claimed claimed;
        try {
            claimed = claimed(headers);
        } catch (Refusal refusal) {
            return new Answer.Refused(refusal.why());
        }
        if (claimed.signatures.isEmpty()) {
            return new Answer.Refused("no signature of the version that is looked for");
        }
        byte[] before = claimed.before.getBytes(StandardCharsets.UTF_8);
        boolean genuine = false;
        for (String secret : secrets) {
            byte[] expected = hmac(key(secret), before, body);
            for (byte[] signature : claimed.signatures) {
                genuine |= MessageDigest.isEqual(expected, signature); // all of them, in constant time
            }
        }
        if (!genuine) {
            return new Answer.Refused("no active secret has signed these bytes");
        }
        Instant at = claimed.at;
        if (at != null && at.isBefore(now.minus(PAST))) {
            return new Answer.Refused("it was signed more than " + PAST.toSeconds() + " s ago");
        }
        if (at != null && at.isAfter(now.plus(AHEAD))) {
            return new Answer.Refused("it was signed more than " + AHEAD.toSeconds() + " s ahead of this clock");
        }
        return new Answer.Genuine(claimed.id != null ? claimed.id : hash(before, body));
    }

    private static String one(Function<String, List<String>> headers, String name) throws Refusal {
        List<String> values = headers.apply(name);
        if (values.size() != 1) {
            throw new Refusal(name + (values.isEmpty() ? " is missing" : " is given more than once"));
        }
        return values.getFirst();
    }

    private static Instant seconds(String text) throws Refusal {
        if (!text.matches("[0-9]{1,11}")) {
            throw new Refusal("the time is not a number of seconds");
        }
        return Instant.ofEpochSecond(Long.parseLong(text));
    }

    private static List<byte[]> prefixed(String text, String prefix) {
        return text.startsWith(prefix) ? hex(text.substring(prefix.length())).map(List::of).orElse(List.of()) : List.of();
    }

    private static Optional<byte[]> hex(String text) {
        try {
            return Optional.of(HexFormat.of().parseHex(text));
        } catch (IllegalArgumentException e) {
            return Optional.empty(); // no signature
        }
    }

    private static Optional<byte[]> base64(String text) {
        try {
            return Optional.of(Base64.getDecoder().decode(text));
        } catch (IllegalArgumentException e) {
            return Optional.empty(); // no signature
        }
    }

    private static byte[] hmac(byte[] key, byte[] before, byte[] body) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key, "HmacSHA256"));
            mac.update(before);
            return mac.doFinal(body);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every Java platform has HmacSHA256", e);
        }
    }

    private static String hash(byte[] before, byte[] body) {
        try {
            MessageDigest sha = MessageDigest.getInstance("SHA-256");
            sha.update(before);
            return HexFormat.of().formatHex(sha.digest(body));
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }
}
