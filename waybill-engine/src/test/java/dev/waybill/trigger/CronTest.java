package dev.waybill.trigger;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.cronutils.model.CronType;
import com.cronutils.model.definition.CronDefinitionBuilder;
import com.cronutils.model.time.ExecutionTime;
import com.cronutils.parser.CronParser;
import dev.waybill.trigger.DstPolicy.Gap;
import dev.waybill.trigger.DstPolicy.Overlap;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.ZonedDateTime;
import java.time.zone.ZoneOffsetTransition;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.TreeSet;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** When a schedule fires: case A37 and its kind, against a scan of every minute and, outside the nights of a change, against cron-utils. */
class CronTest {
    private static final List<String> ZONES = List.of(
            "Europe/Berlin", "America/New_York", "Africa/Cairo", "Australia/Lord_Howe", "America/Sao_Paulo", "Pacific/Apia", "Asia/Tehran",
            "Africa/Casablanca", "Antarctica/Troll", "America/St_Johns", "UTC");

    private static List<Instant> fires(String cron, String zone, DstPolicy policy, Instant after, Instant until) throws CronSyntaxException {
        Cron parsed = Cron.parse(cron);
        List<Instant> fires = new ArrayList<>();
        Instant at = after;
        while (true) {
            Instant next = parsed.next(at, ZoneId.of(zone), policy).orElse(Instant.MAX);
            if (!next.isBefore(until)) {
                return fires;
            }
            assertThat(next).isAfter(at);
            fires.add(next);
            at = next;
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "30 2 * * *  | America/New_York | 2027-03-12T12:00:00Z | 2027-03-13T07:30:00Z 2027-03-14T07:00:00Z 2027-03-15T06:30:00Z",
        "30 1 * * *  | America/New_York | 2027-11-06T12:00:00Z | 2027-11-07T05:30:00Z 2027-11-08T06:30:00Z",
        "0 0 * * *   | Africa/Cairo     | 2027-04-28T12:00:00Z | 2027-04-28T22:00:00Z 2027-04-29T22:00:00Z 2027-04-30T21:00:00Z",
        "30 23 * * * | Africa/Cairo     | 2027-10-28T12:00:00Z | 2027-10-28T20:30:00Z 2027-10-29T21:30:00Z",
    })
    void a37FixedTimesFireOncePerDayWhateverTheClocksDo(String cron, String zone, Instant after, String expected) throws CronSyntaxException {
        List<Instant> wanted = Stream.of(expected.split(" ")).map(Instant::parse).toList();
        assertThat(fires(cron, zone, DstPolicy.DEFAULT, after, wanted.getLast().plusSeconds(1))).isEqualTo(wanted);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "SKIP  | FIRST | 30 2 * * *       | 2027-03-27T12:00:00Z | 2027-03-29T12:00:00Z | 2027-03-29T00:30:00Z",
        "SHIFT | FIRST | 0,30 2 * * *     | 2027-03-27T12:00:00Z | 2027-03-28T12:00:00Z | 2027-03-28T01:00:00Z",
        "SHIFT | FIRST | 30 2,3 * * *     | 2027-03-27T12:00:00Z | 2027-03-28T12:00:00Z | 2027-03-28T01:00:00Z 2027-03-28T01:30:00Z",
        "SHIFT | LAST  | 30 2 * * *       | 2027-10-30T12:00:00Z | 2027-10-31T12:00:00Z | 2027-10-31T01:30:00Z",
        "SHIFT | BOTH  | 30 2 * * *       | 2027-10-30T12:00:00Z | 2027-10-31T12:00:00Z | 2027-10-31T00:30:00Z 2027-10-31T01:30:00Z",
        "SHIFT | FIRST | */30 * * * *     | 2027-10-30T23:59:00Z | 2027-10-31T02:01:00Z | 2027-10-31T00:00:00Z 2027-10-31T00:30:00Z 2027-10-31T01:00:00Z 2027-10-31T01:30:00Z 2027-10-31T02:00:00Z",
        "SHIFT | FIRST | 30 * * * *       | 2027-03-28T00:00:00Z | 2027-03-28T02:00:00Z | 2027-03-28T00:30:00Z 2027-03-28T01:30:00Z",
        "SHIFT | FIRST | */20 2 * * *     | 2027-03-27T12:00:00Z | 2027-03-28T12:00:00Z | ''",
        "SHIFT | FIRST | 15 30 2 * * *    | 2027-03-27T00:00:00Z | 2027-03-28T12:00:00Z | 2027-03-27T01:30:15Z 2027-03-28T01:00:00Z",
    })
    void theClocksOfBerlinUnderEveryPolicy(Gap gap, Overlap overlap, String cron, Instant after, Instant until, String expected) throws CronSyntaxException {
        List<Instant> wanted = expected.isEmpty() ? List.of() : Stream.of(expected.split(" ")).map(Instant::parse).toList();
        assertThat(fires(cron, "Europe/Berlin", new DstPolicy(gap, overlap), after, until)).isEqualTo(wanted);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "0 0 29 2 *     | 2028-02-29T00:00:00Z",
        "0 0 13 * 5     | 2027-01-08T00:00:00Z",
        "0 0 * * SUN    | 2027-01-03T00:00:00Z",
        "0 0 * * 7      | 2027-01-03T00:00:00Z",
        "0 0 31 */2 *   | 2027-01-31T00:00:00Z",
        "5-59/20 8 1 JAN ? | 2027-01-01T08:05:00Z",
        "@monthly       | 2027-02-01T00:00:00Z",
        "*/7 * * * * *  | 2027-01-01T00:00:07Z",
    })
    void theNextFireAfterNewYear2027(String cron, Instant expected) throws CronSyntaxException {
        assertThat(Cron.parse(cron).next(Instant.parse("2027-01-01T00:00:00Z"), ZoneOffset.UTC, DstPolicy.DEFAULT)).contains(expected);
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "", "* * * *", "* * * * * * *", "60 * * * *", "* 24 * * *", "* * 0 * *", "* * * 13 *", "* * * * 8", "5-1 * * * *", "*/0 * * * *",
        "1,,2 * * * *", "a * * * *", "0 0 30 2 *", "0 0 31 2,4,6,9,11 *", "@reboot", "1- * * * *", "-1 * * * *", "* * * FEBRUARY *", "٣ * * * *"
    })
    void whatIsNoScheduleIsRefusedWithTheFieldNamed(String text) {
        assertThatThrownBy(() -> Cron.parse(text)).isInstanceOf(CronSyntaxException.class).hasMessageMatching("(?s).*(field|second|minute|hour|day|month|never fires|none of).*");
    }

    /** Every minute of the days around every change of the clocks from 2023 to 2028, in zones that change at odd times and by odd amounts. */
    @Test
    void aroundEveryChangeItFiresWhereAScanOfEveryMinuteSays() throws CronSyntaxException {
        Random random = new Random(20270314);
        int compared = 0;
        for (String zone : ZONES) {
            ZoneId id = ZoneId.of(zone);
            for (Instant change = Instant.parse("2023-01-01T00:00:00Z"); change.isBefore(Instant.parse("2028-01-01T00:00:00Z")); ) {
                ZoneOffsetTransition next = id.getRules().nextTransition(change);
                change = next == null ? Instant.parse("2028-01-01T00:00:00Z") : next.getInstant();
                Instant from = change.minus(Duration.ofHours(30));
                Instant until = change.plus(Duration.ofHours(30));
                for (int i = 0; i < 12; i++) {
                    String cron = random(random);
                    DstPolicy policy = new DstPolicy(Gap.values()[random.nextInt(2)], Overlap.values()[random.nextInt(3)]);
                    assertThat(fires(cron, zone, policy, from, until)).as("%s in %s under %s from %s", cron, zone, policy, from)
                            .isEqualTo(scanned(cron, id, policy, from, until));
                    compared++;
                }
            }
        }
        assertThat(compared).isGreaterThan(900);
    }

    private static String random(Random random) {
        String minute = switch (random.nextInt(4)) {
            case 0 -> "*/" + (1 + random.nextInt(30));
            case 1 -> random.nextInt(30) + "," + (30 + random.nextInt(30));
            default -> String.valueOf(random.nextInt(60));
        };
        String hour = switch (random.nextInt(4)) {
            case 0 -> "*";
            case 1 -> "*/" + (1 + random.nextInt(6));
            default -> random.nextInt(4) + "," + (20 + random.nextInt(4));
        };
        return minute + " " + hour + " * * *";
    }

    /** The same by another way: the clock on the wall is watched minute by minute. */
    private static List<Instant> scanned(String cron, ZoneId zone, DstPolicy policy, Instant after, Instant until) throws CronSyntaxException {
        String[] fields = cron.split(" ");
        CronField minutes = CronField.parse(CronField.Kind.MINUTE, fields[0]);
        CronField hours = CronField.parse(CronField.Kind.HOUR, fields[1]);
        boolean interval = fields[0].startsWith("*") || fields[1].startsWith("*");
        TreeSet<Instant> fires = new TreeSet<>();
        List<LocalDateTime> seen = new ArrayList<>();
        Instant begin = after.minus(Duration.ofHours(48));
        LocalDateTime shown = LocalDateTime.ofInstant(begin.minusSeconds(60), zone);
        for (Instant at = begin; at.isBefore(until); at = at.plusSeconds(60)) {
            LocalDateTime now = LocalDateTime.ofInstant(at, zone);
            if (now.isAfter(shown.plusMinutes(1))) { // the hands jumped
                for (LocalDateTime missed = shown.plusMinutes(1); missed.isBefore(now); missed = missed.plusMinutes(1)) {
                    if (matches(missed, minutes, hours) && !interval && policy.gap() == Gap.SHIFT) {
                        fires.add(at);
                    }
                }
            }
            if (matches(now, minutes, hours)) {
                boolean again = seen.contains(now);
                if (interval || !again || policy.overlap() == Overlap.BOTH) {
                    fires.add(at);
                } else if (policy.overlap() == Overlap.LAST) {
                    fires.removeIf(earlier -> LocalDateTime.ofInstant(earlier, zone).equals(now));
                    fires.add(at);
                }
                seen.add(now);
            }
            shown = now;
        }
        // Of a time whose second coming lies behind the window the first was not the last.
        if (!interval && policy.overlap() == Overlap.LAST) {
            fires.removeIf(fire -> zone.getRules().getValidOffsets(LocalDateTime.ofInstant(fire, zone)).stream()
                    .map(offset -> LocalDateTime.ofInstant(fire, zone).toInstant(offset))
                    .anyMatch(other -> other.isAfter(fire) && !other.isBefore(until)));
        }
        return fires.stream().filter(fire -> fire.isAfter(after)).toList();
    }

    private static boolean matches(LocalDateTime time, CronField minutes, CronField hours) {
        return minutes.values().get(time.getMinute()) && hours.values().get(time.getHour());
    }

    /** A library of the field, where the clocks do not change. */
    @Test
    void outsideTheNightsOfAChangeItAgreesWithCronUtils() throws CronSyntaxException {
        CronParser parser = new CronParser(CronDefinitionBuilder.instanceDefinitionFor(CronType.UNIX));
        Random random = new Random(7);
        for (int i = 0; i < 3_000; i++) {
            String cron = random(random).replace(" * * *", "") + " " + days(random);
            ZoneId zone = ZoneOffset.ofHours(random.nextInt(25) - 12);
            Instant after = LocalDate.of(2024, 1, 1).atStartOfDay(ZoneOffset.UTC).toInstant().plusSeconds(random.nextInt(4 * 366 * 86_400));
            ZonedDateTime theirs = ExecutionTime.forCron(parser.parse(cron)).nextExecution(after.atZone(zone)).orElseThrow();
            assertThat(Cron.parse(cron).next(after, zone, DstPolicy.DEFAULT)).as("%s after %s at %s", cron, after, zone).contains(theirs.toInstant());
        }
    }

    private static String days(Random random) {
        return switch (random.nextInt(5)) {
            case 0 -> (1 + random.nextInt(31)) + " * *";
            case 1 -> "* " + (1 + random.nextInt(12)) + " *";
            case 2 -> "* * " + random.nextInt(7);
            case 3 -> (1 + random.nextInt(28)) + " * " + random.nextInt(7);
            default -> "* * *";
        };
    }
}
