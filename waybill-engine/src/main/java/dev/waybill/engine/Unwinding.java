package dev.waybill.engine;

import dev.waybill.definition.Sequence;
import dev.waybill.definition.Sequence.Block;
import dev.waybill.definition.Sequence.ForEach;
import dev.waybill.definition.Sequence.Loop;
import dev.waybill.definition.Sequence.Parallel;
import dev.waybill.definition.Sequence.Router;
import dev.waybill.definition.Sequence.Saga;
import dev.waybill.definition.Sequence.SagaStep;
import dev.waybill.definition.Sequence.Step;
import dev.waybill.definition.Sequence.TryCatch;
import dev.waybill.engine.Decision.Failure;
import dev.waybill.engine.Decision.Status;
import dev.waybill.engine.Decision.Waiting;
import dev.waybill.engine.RunState.Attempt;
import dev.waybill.model.EffectState;
import dev.waybill.store.BlockRow;
import dev.waybill.store.BlockRow.Kind;
import dev.waybill.store.JournalRow;
import dev.waybill.store.JournalRow.OutputState;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * Undoes what sagas did, in reverse, and only what is proven (semantics.md section 8, case A20): an action with an unknown effect is left
 * alone, for refunding what may not have happened pays out. A compensation is a step like any other, with its own receipt; once that one
 * says that it happened, the receipt that it undoes becomes compensated in the same commit. What cannot be undone does not keep the rest
 * from being undone. Pure, as the {@link Evaluator} whose blocks it asks.
 */
final class Unwinding {
    /** The run only undoes from here on, whatever its blocks say; the body tells how it ends: {@code {ends, error}}. */
    static final String PATH = "$undo";

    private static final Set<String> PERSONS = Set.of("effect_unknown", "effect_abandoned", "output_lost");

    /** How far an undoing has come; ordered from the best to what others must wait for. */
    enum Undone {
        /** All is undone that can be. */
        DONE,
        /** The rest waits for a person or for knowledge; what stands before it is undone all the same. */
        STUCK,
        /** Something runs, may run, or is due later. */
        PENDING;

        Undone and(Undone other) {
            return compareTo(other) >= 0 ? this : other;
        }
    }

    private final Evaluator evaluator;
    private final RunState state;
    private final Draft draft;
    private final Decision decision;
    private final Set<String> inFlight;
    /** Looks at everything at once, to say what would be done. */
    private final boolean survey;
    /** The whole run is undone. */
    private final boolean ending;

    Unwinding(Evaluator evaluator, RunState state, Draft draft, Decision decision, Set<String> inFlight, boolean ending, boolean survey) {
        this.ending = ending;
        this.evaluator = evaluator;
        this.state = state;
        this.draft = draft;
        this.decision = decision;
        this.inFlight = inFlight;
        this.survey = survey;
    }

    /** Whether the run does nothing but undo any more. */
    static boolean active(RunState state) {
        return state.row(PATH) != null;
    }

    /** From here on the run only undoes, and is then cancelled. */
    static void begin(Draft draft) {
        draft.row(PATH, Kind.FRAME, JsonNodeFactory.instance.objectNode().put("ends", "cancelled"), null);
    }

    /** What the undoing of a run does next; Done when nothing is left that it could do. */
    static Decision decide(Sequence sequence, List<String> stepIds, RunState state, Draft draft, Set<String> inFlight, boolean survey) {
        Evaluator evaluator = Evaluator.unwinding(sequence, stepIds, state, draft, inFlight, survey);
        Decision decision = evaluator.decision();
        Undone undone = evaluator.unwinding().walk(sequence.blocks(), Place.TOP);
        decision.status = undone == Undone.PENDING ? Decision.PENDING : Decision.DONE;
        decision.blocked.clear(); // they are residuals
        return decision;
    }

    // --- the whole run ---------------------------------------------------------------------------------------------------------

    private Undone walk(List<Block> blocks, Place place) {
        Undone all = Undone.DONE;
        for (Block block : blocks.reversed()) {
            all = all.and(walk(block, place));
        }
        return all;
    }

    private Undone walk(Block block, Place place) {
        String path = place.prefix() + block.id();
        BlockRow row = state.row(path);
        return switch (block) {
            case Step _ -> Undone.DONE;
            case Parallel parallel ->
                parallel.branches().stream().map(branch -> walk(branch, place)).reduce(Undone.DONE, Undone::and);
            case Router router -> {
                int route = row == null || row.kind() != Kind.FRAME ? -2 : state.body(row).path("route").asInt();
                yield route == -2 ? Undone.DONE : walk(route < 0 ? router.otherwise() : router.routes().get(route).blocks(), place);
            }
            case TryCatch tryCatch -> {
                Undone last = walk(tryCatch.finallyBlock(), place);
                Undone caught = begun(tryCatch.catchBlock(), place.prefix())
                        ? walk(tryCatch.catchBlock(), evaluator.caught(tryCatch, place))
                        : Undone.DONE;
                yield last.and(caught).and(walk(tryCatch.tryBlock(), place));
            }
            // Of a loop that has come to its end the items are not at hand any more; its sagas have ended too.
            case ForEach forEach -> {
                JsonNode items = row == null || row.kind() != Kind.FRAME ? JsonNodeFactory.instance.arrayNode() : state.body(row).path("items");
                Undone all = Undone.DONE;
                for (int i = items.size() - 1; i >= 0; i--) {
                    Place inside = place.iteration(path, i).with(forEach.itemVar(), items.get(i)).with("index", JsonNodeFactory.instance.numberNode(i));
                    all = state.begun(inside.prefix()) ? all.and(walk(forEach.body(), inside)) : all;
                }
                yield all;
            }
            case Loop loop -> {
                Undone all = Undone.DONE;
                for (int i = 0; (row == null || row.kind() != Kind.OUTPUT) && state.begun(path + "[" + i + "]/"); i++) {
                    all = all.and(walk(loop.body(), place.iteration(path, i).with("index", JsonNodeFactory.instance.numberNode(i))));
                }
                yield all;
            }
            case Saga saga -> row != null && row.kind() == Kind.OUTPUT ? Undone.DONE : undo(saga, place, true);
        };
    }

    private boolean begun(List<Block> blocks, String prefix) {
        return blocks.stream().map(Sagas::steps).anyMatch(steps -> state.allEffects().stream()
                .anyMatch(attempts -> Sagas.within(attempts.getFirst().receipt.path(), prefix, steps)));
    }

    // --- one saga --------------------------------------------------------------------------------------------------------------

    /**
     * A saga, forward and back.
     *
     * @param sought the path of an effect that is looked for, or null
     */
    Status saga(Saga saga, Place place, @Nullable String sought) {
        String path = place.prefix() + saga.id();
        BlockRow row = state.row(path);
        if (sought != null) {
            seek(saga, place, Sagas.step(sought));
        }
        if (row != null && row.kind() == Kind.OUTPUT) {
            return !evaluator.found() ? Decision.DONE : Decision.PENDING;
        }
        if (row == null || row.kind() != Kind.FRAME) {
            for (SagaStep step : saga.steps()) {
                Status status = evaluator.block(step.action(), place.guarded());
                if (status instanceof Status.Failed(List<Failure> failures)) {
                    return undo(saga, place, sought, failures.getFirst());
                }
                if (!(status instanceof Status.Done)) {
                    return status;
                }
            }
            draft.row(path, Kind.OUTPUT, JsonNodeFactory.instance.objectNode().put("steps", saga.steps().size()), null);
            return Decision.DONE;
        }
        JsonNode why = state.body(row);
        return evaluator.found() ? Decision.PENDING : undone(saga, place, sought, new Failure(why.path("path").asString(), Problems.parse(why.path("error"))));
    }

    /** An action failed for good: from here on the saga only undoes, and then fails with it. */
    private Status undo(Saga saga, Place place, @Nullable String sought, Failure why) {
        draft.row(place.prefix() + saga.id(), Kind.FRAME, JsonNodeFactory.instance.objectNode().put("path", why.path()).set("error", Problems.json(why.problem())), null);
        return undone(saga, place, sought, why);
    }

    private Status undone(Saga saga, Place place, @Nullable String sought, Failure why) {
        return switch (ending || sought != null ? Undone.DONE : undo(saga, place, false)) {
            case DONE -> new Status.Failed(List.of(why));
            case STUCK -> Decision.PENDING;
            case PENDING -> {
                decision.undoing++;
                yield Decision.PENDING;
            }
        };
    }

    /** What was dispatched in a saga is found whether it is being undone by now or not. */
    private void seek(Saga saga, Place place, String id) {
        for (SagaStep step : saga.steps()) {
            if (Sagas.steps(step.action()).contains(id)) {
                evaluator.block(step.action(), place.guarded());
            } else if (step.compensation() != null && Sagas.steps(step.compensation()).contains(id)) {
                evaluator.block(step.compensation(), inside(step, step.compensation(), place));
            }
        }
    }

    /** @param inner also undoes sagas inside its actions that did not come to their end */
    Undone undo(Saga saga, Place place, boolean inner) {
        List<Failure> blocked = new ArrayList<>();
        Undone all = Undone.DONE;
        for (SagaStep step : saga.steps().reversed()) {
            if (inner) {
                all = all.and(walk(step.action(), place));
            }
            all = all == Undone.PENDING && !survey ? all : all.and(undo(step, place, blocked));
            if (all == Undone.PENDING && !survey) {
                return all;
            }
        }
        decision.blocked.addAll(blocked);
        return all;
    }

    private Undone undo(SagaStep step, Place place, List<Failure> blocked) {
        Set<String> steps = Sagas.actions(step.action());
        List<Attempt> effects = effects(steps, place.prefix());
        List<Attempt> proven = effects.stream().filter(Sagas::proven).toList();
        boolean unknown = effects.stream().anyMatch(it -> it.state().unresolved());
        boolean did = effects.isEmpty() ? hasOutput(steps, place.prefix()) : !proven.isEmpty() && !unknown;
        return !did || step.compensation() == null ? Undone.DONE : compensate(step.compensation(), place, effects, proven, blocked);
    }

    private Undone compensate(Block compensation, Place place, List<Attempt> effects, List<Attempt> proven, List<Failure> blocked) {
        int ready = decision.ready.size();
        int waiting = decision.waiting.size();
        int questions = decision.asks.size() + decision.repeats.size();
        int stops = decision.blocked.size();
        Status status = evaluator.block(compensation, inside(compensation, place, effects));
        List<Failure> stopped = List.copyOf(decision.blocked.subList(stops, decision.blocked.size()));
        decision.blocked.subList(stops, decision.blocked.size()).clear();
        List<Waiting> waits = decision.waiting.subList(waiting, decision.waiting.size());
        Set<String> steps = Sagas.steps(compensation);
        List<Attempt> undoing = effects(steps, place.prefix());
        if (status instanceof Status.Pending
                && (decision.ready.size() > ready
                        || decision.asks.size() + decision.repeats.size() > questions
                        || waits.stream().anyMatch(it -> !PERSONS.contains(it.reason()))
                        || inFlight.stream().anyMatch(path -> Sagas.within(path, place.prefix(), steps))
                        || undoing.stream().anyMatch(it -> it.state().unresolved() && it.state() != EffectState.UNKNOWN))) {
            return Undone.PENDING;
        }
        boolean happened = undoing.stream().anyMatch(Sagas::proven) && undoing.stream().noneMatch(it -> it.state().unresolved());
        if (happened && (status instanceof Status.Done || compensation instanceof Step)) {
            proven.forEach(attempt -> compensated(attempt, undoing));
            return Undone.DONE;
        }
        blocked.addAll(stopped);
        stopped.forEach(failure -> decision.notUndone.add(failure.path()));
        waits.stream().filter(it -> it.reason().equals("effect_abandoned")).forEach(it -> decision.notUndone.add(it.path()));
        return switch (status) {
            case Status.Done() -> Undone.DONE;
            case Status.Failed(List<Failure> failures) -> {
                failures.forEach(failure -> decision.notUndone.add(failure.path()));
                yield Undone.DONE;
            }
            case Status.Pending() -> Undone.STUCK;
        };
    }

    /** Where a compensation stands: it sees what its saga sees, and what it undoes. */
    Place inside(SagaStep step, Block compensation, Place place) {
        return inside(compensation, place, effects(Sagas.actions(step.action()), place.prefix()));
    }

    private Place inside(Block compensation, Place place, List<Attempt> effects) {
        String path = place.prefix() + compensation.id();
        // Of a chain the answered one; without a receipt the place itself.
        Attempt undone = effects.stream()
                .filter(it -> it.state() == EffectState.COMMITTED)
                .findFirst()
                .or(() -> effects.stream().filter(it -> Sagas.proven(it) || it.state() == EffectState.COMPENSATED).findFirst())
                .orElse(null);
        String what = undone == null ? state.key.id() + ":" + path : undone.receipt.id().toString();
        ObjectNode undoes = JsonNodeFactory.instance.objectNode().put("key", "compensate:" + what).put("path", path);
        return place.guarded().with(Sequence.UNDOES, undoes);
    }

    private List<Attempt> effects(Set<String> steps, String prefix) {
        return state.allEffects().stream()
                .filter(attempts -> Sagas.within(attempts.getFirst().receipt.path(), prefix, steps))
                .flatMap(List::stream)
                .toList();
    }

    /** A step that was skipped has an output too: null. */
    private boolean hasOutput(Set<String> steps, String prefix) {
        return state.allRows().stream()
                .anyMatch(row -> row.kind() == Kind.OUTPUT && Sagas.within(row.path(), prefix, steps) && !state.body(row).isNull());
    }

    private void compensated(Attempt attempt, List<Attempt> undoing) {
        @Nullable JournalRow last = attempt.last;
        String by = undoing.stream().filter(Sagas::proven).map(it -> it.receipt.id().toString()).reduce((a, b) -> a + ", " + b).orElse("");
        String output = last == null ? null : last.output();
        draft.settle(new JournalRow(
                attempt.receipt.path(), attempt.receipt.attempt(), attempt.nextN(), attempt.state(), EffectState.COMPENSATED, "compensation",
                state.claim, draft.transitionId, null, "compensated", "undone by effect " + by,
                last == null ? null : last.providerReceiptId(), null, true, null, output,
                output == null ? OutputState.NONE : OutputState.SAVED, null, null));
        draft.events.add(Events.effect("effect.resolved", state.key, attempt.receipt, EffectState.COMPENSATED.wire()));
    }
}
