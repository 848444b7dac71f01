package dev.waybill.server;

import java.util.Collection;
import java.util.Comparator;
import java.util.Locale;
import java.util.Optional;

/** "Did you mean": the known name with the smallest edit distance, if it is close. */
public final class Nearest {
    private static final int MAX_LENGTH = 64;

    private Nearest() {}

    /** {@code "; did you mean X?"}, or an empty string when nothing is close. */
    public static String hint(String name, Collection<String> known) {
        return find(name, known).map(near -> "; did you mean " + near + "?").orElse("");
    }

    public static Optional<String> find(String name, Collection<String> known) {
        if (name.length() > MAX_LENGTH) {
            return Optional.empty();
        }
        String wanted = name.toLowerCase(Locale.ROOT);
        // Two letters swapped are two changes.
        int limit = name.length() < 4 ? 1 : Math.max(2, name.length() / 3);
        return known.stream()
                .filter(candidate -> distance(wanted, candidate.toLowerCase(Locale.ROOT)) <= limit)
                .min(Comparator.comparingInt(candidate -> distance(wanted, candidate.toLowerCase(Locale.ROOT))));
    }

    /** Levenshtein. */
    private static int distance(String a, String b) {
        int[] row = new int[b.length() + 1];
        for (int j = 0; j <= b.length(); j++) {
            row[j] = j;
        }
        for (int i = 1; i <= a.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= b.length(); j++) {
                int above = row[j];
                int change = a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1;
                row[j] = Math.min(Math.min(row[j] + 1, row[j - 1] + 1), diagonal + change);
                diagonal = above;
            }
        }
        return row[b.length()];
    }
}
