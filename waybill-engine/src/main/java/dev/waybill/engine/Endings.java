package dev.waybill.engine;

import dev.waybill.definition.Sequence;
import dev.waybill.engine.Decision.Failure;
import dev.waybill.engine.Decision.Status;
import dev.waybill.model.InstanceState;
import dev.waybill.store.Event;
import dev.waybill.store.Release;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** How a turn gives its run up when nothing is in flight and nothing can start: the last thing it says. Pure. */
record Endings(Sequence sequence, Sagas sagas, RunState state) {

    Release of(Decision decision, boolean draining) {
        if (Unwinding.active(state)) {
            return decision.status instanceof Status.Done ? undone() : pending(decision, draining);
        }
        if (state.cancelRequested && !(decision.status instanceof Status.Done)) {
            return release(InstanceState.CANCELLED, null, null, outcome(null, null));
        }
        if (!decision.blocked.isEmpty()) {
            return failed(List.copyOf(decision.blocked));
        }
        return switch (decision.status) {
            case Status.Failed(List<Failure> failures) -> failed(failures);
            case Status.Done() ->
                release(InstanceState.COMPLETED, null, null, outcome(Reasons.output(sequence, state), null));
            case Status.Pending() -> pending(decision, draining);
        };
    }

    /** As it had ended, or was about to, with what is left now. */
    private Release undone() {
        JsonNode how = state.body(state.rowOrThrow(Unwinding.PATH));
        ObjectNode outcome = outcome(null, null);
        JsonNode error = how.get("error");
        if (error != null) {
            outcome.set("error", error);
        }
        return release(InstanceState.ofWire(how.path("ends").asString()), null, null, outcome);
    }

    private ObjectNode outcome(@Nullable JsonNode output, @Nullable List<Failure> failures) {
        return Reasons.outcome(output, failures, state, sagas.standing(state));
    }

    private Release pending(Decision decision, boolean draining) {
        if (state.pauseRequested) {
            return release(InstanceState.PAUSED, null, Reasons.single("paused", "waybill run resume " + state.key.id()), null);
        }
        if (draining) {
            return later(0);
        }
        return release(InstanceState.WAITING, Reasons.due(decision.waiting), Reasons.of(decision.waiting, state.now()), null);
    }

    Release failed(List<Failure> failures) {
        return release(InstanceState.FAILED, null, null, outcome(null, failures));
    }

    /** Too many takeovers or deaths without progress: a person must look. */
    Release crashLoop() {
        return release(InstanceState.WAITING, null, Reasons.single("crash_loop", "waybill run retry " + state.key.id()), null);
    }

    /** Some node goes on after {@code millis}. */
    Release later(long millis) {
        return release(InstanceState.SCHEDULED, millis, null, null);
    }

    private Release release(InstanceState to, @Nullable Long fireInMillis, @Nullable String reasons, @Nullable JsonNode outcome) {
        List<Event> events = to.terminal() ? List.of(Events.instance("instance." + to.wire(), state.key, outcome)) : List.of();
        return new Release(to, fireInMillis, state.wakeSeq, reasons, outcome == null ? null : EngineJson.write(outcome), events);
    }
}
