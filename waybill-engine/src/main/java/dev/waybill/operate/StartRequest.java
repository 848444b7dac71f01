package dev.waybill.operate;

import java.time.Duration;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * What a caller asks for: one run of one sequence.
 *
 * @param sequenceId     a published version; or null with {@code name}
 * @param name           the newest version of this name that is not deprecated (or {@code version})
 * @param context        {@code {data, config}}; null = empty
 * @param idempotencyKey the same key starts the run once; 1..255 characters, no leading or trailing white space
 * @param priority       low, normal, high or critical
 * @param delay          wait before the first step
 * @param metadata       string values for filters, or null
 */
public record StartRequest(
        String tenant,
        String namespace,
        @Nullable UUID sequenceId,
        @Nullable String name,
        @Nullable Integer version,
        @Nullable JsonNode context,
        @Nullable JsonNode metadata,
        @Nullable String idempotencyKey,
        String priority,
        Duration delay) {

    /** The usual case: run the newest version of {@code name} in the default tenant with {@code data}. */
    public static StartRequest of(String name, JsonNode data) {
        tools.jackson.databind.node.ObjectNode context = tools.jackson.databind.node.JsonNodeFactory.instance.objectNode();
        context.set("data", data);
        return new StartRequest("default", "default", null, name, null, context, null, null, "normal", Duration.ZERO);
    }

    public StartRequest withKey(String key) {
        return new StartRequest(tenant, namespace, sequenceId, name, version, context, metadata, key, priority, delay);
    }
}
