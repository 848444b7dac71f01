package dev.waybill.engine;

import dev.waybill.engine.RunState.Attempt;
import dev.waybill.model.Problem;
import dev.waybill.store.JournalRow;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** {@link Problem} as rows and outcomes keep it. */
public final class Problems {
    private Problems() {}

    public static ObjectNode json(Problem problem) {
        ObjectNode json = JsonNodeFactory.instance.objectNode();
        json.put("code", problem.code());
        json.put("message", problem.message());
        json.put("retryable", problem.retryable());
        if (problem.details() != null) {
            json.set("details", problem.details());
        }
        return json;
    }

    public static Problem parse(JsonNode json) {
        return new Problem(
                json.path("code").asString("STEP_FAILED"),
                json.path("message").asString(""),
                json.path("retryable").asBoolean(false),
                json.get("details"));
    }

    /** What a receipt's last move says of the step. */
    static Problem of(Attempt attempt) {
        JournalRow last = attempt.last;
        @Nullable String problem = last == null ? null : last.problem();
        if (problem != null) {
            return parse(EngineJson.read(problem));
        }
        return Problem.of("STEP_FAILED", "the step at " + attempt.receipt.path() + " failed");
    }
}
