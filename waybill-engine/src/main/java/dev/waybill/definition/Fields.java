package dev.waybill.definition;

import java.math.BigDecimal;
import java.time.Duration;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * Reads the members of one object of a document. Every member is either read, known to be not built yet (UNSUPPORTED) or unknown
 * (UNKNOWN_FIELD): nothing an author writes is ever silently ignored. A null counts as absent.
 */
final class Fields {
    private final JsonNode object;
    final String pointer;
    private final Faults faults;
    private final Set<String> known = new TreeSet<>();

    Fields(JsonNode object, String pointer, Faults faults) {
        this.object = object;
        this.pointer = pointer;
        this.faults = faults;
    }

    String at(String name) {
        return pointer + "/" + Pointers.escape(name);
    }

    void fault(String code, String name, String message) {
        faults.add(code, at(name), message);
    }

    @Nullable JsonNode get(String name) {
        known.add(name);
        JsonNode value = object.get(name);
        return value == null || value.isNull() ? null : value;
    }

    boolean has(String name) {
        return get(name) != null;
    }

    JsonNode require(String name, Predicate<JsonNode> holds, String what, JsonNode otherwise) {
        JsonNode value = get(name);
        if (value == null) {
            faults.add("MISSING_FIELD", pointer, "the field " + name + " is missing");
            return otherwise;
        }
        if (!holds.test(value)) {
            fault("WRONG_TYPE", name, name + " must be " + what);
            return otherwise;
        }
        return value;
    }

    @Nullable JsonNode optional(String name, Predicate<JsonNode> holds, String what) {
        JsonNode value = get(name);
        if (value != null && !holds.test(value)) {
            fault("WRONG_TYPE", name, name + " must be " + what);
            return null;
        }
        return value;
    }

    @Nullable String text(String name) {
        JsonNode value = optional(name, node -> node.isString() && !node.stringValue().isBlank(), "a non-empty string");
        return value == null ? null : value.stringValue();
    }

    boolean flag(String name, boolean otherwise) {
        JsonNode value = optional(name, JsonNode::isBoolean, "true or false");
        return value == null ? otherwise : value.booleanValue();
    }

    int integer(String name, int least, int most, int otherwise) {
        JsonNode value = optional(
                name,
                node -> node.isInt() && node.intValue() >= least && node.intValue() <= most,
                "an integer from " + least + " to " + most);
        return value == null ? otherwise : value.intValue();
    }

    double number(String name, double least, double most, double otherwise) {
        JsonNode value = optional(
                name,
                // Compared as decimals: the library throws for a number that no double can hold.
                node -> node.isNumber()
                        && node.decimalValue().compareTo(BigDecimal.valueOf(least)) >= 0
                        && node.decimalValue().compareTo(BigDecimal.valueOf(most)) <= 0,
                "a number from " + least + " to " + most);
        return value == null ? otherwise : value.doubleValue();
    }

    @Nullable Duration duration(String name) {
        JsonNode value = get(name);
        Optional<Duration> duration = value == null ? Optional.empty() : Durations.of(value);
        if (value != null && duration.isEmpty()) {
            fault("INVALID_DURATION", name, name + " must be integer milliseconds or a text such as \"30s\", \"5m\" or \"PT30S\"");
        }
        return duration.orElse(null);
    }

    /** Parts of the language that have no engine behind them yet; empty ones ask for nothing. */
    void unsupported(String... names) {
        for (String name : names) {
            JsonNode value = get(name);
            if (value != null && !(value.isContainer() && value.isEmpty())) {
                fault("UNSUPPORTED", name, "the field " + name + " is not supported yet");
            }
        }
    }

    /** Accepted and not used: what the API itself adds to a document when it shows one. */
    void shown(String... names) {
        for (String name : names) {
            get(name);
        }
    }

    /** Ends the reading: what nobody asked for is unknown. */
    void done() {
        for (Map.Entry<String, JsonNode> member : object.properties()) {
            String name = member.getKey();
            if (!known.contains(name)) {
                fault("UNKNOWN_FIELD", name, "there is no field " + name + near(name, known));
            }
        }
    }

    /** {@code ; did you mean x?}, or nothing when nothing is near. */
    static String near(String name, Iterable<String> candidates) {
        String best = null;
        int least = Math.max(2, Math.min(3, name.length() / 3)) + 1;
        for (String candidate : candidates) {
            int distance = distance(name, candidate, least);
            if (distance < least) {
                least = distance;
                best = candidate;
            }
        }
        return best == null ? "" : "; did you mean " + best + "?";
    }

    private static int distance(String a, String b, int enough) {
        if (Math.abs(a.length() - b.length()) >= enough) {
            return enough;
        }
        int[] row = new int[b.length() + 1];
        for (int j = 0; j < row.length; j++) {
            row[j] = j;
        }
        for (int i = 1; i <= a.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j < row.length; j++) {
                int above = row[j];
                int change = a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1;
                row[j] = Math.min(Math.min(row[j], row[j - 1]) + 1, diagonal + change);
                diagonal = above;
            }
        }
        return row[b.length()];
    }
}
