package dev.waybill.handler;

import java.time.Duration;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** A handler that touches nothing outside: it needs no receipt and may be run again. */
@FunctionalInterface
public non-sealed interface PureHandler extends Handler {

    /**
     * @throws StepFailure when the step fails; any other exception fails it too, as HANDLER_FAILED, retryable
     */
    Result apply(Call call) throws Exception;

    /**
     * @param params  resolved; a secret stands as a reference, never as its value: a pure handler is not a sender
     * @param attempt 0, 1, 2 ..
     * @param state   reads an instance variable (set_state), null when it was never set
     */
    record Call(JsonNode params, String path, int attempt, java.util.function.Function<String, @Nullable JsonNode> state) {}

    /**
     * @param stateWrites instance variables to set, written in the transaction that records the output
     * @param sleepFor      the block ends only after this long (sleep); durable, holds no thread
     */
    record Result(JsonNode output, Map<String, JsonNode> stateWrites, @Nullable Duration sleepFor) {
        public static Result of(JsonNode output) {
            return new Result(output, Map.of(), null);
        }
    }
}
