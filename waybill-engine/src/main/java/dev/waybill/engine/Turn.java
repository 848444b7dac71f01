package dev.waybill.engine;

import dev.waybill.engine.Calls.Call;
import dev.waybill.engine.Calls.Done;
import dev.waybill.engine.Calls.Result;
import dev.waybill.engine.Decision.Failure;
import dev.waybill.engine.Decision.Ready;
import dev.waybill.engine.Decision.Status;
import dev.waybill.engine.Decision.Waiting;
import dev.waybill.engine.EffectGuard.Opened;
import dev.waybill.engine.Engine.Loaded;
import dev.waybill.engine.Mailbox.Mail;
import dev.waybill.engine.RunState.Attempt;
import dev.waybill.handler.EffectHandler.Preparation;
import dev.waybill.model.Claim;
import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.Outcome;
import dev.waybill.model.Problem;
import dev.waybill.store.BlockRow;
import dev.waybill.store.Commit;
import dev.waybill.store.CommitAnswer;
import dev.waybill.store.CommitAnswer.IntentAnswer;
import dev.waybill.store.CommitAnswer.ReleaseAnswer;
import dev.waybill.store.InstanceSnapshot;
import dev.waybill.store.InvariantRows;
import dev.waybill.store.JournalRow;
import dev.waybill.store.ReceiptRow;
import dev.waybill.store.Release;
import dev.waybill.store.StoreException;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A claimed instance runs block after block here until it waits or ends. One actor on one virtual thread: calls run beside it and report
 * to its mailbox; decisions are taken one at a time, and at most one commit is outstanding (store.md, Turn).
 *
 * <p>The path of one step: {@link #step} decides -> {@link StepStart} begins it -> {@link EffectGuard} resolves, checks and makes the receipt -> one commit carries the
 * outcomes of what ended, the outputs, and the intents of what starts -> {@link #started} sends -> the answer comes to the mailbox.
 */
final class Turn implements Runnable {
    private static final Logger LOG = LoggerFactory.getLogger(Turn.class);
    private static final long UNEXPECTED_BACKOFF_MILLIS = 1_000;
    private static final long LOAD_PAUSE_MILLIS = 250;

    private final Engine engine;
    private final Scheduler scheduler;
    private final Calls calls;
    private final InstanceKey key;
    private final Claim claim;
    private final Loaded loaded;
    private final Invariants invariants;
    private final InstantSource wall;
    private final Mailbox mailbox;
    private final Map<String, Call> inFlight = new HashMap<>();
    private final Verifiers verifiers;
    private final Holds holds;
    private final StepStart starting;

    private final CountDownLatch over = new CountDownLatch(1);
    /** Waits for news that another node may write. */
    private volatile boolean listening;
    private RunState state;
    private Draft draft;
    private boolean progressed;
    /** The run was seen under another claim. */
    private boolean gone;

    Turn(Engine engine, Scheduler scheduler, Loaded loaded, InstanceSnapshot snapshot, InstantSource wall) {
        this.engine = engine;
        this.scheduler = scheduler;
        this.key = snapshot.instance().key();
        this.claim = snapshot.instance().claim();
        this.calls = new Calls(engine, key);
        this.verifiers = new Verifiers(engine);
        this.holds = new Holds(engine);
        this.loaded = loaded;
        this.invariants = new Invariants(loaded.invariants(), loaded.stepIds());
        this.wall = wall;
        this.mailbox = new Mailbox(engine.host());
        this.starting = new StepStart(engine, key, calls, verifiers, invariants, holds, inFlight, this::report);
        this.state = read(snapshot);
        this.draft = new Draft(engine.ids().get(), state);
    }

    private RunState read(InstanceSnapshot snapshot) {
        return new RunState(
                engine.host(), loaded.sequence(), snapshot, EngineJson.read(snapshot.instance().context()), EngineJson::read);
    }

    InstanceKey key() {
        return key;
    }

    /** The same for as long as the turn lives. */
    Claim claim() {
        return claim;
    }

    void nudge() {
        mailbox.nudge();
    }

    /** Somebody somewhere wrote something; only a turn with a blocked branch beside a running one wants to know. */
    void hint() {
        if (listening) {
            listening = false;
            nudge();
        }
    }

    /** A call reports. Once the turn is over its answer is late truth. */
    private void report(Done done) {
        if (done.call().abandoned || !mailbox.post(done)) {
            late(done);
        }
    }

    private void late(Done done) {
        if (done.result() instanceof Result.Answered(Outcome outcome) && done.call().attempt != null) {
            engine.lateTruth().record(key, done.call().ready, done.call().attempt.receipt.id(), outcome);
        }
    }

    @Override
    public void run() {
        try {
            engine.meter().count("waybill_turns_total", 1);
            Problem broken = state.brokenIdentity();
            if (broken != null) {
                LOG.error("{} {}", broken.code(), broken.message());
                commit(List.of(), endings().failed(List.of(new Failure("", broken))));
                return;
            }
            recover();
            while (step()) {}
        } catch (RuntimeException | Error e) {
            LOG.error("the turn of {} died; its claim is given up and another one goes on", key, e);
            Draft unsaved = draft;
            giveUp();
            salvage(unsaved);
        } finally {
            mailbox.close().forEach(this::late); // nobody waits here any longer
            scheduler.ended(this);
            over.countDown();
        }
    }

    void awaitEnd(java.time.Duration atMost) {
        try {
            engine.host().await(over, atMost.toNanos());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /**
     * What is dispatched and not in flight here is unknown: a dead claim dispatched it, or this one did and the database has lost what
     * came of it (it went back to a time when this node held the run).
     */
    private void recover() {
        for (List<Attempt> attempts : state.allEffects()) {
            for (Attempt attempt : attempts) {
                if (attempt.state() == EffectState.DISPATCHED && !inFlight.containsKey(attempt.receipt.path())) {
                    draft.settle(Settlement.crashed(attempt, draft.transitionId, state.claim));
                    draft.events.add(Events.effectUnknown(key, attempt.receipt, "crash"));
                    engine.meter().count("waybill_effects_total", 1, "state", "unknown", "kind", attempt.receipt.kind().wire());
                }
            }
        }
    }

    // --- one round: decide, commit, act ----------------------------------------------------------------------------------------

    /** One round; false when the turn is over. */
    private boolean step() {
        absorb();
        if (gone) {
            return !draft.isEmpty() && commit(List.of(), null); // the fence refuses it, and what was heard becomes late truth
        }
        if (crashLooping()) {
            return commit(List.of(), endings().crashLoop());
        }
        boolean undoing = Unwinding.active(state);
        Decision decision = undoing
                ? Unwinding.decide(loaded.sequence(), loaded.stepIds(), state, draft, inFlight.keySet(), false)
                : Evaluator.decide(loaded.sequence(), loaded.stepIds(), state, draft, inFlight.keySet());
        boolean ends = state.cancelRequested && !undoing;
        if (ends && inFlight.isEmpty() && !(decision.status instanceof Status.Done) && loaded.sagas().unfinished(state)) {
            Unwinding.begin(draft);
            return true;
        }
        boolean stopping = ends
                || state.pauseRequested
                || scheduler.draining()
                || (decision.failing && decision.undoing == 0)
                || !decision.blocked.isEmpty()
                || !(decision.status instanceof Status.Pending);
        List<Opened> intents = new ArrayList<>();
        boolean again = false;
        if (!stopping) {
            if (!decision.repeats.isEmpty()) {
                for (JournalRow off : decision.repeats) {
                    draft.settle(off);
                    draft.events.add(Settlement.resolved(state, off));
                }
                return true;
            }
            if (decision.failing) {
                decision.ready.removeIf(ready -> !compensates(ready));
                decision.asks.clear();
            }
            for (Ready ready : decision.ready) {
                again |= starting.begin(draft, ready, intents);
            }
            if (again) {
                releaseSlots(intents.size());
                return true; // something was decided without I/O: look again before anything is committed
            }
            if (draft.isEmpty()) {
                decision.asks.forEach(this::ask);
            }
            if (intents.isEmpty() && inFlight.isEmpty() && !decision.ready.isEmpty() && draft.isEmpty()) {
                return waitForSlot();
            }
        }
        if (!intents.isEmpty()) {
            return commit(intents, null);
        }
        if (!inFlight.isEmpty()) {
            return draft.isEmpty() ? await(decision) : commit(List.of(), null);
        }
        // The settle goes first: what waits for a slot waits afterwards, and nobody is asked about an unknown that is not durable yet. The
        // verdict would stand in the journal before it, and alone if this node died.
        if (!stopping && (!decision.ready.isEmpty() || (!decision.asks.isEmpty() && !draft.isEmpty()))) {
            return commit(List.of(), null);
        }
        return commit(List.of(), endings().of(decision, scheduler.draining()));
    }

    private Endings endings() {
        return new Endings(loaded.sequence(), loaded.sagas(), state);
    }

    private boolean compensates(Ready ready) {
        return loaded.sagas().compensations().contains(ready.step().id());
    }

    private boolean crashLooping() {
        if (progressed || !inFlight.isEmpty()) {
            return false;
        }
        BlockRow run = state.row(RUN_PATH);
        int from = run == null ? 0 : state.body(run).path("takeovers").asInt();
        int deaths = run == null ? 0 : state.body(run).path("deaths").asInt();
        return Math.max(state.takeovers - from, deaths) >= engine.options().crashLoopTakeovers();
    }

    /** The pseudo path of rows that belong to the run as a whole. */
    static final String RUN_PATH = "$run";

    /** Takes all mail there is. */
    private void absorb() {
        for (Mail mail = mailbox.poll(); mail != null; mail = mailbox.poll()) {
            take(mail);
        }
    }

    private void take(Mail mail) {
        switch (mail) {
            case Mail.Nudge() -> reloadIfNews();
            case Mail.Ended(Done done) -> {
                inFlight.remove(done.call().ready.path());
                ended(done.call().ready, done.call().attempt, done.result());
            }
        }
    }

    private void ask(Healing.Unknown unknown) {
        Ready asking = new Ready(
                unknown.step(), unknown.path() + Healing.VERIFY, unknown.scope(), unknown.newest().receipt.attempt(), null, false);
        inFlight.put(asking.path(), calls.ask(asking, verifiers, verifiers.about(key, unknown), this::report));
    }

    /** What a verifier found is a row by now: the turn reads it as it reads any news. */
    private void asked(Ready ready, Verifiers.@Nullable Recorded recorded) {
        boolean before = !ready.path().endsWith(Healing.VERIFY);
        if (before && recorded != null && recorded.durable() && recorded.verdict() instanceof Verdict.Absent) {
            starting.absent(ready);
        }
        reloadIfNews();
    }

    /** Records what a call came to in the draft. */
    private void ended(Ready ready, @Nullable Attempt attempt, Result result) {
        Ready current = rebased(ready);
        switch (result) {
            case Result.Answered(Outcome outcome) -> {
                Attempt now = attempt == null ? null : current(attempt);
                if (now == null || now.state() != EffectState.DISPATCHED) {
                    engine.lateTruth().record(key, ready, attempt == null ? key.id() : attempt.receipt.id(), outcome);
                    return;
                }
                holds.heard(key, current, now.receipt.id(), outcome);
                Settlement.into(draft, current, now, outcome, engine, "engine");
            }
            case Result.Read(Outcome outcome) -> PureSettlement.read(draft, current, outcome, engine.random());
            case Result.Prepared(Preparation preparation) -> starting.prepared(ready.path(), preparation);
            case Result.PureFailed(Problem problem) when current.resend() -> starting.refused(draft, current, problem);
            case Result.Pure _, Result.PureFailed _ -> PureSettlement.ended(draft, current, result, engine.random());
            case Result.Asked(Verifiers.Recorded recorded) -> asked(current, recorded);
        }
    }

    /** After a reload the same step stands on a new state. */
    private Ready rebased(Ready ready) {
        if (ready.scope().state() == state) {
            return ready;
        }
        RunScope old = ready.scope();
        return new Ready(
                ready.step(), ready.path(), new RunScope(state, old.stepIds(), old.prefix(), old.variables(), old.path(), old.attempt()),
                ready.attempt(), ready.copyOf(), ready.resend());
    }

    private @Nullable Attempt current(Attempt attempt) {
        for (Attempt one : state.attempts(attempt.receipt.path())) {
            if (one.receipt.id().equals(attempt.receipt.id())) {
                return one;
            }
        }
        return null;
    }

    private void releaseSlots(int count) {
        if (count > 0) {
            engine.slots().release(count);
        }
    }

    private boolean waitForSlot() {
        try {
            if (engine.host().acquire(engine.slots(), TimeUnit.SECONDS.toNanos(1))) {
                engine.slots().release();
            }
            return true;
        } catch (InterruptedException e) {
            throw new IllegalStateException("a turn is never interrupted", e);
        }
    }

    // --- commit ----------------------------------------------------------------------------------------------------------------

    private boolean commit(List<Opened> intents, @Nullable Release release) {
        if (!draft.settles.isEmpty()) {
            engine.points().reached(CrashPoints.Point.BEFORE_SETTLE, key, draft.settles.getFirst().path());
        }
        Draft sent = draft;
        List<ReceiptRow> receipts = intents.stream().map(Opened::receipt).toList();
        boolean reset = state.takeovers > 0 && !progressed && !sent.settles.isEmpty();
        boolean compensates = !intents.isEmpty() && intents.stream().allMatch(it -> compensates(it.ready()));
        Commit commit = new Commit(
                key, state.claim, sent.transitionId, List.copyOf(sent.settles), List.copyOf(sent.rows), receipts,
                List.copyOf(sent.events), release, reset,
                invariants.rows(sent.settles, intents.stream().flatMap(it -> it.guards().stream()).toList(), sent.results, release, state),
                compensates || asking() || receipts.stream().anyMatch(receipt -> receipt.resendOf() != null) ? state.wakeSeq : null, compensates);
        long handedOver = engine.host().nanoTime();
        BooleanSupplier late = Calls.lastLook(engine.host(), handedOver, engine.options().sendDeadline(), wall);
        // Before the commit: a receipt that is durable and has no note of its first byte was then not sent. One that is only prepared
        // may be dispatched elsewhere, where we see nothing.
        receipts.stream()
                .filter(receipt -> !receipt.prepared())
                .forEach(receipt -> engine.recorder().intent(receipt.id(), receipt.node(), key, receipt.path()));
        CommitAnswer answer;
        try {
            answer = engine.committer().submit(commit).join();
        } catch (CompletionException e) {
            releaseSlots(intents.size());
            throw new IllegalStateException("the move of " + key + " could not be committed", e.getCause());
        }
        return switch (answer) {
            case CommitAnswer.ClaimLost() -> {
                intents.forEach(this::withdraw);
                lost(sent);
                yield false;
            }
            case CommitAnswer.Conflict(String what) -> {
                intents.forEach(this::withdraw);
                LOG.info("a move of {} met another one ({}): reading it again", key, what);
                lost(sent);
                yield reload();
            }
            case CommitAnswer.Settled settled -> settled(sent, settled, intents, late, release);
        };
    }

    /** A verifier of this run is about to write what it heard: what it ends may be what these intents stand on. */
    private boolean asking() {
        return inFlight.values().stream().anyMatch(call -> call.question);
    }

    private boolean settled(
            Draft sent,
            CommitAnswer.Settled answer,
            List<Opened> intents,
            BooleanSupplier late,
            @Nullable Release release) {
        state.acknowledged(sent.settles, sent.rows, answer.databaseNow());
        progressed |= !sent.settles.isEmpty();
        if (!sent.settles.isEmpty()) {
            engine.meter().count("waybill_steps_total", sent.settles.size());
            engine.points().reached(CrashPoints.Point.AFTER_SETTLE, key, sent.settles.getFirst().path());
        }
        sent.answers.forEach(heard -> engine.recorder().settled(heard.receipt(), !(heard.outcome() instanceof Outcome.Unknown)));
        draft = new Draft(engine.ids().get(), state);
        boolean news = answer.wakeSeq() != state.wakeSeq;
        state.cancelRequested = answer.cancelRequested();
        state.pauseRequested = answer.pauseRequested();
        if (answer.release() == ReleaseAnswer.RELEASED) {
            engine.points().reached(CrashPoints.Point.AFTER_RELEASE, key, "");
            if (release != null) {
                scheduler.released(key, release);
            }
            return false;
        }
        started(answer, intents, late);
        if (answer.unstorable() || news) {
            return reload();
        }
        if (answer.intents() == IntentAnswer.HELD_BY_NODE) {
            // Fenced or expired: nothing may be sent from here; what is in flight still settles under the claim.
            return inFlight.isEmpty()
                    ? commit(List.of(), endings().later(0))
                    : await(new Decision());
        }
        return true;
    }

    /** The intent is not durable and never will be. */
    private void withdraw(Opened opened) {
        releaseSlots(1);
        engine.recorder().settled(opened.receipt().id(), true);
    }

    /** The intents that are durable: send now. */
    private void started(CommitAnswer.Settled answer, List<Opened> intents, BooleanSupplier late) {
        for (Opened opened : intents) {
            Ready ready = opened.ready();
            InvariantRows.Holder holder = answer.duplicates().get(ready.path());
            if (holder != null) {
                withdraw(opened);
                starting.refused(draft, ready, Invariants.violation(ready.path(), holder));
                draft.results.add(Invariants.violated(ready.path(), holder));
                continue;
            }
            if (answer.intents() != IntentAnswer.DISPATCHED) {
                withdraw(opened);
                continue;
            }
            starting.dispatched(ready.path());
            state.apply(opened.receipt());
            Attempt attempt = state.lastAttempt(ready.path());
            if (attempt == null) {
                throw new IllegalStateException("the receipt just applied is there");
            }
            engine.meter().count("waybill_effects_total", 1, "state", "dispatched", "kind", opened.receipt().kind().wire());
            inFlight.put(ready.path(), calls.effect(ready, attempt, opened.call(), late, opened.timeout(), this::report));
        }
    }

    /** The claim is gone, or somebody was faster: answers we hold go on as late truth, decisions are dropped. */
    /** What had been heard and was not durable when the turn died is late truth like any other. */
    private void salvage(Draft unsaved) {
        try {
            lost(unsaved);
        } catch (RuntimeException e) {
            LOG.error("an answer that the dead turn of {} had heard could not be stored", key, e);
        }
    }

    private void lost(Draft sent) {
        sent.answers.forEach(answer -> engine.lateTruth().record(key, answer.ready(), answer.receipt(), answer.outcome()));
    }

    /**
     * Waits for the database: a turn that died of its absence could not give its claim up either, and what it has in flight would have
     * no owner while this node lives.
     */
    private Optional<InstanceSnapshot> load() {
        while (true) {
            try {
                return engine.store().load(key);
            } catch (StoreException e) {
                if (scheduler.draining() && engine.host().nanoTime() - scheduler.drainDeadlineNanos() >= 0) {
                    throw e;
                }
                LOG.warn("run {} waits for the database: {}", key, e.getMessage());
                engine.host().pause(TimeUnit.MILLISECONDS.toNanos(LOAD_PAUSE_MILLIS));
            }
        }
    }

    private boolean reload() {
        Optional<InstanceSnapshot> snapshot = load();
        if (snapshot.isEmpty() || !snapshot.get().instance().claim().equals(state.claim)
                || snapshot.get().instance().claimNode() == null) {
            return false; // no longer ours; calls still in flight report as late truth
        }
        state = read(snapshot.get());
        draft = new Draft(engine.ids().get(), state);
        recover();
        return true;
    }

    private void reloadIfNews() {
        if (draft.isEmpty()) {
            Optional<InstanceSnapshot> snapshot = load();
            if (snapshot.isEmpty() || !snapshot.get().instance().claim().equals(state.claim)) {
                gone = true;
            } else if (snapshot.get().instance().wakeSeq() != state.wakeSeq) {
                state = read(snapshot.get());
                draft = new Draft(engine.ids().get(), state);
            }
        }
    }

    // --- waiting and ending ----------------------------------------------------------------------------------------------------

    /** Waits for a call to end, a timer of another branch, or news. */
    private boolean await(Decision decision) {
        long now = engine.host().nanoTime();
        long until = Long.MAX_VALUE;
        for (Call call : inFlight.values()) {
            until = Math.min(until, call.deadlineNanos + Settlement.graceAfterTimeout().toNanos() - now);
        }
        for (Waiting waiting : decision.waiting) {
            if (waiting.dueInMillis() != null) {
                until = Math.min(until, TimeUnit.MILLISECONDS.toNanos(waiting.dueInMillis()));
            }
        }
        if (scheduler.draining()) {
            until = Math.min(until, scheduler.drainDeadlineNanos() - now);
        }
        listening = decision.waiting.stream().anyMatch(waiting -> waiting.dueInMillis() == null);
        Mail mail = mailbox.await(Math.max(0, until));
        listening = false;
        if (mail != null) {
            take(mail);
        } else {
            endOverdue();
        }
        return true;
    }

    /** Calls past their timeout, or past the drain time, are interrupted; those that do not answer even then are unknown. */
    private void endOverdue() {
        long now = engine.host().nanoTime();
        boolean drained = scheduler.draining() && now - scheduler.drainDeadlineNanos() >= 0;
        for (Call call : List.copyOf(inFlight.values())) {
            if (!drained && now - call.deadlineNanos < Settlement.graceAfterTimeout().toNanos()) {
                continue;
            }
            call.interrupt();
            Mail mail = mailbox.await(Settlement.graceAfterTimeout().toNanos());
            if (mail != null) {
                take(mail);
            }
            absorb();
            if (inFlight.get(call.ready.path()) == call) {
                call.abandoned = true;
                inFlight.remove(call.ready.path());
                String reason = drained ? "drain" : "timeout";
                ended(call.ready, call.attempt, overdue(call, reason));
            }
        }
    }

    private static Result overdue(Call call, String reason) {
        String message = "the call had not ended when its time was over (" + reason + ")";
        if (call.question) {
            return new Result.Asked(null);
        }
        if (call.attempt != null) {
            return new Result.Answered(new Outcome.Unknown(reason, message, null));
        }
        return new Result.PureFailed(Problem.retryable("STEP_TIMEOUT", message));
    }

    /**
     * A bug ended this turn: the claim is given up first, so that what is in flight becomes unknown elsewhere and settles late. After as
     * many deaths as takeovers are allowed the run waits, reason crash_loop.
     */
    private void giveUp() {
        try {
            boolean given = false;
            while (!given && reload()) {
                BlockRow row = state.row(RUN_PATH);
                var body = tools.jackson.databind.node.JsonNodeFactory.instance.objectNode();
                body.put("takeovers", row == null ? 0 : state.body(row).path("takeovers").asInt());
                body.put("deaths", row == null ? 1 : state.body(row).path("deaths").asInt() + 1);
                draft = new Draft(engine.ids().get(), state);
                draft.row(RUN_PATH, BlockRow.Kind.FRAME, body, null);
                Commit commit = new Commit(
                        key, state.claim, draft.transitionId, List.of(), List.copyOf(draft.rows), List.of(), List.of(),
                        endings().later(UNEXPECTED_BACKOFF_MILLIS), false);
                given = !(engine.committer().submit(commit).join() instanceof CommitAnswer.Settled settled)
                        || settled.release() == ReleaseAnswer.RELEASED;
            }
        } catch (RuntimeException e) {
            LOG.error("the claim of {} could not be given up; it ends with this node's lease", key, e);
        }
    }
}
