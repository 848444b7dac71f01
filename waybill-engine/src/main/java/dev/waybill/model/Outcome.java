package dev.waybill.model;

import java.time.Duration;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * What one dispatch came to, decided by the phase the request reached and then by the answer, never by an exception's type
 * (semantics.md section 4). Every effectful handler call ends in exactly one of these.
 */
public sealed interface Outcome {
    /** The provider's answer as it came, where there was one. */
    @Nullable Reply reply();

    /**
     * The provider did it and we hold its answer.
     *
     * @param providerReceiptId the provider's own name for it, or null when it gave none
     */
    record Committed(JsonNode output, @Nullable String providerReceiptId, @Nullable Reply reply) implements Outcome {}

    /** The provider did it (2xx) but the body was cut or stalled: the run waits {@code output_lost} and nothing is sent again. */
    record OutputLost(String why, @Nullable Reply reply) implements Outcome {}

    /**
     * The provider did it, the answer is complete, and the step cannot use it: too large, unstorable or against the schema.
     *
     * @param problem OUTPUT_TOO_LARGE, OUTPUT_UNSTORABLE or OUTPUT_INVALID, not retryable
     */
    record OutputUnusable(Problem problem, @Nullable String providerReceiptId, @Nullable Reply reply) implements Outcome {}

    /**
     * The provider definitely did not do it.
     *
     * @param problem    its {@code retryable} says whether the retry policy may send a new attempt
     * @param retryAfter earliest next attempt the provider asked for (already bounded), or null
     */
    record NotApplied(Proof proof, Problem problem, @Nullable Duration retryAfter, @Nullable Reply reply) implements Outcome {}

    /**
     * It may or may not have happened.
     *
     * @param reason short and stable, for people and searches: timeout, reset_after_send, status_503 ...
     */
    record Unknown(String reason, String message, @Nullable Reply reply) implements Outcome {}
}
