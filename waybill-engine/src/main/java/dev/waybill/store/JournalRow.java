package dev.waybill.store;

import dev.waybill.model.Claim;
import dev.waybill.model.EffectState;
import dev.waybill.model.Proof;
import dev.waybill.model.Reply;
import java.time.Instant;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * One row of {@code receipt_journal}: a later move of a receipt, its evidence and the block's output in one. Inserted once, never
 * updated. The primary key (tenant, instance, path, attempt, n) is the compare-and-swap: two writers that saw the same state both
 * insert n and one loses.
 *
 * @param n                 1, 2, 3 .. within the receipt; the state of a receipt is its last row (dispatched or prepared if none)
 * @param actor             who moved it: {@code engine}, {@code engine-late}, {@code recovery}, {@code recorder}, {@code compensation},
 *                          {@code operator:NAME} ..
 * @param claim             the claim the mover acted under; null for whoever is not an owner
 * @param reason            short and stable: timeout, status_503, crash, declined .. or null
 * @param message           one sentence for people, or null
 * @param retryInMillis     not_applied only: earliest next attempt, from {@link #at}; null = no next attempt by itself
 * @param countsAsAttempt   false for attempts the engine itself ended (last look, drain): they do not use up max_attempts
 * @param output            JSON text of the block's output, or null
 * @param outputState       none (no output belongs here), saved, lost, unusable
 * @param problem           JSON of {@link dev.waybill.model.Problem} when the step ended in error here, or null
 * @param at                database time; null until it was read back
 */
public record JournalRow(
        String path,
        int attempt,
        int n,
        EffectState from,
        EffectState to,
        String actor,
        @Nullable Claim claim,
        UUID transitionId,
        @Nullable Proof proof,
        @Nullable String reason,
        @Nullable String message,
        @Nullable String providerReceiptId,
        @Nullable Long retryInMillis,
        boolean countsAsAttempt,
        @Nullable Reply reply,
        @Nullable String output,
        OutputState outputState,
        @Nullable String problem,
        @Nullable Instant at) {

    public enum OutputState {
        NONE,
        SAVED,
        LOST,
        UNUSABLE
    }

    /** True when this move puts the receipt into the queue that people work from. */
    public boolean opens() {
        return to == EffectState.UNKNOWN || outputState == OutputState.LOST;
    }

    /** The same row as it is kept when the database refuses its text: bytes stay, the output is unstorable. */
    public JournalRow unstorable(String problemJson) {
        return new JournalRow(
                path, attempt, n, from, to, actor, claim, transitionId, proof, reason, null, null, retryInMillis, countsAsAttempt,
                reply == null ? null : new Reply(reply.status(), java.util.Map.of(), reply.body(), reply.truncated()),
                null, OutputState.UNUSABLE, problemJson, at);
    }
}
