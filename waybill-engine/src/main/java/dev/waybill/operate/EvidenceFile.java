package dev.waybill.operate;

import dev.waybill.json.Json;
import dev.waybill.model.WaybillException;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;
import java.util.regex.Pattern;
import tools.jackson.databind.node.ObjectNode;

/**
 * A file that proves something: kept with its hash, in the database, for ever.
 *
 * @param name for people, without a folder
 */
public record EvidenceFile(String name, byte[] content) {
    public static final int MAX_BYTES = 1024 * 1024;
    private static final Pattern NAME = Pattern.compile("[^\\p{Cntrl}/\\\\]{1,255}");

    /** @throws WaybillException 422 EVIDENCE_INVALID */
    public EvidenceFile {
        if (!NAME.matcher(name).matches() || Json.hasLoneSurrogate(name)) {
            throw invalid("a file's name is 1 to 255 characters without a slash", "/file/name");
        }
        if (content.length == 0 || content.length > MAX_BYTES) {
            throw invalid("a file has 1 to " + MAX_BYTES + " bytes, this one " + content.length, "/file/content_base64");
        }
    }

    static WaybillException invalid(String why, String pointer) {
        return new WaybillException(422, "EVIDENCE_INVALID", why, pointer, "waybill effects attach --help");
    }

    /** Hex SHA-256 of the content. */
    public String sha256() {
        return sha256(content);
    }

    static String sha256(byte[] content) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(content));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }

    ObjectNode json() {
        return Json.NODES.objectNode().put("name", name).put("sha256", sha256()).put("size", content.length);
    }
}
