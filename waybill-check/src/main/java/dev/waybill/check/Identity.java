package dev.waybill.check;

import dev.waybill.check.Rows.Receipt;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;

/** semantics.md section 3, Identity, worked out anew: neither epoch nor anything else that a takeover changes is in the id. */
final class Identity implements Property {
    @Override
    public String name() {
        return "identity";
    }

    @Override
    public String promise() {
        return "a receipt's id is the hash of its place, and its execution is its run's";
    }

    @Override
    public void check(History history, Findings findings) {
        Map<String, String> places = new HashMap<>();
        for (RunStory story : history.runs()) {
            for (Attempt attempt : story.attempts()) {
                Receipt receipt = attempt.receipt();
                String expected = idOf(receipt.executionId(), receipt.instanceId(), receipt.path(), receipt.attempt());
                findings.expect(
                        receipt.id().equals(expected), Subject.of(attempt), attempt + " has the id " + receipt.id() + ", its place has " + expected);
                findings.expect(
                        story.run == null || story.run.executionId().equals(receipt.executionId()), Subject.of(attempt),
                        attempt + " belongs to another execution than its run");
                String place = story.key + " " + attempt;
                String before = places.putIfAbsent(receipt.id(), place);
                findings.expect(before == null, Subject.of(attempt), "the id " + receipt.id() + " stands at " + before + " and at " + place);
            }
        }
    }

    /** First 16 bytes, as UUID version 8, of SHA-256 over length-prefixed parts. */
    static String idOf(String execution, String instance, String path, int attempt) {
        MessageDigest sha;
        try {
            sha = MessageDigest.getInstance("SHA-256");
        } catch (NoSuchAlgorithmException e) {
            throw new AssertionError("every Java platform has SHA-256", e);
        }
        byte[][] parts = {
            "waybill-effect-v1".getBytes(StandardCharsets.UTF_8), bytes(execution), bytes(instance), path.getBytes(StandardCharsets.UTF_8),
            ByteBuffer.allocate(4).putInt(attempt).array()
        };
        for (byte[] part : parts) {
            sha.update(ByteBuffer.allocate(4).putInt(part.length).array());
            sha.update(part);
        }
        byte[] id = java.util.Arrays.copyOf(sha.digest(), 16);
        id[6] = (byte) (id[6] & 0x0F | 0x80);
        id[8] = (byte) (id[8] & 0x3F | 0x80);
        ByteBuffer buffer = ByteBuffer.wrap(id);
        return new UUID(buffer.getLong(), buffer.getLong()).toString();
    }

    private static byte[] bytes(String uuid) {
        UUID id = UUID.fromString(uuid);
        return ByteBuffer.allocate(16).putLong(id.getMostSignificantBits()).putLong(id.getLeastSignificantBits()).array();
    }
}
