package dev.waybill.definition;

import dev.waybill.model.Problem;
import tools.jackson.databind.JsonNode;

/**
 * Identity fields: idempotency keys and the like. A missing part must not silently become empty text, or every broken order would share
 * one key, and the provider would answer all of them with the first payment (case A32).
 */
public final class Keys {
    private Keys() {}

    /**
     * The key as text: a non-blank string, an integer or a boolean.
     *
     * @throws EvaluationException EXPRESSION_UNDEFINED when the whole or a part of it is undefined, null or empty; KEY_NOT_SCALAR when it
     *     is null, blank, a list, an object or a number that is not an integer
     */
    public static String resolve(Value value, Scope scope) throws EvaluationException {
        JsonNode key = value instanceof Values.Compiled compiled ? compiled.resolveRaw(scope, true) : value.resolve(scope);
        if (key.isMissingNode()) {
            throw new EvaluationException(Problem.of("EXPRESSION_UNDEFINED", "the key is undefined"));
        }
        if (!scalar(key)) {
            throw new EvaluationException(Problem.of(
                    "KEY_NOT_SCALAR", "the key must be a non-empty string, an integer or a boolean, and is " + kind(key)));
        }
        return key.asString();
    }

    /** Checks one part of a composed key. */
    static void checkPart(JsonNode part) throws EvaluationException {
        if (part.isMissingNode() || part.isNull() || part.isString() && part.stringValue().isBlank()) {
            throw new EvaluationException(Problem.of("EXPRESSION_UNDEFINED", "a part of the key is missing, null or empty"));
        }
        if (!scalar(part)) {
            throw new EvaluationException(Problem.of("KEY_NOT_SCALAR", "a part of the key is " + kind(part)));
        }
    }

    private static boolean scalar(JsonNode node) {
        return node.isString() ? !node.stringValue().isBlank() : node.isIntegralNumber() || node.isBoolean();
    }

    private static String kind(JsonNode node) {
        return switch (node.getNodeType()) {
            case ARRAY -> "a list";
            case OBJECT -> "an object";
            case NULL, MISSING -> "null";
            case NUMBER -> "a number that is not an integer";
            case STRING -> "blank";
            case BOOLEAN, BINARY, POJO -> node.getNodeType().toString();
        };
    }
}
