package dev.waybill.store;

import dev.waybill.model.InstanceKey;
import dev.waybill.model.InstanceState;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * One move by whoever is not the owner (resolve, late truth, signal, retry, child). It locks the instance row, writes its own rows,
 * adds 1 to {@code wake_seq} and, where asked and the instance is unclaimed, schedules it. It never writes position or claim
 * (semantics.md section 4.7). Everything it expects is checked under the lock; a conflict writes nothing. A repeat with the same
 * transition id that finds its rows, or itself as the last outside move of the instance, is Applied and writes nothing more. A journal
 * row whose text the database cannot keep is kept by {@link JournalRow#unstorable}.
 *
 * @param expectedWakeSeq what the decision was made from; null = the decision depends on journal keys alone
 * @param expectedStates  the instance must be in one of these; empty = any
 * @param journal         moves of receipts; their compare-and-swap is the key conflict on n and the state that the row before reached: a
 *                        database that went back may hold another row there than the one that was read
 * @param cancel          TRUE sets the flag, null leaves it
 * @param pause           TRUE sets the flag, FALSE clears it, null leaves it
 * @param wakeFrom        if the instance is in one of these states and unclaimed it becomes scheduled, due now
 * @param raiseEpoch      true for {@code ledger_may_be_behind}: the claim epoch grows and any claim is void (the answer names the node
 *                        that had it); a claimed instance becomes scheduled, due now, unless it becomes paused
 * @param pauseReasons    with raiseEpoch only: an instance that has not ended becomes paused with these reasons (JSON array text), and
 *                        wakeFrom is without meaning
 * @param freedGuards     paths of effects that this move ends without application: {@link InvariantRows#freed}
 */
public record OutsideMove(
        InstanceKey instance,
        UUID transitionId,
        @Nullable Long expectedWakeSeq,
        Set<InstanceState> expectedStates,
        List<ReceiptRow> missingReceipts,
        List<JournalRow> journal,
        List<EvidenceRow> evidence,
        List<BlockRow> rows,
        @Nullable Boolean cancel,
        @Nullable Boolean pause,
        Set<InstanceState> wakeFrom,
        boolean raiseEpoch,
        @Nullable String pauseReasons,
        List<Event> events,
        @Nullable AuditRow audit,
        Set<String> freedGuards) {

    /** The journal rows that go on from a row which must be there already. */
    public List<JournalRow> continuing() {
        return journal.stream()
                .filter(row -> row.n() > 1
                        && journal.stream().noneMatch(
                                it -> it.path().equals(row.path()) && it.attempt() == row.attempt() && it.n() == row.n() - 1))
                .toList();
    }

    /** A move that frees no guard. */
    public OutsideMove(
            InstanceKey instance,
            UUID transitionId,
            @Nullable Long expectedWakeSeq,
            Set<InstanceState> expectedStates,
            List<ReceiptRow> missingReceipts,
            List<JournalRow> journal,
            List<EvidenceRow> evidence,
            List<BlockRow> rows,
            @Nullable Boolean cancel,
            @Nullable Boolean pause,
            Set<InstanceState> wakeFrom,
            boolean raiseEpoch,
            @Nullable String pauseReasons,
            List<Event> events,
            @Nullable AuditRow audit) {
        this(
                instance, transitionId, expectedWakeSeq, expectedStates, missingReceipts, journal, evidence, rows, cancel, pause, wakeFrom,
                raiseEpoch, pauseReasons, events, audit, Set.of());
    }
}
