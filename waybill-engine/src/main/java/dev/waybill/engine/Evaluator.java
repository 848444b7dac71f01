package dev.waybill.engine;

import dev.waybill.definition.Durations;
import dev.waybill.definition.EvaluationException;
import dev.waybill.definition.Expression;
import dev.waybill.definition.Sequence;
import dev.waybill.definition.Sequence.Block;
import dev.waybill.definition.Sequence.ForEach;
import dev.waybill.definition.Sequence.Loop;
import dev.waybill.definition.Sequence.Parallel;
import dev.waybill.definition.Sequence.Router;
import dev.waybill.definition.Sequence.Saga;
import dev.waybill.definition.Sequence.Step;
import dev.waybill.definition.Sequence.TryCatch;
import dev.waybill.engine.Decision.Failure;
import dev.waybill.engine.Decision.Ready;
import dev.waybill.engine.Decision.Status;
import dev.waybill.engine.Decision.Waiting;
import dev.waybill.engine.RunState.Attempt;
import dev.waybill.model.EffectState;
import dev.waybill.model.Problem;
import dev.waybill.store.BlockRow;
import dev.waybill.store.BlockRow.Kind;
import dev.waybill.store.JournalRow;
import dev.waybill.store.JournalRow.OutputState;
import dev.waybill.store.ReceiptRow;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * Decides what a run does next. Pure: it reads the {@link RunState} and writes decisions (a route taken, a collection frozen, a loop
 * verdict) into the {@link Draft}; no I/O. What was decided once lies in a row and is never evaluated again (semantics.md 4.6).
 */
final class Evaluator {
    private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

    private final Sequence sequence;
    private final List<String> stepIds;
    private final RunState state;
    private final Draft draft;
    private final Set<String> inFlight;
    private final Decision decision = new Decision();
    private final Unwinding unwinding;
    /** The run only undoes: an unknown outcome is a residual, nobody is asked and nothing is sent again. */
    private final boolean ending;

    private @Nullable String sought;
    private @Nullable Ready found;

    private Evaluator(Sequence sequence, List<String> stepIds, RunState state, Draft draft, Set<String> inFlight, boolean ending, boolean survey) {
        this.sequence = sequence;
        this.stepIds = stepIds;
        this.state = state;
        this.draft = draft;
        this.inFlight = inFlight;
        this.ending = ending;
        this.unwinding = new Unwinding(this, state, draft, decision, inFlight, ending, survey);
    }

    /** One whose blocks are asked by the undoing of a whole run. */
    static Evaluator unwinding(Sequence sequence, List<String> stepIds, RunState state, Draft draft, Set<String> inFlight, boolean survey) {
        return new Evaluator(sequence, stepIds, state, draft, inFlight, true, survey);
    }

    Decision decision() {
        return decision;
    }

    /** Where the sought effect stands was found. */
    boolean found() {
        return found != null;
    }

    Unwinding unwinding() {
        return unwinding;
    }

    /**
     * @param stepIds  ids of all blocks that can have an output
     * @param inFlight paths whose call or preparation this turn is waiting for
     */
    static Decision decide(Sequence sequence, List<String> stepIds, RunState state, Draft draft, Set<String> inFlight) {
        Evaluator evaluator = new Evaluator(sequence, stepIds, state, draft, inFlight, false, false);
        evaluator.decision.status = evaluator.blocks(sequence.blocks(), Place.TOP);
        return evaluator.decision;
    }

    /**
     * Where an effect stands that was dispatched, as it stood when it was ready: for whoever has an answer and was not there. What is
     * decided on the way goes into {@code state} and must not be written.
     *
     * @return null when the run does not come there
     */
    static @Nullable Ready find(Sequence sequence, List<String> stepIds, RunState state, String path) {
        Evaluator evaluator = new Evaluator(sequence, stepIds, state, new Draft(state.key.id(), state), Set.of(), false, false);
        evaluator.sought = path;
        evaluator.blocks(sequence.blocks(), Place.TOP);
        return evaluator.found;
    }

    private RunScope scope(Place place, String path, int attempt) {
        return new RunScope(state, stepIds, place.prefix(), place.vars(), path, attempt);
    }

    private Status blocks(List<Block> blocks, Place place) {
        for (Block block : blocks) {
            Status status = block(block, place);
            if (!(status instanceof Status.Done)) {
                return status;
            }
        }
        return Decision.DONE;
    }

    Status block(Block block, Place place) {
        return switch (block) {
            case Step step -> step(step, place);
            case Parallel parallel -> parallel(parallel, place);
            case Router router -> router(router, place);
            case TryCatch tryCatch -> tryCatch(tryCatch, place);
            case ForEach forEach -> forEach(forEach, place);
            case Loop loop -> loop(loop, place);
            case Saga saga -> unwinding.saga(saga, place, sought);
        };
    }

    // --- step ------------------------------------------------------------------------------------------------------------------

    private Status step(Step step, Place place) {
        String path = place.prefix() + step.id();
        if (inFlight.contains(path)) {
            return Decision.PENDING;
        }
        if (path.equals(sought)) {
            found = new Ready(EffectGuard.asDispatched(step, path, state), path, scope(place, path, 0), 0, null, false);
            return Decision.PENDING;
        }
        List<Attempt> attempts = state.attempts(path);
        if (Healing.unknown(attempts)) {
            return unknown(EffectGuard.asDispatched(step, path, state), path, place, Healing.members(attempts)); // whatever else its rows say
        }
        BlockRow row = state.row(path);
        if (row != null) {
            switch (row.kind()) {
                case OUTPUT -> {
                    return Decision.DONE;
                }
                case ERROR -> {
                    Problem problem = Problems.parse(state.body(row));
                    if (problem.code().equals(Invariants.VIOLATION)) {
                        decision.blocked.add(new Failure(path, problem));
                        return Decision.PENDING;
                    }
                    return failed(path, problem);
                }
                case RETRY -> {
                    // Of an effect it speaks about a preparation: once a receipt was made since, that one says how it stands.
                    if (attempts.size() <= state.body(row).path("receipts").asInt()) {
                        long left = state.millisUntil(row.at(), due(row));
                        Attempt sent = attempts.isEmpty() ? null : attempts.getLast();
                        boolean automatic = sent != null && sent.last != null && sent.last.retryInMillis() != null;
                        ReceiptRow copyOf = sent == null || !automatic ? null : sent.receipt;
                        return left > 0
                                ? waiting("retry", path, null, left)
                                : ready(step, path, place, state.body(row).path("attempt").asInt(), copyOf);
                    }
                }
                case TIMER -> {
                    long left = state.millisUntil(row.at(), due(row));
                    if (left > 0) {
                        return waiting("timer", path, null, left);
                    }
                    JsonNode sleep = state.body(row).get("sleep");
                    if (sleep != null) {
                        draft.row(path, Kind.OUTPUT, sleep, null);
                        return Decision.DONE;
                    }
                }
                case CLEARED, FRAME, STATE -> {}
            }
        }
        if (!attempts.isEmpty()) {
            return attempted(step, path, place, attempts, row);
        }
        if (row == null || row.kind() == Kind.CLEARED) {
            Status entry = enter(step, path, place);
            if (entry != null) {
                return entry;
            }
        }
        return ready(step, path, place, 0, null);
    }

    /** The first look at a step: its condition, then its delay; null = it may run now. */
    private @Nullable Status enter(Step step, String path, Place place) {
        try {
            if (step.when() != null && !Conditions.holds(step.when().evaluate(scope(place, path, 0)))) {
                draft.row(path, Kind.OUTPUT, NODES.nullNode(), null);
                return Decision.DONE;
            }
            if (step.delay() != null) {
                long millis = delayMillis(step.delay().resolve(scope(place, path, 0)));
                if (millis > 0) {
                    draft.row(path, Kind.TIMER, NODES.objectNode().put("delay", millis), millis);
                    return waiting("timer", path, null, millis);
                }
            }
            return null;
        } catch (EvaluationException e) {
            return error(path, e.problem());
        }
    }

    private static long delayMillis(JsonNode delay) throws EvaluationException {
        if (delay.isNull() || delay.isMissingNode()) {
            return 0;
        }
        return Durations.of(delay)
                .orElseThrow(() -> new EvaluationException(Problem.of("DURATION_INVALID", "not a duration: " + delay)))
                .toMillis();
    }

    private Status attempted(Step step, String path, Place place, List<Attempt> attempts, @Nullable BlockRow row) {
        Attempt last = RunState.decisive(attempts);
        ReceiptRow receipt = last.receipt;
        int newest = attempts.getLast().receipt.attempt();
        // A person cleared the error after this attempt: the next one resolves its params anew (semantics.md section 3, Attempt).
        boolean cleared = row != null && row.kind() == Kind.CLEARED && state.body(row).path("attempts").asInt() > newest;
        return switch (last.state()) {
            // Not in flight here and of the current claim: the intent was acknowledged and its call is being started.
            case PLANNED, PREPARED, DISPATCHED -> Decision.PENDING;
            case UNKNOWN -> throw new IllegalStateException("an unknown effect is healed above");
            case COMMITTED, VERIFIED -> applied(path, last);
            case NOT_APPLIED, ABANDONED, COMPENSATED -> {
                if (last.last != null && last.last.outputState() == OutputState.SAVED) {
                    yield Decision.DONE; // it had happened, the run went on, and later it was undone
                }
                Long retryIn = last.last == null ? null : last.last.retryInMillis();
                if (cleared) {
                    yield ready(step, path, place, newest + 1, null);
                }
                if (retryIn != null && last.last != null) {
                    long left = state.millisUntil(last.last.at(), retryIn);
                    yield left > 0
                            ? waiting("retry", path, receipt.id(), left)
                            : ready(step, path, place, newest + 1, receipt);
                }
                if (last.state() == EffectState.NOT_APPLIED) {
                    yield failed(path, Problems.of(last));
                }
                yield waiting("effect_abandoned", path, receipt.id(), null);
            }
        };
    }

    private Status applied(String path, Attempt last) {
        OutputState output = last.last == null ? OutputState.NONE : last.last.outputState();
        return switch (output) {
            case SAVED, NONE -> Decision.DONE;
            case LOST -> waiting("output_lost", path, last.receipt.id(), null);
            case UNUSABLE -> failed(path, Problems.of(last));
        };
    }

    /** Nothing but the remedies of {@code on_unknown} leads on from here. */
    private Status unknown(Step step, String path, Place place, List<Attempt> members) {
        if (inFlight.contains(path + Healing.VERIFY)) {
            return Decision.PENDING; // the question is under way
        }
        int attempt = state.attempts(path).getLast().receipt.attempt();
        Healing.Unknown unknown = Healing.of(step, sequence, path, scope(place, path, attempt), members);
        decision.unknowns.add(unknown);
        java.util.UUID receipt = unknown.newest().receipt.id();
        if (ending) {
            return waiting("effect_unknown", path, receipt, null);
        }
        switch (unknown.next()) {
            case Healing.Next.Ask ask when ask.dueInMillis() <= 0 -> decision.asks.add(unknown);
            case Healing.Next.Ask ask -> decision.waiting.add(new Waiting("effect_unknown", path, receipt, ask.dueInMillis(), "verify"));
            case Healing.Next.Again again when again.dueInMillis() <= 0 ->
                decision.ready.add(new Ready(step, path, scope(place, path, attempt + 1), attempt + 1, again.copyOf(), true));
            case Healing.Next.Again again -> decision.waiting.add(new Waiting("effect_unknown", path, receipt, again.dueInMillis(), "resend"));
            case Healing.Next.Person _ when repeats(step, path, place, members) -> {}
            case Healing.Next.Person person -> {
                escalate(step, path, unknown, person);
                decision.waiting.add(new Waiting("effect_unknown", path, receipt, person.dueInMillis(), "person"));
            }
            case Healing.Next.Fail() -> decision.blocked.add(
                    new Failure(path, Reasons.blocked(new Waiting("effect_unknown", path, receipt, null))));
        }
        return Decision.PENDING;
    }

    /** Where the author accepts repeats nobody is called while the retry policy has an attempt left. */
    private boolean repeats(Step step, String path, Place place, List<Attempt> members) {
        if (!EffectGuard.effect(step).repeats()) {
            return false;
        }
        Attempt newest = members.getLast();
        if (newest.last == null || newest.last.at() == null) {
            decision.waiting.add(new Waiting("retry", path, newest.receipt.id(), 0L)); // one move of a receipt in one commit
            return true;
        }
        List<Attempt> attempts = state.attempts(path);
        RunScope scope = scope(place, path, newest.receipt.attempt());
        JournalRow off = attempts.getLast() == newest ? Settlement.repeated(step, newest, attempts, scope, state, draft.transitionId) : null;
        if (off == null || off.retryInMillis() == null) {
            return false;
        }
        decision.repeats.add(off);
        decision.waiting.add(new Waiting("retry", path, newest.receipt.id(), off.retryInMillis()));
        return true;
    }

    /** Where a remedy was tried and has come to its end, a person is called, once. */
    private void escalate(Step step, String path, Healing.Unknown unknown, Healing.Next.Person person) {
        Attempt newest = unknown.newest();
        BlockRow row = state.row(path + Healing.ESCALATED);
        boolean told = row != null && state.body(row).path("effect_id").asString("").equals(newest.receipt.id().toString());
        if (told || (unknown.reads().reads() == 0 && unknown.resends() == 0)) {
            return;
        }
        ObjectNode body = NODES.objectNode().put("effect_id", newest.receipt.id().toString()).put("why", person.why());
        draft.row(path + Healing.ESCALATED, Kind.FRAME, body, null);
        draft.events.add(Events.effect("effect.escalated", state.key, newest.receipt, person.why()));
    }

    private Status ready(Step step, String path, Place place, int attempt, @Nullable ReceiptRow copyOf) {
        BlockRow before = state.row(path + Verifiers.BEFORE);
        if (before != null && before.dueInMillis() != null && state.body(before).path("attempt").asInt() == attempt) {
            long left = state.millisUntil(before.at(), before.dueInMillis());
            if (left > 0) {
                return waiting("before_read", path, null, left);
            }
        }
        BlockRow held = state.row(path + Holds.PATH);
        if (held != null && held.dueInMillis() != null && state.body(held).path("attempt").asInt() == attempt) {
            long left = state.millisUntil(held.at(), held.dueInMillis());
            if (left > 0) {
                decision.waiting.add(new Waiting("destination_held", path, null, left, "probe of " + state.body(held).path("destination").asString("")));
                return Decision.PENDING;
            }
        }
        decision.ready.add(new Ready(step, path, scope(place, path, attempt), attempt, copyOf, false));
        return Decision.PENDING;
    }

    // --- containers ------------------------------------------------------------------------------------------------------------

    private Status parallel(Parallel parallel, Place place) {
        boolean pending = false;
        int undoing = decision.undoing;
        List<Failure> failures = new ArrayList<>();
        for (List<Block> branch : parallel.branches()) {
            switch (blocks(branch, place)) {
                case Status.Done() -> {}
                case Status.Pending() -> pending = true;
                case Status.Failed(List<Failure> more) -> failures.addAll(more);
            }
        }
        return joined(pending, undoing, failures, place);
    }

    /** A join waits for every branch; where nothing catches the failure, nothing new starts beside it but what undoes. */
    private Status joined(boolean pending, int undoing, List<Failure> failures, Place place) {
        if (!failures.isEmpty() && !place.caught()) {
            decision.failing = true;
            return decision.undoing > undoing ? Decision.PENDING : new Status.Failed(failures);
        }
        if (pending) {
            return Decision.PENDING;
        }
        return failures.isEmpty() ? Decision.DONE : new Status.Failed(failures);
    }

    private Status router(Router router, Place place) {
        String path = place.prefix() + router.id();
        BlockRow row = state.row(path);
        if (row != null && row.kind() == Kind.ERROR) {
            return failed(path, Problems.parse(state.body(row)));
        }
        int route;
        if (row != null && row.kind() == Kind.FRAME) {
            route = state.body(row).path("route").asInt();
        } else {
            try {
                route = choose(router, scope(place, path, 0));
            } catch (EvaluationException e) {
                return error(path, e.problem());
            }
            draft.row(path, Kind.FRAME, NODES.objectNode().put("route", route), null);
        }
        return blocks(route < 0 ? router.otherwise() : router.routes().get(route).blocks(), place);
    }

    private static int choose(Router router, RunScope scope) throws EvaluationException {
        for (int i = 0; i < router.routes().size(); i++) {
            if (Conditions.holds(router.routes().get(i).condition().evaluate(scope))) {
                return i;
            }
        }
        return -1;
    }

    private Status tryCatch(TryCatch block, Place place) {
        Status outcome = blocks(block.tryBlock(), place.guarded());
        if (outcome instanceof Status.Failed failed) {
            Place catching = catching(failed, place);
            outcome = blocks(block.catchBlock(), block.finallyBlock().isEmpty() ? catching : catching.guarded());
        }
        if (outcome instanceof Status.Pending) {
            return outcome;
        }
        Status last = blocks(block.finallyBlock(), place);
        return last instanceof Status.Done ? outcome : last;
    }

    private static Place catching(Status.Failed failed, Place place) {
        Failure first = failed.failures().getFirst();
        return place.with("error", Problems.json(first.problem()).put("path", first.path()));
    }

    /** Where a catch block that has begun stands. */
    Place caught(TryCatch block, Place place) {
        return blocks(block.tryBlock(), place.guarded()) instanceof Status.Failed failed ? catching(failed, place) : place;
    }

    private Status forEach(ForEach block, Place place) {
        String path = place.prefix() + block.id();
        BlockRow row = state.row(path);
        if (row != null && row.kind() == Kind.OUTPUT) {
            return Decision.DONE;
        }
        if (row != null && row.kind() == Kind.ERROR) {
            return failed(path, Problems.parse(state.body(row)));
        }
        JsonNode items;
        if (row != null && row.kind() == Kind.FRAME) {
            items = state.body(row).path("items");
        } else {
            try {
                items = block.collection().resolve(scope(place, path, 0));
            } catch (EvaluationException e) {
                return error(path, e.problem());
            }
            if (!items.isArray()) {
                return error(path, Problem.of("COLLECTION_NOT_ARRAY", "the collection of " + path + " is not an array"));
            }
            if (items.size() > block.maxIterations()) {
                return error(
                        path,
                        Problem.of(
                                "COLLECTION_TOO_LARGE",
                                "the collection of " + path + " has " + items.size() + " items, max_iterations is "
                                        + block.maxIterations()));
            }
            draft.row(path, Kind.FRAME, NODES.objectNode().set("items", items), null);
        }
        int open = 0;
        int undoing = decision.undoing;
        List<Failure> failures = new ArrayList<>();
        for (int i = state.firstOpen(path); i < items.size() && open < block.concurrency(); i++) {
            Place iteration = place.iteration(path, i);
            if (!failures.isEmpty() && !begun(iteration.prefix())) {
                continue; // an item failed: what has begun runs to its end, nothing new begins
            }
            Place inside = iteration.with(block.itemVar(), items.get(i)).with("index", NODES.numberNode(i));
            switch (blocks(block.body(), inside)) {
                case Status.Done() -> {
                    if (i == state.firstOpen(path)) {
                        state.firstOpen(path, i + 1);
                    }
                }
                case Status.Pending() -> open++;
                case Status.Failed(List<Failure> more) -> failures.addAll(more);
            }
        }
        Status status = joined(open > 0, undoing, failures, place);
        if (status instanceof Status.Done) {
            draft.row(path, Kind.OUTPUT, NODES.objectNode().put("count", items.size()), null);
        }
        return status;
    }

    /** It has a row or a receipt, or a call is out for it that has neither: a read, a pure step. */
    private boolean begun(String iterationPrefix) {
        return state.begun(iterationPrefix) || inFlight.stream().anyMatch(path -> path.startsWith(iterationPrefix));
    }

    private Status loop(Loop block, Place place) {
        String path = place.prefix() + block.id();
        BlockRow row = state.row(path);
        if (row != null && row.kind() == Kind.OUTPUT) {
            return Decision.DONE;
        }
        for (int i = state.firstOpen(path); ; i++) {
            if (i >= block.maxIterations()) {
                return looped(path, i, true);
            }
            Place inside = place.iteration(path, i).with("index", NODES.numberNode(i));
            Place before = i == 0 ? place : place.iteration(path, i - 1);
            Boolean go = verdict(path + "[" + i + "]", block.condition(), before);
            if (go == null) {
                return failed(path + "[" + i + "]", Problems.parse(state.body(state.rowOrThrow(path + "[" + i + "]"))));
            }
            if (!go) {
                return looped(path, i, false);
            }
            Status status = blocks(block.body(), block.continueOnError() ? inside.guarded() : inside);
            if (status instanceof Status.Pending || (status instanceof Status.Failed && !block.continueOnError())) {
                return status;
            }
            if (block.breakOn() != null) {
                String breakPath = inside.prefix() + "$break";
                Boolean stop = verdict(breakPath, block.breakOn(), inside);
                if (stop == null) {
                    return failed(breakPath, Problems.parse(state.body(state.rowOrThrow(breakPath))));
                }
                if (stop) {
                    return looped(path, i + 1, false);
                }
            }
            if (block.pollInterval().isPositive()) {
                String pollPath = inside.prefix() + "$poll";
                BlockRow timer = state.row(pollPath);
                if (timer == null) {
                    draft.row(pollPath, Kind.TIMER, null, block.pollInterval().toMillis());
                    timer = state.rowOrThrow(pollPath);
                }
                long left = state.millisUntil(timer.at(), due(timer));
                if (left > 0) {
                    return waiting("timer", pollPath, null, left);
                }
            }
            state.firstOpen(path, i + 1);
        }
    }

    private Status looped(String path, int iterations, boolean exhausted) {
        draft.row(path, Kind.OUTPUT, NODES.objectNode().put("iterations", iterations).put("exhausted", exhausted), null);
        return Decision.DONE;
    }

    /** A recorded yes or no; null when it failed (the row then holds the error). */
    private @Nullable Boolean verdict(String path, Expression condition, Place place) {
        BlockRow row = state.row(path);
        if (row == null || row.kind() == Kind.CLEARED) {
            try {
                boolean holds = Conditions.holds(condition.evaluate(scope(place, path, 0)));
                draft.row(path, Kind.FRAME, NODES.objectNode().put("holds", holds), null);
                return holds;
            } catch (EvaluationException e) {
                error(path, e.problem());
                return null;
            }
        }
        return row.kind() == Kind.ERROR ? null : (Boolean) state.body(row).path("holds").asBoolean();
    }

    // --- small things ----------------------------------------------------------------------------------------------------------

    private Status waiting(String reason, String path, java.util.@Nullable UUID receipt, @Nullable Long dueInMillis) {
        decision.waiting.add(new Waiting(reason, path, receipt, dueInMillis));
        return Decision.PENDING;
    }

    private static Status failed(String path, Problem problem) {
        return new Status.Failed(List.of(new Failure(path, problem)));
    }

    /** Records the error at the block, so that it is never evaluated again by itself. */
    private Status error(String path, Problem problem) {
        draft.row(path, Kind.ERROR, Problems.json(problem), null);
        return failed(path, problem);
    }

    private static long due(BlockRow row) {
        return row.dueInMillis() == null ? 0 : row.dueInMillis();
    }
}
