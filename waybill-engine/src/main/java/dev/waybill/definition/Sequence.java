package dev.waybill.definition;

import dev.waybill.model.Problem;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * A parsed and validated sequence version, ready to run.
 *
 * @param destinations the version's own profiles, then the node's
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
        List<Remedy> onUnknown,
        List<Invariant> invariants,
        Destinations destinations,
        JsonNode document) {

    /** What can be done about an outcome that is unknown (semantics.md section 5). */
    public enum OnUnknown {
        /** The branch waits for a person. */
        WAIT,
        /** The instance fails with EFFECT_BLOCKED, as the seed has it. */
        FAIL,
        /** The provider is asked. */
        VERIFY,
        /** The frozen request is sent again under its key. */
        RESEND
    }

    /**
     * One entry of the ordered list {@code on_unknown}: tried until its bound is reached, then the next one.
     *
     * @param most how often: {@code max_reads} of a verify, {@code max} of a resend; null = the effect's own
     * @param time {@code give_up} of a verify, {@code backoff} of a resend; null = the effect's own
     */
    public record Remedy(OnUnknown what, @Nullable Integer most, @Nullable Duration time) {
        public static Remedy of(OnUnknown what) {
            return new Remedy(what, null, null);
        }
    }

    /** The variable under which a compensation's blocks see what they undo: {@code {key, path}}. Not a name that a document can use. */
    public static final String UNDOES = "$undoes";

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
     * @param guarantee        computed from the rest
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
            @Nullable List<Remedy> onUnknown,
            boolean clientErrorComplete,
            @Nullable Expression successWhen,
            @Nullable JsonNode outputSchema,
            Guarantee guarantee)
            implements Block {

        /** The same step at a destination: what the profile knows is put under what the step itself declares. */
        public Step at(@Nullable DestinationProfile profile) {
            if (profile == null) {
                return this;
            }
            Effect merged = (effect == null ? Effect.DEFAULT : effect).at(profile);
            return new Step(
                    id, handler, params, delay, retry, timeout, when, merged, onUnknown, clientErrorComplete, successWhen, outputSchema,
                    guarantee == Guarantee.PURE ? guarantee : Guarantee.of(true, merged));
        }
    }

    /** Branches run side by side; it ends when all have ended. */
    public record Parallel(String id, List<List<Block>> branches) implements Block {}

    /** First route whose condition holds; else {@code otherwise}. */
    public record Router(String id, List<Route> routes, List<Block> otherwise) implements Block {}

    public record Route(Expression condition, List<Block> blocks) {}

    /** Unknown never enters catch. An empty catch swallows. */
    public record TryCatch(String id, List<Block> tryBlock, List<Block> catchBlock, List<Block> finallyBlock) implements Block {}

    /**
     * Actions run one after another. When one fails for good, or the run is cancelled, what the others certainly did is undone in reverse
     * (semantics.md section 8, case A20). Unknown undoes nothing.
     */
    public record Saga(String id, List<SagaStep> steps) implements Block {}

    /** @param compensation undoes the effects of the action; null = nothing can */
    public record SagaStep(String id, Block action, @Nullable Block compensation) {}

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

    /** What a 409 means where the author knows it. */
    public enum OnConflict {
        /** The verifier is asked: what is there may be ours. */
        VERIFY,
        /** Done already: committed. */
        APPLIED,
        REJECTED,
        /** Another request with this key is under way: asked again later, with the same key. */
        RETRY
    }

    /**
     * A read-only question to the provider (semantics.md section 5, verify).
     *
     * @param handler       a read: http_request with GET or HEAD, a pure handler, or an effect handler whose params say that it reads
     * @param params        resolved over the step's scope and the roots key, request, receipt, labels
     * @param landed        over the answer's status, headers, body: true = the provider did it
     * @param absent        true = the provider has nothing of it; null = absence is never concluded
     * @param output        the block's output when it landed; null = the whole answer
     * @param receiptId     the provider's own id in the answer; null = the effect's, then the usual members
     * @param every         least time between two reads; doubles while nothing is said, up to {@code maxEvery}
     * @param negativeReads absences in a row, each at least {@code every} after the one before and all after quiet_at
     * @param giveUp        from the first read on
     * @param maxReads      null = no bound but {@code giveUp}
     * @param timeout       of one read
     * @param before        also asked before a first dispatch (Read-Verify-Write)
     */
    public record Verifier(
            String handler,
            Value params,
            Expression landed,
            @Nullable Expression absent,
            @Nullable Expression output,
            @Nullable Expression receiptId,
            Duration every,
            Duration maxEvery,
            int negativeReads,
            Duration giveUp,
            @Nullable Integer maxReads,
            Duration timeout,
            boolean before) {
        public static final Duration DEFAULT_EVERY = Duration.ofSeconds(15);
        public static final Duration DEFAULT_MAX_EVERY = Duration.ofMinutes(15);
        public static final Duration DEFAULT_GIVE_UP = Duration.ofHours(24);
        public static final Duration DEFAULT_TIMEOUT = Duration.ofSeconds(10);
        public static final int DEFAULT_NEGATIVE_READS = 2;
    }

    /**
     * @param max     resends of one effect
     * @param backoff between two of them, doubling
     */
    public record Resend(int max, Duration backoff) {
        public static final Resend DEFAULT = new Resend(5, Duration.ofSeconds(10));
    }

    /**
     * What the author knows of the effect.
     *
     * @param name       for people, or null
     * @param key        must evaluate to a non-empty string, integer or boolean; null without an idempotency contract
     * @param keyHeader  the header that carries the key
     * @param keyWindow  how long the destination honours the key; null = not known, and then nothing is sent again by itself
     * @param replayed   statuses below 200 or above 299 that the destination stores with the key and repeats: they speak about earlier
     *                   sends too
     * @param receiptId  evaluated over the handler's output; null: provider_receipt_id, receipt_id, request_id
     * @param labels     for people: order number, amount
     * @param statusMap  status to committed, not_applied, rejected or unknown
     * @param settle     added to quiet_at
     * @param verify     null = nobody can be asked
     * @param onConflict null: retry where there is a key, else the table of semantics.md section 4
     * @param repeats    the author accepts that it happens more than once: after an unknown it is sent anew by the retry policy
     * @param own        of header, replayed, settle, resend those that the step itself declares
     * @param profile    what is known of the destination, already put in; null = nothing
     */
    public record Effect(
            @Nullable String name,
            @Nullable Value key,
            String keyHeader,
            @Nullable Duration keyWindow,
            Set<Integer> replayed,
            @Nullable Expression receiptId,
            Map<String, Value> labels,
            Map<Integer, String> statusMap,
            Duration settle,
            @Nullable Verifier verify,
            Resend resend,
            @Nullable OnConflict onConflict,
            boolean repeats,
            Set<String> own,
            @Nullable DestinationProfile profile) {
        public static final Duration DEFAULT_SETTLE = Duration.ofSeconds(60);
        public static final Set<Integer> DEFAULT_REPLAYED = Set.of(402);
        public static final Effect DEFAULT = new Effect(
                null, null, "Idempotency-Key", null, DEFAULT_REPLAYED, null, Map.of(), Map.of(), DEFAULT_SETTLE, null, Resend.DEFAULT, null, false,
                Set.of(), null);

        Effect at(DestinationProfile under) {
            Map<Integer, String> statuses = new LinkedHashMap<>(under.statusMap());
            if (onConflict != null) {
                statuses.remove(409);
            }
            statuses.putAll(statusMap);
            return new Effect(
                    name, key, declared("header", keyHeader, under.keyHeader()), keyWindow != null ? keyWindow : under.keyWindow(),
                    declared("replayed", replayed, under.replayed()), receiptId != null ? receiptId : under.receiptId(), labels, statuses,
                    declared("settle", settle, under.settle()), verify != null ? verify : under.verify(), declared("resend", resend, under.resend()),
                    onConflict != null || statusMap.containsKey(409) ? onConflict : under.onConflict(), repeats, own, under);
        }

        /** The same under another key. */
        Effect keyedBy(Value other) {
            return new Effect(
                    name, other, keyHeader, keyWindow, replayed, receiptId, labels, statusMap, settle, verify, resend, onConflict, repeats, own, profile);
        }

        private <T> T declared(String field, T mine, @Nullable T profiles) {
            return own.contains(field) || profiles == null ? mine : profiles;
        }

        /** The key as it is sent, or null without one. */
        public @Nullable String sentKey(@Nullable String resolved) {
            return resolved == null || profile == null || profile.keyRule() == null ? resolved : profile.keyRule().sent(resolved);
        }

        /** Why the destination would not take this key, or null: then nothing is sent. */
        public @Nullable Problem keyFault(@Nullable String resolved) {
            return resolved == null || profile == null || profile.keyRule() == null ? null : profile.keyRule().fault(resolved, profile.name());
        }
    }
}
