package dev.waybill.definition;

import com.networknt.schema.Error;
import com.networknt.schema.Schema;
import com.networknt.schema.SchemaException;
import com.networknt.schema.SchemaLocation;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SchemaRegistryConfig;
import com.networknt.schema.SpecificationVersion;
import com.networknt.schema.dialect.Dialects;
import com.networknt.schema.path.PathType;
import dev.waybill.json.CanonicalJson;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import tools.jackson.databind.JsonNode;

/** JSON Schema 2020-12. A schema is self-contained: a reference to anything outside of it, network or file, does not resolve. */
public final class Schemas {
    /** More are not listed: nobody reads them, and a huge document could list megabytes. */
    public static final int MAX_VIOLATIONS = 100;

    private static final int MAX_CACHED = 500;
    /** Served from the library's own jar. */
    private static final String META_SCHEMAS = "https://json-schema.org/draft/2020-12/";

    private static final SchemaRegistryConfig CONFIG =
            SchemaRegistryConfig.builder().locale(Locale.ENGLISH).pathType(PathType.JSON_POINTER).build();
    private static final Map<String, Schema> CACHE = new ConcurrentHashMap<>();

    private Schemas() {}

    /**
     * @param pointer JSON pointer into the instance
     */
    public record Violation(String pointer, String message) {}

    /** What {@code node} violates, at most {@link #MAX_VIOLATIONS}; empty when it is valid. The schema was checked at publish. */
    public static List<Violation> violations(JsonNode schema, JsonNode node) {
        return list(cached(schema).validate(node));
    }

    /** What is wrong with the schema itself; empty when it compiles. */
    public static List<Violation> faults(JsonNode schema) {
        if (!schema.isObject() && !schema.isBoolean()) {
            return List.of(new Violation("", "a schema is an object or a boolean"));
        }
        try {
            List<Violation> faults = list(MetaSchema.INSTANCE.validate(schema));
            if (faults.isEmpty()) {
                cached(schema);
            }
            return faults;
        } catch (SchemaException | IllegalArgumentException e) {
            return List.of(new Violation("", e.getMessage() == null ? e.toString() : e.getMessage()));
        }
    }

    private static Schema cached(JsonNode schema) {
        String hash = CanonicalJson.sha256Hex(schema);
        Schema known = CACHE.get(hash);
        if (known != null) {
            return known;
        }
        Schema compiled = registry().getSchema(schema);
        // References are resolved now, so that a broken one is a fault at publish and not at the first instance.
        compiled.initializeValidators();
        if (CACHE.size() >= MAX_CACHED) {
            CACHE.clear();
        }
        CACHE.put(hash, compiled);
        return compiled;
    }

    /** A registry per schema: two documents may use the same {@code $id} for different schemas. */
    private static SchemaRegistry registry() {
        return SchemaRegistry.withDialect(Dialects.getDraft202012(), builder -> builder.schemaLoader(
                        loader -> loader.allow(iri -> iri.toString().startsWith(META_SCHEMAS)))
                .schemaRegistryConfig(CONFIG));
    }

    private static List<Violation> list(List<Error> errors) {
        List<Violation> violations = new ArrayList<>();
        for (Error error : errors) {
            if (violations.size() == MAX_VIOLATIONS) {
                break;
            }
            violations.add(new Violation(error.getInstanceLocation().toString(), error.getMessage()));
        }
        return violations;
    }

    /** Loaded when the first schema is published. */

    private static final class MetaSchema {
        static final Schema INSTANCE = registry().getSchema(SchemaLocation.of(SpecificationVersion.DRAFT_2020_12.getDialectId()));
    }
}
