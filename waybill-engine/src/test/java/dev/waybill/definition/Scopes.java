package dev.waybill.definition;

import dev.waybill.json.Json;
import tools.jackson.databind.JsonNode;

/** Scopes for tests: the members of a JSON object are the roots. */
final class Scopes {
    private Scopes() {}

    static Scope of(String roots) {
        JsonNode object = Json.parse(roots);
        return object::get;
    }
}
