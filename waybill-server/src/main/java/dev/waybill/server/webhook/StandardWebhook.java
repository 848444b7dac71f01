package dev.waybill.server.webhook;

import dev.waybill.json.Json;
import dev.waybill.store.Queries.Change;
import java.nio.charset.StandardCharsets;
import java.security.GeneralSecurityException;
import java.security.MessageDigest;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ObjectNode;

/** One message as the Standard Webhooks specification 1.0 has it: id, time of the attempt, signatures, and the body that they cover. */
final class StandardWebhook {
    private static final String PREFIX = "whsec_";
    private static final int LEAST_BYTES = 24;
    private static final int MOST_BYTES = 64;

    private StandardWebhook() {}

    static String secret(byte[] random) {
        return PREFIX + Base64.getEncoder().encodeToString(random);
    }

    /** What is wrong with a secret that a person chose, or null. */
    static @Nullable String fault(String secret) {
        try {
            int bytes = secret.startsWith(PREFIX) ? key(secret).length : 0;
            return bytes >= LEAST_BYTES && bytes <= MOST_BYTES ? null : "must be whsec_ and base64 of 24 to 64 bytes";
        } catch (IllegalArgumentException notBase64) {
            return "must be whsec_ and base64 of 24 to 64 bytes";
        }
    }

    private static byte[] key(String secret) {
        return Base64.getDecoder().decode(secret.substring(PREFIX.length()));
    }

    /** The same for every attempt, endpoint and node: what a receiver recognises a repeat by. */
    static String id(Change change) {
        String place = change.instance().tenant() + "\n" + change.instance().id() + "\n" + change.type() + "\n" + change.cursor();
        try {
            byte[] digest = MessageDigest.getInstance("SHA-256").digest(place.getBytes(StandardCharsets.UTF_8));
            return "msg_" + HexFormat.of().formatHex(digest, 0, 16);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }

    static byte[] body(Change change) {
        ObjectNode data = Json.NODES.objectNode();
        data.put("tenant_id", change.instance().tenant());
        data.put("instance_id", change.instance().id().toString());
        if (change.subject() != null) {
            data.put("effect_id", change.subject());
        }
        Json.parse(change.payload()).properties().forEach(member -> data.set(member.getKey(), member.getValue()));
        return body(change.type(), change.at(), data);
    }

    static byte[] body(String type, Instant at, ObjectNode data) {
        ObjectNode body = Json.NODES.objectNode();
        body.put("type", type);
        body.put("timestamp", at.toString());
        body.set("data", data);
        return Json.writeBytes(body);
    }

    /** @param secrets one, or two while a rotation is under way: a receiver that knows either accepts */
    static List<Map.Entry<String, String>> headers(String id, Instant now, byte[] body, List<String> secrets) {
        String timestamp = Long.toString(now.getEpochSecond());
        List<String> signatures = new ArrayList<>();
        for (String secret : secrets) {
            signatures.add("v1," + Base64.getEncoder().encodeToString(hmac(key(secret), id + "." + timestamp + ".", body)));
        }
        return List.of(
                Map.entry("Content-Type", "application/json"),
                Map.entry("User-Agent", "Waybill-Webhooks"),
                Map.entry("webhook-id", id),
                Map.entry("webhook-timestamp", timestamp),
                Map.entry("webhook-signature", String.join(" ", signatures)));
    }

    private static byte[] hmac(byte[] key, String head, byte[] body) {
        try {
            Mac mac = Mac.getInstance("HmacSHA256");
            mac.init(new SecretKeySpec(key, "HmacSHA256"));
            mac.update(head.getBytes(StandardCharsets.UTF_8));
            return mac.doFinal(body);
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException("every Java platform has HmacSHA256", e);
        }
    }
}
