package dev.waybill.engine;

import dev.waybill.definition.EvaluationException;
import dev.waybill.definition.Scope;
import dev.waybill.definition.Sequence.Retry;
import dev.waybill.definition.Sequence.Step;
import dev.waybill.definition.Sequence.Verifier;
import dev.waybill.engine.Decision.Ready;
import dev.waybill.engine.EffectGuard.Resolved;
import dev.waybill.engine.Healing.Reads;
import dev.waybill.engine.Healing.Unknown;
import dev.waybill.engine.RunState.Attempt;
import dev.waybill.handler.Dispatch;
import dev.waybill.handler.EffectHandler;
import dev.waybill.handler.EffectHandler.Preparation;
import dev.waybill.handler.Handler;
import dev.waybill.handler.PureHandler;
import dev.waybill.handler.StepFailure;
import dev.waybill.handler.StepRequest;
import dev.waybill.json.Fingerprints;
import dev.waybill.json.SecretText;
import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.InstanceState;
import dev.waybill.model.Outcome;
import dev.waybill.model.Problem;
import dev.waybill.model.Proof;
import dev.waybill.model.Reply;
import dev.waybill.store.AuditRow;
import dev.waybill.store.BlockRow;
import dev.waybill.store.Event;
import dev.waybill.store.EvidenceRow;
import dev.waybill.store.JournalRow;
import dev.waybill.store.JournalRow.OutputState;
import dev.waybill.store.OutsideAnswer;
import dev.waybill.store.OutsideMove;
import dev.waybill.store.ReceiptRow;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * Asks providers what became of an effect and records what they said (semantics.md section 5, verify). The question reads only; no
 * transaction, lock or connection is held while it is under way. The verdict is a move from outside, whoever asked: transcript,
 * schedule, receipts and output in one transaction, whose keys (n of the schedule's row, n of each journal) are its compare-and-swap.
 * So a verdict is never recorded twice, and one whose node lost the claim meanwhile is as true as any.
 */
final class Verifiers {
    static final String ACTOR = "verifier";
    private static final Logger LOG = LoggerFactory.getLogger(Verifiers.class);
    private static final int EXCERPT_BYTES = 4 * 1024;
    private static final List<String> ROOTS =
            List.of("data", "payload", "input", "config", "context", "outputs", "steps", "state", "runtime", "attempt");
    /** Attempts of a step that declares no retry, when a verifier proves them absent. */
    private static final int ATTEMPTS_WITHOUT_RETRY = 3;

    private final Engine engine;

    Verifiers(Engine engine) {
        this.engine = engine;
    }

    /**
     * A question that is ready to be asked on any thread: nothing in it refers to a turn.
     *
     * @param path     of the step
     * @param members  the receipts that are unknown; empty before a first dispatch
     * @param attempts all receipts of the effect
     * @param attempt  whose evidence the transcript is
     * @param params   null when they could not be resolved ({@code fault} says why)
     * @param receipt  before a first dispatch: the receipt that will stand for what is there already
     */
    record Question(
            InstanceKey instance,
            Step step,
            Verifier verifier,
            String path,
            Scope scope,
            List<Attempt> members,
            List<Attempt> attempts,
            Reads reads,
            int attempt,
            @Nullable JsonNode params,
            @Nullable Problem fault,
            int scheduleN,
            int blockN,
            Instant askedAt,
            long askedNanos,
            @Nullable ReceiptRow receipt,
            @Nullable Long retryAbsentIn) {}

    /** The answer to a question, and whether it is durable. */
    record Recorded(Verdict verdict, boolean durable) {}

    // --- the question ----------------------------------------------------------------------------------------------------------

    Question about(InstanceKey instance, Unknown unknown) {
        Verifier verifier = verifier(unknown.step());
        RunState state = unknown.scope().state();
        Attempt newest = unknown.newest();
        List<Attempt> attempts = frozen(state.attempts(unknown.path()));
        List<Attempt> members = Healing.members(attempts);
        Scope scope = scope(unknown.scope(), newest.receipt, state);
        return resolved(
                instance, unknown.step(), verifier, unknown.path(), scope, members, attempts, unknown.reads(), newest.receipt.attempt(), state,
                Healing.VERIFY, null, retryAbsent(unknown, attempts));
    }

    /** The question before a first dispatch (Read-Verify-Write). */
    Question before(InstanceKey instance, Ready ready, Resolved resolved, EffectGuard guard) throws EvaluationException {
        Verifier verifier = verifier(ready.step());
        RunState state = ready.scope().state();
        ReceiptRow receipt = guard.prepared(ready, resolved);
        Scope scope = scope(ready.scope(), receipt, state);
        BlockRow row = state.row(ready.path() + BEFORE);
        int tries = row == null || state.body(row).path("attempt").asInt() != ready.attempt() ? 0 : state.body(row).path("tries").asInt();
        return resolved(
                instance, ready.step(), verifier, ready.path(), scope, List.of(), frozen(state.attempts(ready.path())),
                new Reads(tries, 0, null, null), ready.attempt(), state, BEFORE, receipt, null);
    }

    /** The schedule of reads before a dispatch, behind the path of its step. */
    static final String BEFORE = "$before";

    private Question resolved(
            InstanceKey instance, Step step, Verifier verifier, String path, Scope scope, List<Attempt> members, List<Attempt> attempts, Reads reads,
            int attempt, RunState state, String schedule, @Nullable ReceiptRow receipt, @Nullable Long retryAbsentIn) {
        JsonNode params = null;
        Problem fault = null;
        try {
            params = verifier.params().resolve(scope);
        } catch (EvaluationException e) {
            fault = e.problem();
        }
        return new Question(
                instance, step, verifier, path, scope, members, attempts, reads, attempt, params, fault, state.nextN(path + schedule),
                state.nextN(path), state.now(), engine.host().nanoTime(), receipt, retryAbsentIn);
    }

    private static Verifier verifier(Step step) {
        Verifier verifier = EffectGuard.effect(step).verify();
        if (verifier == null) {
            throw new IllegalArgumentException("step " + step.id() + " has no verifier");
        }
        return verifier;
    }

    /** The turn goes on changing its attempts; a question keeps them as they were. */
    private static List<Attempt> frozen(List<Attempt> attempts) {
        return attempts.stream().map(one -> new Attempt(one.receipt, one.last)).toList();
    }

    /** All roots now: the turn's state must not be read from the thread that asks. */
    private static Scope scope(RunScope scope, ReceiptRow receipt, RunState state) {
        Map<String, JsonNode> roots = new HashMap<>(scope.variables());
        for (String name : ROOTS) {
            JsonNode root = scope.root(name);
            if (root != null) {
                roots.putIfAbsent(name, root);
            }
        }
        JsonNodeFactory nodes = JsonNodeFactory.instance;
        roots.put("key", receipt.idempotencyKey() == null ? nodes.nullNode() : nodes.stringNode(receipt.idempotencyKey()));
        roots.put("request", SecretText.masked(EngineJson.read(receipt.request())));
        roots.put("labels", receipt.labels() == null ? nodes.objectNode() : EngineJson.read(receipt.labels()));
        ObjectNode own = nodes.objectNode();
        own.put("id", receipt.id().toString());
        own.put("key", receipt.idempotencyKey());
        own.put("attempt", receipt.attempt());
        own.put("request_sha256", receipt.requestSha256());
        own.put("destination", receipt.destination());
        List<Attempt> attempts = state.attempts(receipt.path());
        Instant first = attempts.isEmpty() ? null : attempts.getFirst().receipt.at();
        own.put("dispatched_at", first == null ? null : first.toString());
        roots.put("receipt", own);
        return roots::get;
    }

    // --- asking ----------------------------------------------------------------------------------------------------------------

    /** Asks and records. Call it from a virtual thread: it takes as long as the provider and the database do. */
    Recorded ask(Question question, String actor) throws InterruptedException {
        return record(question, answer(question), actor);
    }

    /** Records what was answered; takes as long as the database does, and must not be interrupted. */
    Recorded record(Question question, Outcome outcome, String actor) {
        Verdict verdict = Verdict.of(question.verifier(), EffectGuard.effect(question.step()), question.scope(), outcome);
        engine.meter().count("waybill_verifier_reads_total", 1, "verdict", verdict.wire());
        engine.points().reached(CrashPoints.Point.AFTER_QUESTION, question.instance(), question.path());
        UUID transition = engine.ids().get();
        OutsideMove move = question.receipt() == null
                ? healed(question, outcome, verdict, transition, actor)
                : seen(question, question.receipt(), outcome, verdict, transition, actor);
        OutsideAnswer answer = Certain.outside(engine.host(), engine.store(), move);
        if (answer instanceof OutsideAnswer.Applied) {
            move.journal().forEach(row -> engine.meter().count("waybill_effects_total", 1, "state", row.to().wire(), "kind", "verified"));
            return new Recorded(verdict, true);
        }
        LOG.info("what {} said about {} came too late to be recorded: {}", question.verifier().handler(), question.path(), answer);
        return new Recorded(verdict, false);
    }

    /** Asks; takes as long as the provider does. */
    Outcome answer(Question question) throws InterruptedException {
        JsonNode params = question.params();
        if (params == null) {
            Problem fault = question.fault();
            return new Outcome.Unknown("unresolved", fault == null ? "the question could not be resolved" : fault.message(), null);
        }
        Handler handler = engine.handlers().apply(question.verifier().handler());
        try {
            return switch (handler) {
                case null -> new Outcome.Unknown("no_handler", "no handler named " + question.verifier().handler() + " is registered here", null);
                case PureHandler pure -> pure(pure, question, params);
                case EffectHandler effect -> read(effect, question, params);
            };
        } catch (RuntimeException | StackOverflowError e) {
            LOG.warn("the verifier of {} at {} threw", question.instance(), question.path(), e);
            return new Outcome.Unknown("handler_exception", e.getClass().getSimpleName() + ": " + e.getMessage(), null);
        }
    }

    private Outcome read(EffectHandler handler, Question question, JsonNode params) throws InterruptedException {
        if (!handler.readOnly(params)) {
            return new Outcome.Unknown("not_read_only", "the question is not a read: it was not asked", null);
        }
        Preparation preparation = handler.prepare(new StepRequest(
                params, null, null, Map.of(), question.instance().tenant(), engine.secrets(), question.verifier().timeout(),
                engine.options().maxReplyBytes()));
        return switch (preparation) {
            case Preparation.Refused(Problem problem) -> new Outcome.Unknown("refused", problem.message(), null);
            case Preparation.Ready(EffectHandler.EffectCall call) ->
                call.send(new Dispatch(null, question.instance(), question.path(), question.attempt(), null, false, () -> false));
        };
    }

    private static Outcome pure(PureHandler handler, Question question, JsonNode params) throws InterruptedException {
        try {
            PureHandler.Result result = handler.apply(new PureHandler.Call(params, question.path(), question.attempt(), name -> null));
            return new Outcome.Committed(result.output(), null, null);
        } catch (StepFailure e) {
            return new Outcome.Unknown("failed", e.problem().message(), null);
        } catch (InterruptedException e) {
            throw e;
        } catch (Exception e) {
            return new Outcome.Unknown("handler_exception", e.getClass().getSimpleName() + ": " + e.getMessage(), null);
        }
    }

    // --- what is recorded ------------------------------------------------------------------------------------------------------

    private OutsideMove healed(Question q, Outcome outcome, Verdict verdict, UUID transition, String actor) {
        Instant now = q.askedAt().plusNanos(engine.host().nanoTime() - q.askedNanos());
        Map.Entry<Reads, Long> after = Healing.after(q.verifier(), q.reads(), verdict, q.members(), q.askedAt(), now);
        Reads reads = after.getKey();
        ReceiptRow newest = q.members().getLast().receipt;
        List<JournalRow> journal = new ArrayList<>();
        List<BlockRow> rows = new ArrayList<>();
        List<Event> events = new ArrayList<>();
        ObjectNode schedule = JsonNodeFactory.instance.objectNode();
        schedule.put("effect_id", newest.id().toString());
        schedule.put("reads", reads.reads());
        schedule.put("negatives", reads.negatives());
        schedule.put("counted_at", reads.counted() == null ? null : reads.counted().toString());
        schedule.put("verdict", verdict.wire());
        rows.add(frame(q.path() + Healing.VERIFY, q.scheduleN(), schedule, after.getValue(), transition));
        Problem mismatch = mismatch(q, verdict);
        switch (verdict) {
            case Verdict.Landed landed -> q.members().forEach(member -> journal.add(landed(member, landed, member.receipt == newest, transition, actor)));
            case Verdict.Absent() when reads.negatives() >= q.verifier().negativeReads() -> {
                Problem gone = Problem.of(
                        "VERIFIED_ABSENT",
                        "the provider has nothing of the effect at " + q.path() + " (asked " + reads.negatives() + " times after it was quiet)");
                q.members().forEach(member -> journal.add(
                        no(member, Proof.VERIFIED_ABSENT, "verified_absent", gone, q.retryAbsentIn(), transition, actor)));
                if (q.retryAbsentIn() == null) {
                    rows.add(error(q, gone, transition));
                }
            }
            case Verdict.Other() when mismatch != null -> {
                journal.add(no(q.members().getLast(), Proof.REJECTED, "conflict_mismatch", mismatch, null, transition, actor));
                rows.add(error(q, mismatch, transition));
            }
            case Verdict.Absent(), Verdict.Other(), Verdict.Inconclusive _ -> {}
        }
        journal.forEach(row -> events.add(Events.effect("effect.resolved", q.instance(), receipt(q.members(), row), row.to().wire())));
        AuditRow audit = actor.equals(ACTOR)
                ? null
                : new AuditRow(actor, "effect.verify", newest.id().toString(), EngineJson.write(JsonNodeFactory.instance.objectNode().put("verdict", verdict.wire())));
        return new OutsideMove(
                q.instance(), transition, null, Set.of(), List.of(), journal, List.of(transcript(q, newest.attempt(), outcome, verdict, reads, actor)),
                rows, null, null, Set.of(InstanceState.WAITING), false, null, events, audit,
                // The members are all there is of the effect that may have happened: with a final no its content is free.
                journal.stream().anyMatch(row -> row.to() == EffectState.NOT_APPLIED && row.retryInMillis() == null) ? Set.of(q.path()) : Set.of());
    }

    /** A 409 under {@code on_conflict: verify} whose question finds something else: the provider's no stands (case A07 c). */
    private static @Nullable Problem mismatch(Question q, Verdict verdict) {
        JournalRow last = q.members().getLast().last;
        boolean alone = q.members().size() == 1 && last != null && Healing.CONFLICT.equals(last.reason());
        return alone && verdict instanceof Verdict.Other
                ? Problem.of("CONFLICT_MISMATCH", "the provider answered 409 at " + q.path() + ", and what it has under this name is not this effect")
                : null;
    }

    /** What stood there already before anything was sent, or that nothing did. */
    private OutsideMove seen(Question q, ReceiptRow receipt, Outcome outcome, Verdict verdict, UUID transition, String actor) {
        List<ReceiptRow> receipts = new ArrayList<>();
        List<JournalRow> journal = new ArrayList<>();
        List<BlockRow> rows = new ArrayList<>();
        Reads reads = new Reads(q.reads().reads() + 1, 0, null, verdict.wire());
        switch (verdict) {
            case Verdict.Landed landed -> {
                receipts.add(receipt.asPrepared(transition));
                journal.add(landed(new Attempt(receipt, null), landed, true, transition, actor));
            }
            case Verdict.Absent() -> {}
            case Verdict.Other(), Verdict.Inconclusive _ -> {
                Problem problem = Problem.retryable(
                        "BEFORE_READ_INCONCLUSIVE",
                        "whether " + q.path() + " was done before cannot be told, and nothing was sent: "
                                + (verdict instanceof Verdict.Inconclusive(String why) ? why : "neither landed nor absent holds"));
                Retry retry = q.step().retry();
                if (reads.reads() < Math.max(retry.maxAttempts(), ATTEMPTS_WITHOUT_RETRY)) {
                    long interval = Healing.after(q.verifier(), q.reads(), verdict, List.of(), q.askedAt(), q.askedAt()).getValue();
                    ObjectNode body = JsonNodeFactory.instance.objectNode();
                    body.put("attempt", q.attempt()).put("tries", reads.reads()).put("verdict", verdict.wire());
                    rows.add(frame(q.path() + BEFORE, q.scheduleN(), body, interval, transition));
                } else {
                    rows.add(error(q, problem, transition));
                }
            }
        }
        return new OutsideMove(
                q.instance(), transition, null, Set.of(), receipts, journal, List.of(transcript(q, q.attempt(), outcome, verdict, reads, actor)), rows,
                null, null, Set.of(InstanceState.WAITING), false, null,
                journal.isEmpty() ? List.of() : List.of(Events.effect("effect.resolved", q.instance(), receipt, "verified")), null);
    }

    private static BlockRow frame(String path, int n, JsonNode body, long dueInMillis, UUID transition) {
        return new BlockRow(path, n, BlockRow.Kind.FRAME, EngineJson.write(body), dueInMillis, transition, null);
    }

    private static BlockRow error(Question q, Problem problem, UUID transition) {
        return new BlockRow(q.path(), q.blockN(), BlockRow.Kind.ERROR, EngineJson.write(Problems.json(problem)), null, transition, null);
    }

    /** The newest carries the output; a chain is one effect and has one. */
    private static JournalRow landed(Attempt attempt, Verdict.Landed landed, boolean newest, UUID transition, String actor) {
        JournalRow last = attempt.last;
        String id = landed.providerReceiptId() != null || last == null ? landed.providerReceiptId() : last.providerReceiptId();
        return new JournalRow(
                attempt.receipt.path(), attempt.receipt.attempt(), attempt.nextN(), attempt.state(), EffectState.VERIFIED, actor, null, transition,
                null, "landed", null, id, null, true, null, newest ? EngineJson.write(landed.output()) : null,
                newest ? OutputState.SAVED : OutputState.NONE, null, null);
    }

    private static JournalRow no(
            Attempt attempt, Proof proof, String reason, Problem problem, @Nullable Long retryInMillis, UUID transition, String actor) {
        return new JournalRow(
                attempt.receipt.path(), attempt.receipt.attempt(), attempt.nextN(), attempt.state(), EffectState.NOT_APPLIED, actor, null,
                transition, proof, reason, problem.message(), null, retryInMillis, true, null, null, OutputState.NONE,
                EngineJson.write(Problems.json(problem)), null);
    }

    private static ReceiptRow receipt(List<Attempt> members, JournalRow row) {
        return members.stream().map(member -> member.receipt).filter(receipt -> receipt.attempt() == row.attempt()).findFirst().orElseThrow();
    }

    /** The question without secrets, the answer's status and the beginning of its body, and what was made of it. */
    private static EvidenceRow transcript(Question q, int attempt, Outcome outcome, Verdict verdict, Reads reads, String actor) {
        ObjectNode body = JsonNodeFactory.instance.objectNode();
        body.put("verdict", verdict.wire());
        if (verdict instanceof Verdict.Inconclusive(String why)) {
            body.put("why", why);
        }
        body.put("before", q.receipt() != null);
        body.put("read", reads.reads());
        body.put("negative_reads", reads.negatives());
        body.put("asked_at", q.askedAt().toString());
        body.put("handler", q.verifier().handler());
        JsonNode params = q.params();
        body.set("question", params == null ? JsonNodeFactory.instance.nullNode() : SecretText.masked(Fingerprints.scrubForStorage(params)));
        Reply reply = outcome.reply();
        body.put("status", reply == null ? null : (Integer) reply.status());
        byte[] bytes = reply == null ? null : reply.body();
        if (reply == null && outcome instanceof Outcome.Committed(JsonNode output, String _, Reply _)) {
            bytes = EngineJson.write(output).getBytes(java.nio.charset.StandardCharsets.UTF_8);
        }
        boolean cut = bytes != null && bytes.length > EXCERPT_BYTES;
        body.put("body_cut", cut);
        return new EvidenceRow(
                q.path(), attempt, "verifier_read", actor, EngineJson.write(body), bytes != null && cut ? Arrays.copyOf(bytes, EXCERPT_BYTES) : bytes, null);
    }

    /**
     * Milliseconds until the attempt after a proven absence, or null when the step has had all its attempts. A step that declares no
     * retry wants its effect once all the same: it is sent anew a bounded number of times.
     */
    private @Nullable Long retryAbsent(Unknown unknown, List<Attempt> attempts) {
        Step step = unknown.step();
        Attempt newest = attempts.getLast();
        Retry retry = step.retry() == Retry.NONE
                ? new Retry(ATTEMPTS_WITHOUT_RETRY, Duration.ZERO, Duration.ZERO, 2.0, 0, null, List.of())
                : step.retry();
        Problem problem = Problem.retryable("VERIFIED_ABSENT", "the provider has nothing of it");
        int used = Settlement.used(unknown.scope().state(), unknown.path(), attempts, newest);
        return RetryPolicy.next(retry, used, problem, null, unknown.scope(), engine.random());
    }
}
