package dev.waybill.definition;

import dev.waybill.json.Json;
import dev.waybill.json.SecretText;
import dev.waybill.model.Problem;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * A string with {@code {{ path | fallback | filter }}} in it. What a path yields is data and is never looked at again (case A33). A
 * string that is one template keeps the type of its value; inside other text, null is empty.
 */
final class Template {
    /** Roots that a scope may have without a loop having named them. */
    static final Set<String> KNOWN_ROOTS = Set.of(
            "data", "context", "config", "outputs", "steps", "payload", "input", "state", "runtime", "item", "index", "status", "headers",
            "body", "key", "_error", "secrets");

    /** Possessive: a group that may give back costs stack for every repetition. */
    private static final Pattern PATH = Pattern.compile("[A-Za-z_][\\w$-]*(?:\\.[\\w$-]+)*+");
    private static final Pattern CALL = Pattern.compile("([A-Za-z_]\\w*)\\s*\\((.*)\\)", Pattern.DOTALL);
    private static final Pattern INDEX = Pattern.compile("\\[(\\d+)]");
    private static final Pattern NUMBER = Pattern.compile("-?(0|[1-9]\\d{0,17})(\\.\\d{1,18})?");
    private static final Pattern SECRET = Pattern.compile("secrets\\.([\\w.-]+)");
    private static final Pattern CREDENTIAL = Pattern.compile("credentials://([\\w.-]+/[\\w.-]+)");

    /** Between two pipes. */
    sealed interface Segment {
        record Path(String root, List<String> names) implements Segment {}

        /** Looks like a path, and is one when the scope has such a root; else it is a literal default. */
        record PathOrText(Path path, String text) implements Segment {}

        record Literal(JsonNode value) implements Segment {}

        record Filter(String name, List<JsonNode> arguments) implements Segment {}
    }

    private sealed interface Piece {
        record Text(String text) implements Piece {}

        record Secret(String name) implements Piece {}

        record Hole(List<Segment> segments) implements Piece {}
    }

    private final List<Piece> pieces;

    private Template(List<Piece> pieces) {
        this.pieces = pieces;
    }

    static boolean isTemplate(String text) {
        return text.contains("{{") || CREDENTIAL.matcher(text).matches();
    }

    static Template parse(String text) throws InvalidValueException {
        Matcher credential = CREDENTIAL.matcher(text);
        if (credential.matches()) {
            return new Template(List.of(new Piece.Secret(credential.group(1))));
        }
        List<Piece> pieces = new ArrayList<>();
        int from = 0;
        for (int open = text.indexOf("{{"); open >= 0; open = text.indexOf("{{", from)) {
            if (open > from) {
                pieces.add(new Piece.Text(text.substring(from, open)));
            }
            int close = closing(text, open + 2);
            if (close < 0) {
                throw new InvalidValueException("TEMPLATE_INVALID", "{{ is not closed by }} in: " + text);
            }
            pieces.add(hole(text.substring(open + 2, close).strip()));
            from = close + 2;
        }
        if (from < text.length()) {
            pieces.add(new Piece.Text(text.substring(from)));
        }
        return new Template(List.copyOf(pieces));
    }

    /** The frozen value when nothing in it depends on a scope, else null. */
    @Nullable JsonNode constant() {
        List<SecretText.Part> parts = new ArrayList<>();
        for (Piece piece : pieces) {
            switch (piece) {
                case Piece.Text(String text) -> parts.add(new SecretText.Part.Text(text));
                case Piece.Secret(String name) -> parts.add(new SecretText.Part.Secret(name));
                case Piece.Hole _ -> {
                    return null;
                }
            }
        }
        return SecretText.of(parts);
    }

    boolean hasSecret() {
        return pieces.stream().anyMatch(piece -> piece instanceof Piece.Secret);
    }

    /** Whether it begins with literal text, so that a key made of it names its operation. */
    boolean startsWithText() {
        return pieces.getFirst() instanceof Piece.Text(String text) && !text.isBlank();
    }

    /** Every path it may read, fallbacks included. */
    List<Segment.Path> paths() {
        List<Segment.Path> paths = new ArrayList<>();
        for (Piece piece : pieces) {
            if (piece instanceof Piece.Hole(List<Segment> segments)) {
                for (Segment segment : segments) {
                    switch (segment) {
                        case Segment.Path path -> paths.add(path);
                        case Segment.PathOrText(Segment.Path path, _) -> paths.add(path);
                        case Segment.Literal _, Segment.Filter _ -> {}
                    }
                }
            }
        }
        return paths;
    }

    /** @param key the strict rules for keys (case A32): every hole inside text must give something */
    JsonNode resolve(Scope scope, boolean key) throws EvaluationException {
        if (pieces.size() == 1 && pieces.getFirst() instanceof Piece.Hole(List<Segment> only)) {
            return SecretText.escape(evaluate(only, scope));
        }
        StringBuilder text = new StringBuilder();
        List<SecretText.Part> parts = null;
        for (Piece piece : pieces) {
            switch (piece) {
                case Piece.Text(String literal) -> text.append(literal);
                case Piece.Secret(String name) -> {
                    parts = parts == null ? new ArrayList<>() : parts;
                    parts.add(new SecretText.Part.Text(text.toString()));
                    parts.add(new SecretText.Part.Secret(name));
                    text.setLength(0);
                }
                case Piece.Hole(List<Segment> segments) -> {
                    JsonNode value = evaluate(segments, scope);
                    if (key) {
                        Keys.checkPart(value);
                    }
                    text.append(render(value));
                    Filters.bound(text.length());
                }
            }
        }
        if (parts == null) {
            return Json.NODES.stringNode(text.toString());
        }
        parts.add(new SecretText.Part.Text(text.toString()));
        return SecretText.of(parts);
    }

    /** As text inside other text. */
    static String render(JsonNode value) {
        if (value.isString()) {
            return value.stringValue();
        }
        if (value.isNull() || value.isMissingNode()) {
            return "";
        }
        if (value.isBigDecimal()) {
            BigDecimal number = value.decimalValue();
            return Math.abs(number.scale()) <= 100 ? number.toPlainString() : number.toString();
        }
        return Json.write(value);
    }

    private static JsonNode evaluate(List<Segment> segments, Scope scope) throws EvaluationException {
        JsonNode value = Json.NODES.nullNode();
        for (int i = 0; i < segments.size(); i++) {
            Segment segment = segments.get(i);
            if (segment instanceof Segment.Filter(String name, List<JsonNode> arguments)) {
                value = Filters.apply(name, arguments, value);
            } else if (value.isNull() || value.isMissingNode()) {
                value = switch (segment) {
                    case Segment.Path path -> at(path, scope);
                    case Segment.PathOrText(Segment.Path path, String text) ->
                        scope.root(path.root()) == null ? Json.NODES.stringNode(text) : at(path, scope);
                    case Segment.Literal(JsonNode literal) -> literal;
                    case Segment.Filter _ -> throw new IllegalStateException("handled above");
                };
            }
        }
        return value.isMissingNode() ? Json.NODES.nullNode() : value;
    }

    private static JsonNode at(Segment.Path path, Scope scope) throws EvaluationException {
        JsonNode node = scope.root(path.root());
        if (node == null) {
            throw new EvaluationException(Problem.of("TEMPLATE_UNKNOWN_ROOT", "there is no root named " + path.root()));
        }
        List<String> names = path.names();
        for (int i = 0; i < names.size(); i++) {
            String name = names.get(i);
            JsonNode next = node.isArray() ? item(node, name) : node.get(name);
            if (next == null) {
                return Json.NODES.missingNode();
            }
            node = next;
        }
        return node;
    }

    private static @Nullable JsonNode item(JsonNode array, String index) {
        for (int i = 0; i < index.length(); i++) {
            if (!Character.isDigit(index.charAt(i))) {
                return null;
            }
        }
        return index.length() > 9 ? null : array.get(Integer.parseInt(index));
    }

    private static Piece hole(String inside) throws InvalidValueException {
        List<String> texts = split(inside, '|');
        Matcher secret = SECRET.matcher(inside);
        if (secret.matches()) {
            return new Piece.Secret(secret.group(1));
        }
        Matcher credential = CREDENTIAL.matcher(inside);
        if (credential.matches()) {
            return new Piece.Secret(credential.group(1));
        }
        List<Segment> segments = new ArrayList<>();
        for (String text : texts) {
            segments.add(segment(text.strip(), segments.isEmpty()));
        }
        return new Piece.Hole(List.copyOf(segments));
    }

    private static Segment segment(String text, boolean first) throws InvalidValueException {
        if (text.startsWith("secrets.") || text.startsWith("credentials://")) {
            throw new InvalidValueException("TEMPLATE_INVALID", "a secret stands alone in {{ }}: no fallback, no filter: " + text);
        }
        if (text.isEmpty()) {
            throw new InvalidValueException("TEMPLATE_INVALID", "{{ }} has an empty part");
        }
        JsonNode literal = literal(text);
        if (literal != null) {
            return new Segment.Literal(literal);
        }
        Segment filter = first ? null : filter(text);
        if (filter != null) {
            return filter;
        }
        Matcher call = CALL.matcher(text);
        if (call.matches()) {
            throw new InvalidValueException(
                    "TEMPLATE_FUNCTION",
                    call.group(1) + "() is not a template function: a value must not depend on time or chance; pass it in with the data");
        }
        String dotted = INDEX.matcher(text).replaceAll(".$1");
        if (!PATH.matcher(dotted).matches()) {
            if (first) {
                throw new InvalidValueException("TEMPLATE_INVALID", "not a path: " + text);
            }
            return new Segment.Literal(Json.NODES.stringNode(text));
        }
        List<String> names = List.of(dotted.split("\\."));
        Segment.Path path = new Segment.Path(names.getFirst(), names.subList(1, names.size()));
        return first || KNOWN_ROOTS.contains(path.root()) ? path : new Segment.PathOrText(path, text);
    }

    /** {@code name}, {@code name(a, b)} or {@code name:a:b}. */
    private static @Nullable Segment filter(String text) throws InvalidValueException {
        String name = text;
        List<String> arguments = List.of();
        Matcher call = CALL.matcher(text);
        if (call.matches()) {
            name = call.group(1);
            arguments = call.group(2).isBlank() ? List.of() : split(call.group(2), ',');
        } else if (text.indexOf(':') > 0) {
            List<String> parts = split(text, ':');
            name = parts.getFirst().strip();
            arguments = parts.subList(1, parts.size());
        }
        if (!Filters.isFilter(name)) {
            return null;
        }
        if (!Filters.accepts(name, arguments.size())) {
            throw new InvalidValueException("TEMPLATE_INVALID", "the filter " + name + " does not take " + arguments.size() + " arguments");
        }
        List<JsonNode> values = new ArrayList<>();
        for (String argument : arguments) {
            String trimmed = argument.strip();
            JsonNode literal = literal(trimmed);
            values.add(literal != null ? literal : Json.NODES.stringNode(trimmed));
        }
        return new Segment.Filter(name, List.copyOf(values));
    }

    private static @Nullable JsonNode literal(String text) {
        char quote = text.isEmpty() ? ' ' : text.charAt(0);
        if (text.length() >= 2 && (quote == '\'' || quote == '"') && text.charAt(text.length() - 1) == quote) {
            return Json.NODES.stringNode(text.substring(1, text.length() - 1));
        }
        return switch (text) {
            case "true", "false" -> Json.NODES.booleanNode(text.equals("true"));
            case "null" -> Json.NODES.nullNode();
            default -> NUMBER.matcher(text).matches() ? Json.parse(text) : null;
        };
    }

    /** Where {@code }}} closes it, outside of quotes; -1 when nothing does. */
    private static int closing(String text, int from) {
        char quote = 0;
        for (int i = from; i < text.length(); i++) {
            char c = text.charAt(i);
            if (quote != 0) {
                quote = c == quote ? 0 : quote;
            } else if (c == '\'' || c == '"') {
                quote = c;
            } else if (c == '}' && text.startsWith("}}", i)) {
                return i;
            }
        }
        // An apostrophe in a bare default is no quote.
        return text.indexOf("}}", from);
    }

    private static List<String> split(String text, char separator) {
        List<String> parts = new ArrayList<>();
        StringBuilder part = new StringBuilder();
        char quote = 0;
        int depth = 0;
        for (int i = 0; i < text.length(); i++) {
            char c = text.charAt(i);
            if (quote != 0) {
                quote = c == quote ? 0 : quote;
            } else if ((c == '\'' || c == '"') && text.indexOf(c, i + 1) > 0) {
                quote = c;
            } else if (c == '(' || c == ')') {
                depth += c == '(' ? 1 : -1;
            } else if (c == separator && depth == 0) {
                parts.add(part.toString());
                part.setLength(0);
                continue;
            }
            part.append(c);
        }
        parts.add(part.toString());
        return parts;
    }
}
