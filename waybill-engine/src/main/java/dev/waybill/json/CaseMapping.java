package dev.waybill.json;

import java.util.Locale;
import java.util.function.UnaryOperator;

/**
 * Upper and lower case for texts that others choose. The JDK copies the whole result for every letter that grows ({@code ß} to {@code SS}):
 * a megabyte of them takes minutes. In pieces it is linear, with the same answer as long as no word is longer than a piece.
 */
public final class CaseMapping {
    private static final int PIECE = 256;

    private CaseMapping() {}

    public static String lower(String text) {
        return map(text, piece -> piece.toLowerCase(Locale.ROOT));
    }

    public static String upper(String text) {
        return map(text, piece -> piece.toUpperCase(Locale.ROOT));
    }

    private static String map(String text, UnaryOperator<String> mapping) {
        if (text.length() <= PIECE) {
            return mapping.apply(text);
        }
        StringBuilder out = new StringBuilder(text.length());
        for (int from = 0, to; from < text.length(); from = to) {
            to = end(text, from);
            out.append(mapping.apply(text.substring(from, to)));
        }
        return out.toString();
    }

    /** Behind a space if there is one, since a sigma at the end of a word is another letter; never within a surrogate pair. */
    private static int end(String text, int from) {
        int limit = from + PIECE;
        if (limit >= text.length()) {
            return text.length();
        }
        int space = text.lastIndexOf(' ', limit - 1);
        if (space >= from) {
            return space + 1;
        }
        return Character.isHighSurrogate(text.charAt(limit - 1)) ? limit - 1 : limit;
    }
}
