package dev.waybill.handler;

import dev.waybill.model.Outcome;
import dev.waybill.model.Problem;
import tools.jackson.databind.JsonNode;

/**
 * A handler that touches the outside. {@link #prepare} checks everything that can be checked without touching it; only then is the
 * intent made durable; only then is {@link EffectCall#send} called, at most once.
 */
@FunctionalInterface
public non-sealed interface EffectHandler extends Handler {

    /**
     * Checks the request completely: any fault found here fails the step with nothing sent and no receipt. May resolve names (see
     * {@link #preparesWithoutIo}), must not send anything.
     */
    Preparation prepare(StepRequest request);

    /** True when the call only reads and the step says so: it needs no receipt. A GET is not enough; {@code read: true} is. */
    default boolean readOnly(JsonNode params) {
        return false;
    }

    /** True when {@link #prepare} does no I/O for these params, so that the intent may ride with the commit before it. */
    default boolean preparesWithoutIo(JsonNode params) {
        return true;
    }

    /**
     * True when every call runs {@link Dispatch#firstByte} right before its first byte leaves. For others the engine notes that before
     * {@link EffectCall#send}, and a crash in it leaves the effect unknown even when nothing had left yet.
     */
    default boolean tellsFirstByte() {
        return false;
    }

    /** The answer of {@link #prepare}. */
    sealed interface Preparation {
        record Ready(EffectCall call) implements Preparation {}

        record Refused(Problem problem) implements Preparation {}
    }

    /** One call that is ready to go. */
    @FunctionalInterface
    interface EffectCall {
        /**
         * Does it, once. Runs on a virtual thread with no transaction open. Must look at {@link Dispatch#late()} right before the
         * first byte leaves and answer {@code NotApplied(NOT_SENT)} when it is late.
         *
         * @throws InterruptedException when the step's timeout or the drain ended the call; the engine then calls the outcome
         *     unknown
         */
        Outcome send(Dispatch dispatch) throws InterruptedException;
    }
}
