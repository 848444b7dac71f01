package dev.waybill.store;

import dev.waybill.model.Claim;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.InstanceState;
import java.time.Instant;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * One row of {@code task_instances} with its cold part ({@code instance_data}).
 *
 * @param nextFireAt not null exactly when a node may claim the instance from then on: null while claimed, paused, ended, or when only
 *                   news wakes it
 * @param claim      the current (or last) claim; nonce is all zero when never claimed or when the claim was taken away
 * @param claimNode  incarnation of the node that owns it, or null: then no commit under {@link #claim} is valid any more
 * @param reasons    of the last release (or of {@code ledger_may_be_behind}); later moves leave it
 * @param outcome    of the last release; later moves leave it
 * @param context    JSON text, as started
 */
public record InstanceRecord(
        InstanceKey key,
        UUID execution,
        UUID sequenceId,
        String namespace,
        InstanceState state,
        int priority,
        @Nullable Instant nextFireAt,
        Claim claim,
        @Nullable UUID claimNode,
        long wakeSeq,
        boolean cancelRequested,
        boolean pauseRequested,
        int takeovers,
        @Nullable String reasons,
        @Nullable String outcome,
        String context,
        @Nullable String metadata,
        @Nullable String dedupKey,
        Instant createdAt,
        Instant updatedAt) {}
