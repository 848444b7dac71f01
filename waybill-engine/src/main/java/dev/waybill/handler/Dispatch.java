package dev.waybill.handler;

import dev.waybill.model.InstanceKey;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * The permission to send one receipt.
 *
 * @param receiptId      null for a read-only call
 * @param idempotencyKey sent to the provider where there is a contract, or null
 * @param earlierUnknown an earlier receipt of this effect is unknown: 404 409 410 412 422 may then mean "already done"
 * @param lateCheck      the last look: true when the send deadline has passed or the clock jumped; ask right before the first byte
 * @param firstByte      told after the last look and before the first byte, by handlers that {@link EffectHandler#tellsFirstByte};
 *                       throws IllegalStateException when nothing may be sent any more
 */
public record Dispatch(
        @Nullable UUID receiptId,
        InstanceKey instance,
        String path,
        int attempt,
        @Nullable String idempotencyKey,
        boolean earlierUnknown,
        BooleanSupplier lateCheck,
        Runnable firstByte) {
    public Dispatch(
            @Nullable UUID receiptId,
            InstanceKey instance,
            String path,
            int attempt,
            @Nullable String idempotencyKey,
            boolean earlierUnknown,
            BooleanSupplier lateCheck) {
        this(receiptId, instance, path, attempt, idempotencyKey, earlierUnknown, lateCheck, () -> {});
    }

    public boolean late() {
        return lateCheck.getAsBoolean();
    }
}
