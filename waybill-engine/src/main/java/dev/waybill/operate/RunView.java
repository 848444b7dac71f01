package dev.waybill.operate;

import dev.waybill.model.InstanceState;
import java.time.Instant;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * A run as people see it.
 *
 * @param reasons  array of {@code {reason, path, effect_id?, due?, ..}} while it waits or is paused
 * @param output   object of the outputs of the last blocks when completed, or null
 * @param error    problem {@code {code, message, path, ..}} when failed, or null
 * @param residuals receipts that were still unknown when the run ended
 */
public record RunView(
        UUID id,
        String tenant,
        String namespace,
        UUID sequenceId,
        String sequenceName,
        int sequenceVersion,
        UUID executionId,
        InstanceState state,
        String priority,
        JsonNode reasons,
        @Nullable JsonNode output,
        @Nullable JsonNode error,
        JsonNode residuals,
        JsonNode context,
        @Nullable JsonNode metadata,
        @Nullable String idempotencyKey,
        long claimEpoch,
        boolean cancelRequested,
        boolean pauseRequested,
        @Nullable Instant nextFireAt,
        Instant createdAt,
        Instant updatedAt) {}
