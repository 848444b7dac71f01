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
import dev.waybill.engine.RunState.Attempt;
import dev.waybill.model.EffectState;
import dev.waybill.store.BlockRow;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.stream.Stream;

/**
 * Which steps of a sequence version belong to which saga. Block ids are unique in a document, so the last part of a path names its step
 * and the parts before it the iterations it stands in.
 *
 * @param all           every saga, outer before inner
 * @param compensations ids of all steps inside compensations
 */
record Sagas(List<At> all, Set<String> compensations) {

    /**
     * @param depth   how many loops are around it
     * @param actions ids of the steps in its actions, without what compensates inside them
     */
    record At(Saga saga, int depth, Set<String> actions) {
        /** The iteration prefix of the saga that a path inside it belongs to. */
        private String prefix(String path) {
            int end = 0;
            for (int i = 0; i < depth; i++) {
                end = path.indexOf('/', end) + 1;
            }
            return path.substring(0, end);
        }
    }

    static Sagas of(Sequence sequence) {
        List<At> all = new ArrayList<>();
        Set<String> compensations = new HashSet<>();
        collect(sequence.blocks(), 0, all, compensations);
        return new Sagas(List.copyOf(all), Set.copyOf(compensations));
    }

    private static void collect(List<Block> blocks, int depth, List<At> all, Set<String> compensations) {
        for (Block block : blocks) {
            if (block instanceof Saga saga) {
                Set<String> actions = new HashSet<>();
                saga.steps().forEach(step -> actions.addAll(actions(step.action())));
                all.add(new At(saga, depth, actions));
                saga.steps().stream().map(SagaStep::compensation).filter(java.util.Objects::nonNull).forEach(it -> compensations.addAll(steps(it)));
            }
            int inside = block instanceof ForEach || block instanceof Loop ? depth + 1 : depth;
            children(block, true).forEach(child -> collect(List.of(child), inside, all, compensations));
        }
    }

    /** Ids of all steps in a block. */
    static Set<String> steps(Block block) {
        Set<String> ids = new HashSet<>();
        steps(block, true, ids);
        return ids;
    }

    /** Ids of the steps that a block does forward. */
    static Set<String> actions(Block block) {
        Set<String> ids = new HashSet<>();
        steps(block, false, ids);
        return ids;
    }

    private static void steps(Block block, boolean undoing, Set<String> ids) {
        if (block instanceof Step step) {
            ids.add(step.id());
        }
        children(block, undoing).forEach(child -> steps(child, undoing, ids));
    }

    private static Stream<Block> children(Block block, boolean undoing) {
        return switch (block) {
            case Step _ -> Stream.of();
            case Parallel parallel -> parallel.branches().stream().flatMap(List::stream);
            case Router router -> Stream.concat(router.routes().stream().flatMap(it -> it.blocks().stream()), router.otherwise().stream());
            case TryCatch it -> Stream.of(it.tryBlock(), it.catchBlock(), it.finallyBlock()).flatMap(List::stream);
            case ForEach forEach -> forEach.body().stream();
            case Loop loop -> loop.body().stream();
            case Saga saga -> saga.steps().stream().flatMap(it -> undoing ? Stream.of(it.action(), it.compensation()) : Stream.of(it.action()))
                    .filter(java.util.Objects::nonNull);
        };
    }

    /** The id of the step at a path. */
    static String step(String path) {
        return path.substring(path.lastIndexOf('/') + 1);
    }

    /** Whether a path is that of one of these steps inside this iteration. */
    static boolean within(String path, String prefix, Set<String> steps) {
        return path.startsWith(prefix) && steps.contains(step(path));
    }

    /** Whether a saga has begun and not come to its end: only such a one is undone when its run is cancelled. */
    boolean unfinished(RunState state) {
        boolean[] any = {false};
        each(state, (at, attempt) -> any[0] |= !finished(state, at, attempt.receipt.path()));
        for (BlockRow row : state.allRows()) {
            for (At at : all) {
                any[0] |= at.actions.contains(step(row.path())) && !finished(state, at, row.path());
            }
        }
        return any[0];
    }

    private void each(RunState state, BiConsumer<At, Attempt> consumer) {
        if (all.isEmpty()) {
            return;
        }
        for (List<Attempt> attempts : state.allEffects()) {
            String step = step(attempts.getFirst().receipt.path());
            for (At at : all) {
                if (at.actions.contains(step)) {
                    attempts.forEach(attempt -> consumer.accept(at, attempt));
                }
            }
        }
    }

    private static boolean finished(RunState state, At at, String path) {
        BlockRow row = state.row(at.prefix(path) + at.saga.id());
        return row != null && row.kind() == BlockRow.Kind.OUTPUT;
    }

    /** Effects that happened in a saga that was to be undone, and that stand: the residuals beside what is unknown. */
    Set<Attempt> standing(RunState state) {
        Set<Attempt> standing = new java.util.LinkedHashSet<>();
        each(state, (at, attempt) -> {
            BlockRow row = state.row(at.prefix(attempt.receipt.path()) + at.saga.id());
            boolean undoing = row != null && row.kind() == BlockRow.Kind.FRAME || row == null && Unwinding.active(state);
            if (undoing && proven(attempt)) {
                standing.add(attempt);
            }
        });
        return standing;
    }

    static boolean proven(Attempt attempt) {
        return attempt.state() == EffectState.COMMITTED || attempt.state() == EffectState.VERIFIED;
    }
}
