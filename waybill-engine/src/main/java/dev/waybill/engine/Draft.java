package dev.waybill.engine;

import dev.waybill.engine.Decision.Ready;
import dev.waybill.model.Outcome;
import dev.waybill.store.BlockRow;
import dev.waybill.store.Event;
import dev.waybill.store.InvariantRows;
import dev.waybill.store.JournalRow;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** What the next commit of a turn will carry. Everything put here is applied to the {@link RunState} at once, tentatively. */
final class Draft {
    final UUID transitionId;
    final List<JournalRow> settles = new ArrayList<>();
    final List<BlockRow> rows = new ArrayList<>();
    final List<Event> events = new ArrayList<>();
    final List<InvariantRows.Result> results = new ArrayList<>();
    /** The answers that the settles record, in case the claim is lost and they must go on as late truth. */
    final List<Answer> answers = new ArrayList<>();

    private final RunState state;

    record Answer(Ready ready, UUID receipt, Outcome outcome) {}

    Draft(UUID transitionId, RunState state) {
        this.transitionId = transitionId;
        this.state = state;
    }

    void settle(JournalRow row) {
        settles.add(row);
        state.apply(row);
    }

    void row(String path, BlockRow.Kind kind, @Nullable JsonNode body, @Nullable Long dueInMillis) {
        BlockRow row = new BlockRow(path, state.nextN(path), kind, body == null ? null : EngineJson.write(body), dueInMillis, transitionId, null);
        rows.add(row);
        state.apply(row);
    }

    boolean isEmpty() {
        return settles.isEmpty() && rows.isEmpty() && events.isEmpty();
    }
}
