package dev.waybill.server.api;

import com.networknt.schema.Error;
import com.networknt.schema.Schema;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SchemaRegistryConfig;
import com.networknt.schema.SpecificationVersion;
import com.networknt.schema.path.PathType;
import dev.waybill.json.Json;
import dev.waybill.model.WaybillException;
import dev.waybill.server.Nearest;
import java.nio.ByteBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.JacksonException;
import tools.jackson.core.JsonParser;
import tools.jackson.core.JsonToken;
import tools.jackson.core.StreamReadFeature;
import tools.jackson.core.util.JsonParserDelegate;
import tools.jackson.databind.DeserializationFeature;
import tools.jackson.databind.JsonNode;
import tools.jackson.dataformat.yaml.YAMLFactory;
import tools.jackson.dataformat.yaml.YAMLMapper;
import tools.jackson.dataformat.yaml.YAMLParser;

/** Reads request bodies: strictly parsed, then held against the schema that the OpenAPI document prints. */
final class Body {
    /** Bodies beyond this are 413, whether they say their length or not. */
    static final int MAX_BYTES = 1024 * 1024;

    private static final YAMLMapper YAML = YAMLMapper.builder(YAMLFactory.builder()
                    .enable(StreamReadFeature.STRICT_DUPLICATE_DETECTION)
                    .build())
            .enable(DeserializationFeature.USE_BIG_DECIMAL_FOR_FLOATS, DeserializationFeature.FAIL_ON_TRAILING_TOKENS)
            .build();

    private final Schemas schemas;
    private final Map<String, Schema> compiled = new ConcurrentHashMap<>();
    private final SchemaRegistry registry = SchemaRegistry.withDefaultDialect(
            SpecificationVersion.DRAFT_2020_12,
            builder -> builder.schemaRegistryConfig(SchemaRegistryConfig.builder()
                    .pathType(PathType.JSON_POINTER)
                    .formatAssertionsEnabled(true)
                    .build()));

    Body(Schemas schemas) {
        this.schemas = schemas;
    }

    static JsonNode parse(byte[] bytes, boolean yaml) {
        return yaml ? parseYaml(bytes) : Json.parse(bytes);
    }

    /** YAML 1.2, the part of it that is JSON with other clothes on: no aliases, no duplicate keys, the same limits. */
    private static JsonNode parseYaml(byte[] bytes) {
        try {
            String text = StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
            try (JsonParser parser = new WithoutAliases((YAMLParser) YAML.createParser(text))) {
                JsonNode tree = YAML.readTree(parser);
                if (tree == null || tree.isMissingNode()) {
                    throw WaybillException.badRequest("MALFORMED_YAML", "the body is empty", null);
                }
                return Json.parse(Json.write(tree));
            }
        } catch (CharacterCodingException e) {
            throw WaybillException.badRequest("INVALID_UNICODE", "the text is not valid UTF-8", null);
        } catch (JacksonException e) {
            throw WaybillException.badRequest(
                    "MALFORMED_YAML",
                    e.getOriginalMessage() + (e.getLocation() == null ? "" : " (line " + e.getLocation().getLineNr() + ")"),
                    null);
        }
    }

    /** Jackson reads an alias as the text of its name; an author who writes one means the anchor's value. */
    private static final class WithoutAliases extends JsonParserDelegate {
        private final YAMLParser yaml;

        WithoutAliases(YAMLParser yaml) {
            super(yaml);
            this.yaml = yaml;
        }

        @Override
        public @Nullable JsonToken nextToken() {
            JsonToken token = super.nextToken();
            if (yaml.isCurrentAlias()) {
                throw WaybillException.badRequest("MALFORMED_YAML", "aliases (*name) are not supported: write the value out", null);
            }
            return token;
        }
    }

    /**
     * @throws WaybillException 400 UNSUPPORTED_FIELD for fields of the wire that this server does not act on yet, UNKNOWN_FIELD,
     *     MISSING_FIELD or INVALID_FIELD, with the pointer of the first fault
     */
    void check(String schemaName, JsonNode body) {
        if (!body.isObject()) {
            throw WaybillException.badRequest("INVALID_FIELD", "the body must be a JSON object", "");
        }
        refuseUnsupported(schemas.get(schemaName), body);
        List<Error> errors = errors(schemaName, body);
        if (!errors.isEmpty()) {
            throw refusal(schemaName, errors.getFirst());
        }
    }

    List<Error> errors(String schemaName, JsonNode value) {
        return compiled.computeIfAbsent(schemaName, name -> registry.getSchema(schemas.rooted(name))).validate(value);
    }

    /** A value that asks for nothing (null, false, the default) passes: clients of the older wire send every field. */
    private static void refuseUnsupported(JsonNode schema, JsonNode body) {
        for (Map.Entry<String, JsonNode> property : schema.path("properties").properties()) {
            JsonNode value = body.get(property.getKey());
            if (value != null && property.getValue().has("x-unsupported") && !asksForNothing(property.getValue(), value)) {
                throw new WaybillException(
                        400, "UNSUPPORTED_FIELD", property.getKey() + " is not supported by this version, and leaving it out "
                                + "silently would change what you asked for", "/" + property.getKey(), "leave " + property.getKey() + " out");
            }
        }
    }

    private static boolean asksForNothing(JsonNode schema, JsonNode value) {
        return value.isNull() || (value.isBoolean() && !value.booleanValue()) || value.equals(schema.get("default"));
    }

    private WaybillException refusal(String schemaName, Error error) {
        String at = error.getInstanceLocation().toString();
        String pointer = at.equals("/") ? "" : at;
        String property = error.getProperty();
        return switch (error.getKeyword()) {
            case "additionalProperties", "unevaluatedProperties" -> {
                JsonNode holder = schemas.holderOf(schemaName, pointer);
                List<String> known = new ArrayList<>();
                holder.path("properties").properties().forEach(p -> {
                    if (!p.getValue().has("x-unsupported")) {
                        known.add(p.getKey());
                    }
                });
                yield WaybillException.badRequest(
                        "UNKNOWN_FIELD",
                        property + " is not a field here" + Nearest.hint(String.valueOf(property), known),
                        pointer + "/" + String.valueOf(property).replace("~", "~0").replace("/", "~1"));
            }
            case "required" -> WaybillException.badRequest("MISSING_FIELD", property + " is missing", pointer + "/" + property);
            default -> WaybillException.badRequest("INVALID_FIELD", (pointer.isEmpty() ? "the body" : pointer) + ": " + error.getMessage(), pointer);
        };
    }
}
