package dev.waybill.store;

import static dev.waybill.store.StoreLab.nextId;
import static dev.waybill.store.StoreLab.nextKey;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.waybill.model.Claim;
import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.InstanceState;
import dev.waybill.store.CommitAnswer.ReleaseAnswer;
import dev.waybill.store.JournalRow.OutputState;
import dev.waybill.store.StoreLab.Owned;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

abstract class OutsideSentences extends StoreSentences {

    @Test
    void aMoveThatTheStateMachineDoesNotHaveIsRefusedFromOutsideToo() {
        Owned owned = lab().owned(lab().node()).unknown("charge");
        String before = everything(owned.key());
        JournalRow again = owned.move().row("charge", 0, 2, EffectState.UNKNOWN, EffectState.DISPATCHED, null, null, OutputState.NONE);

        assertThatThrownBy(() -> outside(Move.outside(owned.key()).settle(again).pause(true))).isInstanceOf(StoreException.class);
        assertThat(everything(owned.key())).isEqualTo(before);
    }

    @Test
    void aMoveFromOutsideWakesAWaitingInstance() {
        Owned owned = lab().owned(lab().node()).unknown("charge").waiting();

        OutsideAnswer.Applied answer = applied(outside(
                Move.outside(owned.key()).committed("charge", 0, 2).wakeFrom(InstanceState.WAITING).event("effect.resolved")));

        assertThat(answer).isEqualTo(new OutsideAnswer.Applied(InstanceState.SCHEDULED, 1, null));
        InstanceRecord record = lab().record(owned.key());
        assertThat(record.state()).isEqualTo(InstanceState.SCHEDULED);
        assertThat(record.wakeSeq()).isEqualTo(1);
        assertThat(record.nextFireAt()).isNotNull();
        assertThat(record.claim()).isEqualTo(owned.claim());
        assertThat(claimed(owned.node(), 10)).containsExactly(owned.key());
        assertThat(owned.load().journal()).extracting(JournalRow::to).containsExactly(EffectState.UNKNOWN, EffectState.COMMITTED);
        assertThat(store().queries().changes(StoreLab.TENANT, null, 10)).extracting(Queries.Change::type)
                .containsExactly("effect.resolved");
    }

    @Test
    void whatWasThereBeforeAnythingWasSentIsAPreparedReceiptThatIsVerifiedInTheSameMove() {
        Owned owned = lab().owned(lab().node());
        Move move = Move.outside(owned.key()).prepared("charge", 0);
        JournalRow landed = Move.outside(owned.key()).transition(move.transition()).committed("charge", 0, 1).outside().journal().getFirst();

        applied(outside(move.settle(landed, row -> new JournalRow(
                row.path(), row.attempt(), 1, EffectState.PREPARED, EffectState.VERIFIED, "verifier", null, row.transitionId(), null, "landed",
                null, "ch_1", null, true, null, "{}", OutputState.SAVED, null, null))
                .evidence("charge", 0, "verifier_read", new byte[] {1})));

        assertThat(owned.load().receipts()).extracting(ReceiptRow::prepared).containsExactly(true);
        assertThat(owned.load().journal()).extracting(JournalRow::to).containsExactly(EffectState.VERIFIED);
        assertThat(store().queries().openDepth()).isEmpty();
        assertThat(store().queries().evidence(owned.key(), "charge", 0)).extracting(EvidenceRow::kind).containsExactly("verifier_read");
    }

    @Test
    void aChainOfReceiptsIsResolvedInOneMoveOrNotAtAll() {
        Owned owned = lab().owned(lab().node()).unknown("charge");
        owned.commit(owned.move().intent("charge", 1));
        owned.commit(owned.move().unknown("charge", 1, 1));

        OutsideAnswer refused = outside(Move.outside(owned.key()).committed("charge", 0, 2).committed("charge", 1, 1));
        assertThat(refused).isInstanceOf(OutsideAnswer.Conflict.class);
        assertThat(store().queries().openDepth()).extracting(Queries.OpenDepth::depth).containsExactly(2L);

        applied(outside(Move.outside(owned.key()).committed("charge", 0, 2).committed("charge", 1, 2)));
        assertThat(store().queries().openDepth()).isEmpty();
    }

    /** A database that went back: the row that the decision stood on is gone, and another one has its number. Seed 664449. */
    @Test
    void aMoveFromAStateThatTheReceiptIsNotInIsAConflictAndWritesNothing() {
        Owned owned = lab().owned(lab().node()).unknown("charge");
        String before = everything(owned.key());
        JournalRow stale = owned.move().row("charge", 0, 2, EffectState.DISPATCHED, EffectState.COMMITTED, null, null, OutputState.SAVED);
        JournalRow ahead = owned.move().row("charge", 0, 3, EffectState.UNKNOWN, EffectState.ABANDONED, null, null, OutputState.NONE);

        for (JournalRow row : List.of(stale, ahead)) {
            assertThat(outside(Move.outside(owned.key()).settle(row).event("effect.resolved"))).isInstanceOf(OutsideAnswer.Conflict.class);
            assertThat(everything(owned.key())).isEqualTo(before);
        }
        applied(outside(Move.outside(owned.key()).committed("charge", 0, 2)));
    }

    @Test
    void aClaimedInstanceStaysClaimedAndItsNodeIsNamed() {
        Owned owned = lab().owned(lab().node()).dispatched("charge");

        OutsideAnswer answer = outside(
                Move.outside(owned.key()).committed("charge", 0, 1).wakeFrom(InstanceState.WAITING, InstanceState.RUNNING));

        assertThat(answer).isEqualTo(new OutsideAnswer.Applied(InstanceState.RUNNING, 1, owned.node()));
        assertThat(lab().record(owned.key()).claim()).isEqualTo(owned.claim());
        assertThat(lab().record(owned.key()).nextFireAt()).isNull();
        assertThat(settled(owned.commit(owned.move().release(InstanceState.WAITING, null, 0))).release())
                .isEqualTo(ReleaseAnswer.NEWS);
    }

    @Test
    void onlyTheStatesAskedForAreWoken() {
        Owned paused = lab().owned(lab().node());
        paused.commit(paused.move().release(InstanceState.PAUSED, null, 0));

        assertThat(applied(outside(Move.outside(paused.key()).cancel().wakeFrom(InstanceState.WAITING))).state())
                .isEqualTo(InstanceState.PAUSED);
        assertThat(claimed(paused.node(), 10)).isEmpty();
        assertThat(applied(outside(Move.outside(paused.key()).pause(false).wakeFrom(InstanceState.PAUSED))).state())
                .isEqualTo(InstanceState.SCHEDULED);
        assertThat(claimed(paused.node(), 10)).containsExactly(paused.key());
    }

    @Test
    void aRetryReopensAFailedRun() {
        Owned owned = lab().owned(lab().node());
        owned.commit(owned.move().release(InstanceState.FAILED, null, 0, null, "{\"error\":1}"));

        applied(outside(Move.outside(owned.key())
                .expect(InstanceState.FAILED)
                .block("step", 0, BlockRow.Kind.CLEARED, null)
                .wakeFrom(InstanceState.FAILED)));

        assertThat(claimed(owned.node(), 10)).containsExactly(owned.key());
    }

    @Test
    void aLaterDueTimeIsBroughtForward() {
        Owned owned = lab().owned(lab().node());
        owned.commit(owned.move().release(InstanceState.WAITING, 3_600_000L, 0));

        applied(outside(Move.outside(owned.key()).wakeFrom(InstanceState.WAITING)));

        assertThat(claimed(owned.node(), 10)).containsExactly(owned.key());
    }

    @Test
    void anUnexpectedStateWritesNothing() {
        assertConflict(Move.outside(ownedUnknown()).expect(InstanceState.FAILED, InstanceState.PAUSED));
    }

    @Test
    void anUnexpectedWakeSeqWritesNothing() {
        assertConflict(Move.outside(ownedUnknown()).expect(7));
    }

    private InstanceKey ownedUnknown() {
        return lab().owned(lab().node()).unknown("charge").waiting().key();
    }

    private void assertConflict(Move move) {
        InstanceKey key = move.outside().instance();
        String before = everything(key);
        move.committed("charge", 0, 2)
                .evidence("charge", 0, "note", null)
                .block("b", 0, BlockRow.Kind.CLEARED, null)
                .cancel()
                .wakeFrom(InstanceState.WAITING)
                .event("effect.resolved")
                .audit("effect.resolve", "e-1");

        assertThat(outside(move)).isInstanceOfSatisfying(OutsideAnswer.Conflict.class, conflict -> {
            assertThat(conflict.state()).isEqualTo(InstanceState.WAITING);
            assertThat(conflict.wakeSeq()).isZero();
            assertThat(conflict.what()).isNotBlank();
        });
        assertThat(everything(key)).isEqualTo(before);
        assertThat(store().queries().evidence(key, "charge", 0)).isEmpty();
    }

    @Test
    void aTakenJournalBlockOrReceiptRowWritesNothing() {
        Owned owned = lab().owned(lab().node()).unknown("charge");
        owned.commit(owned.move().block("b", 0, BlockRow.Kind.OUTPUT, "1"));
        String before = everything(owned.key());

        assertThat(outside(Move.outside(owned.key()).cancel().committed("charge", 0, 1)))
                .isInstanceOf(OutsideAnswer.Conflict.class);
        assertThat(outside(Move.outside(owned.key()).cancel().block("c", 0, BlockRow.Kind.OUTPUT, "1").block("b", 0, BlockRow.Kind.CLEARED, null)))
                .isInstanceOf(OutsideAnswer.Conflict.class);
        assertThat(outside(Move.outside(owned.key()).cancel().intent("charge", 0))).isInstanceOf(OutsideAnswer.Conflict.class);
        assertThat(everything(owned.key())).isEqualTo(before);
    }

    @Test
    void anUnknownInstanceIsNotFound() {
        assertThat(outside(Move.outside(nextKey()).cancel())).isEqualTo(new OutsideAnswer.NotFound());
        assertThat(outside(Move.outside(new InstanceKey("globex", lab().scheduled().id())).cancel()))
                .isEqualTo(new OutsideAnswer.NotFound());
    }

    @Test
    void oneOfTwoResolversWins() throws Exception {
        for (int round = 0; round < 10; round++) {
            Owned owned = lab().owned(lab().node()).unknown("charge").waiting();
            CountDownLatch go = new CountDownLatch(1);
            List<Future<OutsideAnswer>> answers = new ArrayList<>();
            try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
                for (Store handle : List.of(store(), lab().other())) {
                    answers.add(threads.submit(() -> {
                        go.await();
                        return handle.settleFromOutside(Move.outside(owned.key())
                                .committed("charge", 0, 2)
                                .evidence("charge", 0, "note", null)
                                .wakeFrom(InstanceState.WAITING)
                                .audit("effect.resolve", owned.key().toString())
                                .outside());
                    }));
                }
                go.countDown();
            }
            List<OutsideAnswer> got = new ArrayList<>();
            for (Future<OutsideAnswer> answer : answers) {
                got.add(answer.get());
            }
            assertThat(got).filteredOn(answer -> answer instanceof OutsideAnswer.Applied).hasSize(1);
            assertThat(got).filteredOn(answer -> answer instanceof OutsideAnswer.Conflict).hasSize(1);
            assertThat(store().queries().evidence(owned.key(), "charge", 0)).hasSize(1);
            assertThat(store().queries().audit(StoreLab.TENANT, owned.key().toString(), 10)).hasSize(1);
            assertThat(lab().record(owned.key()).wakeSeq()).isEqualTo(1);
        }
    }

    @Test
    void evidenceAndAuditAreKept() {
        InstanceKey key = ownedUnknown();
        byte[] file = {0, 1, (byte) 0xFF, 0, (byte) 0xC3};

        applied(outside(Move.outside(key)
                .evidence("charge", 0, "note", null)
                .evidence("charge", 0, "file", file)
                .evidence("charge", 1, "note", null)
                .audit("effect.note", "e-7")));

        List<EvidenceRow> kept = store().queries().evidence(key, "charge", 0);
        assertThat(kept).extracting(EvidenceRow::kind).containsExactly("note", "file");
        assertThat(kept.get(0).bytes()).isNull();
        assertThat(kept.get(0).body()).isEqualTo("{\"note\":\"called them\"}");
        assertThat(kept.get(0).actor()).isEqualTo("operator:ada");
        assertThat(kept.get(0).at()).isNotNull();
        assertThat(kept.get(1).bytes()).isEqualTo(file);
        List<Queries.AuditEntry> audit = store().queries().audit(StoreLab.TENANT, "e-7", 10);
        assertThat(audit).extracting(Queries.AuditEntry::row)
                .containsExactly(new AuditRow("operator:ada", "effect.note", "e-7", "{\"why\":\"test\"}"));
        assertThat(audit.getFirst().at()).isEqualTo(kept.getFirst().at());
    }

    @Test
    void flagsAreSetClearedAndLeftAlone() {
        InstanceKey key = lab().scheduled();

        outside(Move.outside(key).pause(true));
        assertThat(lab().record(key).pauseRequested()).isTrue();
        assertThat(lab().record(key).cancelRequested()).isFalse();
        outside(Move.outside(key).cancel());
        assertThat(lab().record(key).pauseRequested()).isTrue();
        assertThat(lab().record(key).cancelRequested()).isTrue();
        outside(Move.outside(key).pause(false));
        assertThat(lab().record(key).pauseRequested()).isFalse();
        assertThat(lab().record(key).cancelRequested()).isTrue();
        assertThat(lab().record(key).wakeSeq()).isEqualTo(3);
    }

    @Test
    void aLedgerThatMayBeBehindPausesAndVoidsTheClaim() {
        Owned owned = lab().owned(lab().node());
        String reasons = "[{\"reason\":\"ledger_may_be_behind\"}]";
        Move move = Move.outside(owned.key()).raiseEpoch(reasons).wakeFrom(InstanceState.RUNNING, InstanceState.PAUSED);
        ReceiptRow missing = StoreLab.receipt(owned.key(), owned.claim(), owned.node(), move.transition(), "charge", 0);
        move.intent(missing)
                .settle(move.row("charge", 0, 1, EffectState.DISPATCHED, EffectState.UNKNOWN, null, null, OutputState.NONE));

        OutsideAnswer answer = outside(move);

        assertThat(answer).isEqualTo(new OutsideAnswer.Applied(InstanceState.PAUSED, 1, owned.node()));
        InstanceSnapshot now = owned.load();
        assertThat(now.instance().state()).isEqualTo(InstanceState.PAUSED);
        assertThat(now.instance().reasons()).isEqualTo(reasons);
        assertThat(now.instance().claim()).isEqualTo(new Claim(2, StoreLab.NO_NONCE));
        assertThat(now.instance().claimNode()).isNull();
        assertThat(now.instance().nextFireAt()).isNull();
        assertThat(now.instance().takeovers()).isZero();
        assertThat(now.receipts()).extracting(ReceiptRow::id).containsExactly(missing.id());
        assertThat(store().queries().openDepth()).extracting(Queries.OpenDepth::state).containsExactly("unknown");
        assertThat(owned.commit(owned.move().intent("ship", 0))).isEqualTo(new CommitAnswer.ClaimLost());
        assertThat(claimed(lab().node(), 10)).isEmpty();
    }

    @Test
    void aHigherEpochWithoutAPauseLeavesTheInstanceDue() {
        Owned owned = lab().owned(lab().node());
        Owned ended = lab().owned(owned.node());
        ended.commit(ended.move().release(InstanceState.COMPLETED, null, 0, null, "{}"));

        assertThat(applied(outside(Move.outside(owned.key()).raiseEpoch(null))).state()).isEqualTo(InstanceState.SCHEDULED);
        assertThat(applied(outside(Move.outside(ended.key()).raiseEpoch("[]"))).state()).isEqualTo(InstanceState.COMPLETED);
        assertThat(claimed(lab().node(), 10)).containsExactly(owned.key());
        assertThat(lab().record(ended.key()).claim().epoch()).isEqualTo(2);
    }

    @Test
    void aMissingPreparedReceiptGoesIntoTheQueue() {
        InstanceKey key = lab().scheduled();

        applied(outside(Move.outside(key).prepared("work", 0)));

        assertThat(store().queries().openDepth()).extracting(Queries.OpenDepth::state).containsExactly("prepared");
    }

    @Test
    void lateTruthWithTextTheDatabaseCannotKeepStaysTruth() {
        Owned owned = lab().owned(lab().node()).unknown("charge").waiting();
        Move late = Move.outside(owned.key());
        String bad = "half \uD83D pair \u0000";
        late.settle(late.row("charge", 0, 2, EffectState.UNKNOWN, EffectState.COMMITTED, bad, "{}", OutputState.SAVED));

        applied(outside(late));

        JournalRow kept = store().queries().journal(owned.key(), "charge", 0).getLast();
        assertThat(kept.to()).isEqualTo(EffectState.COMMITTED);
        assertThat(kept.outputState() == OutputState.UNUSABLE || bad.equals(kept.providerReceiptId())).isTrue();
        assertThat(kept.reply().body()).isNotEmpty();
    }

    @Test
    void everyMoveFromOutsideIsNews() {
        Owned owned = lab().owned(lab().node());
        for (int i = 1; i <= 3; i++) {
            assertThat(applied(outside(Move.outside(owned.key()).transition(nextId()))).wakeSeq()).isEqualTo(i);
        }
        assertThat(settled(owned.commit(owned.move().block("a", 0, BlockRow.Kind.OUTPUT, "1"))).wakeSeq()).isEqualTo(3);
        assertThat(settled(owned.commit(owned.move().release(InstanceState.WAITING, null, 3))).release())
                .isEqualTo(ReleaseAnswer.RELEASED);
    }
}
