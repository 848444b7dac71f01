package dev.waybill.definition;

import com.dashjoin.jsonata.Parser.Symbol;
import dev.waybill.json.Json;
import dev.waybill.model.Problem;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * Expressions of the everyday kind ({@code 'charge-' & payload.order.id}, {@code data.total > 100 and data.ok}) are evaluated here,
 * directly over JSON: they run for every guarded step, and the library builds a parser per thread. Only what is certain to mean the same
 * as in the library is answered; in every other case {@link #evaluate} answers null and the library decides. A test holds the two together.
 */
sealed interface FastExpression {
    Set<String> COMPARISONS = Set.of("=", "!=", "<", "<=", ">", ">=");

    /**
     * @param key the strict rules for keys (case A32)
     * @return null when this case is left to the library; {@code MissingNode} for undefined
     */
    @Nullable JsonNode evaluate(Scope scope, boolean key) throws EvaluationException;

    record Literal(JsonNode value) implements FastExpression {
        @Override
        public JsonNode evaluate(Scope scope, boolean key) {
            return value;
        }
    }

    record Path(String root, List<String> names) implements FastExpression {
        @Override
        public @Nullable JsonNode evaluate(Scope scope, boolean key) throws EvaluationException {
            JsonNode node = scope.root(root);
            if (node == null) {
                throw new EvaluationException(Problem.of("EXPRESSION_UNKNOWN_ROOT", "there is no root named " + root));
            }
            for (int i = 0; i < names.size(); i++) {
                if (node.isArray()) {
                    return null;
                }
                JsonNode next = node.get(names.get(i));
                if (next == null) {
                    return Json.NODES.missingNode();
                }
                node = next;
            }
            // Arrays and large values keep the library's rules for sequences, and its bounds.
            return node.isContainer() ? null : node;
        }
    }

    record Concat(List<FastExpression> operands) implements FastExpression {
        @Override
        public @Nullable JsonNode evaluate(Scope scope, boolean key) throws EvaluationException {
            StringBuilder text = new StringBuilder();
            for (FastExpression operand : operands) {
                JsonNode value = operand.evaluate(scope, key);
                if (value == null || value.isContainer() || value.isFloatingPointNumber()) {
                    return null;
                }
                if (key && (value.isMissingNode() || value.isNull() || value.isString() && value.stringValue().isBlank())) {
                    throw new EvaluationException(Problem.of(
                            "EXPRESSION_UNDEFINED",
                            "a part of the key is " + (value.isMissingNode() ? "undefined" : value.isNull() ? "null" : "empty")));
                }
                if (value.isString()) {
                    text.append(value.stringValue());
                } else if (!value.isMissingNode()) {
                    text.append(value.isNull() ? "null" : value.asString());
                }
            }
            return text.length() > Expressions.MAX_OUTPUT ? null : Json.NODES.stringNode(text.toString());
        }
    }

    record Compare(String operator, FastExpression left, FastExpression right) implements FastExpression {
        @Override
        public @Nullable JsonNode evaluate(Scope scope, boolean key) throws EvaluationException {
            JsonNode a = left.evaluate(scope, key);
            // Once a part is left to the library, so is the rest: it must report the first fault, not ours.
            JsonNode b = a == null || a.isNumber() && !a.isInt() ? null : right.evaluate(scope, key);
            if (a == null || b == null || b.isNumber() && !b.isInt()) {
                return null;
            }
            boolean equality = operator.equals("=") || operator.equals("!=");
            if (a.isMissingNode() || b.isMissingNode()) {
                return equality ? Json.NODES.booleanNode(false) : null;
            }
            int order;
            if (a.isString() && b.isString()) {
                order = a.stringValue().compareTo(b.stringValue());
            } else if (a.isInt() && b.isInt()) {
                order = Integer.compare(a.intValue(), b.intValue());
            } else if (equality && a.isBoolean() && b.isBoolean()) {
                order = a.booleanValue() == b.booleanValue() ? 0 : 1;
            } else {
                return null;
            }
            return Json.NODES.booleanNode(switch (operator) {
                case "=" -> order == 0;
                case "!=" -> order != 0;
                case "<" -> order < 0;
                case "<=" -> order <= 0;
                case ">" -> order > 0;
                case ">=" -> order >= 0;
                default -> throw new IllegalStateException(operator);
            });
        }
    }

    record Logic(boolean and, FastExpression left, FastExpression right) implements FastExpression {
        @Override
        public @Nullable JsonNode evaluate(Scope scope, boolean key) throws EvaluationException {
            JsonNode a = truth(left.evaluate(scope, key));
            if (a == null || a.booleanValue() != and) {
                return a;
            }
            return truth(right.evaluate(scope, key));
        }

        private static @Nullable JsonNode truth(@Nullable JsonNode value) {
            if (value == null || value.isBoolean()) {
                return value;
            }
            return value.isMissingNode() ? Json.NODES.booleanNode(false) : null;
        }
    }

    /** The fast form of a parsed expression, or null when it uses anything else. */
    static @Nullable FastExpression of(Symbol symbol) {
        if (decorated(symbol)) {
            return null;
        }
        Object value = JsonataAst.value(symbol);
        switch (JsonataAst.type(symbol)) {
            case "string", "number", "value" -> {
                return literal(value);
            }
            case "path" -> {
                List<String> names = new ArrayList<>();
                for (Symbol step : JsonataAst.children(symbol, "steps")) {
                    if (!JsonataAst.type(step).equals("name") || decorated(step)) {
                        return null;
                    }
                    names.add(String.valueOf(JsonataAst.value(step)));
                }
                return new Path(names.getFirst(), List.copyOf(names.subList(1, names.size())));
            }
            case "binary" -> {
                Symbol lhs = JsonataAst.child(symbol, "lhs");
                Symbol rhs = JsonataAst.child(symbol, "rhs");
                FastExpression left = lhs == null ? null : of(lhs);
                FastExpression right = rhs == null ? null : of(rhs);
                if (left == null || right == null) {
                    return null;
                }
                String operator = String.valueOf(value);
                if (operator.equals("&")) {
                    return concat(left, right);
                }
                if (COMPARISONS.contains(operator)) {
                    return new Compare(operator, left, right);
                }
                return operator.equals("and") || operator.equals("or") ? new Logic(operator.equals("and"), left, right) : null;
            }
            default -> {
                return null;
            }
        }
    }

    private static FastExpression concat(FastExpression left, FastExpression right) {
        List<FastExpression> operands = new ArrayList<>();
        if (left instanceof Concat(var first)) {
            operands.addAll(first);
        } else {
            operands.add(left);
        }
        operands.add(right);
        return new Concat(List.copyOf(operands));
    }

    private static @Nullable FastExpression literal(@Nullable Object value) {
        return switch (value) {
            case null -> new Literal(Json.NODES.nullNode());
            case String text -> new Literal(Json.NODES.stringNode(text));
            case Boolean truth -> new Literal(Json.NODES.booleanNode(truth));
            case Integer number -> new Literal(Json.NODES.numberNode(number.intValue()));
            default -> null;
        };
    }

    /** Predicates, grouping, ordering, focus and the like hang on a node as extra fields. */
    private static boolean decorated(Symbol symbol) {
        for (String extra : List.of("predicate", "stages", "group", "focus", "index", "tuple", "ancestor", "seekingParent", "nextFunction")) {
            if (JsonataAst.field(symbol, extra) != null) {
                return true;
            }
        }
        return Boolean.TRUE.equals(JsonataAst.field(symbol, "keepArray"))
                || Boolean.TRUE.equals(JsonataAst.field(symbol, "keepSingletonArray"));
    }
}
