package dev.waybill.handler;

import dev.waybill.json.SecretSource;
import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * What a step asks of an effect handler, resolved and frozen.
 *
 * @param params          secrets as references (see {@code dev.waybill.json.SecretText})
 * @param idempotencyKey  the key of the step's {@code effect.idempotency}, or null
 * @param idempotencyHeader the header that carries it ({@code Idempotency-Key} unless the step says otherwise), or null without key
 * @param statusMap       status to {@code committed | not_applied | rejected | unknown}, from the step's {@code effect.status}
 * @param tenant          whose secrets the references name
 * @param secrets         resolves references; only the sender calls it
 * @param timeout         connect to last body byte
 * @param maxReplyBytes   reply cap (default 10 MiB)
 */
public record StepRequest(
        JsonNode params,
        @Nullable String idempotencyKey,
        @Nullable String idempotencyHeader,
        Map<Integer, String> statusMap,
        String tenant,
        SecretSource secrets,
        Duration timeout,
        int maxReplyBytes) {}
