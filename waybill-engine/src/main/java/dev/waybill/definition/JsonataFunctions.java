package dev.waybill.definition;

import com.dashjoin.jsonata.Functions;
import com.dashjoin.jsonata.JException;
import com.dashjoin.jsonata.Jsonata;
import com.dashjoin.jsonata.Utils;
import dev.waybill.json.CaseMapping;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Replacements for the library's functions that could run away inside one call or lose digits. Behaviour as the JSONata documentation
 * states it; each watches the evaluation's clock and the size of what it builds.
 */
final class JsonataFunctions {
    private static final Map<String, String> SIGNATURES = Map.ofEntries(
            Map.entry("pad", "<s-ns?:s>"),
            Map.entry("join", "<a<s>s?:s>"),
            Map.entry("match", "<s-fn?:a<o>>"),
            Map.entry("contains", "<s-(sf):b>"),
            Map.entry("replace", "<s-(sf)(sf)n?:s>"),
            Map.entry("split", "<s-(sf)n?:a<s>>"),
            Map.entry("clone", "<(oa)-:o>"),
            Map.entry("lowercase", "<s-:s>"),
            Map.entry("uppercase", "<s-:s>"),
            Map.entry("formatNumber", "<n-so?:s>"),
            Map.entry("formatInteger", "<n-s:s>"),
            Map.entry("parseInteger", "<s-s:n>"),
            Map.entry("fromMillis", "<n-s?s?:s>"),
            Map.entry("toMillis", "<s-s?:n>"));
    private static final Set<String> NAMES = SIGNATURES.keySet();

    /** Characters of a picture string, as in {@code [Y0001]-[M01]}. */
    private static final int MAX_PICTURE = 256;

    /** A width of four digits and more, as in {@code [Y,1000000000]}: the library pads to it, one character and one copy at a time. */
    private static final Pattern WIDE = Pattern.compile("[1-9][0-9]{3}");

    private final Evaluation evaluation;

    private JsonataFunctions(Evaluation evaluation) {
        this.evaluation = evaluation;
    }

    /** Binds the replacements that the expression mentions. */
    static void bind(Set<String> variables, Evaluation evaluation, Jsonata.Frame frame) {
        JsonataFunctions functions = null;
        for (String name : NAMES) {
            if (variables.contains(name)) {
                functions = functions == null ? new JsonataFunctions(evaluation) : functions;
                frame.bind(name, new Jsonata.JFunction(functions.callable(name), SIGNATURES.get(name)));
            }
        }
    }

    private Jsonata.JFunctionCallable callable(String name) {
        return switch (name) {
            case "pad" -> (_, args) -> pad(text(args, 0), number(args, 1), text(args, 2));
            case "join" -> (_, args) -> join(args.getFirst(), text(args, 1));
            case "match" -> (_, args) -> match(text(args, 0), args.get(1), number(args, 2));
            case "contains" -> (_, args) -> contains(text(args, 0), args.get(1));
            case "replace" -> (_, args) -> replace(text(args, 0), args.get(1), args.get(2), number(args, 3));
            case "split" -> (_, args) -> split(text(args, 0), args.get(1), number(args, 2));
            case "clone" -> (_, args) -> copy(args.getFirst());
            case "lowercase" -> (_, args) -> text(args, 0) instanceof String text ? CaseMapping.lower(text) : null;
            case "uppercase" -> (_, args) -> text(args, 0) instanceof String text ? CaseMapping.upper(text) : null;
            case "formatNumber" -> (_, args) -> Functions.formatNumber(amount(args), picture(args), args.get(2) instanceof Map<?, ?> map ? map : null);
            case "formatInteger" -> (_, args) -> Functions.formatInteger(amount(args), picture(args));
            case "parseInteger" -> (_, args) -> Functions.parseInteger(text(args, 0), picture(args));
            case "fromMillis" -> (_, args) -> Functions.dateTimeFromMillis(amount(args), picture(args), text(args, 2));
            case "toMillis" -> (_, args) -> Functions.dateTimeToMillis(text(args, 0), picture(args));
            default -> throw new IllegalArgumentException(name);
        };
    }

    private static @Nullable String text(List<?> args, int index) {
        return index < args.size() && args.get(index) instanceof String text ? text : null;
    }

    private static @Nullable Integer number(List<?> args, int index) {
        return index < args.size() && args.get(index) instanceof Number number ? (int) Math.floor(number.doubleValue()) : null;
    }

    private static @Nullable Number amount(List<?> args) {
        return args.getFirst() instanceof Number number ? number : null;
    }

    private @Nullable String picture(List<?> args) {
        String picture = text(args, 1);
        if (picture != null && (picture.length() > MAX_PICTURE || WIDE.matcher(picture).find())) {
            throw evaluation.stop("EXPRESSION_BOUND", "a picture is longer than " + MAX_PICTURE + " characters or asks for more than 999");
        }
        return picture;
    }

    private @Nullable String pad(@Nullable String text, @Nullable Integer width, @Nullable String fill) {
        if (text == null || width == null) {
            return null;
        }
        // Negative widths pad on the left; Integer.MIN_VALUE has no absolute value.
        long wanted = Math.abs((long) width);
        bound(wanted);
        int missing = (int) wanted - text.codePointCount(0, text.length());
        if (missing <= 0) {
            return text;
        }
        int[] points = (fill == null || fill.isEmpty() ? " " : fill).codePoints().toArray();
        StringBuilder padding = new StringBuilder(missing);
        for (int i = 0; i < missing; i++) {
            padding.appendCodePoint(points[i % points.length]);
        }
        return width < 0 ? padding + text : text + padding;
    }

    private @Nullable String join(@Nullable Object parts, @Nullable String separator) {
        if (parts == null) {
            return null;
        }
        String between = separator == null ? "" : separator;
        List<String> texts = new ArrayList<>();
        long length = 0;
        for (Object part : parts instanceof List<?> list ? list : List.of(parts)) {
            String text = String.valueOf(part);
            length += text.length() + between.length();
            bound(length);
            texts.add(text);
        }
        return String.join(between, texts);
    }

    private @Nullable List<Object> match(@Nullable String text, Object pattern, @Nullable Integer limit) {
        if (text == null) {
            return null;
        }
        if (limit != null && limit < 0) {
            throw new JException("D3040", -1, limit);
        }
        List<Object> found = Utils.createSequence();
        Matcher matcher = matcher(pattern, text);
        while ((limit == null || found.size() < limit) && matcher.find()) {
            List<Object> groups = new ArrayList<>();
            for (int group = 1; group <= matcher.groupCount(); group++) {
                groups.add(matcher.group(group) == null ? "" : matcher.group(group));
            }
            Map<String, Object> match = new LinkedHashMap<>();
            match.put("match", matcher.group());
            match.put("index", matcher.start());
            match.put("groups", groups);
            found.add(match);
            bound(found.size() * 16L);
        }
        return found;
    }

    private @Nullable Boolean contains(@Nullable String text, Object token) {
        if (text == null) {
            return null;
        }
        return token instanceof String part ? text.contains(part) : matcher(token, text).find();
    }

    private @Nullable String replace(@Nullable String text, Object pattern, Object replacement, @Nullable Integer limit) throws Throwable {
        if (text == null) {
            return null;
        }
        if (limit != null && limit < 0) {
            throw new JException("D3011", -1, limit);
        }
        if (pattern instanceof String literal && literal.isEmpty()) {
            throw new JException("D3010", -1);
        }
        Matcher matcher = pattern instanceof String literal
                ? Pattern.compile(literal, Pattern.LITERAL).matcher(new Watched(text, 0, text.length()))
                : matcher(pattern, text);
        StringBuilder out = new StringBuilder();
        int from = 0;
        for (int count = 0; (limit == null || count < limit) && matcher.find(); count++) {
            if (matcher.end() == matcher.start()) {
                throw new JException("D1004", -1);
            }
            out.append(text, from, matcher.start());
            if (!(replacement instanceof String template)) {
                Object result = Functions.funcApply(replacement, List.of(matchOf(matcher)));
                if (!(result instanceof String replaced)) {
                    throw new JException("D3012", -1);
                }
                out.append(replaced);
            } else if (pattern instanceof String) {
                out.append(template);
            } else {
                expand(template, matcher, out);
            }
            bound(out.length());
            from = matcher.end();
        }
        bound((long) out.length() + text.length() - from);
        return out.append(text, from, text.length()).toString();
    }

    private static Map<String, Object> matchOf(Matcher matcher) {
        List<Object> groups = new ArrayList<>();
        for (int group = 1; group <= matcher.groupCount(); group++) {
            groups.add(matcher.group(group) == null ? "" : matcher.group(group));
        }
        Map<String, Object> match = new LinkedHashMap<>();
        match.put("match", matcher.group());
        match.put("start", matcher.start());
        match.put("end", matcher.end());
        match.put("groups", groups);
        return match;
    }

    /** {@code $$} is a dollar, {@code $0} the match, {@code $n} a group: as many digits as name a group, the rest is text. */
    private static void expand(String template, Matcher matcher, StringBuilder out) {
        for (int i = 0; i < template.length(); i++) {
            char c = template.charAt(i);
            char next = i + 1 < template.length() ? template.charAt(i + 1) : ' ';
            if (c != '$' || next != '$' && !Character.isDigit(next)) {
                out.append(c);
            } else if (next == '$') {
                out.append('$');
                i++;
            } else {
                int group = next - '0';
                i++;
                while (i + 1 < template.length()
                        && Character.isDigit(template.charAt(i + 1))
                        && group * 10 + template.charAt(i + 1) - '0' <= matcher.groupCount()) {
                    group = group * 10 + template.charAt(++i) - '0';
                }
                if (group <= matcher.groupCount() && matcher.group(group) != null) {
                    out.append(matcher.group(group));
                }
            }
        }
    }

    private @Nullable List<Object> split(@Nullable String text, Object separator, @Nullable Integer limit) {
        if (text == null) {
            return null;
        }
        if (limit != null && limit < 0) {
            throw new JException("D3020", -1, limit);
        }
        List<Object> parts = Utils.createSequence();
        if (separator instanceof String literal && literal.isEmpty()) {
            bound(text.length() * 16L);
            text.codePoints().forEach(point -> {
                if (limit == null || parts.size() < limit) {
                    parts.add(Character.toString(point));
                }
            });
            return parts;
        }
        Matcher matcher = separator instanceof String literal
                ? Pattern.compile(literal, Pattern.LITERAL).matcher(text)
                : matcher(separator, text);
        int from = 0;
        while ((limit == null || parts.size() < limit) && matcher.find()) {
            parts.add(text.substring(from, matcher.start()));
            bound(parts.size() * 16L);
            from = matcher.end();
        }
        if (limit == null || parts.size() < limit) {
            parts.add(text.substring(from));
        }
        return parts;
    }

    /** The library copies by way of JSON text and rounds numbers; a copy keeps every digit. */
    private static @Nullable Object copy(@Nullable Object value) {
        if (value instanceof Map<?, ?> map) {
            Map<Object, @Nullable Object> copy = new LinkedHashMap<>();
            map.forEach((name, member) -> copy.put(name, copy(member)));
            return copy;
        }
        if (value instanceof List<?> list) {
            List<@Nullable Object> copy = new ArrayList<>(list.size());
            list.forEach(item -> copy.add(copy(item)));
            return copy;
        }
        return value;
    }

    private Matcher matcher(Object pattern, String text) {
        if (!(pattern instanceof Pattern regex)) {
            throw new JException("T1010", -1);
        }
        return regex.matcher(new Watched(text, 0, text.length()));
    }

    private void bound(long length) {
        evaluation.spend(1);
        if (length > Expressions.MAX_OUTPUT) {
            throw evaluation.stop("EXPRESSION_BOUND", "a function would build more than " + Expressions.MAX_OUTPUT + " characters");
        }
    }

    /** A text that looks at the clock while a regular expression backtracks over it. */
    private final class Watched implements CharSequence {
        private final String text;
        private final int start;
        private final int end;
        private int reads;

        Watched(String text, int start, int end) {
            this.text = text;
            this.start = start;
            this.end = end;
        }

        @Override
        public char charAt(int index) {
            if ((++reads & 1023) == 0) {
                evaluation.spend(16);
            }
            return text.charAt(start + index);
        }

        @Override
        public int length() {
            return end - start;
        }

        @Override
        public CharSequence subSequence(int from, int to) {
            return new Watched(text, start + from, start + to);
        }

        @Override
        public String toString() {
            return text.substring(start, end);
        }
    }
}
