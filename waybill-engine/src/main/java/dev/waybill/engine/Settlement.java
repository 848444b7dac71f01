package dev.waybill.engine;

import dev.waybill.definition.EvaluationException;
import dev.waybill.definition.Schemas;
import dev.waybill.definition.Scope;
import dev.waybill.definition.Sequence.Effect;
import dev.waybill.definition.Sequence.OnConflict;
import dev.waybill.definition.Sequence.Step;
import dev.waybill.engine.Decision.Ready;
import dev.waybill.engine.RunState.Attempt;
import dev.waybill.model.Claim;
import dev.waybill.model.EffectState;
import dev.waybill.model.Outcome;
import dev.waybill.model.Problem;
import dev.waybill.model.Proof;
import dev.waybill.model.Reply;
import dev.waybill.store.BlockRow;
import dev.waybill.store.JournalRow;
import dev.waybill.store.JournalRow.OutputState;
import dev.waybill.store.ReceiptRow;
import dev.waybill.transport.HttpOutput;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.JsonNodeFactory;

/**
 * Turns the outcome of a call into the rows that record it. Pure: the same outcome at the same receipt gives the same rows, whether the
 * owner writes them or they arrive as late truth.
 */
final class Settlement {
    /** An attempt the engine itself ended is tried again this soon; a little, so that an overloaded node does not spin. */
    private static final long ENGINE_ENDED_RETRY_MILLIS = 100;

    private Settlement() {}

    /**
     * What to write.
     *
     * @param chain  moves of earlier receipts of the effect that this answer speaks about (section 5, resend)
     * @param error  the step has failed: its error row's body, or null
     * @param output the step has ended with this although the receipt is not applied (client_error_mode), or null
     */
    record Settled(JournalRow row, List<JournalRow> chain, @Nullable Problem error, @Nullable JsonNode output) {
        Settled(JournalRow row, @Nullable Problem error, @Nullable JsonNode output) {
            this(row, List.of(), error, output);
        }
    }

    /** Puts the outcome into the draft. */
    static void into(Draft draft, Ready ready, Attempt attempt, Outcome outcome, Engine engine, String actor) {
        RunState state = ready.scope().state();
        Settled settled =
                settle(ready, attempt, state.attempts(ready.path()), outcome, state, draft.transitionId, engine.random(), actor);
        boolean unknownBefore = attempt.state() == EffectState.UNKNOWN;
        draft.settle(settled.row());
        settled.chain().forEach(row -> {
            draft.settle(row);
            draft.events.add(resolved(state, row));
            engine.meter().count("waybill_effects_total", 1, "state", row.to().wire(), "kind", attempt.receipt.kind().wire());
        });
        draft.answers.add(new Draft.Answer(ready, attempt.receipt.id(), outcome));
        if (settled.error() != null) {
            draft.row(ready.path(), BlockRow.Kind.ERROR, Problems.json(settled.error()), null);
        }
        if (settled.output() != null) {
            draft.row(ready.path(), BlockRow.Kind.OUTPUT, settled.output(), null);
        }
        if (settled.row().to() == EffectState.UNKNOWN && !unknownBefore) {
            String reason = settled.row().reason() == null ? "unknown" : settled.row().reason();
            draft.events.add(Events.effectUnknown(state.key, attempt.receipt, reason));
        }
        engine.meter().count("waybill_effects_total", 1, "state", settled.row().to().wire(), "kind", attempt.receipt.kind().wire());
    }

    /** Announces that an earlier receipt of the effect is no longer unknown. */
    static dev.waybill.store.Event resolved(RunState state, JournalRow row) {
        ReceiptRow receipt = state.attempts(row.path()).stream()
                .map(one -> one.receipt)
                .filter(one -> one.attempt() == row.attempt())
                .findFirst()
                .orElseThrow();
        return Events.effect("effect.resolved", state.key, receipt, row.to().wire());
    }

    static Settled settle(
            Ready ready,
            Attempt attempt,
            List<Attempt> attempts,
            Outcome outcome,
            RunState state,
            UUID transitionId,
            RandomGenerator random,
            String actor) {
        Step step = ready.step();
        List<Attempt> earlier = attempts.stream()
                .filter(one -> one.receipt.attempt() < attempt.receipt.attempt() && one.state() == EffectState.UNKNOWN)
                .toList();
        Row row = new Row(attempt, transitionId, actor, attempt.receipt.claim());
        Outcome judged = judged(step, ready, conflict(step, ready, outcome, !earlier.isEmpty()));
        Settled alone = alone(step, ready, attempts, row, judged, !earlier.isEmpty(), random);
        return earlier.isEmpty() ? alone : chained(step, alone, judged, earlier, transitionId, attempt.receipt.claim());
    }

    /**
     * The answer to a resend (section 5): a 2xx, and a status that the destination stores with the key, speak about every earlier request
     * under it; any other no speaks about the resend alone, and the effect stays unknown.
     */
    private static Settled chained(Step step, Settled alone, Outcome judged, List<Attempt> earlier, UUID transitionId, Claim claim) {
        JournalRow own = alone.row();
        if (own.to() == EffectState.COMMITTED) {
            List<JournalRow> chain = earlier.stream()
                    .map(one -> new Row(one, transitionId, CHAIN_ACTOR, claim).make(
                                    EffectState.VERIFIED, null, "resend_answered", "the request was sent again under its key, and answered",
                                    own.providerReceiptId(), null, true, null, null, OutputState.NONE, null)
                            .row())
                    .toList();
            return new Settled(own, chain, alone.error(), alone.output());
        }
        boolean replayed = judged instanceof Outcome.NotApplied no
                && no.proof() == Proof.REJECTED
                && no.reply() != null
                && EffectGuard.effect(step).replayed().contains(no.reply().status());
        if (replayed) {
            List<JournalRow> chain = earlier.stream()
                    .map(one -> new Row(one, transitionId, CHAIN_ACTOR, claim).make(
                                    EffectState.NOT_APPLIED, Proof.REJECTED, own.reason(), "the destination repeated its first answer: " + own.message(),
                                    null, null, true, null, null, OutputState.NONE, null)
                            .row())
                    .toList();
            return new Settled(own, chain, alone.error(), alone.output());
        }
        return new Settled(own, null, null);
    }

    /** Moves earlier receipts of a chain. */
    static final String CHAIN_ACTOR = "resend";

    /** What a 409 means where the author, or a key contract, says so (case A07). */
    private static Outcome conflict(Step step, Ready ready, Outcome outcome, boolean earlierUnknown) {
        Effect effect = EffectGuard.effect(step);
        Reply reply = outcome.reply();
        if (reply == null || reply.status() != 409 || effect.statusMap().containsKey(409)) {
            return outcome;
        }
        OnConflict meaning = effect.onConflict() != null ? effect.onConflict() : effect.key() != null ? OnConflict.RETRY : null;
        if (meaning == null) {
            return outcome;
        }
        String said = "the destination answered 409 at " + ready.path();
        return switch (meaning) {
            case VERIFY -> new Outcome.Unknown(Healing.CONFLICT, said + "; what is there may be this effect", reply);
            case APPLIED -> new Outcome.Committed(HttpOutput.of(reply), null, reply);
            case RETRY -> new Outcome.NotApplied(
                    Proof.REJECTED, Problem.retryable("KEY_IN_FLIGHT", said + ": another request with this key is under way"), null, reply);
            case REJECTED -> earlierUnknown || !(outcome instanceof Outcome.NotApplied)
                    ? new Outcome.NotApplied(Proof.REJECTED, Problem.of("HTTP_REJECTED", said), null, reply)
                    : outcome;
        };
    }

    private static Settled alone(
            Step step, Ready ready, List<Attempt> attempts, Row row, Outcome judged, boolean earlierUnknown, RandomGenerator random) {
        return switch (judged) {
            case Outcome.Committed committed -> committed(step, ready, row, committed);
            case Outcome.OutputLost lost ->
                row.make(EffectState.COMMITTED, null, "output_lost", lost.why(), null, null, true, lost.reply(), null, OutputState.LOST, null);
            case Outcome.OutputUnusable unusable -> row.make(
                    EffectState.COMMITTED, null, "output_unusable", unusable.problem().message(), unusable.providerReceiptId(), null, true,
                    unusable.reply(), null, OutputState.UNUSABLE, unusable.problem());
            case Outcome.NotApplied no -> notApplied(step, ready, attempts, row, no, earlierUnknown, random);
            case Outcome.Unknown unknown -> row.make(
                    EffectState.UNKNOWN, null, unknown.reason(), unknown.message(), null, null, true, unknown.reply(), null,
                    OutputState.NONE, null);
        };
    }

    /** {@code success_when} judges a 2xx: true = committed, false = rejected, anything else = unknown. */
    private static Outcome judged(Step step, Ready ready, Outcome outcome) {
        if (step.successWhen() == null) {
            return outcome;
        }
        return switch (outcome) {
            case Outcome.Committed committed -> {
                try {
                    JsonNode verdict = step.successWhen().evaluate(over(ready.scope(), committed.output()));
                    if (verdict.isBoolean() && verdict.asBoolean()) {
                        yield committed;
                    }
                    if (verdict.isBoolean()) {
                        yield new Outcome.NotApplied(
                                Proof.REJECTED,
                                Problem.of("SUCCESS_WHEN_FALSE", "the answer at " + ready.path() + " does not meet success_when"),
                                null,
                                committed.reply());
                    }
                    yield new Outcome.Unknown("success_when_failed", "success_when is not a boolean for this answer", committed.reply());
                } catch (EvaluationException e) {
                    yield new Outcome.Unknown("success_when_failed", e.problem().message(), committed.reply());
                }
            }
            case Outcome.OutputLost lost -> new Outcome.Unknown("output_lost", lost.why(), lost.reply());
            case Outcome.OutputUnusable unusable ->
                new Outcome.Unknown("output_unusable", unusable.problem().message(), unusable.reply());
            case Outcome.NotApplied no -> no;
            case Outcome.Unknown unknown -> unknown;
        };
    }

    private static Settled committed(Step step, Ready ready, Row row, Outcome.Committed committed) {
        JsonNode output = committed.output();
        String providerId = providerReceiptId(step, ready, committed);
        List<Schemas.Violation> violations =
                step.outputSchema() == null ? List.of() : Schemas.violations(step.outputSchema(), output);
        if (!violations.isEmpty()) {
            Schemas.Violation first = violations.getFirst();
            Problem problem = Problem.of(
                    "OUTPUT_INVALID",
                    "the answer at " + ready.path() + " is against output_schema at '" + first.pointer() + "': " + first.message());
            return row.make(
                    EffectState.COMMITTED, null, "output_invalid", problem.message(), providerId, null, true, replyOf(committed), null,
                    OutputState.UNUSABLE, problem);
        }
        return row.make(
                EffectState.COMMITTED, null, null, null, providerId, null, true, committed.reply(), EngineJson.write(output),
                OutputState.SAVED, null);
    }

    /** A handler without a raw reply keeps its output as the evidence. */
    private static Reply replyOf(Outcome.Committed committed) {
        if (committed.reply() != null) {
            return committed.reply();
        }
        byte[] body = EngineJson.write(committed.output()).getBytes(java.nio.charset.StandardCharsets.UTF_8);
        return new Reply(0, java.util.Map.of(), body, false);
    }

    /** Where the step says, else the handler's own, else the usual member names (semantics.md section 3). */
    private static @Nullable String providerReceiptId(Step step, Ready ready, Outcome.Committed committed) {
        if (step.effect() != null && step.effect().receiptId() != null) {
            try {
                String named = scalar(step.effect().receiptId().evaluate(over(ready.scope(), committed.output())));
                if (named != null) {
                    return named;
                }
            } catch (EvaluationException e) {
                // An answer of another shape has no id there: the usual members are looked at instead.
            }
        }
        if (committed.providerReceiptId() != null) {
            return committed.providerReceiptId();
        }
        String own = usualMembers(committed.output());
        return own != null ? own : usualMembers(committed.output().path("body"));
    }

    static @Nullable String usualMembers(JsonNode node) {
        for (String member : List.of("provider_receipt_id", "receipt_id", "request_id")) {
            String value = scalar(node.path(member));
            if (value != null) {
                return value;
            }
        }
        return null;
    }

    static @Nullable String scalar(JsonNode value) {
        if (value.isString()) {
            return value.asString().isEmpty() ? null : value.asString();
        }
        return value.isIntegralNumber() ? value.asString() : null;
    }

    /** The step's scope with the handler's output as roots: status, headers, body and whatever else it holds. */
    static Scope over(Scope scope, JsonNode output) {
        return name -> {
            JsonNode member = output.isObject() ? output.get(name) : null;
            if (member != null) {
                return member;
            }
            if (name.equals("output")) {
                return output;
            }
            JsonNode root = scope.root(name);
            return root == null && OUTPUT_ROOTS.contains(name) ? JsonNodeFactory.instance.nullNode() : root;
        };
    }

    private static final List<String> OUTPUT_ROOTS = List.of("status", "headers", "body");

    private static Settled notApplied(
            Step step, Ready ready, List<Attempt> attempts, Row row, Outcome.NotApplied no, boolean earlierUnknown, RandomGenerator random) {
        Problem problem = no.problem();
        boolean engineEnded = ENGINE_ENDED.contains(problem.code());
        if (engineEnded) {
            return row.make(
                    EffectState.NOT_APPLIED, no.proof(), problem.code().toLowerCase(java.util.Locale.ROOT), problem.message(), null,
                    ENGINE_ENDED_RETRY_MILLIS, false, no.reply(), null, OutputState.NONE, problem);
        }
        // Of a resend only its own bounds count; what the destination asks for is honoured all the same.
        Long retryIn = earlierUnknown
                ? problem.retryable() ? (Long) (no.retryAfter() == null ? 0L : no.retryAfter().toMillis()) : null
                : RetryPolicy.next(
                        step.retry(), used(ready.scope().state(), ready.path(), attempts, row.attempt), problem, no.retryAfter(), ready.scope(), random);
        String reason = no.reply() == null || no.reply().status() == 0
                ? problem.code().toLowerCase(java.util.Locale.ROOT)
                : "status_" + no.reply().status();
        Settled settled = row.make(
                EffectState.NOT_APPLIED, no.proof(), reason, problem.message(), null, retryIn, true, no.reply(), null, OutputState.NONE,
                problem);
        if (retryIn != null) {
            return new Settled(settled.row(), null, null);
        }
        if (step.clientErrorComplete() && no.reply() != null && no.reply().status() >= 400 && no.reply().status() < 500) {
            return new Settled(settled.row(), null, HttpOutput.of(no.reply()));
        }
        return settled;
    }

    /** Ended by the engine, not by the destination or the network: such attempts do not use up max_attempts. */
    static final List<String> ENGINE_ENDED = List.of("SEND_DEADLINE_PASSED", "CALL_INTERRUPTED", LateTruth.CRASHED_BEFORE_SEND);

    /** Attempts since the last deed of a person that the destination or the network ended, this one included. */
    static int used(RunState state, String path, List<Attempt> attempts, Attempt current) {
        BlockRow row = state.row(path);
        int from = row != null && row.kind() == BlockRow.Kind.CLEARED ? state.body(row).path("attempts").asInt() : 0;
        int used = 1;
        for (Attempt one : attempts) {
            int number = one.receipt.attempt();
            if (number >= current.receipt.attempt()) {
                break;
            }
            boolean repeated = one.state() == EffectState.ABANDONED && one.last != null && REPEATS_ACTOR.equals(one.last.actor());
            if (!repeated && (one.state() == EffectState.ABANDONED || one.state() == EffectState.COMPENSATED)) {
                used = 1;
            } else if (number >= from && one.last != null && one.last.countsAsAttempt()) {
                used++;
            }
        }
        return used;
    }

    /** Writes an unknown receipt off whose author accepts repeats. */
    static final String REPEATS_ACTOR = "repeats";

    /**
     * {@code repeats: accepted} (language.md): an unknown receipt is written off, and the retry policy says when the request goes out anew.
     * The receipt and its journal stay as they are: what became of it is still not known.
     *
     * @return null when the policy has no attempt left: then a person is asked
     */
    static @Nullable JournalRow repeated(Step step, Attempt attempt, List<Attempt> attempts, Scope scope, RunState state, UUID transitionId) {
        Problem problem = Problem.retryable("EFFECT_UNKNOWN", "the outcome at " + attempt.receipt.path() + " is unknown, and repeats are accepted");
        // Seeded by the receipt: whoever looks at these rows comes to the same moment.
        RandomGenerator random = new java.util.SplittableRandom(attempt.receipt.id().getLeastSignificantBits());
        int used = used(state, attempt.receipt.path(), attempts, attempt);
        Long retryIn = RetryPolicy.next(step.retry(), used, problem, null, scope, random);
        return retryIn == null
                ? null
                : new Row(attempt, transitionId, REPEATS_ACTOR, state.claim)
                        .make(
                                EffectState.ABANDONED, null, "repeats_accepted", problem.message(), null, retryIn, true, null, null, OutputState.NONE, null)
                        .row();
    }

    /** Makes journal rows of one receipt. */
    private record Row(Attempt attempt, UUID transitionId, String actor, Claim claim) {
        Settled make(
                EffectState to,
                @Nullable Proof proof,
                @Nullable String reason,
                @Nullable String message,
                @Nullable String providerReceiptId,
                @Nullable Long retryInMillis,
                boolean countsAsAttempt,
                @Nullable Reply reply,
                @Nullable String output,
                OutputState outputState,
                @Nullable Problem problem) {
            ReceiptRow receipt = attempt.receipt;
            JournalRow row = new JournalRow(
                    receipt.path(), receipt.attempt(), attempt.nextN(), attempt.state(), to, actor, claim, transitionId, proof, reason,
                    message, providerReceiptId, retryInMillis, countsAsAttempt, reply, output, outputState,
                    problem == null ? null : EngineJson.write(Problems.json(problem)), null);
            return new Settled(row, retryInMillis == null ? problem : null, null);
        }
    }

    /** A dispatched receipt of a dead claim: nobody here knows what became of it. */
    static JournalRow crashed(Attempt attempt, UUID transitionId, Claim claim) {
        return new Row(attempt, transitionId, "recovery", claim)
                .make(
                        EffectState.UNKNOWN, null, "crash", "the engine that sent it died or lost its claim before the answer was stored",
                        null, null, true, null, null, OutputState.NONE, null)
                .row();
    }

    static Duration graceAfterTimeout() {
        return Duration.ofSeconds(1);
    }
}
