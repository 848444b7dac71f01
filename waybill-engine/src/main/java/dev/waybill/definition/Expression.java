package dev.waybill.definition;

import tools.jackson.databind.JsonNode;

/** A compiled JSONata expression; evaluation has no I/O and is bounded in time, depth and output size. */
public interface Expression {
    /**
     * @return the value; {@code MissingNode} when it is undefined
     * @throws EvaluationException when it cannot be evaluated or a bound is passed
     */
    JsonNode evaluate(Scope scope) throws EvaluationException;

    /** As written, for people. */
    String source();
}
