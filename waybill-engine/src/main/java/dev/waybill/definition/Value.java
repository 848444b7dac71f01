package dev.waybill.definition;

import tools.jackson.databind.JsonNode;

/** A compiled JSON value of the document: constants, {@code {{ }}} templates and {@code = } expressions, nested as written. */
public interface Value {
    /**
     * Resolves to plain JSON, secrets as references ({@code dev.waybill.json.SecretText}). What comes out of data is never evaluated
     * again. An undefined expression or a missing path resolves to JSON null.
     *
     * @throws EvaluationException when it cannot be evaluated or a bound is passed
     */
    JsonNode resolve(Scope scope) throws EvaluationException;
}
