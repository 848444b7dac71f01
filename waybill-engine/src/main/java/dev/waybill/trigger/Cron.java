package dev.waybill.trigger;

import dev.waybill.trigger.CronField.Kind;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.ZoneId;
import java.time.ZoneOffset;
import java.time.zone.ZoneOffsetTransition;
import java.time.zone.ZoneRules;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * A cron schedule: five fields (minute, hour, day of month, month, day of week) or six with seconds before them, or {@code @hourly} and
 * its like. Where both day fields restrict, either one suffices, as crontab(5) has it. Fires are instants; what a change of the clocks does to
 * them is {@link DstPolicy}. No library agrees with another there, and none runs a job that a gap skipped (libraries.md note 5).
 */
public final class Cron {
    /** 29 February on a given weekday comes at the latest after 40 years. */
    private static final int MOST_DAYS = 41 * 366;

    private static final Map<String, String> SHORT = Map.of(
            "@yearly", "0 0 1 1 *", "@annually", "0 0 1 1 *", "@monthly", "0 0 1 * *", "@weekly", "0 0 * * 0", "@daily", "0 0 * * *",
            "@midnight", "0 0 * * *", "@hourly", "0 * * * *");

    private final String text;
    private final CronField second;
    private final CronField minute;
    private final CronField hour;
    private final CronField dayOfMonth;
    private final CronField month;
    private final CronField dayOfWeek;

    private Cron(String text, List<String> fields) throws CronSyntaxException {
        this.text = text;
        this.second = CronField.parse(Kind.SECOND, fields.get(0));
        this.minute = CronField.parse(Kind.MINUTE, fields.get(1));
        this.hour = CronField.parse(Kind.HOUR, fields.get(2));
        this.dayOfMonth = CronField.parse(Kind.DAY_OF_MONTH, fields.get(3));
        this.month = CronField.parse(Kind.MONTH, fields.get(4));
        this.dayOfWeek = CronField.parse(Kind.DAY_OF_WEEK, fields.get(5));
    }

    /** @throws CronSyntaxException when it is no schedule, or one that never fires ({@code 0 0 30 2 *}) */
    public static Cron parse(String text) throws CronSyntaxException {
        String plain = text.strip();
        String full = plain.startsWith("@") ? SHORT.get(plain.toLowerCase(Locale.ROOT)) : plain;
        if (full == null) {
            throw new CronSyntaxException("\"" + plain + "\" is none of " + String.join(" ", SHORT.keySet().stream().sorted().toList()));
        }
        List<String> fields = List.of(full.split("\\s+"));
        if (fields.size() != 5 && fields.size() != 6) {
            throw new CronSyntaxException(
                    "\"" + plain + "\" has " + (full.isEmpty() ? 0 : fields.size()) + " fields; a schedule has five (minute hour day month weekday), or six with seconds before them");
        }
        Cron cron = new Cron(plain, fields.size() == 6 ? fields : java.util.stream.Stream.concat(java.util.stream.Stream.of("0"), fields.stream()).toList());
        if (cron.next(Instant.EPOCH, ZoneOffset.UTC, DstPolicy.DEFAULT).isEmpty()) {
            throw new CronSyntaxException("\"" + plain + "\" never fires: no such date exists");
        }
        return cron;
    }

    /** Its minute or hour is a wildcard: it repeats by elapsed time and is not held to times of day. */
    public boolean interval() {
        return second.wildcard() || minute.wildcard() || hour.wildcard();
    }

    /** The first fire strictly after {@code after}; empty when there is none within 40 years (a zone whose clocks skip it for ever). */
    public Optional<Instant> next(Instant after, ZoneId zone, DstPolicy policy) {
        ZoneRules rules = zone.getRules();
        // A change of the clocks at midnight mixes two days: the one before may still have fires, and the one behind may be first.
        LocalDate day = LocalDateTime.ofInstant(after, rules.getOffset(after)).toLocalDate().minusDays(1);
        for (int i = 0; i < MOST_DAYS; i++, day = day.plusDays(1)) {
            Instant found = firstOf(day, after, rules, policy);
            if (found != null) {
                Instant beside = firstOf(day.plusDays(1), after, rules, policy);
                return Optional.of(beside != null && beside.isBefore(found) ? beside : found);
            }
        }
        return Optional.empty();
    }

    private @Nullable Instant firstOf(LocalDate day, Instant after, ZoneRules rules, DstPolicy policy) {
        if (!on(day)) {
            return null;
        }
        LocalDateTime midnight = day.atStartOfDay();
        ZoneOffset offset = rules.getOffset(midnight);
        boolean plain = rules.isFixedOffset() || steady(rules, day, offset);
        if (plain) {
            LocalDateTime from = LocalDateTime.ofInstant(after, offset);
            LocalTime time = from.isBefore(midnight) ? at(0, 0, 0) : from.toLocalDate().equals(day) ? afterTime(from.toLocalTime()) : null;
            return time == null ? null : day.atTime(time).toInstant(offset);
        }
        Instant first = null;
        for (LocalTime time = at(0, 0, 0); time != null; time = afterTime(time)) {
            for (Instant fire : fires(day.atTime(time), rules, policy)) {
                if (fire.isAfter(after) && (first == null || fire.isBefore(first))) {
                    first = fire;
                }
            }
        }
        return first;
    }

    /** No clock changes on this day, nor so near that it moves one of its times. */
    private static boolean steady(ZoneRules rules, LocalDate day, ZoneOffset offset) {
        Instant from = day.minusDays(1).atStartOfDay().toInstant(offset);
        ZoneOffsetTransition next = rules.nextTransition(from);
        return rules.getOffset(from).equals(offset) && (next == null || next.getInstant().isAfter(day.plusDays(2).atStartOfDay().toInstant(offset)));
    }

    private List<Instant> fires(LocalDateTime time, ZoneRules rules, DstPolicy policy) {
        List<ZoneOffset> offsets = rules.getValidOffsets(time);
        if (offsets.size() == 1) {
            return List.of(time.toInstant(offsets.getFirst()));
        }
        if (offsets.isEmpty()) {
            boolean shift = !interval() && policy.gap() == DstPolicy.Gap.SHIFT;
            return shift ? List.of(rules.getTransition(time).getInstant()) : List.of();
        }
        List<Instant> both = offsets.stream().map(time::toInstant).sorted().toList();
        return interval() ? both : switch (policy.overlap()) {
            case FIRST -> List.of(both.getFirst());
            case LAST -> List.of(both.getLast());
            case BOTH -> both;
        };
    }

    private boolean on(LocalDate day) {
        if (!month.values().get(day.getMonthValue())) {
            return false;
        }
        boolean inMonth = dayOfMonth.values().get(day.getDayOfMonth());
        boolean inWeek = dayOfWeek.values().get(day.getDayOfWeek().getValue() % 7);
        return dayOfMonth.wildcard() || dayOfWeek.wildcard() ? inMonth && inWeek : inMonth || inWeek;
    }

    private @Nullable LocalTime afterTime(LocalTime time) {
        int next = time.toSecondOfDay() + 1;
        return next == 86_400 ? null : at(next / 3_600, next / 60 % 60, next % 60);
    }

    /** The first time of day that is allowed from this one on. */
    private @Nullable LocalTime at(int fromHour, int fromMinute, int fromSecond) {
        for (int h = hour.values().nextSetBit(fromHour); h >= 0; h = hour.values().nextSetBit(h + 1)) {
            for (int m = minute.values().nextSetBit(h == fromHour ? fromMinute : 0); m >= 0; m = minute.values().nextSetBit(m + 1)) {
                int s = second.values().nextSetBit(h == fromHour && m == fromMinute ? fromSecond : 0);
                if (s >= 0) {
                    return LocalTime.of(h, m, s);
                }
            }
        }
        return null;
    }

    @Override
    public String toString() {
        return text;
    }
}
