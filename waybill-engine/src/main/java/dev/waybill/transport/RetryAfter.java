package dev.waybill.transport;

import java.time.DateTimeException;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.List;
import java.util.Locale;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Reads {@code Retry-After} (RFC 9110 section 10.2.3) as what it is: untrusted text (case A09). */
public final class RetryAfter {
    /** The longest wait a provider can impose: 24 h. */
    public static final Duration CAP = Duration.ofHours(24);

    private static final List<String> MONTHS =
            List.of("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec");
    private static final String TIME = "([0-9]{2}):([0-9]{2}):([0-9]{2})";
    /** IMF-fixdate and the obsolete RFC 850 form; the day's name is not needed, so a wrong one does no harm. */
    private static final Pattern DAY_FIRST =
            Pattern.compile("(?:[a-z]+, *)?([0-9]{1,2})[ -]([a-z]{3})[ -]([0-9]{4}|[0-9]{2}) +" + TIME + " *(?:gmt|utc|z)?");

    private static final Pattern ASCTIME = Pattern.compile("[a-z]{3} +([a-z]{3}) +([0-9]{1,2}) +" + TIME + " +([0-9]{4})");

    private RetryAfter() {}

    /**
     * @return how long to wait at least, at most {@code cap}; zero for {@code 0} or a date in the past (the policy's minimum); null
     *     when the header is absent or not one of the RFC's forms (the policy's backoff)
     */
    public static @Nullable Duration parse(@Nullable String header, Instant now, Duration cap) {
        if (header == null) return null;
        String text = header.trim().toLowerCase(Locale.ROOT);
        if (text.isEmpty() || text.length() > 100) return null;
        if (text.chars().allMatch(c -> c >= '0' && c <= '9')) {
            String digits = text.replaceFirst("^0+", "");
            // Nine digits are 31 years: more only needs to be recognised as too much.
            if (digits.length() > 9) return cap;
            return atMost(Duration.ofSeconds(digits.isEmpty() ? 0 : Long.parseLong(digits)), cap);
        }
        Instant date = date(text, now);
        if (date == null) return null;
        Duration wait = Duration.between(now, date);
        return wait.isNegative() ? Duration.ZERO : atMost(wait, cap);
    }

    private static Duration atMost(Duration wait, Duration cap) {
        return wait.compareTo(cap) > 0 ? cap : wait;
    }

    private static @Nullable Instant date(String text, Instant now) {
        Matcher m = DAY_FIRST.matcher(text);
        if (m.matches()) return instant(year(m.group(3), now), m.group(2), m.group(1), m.group(4), m.group(5), m.group(6));
        m = ASCTIME.matcher(text);
        if (m.matches()) return instant(Integer.parseInt(m.group(6)), m.group(1), m.group(2), m.group(3), m.group(4), m.group(5));
        return null;
    }

    /** RFC 9110 section 5.6.7: a two-digit year more than 50 years ahead is in the past. */
    private static int year(String text, Instant now) {
        int year = Integer.parseInt(text);
        if (text.length() == 4) return year;
        int thisYear = now.atOffset(ZoneOffset.UTC).getYear();
        int full = thisYear - thisYear % 100 + year;
        return full > thisYear + 50 ? full - 100 : full;
    }

    private static @Nullable Instant instant(int year, String month, String day, String hour, String minute, String second) {
        int number = MONTHS.indexOf(month) + 1;
        if (number == 0) return null;
        // 60 is a leap second (RFC 9110); Instant has none.
        int seconds = Math.min(Integer.parseInt(second), 59);
        if (Integer.parseInt(second) > 60) return null;
        try {
            return OffsetDateTime.of(
                            year, number, Integer.parseInt(day), Integer.parseInt(hour), Integer.parseInt(minute), seconds, 0,
                            ZoneOffset.UTC)
                    .toInstant();
        } catch (DateTimeException e) {
            return null;
        }
    }
}
