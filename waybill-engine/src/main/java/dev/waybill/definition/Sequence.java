package dev.waybill.definition;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * A parsed and validated sequence version, ready to run.
 *
 * @param document the document as published
 */
public record Sequence(
        UUID id,
        String tenant,
        String namespace,
        String name,
        int version,
        List<Block> blocks,
        @Nullable JsonNode inputSchema,
        List<OnUnknown> onUnknown,
        List<Invariant> invariants,
        JsonNode document) {

    /** One entry of the ordered list that says what happens when an outcome is unknown. */
    public enum OnUnknown {
        /** The branch waits for a person or a verifier. */
        WAIT,
        /** The instance fails with EFFECT_BLOCKED, as the seed has it. */
        FAIL,
        VERIFY,
        RESEND
    }

    /** A node of a sequence. Block ids are unique in the document. */
    public sealed interface Block {
        String id();
    }

    /**
     * @param params           compiled templates and expressions
     * @param delay            waited before the first attempt; zero = none
     * @param timeout          connect to last byte; null = the handler's default
     * @param when             false: the step is skipped with output null
     * @param effect           null when the document has none
     * @param onUnknown        null: the sequence's
     * @param clientErrorComplete {@code client_error_mode: complete}: a not_applied 4xx, after retries, becomes the output
     * @param successWhen      judges a 2xx
     */
    public record Step(
            String id,
            String handler,
            Value params,
            @Nullable Value delay,
            Retry retry,
            @Nullable Duration timeout,
            @Nullable Expression when,
            @Nullable Effect effect,
            @Nullable List<OnUnknown> onUnknown,
            boolean clientErrorComplete,
            @Nullable Expression successWhen,
            @Nullable JsonNode outputSchema)
            implements Block {}

    /** Branches run side by side; it ends when all have ended. */
    public record Parallel(String id, List<List<Block>> branches) implements Block {}

    /** First route whose condition holds; else {@code otherwise}. */
    public record Router(String id, List<Route> routes, List<Block> otherwise) implements Block {}

    public record Route(Expression condition, List<Block> blocks) {}

    /** Unknown never enters catch. An empty catch swallows. */
    public record TryCatch(String id, List<Block> tryBlock, List<Block> catchBlock, List<Block> finallyBlock) implements Block {}

    /**
     * @param pollInterval waited between iterations; zero = none
     */
    public record Loop(
            String id,
            Expression condition,
            List<Block> body,
            int maxIterations,
            @Nullable Expression breakOn,
            boolean continueOnError,
            Duration pollInterval,
            @Nullable Integer retainIterations)
            implements Block {}

    /**
     * @param collection  evaluated once; the items are frozen before the first of them runs
     * @param concurrency how many items run side by side
     */
    public record ForEach(
            String id,
            Value collection,
            String itemVar,
            List<Block> body,
            int maxIterations,
            int concurrency,
            @Nullable Integer retainIterations)
            implements Block {}

    /**
     * @param maxAttempts       1 = no retry
     * @param jitter            share of the backoff that is random, 0..1
     * @param retryIf           sees {@code _error.message}, {@code _error.code}, {@code _error.details}
     * @param nonRetryableCodes matched against the problem's code and its details' error_code, code, status
     */
    public record Retry(
            int maxAttempts,
            Duration initialBackoff,
            Duration maxBackoff,
            double backoffMultiplier,
            double jitter,
            @Nullable Expression retryIf,
            List<String> nonRetryableCodes) {
        public static final Retry NONE = new Retry(1, Duration.ZERO, Duration.ZERO, 2.0, 0, null, List.of());
    }

    /**
     * What the author knows of the effect.
     *
     * @param name      for people, or null
     * @param key       must evaluate to a non-empty string, integer or boolean; null without an idempotency contract
     * @param keyHeader the header that carries the key
     * @param keyWindow how long the destination honours the key
     * @param receiptId evaluated over the handler's output; null: provider_receipt_id, receipt_id, request_id
     * @param labels    for people: order number, amount
     * @param statusMap status to committed, not_applied, rejected or unknown
     * @param settle    added to quiet_at
     */
    public record Effect(
            @Nullable String name,
            @Nullable Value key,
            String keyHeader,
            @Nullable Duration keyWindow,
            @Nullable Expression receiptId,
            Map<String, Value> labels,
            Map<Integer, String> statusMap,
            Duration settle) {
        public static final Duration DEFAULT_SETTLE = Duration.ofSeconds(60);
        public static final Effect DEFAULT =
                new Effect(null, null, "Idempotency-Key", null, null, Map.of(), Map.of(), DEFAULT_SETTLE);
    }
}
