package dev.waybill.engine;

import dev.waybill.definition.DestinationProfile;
import dev.waybill.definition.Guarantee;
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
import dev.waybill.engine.Engine.Loaded;
import dev.waybill.engine.RunState.Attempt;
import dev.waybill.store.BlockRow;
import dev.waybill.store.InstanceSnapshot;
import dev.waybill.store.ReceiptRow;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** A run as people look at it: outputs, the tree of blocks, what blocks a retry. Reads a snapshot; decides nothing. */
public final class RunInspection {
    private final Loaded loaded;
    private final RunState state;
    private final InstanceSnapshot snapshot;

    private RunInspection(Host host, InstanceSnapshot snapshot, Loaded loaded) {
        this.snapshot = snapshot;
        this.loaded = loaded;
        this.state = new RunState(
                host, loaded.sequence(), snapshot, EngineJson.read(snapshot.instance().context()), EngineJson::read);
    }

    static RunInspection of(Host host, InstanceSnapshot snapshot, Loaded loaded) {
        return new RunInspection(host, snapshot, loaded);
    }

    public InstanceSnapshot snapshot() {
        return snapshot;
    }

    public Sequence sequence() {
        return loaded.sequence();
    }

    /** Outputs by block path, in the order the document names the blocks and iterations ran. */
    public Map<String, JsonNode> outputs() {
        Map<String, JsonNode> outputs = new LinkedHashMap<>();
        Set<String> paths = new java.util.LinkedHashSet<>();
        snapshot.receipts().forEach(receipt -> paths.add(receipt.path()));
        snapshot.rows().forEach(row -> {
            if (row.kind() == BlockRow.Kind.OUTPUT) {
                paths.add(row.path());
            }
        });
        for (String path : paths) {
            JsonNode output = state.output(path);
            if (output != null) {
                outputs.put(path, output);
            }
        }
        return outputs;
    }

    /** Receipts nobody knows the outcome of: while there are any, nothing may be run again. */
    public List<UUID> unresolved() {
        List<UUID> unresolved = new ArrayList<>();
        for (List<Attempt> attempts : state.allEffects()) {
            for (Attempt attempt : attempts) {
                if (attempt.state().unresolved()) {
                    unresolved.add(attempt.receipt.id());
                }
            }
        }
        return unresolved;
    }

    /** Unknown effects with what the engine will do about them. */
    public List<NextStep> healing() {
        boolean ended = snapshot.instance().state().terminal();
        return unknowns().stream().map(unknown -> NextStep.of(unknown, ended)).toList();
    }

    /**
     * What is promised about the effect of a receipt; null when its step cannot be found in the run.
     *
     * @param providerReceiptId the provider's own id, where it is known
     */
    public @Nullable EffectContract contract(ReceiptRow receipt, @Nullable String providerReceiptId) {
        // Walking to the step decides on the way: that must not touch what the rest of the inspection shows.
        RunState walked = new RunState(state.host(), loaded.sequence(), snapshot, state.context, EngineJson::read);
        Decision.Ready sent = Evaluator.find(loaded.sequence(), loaded.stepIds(), walked, receipt.path());
        if (sent == null) {
            return null;
        }
        DestinationProfile profile = EffectGuard.effect(sent.step()).profile();
        JsonNode labels = receipt.labels() == null ? JsonNodeFactory.instance.objectNode() : EngineJson.read(receipt.labels());
        String link = profile == null || profile.search() == null
                ? null
                : profile.search().of(name -> switch (name) {
                    case "key" -> receipt.idempotencyKey();
                    case "effect_id" -> receipt.id().toString();
                    case "provider_receipt_id" -> providerReceiptId;
                    default -> Settlement.scalar(labels.path(name.substring("labels.".length())));
                });
        // What the version was validated with may not be what this effect was dispatched under.
        Guarantee guarantee = Guarantee.of(true, EffectGuard.effect(sent.step()));
        return new EffectContract(guarantee, profile == null ? null : profile.name(), link);
    }

    /** The chain a receipt belongs to, or null when nothing of it is unknown. */
    Healing.@Nullable Unknown unknown(UUID receipt) {
        return unknowns().stream()
                .filter(unknown -> unknown.members().stream().anyMatch(member -> member.receipt.id().equals(receipt)))
                .findFirst()
                .orElse(null);
    }

    private List<Healing.Unknown> unknowns() {
        return Evaluator.decide(loaded.sequence(), loaded.stepIds(), state, new Draft(new UUID(0, 0), state), Set.of()).unknowns;
    }

    /** Receipts of the effect at {@code path} that are unknown, oldest first: one effect, resolved as one (semantics.md section 5). */
    public List<UUID> chain(String path) {
        return Healing.members(state.attempts(path)).stream().map(member -> member.receipt.id()).toList();
    }

    /** Whether an attempt at {@code path} is under way. */
    public boolean inFlight(String path) {
        Attempt last = state.lastAttempt(path);
        return last != null && last.state() == dev.waybill.model.EffectState.DISPATCHED;
    }

    /** Where the run failed (uncaught), or where an abandoned effect waits for a person. */
    public List<String> stoppedAt() {
        Decision decision = Evaluator.decide(
                loaded.sequence(), loaded.stepIds(), state, new Draft(new UUID(0, 0), state), Set.of());
        List<String> paths = new ArrayList<>();
        if (decision.status instanceof Status.Failed(List<Failure> failures)) {
            failures.forEach(failure -> paths.add(failure.path()));
        }
        decision.waiting.stream()
                .filter(waiting -> waiting.reason().equals("effect_abandoned"))
                .forEach(waiting -> paths.add(waiting.path()));
        return paths;
    }

    /**
     * What undoing the sagas of a stopped run again would come to.
     *
     * @param anything whether there is something that happened and is not undone
     * @param again    where a compensation failed for good, or waits for a person: these run again
     */
    public record Compensation(boolean anything, List<String> again) {}

    /** What could be undone now, of a run that has failed or was cancelled (case A20). */
    public Compensation compensation() {
        RunState walked = new RunState(state.host(), loaded.sequence(), snapshot, state.context, EngineJson::read);
        Draft draft = new Draft(new UUID(0, 0), walked);
        if (!Unwinding.active(walked)) {
            Unwinding.begin(draft);
        }
        Decision decision = Unwinding.decide(loaded.sequence(), loaded.stepIds(), walked, draft, Set.of(), true);
        boolean anything = !(decision.status instanceof Status.Done) || !draft.settles.isEmpty() || !decision.notUndone.isEmpty();
        return new Compensation(anything, List.copyOf(decision.notUndone));
    }

    /** The row that lets a run that has ended undo, and end again as it did. */
    public BlockRow undo(UUID transition) {
        ObjectNode body = JsonNodeFactory.instance.objectNode().put("ends", snapshot.instance().state().wire());
        String outcome = snapshot.instance().outcome();
        JsonNode error = outcome == null ? null : EngineJson.read(outcome).get("error");
        if (error != null) {
            body.set("error", error);
        }
        return new BlockRow(
                Unwinding.PATH, state.nextN(Unwinding.PATH), BlockRow.Kind.FRAME, EngineJson.write(body), null, transition, null);
    }

    /** Whether what stopped here has been undone, or the whole run has: it cannot go on from there. */
    public boolean undone(List<String> stopped) {
        return Unwinding.active(state)
                || state.allRows().stream().anyMatch(row -> row.kind() == BlockRow.Kind.FRAME
                        && loaded.sagas().all().stream().anyMatch(at -> Sagas.step(row.path()).equals(at.saga().id()))
                        && stopped.contains(state.body(row).path("path").asString("")));
    }

    /** Whether a person wrote this attempt off. */
    public boolean abandoned(String path, int attempt) {
        return state.attempts(path).stream()
                .anyMatch(one -> one.receipt.attempt() == attempt && one.state() == dev.waybill.model.EffectState.ABANDONED);
    }

    /** The rows that let a stopped block run again: what came before does not count. */
    public BlockRow clear(String path, UUID transition) {
        Attempt last = state.lastAttempt(path);
        ObjectNode body = JsonNodeFactory.instance.objectNode();
        body.put("attempts", last == null ? 0 : last.receipt.attempt() + 1);
        return new BlockRow(path, state.nextN(path), BlockRow.Kind.CLEARED, EngineJson.write(body), null, transition, null);
    }

    /** Forgets takeovers and deaths: a person has looked at the crash loop. */
    public BlockRow clearCrashLoop(UUID transition) {
        ObjectNode body = JsonNodeFactory.instance.objectNode();
        body.put("takeovers", snapshot.instance().takeovers());
        body.put("deaths", 0);
        return new BlockRow(
                Turn.RUN_PATH, state.nextN(Turn.RUN_PATH), BlockRow.Kind.FRAME, EngineJson.write(body), null, transition, null);
    }

    public int nextRow(String path) {
        return state.nextN(path);
    }

    /**
     * One block with what became of it.
     *
     * @param type   step, parallel, branch, router, try_catch, loop, for_each, iteration
     * @param status pending, running, waiting, completed, failed
     */
    public record Node(String id, String path, String type, String status, @Nullable JsonNode output, @Nullable JsonNode detail, List<Node> children) {}

    public List<Node> tree() {
        return nodes(loaded.sequence().blocks(), "");
    }

    private List<Node> nodes(List<Block> blocks, String prefix) {
        List<Node> nodes = new ArrayList<>();
        for (Block block : blocks) {
            nodes.add(node(block, prefix));
        }
        return nodes;
    }

    private Node node(Block block, String prefix) {
        String path = prefix + block.id();
        return switch (block) {
            case Step _ -> step(block.id(), path);
            case Parallel parallel -> {
                List<Node> branches = new ArrayList<>();
                for (int i = 0; i < parallel.branches().size(); i++) {
                    branches.add(container("branch " + i, path + "#" + i, "branch", nodes(parallel.branches().get(i), prefix)));
                }
                yield container(block.id(), path, "parallel", branches);
            }
            case Router router -> {
                BlockRow row = state.row(path);
                JsonNode route = row == null ? null : state.body(row).get("route");
                List<Block> taken = route == null
                        ? List.of()
                        : route.asInt() < 0 ? router.otherwise() : router.routes().get(route.asInt()).blocks();
                Node node = container(block.id(), path, "router", nodes(taken, prefix));
                yield route == null ? node : new Node(node.id, path, node.type, taken.isEmpty() ? "completed" : node.status, null, state.body(state.rowOrThrow(path)), node.children);
            }
            case TryCatch tryCatch -> {
                List<Node> children = new ArrayList<>();
                children.add(container("try", path + "#try", "branch", nodes(tryCatch.tryBlock(), prefix)));
                children.add(container("catch", path + "#catch", "branch", nodes(tryCatch.catchBlock(), prefix)));
                children.add(container("finally", path + "#finally", "branch", nodes(tryCatch.finallyBlock(), prefix)));
                yield container(block.id(), path, "try_catch", children);
            }
            case Saga saga -> saga(saga, path, prefix);
            case ForEach forEach -> iterations(block.id(), path, "for_each", forEach.body());
            case Loop loop -> iterations(block.id(), path, "loop", loop.body());
        };
    }

    private Node saga(Saga saga, String path, String prefix) {
        List<Node> steps = new ArrayList<>();
        for (SagaStep step : saga.steps()) {
            List<Block> blocks = step.compensation() == null ? List.of(step.action()) : List.of(step.action(), step.compensation());
            Node both = container(step.id(), path + "#" + step.id(), "branch", nodes(blocks, prefix));
            boolean forward = blocks.size() == 1 || both.children.getLast().status.equals("pending");
            steps.add(forward ? new Node(both.id, both.path, both.type, both.children.getFirst().status, null, null, both.children) : both);
        }
        BlockRow row = state.row(path);
        Node all = container(saga.id(), path, "saga", steps);
        return row == null || row.kind() != BlockRow.Kind.FRAME
                ? all
                : new Node(all.id, path, all.type, all.status.equals("completed") ? "failed" : all.status, null, state.body(row), all.children);
    }

    private Node iterations(String id, String path, String type, List<Block> body) {
        List<Node> iterations = new ArrayList<>();
        for (int i = 0; state.begun(path + "[" + i + "]/"); i++) {
            String prefix = path + "[" + i + "]/";
            iterations.add(container(path + "[" + i + "]", prefix, "iteration", nodes(body, prefix)));
        }
        BlockRow row = state.row(path);
        String status = row != null && row.kind() == BlockRow.Kind.OUTPUT
                ? "completed"
                : row != null && row.kind() == BlockRow.Kind.ERROR ? "failed" : status(iterations, row == null);
        return new Node(id, path, type, status, state.output(path), null, iterations);
    }

    private Node container(String id, String path, String type, List<Node> children) {
        return new Node(id, path, type, status(children, false), null, null, children);
    }

    private static String status(List<Node> children, boolean untouched) {
        List<String> seen = children.stream().map(Node::status).distinct().toList();
        for (String worst : List.of("waiting", "running", "failed")) {
            if (seen.contains(worst)) {
                return worst;
            }
        }
        if (untouched || seen.stream().allMatch("pending"::equals)) {
            return children.isEmpty() && !untouched ? "completed" : "pending";
        }
        return seen.contains("pending") ? "running" : "completed";
    }

    private Node step(String id, String path) {
        BlockRow row = state.row(path);
        List<Attempt> attempts = state.attempts(path);
        Attempt last = attempts.isEmpty() ? null : RunState.decisive(attempts);
        JsonNode output = state.output(path);
        if (row != null && row.kind() == BlockRow.Kind.ERROR) {
            return new Node(id, path, "step", "failed", null, state.body(row), List.of());
        }
        if (output != null || (row != null && row.kind() == BlockRow.Kind.OUTPUT)) {
            return new Node(id, path, "step", "completed", output, null, List.of());
        }
        if (last != null) {
            ObjectNode detail = JsonNodeFactory.instance.objectNode();
            detail.put("effect_id", last.receipt.id().toString());
            detail.put("effect_state", last.state().wire());
            detail.put("attempt", last.receipt.attempt());
            String status = switch (last.state()) {
                case DISPATCHED, PREPARED, PLANNED -> "running";
                default -> "waiting";
            };
            return new Node(id, path, "step", status, null, detail, List.of());
        }
        String status = row == null || row.kind() == BlockRow.Kind.CLEARED ? "pending" : "waiting";
        return new Node(id, path, "step", status, null, null, List.of());
    }
}
