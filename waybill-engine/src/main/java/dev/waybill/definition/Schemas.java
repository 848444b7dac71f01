package dev.waybill.definition;

import com.networknt.schema.Error;
import com.networknt.schema.Schema;
import com.networknt.schema.SchemaException;
import com.networknt.schema.SchemaLocation;
import com.networknt.schema.SchemaRegistry;
import com.networknt.schema.SchemaRegistryConfig;
import com.networknt.schema.SpecificationVersion;
import com.networknt.schema.ValidationLimitExceededException;
import com.networknt.schema.dialect.Dialects;
import com.networknt.schema.path.PathType;
import com.networknt.schema.regex.RegularExpression;
import com.networknt.schema.regex.RegularExpressions;
import dev.waybill.json.CanonicalJson;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;
import tools.jackson.databind.JsonNode;

/**
 * JSON Schema 2020-12. A schema is self-contained: a reference to anything outside of it, network or file, does not resolve. Work is
 * bounded and counted, never timed, so that the same value always gets the same verdict: a schema may refer to itself, twice at every
 * level, and its patterns may backtrack for ever; on an answer that has already been committed neither may cost the answer.
 */
public final class Schemas {
    /** More are not listed: nobody reads them, and a huge document could list megabytes. */
    public static final int MAX_VIOLATIONS = 100;

    /** Keywords applied in one validation. */
    static final int MAX_STEPS = 1_000_000;

    /** Schemas inside one another while they are applied. */
    static final int MAX_DEPTH = 512;

    /** Characters that the patterns of one validation read, together. */
    static final int MAX_PATTERN_READS = 20_000_000;

    private static final int MAX_CACHED = 500;
    /** Served from the library's own jar. */
    private static final String META_SCHEMAS = "https://json-schema.org/draft/2020-12/";

    private static final SchemaRegistryConfig CONFIG = SchemaRegistryConfig.builder()
            .locale(Locale.ENGLISH)
            .pathType(PathType.JSON_POINTER)
            .regularExpressionFactory(BoundedPattern::new)
            .build();
    private static final ScopedValue<AtomicInteger> PATTERN_READS = ScopedValue.newInstance();
    private static final Map<String, Schema> CACHE = new ConcurrentHashMap<>();

    private Schemas() {}

    /**
     * @param pointer JSON pointer into the instance
     */
    public record Violation(String pointer, String message) {}

    /**
     * What {@code node} violates, at most {@link #MAX_VIOLATIONS}; empty when it is valid. Where the bounds on work end the validation,
     * that is the only violation. The schema was checked at publish.
     */
    public static List<Violation> violations(JsonNode schema, JsonNode node) {
        return validate(cached(schema), node);
    }

    private static List<Violation> validate(Schema schema, JsonNode node) {
        try {
            return ScopedValue.where(PATTERN_READS, new AtomicInteger(MAX_PATTERN_READS))
                    .call(() -> list(schema.validate(
                            node,
                            execution -> execution.executionConfig(bounds -> bounds.maxEvaluationSteps(MAX_STEPS).maxEvaluationDepth(MAX_DEPTH)))));
        } catch (ValidationLimitExceededException | TooManyReads | StackOverflowError e) {
            // An overflow is the JDK's way to say that a pattern repeats a group very often, or the library's that depth costs much stack.
            return List.of(new Violation("", "the schema needs more work than is allowed to judge this value"));
        }
    }

    /** What is wrong with the schema itself; empty when it compiles. */
    public static List<Violation> faults(JsonNode schema) {
        if (!schema.isObject() && !schema.isBoolean()) {
            return List.of(new Violation("", "a schema is an object or a boolean"));
        }
        try {
            List<Violation> faults = validate(MetaSchema.INSTANCE, schema);
            if (faults.isEmpty()) {
                cached(schema);
            }
            return faults;
        } catch (SchemaException | IllegalArgumentException e) {
            return List.of(new Violation("", e.getMessage() == null ? e.toString() : e.getMessage()));
        } catch (StackOverflowError e) {
            return List.of(new Violation("", "the schema is nested too deeply"));
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

    private static final class TooManyReads extends RuntimeException {
        private static final long serialVersionUID = 1L;

        TooManyReads() {
            super("a pattern reads too much", null, false, false);
        }
    }

    /** A pattern whose reads are counted: one that backtracks reads the same characters again and again. */
    private record BoundedPattern(Pattern pattern) implements RegularExpression {
        BoundedPattern(String regex) {
            // As the library itself translates ECMA-262 to Java.
            this(Pattern.compile(RegularExpressions.replaceLongformCharacterProperties(RegularExpressions.replaceDollarAnchors(regex))));
        }

        @Override
        public boolean matches(String value) {
            return pattern.matcher(new Counted(value, PATTERN_READS.orElse(new AtomicInteger(MAX_PATTERN_READS)))).find();
        }
    }

    private record Counted(CharSequence text, AtomicInteger left) implements CharSequence {
        @Override
        public char charAt(int index) {
            if (left.getAndDecrement() <= 0) {
                throw new TooManyReads();
            }
            return text.charAt(index);
        }

        @Override
        public int length() {
            return text.length();
        }

        @Override
        public CharSequence subSequence(int start, int end) {
            return new Counted(text.subSequence(start, end), left);
        }

        @Override
        public String toString() {
            return text.toString();
        }
    }

    /** Loaded when the first schema is published. */
    private static final class MetaSchema {
        static final Schema INSTANCE = registry().getSchema(SchemaLocation.of(SpecificationVersion.DRAFT_2020_12.getDialectId()));
    }
}
