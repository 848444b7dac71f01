package dev.waybill.recorder;

import dev.waybill.model.InstanceKey;
import dev.waybill.model.Outcome;
import java.util.UUID;

/**
 * What the engine tells the flight recorder, in this order for each receipt (semantics.md section 5). Every note is in memory that
 * outlives the process when the method returns; none makes a system call.
 */
public interface Recorder extends AutoCloseable {
    /** This process runs under a new incarnation; told before the incarnation is registered. */
    void incarnation(UUID node);

    /** The intent of this receipt is about to be handed to the store. */
    void intent(UUID receipt, UUID node, InstanceKey instance, String path);

    /**
     * The first byte of the request is about to leave. Whoever has told of an intent and not of this has sent nothing.
     *
     * @throws IllegalStateException when that can no longer be noted: nothing may be sent
     */
    void firstByte(UUID receipt);

    /** The call has ended with this, secrets already taken out; told before anything else is done with it. */
    void answered(UUID receipt, Outcome outcome);

    /**
     * The store has what became of the receipt, or never had the receipt.
     *
     * @param known false when it only says unknown, and the call itself has not spoken yet
     */
    void settled(UUID receipt, boolean known);

    /** Nothing may be sent after this. */
    @Override
    void close();

    /** Where there is no folder, or no machine that could be trusted with it. */
    Recorder NONE = new Recorder() {
        @Override
        public void incarnation(UUID node) {}

        @Override
        public void intent(UUID receipt, UUID node, InstanceKey instance, String path) {}

        @Override
        public void firstByte(UUID receipt) {}

        @Override
        public void answered(UUID receipt, Outcome outcome) {}

        @Override
        public void settled(UUID receipt, boolean known) {}

        @Override
        public void close() {}
    };
}
