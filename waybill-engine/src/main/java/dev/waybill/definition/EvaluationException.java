package dev.waybill.definition;

import dev.waybill.model.Problem;

/** A template or an expression could not be evaluated. */
public final class EvaluationException extends Exception {
    private static final long serialVersionUID = 1L;
    private final transient Problem problem;

    /**
     * @param problem EXPRESSION_FAILED, EXPRESSION_UNDEFINED, EXPRESSION_BOUND, KEY_NOT_SCALAR, TEMPLATE_UNKNOWN_ROOT ..
     */
    public EvaluationException(Problem problem) {
        super(problem.message());
        this.problem = problem;
    }

    public Problem problem() {
        return problem;
    }
}
