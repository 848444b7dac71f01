package dev.waybill.handler;

import org.jspecify.annotations.Nullable;

/** A computation as a lambda: touches nothing outside, may be run again. See {@link Handlers#pure}. */
@FunctionalInterface
public interface PureFunction<I, O> {
    /**
     * @throws StepFailure the step fails with a problem of its own making
     */
    @Nullable O apply(I input) throws Exception;
}
