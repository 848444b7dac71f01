package dev.waybill.transport;

import dev.waybill.json.Json;
import dev.waybill.json.Redactor;
import dev.waybill.model.Problem;
import dev.waybill.model.Reply;
import dev.waybill.model.WaybillException;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.Charset;
import java.nio.charset.CodingErrorAction;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * The output of an HTTP step, {@code {status, headers, body}}: lower-case header names without cookies; the body is JSON when it is
 * JSON, else text.
 */
public final class HttpOutput {
    public static final String OUTPUT_UNSTORABLE = "OUTPUT_UNSTORABLE";

    private static final Pattern CHARSET = Pattern.compile("(?i);\\s*charset\\s*=\\s*\"?([^\\s;\"]+)");
    /** Where providers put their own name for an effect (semantics.md section 3), first match wins. */
    private static final List<String> RECEIPT_IDS = List.of("provider_receipt_id", "receipt_id", "request_id");

    private HttpOutput() {}

    /** A body that became data, or why it cannot. */
    sealed interface Content {
        record Data(JsonNode value, boolean json) implements Content {}

        record Unstorable(Problem problem) implements Content {}
    }

    /**
     * The output for an answer that is kept as evidence, for {@code client_error_mode: complete}; a body that cannot be shown as data
     * is null.
     */
    public static JsonNode of(Reply reply) {
        byte[] body = reply.body() == null ? new byte[0] : reply.body();
        Content content = content(reply.headers(), body, Redactor.NONE);
        JsonNode value = content instanceof Content.Data data && !reply.truncated() ? data.value() : Json.NODES.nullNode();
        return of(reply.status(), reply.headers(), value);
    }

    static ObjectNode of(int status, Map<String, List<String>> headers, JsonNode body) {
        ObjectNode output = Json.NODES.objectNode();
        output.put("status", status);
        ObjectNode fields = output.putObject("headers");
        headers.forEach((name, values) -> fields.put(name, String.join(", ", values)));
        return output.set("body", body);
    }

    static Content content(Map<String, List<String>> headers, byte[] body, Redactor redactor) {
        String encoding = first(headers, "content-encoding");
        if (encoding != null && !encoding.equalsIgnoreCase("identity") && body.length > 0) {
            return unstorable("the answer is compressed (" + encoding + "), which was not asked for");
        }
        String text;
        try {
            text = charset(first(headers, "content-type"))
                    .newDecoder()
                    .onMalformedInput(CodingErrorAction.REPORT)
                    .onUnmappableCharacter(CodingErrorAction.REPORT)
                    .decode(ByteBuffer.wrap(body))
                    .toString();
        } catch (CharacterCodingException | IllegalArgumentException e) {
            return unstorable("the answer is not text in the charset it names (UTF-8 unless it says otherwise)");
        }
        if (text.startsWith("\ufeff")) text = text.substring(1);
        if (text.isBlank()) return new Content.Data(Json.NODES.stringNode(redactor.redact(text)), false);
        try {
            return new Content.Data(redacted(Json.parse(text), redactor), true);
        } catch (WaybillException e) {
            // Only what is JSON for nobody is text; what is JSON for somebody and refused by us must not silently change its type.
            if (!e.code().equals("MALFORMED_JSON")) return unstorable("the answer is JSON that cannot be kept: " + e.getMessage());
            return new Content.Data(Json.NODES.stringNode(redactor.redact(text)), false);
        }
    }

    /** The provider's own name for the effect, or null when its JSON body gives none. */
    public static @Nullable String receiptId(JsonNode body) {
        for (String member : RECEIPT_IDS) {
            JsonNode id = body.path(member);
            if ((id.isString() && !id.stringValue().isEmpty()) || id.isIntegralNumber()) return id.asString();
        }
        return null;
    }

    static @Nullable String first(Map<String, List<String>> headers, String name) {
        List<String> values = headers.get(name);
        return values == null || values.isEmpty() ? null : values.getFirst();
    }

    private static Charset charset(@Nullable String contentType) {
        Matcher named = CHARSET.matcher(contentType == null ? "" : contentType);
        return named.find() ? Charset.forName(named.group(1)) : StandardCharsets.UTF_8;
    }

    /** On the tree and not on the bytes: a secret made of digits must not break the JSON around it. */
    public static JsonNode redacted(JsonNode node, Redactor redactor) {
        if (redactor == Redactor.NONE) return node;
        if (node.isArray()) {
            ArrayNode copy = Json.NODES.arrayNode(node.size());
            node.forEach(item -> copy.add(redacted(item, redactor)));
            return copy;
        }
        if (node.isObject()) {
            ObjectNode copy = Json.NODES.objectNode();
            node.properties().forEach(member -> copy.set(redactor.redact(member.getKey()), redacted(member.getValue(), redactor)));
            return copy;
        }
        String text = node.asString();
        String clean = redactor.redact(text);
        return clean.equals(text) ? node : Json.NODES.stringNode(clean);
    }

    private static Content unstorable(String message) {
        return new Content.Unstorable(Problem.of(OUTPUT_UNSTORABLE, message));
    }
}
