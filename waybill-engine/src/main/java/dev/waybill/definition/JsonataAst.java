package dev.waybill.definition;

import com.dashjoin.jsonata.Parser.Symbol;
import dev.waybill.definition.Evaluation.Role;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.IdentityHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * What we need to know of a parsed expression: the role of its operands, the variables it uses and binds, the roots it mentions. The
 * library keeps its tree to itself, so it is read by reflection, at compile time only.
 */
final class JsonataAst {
    private static final Map<String, Field> FIELDS = fields();
    private static final Set<String> FORBIDDEN = Set.of("eval", "now", "millis", "random", "shuffle", "uuid");
    private static final Set<String> NUMERIC =
            Set.of("sum", "max", "min", "average", "floor", "ceil", "round", "abs", "sqrt", "power", "formatNumber", "formatBase", "formatInteger");
    /** Functions whose argument may fairly be undefined in a key: they ask whether something is there. */
    private static final Set<String> QUESTIONS = Set.of("exists", "boolean", "not", "type", "count");
    /** A regular expression may only go to these, which watch the clock while it matches. */
    private static final Set<String> REGEX_FUNCTIONS = Set.of("match", "contains", "replace", "split");
    private static final Set<String> BUILT_IN = Set.of(
            "sum", "count", "max", "min", "average", "string", "substring", "substringBefore", "substringAfter", "lowercase", "uppercase",
            "length", "trim", "pad", "match", "contains", "replace", "split", "join", "formatNumber", "formatBase", "formatInteger",
            "parseInteger", "number", "floor", "ceil", "round", "abs", "sqrt", "power", "boolean", "not", "map", "zip", "filter", "single",
            "reduce", "sift", "keys", "lookup", "append", "exists", "spread", "merge", "reverse", "each", "error", "assert", "type", "sort",
            "distinct", "base64encode", "base64decode", "encodeUrlComponent", "encodeUrl", "decodeUrlComponent", "decodeUrl", "toMillis",
            "fromMillis", "clone");

    private final Map<Symbol, Role> roles = new IdentityHashMap<>();
    private final Map<Symbol, Boolean> allowedRegex = new IdentityHashMap<>();
    private final Set<Symbol> seen = Collections.newSetFromMap(new IdentityHashMap<>());
    private final Set<String> used = new HashSet<>();
    private final Set<String> bound = new HashSet<>();
    private boolean runtime;
    private boolean secrets;
    private @Nullable InvalidValueException fault;

    private JsonataAst() {}

    static JsonataAst of(Symbol root) throws InvalidValueException {
        JsonataAst ast = new JsonataAst();
        ast.visit(root);
        ast.check();
        return ast;
    }

    @Nullable Role role(Symbol symbol) {
        return roles.get(symbol);
    }

    /** Names of the variables (functions too) it mentions, without the dollar. */
    Set<String> variables() {
        return used;
    }

    /** Whether a path begins at {@code runtime} or {@code context.runtime}. */
    boolean usesRuntime() {
        return runtime;
    }

    boolean readsSecrets() {
        return secrets;
    }

    static @Nullable Object field(Symbol symbol, String name) {
        try {
            Field field = FIELDS.get(name);
            if (field == null) {
                throw new IllegalStateException("this version of the JSONata library has no field " + name);
            }
            return field.get(symbol);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    static String type(Symbol symbol) {
        return String.valueOf(field(symbol, "type"));
    }

    static @Nullable Object value(Symbol symbol) {
        return field(symbol, "value");
    }

    static @Nullable Symbol child(Symbol symbol, String name) {
        return field(symbol, name) instanceof Symbol child ? child : null;
    }

    static List<Symbol> children(Symbol symbol, String name) {
        List<Symbol> children = new ArrayList<>();
        if (field(symbol, name) instanceof List<?> list) {
            for (Object item : list) {
                if (item instanceof Symbol child) {
                    children.add(child);
                }
            }
        }
        return children;
    }

    private void visit(Symbol symbol) {
        if (!seen.add(symbol)) {
            return;
        }
        note(symbol);
        for (Field field : FIELDS.values()) {
            Object value = field(symbol, field.getName());
            if (value instanceof Symbol child) {
                visit(child);
            } else if (value instanceof List<?> list) {
                for (Object item : list) {
                    if (item instanceof Symbol child) {
                        visit(child);
                    } else if (item instanceof Symbol[] pair) {
                        for (Symbol child : pair) {
                            visit(child);
                        }
                    }
                }
            }
        }
        for (String binder : List.of("focus", "index")) {
            if (field(symbol, binder) instanceof String name) {
                bound.add(name);
            }
        }
    }

    private void note(Symbol symbol) {
        String value = String.valueOf(value(symbol));
        switch (type(symbol)) {
            case "binary" -> {
                Role role = switch (value) {
                    case "&" -> Role.CONCAT;
                    case "=", "!=" -> Role.EQUALITY;
                    case "in" -> Role.EQUALITY;
                    case "<", "<=", ">", ">=", "+", "-", "*", "/", "%", ".." -> Role.DOUBLE;
                    default -> null;
                };
                role(child(symbol, "lhs"), role);
                role(child(symbol, "rhs"), role);
            }
            case "unary" -> {
                switch (value) {
                    case "-" -> role(child(symbol, "expression"), Role.DOUBLE);
                    case "[" -> children(symbol, "expressions").forEach(item -> role(item, Role.ITEM));
                    case "{" -> {
                        if (field(symbol, "lhsObject") instanceof List<?> pairs) {
                            pairs.forEach(pair -> role(((Symbol[]) pair)[1], Role.ITEM));
                        }
                    }
                    default -> {}
                }
            }
            case "function", "partial" -> call(symbol);
            case "apply" -> role(child(symbol, "lhs"), Role.ITEM);
            case "variable" -> used.add(value);
            case "transform" -> fault(
                    "EXPRESSION_INVALID", "the transform operator | | | copies by way of text and rounds large integers; use $merge");
            case "bind" -> {
                if (child(symbol, "lhs") instanceof Symbol variable) {
                    bound.add(String.valueOf(value(variable)));
                }
            }
            case "lambda" -> children(symbol, "arguments").forEach(argument -> bound.add(String.valueOf(value(argument))));
            case "path" -> {
                List<Symbol> steps = children(symbol, "steps");
                List<String> names = steps.stream()
                        .filter(step -> !type(step).equals("variable"))
                        .map(step -> String.valueOf(value(step)))
                        .toList();
                runtime |= names.indexOf("runtime") == 0 || names.indexOf("runtime") == 1 && names.getFirst().equals("context");
                secrets |= names.indexOf("secrets") == 0;
            }
            case "number" -> {
                if (value(symbol) instanceof Number number && Math.abs(number.doubleValue()) >= 1L << 53) {
                    fault("EXPRESSION_INEXACT", "the number " + number + " is not below 2^53 and may have been rounded; write it as a string");
                }
            }
            case "regex" -> {
                if (!allowedRegex.containsKey(symbol)) {
                    fault("EXPRESSION_INVALID", "a regular expression may only be an argument of $match, $contains, $replace or $split");
                }
            }
            default -> {}
        }
    }

    private void call(Symbol symbol) {
        Symbol procedure = child(symbol, "procedure");
        role(procedure, Role.CALLED);
        String function = procedure != null && type(procedure).equals("variable") ? String.valueOf(value(procedure)) : "";
        Role role = NUMERIC.contains(function) ? Role.DOUBLE : QUESTIONS.contains(function) ? Role.ARGUMENT : Role.ITEM;
        for (Symbol argument : children(symbol, "arguments")) {
            role(argument, role);
            if (REGEX_FUNCTIONS.contains(function)) {
                allowedRegex.put(argument, true);
            }
        }
    }

    /** The first role wins: an operand of {@code &} inside an argument list is visited by its own parent. */
    private void role(@Nullable Symbol symbol, @Nullable Role role) {
        if (symbol != null && role != null) {
            roles.putIfAbsent(symbol, role);
        }
    }

    private void check() throws InvalidValueException {
        for (String name : used) {
            if (bound.contains(name) || name.isEmpty() || name.equals("$")) {
                continue;
            }
            if (FORBIDDEN.contains(name)) {
                fault("EXPRESSION_FORBIDDEN_FUNCTION", "$" + name + " is not available: an evaluation must not depend on time or chance");
            } else if (!BUILT_IN.contains(name)) {
                fault("EXPRESSION_UNKNOWN_VARIABLE", "$" + name + " is neither a function nor bound in the expression");
            }
        }
        for (String name : REGEX_FUNCTIONS) {
            if (bound.contains(name) && !allowedRegex.isEmpty()) {
                fault("EXPRESSION_INVALID", "$" + name + " must not be bound again");
            }
        }
        if (fault != null) {
            throw fault;
        }
    }

    private void fault(String code, String message) {
        if (fault == null) {
            fault = new InvalidValueException(code, message);
        }
    }

    private static Map<String, Field> fields() {
        Map<String, Field> fields = new HashMap<>();
        for (Field field : Symbol.class.getDeclaredFields()) {
            if (!Modifier.isStatic(field.getModifiers()) && !field.isSynthetic() && !field.getName().equals("environment")) {
                field.setAccessible(true);
                fields.put(field.getName(), field);
            }
        }
        return Map.copyOf(fields);
    }
}
