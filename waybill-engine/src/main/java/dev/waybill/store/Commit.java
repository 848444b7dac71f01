package dev.waybill.store;

import dev.waybill.model.Claim;
import dev.waybill.model.InstanceKey;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * One move of an instance by the owner of its claim: outcomes, outputs, the next intents and possibly the release, together or not
 * at all. Immutable; submitting it twice with the same {@code transitionId} is the same move once. Every row of it carries that id.
 *
 * <p>A repeat is found by any of its rows, or as the last owner's commit of the instance; it answers what is durable: intents
 * {@code DISPATCHED} only when their rows are there (held ones stay held, whatever the flags say by now), a release {@code NEWS} only
 * when the claim is still the caller's. A commit without rows that is no longer the last one answers {@code ClaimLost}, which is as
 * true.
 *
 * @param settles       moves of receipts this turn holds the answer of, or found dead
 * @param rows          outputs, frames, timers, errors, variables
 * @param intents       receipts to be dispatched: written only while the node is alive and no cancel or pause flag is set ({@link #held}); they
 *                      may be held back without the rest
 * @param events        outbox rows that go with the settles
 * @param resetTakeover true when the instance made progress after takeovers: the crash-loop counter starts again
 * @param invariants    guards of the intents, guards to free, and results
 * @param intentsAtWakeSeq the intents hold only as long as nobody from outside has moved the instance since they were decided: one of them
 *                      sends again what a person may have resolved meanwhile (semantics.md section 5). Null = whoever came
 * @param compensates   every intent undoes an effect: a cancel, which asks for exactly that, does not hold them; a pause does (case A20)
 */
public record Commit(
        InstanceKey instance,
        Claim claim,
        UUID transitionId,
        List<JournalRow> settles,
        List<BlockRow> rows,
        List<ReceiptRow> intents,
        List<Event> events,
        @Nullable Release release,
        boolean resetTakeover,
        InvariantRows invariants,
        @Nullable Long intentsAtWakeSeq,
        boolean compensates) {

    /** A move of a sequence version without invariants. */
    public Commit(
            InstanceKey instance,
            Claim claim,
            UUID transitionId,
            List<JournalRow> settles,
            List<BlockRow> rows,
            List<ReceiptRow> intents,
            List<Event> events,
            @Nullable Release release,
            boolean resetTakeover) {
        this(instance, claim, transitionId, settles, rows, intents, events, release, resetTakeover, InvariantRows.NONE, null, false);
    }

    /** Whether the flags of the instance hold the intents. */
    public boolean held(boolean cancelRequested, boolean pauseRequested) {
        return pauseRequested || cancelRequested && !compensates;
    }

    /** Whether the intents were decided before the last outside move, and must not be written for it. */
    public boolean overtaken(long wakeSeq) {
        return intentsAtWakeSeq != null && intentsAtWakeSeq != wakeSeq;
    }

    /** The same without the intents at these paths and their guards. */
    public Commit withoutIntents(Set<String> paths) {
        return paths.isEmpty()
                ? this
                : new Commit(
                        instance, claim, transitionId, settles, rows,
                        intents.stream().filter(it -> !paths.contains(it.path())).toList(), events, release, resetTakeover,
                        new InvariantRows(
                                invariants.guards().stream().filter(it -> !paths.contains(it.path())).toList(), invariants.freed(),
                                invariants.freedByEnd(),
                                invariants.results()),
                        intentsAtWakeSeq, compensates);
    }
}
