package dev.waybill.server.api;

import dev.waybill.json.Json;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import tools.jackson.databind.JsonNode;

/**
 * What a route answers.
 *
 * @param streamed true: the route has written the answer itself
 */
record Response(int status, String contentType, byte[] body, Map<String, String> headers, boolean streamed) {
    static final Response STREAMED = new Response(200, "", new byte[0], Map.of(), true);

    static Response ok(JsonNode body) {
        return json(200, body);
    }

    static Response json(int status, JsonNode body) {
        return new Response(status, "application/json", Json.writeBytes(body), Map.of(), false);
    }

    static Response text(int status, String contentType, String body) {
        return new Response(status, contentType, body.getBytes(StandardCharsets.UTF_8), Map.of(), false);
    }

    Response header(String name, String value) {
        return new Response(status, contentType, body, Map.of(name, value), streamed);
    }
}
