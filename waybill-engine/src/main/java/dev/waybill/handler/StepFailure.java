package dev.waybill.handler;

import dev.waybill.model.Problem;

/** A step fails with a problem of its own making. */
public final class StepFailure extends Exception {
    private static final long serialVersionUID = 1L;
    private final transient Problem problem;

    public StepFailure(Problem problem) {
        super(problem.message());
        this.problem = problem;
    }

    public Problem problem() {
        return problem;
    }
}
