package dev.waybill.engine;

import dev.waybill.json.Json;
import tools.jackson.databind.JsonNode;

/** The engine's own rows, which it wrote itself: read and written through the product's one JSON configuration. */
final class EngineJson {
    private EngineJson() {}

    static JsonNode read(String text) {
        return Json.parse(text);
    }

    static String write(JsonNode node) {
        return Json.write(node);
    }
}
