package dev.waybill.transport;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.time.Instant;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Case A09, and the three date forms of RFC 9110 section 5.6.7. */
class RetryAfterTest {
    private static final Instant NOW = Instant.parse("2026-11-30T12:00:00Z");

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "30 | PT30S",
                "0 | PT0S",
                "000 | PT0S",
                "0030 | PT30S",
                "86400 | PT24H",
                "86401 | PT24H",
                "99999999999 | PT24H",
                "99999999999999999999999999999999999999 | PT24H",
                "Mon, 30 Nov 2026 12:00:45 GMT | PT45S",
                "mon, 30 nov 2026 12:00:45 gmt | PT45S",
                "Sun, 30 Nov 2026 12:00:45 UTC | PT45S",
                "30 Nov 2026 12:00:45 | PT45S",
                "Monday, 30-Nov-26 12:00:45 GMT | PT45S",
                "Mon Nov 30 12:00:45 2026 | PT45S",
                "Tue Dec  1 11:00:00 2026 | PT23H",
                "Tue, 01 Dec 2026 11:00:00 GMT | PT23H",
                "Thu, 31 Dec 9999 23:59:60 GMT | PT24H",
                "Wed, 21 Oct 2015 07:28:00 GMT | PT0S",
                "Friday, 30-Nov-90 12:00:45 GMT | PT0S",
                "Mon, 30 Nov 2026 12:00:00 GMT | PT0S"
            })
    void aLegalValueIsHonouredWithinBounds(String header, Duration expected) {
        assertThat(RetryAfter.parse(header, NOW, RetryAfter.CAP)).isEqualTo(expected);
        assertThat(RetryAfter.parse("  " + header + " ", NOW, RetryAfter.CAP)).isEqualTo(expected);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "-5", "120junk", "", " ", "+30", "30.5", "1e3", "0x1e", "30, 40", "soon", "Mon, 31 Feb 2026 12:00:00 GMT",
                "Mon, 30 Nov 2026 25:00:00 GMT", "Mon, 30 Nov 2026 12:00:61 GMT", "Mon, 30 Foo 2026 12:00:00 GMT",
                "2026-11-30T12:00:45Z", "\u0663\u0660"
            })
    void anythingElseIsAsIfAbsent(String header) {
        assertThat(RetryAfter.parse(header, NOW, RetryAfter.CAP)).isNull();
    }

    @Test
    void absentIsAbsentAndTheCapIsTheCallers() {
        assertThat(RetryAfter.parse(null, NOW, RetryAfter.CAP)).isNull();
        assertThat(RetryAfter.parse("3600", NOW, Duration.ofMinutes(5))).isEqualTo(Duration.ofMinutes(5));
        assertThat(RetryAfter.parse("9".repeat(5_000), NOW, RetryAfter.CAP)).isNull();
    }
}
