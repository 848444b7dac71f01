package dev.waybill.model;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.UUID;

/** The identity of a receipt: a function of where the effect sits, so that a takeover finds the receipt of its predecessor. */
public final class ReceiptId {
    private static final byte[] DOMAIN = "waybill-effect-v1".getBytes(StandardCharsets.UTF_8);

    private ReceiptId() {}

    /**
     * First 16 bytes (UUID version 8) of SHA-256 over length-prefixed parts (semantics.md section 3). The epoch is not identity.
     */
    public static UUID of(UUID execution, UUID instance, String path, int attempt) {
        MessageDigest sha = sha256();
        part(sha, DOMAIN);
        part(sha, bytes(execution));
        part(sha, bytes(instance));
        part(sha, path.getBytes(StandardCharsets.UTF_8));
        part(sha, ByteBuffer.allocate(4).putInt(attempt).array());
        ByteBuffer digest = ByteBuffer.wrap(sha.digest());
        long most = (digest.getLong() & 0xFFFF_FFFF_FFFF_0FFFL) | 0x8000L;
        long least = (digest.getLong() & 0x3FFF_FFFF_FFFF_FFFFL) | 0x8000_0000_0000_0000L;
        return new UUID(most, least);
    }

    private static void part(MessageDigest sha, byte[] bytes) {
        sha.update(ByteBuffer.allocate(4).putInt(bytes.length).array());
        sha.update(bytes);
    }

    private static byte[] bytes(UUID id) {
        return ByteBuffer.allocate(16).putLong(id.getMostSignificantBits()).putLong(id.getLeastSignificantBits()).array();
    }

    private static MessageDigest sha256() {
        try {
            return MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }
}
