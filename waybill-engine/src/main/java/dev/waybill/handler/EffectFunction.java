package dev.waybill.handler;

import org.jspecify.annotations.Nullable;

/** An effect as a lambda. See {@link Handlers#effect}. */
@FunctionalInterface
public interface EffectFunction<I, O> {
    /**
     * Does it. Returning means it happened.
     *
     * @throws EffectRefusedException it definitely did not happen
     * @throws InterruptedException   the step's timeout or a drain ended the call
     * @throws Exception              anything else: nobody knows whether it happened, and the receipt becomes unknown
     */
    @Nullable O apply(I input, EffectContext context) throws Exception;
}
