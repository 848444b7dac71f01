package dev.waybill.definition;

import dev.waybill.model.WaybillException;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Compiles JSONata, once per text. A compiled expression is immutable and safe for any number of threads.
 *
 * <p>Known limit, from the library: arithmetic and comparison go through doubles. An integer beyond 2^53 passes through by path and
 * {@code &} with all its digits; where it would be rounded the evaluation fails with EXPRESSION_INEXACT instead.
 */
public final class Expressions {
    /** Length of an expression, in characters. */
    public static final int MAX_SOURCE = 8 * 1024;

    /** One evaluation, in milliseconds of wall time; looked at only once an evaluation has done unusually much work. */
    public static final long MAX_MILLIS = 250;

    /** Nested evaluations, not source nesting. */
    public static final int MAX_DEPTH = 300;

    /** JSON text of a result, in bytes; and any string on the way, in characters. */
    public static final int MAX_OUTPUT = 1 << 20;

    private static final int MAX_CACHED = 2_000;
    private static final Map<String, JsonataExpression> CACHE = new ConcurrentHashMap<>();

    private Expressions() {}

    /**
     * @param source JSONata; a leading {@code "= "} is allowed
     * @throws WaybillException 422 EXPRESSION_INVALID, EXPRESSION_FORBIDDEN_FUNCTION, EXPRESSION_UNKNOWN_VARIABLE ..
     */
    public static Expression compile(String source) {
        try {
            return parse(source);
        } catch (InvalidValueException e) {
            throw new WaybillException(422, e.code(), e.reason());
        }
    }

    /** As {@link #compile}, and the C spellings {@code == && || !} are accepted. */
    public static Expression condition(String source) {
        try {
            return parseCondition(source);
        } catch (InvalidValueException e) {
            throw new WaybillException(422, e.code(), e.reason());
        }
    }

    static JsonataExpression parse(String source) throws InvalidValueException {
        String body = source.startsWith("= ") ? source.substring(2) : source;
        JsonataExpression known = CACHE.get(body);
        if (known != null) {
            return known;
        }
        JsonataExpression compiled = JsonataExpression.compile(body);
        // Published sequences hold their expressions themselves; the cache only spares repeated work, so forgetting is harmless.
        if (CACHE.size() >= MAX_CACHED) {
            CACHE.clear();
        }
        CACHE.put(body, compiled);
        return compiled;
    }

    static JsonataExpression parseCondition(String source) throws InvalidValueException {
        String body = source.startsWith("= ") ? source.substring(2) : source;
        if (body.length() > MAX_SOURCE) {
            throw new InvalidValueException("EXPRESSION_TOO_LONG", "an expression is longer than " + MAX_SOURCE + " characters");
        }
        return parse(ConditionSyntax.toJsonata(body));
    }
}
