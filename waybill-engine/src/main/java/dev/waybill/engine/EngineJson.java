package dev.waybill.engine;

import dev.waybill.json.Json;
import java.nio.charset.StandardCharsets;
import tools.jackson.databind.JsonNode;

/** The engine's own rows, which it wrote itself: read and written through the product's one JSON configuration. */
final class EngineJson {
    private EngineJson() {}

    /** Own rows nest a little deeper than what callers may send. */
    static JsonNode read(String text) {
        return Json.tryParse(text.getBytes(StandardCharsets.UTF_8), Json.MAX_LENIENT_DEPTH)
                .orElseThrow(() -> new IllegalStateException("a row of ours is not JSON"));
    }

    static String write(JsonNode node) {
        return Json.write(node);
    }
}
