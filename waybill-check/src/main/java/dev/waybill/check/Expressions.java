package dev.waybill.check;

import java.math.BigDecimal;
import java.util.Map;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.MissingNode;

/**
 * The part of JSONata that the reference interpreter understands: constants, dotted paths, comparisons, {@code and} and {@code or} with
 * their C spellings. What is not certain to mean the same as in JSONata is {@link Beyond}: then the recorded decision is believed.
 */
final class Expressions {
    /** Not in the subset, or not certain for these values. */
    static final class Beyond extends Exception {
        private static final long serialVersionUID = 1L;

        Beyond(String why) {
            super(why, null, false, false);
        }
    }

    private static final JsonNodeFactory NODES = JsonNodeFactory.instance;
    private static final Map<String, String> SPELLINGS = Map.of("==", "=", "&&", "and", "||", "or");

    private final String source;
    private final Function<String, @Nullable JsonNode> roots;
    private int at;

    private Expressions(String source, Function<String, @Nullable JsonNode> roots) {
        this.source = source;
        this.roots = roots;
    }

    /** A condition, with or without its leading {@code =}. */
    static boolean holds(JsonNode condition, Function<String, @Nullable JsonNode> roots) throws Beyond {
        if (condition.isBoolean()) {
            return condition.asBoolean();
        }
        if (!condition.isString()) {
            throw new Beyond("not a text");
        }
        String text = condition.asString().strip();
        return truth(new Expressions(text.startsWith("= ") ? text.substring(2) : text, roots).whole());
    }

    /** A value: a constant, {@code = expression}, or a text that is one {@code {{ path }}}. */
    static JsonNode value(JsonNode value, Function<String, @Nullable JsonNode> roots) throws Beyond {
        if (!value.isString()) {
            if (value.toString().contains("{{") || value.toString().contains("\"= ")) {
                throw new Beyond("nested templates");
            }
            return value;
        }
        String text = value.asString();
        if (text.startsWith("= ")) {
            return new Expressions(text.substring(2), roots).whole();
        }
        if (!text.contains("{{")) {
            return value;
        }
        String inner = text.strip();
        if (!inner.startsWith("{{") || inner.indexOf("}}") != inner.length() - 2 || inner.contains("|")) {
            throw new Beyond("a template of several parts");
        }
        return new Expressions(inner.substring(2, inner.length() - 2), roots).whole();
    }

    static boolean truth(JsonNode value) throws Beyond {
        if (value.isMissingNode() || value.isNull()) {
            return false;
        }
        if (value.isBoolean()) {
            return value.asBoolean();
        }
        if (value.isNumber()) {
            return value.decimalValue().signum() != 0;
        }
        if (value.isString()) {
            return !value.asString().isEmpty();
        }
        throw new Beyond("the truth of a list or an object");
    }

    private JsonNode whole() throws Beyond {
        JsonNode value = or();
        spaces();
        if (at < source.length()) {
            throw new Beyond("left over: " + source.substring(at));
        }
        return value;
    }

    private JsonNode or() throws Beyond {
        JsonNode left = and();
        while (takeWord("or") || take("||")) {
            boolean a = truth(left);
            boolean b = truth(and());
            left = NODES.booleanNode(a || b);
        }
        return left;
    }

    private JsonNode and() throws Beyond {
        JsonNode left = comparison();
        while (takeWord("and") || take("&&")) {
            boolean a = truth(left);
            boolean b = truth(comparison());
            left = NODES.booleanNode(a && b);
        }
        return left;
    }

    private JsonNode comparison() throws Beyond {
        JsonNode left = operand();
        for (String operator : new String[] {"!=", "<=", ">=", "==", "=", "<", ">"}) {
            if (take(operator)) {
                return NODES.booleanNode(compare(left, SPELLINGS.getOrDefault(operator, operator), operand()));
            }
        }
        return left;
    }

    /** Where one side is not there, nothing is equal, unequal, less or more. */
    private static boolean compare(JsonNode left, String operator, JsonNode right) throws Beyond {
        if (left.isMissingNode() || right.isMissingNode()) {
            return false;
        }
        if (operator.equals("=") || operator.equals("!=")) {
            if (left.isContainer() || right.isContainer()) {
                throw new Beyond("lists and objects are not compared");
            }
            return Json.same(left, right) == operator.equals("=");
        }
        int order;
        if (left.isNumber() && right.isNumber()) {
            order = left.decimalValue().compareTo(right.decimalValue());
        } else if (left.isString() && right.isString()) {
            order = left.asString().compareTo(right.asString());
        } else {
            throw new Beyond("only numbers or texts are less or more");
        }
        return switch (operator) {
            case "<" -> order < 0;
            case "<=" -> order <= 0;
            case ">" -> order > 0;
            default -> order >= 0;
        };
    }

    private JsonNode operand() throws Beyond {
        spaces();
        if (at >= source.length()) {
            throw new Beyond("an operand is missing");
        }
        char c = source.charAt(at);
        if (c == '(') {
            at++;
            JsonNode inner = or();
            if (!take(")")) {
                throw new Beyond("an open bracket");
            }
            return inner;
        }
        if (c == '\'' || c == '"') {
            int end = source.indexOf(c, at + 1);
            if (end < 0 || source.substring(at, end).indexOf('\\') >= 0) {
                throw new Beyond("a text with escapes");
            }
            String text = source.substring(at + 1, end);
            at = end + 1;
            return NODES.stringNode(text);
        }
        int start = at;
        if (Character.isDigit(c) || c == '-') {
            at++;
            while (at < source.length() && (Character.isDigit(source.charAt(at)) || source.charAt(at) == '.')) {
                at++;
            }
            try {
                return NODES.numberNode(new BigDecimal(source.substring(start, at)));
            } catch (NumberFormatException e) {
                throw new Beyond("no number: " + source.substring(start, at));
            }
        }
        while (at < source.length() && (Character.isLetterOrDigit(source.charAt(at)) || "_.-".indexOf(source.charAt(at)) >= 0)) {
            at++;
        }
        String word = source.substring(start, at);
        if (word.indexOf('-') >= 0 || word.isEmpty()) {
            throw new Beyond("not a plain path at " + source.substring(start));
        }
        return switch (word) {
            case "true" -> NODES.booleanNode(true);
            case "false" -> NODES.booleanNode(false);
            case "null" -> NODES.nullNode();
            default -> path(word);
        };
    }

    private JsonNode path(String dotted) throws Beyond {
        String[] names = dotted.split("\\.");
        JsonNode node = roots.apply(names[0]);
        if (node == null) {
            throw new Beyond("no root " + names[0]);
        }
        for (int i = 1; i < names.length; i++) {
            if (node.isArray()) {
                throw new Beyond("a path through a list");
            }
            node = node.has(names[i]) ? node.path(names[i]) : MissingNode.getInstance();
        }
        return node;
    }

    private void spaces() {
        while (at < source.length() && Character.isWhitespace(source.charAt(at))) {
            at++;
        }
    }

    private boolean take(String token) {
        spaces();
        if (source.startsWith(token, at)) {
            at += token.length();
            return true;
        }
        return false;
    }

    private boolean takeWord(String word) {
        spaces();
        int end = at + word.length();
        boolean stands = source.startsWith(word, at) && (end >= source.length() || !Character.isLetterOrDigit(source.charAt(end)));
        if (stands) {
            at = end;
        }
        return stands;
    }
}
