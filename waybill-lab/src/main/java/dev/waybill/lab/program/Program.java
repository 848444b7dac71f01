package dev.waybill.lab.program;

import java.util.Set;
import java.util.TreeSet;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * A sequence, the data it is started with, the provider's script and what must come of it. The same seed and options give the same
 * program in every process.
 */
public record Program(long seed, Options options, ObjectNode document, ObjectNode data, Script script, Set<String> features, Expected expected) {
    /** The run's name in {@link Expected}. */
    static final String RUN = "RUN";

    private static final int MOST_DRAWS = 1_000;

    /** A program of this seed. */
    public static Program of(long seed, Options options) {
        for (int draw = 0; draw < MOST_DRAWS; draw++) {
            Generator generator = new Generator(seed * MOST_DRAWS + draw, options, name(seed));
            ObjectNode document = generator.document();
            try {
                Interpreter interpreter = new Interpreter(document, generator.data(), generator.script(), options.maxEffects());
                Expected expected = interpreter.run();
                Set<String> features = new TreeSet<>(generator.features());
                features.addAll(interpreter.met());
                return new Program(seed, options, document, generator.data(), generator.script(), features, expected);
            } catch (Interpreter.NotComputable e) {
                // More than one result is right, or it is too large: the next one.
            }
        }
        throw new IllegalStateException("seed " + seed + " gives no program within " + options);
    }

    static String name(long seed) {
        return "program-" + seed;
    }

    public String name() {
        return name(seed);
    }

    /** The data of one run of it: {@code run} tells the provider who asks, and nothing depends on it. */
    public ObjectNode data(String run) {
        return data.deepCopy().put("run", run);
    }

    /** Document and data, for people. */
    public JsonNode shown() {
        ObjectNode shown = document.deepCopy();
        shown.set("data", data);
        return shown;
    }
}
