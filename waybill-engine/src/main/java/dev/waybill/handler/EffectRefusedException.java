package dev.waybill.handler;

import dev.waybill.model.Problem;
import dev.waybill.model.Proof;

/**
 * Thrown by a lambda handler that knows its effect did not happen: the receipt becomes not_applied. Any other exception of an
 * effectful handler leaves it unknown.
 */
public final class EffectRefusedException extends RuntimeException {
    private static final long serialVersionUID = 1L;
    private final transient Problem problem;
    private final Proof proof;

    public EffectRefusedException(Proof proof, Problem problem) {
        super(problem.message());
        this.proof = proof;
        this.problem = problem;
    }

    /** The other side said no; the retry policy does not look at it. */
    public static EffectRefusedException rejected(String code, String message) {
        return new EffectRefusedException(Proof.REJECTED, Problem.of(code, message));
    }

    /** Nothing was sent; the retry policy applies. */
    public static EffectRefusedException notSent(String code, String message) {
        return new EffectRefusedException(Proof.NOT_SENT, Problem.retryable(code, message));
    }

    public Problem problem() {
        return problem;
    }

    public Proof proof() {
        return proof;
    }
}
