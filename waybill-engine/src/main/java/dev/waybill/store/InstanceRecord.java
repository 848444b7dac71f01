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
 * @param claim     the current (or last) claim; nonce is null-like (all zero) when never claimed
 * @param claimNode incarnation of the node that owns it, or null
 * @param context   JSON text, as started
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
