package dev.waybill.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.definition.Durations;
import dev.waybill.definition.Sequence.Retry;
import dev.waybill.json.Json;
import dev.waybill.model.Problem;
import dev.waybill.test.Choices;
import dev.waybill.test.Fuzz;
import dev.waybill.transport.RetryAfter;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;

/** Waits: never negative, never beyond their bounds, whatever is configured and whatever a provider writes. */
class RetryFuzzTest {
    private static final Duration DAY = Duration.ofDays(1);
    private static final DateTimeFormatter IMF = DateTimeFormatter.ofPattern("EEE, dd MMM uuuu HH:mm:ss 'GMT'", Locale.US);

    @Test
    void aBackoffGrowsStaysWithinItsBoundsAndNeverOverflows() {
        Fuzz.check("retry-backoff", 10_000, choices -> {
            Duration initial = duration(choices);
            Duration max = choices.oneIn(5) ? Duration.ZERO : duration(choices);
            double multiplier = choices.oneIn(3) ? 1 + choices.below(100) : 1 + choices.below(10_000) / 101.0;
            double jitter = choices.oneIn(2) ? 0 : choices.below(1_001) / 1_000.0;
            Retry retry = new Retry(choices.between(1, 100), initial, max, multiplier, jitter, null, List.of("NO"));
            int k = choices.oneIn(4) ? choices.below(Integer.MAX_VALUE) : choices.below(40);
            long millis = RetryPolicy.backoff(retry, k, new SplittableRandom(choices.below(1_000)));
            long cap = max.isPositive() ? Math.min(max.toMillis(), DAY.toMillis()) : DAY.toMillis();
            assertThat(millis).isBetween(0L, cap);
            // Exactly, by decimals: initial x multiplier^k, capped, less at most the jitter's share.
            BigDecimal exact = BigDecimal.valueOf(initial.toMillis());
            for (int i = 0; i < k && exact.signum() > 0 && exact.compareTo(BigDecimal.valueOf(cap)) <= 0 && multiplier > 1; i++) {
                exact = exact.multiply(BigDecimal.valueOf(multiplier)).round(new java.math.MathContext(30));
            }
            double wanted = Math.min(exact.doubleValue(), cap);
            assertThat((double) millis).isLessThanOrEqualTo(wanted * 1.0001 + 1).isGreaterThanOrEqualTo(wanted * (1 - jitter) * 0.9999 - 2);

            Duration after = choices.oneIn(2) ? null : duration(choices);
            int used = choices.between(1, 120);
            Long next = RetryPolicy.next(retry, used, Problem.retryable(choices.oneIn(9) ? "NO" : "YES", "m"), after, name -> null, new SplittableRandom(1));
            if (next != null) {
                assertThat(used).isLessThan(retry.maxAttempts());
                assertThat(next).isBetween(0L, Math.max(Durations.MAX.toMillis(), DAY.toMillis()));
            }
        });
    }

    @Test
    void whateverAProviderWritesIntoRetryAfterTheWaitIsBounded() {
        Instant now = Instant.parse("2026-11-30T12:00:00Z");
        List<String> corpus = List.of("120", "Fri, 31 Dec 1999 23:59:59 GMT", "Friday, 31-Dec-99 23:59:59 GMT", "Fri Dec 31 23:59:59 1999", "0", "Tue, 01 Dec 2026 00:00:00 GMT", "1.5", "-5");
        List<String> tokens = List.of("999999999999999999999", "GMT", "Feb 30", "29 Feb 2027", "99:99:99", "23:59:60", "0000", "9999", "00", "-", "+", "\u0661", "\u0130", " ", ",", "e9", "\u0000");
        Fuzz.check("retry-after", 10_000, choices -> {
            String text;
            Duration exact = null;
            if (choices.oneIn(3)) {
                long seconds = choices.below(1_000_000) - 200_000L;
                boolean date = choices.oneIn(2);
                text = date ? IMF.format(now.plusSeconds(seconds).atOffset(ZoneOffset.UTC)) : Long.toString(Math.abs(seconds));
                exact = Duration.ofSeconds(Math.clamp(date ? seconds : Math.abs(seconds), 0, 86_400));
            } else {
                text = new String(choices.mutate(choices.pick(corpus).getBytes(StandardCharsets.UTF_8), tokens), StandardCharsets.UTF_8);
            }
            Duration wait = RetryAfter.parse(text, now, RetryAfter.CAP);
            if (exact != null) {
                assertThat(wait).as(text).isEqualTo(exact);
            } else if (wait != null) {
                assertThat(wait).as(text).isBetween(Duration.ZERO, RetryAfter.CAP);
            }
        });
    }

    @Test
    void aDurationIsReadExactlyOrNotAtAll() {
        List<String> corpus = List.of("30s", "250ms", "5 m", "2h", "3d", "PT30S", "PT1H2M3.5S", "P1DT1S", "1000");
        List<String> tokens = List.of("999999999999", "9223372036854775807", "P", "T", "-", "+", ".", "ms", "d", "\u0661", "1e3", " ", "\u2003", "PT-1S", "P9223372036854775807D");
        Fuzz.check("durations", 10_000, choices -> {
            int amount = choices.below(4_000_000);
            String unit = choices.pick(List.of("ms", "s", "m", "h", "d"));
            Duration exact = Duration.of(amount, java.time.temporal.ChronoUnit.valueOf(switch (unit) {
                case "ms" -> "MILLIS";
                case "s" -> "SECONDS";
                case "m" -> "MINUTES";
                case "h" -> "HOURS";
                default -> "DAYS";
            }));
            Optional<Duration> expected = exact.compareTo(Durations.MAX) <= 0 ? Optional.of(exact) : Optional.empty();
            assertThat(Durations.of(Json.NODES.stringNode(amount + unit))).isEqualTo(expected);
            assertThat(Durations.of(Json.NODES.stringNode(exact.toString()))).isEqualTo(expected);
            assertThat(Durations.of(Json.integer(exact.toMillis()))).isEqualTo(expected);
            String text = new String(choices.mutate(choices.pick(corpus).getBytes(StandardCharsets.UTF_8), tokens), StandardCharsets.UTF_8);
            Durations.of(Json.NODES.stringNode(text)).ifPresent(duration -> assertThat(duration).as(text).isBetween(Duration.ZERO, Durations.MAX));
            Durations.of(Json.NODES.numberNode(BigDecimal.valueOf(choices.bits(), choices.below(40) - 20)))
                    .ifPresent(duration -> assertThat(duration).isBetween(Duration.ZERO, Durations.MAX));
        });
    }

    private static Duration duration(Choices choices) {
        return Duration.ofMillis(switch (choices.below(4)) {
            case 0 -> choices.below(2_000);
            case 1 -> choices.below(100_000_000);
            case 2 -> Durations.MAX.toMillis() - choices.below(10);
            default -> 0;
        });
    }

    @Test
    void noBackoffStaysNoBackoffAtAnyAttempt() {
        Retry retry = new Retry(1_000, Duration.ZERO, Duration.ofMinutes(5), 100, 0, null, List.of());
        assertThat(RetryPolicy.backoff(retry, 200, new SplittableRandom(1))).isZero();
    }
}
