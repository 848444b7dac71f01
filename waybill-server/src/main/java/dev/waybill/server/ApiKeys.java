package dev.waybill.server;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** The API keys a server knows. Only digests are kept, and every one is compared in constant time. */
public record ApiKeys(List<Key> keys) {
    public static final ApiKeys NONE = new ApiKeys(List.of());

    /**
     * @param name   who it is, in journals and audits
     * @param tenant the only tenant it serves; null = every tenant, and the server's own operations
     */
    public record Key(String name, @Nullable String tenant, String sha256) {
        static Key ofSecret(String name, @Nullable String tenant, String secret) {
            return new Key(name, tenant, digest(secret));
        }

        @Override
        public String toString() {
            return "Key[" + name + "]";
        }
    }

    public boolean none() {
        return keys.isEmpty();
    }

    /** How many different names there are: two keys of one name are one principal, as in a rotation. */
    long principals() {
        return keys.stream().map(Key::name).distinct().count();
    }

    /** The key that was presented; looks at all of them, so that the time taken tells nothing. */
    public Optional<Key> find(@Nullable String presented) {
        byte[] digest = digest(presented == null ? "" : presented).getBytes(StandardCharsets.US_ASCII);
        Key found = null;
        for (Key key : keys) {
            if (MessageDigest.isEqual(digest, key.sha256().getBytes(StandardCharsets.US_ASCII))) {
                found = key;
            }
        }
        return Optional.ofNullable(found);
    }

    static String digest(String secret) {
        try {
            return HexFormat.of()
                    .formatHex(MessageDigest.getInstance("SHA-256").digest(secret.getBytes(StandardCharsets.UTF_8)));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }
}
