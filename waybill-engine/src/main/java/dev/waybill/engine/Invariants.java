package dev.waybill.engine;

import dev.waybill.definition.EvaluationException;
import dev.waybill.definition.Invariant;
import dev.waybill.definition.Invariant.EffectAtMostOnce;
import dev.waybill.definition.Invariant.NoUnknownEffects;
import dev.waybill.definition.Invariant.OutputPathPresent;
import dev.waybill.definition.Invariant.TerminalStateIn;
import dev.waybill.definition.Keys;
import dev.waybill.engine.Decision.Ready;
import dev.waybill.engine.RunState.Attempt;
import dev.waybill.json.CanonicalJson;
import dev.waybill.json.Json;
import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceState;
import dev.waybill.model.Problem;
import dev.waybill.store.BlockRow;
import dev.waybill.store.InvariantRows;
import dev.waybill.store.InvariantRows.Guard;
import dev.waybill.store.InvariantRows.Holder;
import dev.waybill.store.InvariantRows.Result;
import dev.waybill.store.JournalRow;
import dev.waybill.store.ReceiptRow;
import dev.waybill.store.Release;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** What the invariants of a sequence version ask of a run (semantics.md section 6). Pure; the database decides who holds a content. */
record Invariants(List<Invariant> all, List<String> stepIds) {
    /** A second effect with the same content: the run fails with it, no catch and no retry sees it (seed 000). */
    static final String VIOLATION = "INVARIANT_VIOLATION";

    private static final Set<EffectState> MAY_HAVE_HAPPENED =
            Set.of(EffectState.DISPATCHED, EffectState.UNKNOWN, EffectState.COMMITTED, EffectState.VERIFIED);

    boolean none() {
        return all.isEmpty();
    }

    /** What this intent must hold alone. */
    List<Guard> guards(Ready ready, ReceiptRow receipt) throws EvaluationException {
        List<Guard> guards = new ArrayList<>();
        for (Invariant invariant : all) {
            if (invariant.commitGuard() && invariant.rule() instanceof EffectAtMostOnce once && once.kind() == receipt.kind()) {
                boolean tenant = once.key() != null;
                String content = once.key() == null
                        ? receipt.requestSha256()
                        : CanonicalJson.sha256Hex(Json.NODES.stringNode(Keys.resolve(once.key(), ready.scope())));
                guards.add(new Guard(
                        ready.path(), receipt.attempt(), invariant.name(), tenant ? "tenant" : "execution:" + receipt.execution(),
                        receipt.kind().wire(), receipt.destinationFingerprint(), content,
                        once.window() == null ? null : (Long) once.window().toMillis()));
            }
        }
        return guards;
    }

    /** Another effect holds the content. */
    static Problem violation(String path, Holder holder) {
        ObjectNode details = JsonNodeFactory.instance.objectNode();
        details.put("invariant", holder.invariant());
        details.put("block", path);
        details.set("holder", json(holder));
        return new Problem(
                VIOLATION,
                "invariant " + holder.invariant() + ": the effect at " + path + " has the content of effect " + holder.receipt() + " at "
                        + holder.path() + " of run " + holder.instance() + "; nothing was sent. Look at the holder: waybill effects show "
                        + holder.receipt(),
                false,
                details);
    }

    static Result violated(String path, Holder holder) {
        return new Result(holder.invariant(), "effect_at_most_once", path, false, EngineJson.write(json(holder)));
    }

    private static ObjectNode json(Holder holder) {
        return JsonNodeFactory.instance
                .objectNode()
                .put("effect_id", holder.receipt().toString())
                .put("instance_id", holder.instance().toString())
                .put("block", holder.path());
    }

    /** What a commit with these settles, intents' guards and release carries. */
    InvariantRows rows(List<JournalRow> settles, List<Guard> guards, List<Result> results, @Nullable Release release, RunState state) {
        if (none()) {
            return InvariantRows.NONE;
        }
        List<Result> judged = new ArrayList<>(results);
        Set<String> freedByEnd = new HashSet<>();
        if (release != null && release.to().terminal()) {
            for (Invariant invariant : all) {
                judged.add(atEnd(invariant, release.to(), state));
            }
            for (List<Attempt> attempts : state.allEffects()) {
                if (attempts.stream().noneMatch(it -> mayHaveHappened(it, it.state()))) {
                    freedByEnd.add(attempts.getFirst().receipt.path()); // a retry that will not come any more
                }
            }
        }
        return new InvariantRows(List.copyOf(guards), freed(settles, state), freedByEnd, judged);
    }

    /** Effects that these moves end without application: their content is free again. A member of a chain that is unknown still holds it. */
    static Set<String> freed(List<JournalRow> moves, RunState state) {
        Set<String> freed = new HashSet<>();
        for (JournalRow row : moves) {
            boolean over = row.to() == EffectState.NOT_APPLIED || row.to() == EffectState.ABANDONED;
            boolean ends = row.to() == EffectState.COMPENSATED || over && row.retryInMillis() == null;
            if (ends && state.attempts(row.path()).stream().noneMatch(it -> mayHaveHappened(it, after(it, moves)))) {
                freed.add(row.path());
            }
        }
        return freed;
    }

    /** A person writes off what did not happen; {@code repeats: accepted} writes off what nobody knows. */
    private static boolean mayHaveHappened(Attempt attempt, EffectState state) {
        boolean repeated = state == EffectState.ABANDONED && attempt.last != null && Settlement.REPEATS_ACTOR.equals(attempt.last.actor());
        return repeated || MAY_HAVE_HAPPENED.contains(state);
    }

    private static EffectState after(Attempt attempt, List<JournalRow> moves) {
        EffectState state = attempt.state();
        for (JournalRow move : moves) {
            if (move.path().equals(attempt.receipt.path()) && move.attempt() == attempt.receipt.attempt()) {
                state = move.to();
            }
        }
        return state;
    }

    private Result atEnd(Invariant invariant, InstanceState to, RunState state) {
        ObjectNode details = JsonNodeFactory.instance.objectNode().put("state", to.wire());
        boolean held = switch (invariant.rule()) {
            case EffectAtMostOnce once -> onlyOnce(invariant, once, state, details);
            case NoUnknownEffects _ -> state.allEffects().stream().flatMap(List::stream).noneMatch(it -> it.state() == EffectState.UNKNOWN);
            case TerminalStateIn(Set<InstanceState> states) -> states.contains(to);
            case OutputPathPresent rule -> to != InstanceState.COMPLETED || present(rule, state, details);
        };
        return new Result(invariant.name(), invariant.rule().type(), "", held, EngineJson.write(details));
    }

    private static boolean onlyOnce(Invariant invariant, EffectAtMostOnce once, RunState state, ObjectNode details) {
        Map<String, String> pathOf = new HashMap<>();
        for (List<Attempt> attempts : state.allEffects()) {
            for (Attempt attempt : attempts) {
                ReceiptRow receipt = attempt.receipt;
                BlockRow row = state.row(receipt.path());
                if (mayHaveHappened(attempt, attempt.state()) && receipt.kind() == once.kind() && once.key() == null) {
                    String other = pathOf.putIfAbsent(receipt.destinationFingerprint() + " " + receipt.requestSha256(), receipt.path());
                    if (other != null && !other.equals(receipt.path())) {
                        details.put("block", receipt.path()).put("holder", other);
                        return false;
                    }
                }
            }
        }
        for (BlockRow row : state.allRows()) {
            if (row.kind() == BlockRow.Kind.ERROR) {
                JsonNode error = state.body(row);
                if (error.path("code").asString("").equals(VIOLATION)
                        && error.path("details").path("invariant").asString("").equals(invariant.name())) {
                    details.put("block", row.path());
                    return false;
                }
            }
        }
        return true;
    }

    private boolean present(OutputPathPresent rule, RunState state, ObjectNode details) {
        details.put("path", rule.path().source());
        try {
            JsonNode value = rule.path().evaluate(new RunScope(state, stepIds, "", Map.of(), "", 0));
            return !value.isMissingNode() && !value.isNull();
        } catch (EvaluationException e) {
            details.put("error", e.problem().message());
            return false;
        }
    }
}
