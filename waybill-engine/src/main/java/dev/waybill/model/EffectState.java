package dev.waybill.model;

import java.util.Locale;
import java.util.Set;

/**
 * The states of an effect receipt and the only legal moves between them (semantics.md section 3). Nothing leads back to
 * {@link #DISPATCHED}: a receipt is sent at most once.
 */
public enum EffectState {
    /** Decided; nothing durable but the decision. */
    PLANNED,
    /** Durable, not yet sent; stands by itself only where something is between (a queue, an approval, a hold). */
    PREPARED,
    /** The intent is durable and the request may have left. */
    DISPATCHED,
    /** The provider said yes. */
    COMMITTED,
    /** Sent, and the outcome cannot be known from here. */
    UNKNOWN,
    /** The provider definitely did not do it; see {@link Proof}. */
    NOT_APPLIED,
    /** Reconciled against the provider afterwards. */
    VERIFIED,
    /** Undone by a compensating effect. */
    COMPENSATED,
    /** Written off by a person, with evidence. */
    ABANDONED;

    /** The states this one may move to. */
    public Set<EffectState> successors() {
        return switch (this) {
            case PLANNED -> Set.of(PREPARED, ABANDONED);
            case PREPARED -> Set.of(DISPATCHED, ABANDONED, VERIFIED);
            case DISPATCHED -> Set.of(COMMITTED, UNKNOWN, NOT_APPLIED);
            case UNKNOWN -> Set.of(VERIFIED, COMMITTED, COMPENSATED, ABANDONED, NOT_APPLIED);
            case COMMITTED, VERIFIED -> Set.of(COMPENSATED);
            case NOT_APPLIED, COMPENSATED, ABANDONED -> Set.of();
        };
    }

    public boolean canMoveTo(EffectState next) {
        return successors().contains(next);
    }

    /** True while nobody can say what became of the effect: it blocks every later attempt. */
    public boolean unresolved() {
        return this == DISPATCHED || this == UNKNOWN;
    }

    /** True when the effect is known to have happened: it is never sent again. */
    public boolean applied() {
        return this == COMMITTED || this == VERIFIED;
    }

    /** The name on the wire and in the database. */
    public String wire() {
        return name().toLowerCase(Locale.ROOT);
    }

    /**
     * @throws IllegalArgumentException when {@code wire} names no state
     */
    public static EffectState ofWire(String wire) {
        return valueOf(wire.toUpperCase(Locale.ROOT));
    }
}
