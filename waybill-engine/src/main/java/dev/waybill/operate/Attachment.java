package dev.waybill.operate;

import dev.waybill.json.Json;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import tools.jackson.databind.node.ObjectNode;

/**
 * A file that a person adds to a case: a statement, a screenshot, an e-mail. It is stored whole in the database, so its size is bounded.
 *
 * @param name      for people; no path
 * @param mediaType as the person's side says; never acted on
 */
public record Attachment(String name, String mediaType, byte[] bytes) {
    /** In base64 it still fits into a request. */
    public static final int MAX_BYTES = 512 * 1024;

    static final String KIND = "file";

    /** Lower-case hex. */
    public String sha256() {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(bytes));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }

    ObjectNode description() {
        return Json.NODES
                .objectNode()
                .put("name", name)
                .put("media_type", mediaType)
                .put("size", bytes.length)
                .put("sha256", sha256());
    }
}
