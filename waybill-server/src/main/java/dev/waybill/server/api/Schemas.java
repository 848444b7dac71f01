package dev.waybill.server.api;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Objects;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;
import tools.jackson.dataformat.yaml.YAMLMapper;

/** The JSON Schemas of the wire ({@code schemas.yaml}): printed in the OpenAPI document, enforced on bodies, checked on answers. */
final class Schemas {
    private final ObjectNode all;

    Schemas() {
        try (InputStream in = Objects.requireNonNull(Schemas.class.getResourceAsStream("schemas.yaml"), "schemas.yaml")) {
            all = (ObjectNode) new YAMLMapper().readTree(in);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    ObjectNode all() {
        return all;
    }

    JsonNode get(String name) {
        return Objects.requireNonNull(all.get(name), () -> "no schema " + name);
    }

    static ObjectNode reference(String name) {
        return JsonNodeFactory.instance.objectNode().put("$ref", "#/components/schemas/" + name);
    }

    /** A document of its own whose root is {@code name}, with the others beside it, so that references resolve as in OpenAPI. */
    JsonNode rooted(String name) {
        ObjectNode root = reference(name);
        root.putObject("components").set("schemas", all);
        return root;
    }

    /** The schema that governs the object at {@code pointer} of an instance of {@code name}, references followed. */
    JsonNode holderOf(String name, String pointer) {
        JsonNode at = get(name);
        for (String segment : pointer.isEmpty() ? new String[0] : pointer.substring(1).split("/")) {
            at = follow(at.path("properties").path(segment));
        }
        return at;
    }

    private JsonNode follow(JsonNode schema) {
        JsonNode reference = schema.get("$ref");
        return reference == null ? schema : get(reference.asString().substring("#/components/schemas/".length()));
    }
}
