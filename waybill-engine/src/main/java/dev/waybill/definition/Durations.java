package dev.waybill.definition;

import java.time.Duration;
import java.time.format.DateTimeParseException;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import tools.jackson.databind.JsonNode;

/** Durations as sequences write them: integer milliseconds, {@code "250ms" "30s" "5m" "2h" "3d"}, or ISO 8601 ({@code "PT30S"}). */
public final class Durations {
    /** Longer than any run; a longer one is a slip of the pen. */
    public static final Duration MAX = Duration.ofDays(3650);

    private static final Pattern SHORT = Pattern.compile("(\\d{1,12})\\s?(ms|s|m|h|d)");

    private Durations() {}

    /** Empty when it is no duration, negative, or longer than {@link #MAX}. */
    public static Optional<Duration> of(JsonNode node) {
        Optional<Duration> duration = node.isIntegralNumber() && node.canConvertToLong()
                ? Optional.of(Duration.ofMillis(node.longValue()))
                : node.isString() ? text(node.stringValue().strip()) : Optional.empty();
        return duration.filter(value -> !value.isNegative() && value.compareTo(MAX) <= 0);
    }

    private static Optional<Duration> text(String text) {
        Matcher matcher = SHORT.matcher(text);
        if (matcher.matches()) {
            long amount = Long.parseLong(matcher.group(1));
            return Optional.of(switch (matcher.group(2)) {
                case "ms" -> Duration.ofMillis(amount);
                case "s" -> Duration.ofSeconds(amount);
                case "m" -> Duration.ofMinutes(amount);
                case "h" -> Duration.ofHours(amount);
                default -> Duration.ofDays(amount);
            });
        }
        if (!text.startsWith("P")) {
            return Optional.empty();
        }
        try {
            return Optional.of(Duration.parse(text));
        } catch (DateTimeParseException | ArithmeticException e) {
            return Optional.empty();
        }
    }
}
