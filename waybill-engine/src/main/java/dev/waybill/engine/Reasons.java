package dev.waybill.engine;

import dev.waybill.definition.Sequence;
import dev.waybill.engine.Decision.Failure;
import dev.waybill.engine.Decision.Waiting;
import dev.waybill.engine.RunState.Attempt;
import dev.waybill.model.EffectState;
import dev.waybill.model.Problem;
import java.time.Instant;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** Why a run waits, and what it came to, as the instance row keeps it. */
final class Reasons {
    private static final JsonNodeFactory NODES = JsonNodeFactory.instance;

    private Reasons() {}

    static String of(List<Waiting> waiting, Instant now) {
        ArrayNode reasons = NODES.arrayNode();
        for (Waiting one : waiting) {
            ObjectNode reason = reasons.addObject();
            reason.put("reason", one.reason());
            reason.put("path", one.path());
            if (one.receipt() != null) {
                reason.put("effect_id", one.receipt().toString());
            }
            if (one.dueInMillis() != null) {
                reason.put("due", now.plusMillis(one.dueInMillis()).toString());
            }
            if (one.next() != null) {
                reason.put("next", one.next());
            }
        }
        return EngineJson.write(reasons);
    }

    static String single(String reason, String next) {
        ArrayNode reasons = NODES.arrayNode();
        reasons.addObject().put("reason", reason).put("next", next);
        return EngineJson.write(reasons);
    }

    /** The earliest due time, or null when only news helps. */
    static @Nullable Long due(List<Waiting> waiting) {
        Long earliest = null;
        for (Waiting one : waiting) {
            if (one.dueInMillis() != null && (earliest == null || one.dueInMillis() < earliest)) {
                earliest = one.dueInMillis();
            }
        }
        return earliest;
    }

    static Problem blocked(Waiting unknown) {
        ObjectNode details = NODES.objectNode();
        details.put("effect_id", String.valueOf(unknown.receipt()));
        details.put("state", EffectState.UNKNOWN.wire());
        return new Problem(
                "EFFECT_BLOCKED",
                "effect " + unknown.receipt() + " at " + unknown.path() + " is unknown; resolve it: waybill effects show "
                        + unknown.receipt(),
                false,
                details);
    }

    /** The output of the last block, where it has one. */
    static JsonNode output(Sequence sequence, RunState state) {
        if (sequence.blocks().isEmpty()) {
            return NODES.nullNode();
        }
        JsonNode last = state.output(sequence.blocks().getLast().id());
        return last == null ? NODES.nullNode() : last;
    }

    /** @param standing what was to be undone and was not */
    static ObjectNode outcome(@Nullable JsonNode output, @Nullable List<Failure> failures, RunState state, Set<Attempt> standing) {
        ObjectNode outcome = NODES.objectNode();
        if (output != null) {
            outcome.set("output", output);
        }
        if (failures != null) {
            Failure first = failures.getFirst();
            ObjectNode error = Problems.json(first.problem());
            error.put("path", first.path());
            ArrayNode paths = error.putArray("paths");
            failures.forEach(failure -> paths.add(failure.path()));
            outcome.set("error", error);
        }
        ArrayNode residuals = NODES.arrayNode();
        for (List<Attempt> attempts : state.allEffects()) {
            for (Attempt attempt : attempts) {
                if (attempt.state() == EffectState.UNKNOWN || standing.contains(attempt)) {
                    ObjectNode residual = residuals.addObject();
                    residual.put("effect_id", attempt.receipt.id().toString());
                    residual.put("path", attempt.receipt.path());
                    residual.put("attempt", attempt.receipt.attempt());
                    residual.put("destination", attempt.receipt.destination());
                    residual.put("state", attempt.state().wire());
                }
            }
        }
        if (!residuals.isEmpty()) {
            outcome.set("residuals", residuals);
        }
        return outcome;
    }
}
