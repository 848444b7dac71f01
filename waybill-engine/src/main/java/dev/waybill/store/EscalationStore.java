package dev.waybill.store;

/** Calls a person about an effect, once for each threshold that it passed. */
@FunctionalInterface
public interface EscalationStore {
    /**
     * Writes {@code effect.escalated} into the outbox, in the transaction that notes the threshold.
     *
     * @param threshold a stable name, for example {@code age:PT1H}
     * @param payload   of the event, a JSON object
     * @return false, and nothing is written, when it was told already or the effect is unknown no more
     */
    boolean escalate(Queries.OpenEffect effect, String threshold, String payload);
}
