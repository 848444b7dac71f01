package dev.waybill.engine;

import dev.waybill.definition.EvaluationException;
import dev.waybill.model.Problem;
import java.time.Duration;
import java.time.format.DateTimeParseException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import tools.jackson.databind.JsonNode;

/** Durations that a run computes: integer milliseconds, {@code "250ms" "30s" "5m" "2h" "3d"} or ISO-8601 (language.md). */
final class Durations {
    private static final Pattern UNIT = Pattern.compile("(\\d{1,12})(ms|s|m|h|d)");

    private Durations() {}

    /**
     * @return milliseconds, never negative
     * @throws EvaluationException DURATION_INVALID
     */
    static long millis(JsonNode value) throws EvaluationException {
        if (value.isNull() || value.isMissingNode()) {
            return 0;
        }
        if (value.isIntegralNumber() && value.canConvertToLong() && value.asLong() >= 0) {
            return value.asLong();
        }
        if (value.isString()) {
            String text = value.asString().trim();
            Matcher unit = UNIT.matcher(text);
            try {
                if (unit.matches()) {
                    long count = Long.parseLong(unit.group(1));
                    return switch (unit.group(2)) {
                        case "ms" -> count;
                        case "s" -> Math.multiplyExact(count, 1_000L);
                        case "m" -> Math.multiplyExact(count, 60_000L);
                        case "h" -> Math.multiplyExact(count, 3_600_000L);
                        default -> Math.multiplyExact(count, 86_400_000L);
                    };
                }
                long iso = Duration.parse(text).toMillis();
                if (iso >= 0) {
                    return iso;
                }
            } catch (DateTimeParseException | ArithmeticException e) {
                // falls through to the refusal below
            }
        }
        throw new EvaluationException(Problem.of("DURATION_INVALID", "not a duration: " + value));
    }
}
