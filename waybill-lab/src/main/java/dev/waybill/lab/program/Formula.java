package dev.waybill.lab.program;

import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.MissingNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * The values that the generator writes, evaluated from language.md alone: constants, {@code = expressions} and {@code {{ templates }}}.
 * What it does not know it refuses loudly: the generator must not write it.
 */
final class Formula {
    /** The step that holds this value fails with this code. */
    static final class Failure extends Exception {
        private static final long serialVersionUID = 1L;
        final String code;

        Failure(String code) {
            super(code, null, false, false);
            this.code = code;
        }
    }

    private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

    private final String source;
    private final Function<String, @Nullable JsonNode> roots;
    /** Of a key every part must be there. */
    private final boolean strict;

    private int at;

    private Formula(String source, Function<String, @Nullable JsonNode> roots, boolean strict) {
        this.source = source;
        this.roots = roots;
        this.strict = strict;
    }

    // --- values ----------------------------------------------------------------------------------------------------------------

    /** A value of a document, whatever its shape. */
    static JsonNode value(JsonNode written, Function<String, @Nullable JsonNode> roots) throws Failure {
        if (written.isObject()) {
            ObjectNode object = NODES.objectNode();
            for (Map.Entry<String, JsonNode> member : written.properties()) {
                object.set(member.getKey(), value(member.getValue(), roots));
            }
            return object;
        }
        if (written.isArray()) {
            ArrayNode array = NODES.arrayNode();
            for (JsonNode item : written) {
                array.add(value(item, roots));
            }
            return array;
        }
        if (!written.isString()) {
            return written;
        }
        String text = written.asString();
        if (text.startsWith("= ")) {
            return expression(text.substring(2), roots);
        }
        return text.contains("{{") ? template(text, roots, false) : written;
    }

    /** An idempotency key: a text, and no part of it undefined or null. */
    static String key(JsonNode written, Function<String, @Nullable JsonNode> roots) throws Failure {
        String text = written.asString();
        JsonNode key = text.startsWith("= ")
                ? new Formula(text.substring(2), roots, true).sum()
                : text.contains("{{") ? template(text, roots, true) : written;
        return key.asString();
    }

    static JsonNode expression(String source, Function<String, @Nullable JsonNode> roots) throws Failure {
        Formula formula = new Formula(source, roots, false);
        JsonNode value = formula.ternary();
        formula.spaces();
        if (formula.at < source.length()) {
            throw formula.strange();
        }
        return value;
    }

    static boolean condition(JsonNode written, Function<String, @Nullable JsonNode> roots) throws Failure {
        if (written.isBoolean()) {
            return written.asBoolean();
        }
        String text = written.asString();
        return truth(expression(text.startsWith("= ") ? text.substring(2) : text, roots));
    }

    static boolean truth(JsonNode value) {
        return switch (value.getNodeType()) {
            case BOOLEAN -> value.asBoolean();
            case NUMBER -> value.decimalValue().signum() != 0;
            case STRING -> !value.asString().isEmpty();
            case NULL, MISSING -> false;
            default -> throw new IllegalStateException("the generator writes no condition over " + value);
        };
    }

    // --- templates -------------------------------------------------------------------------------------------------------------

    private static JsonNode template(String text, Function<String, @Nullable JsonNode> roots, boolean strict) throws Failure {
        List<Object> pieces = new ArrayList<>();
        int from = 0;
        for (int open = text.indexOf("{{"); open >= 0; open = text.indexOf("{{", from)) {
            if (open > from) {
                pieces.add(text.substring(from, open));
            }
            int close = text.indexOf("}}", open);
            JsonNode value = hole(text.substring(open + 2, close), roots);
            if (strict && value.isNull()) {
                throw new Failure("EXPRESSION_UNDEFINED");
            }
            pieces.add(value);
            from = close + 2;
        }
        if (from < text.length()) {
            pieces.add(text.substring(from));
        }
        if (pieces.size() == 1 && pieces.getFirst() instanceof JsonNode only) {
            return only;
        }
        StringBuilder all = new StringBuilder();
        for (Object piece : pieces) {
            all.append(piece instanceof JsonNode node ? node.isNull() ? "" : node.isString() ? node.asString() : node.toString() : piece);
        }
        return NODES.stringNode(all.toString());
    }

    private static JsonNode hole(String inside, Function<String, @Nullable JsonNode> roots) throws Failure {
        JsonNode value = MissingNode.getInstance();
        for (String part : inside.split("\\|")) {
            String text = part.strip();
            if (text.equals("upper") || text.equals("lower")) {
                value = value.isString() ? NODES.stringNode(cased(value.asString(), text.equals("upper"))) : value;
            } else if (value.isMissingNode() || value.isNull()) {
                value = segment(text, roots);
            }
        }
        return value.isMissingNode() ? NODES.nullNode() : value;
    }

    private static String cased(String text, boolean upper) {
        return upper ? text.toUpperCase(Locale.ROOT) : text.toLowerCase(Locale.ROOT);
    }

    private static JsonNode segment(String text, Function<String, @Nullable JsonNode> roots) throws Failure {
        if (text.startsWith("'")) {
            return NODES.stringNode(text.substring(1, text.length() - 1));
        }
        if (text.matches("-?\\d+")) {
            return NODES.numberNode(Integer.parseInt(text));
        }
        String[] names = text.split("\\.");
        JsonNode node = roots.apply(names[0]);
        if (node == null) {
            throw new Failure("TEMPLATE_UNKNOWN_ROOT");
        }
        for (int i = 1; i < names.length; i++) {
            node = node.isArray() && names[i].matches("\\d+") ? node.path(Integer.parseInt(names[i])) : node.path(names[i]);
        }
        return node;
    }

    // --- expressions -----------------------------------------------------------------------------------------------------------

    private JsonNode ternary() throws Failure {
        JsonNode condition = or();
        if (!take("?")) {
            return condition;
        }
        JsonNode yes = ternary();
        expect(":");
        JsonNode no = ternary();
        return truth(condition) ? yes : no;
    }

    private JsonNode or() throws Failure {
        JsonNode left = and();
        while (word("or") || take("||")) {
            boolean a = truth(left);
            left = NODES.booleanNode(truth(and()) || a);
        }
        return left;
    }

    private JsonNode and() throws Failure {
        JsonNode left = comparison();
        while (word("and") || take("&&")) {
            boolean a = truth(left);
            left = NODES.booleanNode(truth(comparison()) && a);
        }
        return left;
    }

    private JsonNode comparison() throws Failure {
        JsonNode left = sum();
        for (String operator : List.of("!=", "<=", ">=", "==", "=", "<", ">")) {
            if (take(operator)) {
                return compared(left, operator, sum());
            }
        }
        return left;
    }

    /** JSONata: an undefined side makes (in)equality false, and an order undefined. */
    private static JsonNode compared(JsonNode left, String operator, JsonNode right) {
        boolean undefined = left.isMissingNode() || right.isMissingNode();
        switch (operator) {
            case "=", "==" -> {
                return NODES.booleanNode(!undefined && same(left, right));
            }
            case "!=" -> {
                return NODES.booleanNode(!undefined && !same(left, right));
            }
            default -> {
                if (undefined) {
                    return MissingNode.getInstance();
                }
            }
        }
        int order = left.isNumber() ? left.decimalValue().compareTo(right.decimalValue()) : left.asString().compareTo(right.asString());
        return NODES.booleanNode(switch (operator) {
            case "<" -> order < 0;
            case "<=" -> order <= 0;
            case ">" -> order > 0;
            default -> order >= 0;
        });
    }

    /** Equal as JSON; numbers by their exact value. */
    static boolean same(JsonNode a, JsonNode b) {
        return a.equals((x, y) -> x.isNumber() && y.isNumber() ? x.decimalValue().compareTo(y.decimalValue()) : x.equals(y) ? 0 : 1, b);
    }

    private JsonNode sum() throws Failure {
        JsonNode left = product();
        while (true) {
            if (take("+")) {
                left = number(left.decimalValue().add(product().decimalValue()));
            } else if (take("-")) {
                left = number(left.decimalValue().subtract(product().decimalValue()));
            } else if (single('&')) {
                JsonNode right = product();
                if (strict && (left.isMissingNode() || right.isMissingNode())) {
                    throw new Failure("EXPRESSION_UNDEFINED");
                }
                left = NODES.stringNode(text(left) + text(right));
            } else {
                return left;
            }
        }
    }

    private JsonNode product() throws Failure {
        JsonNode left = operand();
        while (true) {
            if (take("*")) {
                left = number(left.decimalValue().multiply(operand().decimalValue()));
            } else if (take("%")) {
                left = number(left.decimalValue().remainder(operand().decimalValue()));
            } else {
                return left;
            }
        }
    }

    private static JsonNode number(BigDecimal value) {
        return NODES.numberNode(value.intValueExact());
    }

    private static String text(JsonNode value) {
        return value.isMissingNode() ? "" : value.isString() ? value.asString() : value.toString();
    }

    private JsonNode operand() throws Failure {
        spaces();
        char c = at < source.length() ? source.charAt(at) : ' ';
        if (take("(")) {
            JsonNode inner = ternary();
            expect(")");
            return inner;
        }
        if (take("[")) {
            ArrayNode array = NODES.arrayNode();
            while (!take("]")) {
                array.add(ternary());
                take(",");
            }
            return array;
        }
        if (c == '!') {
            at++;
            return NODES.booleanNode(!truth(operand()));
        }
        if (c == '\'') {
            int end = source.indexOf('\'', at + 1);
            String text = source.substring(at + 1, end);
            at = end + 1;
            return NODES.stringNode(text);
        }
        int start = at;
        if (Character.isDigit(c)) {
            while (at < source.length() && Character.isDigit(source.charAt(at))) {
                at++;
            }
            return NODES.numberNode(Integer.parseInt(source.substring(start, at)));
        }
        while (at < source.length() && (Character.isLetterOrDigit(source.charAt(at)) || "_.$".indexOf(source.charAt(at)) >= 0)) {
            at++;
        }
        return named(source.substring(start, at));
    }

    private JsonNode named(String word) throws Failure {
        switch (word) {
            case "" -> throw strange();
            case "true", "false" -> {
                return NODES.booleanNode(word.equals("true"));
            }
            case "$not", "$string", "$count" -> {
                expect("(");
                JsonNode argument = ternary();
                expect(")");
                return switch (word) {
                    case "$not" -> argument.isMissingNode() ? argument : NODES.booleanNode(!truth(argument));
                    case "$string" -> NODES.stringNode(text(argument));
                    default -> NODES.numberNode(argument.size());
                };
            }
            default -> {
                String[] names = word.split("\\.");
                JsonNode node = roots.apply(names[0]);
                if (node == null) {
                    throw new Failure("EXPRESSION_UNKNOWN_ROOT");
                }
                for (int i = 1; i < names.length; i++) {
                    if (node.isArray()) {
                        throw strange();
                    }
                    node = node.path(names[i]);
                }
                return node;
            }
        }
    }

    private IllegalStateException strange() {
        return new IllegalStateException("the generator must not write this: " + source + " (at " + at + ")");
    }

    private void spaces() {
        while (at < source.length() && source.charAt(at) == ' ') {
            at++;
        }
    }

    private boolean take(String token) {
        spaces();
        if (!source.startsWith(token, at)) {
            return false;
        }
        at += token.length();
        return true;
    }

    /** This character, not doubled. */
    private boolean single(char token) {
        spaces();
        boolean here = at < source.length() && source.charAt(at) == token && !source.startsWith("" + token + token, at);
        if (here) {
            at++;
        }
        return here;
    }

    private boolean word(String word) {
        spaces();
        int end = at + word.length();
        boolean here = source.startsWith(word, at) && (end == source.length() || source.charAt(end) == ' ');
        if (here) {
            at = end;
        }
        return here;
    }

    private void expect(String token) {
        if (!take(token)) {
            throw strange();
        }
    }
}
