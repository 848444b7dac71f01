package dev.waybill.trigger;

import java.util.BitSet;
import java.util.List;
import java.util.Locale;

/**
 * One field of a cron text: the values it allows.
 *
 * @param wildcard it begins with {@code *} or {@code ?}: it restricts nothing, or only every how many
 */
record CronField(BitSet values, boolean wildcard) {

    /** A field's name, its range, and the names that stand for numbers from {@code first} on. */
    enum Kind {
        SECOND("second", 0, 59, 0, List.of()),
        MINUTE("minute", 0, 59, 0, List.of()),
        HOUR("hour", 0, 23, 0, List.of()),
        DAY_OF_MONTH("day of month", 1, 31, 0, List.of()),
        MONTH("month", 1, 12, 1, List.of("JAN", "FEB", "MAR", "APR", "MAY", "JUN", "JUL", "AUG", "SEP", "OCT", "NOV", "DEC")),
        /** 0 and 7 are Sunday. */
        DAY_OF_WEEK("day of week", 0, 7, 0, List.of("SUN", "MON", "TUE", "WED", "THU", "FRI", "SAT"));

        final String title;
        final int least;
        final int most;
        private final int first;
        private final List<String> names;

        Kind(String title, int least, int most, int first, List<String> names) {
            this.title = title;
            this.least = least;
            this.most = most;
            this.first = first;
            this.names = names;
        }

        int number(String text) throws CronSyntaxException {
            int name = names.indexOf(text.toUpperCase(Locale.ROOT));
            if (name >= 0) {
                return name + first;
            }
            int number = text.matches("[0-9]{1,2}") ? Integer.parseInt(text) : -1;
            if (number < least || number > most) {
                throw new CronSyntaxException(title + ": \"" + text + "\" is none of " + least + "-" + most
                        + (names.isEmpty() ? "" : " or " + names.getFirst() + "-" + names.getLast()));
            }
            return number;
        }
    }

    static CronField parse(Kind kind, String text) throws CronSyntaxException {
        BitSet values = new BitSet(kind.most + 1);
        for (String part : text.split(",", -1)) {
            part(kind, part, values);
        }
        if (kind == Kind.DAY_OF_WEEK && values.get(7)) {
            values.clear(7);
            values.set(0);
        }
        return new CronField(values, text.startsWith("*") || text.startsWith("?"));
    }

    private static void part(Kind kind, String part, BitSet values) throws CronSyntaxException {
        int slash = part.indexOf('/');
        String range = slash < 0 ? part : part.substring(0, slash);
        int step = slash < 0 ? 1 : step(kind, part.substring(slash + 1));
        int dash = range.indexOf('-');
        int from;
        int to;
        if (range.equals("*") || range.equals("?")) {
            from = kind.least;
            to = kind == Kind.DAY_OF_WEEK ? 6 : kind.most;
        } else if (dash < 0) {
            from = kind.number(range);
            to = slash < 0 ? from : kind == Kind.DAY_OF_WEEK ? 6 : kind.most;
        } else {
            from = kind.number(range.substring(0, dash));
            to = kind.number(range.substring(dash + 1));
        }
        if (from > to) {
            throw new CronSyntaxException(kind.title + ": \"" + part + "\" runs backwards; write it as two parts with a comma");
        }
        for (int value = from; value <= to; value += step) {
            values.set(value);
        }
    }

    private static int step(Kind kind, String text) throws CronSyntaxException {
        int step = text.matches("[0-9]{1,4}") ? Integer.parseInt(text) : 0;
        if (step == 0) {
            throw new CronSyntaxException(kind.title + ": \"/" + text + "\" is no step; steps are whole numbers from 1");
        }
        return step;
    }
}
