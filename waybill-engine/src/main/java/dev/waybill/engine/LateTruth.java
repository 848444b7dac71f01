package dev.waybill.engine;

import dev.waybill.engine.Decision.Ready;
import dev.waybill.engine.RunState.Attempt;
import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.InstanceState;
import dev.waybill.model.Outcome;
import dev.waybill.model.Problem;
import dev.waybill.model.Proof;
import dev.waybill.recorder.Recorder;
import dev.waybill.recorder.Testimony;
import dev.waybill.recorder.Testimony.Says;
import dev.waybill.store.BlockRow;
import dev.waybill.store.Event;
import dev.waybill.store.EvidenceRow;
import dev.waybill.store.InstanceSnapshot;
import dev.waybill.store.JournalRow;
import dev.waybill.store.OutsideAnswer;
import dev.waybill.store.OutsideMove;
import dev.waybill.store.ReceiptRow;
import dev.waybill.store.Store;
import dev.waybill.store.StoreException;
import dev.waybill.store.UnclearCommitException;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * A first-hand answer that arrives after its owner lost the claim is never thrown away (semantics.md section 5, late truth). If the
 * receipt is still dispatched or unknown and no newer send exists, the answer settles it; otherwise it becomes evidence, and evidence
 * that contradicts a settled receipt raises {@code effect.contradiction} and changes nothing.
 */
final class LateTruth {
    static final String ACTOR = "engine-late";
    static final String RECORDER = "recorder";
    /** Retryable, and not an attempt that counts: the flight recorder has shown that nothing was sent. */
    static final String CRASHED_BEFORE_SEND = "CRASHED_BEFORE_SEND";

    private static final int MAX_CONFLICTS = 5;
    private static final Logger LOG = LoggerFactory.getLogger(LateTruth.class);
    private static final long PAUSE_NANOS = 100_000_000L;
    private static final long MAX_PAUSE_NANOS = 2_000_000_000L;

    private final Host host;
    private final Store store;
    private final SequenceCache sequences;
    private final Supplier<UUID> ids;
    private final RandomGenerator random;
    private final Meter meter;
    private final Recorder recorder;
    private final Consumer<InstanceKey> wake;
    private volatile boolean closing;

    LateTruth(
            Host host,
            Store store,
            SequenceCache sequences,
            Supplier<UUID> ids,
            RandomGenerator random,
            Meter meter,
            Recorder recorder,
            Consumer<InstanceKey> wake) {
        this.host = host;
        this.store = store;
        this.sequences = sequences;
        this.ids = ids;
        this.random = random;
        this.meter = meter;
        this.recorder = recorder;
        this.wake = wake;
    }

    /** Records the outcome of a call whose turn no longer owns its instance; returns when it is durable. Call it from a virtual thread. */
    void record(InstanceKey instance, Ready sent, UUID receipt, Outcome outcome) {
        long pause = PAUSE_NANOS;
        while (true) {
            try {
                if (attempt(instance, sent.path(), sent, receipt, outcome, ACTOR)) {
                    recorder.settled(receipt, true);
                    return;
                }
            } catch (StoreException | UnclearCommitException e) {
                if (closing) {
                    LOG.error("the late answer of effect {} could not be stored before the engine closed: {}", receipt, outcome, e);
                    return;
                }
                LOG.warn("the late answer of effect {} waits for the database: {}", receipt, e.getMessage());
            }
            host.pause(pause);
            pause = Math.min(pause * 2, MAX_PAUSE_NANOS);
        }
    }

    void close() {
        closing = true;
    }

    /**
     * Records what the flight recorder of a dead node says; tried a few times, then left to the next look.
     *
     * @return false when it has to be heard again: the commit of the intent may still land, or somebody is always faster
     * @throws StoreException when the store cannot be asked
     */
    boolean recall(Testimony testimony) {
        InstanceSnapshot snapshot = store.load(testimony.instance()).orElse(null);
        if (snapshot == null) {
            return true;
        }
        ReceiptRow receipt = snapshot.receipts().stream().filter(r -> r.id().equals(testimony.receipt())).findFirst().orElse(null);
        if (receipt == null) {
            if (!(testimony.says() instanceof Says.NotSent)) {
                LOG.error(
                        "LEDGER_MAY_BE_BEHIND effect {} of {} was dispatched by node {} and the store does not know it", testimony.receipt(),
                        testimony.instance(), testimony.node());
            }
            return !testimony.node().equals(snapshot.instance().claimNode());
        }
        if (receipt.prepared() || !receipt.node().equals(testimony.node()) || !receipt.path().equals(testimony.path())) {
            return true;
        }
        Outcome outcome = switch (testimony.says()) {
            case Says.Gap() -> null;
            case Says.Answered(Outcome answer) -> answer;
            case Says.NotSent() -> new Outcome.NotApplied(
                    Proof.NOT_SENT,
                    Problem.retryable(CRASHED_BEFORE_SEND, "the engine died before the first byte left; its flight recorder shows it"),
                    null,
                    null);
        };
        if (outcome == null || !isNews(snapshot, receipt, outcome)) {
            return true;
        }
        for (int i = 0; i < MAX_CONFLICTS; i++) {
            if (attempt(testimony.instance(), testimony.path(), null, testimony.receipt(), outcome, RECORDER)) {
                meter.count("waybill_recorder_total", 1, "result", testimony.says() instanceof Says.NotSent ? "not_sent" : "answer");
                return true;
            }
        }
        return false;
    }

    /** What is settled is settled, but for an answer that shows it to be wrong; and unknown is not made known by an unknown. */
    private static boolean isNews(InstanceSnapshot snapshot, ReceiptRow receipt, Outcome outcome) {
        EffectState state = snapshot.journal().stream()
                .filter(row -> row.path().equals(receipt.path()) && row.attempt() == receipt.attempt())
                .reduce((earlier, later) -> later)
                .map(JournalRow::to)
                .orElse(EffectState.DISPATCHED);
        return switch (state) {
            case DISPATCHED -> true;
            case PLANNED, PREPARED -> false;
            case UNKNOWN -> !(outcome instanceof Outcome.Unknown);
            case NOT_APPLIED, ABANDONED -> !(outcome instanceof Outcome.NotApplied || outcome instanceof Outcome.Unknown);
            case COMMITTED, VERIFIED, COMPENSATED -> outcome instanceof Outcome.NotApplied;
        };
    }

    /**
     * @param sent what the sender knew of the step; null when the sender is dead: then it is found again in the run
     * @return false when somebody was faster
     */
    private boolean attempt(
            InstanceKey instance, String path, @Nullable Ready sent, UUID receiptId, Outcome outcome, String actor) {
        InstanceSnapshot snapshot = store.load(instance).orElse(null);
        Engine.Loaded loaded = snapshot == null ? null : sequences.get(instance.tenant(), snapshot.instance().sequenceId());
        if (snapshot == null || loaded == null) {
            LOG.error("the late answer of effect {} has no run to go to ({} is gone): {}", receiptId, instance, outcome);
            return true;
        }
        RunState state = new RunState(host, loaded.sequence(), snapshot, EngineJson.read(snapshot.instance().context()), EngineJson::read);
        if (sent == null) {
            RunState walked = new RunState(host, loaded.sequence(), snapshot, state.context, EngineJson::read);
            sent = Evaluator.find(loaded.sequence(), loaded.stepIds(), walked, path);
            if (sent == null) {
                LOG.error("the recorded answer of effect {} has no step at {} to go to: {}", receiptId, path, outcome);
                return true;
            }
        }
        List<Attempt> attempts = state.attempts(path);
        Attempt attempt = attempts.stream().filter(a -> a.receipt.id().equals(receiptId)).findFirst().orElse(null);
        if (attempt == null) {
            LOG.error("the late answer of effect {} has no receipt: {}", receiptId, outcome);
            return true;
        }
        boolean newest = attempts.getLast() == attempt;
        UUID transition = ids.get();
        Ready here = new Ready(
                sent.step(),
                sent.path(),
                new RunScope(
                        state, loaded.stepIds(), sent.scope().prefix(), sent.scope().variables(), path, attempt.receipt.attempt()),
                attempt.receipt.attempt(),
                null,
                attempt.receipt.resendOf() != null);
        Settlement.Settled settled = Settlement.settle(here, attempt, attempts, outcome, state, transition, random, actor);
        JournalRow row = settled.row();
        OutsideMove move = newest && attempt.state().unresolved() && attempt.state().canMoveTo(row.to())
                ? settling(state, here, attempt, settled, transition)
                : evidence(state, attempt, row, outcome, transition, actor);
        OutsideAnswer answer = Certain.outside(host, store, move);
        if (answer instanceof OutsideAnswer.Applied) {
            meter.count("waybill_late_truth_total", 1, "result", move.journal().isEmpty() ? "evidence" : "settled");
            wake.accept(instance);
            return true;
        }
        return answer instanceof OutsideAnswer.NotFound;
    }

    private OutsideMove settling(RunState state, Ready ready, Attempt attempt, Settlement.Settled settled, UUID transition) {
        List<BlockRow> rows = new ArrayList<>();
        if (settled.error() != null) {
            rows.add(new BlockRow(
                    ready.path(), state.nextN(ready.path()), BlockRow.Kind.ERROR, EngineJson.write(Problems.json(settled.error())), null,
                    transition, null));
        }
        if (settled.output() != null) {
            rows.add(new BlockRow(
                    ready.path(), state.nextN(ready.path()), BlockRow.Kind.OUTPUT, EngineJson.write(settled.output()), null, transition,
                    null));
        }
        // Nobody else announces it: whoever takes the run over finds it unknown already.
        List<Event> events = settled.row().to() == EffectState.UNKNOWN
                ? List.of(Events.effectUnknown(state.key, attempt.receipt, String.valueOf(settled.row().reason())))
                : settled.chain().stream().map(row -> Settlement.resolved(state, row)).toList();
        List<JournalRow> journal = new ArrayList<>(List.of(settled.row()));
        journal.addAll(settled.chain());
        return new OutsideMove(
                state.key, transition, null, Set.of(), List.of(), journal, List.of(), rows, null, null,
                Set.of(InstanceState.WAITING), false, null, events, null, Invariants.freed(journal, state));
    }

    private OutsideMove evidence(
            RunState state, Attempt attempt, JournalRow row, Outcome outcome, UUID transition, String actor) {
        ObjectNode body = JsonNodeFactory.instance.objectNode();
        body.put("outcome", row.to().wire());
        body.put("reason", row.reason());
        body.put("provider_receipt_id", row.providerReceiptId());
        body.put("receipt_state", attempt.state().wire());
        boolean contradicts = contradicts(attempt.state(), row.to());
        EvidenceRow evidence = new EvidenceRow(
                attempt.receipt.path(), attempt.receipt.attempt(), contradicts ? "contradiction" : "late_answer", actor,
                EngineJson.write(body), outcome.reply() == null ? null : outcome.reply().body(), null);
        List<Event> events = contradicts
                ? List.of(Events.contradiction(
                        state.key, attempt.receipt, "a late answer says " + row.to().wire() + ", the receipt is " + attempt.state().wire()))
                : List.of();
        if (contradicts) {
            LOG.error(
                    "EFFECT_CONTRADICTION effect {} is {} but its late answer says {}: waybill effects show {}",
                    attempt.receipt.id(), attempt.state().wire(), row.to().wire(), attempt.receipt.id());
        }
        return new OutsideMove(
                state.key, transition, null, Set.of(), List.of(), List.of(), List.of(evidence), List.of(), null, null, Set.of(), false,
                null, events, null);
    }

    private static boolean contradicts(EffectState now, EffectState late) {
        boolean saysNo = now == EffectState.NOT_APPLIED || now == EffectState.ABANDONED;
        return (saysNo && late == EffectState.COMMITTED) || (now.applied() && late == EffectState.NOT_APPLIED);
    }
}
