package dev.waybill.engine;

import dev.waybill.model.InstanceKey;

/**
 * Named points of the step protocol (reliability.md section 5.2). Product code only announces them; what happens there (nothing, a
 * kill, a pause) is decided by whoever built the engine: the demo's director and the crash tests.
 */
@FunctionalInterface
public interface CrashPoints {
    void reached(Point point, InstanceKey instance, String path);

    CrashPoints NONE = (point, instance, path) -> {};

    enum Point {
        /** Params are resolved and validated; the intent is not yet handed over. */
        BEFORE_INTENT,
        /** The intent is acknowledged; the call has not begun. */
        AFTER_INTENT,
        /** As AFTER_INTENT, of a request that is sent again under its key (W19). */
        AFTER_RESEND_INTENT,
        /** The verifier has its answer; no verdict is recorded (W18). */
        AFTER_QUESTION,
        /** The handler has its outcome; nothing is recorded. */
        AFTER_ANSWER,
        /** The settle is about to be handed over. */
        BEFORE_SETTLE,
        /** The settle is acknowledged; nothing later was decided. */
        AFTER_SETTLE,
        /** The release is acknowledged. */
        AFTER_RELEASE
    }
}
