package dev.waybill.engine;

import dev.waybill.definition.Schemas;
import dev.waybill.engine.Calls.Result;
import dev.waybill.engine.Decision.Ready;
import dev.waybill.handler.PureHandler;
import dev.waybill.model.Outcome;
import dev.waybill.model.Problem;
import dev.waybill.store.BlockRow;
import java.util.List;
import java.util.random.RandomGenerator;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.JsonNodeFactory;

/** Turns what a step without a receipt came to (a pure handler, a declared read) into the rows that record it. */
final class PureSettlement {
    private PureSettlement() {}

    /** @param result of a pure handler's call */
    static void ended(Draft draft, Ready ready, Result result, RandomGenerator random) {
        switch (result) {
            case Result.Pure(PureHandler.Result output) -> output(draft, ready, output);
            case Result.PureFailed(Problem problem) -> failed(draft, ready, problem, random);
            case Result.Answered _, Result.Read _, Result.Prepared _, Result.Asked _ ->
                throw new IllegalArgumentException("not of a pure handler: " + result);
        }
    }

    private static void output(Draft draft, Ready ready, PureHandler.Result result) {
        result.stateWrites().forEach((name, value) ->
                draft.row(RunState.STATE_PREFIX + name, BlockRow.Kind.STATE, value.isMissingNode() ? null : value, null));
        List<Schemas.Violation> violations =
                ready.step().outputSchema() == null ? List.of() : Schemas.violations(ready.step().outputSchema(), result.output());
        if (!violations.isEmpty()) {
            Schemas.Violation first = violations.getFirst();
            error(draft, ready, Problem.of(
                    "OUTPUT_INVALID",
                    "the output of " + ready.path() + " is against output_schema at '" + first.pointer() + "': " + first.message()));
        } else if (result.sleepFor() != null && result.sleepFor().isPositive()) {
            JsonNode body = JsonNodeFactory.instance.objectNode().set("sleep", result.output());
            draft.row(ready.path(), BlockRow.Kind.TIMER, body, result.sleepFor().toMillis());
        } else {
            draft.row(ready.path(), BlockRow.Kind.OUTPUT, result.output(), null);
        }
    }

    /** A read that nobody answered may simply be asked again: it is a failure like any other, never unknown. */
    static void read(Draft draft, Ready ready, Outcome outcome, RandomGenerator random) {
        switch (outcome) {
            case Outcome.Committed committed -> output(draft, ready, PureHandler.Result.of(committed.output()));
            case Outcome.NotApplied no -> failed(draft, ready, no.problem(), random);
            case Outcome.OutputUnusable unusable -> failed(draft, ready, unusable.problem(), random);
            case Outcome.OutputLost lost -> failed(draft, ready, Problem.retryable("READ_FAILED", lost.why()), random);
            case Outcome.Unknown unknown -> failed(draft, ready, Problem.retryable("READ_FAILED", unknown.message()), random);
        }
    }

    private static void failed(Draft draft, Ready ready, Problem problem, RandomGenerator random) {
        Long retryIn = RetryPolicy.next(ready.step().retry(), ready.attempt() + 1, problem, null, ready.scope(), random);
        if (retryIn == null) {
            error(draft, ready, problem);
            return;
        }
        JsonNode body = Problems.json(problem)
                .put("attempt", ready.attempt() + 1)
                .put("receipts", ready.scope().state().attempts(ready.path()).size());
        draft.row(ready.path(), BlockRow.Kind.RETRY, body, retryIn);
    }

    private static void error(Draft draft, Ready ready, Problem problem) {
        draft.row(ready.path(), BlockRow.Kind.ERROR, Problems.json(problem), null);
    }
}
