package dev.waybill.handler;

import dev.waybill.model.InstanceKey;
import java.util.UUID;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * What a lambda handler may want to know of the receipt it acts under.
 *
 * @param receiptId      the receipt; hand it to the other side where it keeps a reference
 * @param idempotencyKey of the step's {@code effect.idempotency}, or null
 * @param attempt        0, 1, 2 ..
 * @param lateCheck      see {@link #late()}
 */
public record EffectContext(
        @Nullable UUID receiptId,
        @Nullable String idempotencyKey,
        int attempt,
        InstanceKey instance,
        String path,
        BooleanSupplier lateCheck) {

    /**
     * The last look. It was asked right before the handler began; a handler that works for a while before it touches the outside asks
     * again there and throws {@link EffectRefusedException#notSent} when it is true.
     */
    public boolean late() {
        return lateCheck.getAsBoolean();
    }
}
