package dev.waybill.store;

import dev.waybill.model.Claim;
import dev.waybill.model.EffectKind;
import java.time.Instant;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * One row of {@code effect_receipts}: what was intended, before a byte left. Inserted once, never updated (semantics.md section 3).
 *
 * @param id                     see {@link dev.waybill.model.ReceiptId}
 * @param execution              the logical execution the effect belongs to
 * @param path                   block path with the indices of every loop around it
 * @param attempt                0, 1, 2 .. of this effect
 * @param prepared               true when the row stands as {@code prepared}; false: dispatched, the usual case
 * @param destination            for people: handler and whichever of url, provider, model .. are in the params; never a secret
 * @param destinationFingerprint hex SHA-256 of the destination
 * @param idempotencyKey         the key sent to the provider, or null
 * @param requestSha256          hex SHA-256 of the canonical resolved params without secrets and volatile headers
 * @param request                JSON text of the frozen request, secrets as references
 * @param claim                  the claim that dispatched it; its epoch is the wire's {@code epoch}
 * @param node                   incarnation of the node that dispatched it
 * @param quietInMillis          from the database's now: when no sender and no packet of this receipt can still arrive
 * @param keyWindowMillis        how long the destination honours the key, from now; null when there is no contract
 * @param resendOf               the receipt this one sends again under the same key, or null
 * @param labels                 JSON object for people (order number, amount), or null
 * @param at                     database time of the insert; null until it was read back
 * @param quietAt                database time; null until it was read back
 */
public record ReceiptRow(
        UUID id,
        UUID execution,
        String path,
        int attempt,
        boolean prepared,
        EffectKind kind,
        String handler,
        String destination,
        String destinationFingerprint,
        @Nullable String idempotencyKey,
        String requestSha256,
        String request,
        Claim claim,
        UUID node,
        UUID transitionId,
        long quietInMillis,
        @Nullable Long keyWindowMillis,
        @Nullable UUID resendOf,
        @Nullable String labels,
        @Nullable Instant at,
        @Nullable Instant quietAt) {

    /** As it stands before a dispatch, written by {@code transition}. */
    public ReceiptRow asPrepared(UUID transition) {
        return new ReceiptRow(
                id, execution, path, attempt, true, kind, handler, destination, destinationFingerprint, idempotencyKey, requestSha256, request,
                claim, node, transition, quietInMillis, keyWindowMillis, resendOf, labels, at, quietAt);
    }

    /** As it was read back from the commit at {@code databaseNow}. */
    public ReceiptRow stamped(Instant databaseNow) {
        return new ReceiptRow(
                id, execution, path, attempt, prepared, kind, handler, destination, destinationFingerprint, idempotencyKey, requestSha256,
                request, claim, node, transitionId, quietInMillis, keyWindowMillis, resendOf, labels, databaseNow,
                databaseNow.plusMillis(quietInMillis));
    }
}
