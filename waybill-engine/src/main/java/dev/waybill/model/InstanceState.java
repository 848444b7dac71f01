package dev.waybill.model;

import java.util.Locale;
import java.util.Set;

/** The states of an instance (one run of one sequence version) and the legal moves between them. */
public enum InstanceState {
    /** Due at {@code next_fire_at}; no node holds it. */
    SCHEDULED,
    /** Some branch can run or is in flight. */
    RUNNING,
    /** Every branch is blocked; {@code reasons[]} names each with its own due time. */
    WAITING,
    PAUSED,
    COMPLETED,
    FAILED,
    CANCELLED;

    public Set<InstanceState> successors() {
        return switch (this) {
            case SCHEDULED -> Set.of(RUNNING, PAUSED, CANCELLED);
            case RUNNING -> Set.of(SCHEDULED, WAITING, PAUSED, COMPLETED, FAILED, CANCELLED);
            case WAITING -> Set.of(SCHEDULED, RUNNING, PAUSED, CANCELLED);
            case PAUSED -> Set.of(SCHEDULED, CANCELLED);
            // Retry and resolve + continue reopen a failed run; the ledger decides what is sent.
            case FAILED -> Set.of(SCHEDULED);
            // To undo what stood when it was cancelled; then it is cancelled again (case A20).
            case CANCELLED -> Set.of(SCHEDULED);
            case COMPLETED -> Set.of();
        };
    }

    public boolean canMoveTo(InstanceState next) {
        return successors().contains(next);
    }

    public boolean terminal() {
        return this == COMPLETED || this == FAILED || this == CANCELLED;
    }

    public String wire() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * @throws IllegalArgumentException when {@code wire} names no state
     */
    public static InstanceState ofWire(String wire) {
        return valueOf(wire.toUpperCase(Locale.ROOT));
    }
}
