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
        @Nullable RunView run,
        @Nullable NextStep next,
        @Nullable EffectContract contract,
        boolean quiet,
        Instant databaseNow) {}
