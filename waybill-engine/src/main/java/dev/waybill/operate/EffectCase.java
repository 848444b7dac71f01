package dev.waybill.operate;

import dev.waybill.engine.EffectContract;
import dev.waybill.engine.NextStep;
import dev.waybill.store.EvidenceRow;
import dev.waybill.store.JournalRow;
import dev.waybill.store.Queries.EffectView;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The case file of one effect: all that is known.
 *
 * @param attempts every receipt of the same effect, by attempt
 * @param proposals in order, also those that were decided or came to nothing
 * @param run      the instance it belongs to, or null when retention removed it
 * @param next     what the engine will do about it while it is unknown; null when it is not, or the run is gone
 * @param contract what is promised about it; null when the run is gone
 * @param quiet    true when no sender and no packet can still arrive (database time)
 */
public record EffectCase(
        EffectView effect,
        List<JournalRow> journal,
        List<EvidenceRow> evidence,
        List<EffectView> attempts,
        List<Proposal> proposals,
        @Nullable RunView run,
        @Nullable NextStep next,
        @Nullable EffectContract contract,
        boolean quiet,
        Instant databaseNow) {

    /** What waits for a second person, or null. */
    public @Nullable Proposal pending() {
        return proposals.stream().filter(Proposal::pending).findFirst().orElse(null);
    }
}
