package dev.waybill.store;

import dev.waybill.model.Claim;
import dev.waybill.model.InstanceKey;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A new instance. A start whose instance id exists already (a repeat after an unclear commit) answers
 * {@link StartAnswer.Existing} with that id and writes nothing.
 *
 * @param execution     the logical execution it belongs to
 * @param priority      0 low, 1 normal, 2 high, 3 critical
 * @param fireInMillis  from the database's now; 0 = at once
 * @param context       JSON text: {@code {data, config}}
 * @param metadata      JSON object text, or null
 * @param dedupScope    null counts as the empty scope
 * @param dedupKey      with it the instance is created only if (tenant, scope, key) is new: the unique constraint decides
 * @param payloadSha256 what the key was first used with; compared on a repeat
 * @param claim         not null: the starting node takes the instance at once (epoch 1), no separate claim is needed
 */
public record Start(
        InstanceKey instance,
        UUID execution,
        UUID sequenceId,
        String namespace,
        int priority,
        long fireInMillis,
        String context,
        @Nullable String metadata,
        @Nullable String dedupScope,
        @Nullable String dedupKey,
        @Nullable String payloadSha256,
        @Nullable Claim claim) {}
