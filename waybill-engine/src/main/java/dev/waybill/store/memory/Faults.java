package dev.waybill.store.memory;

/**
 * Where a simulator stands between an engine and its database. Called outside the store's lock, so that it may also block or let
 * others run. What it throws reaches the caller: from {@link #before} the verb had no effect, from {@link #after} it had all of it
 * ({@link dev.waybill.store.UnclearCommitException} is honest from both; {@link dev.waybill.store.StoreException} from {@code before}
 * only).
 */
public interface Faults {
    Faults NONE = new Faults() {};

    enum Verb {
        REGISTER_NODE,
        HEARTBEAT,
        FENCE,
        FENCE_AND_FREE,
        START,
        COMMIT,
        SETTLE_FROM_OUTSIDE,
        CLAIM,
        CLAIMED_UNDER,
        MILLIS_UNTIL_NEXT_DUE,
        LOAD,
        EXISTING_RECEIPTS
    }

    default void before(Verb verb) {}

    default void after(Verb verb) {}
}
