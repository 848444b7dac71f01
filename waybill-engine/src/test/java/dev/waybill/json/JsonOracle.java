package dev.waybill.json;

import dev.waybill.test.Choices;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;

/**
 * JSON once more, written from RFC 8259 and semantics.md section 3 and from nothing of ours: maps, lists, strings, decimals without trailing
 * zeros, booleans and {@link #NULL}, so that {@code equals} is equality of values.
 */
public final class JsonOracle {
    public static final Object NULL = "null".toCharArray();

    private final String text;
    private int at;

    private JsonOracle(String text) {
        this.text = text;
    }

    private static final class Refused extends Exception {
        private static final long serialVersionUID = 1L;
    }

    /** Empty when the text must be refused. */
    public static Optional<Object> read(String text) {
        JsonOracle oracle = new JsonOracle(text);
        try {
            Object value = oracle.value(0);
            oracle.space();
            return oracle.at == text.length() ? Optional.of(value) : Optional.empty();
        } catch (Refused e) {
            return Optional.empty();
        }
    }

    private Object value(int depth) throws Refused {
        space();
        char c = peek();
        return switch (c) {
            case '{' -> object(depth + 1);
            case '[' -> array(depth + 1);
            case '"' -> string();
            case 't' -> word("true", true);
            case 'f' -> word("false", false);
            case 'n' -> word("null", NULL);
            default -> number();
        };
    }

    private Object object(int depth) throws Refused {
        require(depth <= 64);
        at++;
        Map<String, Object> members = new TreeMap<>();
        space();
        if (peek() == '}') {
            at++;
            return members;
        }
        while (true) {
            space();
            String name = string();
            space();
            require(peek() == ':');
            at++;
            require(members.put(name, value(depth)) == null);
            space();
            char c = peek();
            at++;
            if (c == '}') {
                return members;
            }
            require(c == ',');
        }
    }

    private Object array(int depth) throws Refused {
        require(depth <= 64);
        at++;
        List<Object> items = new ArrayList<>();
        space();
        if (peek() == ']') {
            at++;
            return items;
        }
        while (true) {
            items.add(value(depth));
            space();
            char c = peek();
            at++;
            if (c == ']') {
                return items;
            }
            require(c == ',');
        }
    }

    private String string() throws Refused {
        require(peek() == '"');
        at++;
        StringBuilder out = new StringBuilder();
        while (peek() != '"') {
            char c = text.charAt(at++);
            require(c >= 0x20);
            if (c != '\\') {
                out.append(c);
                continue;
            }
            char escape = peek();
            at++;
            int plain = "\"\\/bfnrt".indexOf(escape);
            if (plain >= 0) {
                out.append("\"\\/\b\f\n\r\t".charAt(plain));
            } else {
                require(escape == 'u' && at + 4 <= text.length() && text.substring(at, at + 4).matches("[0-9a-fA-F]{4}"));
                out.append((char) Integer.parseInt(text.substring(at, at + 4), 16));
                at += 4;
            }
        }
        at++;
        String string = out.toString();
        require(string.codePoints().noneMatch(point -> point >= 0xd800 && point <= 0xdfff));
        return string;
    }

    private Object number() throws Refused {
        int start = at;
        if (peek() == '-') {
            at++;
        }
        int digits = peek() == '0' ? digits(1) : digits(Integer.MAX_VALUE);
        if (at < text.length() && text.charAt(at) == '.') {
            at++;
            digits += digits(Integer.MAX_VALUE);
        }
        if (at < text.length() && (text.charAt(at) == 'e' || text.charAt(at) == 'E')) {
            at++;
            if (peek() == '+' || peek() == '-') {
                at++;
            }
            int from = at;
            digits(Integer.MAX_VALUE);
            String exponent = text.substring(from, at).replaceFirst("^0+(?=.)", "");
            require(exponent.length() <= 5 && Integer.parseInt(exponent) <= 10_000);
        }
        require(digits <= 1_000);
        // And so may what it will be written as: 11e10000 becomes 1.1E+10001.
        BigDecimal value = new BigDecimal(text.substring(start, at));
        String written = value.toString();
        int exponentAt = written.indexOf('E');
        require(exponentAt < 0 ? written.replaceAll("[-.]", "").length() <= 1_000 : Math.abs(Integer.parseInt(written.substring(exponentAt + 1))) <= 10_000);
        return decimal(value);
    }

    private int digits(int most) throws Refused {
        int start = at;
        while (at < text.length() && at - start < most && text.charAt(at) >= '0' && text.charAt(at) <= '9') {
            at++;
        }
        require(at > start);
        return at - start;
    }

    private Object word(String word, Object value) throws Refused {
        require(text.startsWith(word, at));
        at += word.length();
        return value;
    }

    private void space() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) {
            at++;
        }
    }

    private char peek() throws Refused {
        require(at < text.length());
        return text.charAt(at);
    }

    private static void require(boolean holds) throws Refused {
        if (!holds) {
            throw new Refused();
        }
    }

    private static Object decimal(BigDecimal value) {
        return value.signum() == 0 ? BigDecimal.ZERO : value.stripTrailingZeros();
    }

    // --- values and their many spellings -----------------------------------------------------------------------------------------

    /** Any value, up to {@code depth} containers inside one another. */
    public static Object value(Choices choices, int depth) {
        return switch (choices.below(depth > 0 ? 7 : 5)) {
            case 0 -> choices.pick(List.of(NULL, true, false));
            case 1, 2 -> number(choices);
            case 3, 4 -> choices.text(12, false);
            case 5 -> {
                List<Object> items = new ArrayList<>();
                for (int left = choices.length(6); left > 0; left--) {
                    items.add(value(choices, depth - 1));
                }
                yield items;
            }
            default -> {
                Map<String, Object> members = new TreeMap<>();
                for (int left = choices.length(choices.oneIn(20) ? 60 : 6); left > 0; left--) {
                    members.put(choices.text(6, false), value(choices, depth - 1));
                }
                yield members;
            }
        };
    }

    private static Object number(Choices choices) {
        return decimal(switch (choices.below(6)) {
            case 0 -> BigDecimal.valueOf(choices.below(1_000) - 500);
            case 1 -> BigDecimal.valueOf(choices.bits());
            case 2 -> BigDecimal.valueOf((1L << 53) + choices.below(5) - 2);
            case 3 -> {
                double value = Double.longBitsToDouble(choices.bits());
                yield Double.isFinite(value) ? new BigDecimal(Double.toString(value)) : BigDecimal.ONE;
            }
            case 4 -> new BigDecimal(digits(choices, 1 + choices.length(300))).scaleByPowerOfTen(choices.below(600) - 300);
            default -> BigDecimal.valueOf(1 + choices.below(99)).scaleByPowerOfTen(choices.below(18_000) - 9_000);
        });
    }

    private static String digits(Choices choices, int count) {
        StringBuilder digits = new StringBuilder(choices.oneIn(2) ? "-" : "").append(1 + choices.below(9));
        for (int i = 1; i < count; i++) {
            digits.append(choices.below(10));
        }
        return digits.toString();
    }

    /** One of the many texts of a value: white space, order of members, escapes and forms of numbers as the choices will. */
    public static String render(Choices choices, Object value) {
        StringBuilder out = new StringBuilder();
        render(choices, value, out);
        return out.toString();
    }

    private static void render(Choices choices, Object value, StringBuilder out) {
        space(choices, out);
        if (value == NULL) {
            out.append("null");
        } else if (value instanceof Map<?, ?> map) {
            List<Map.Entry<?, ?>> left = new ArrayList<>(map.entrySet());
            out.append('{');
            while (!left.isEmpty()) {
                Map.Entry<?, ?> member = left.remove(choices.below(left.size()));
                space(choices, out);
                string(choices, (String) member.getKey(), out);
                space(choices, out);
                out.append(':');
                render(choices, member.getValue(), out);
                out.append(left.isEmpty() ? "" : ",");
            }
            out.append('}');
        } else if (value instanceof List<?> list) {
            out.append('[');
            for (int i = 0; i < list.size(); i++) {
                out.append(i == 0 ? "" : ",");
                render(choices, list.get(i), out);
            }
            out.append(']');
        } else if (value instanceof String text) {
            string(choices, text, out);
        } else if (value instanceof BigDecimal number) {
            out.append(number(choices, number));
        } else {
            out.append(value);
        }
        space(choices, out);
    }

    private static String number(Choices choices, BigDecimal number) {
        String digits = number.unscaledValue().toString();
        int shift = number.signum() == 0 ? 0 : choices.below(6);
        return switch (choices.below(4)) {
            case 0 -> digits + "e" + -number.scale();
            case 1 -> digits + "0".repeat(shift) + (choices.oneIn(2) ? "E" : "e") + (-number.scale() - shift);
            case 2 -> digits + ".000".substring(0, 2 + shift % 3) + "e" + (number.scale() <= 0 ? "+0" : "") + -number.scale();
            default -> Math.abs(number.scale()) < 300 ? number.toPlainString() : number.toString();
        };
    }

    private static void string(Choices choices, String text, StringBuilder out) {
        out.append('"');
        boolean escaped = false;
        for (char c : text.toCharArray()) {
            // Half a pair escaped and half of it not would be a lone surrogate in UTF-8.
            escaped = Character.isLowSurrogate(c) ? escaped : choices.oneIn(8);
            int named = "\"\\/\b\f\n\r\t".indexOf(c);
            if (c < 0x20 && named < 0 || escaped) {
                out.append(String.format(choices.oneIn(2) ? "\\u%04X" : "\\u%04x", (int) c));
            } else if (named >= 0 && (c != '/' || choices.oneIn(2))) {
                out.append('\\').append("\"\\/bfnrt".charAt(named));
            } else {
                out.append(c);
            }
        }
        out.append('"');
    }

    private static void space(Choices choices, StringBuilder out) {
        if (choices.oneIn(5)) {
            out.append(choices.pick(List.of(" ", "\t", "\n", "\r\n ")));
        }
    }
}
