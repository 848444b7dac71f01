package dev.waybill.definition;

import com.dashjoin.jsonata.Jsonata;
import com.dashjoin.jsonata.Parser.Symbol;
import com.dashjoin.jsonata.Utils;
import dev.waybill.model.Problem;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * One evaluation and its bounds: time, depth and size. The library's own time box cannot look inside what flows; here every operand and
 * argument is weighed before a native function gets to work on it, so that no single native call can run away.
 */
final class Evaluation implements Jsonata.EntryCallback, Jsonata.ExitCallback {
    /** Members, items and characters of one operand or argument; shared parts count as often as they occur. */
    private static final int MAX_WEIGHT = 4 << 20;

    private static final int MAX_ITEMS = 100_000;
    /**
     * Work (evaluated nodes, and one for every 64 characters or items handed to native code) that is done before the clock is looked at.
     * Everyday expressions need a hundredth of it: they must not fail because the machine was busy or collected garbage.
     */
    private static final int UNTIMED_WORK = 50_000;

    private static final int MAX_NESTING = 256;
    private static final BigInteger MAX_SAFE = BigInteger.ONE.shiftLeft(53);

    /** What an expression node is for, as far as a bound depends on it. */
    enum Role {
        /** Operand of {@code &}. */
        CONCAT,
        /** Operand of arithmetic or comparison, or argument of a numeric function: goes through a double. */
        DOUBLE,
        /** Item of an array or object constructor, or argument of a function: undefined would silently vanish from a key. */
        ITEM,
        /** Anything else that reaches native code. */
        ARGUMENT,
        /** Operand of equality: goes through a double, and undefined is a fair answer. */
        EQUALITY,
        /** What is called: data in its place would be printed by the library, to the process's output. */
        CALLED
    }

    private final JsonataAst ast;
    private final boolean key;
    private final long deadline;
    private int depth;
    private int work;
    private @Nullable Problem stopped;

    Evaluation(JsonataAst ast, boolean key) {
        this.ast = ast;
        this.key = key;
        this.deadline = System.nanoTime() + Expressions.MAX_MILLIS * 1_000_000;
    }

    /** Why it ended, when a bound or a rule ended it: the library wraps and rewrites exceptions on their way up. */
    @Nullable Problem stopped() {
        return stopped;
    }

    /** Returns an exception to throw, so that the compiler sees the end of the path. */
    Stop stop(String code, String message) {
        if (stopped == null) {
            stopped = Problem.of(code, message);
        }
        return new Stop(message);
    }

    @Override
    public void callback(Symbol expression, Object input, Jsonata.Frame environment) {
        if (++depth > Expressions.MAX_DEPTH) {
            throw stop("EXPRESSION_BOUND", "the evaluation is nested deeper than " + Expressions.MAX_DEPTH);
        }
        spend(1);
    }

    @Override
    public void callback(Symbol expression, Object input, Jsonata.Frame environment, @Nullable Object result) {
        depth--;
        if (result instanceof String text) {
            spend(text.length() >> 6);
            if (text.length() > Expressions.MAX_OUTPUT) {
                throw stop("EXPRESSION_BOUND", "a text is longer than " + Expressions.MAX_OUTPUT + " characters");
            }
        }
        if (result instanceof List<?> list && list.size() > MAX_ITEMS) {
            throw stop("EXPRESSION_BOUND", "a list has more than " + MAX_ITEMS + " items");
        }
        Role role = ast.role(expression);
        if (role != null) {
            Object value = single(result);
            if (role == Role.CALLED && isData(value)) {
                throw stop("EXPRESSION_FAILED", "what is called is data and not a function");
            }
            if (value instanceof List<?> || value instanceof Map<?, ?>) {
                spend(MAX_WEIGHT - weigh(value, MAX_WEIGHT, MAX_NESTING) >> 6);
            }
            if (role == Role.DOUBLE || role == Role.EQUALITY) {
                exact(value);
            }
            if (key) {
                checkKeyPart(role, value);
            }
        }
    }

    /** Counts work; beyond {@link #UNTIMED_WORK} the deadline holds. */
    void spend(int amount) {
        work += amount;
        if (work > UNTIMED_WORK && System.nanoTime() - deadline > 0) {
            throw stop("EXPRESSION_BOUND", "the evaluation took longer than " + Expressions.MAX_MILLIS + " ms");
        }
    }

    /** A sequence of one is its item, and an empty one is undefined; the library unwraps them only after this callback. */
    private static @Nullable Object single(@Nullable Object result) {
        if (result instanceof Utils.JList<?> list && Utils.isSequence(list) && list.size() <= 1 && !list.keepSingleton) {
            return list.isEmpty() ? null : list.getFirst();
        }
        return result;
    }

    private static boolean isData(@Nullable Object value) {
        return value == null
                || value == Jsonata.NULL_VALUE
                || value instanceof String
                || value instanceof Number
                || value instanceof Boolean
                || value instanceof List<?>
                || value instanceof Map<?, ?>;
    }

    private int weigh(@Nullable Object value, int left, int nesting) {
        if (left < 0 || nesting < 0) {
            throw stop("EXPRESSION_BOUND", "a value on the way is too large or too deep");
        }
        int rest = left - 1;
        if (value instanceof String text) {
            return rest - text.length();
        }
        if (value instanceof Utils.RangeList range) {
            return rest - range.size();
        }
        if (value instanceof List<?> list) {
            for (Object item : list) {
                rest = weigh(item, rest, nesting - 1);
            }
        } else if (value instanceof Map<?, ?> map) {
            for (Map.Entry<?, ?> member : map.entrySet()) {
                rest = weigh(member.getValue(), rest - String.valueOf(member.getKey()).length(), nesting - 1);
            }
        }
        return rest;
    }

    /** An integer that a double would round is refused: a wrong digit in an id is worse than a failed step. */
    private void exact(@Nullable Object value) {
        boolean rounded = switch (value) {
            case Long number -> number > 1L << 53 || number < -(1L << 53);
            case BigInteger number -> number.abs().compareTo(MAX_SAFE) > 0;
            case null, default -> false;
        };
        if (rounded) {
            throw stop("EXPRESSION_INEXACT", "an integer beyond 2^53 would be rounded by a comparison or by arithmetic; ids are strings");
        }
        if (value instanceof List<?> list && !(value instanceof Utils.RangeList)) {
            list.forEach(item -> {
                if (item instanceof Number) {
                    exact(item);
                }
            });
        }
    }

    /** Case A32: an undefined, null or empty part of a key would give all broken orders one key. */
    private void checkKeyPart(Role role, @Nullable Object value) {
        if (role != Role.CONCAT && role != Role.ITEM) {
            return;
        }
        if (value == null || value == Jsonata.NULL_VALUE || value instanceof String text && text.isBlank()) {
            throw stop("EXPRESSION_UNDEFINED", "a part of the key is " + (value == null ? "undefined" : value == Jsonata.NULL_VALUE ? "null" : "empty"));
        }
        if (role == Role.CONCAT
                && (value instanceof List<?> || value instanceof Map<?, ?> || value instanceof Double || value instanceof Float || value instanceof BigDecimal)) {
            throw stop("KEY_NOT_SCALAR", "a part of the key is not a string, an integer or a boolean");
        }
    }

    /** Ends an evaluation; the reason is in {@link #stopped}. */
    static final class Stop extends RuntimeException {
        private static final long serialVersionUID = 1L;

        Stop(String message) {
            super(message, null, false, false);
        }
    }
}
