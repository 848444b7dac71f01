package dev.waybill.store;

import static dev.waybill.store.StoreLab.nextId;
import static dev.waybill.store.StoreLab.nextKey;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.waybill.model.Claim;
import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.InstanceState;
import dev.waybill.store.CommitAnswer.IntentAnswer;
import dev.waybill.store.CommitAnswer.ReleaseAnswer;
import dev.waybill.store.CommitAnswer.Settled;
import dev.waybill.store.JournalRow.OutputState;
import dev.waybill.store.StoreLab.Owned;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.function.Consumer;
import org.junit.jupiter.api.Test;

abstract class CommitSentences extends StoreSentences {

    @Test
    void anIntentIsDurableAsDispatched() {
        Owned owned = lab().owned(lab().node());

        Settled answer = settled(owned.commit(owned.move().intent("charge", 0)));

        assertThat(answer.intents()).isEqualTo(IntentAnswer.DISPATCHED);
        assertThat(answer.release()).isEqualTo(ReleaseAnswer.NONE);
        assertThat(answer.unstorable()).isFalse();
        ReceiptRow receipt = owned.load().receipts().getFirst();
        assertThat(receipt.at()).isEqualTo(answer.databaseNow());
        assertThat(store().queries().effect(StoreLab.TENANT, receipt.id()).orElseThrow().state()).isEqualTo(EffectState.DISPATCHED);
        assertThat(store().existingReceipts(StoreLab.TENANT, Set.of(receipt.id(), nextId()))).containsExactly(receipt.id());
        assertThat(store().existingReceipts("globex", Set.of(receipt.id()))).isEmpty();
    }

    @Test
    void aSettleAndTheNextIntentAreOneCommit() {
        Owned owned = lab().owned(lab().node()).dispatched("charge");

        Settled answer = settled(owned.commit(owned.move()
                .committed("charge", 0, 1)
                .block("route", 0, BlockRow.Kind.FRAME, "{\"to\":\"ship\"}")
                .event("effect.committed")
                .intent("ship", 0)));

        assertThat(answer.intents()).isEqualTo(IntentAnswer.DISPATCHED);
        InstanceSnapshot now = owned.load();
        assertThat(now.receipts()).extracting(ReceiptRow::path).containsExactly("charge", "ship");
        assertThat(now.journal()).hasSize(1);
        assertThat(now.journal().getFirst().at()).isEqualTo(answer.databaseNow());
        assertThat(now.rows()).extracting(BlockRow::path).containsExactly("route");
        assertThat(store().queries().changes(StoreLab.TENANT, null, 10)).extracting(Queries.Change::type)
                .containsExactly("effect.committed");
        assertThat(now.instance().claim()).isEqualTo(owned.claim());
    }

    @Test
    void aCommitUnderAnotherClaimWritesNothing() {
        Owned owned = lab().owned(lab().node()).dispatched("charge");
        String before = everything(owned.key());
        List<Claim> wrong = List.of(
                new Claim(owned.claim().epoch(), nextId()),
                new Claim(owned.claim().epoch() + 1, owned.claim().nonce()),
                new Claim(0, StoreLab.NO_NONCE));

        for (Claim claim : wrong) {
            Owned thief = new Owned(lab(), owned.key(), owned.node(), claim);
            assertThat(thief.commit(full(thief))).isEqualTo(new CommitAnswer.ClaimLost());
            assertThat(thief.again(full(thief))).isEqualTo(new CommitAnswer.ClaimLost());
        }
        assertThat(everything(owned.key())).isEqualTo(before);
    }

    private static Move full(Owned owned) {
        return owned.move()
                .committed("charge", 0, 1)
                .block("b", 0, BlockRow.Kind.OUTPUT, "1")
                .intent("ship", 0)
                .event("effect.committed")
                .resetTakeover()
                .releaseEvent("instance.waiting")
                .release(InstanceState.WAITING, null, 0);
    }

    @Test
    void aClaimGivenUpIsLost() {
        Owned owned = lab().owned(lab().node()).dispatched("charge").waiting();
        String before = everything(owned.key());

        assertThat(owned.commit(owned.move().committed("charge", 0, 1))).isEqualTo(new CommitAnswer.ClaimLost());
        assertThat(everything(owned.key())).isEqualTo(before);
    }

    @Test
    void aNeverClaimedOrUnknownInstanceHasNoOwner() {
        InstanceKey scheduled = lab().scheduled();
        UUID node = lab().node();

        for (InstanceKey key : List.of(scheduled, nextKey())) {
            Owned nobody = new Owned(lab(), key, node, new Claim(0, StoreLab.NO_NONCE));
            assertThat(nobody.commit(nobody.move().intent("a", 0))).isEqualTo(new CommitAnswer.ClaimLost());
        }
        assertThat(lab().load(scheduled).receipts()).isEmpty();
    }

    @Test
    void theSettleHoldsWhileACancelHoldsTheIntent() {
        assertHeld(key -> outside(Move.outside(key).cancel()), IntentAnswer.HELD_BY_FLAG, true, false);
    }

    @Test
    void theSettleHoldsWhileAPauseHoldsTheIntent() {
        assertHeld(key -> outside(Move.outside(key).pause(true)), IntentAnswer.HELD_BY_FLAG, false, true);
    }

    @Test
    void aCancelDoesNotHoldWhatUndoes() {
        Owned owned = lab().owned(lab().node()).dispatched("charge");
        outside(Move.outside(owned.key()).cancel());
        Move undo = owned.move().committed("charge", 0, 1).intent("refund", 0).compensates();

        Settled answer = settled(owned.commit(undo));

        assertThat(answer.intents()).isEqualTo(IntentAnswer.DISPATCHED);
        assertThat(answer.cancelRequested()).isTrue();
        assertThat(settled(owned.again(undo)).intents()).isEqualTo(IntentAnswer.DISPATCHED);
        assertThat(owned.load().receipts()).extracting(ReceiptRow::path).containsExactlyInAnyOrder("charge", "refund");
        assertThat(settled(owned.commit(owned.move().intent("ship", 0))).intents()).isEqualTo(IntentAnswer.HELD_BY_FLAG);
    }

    @Test
    void aPauseHoldsWhatUndoesToo() {
        Owned owned = lab().owned(lab().node()).dispatched("charge");
        outside(Move.outside(owned.key()).cancel());
        outside(Move.outside(owned.key()).pause(true));
        Move undo = owned.move().committed("charge", 0, 1).intent("refund", 0).compensates();

        assertThat(settled(owned.commit(undo)).intents()).isEqualTo(IntentAnswer.HELD_BY_FLAG);
        outside(Move.outside(owned.key()).pause(false));
        assertThat(settled(owned.again(undo)).intents()).isEqualTo(IntentAnswer.HELD_BY_FLAG);
        assertThat(owned.load().receipts()).extracting(ReceiptRow::path).containsExactly("charge");
    }

    @Test
    void theSettleHoldsWhileTheNodeIsFenced() {
        assertHeld(key -> store().fence(lab().record(key).claimNode()), IntentAnswer.HELD_BY_NODE, false, false);
    }

    /** Found by the torture run: a node that finds itself fenced goes on as another one, with turns that still hold the old one's claims. */
    @Test
    void whoWasFencedAndCameBackUnderAnotherIdSendsNothingUnderTheOldClaim() {
        Owned owned = lab().owned(lab().node()).dispatched("charge");
        store().fence(owned.node());
        Owned reborn = new Owned(lab(), owned.key(), lab().node(), owned.claim());

        Move move = reborn.move().committed("charge", 0, 1).intent("ship", 0);
        assertThat(settled(reborn.commit(move)).intents()).isEqualTo(IntentAnswer.HELD_BY_NODE);
        assertThat(settled(reborn.again(move)).intents()).isEqualTo(IntentAnswer.HELD_BY_NODE);
        assertThat(owned.load().receipts()).hasSize(1);
        assertThat(owned.load().journal()).hasSize(1);
    }

    @Test
    void theSettleHoldsWhileTheLeaseHasRunOut() {
        assertHeld(key -> lab().expireLease(lab().record(key).claimNode()), IntentAnswer.HELD_BY_NODE, false, false);
    }

    @Test
    void aFencedNodeIsSaidBeforeAFlag() {
        assertHeld(
                key -> {
                    outside(Move.outside(key).cancel());
                    store().fence(lab().record(key).claimNode());
                },
                IntentAnswer.HELD_BY_NODE,
                true,
                false);
    }

    private void assertHeld(Consumer<InstanceKey> trouble, IntentAnswer expected, boolean cancel, boolean pause) {
        Owned owned = lab().owned(lab().node()).dispatched("charge");
        trouble.accept(owned.key());

        Settled answer = settled(owned.commit(owned.move()
                .committed("charge", 0, 1)
                .block("b", 0, BlockRow.Kind.OUTPUT, "1")
                .event("effect.committed")
                .intent("ship", 0)));

        assertThat(answer.intents()).isEqualTo(expected);
        assertThat(answer.cancelRequested()).isEqualTo(cancel);
        assertThat(answer.pauseRequested()).isEqualTo(pause);
        assertThat(answer.unstorable()).isFalse();
        InstanceSnapshot now = owned.load();
        assertThat(answer.wakeSeq()).isEqualTo(now.instance().wakeSeq());
        assertThat(now.receipts()).extracting(ReceiptRow::path).containsExactly("charge");
        assertThat(now.journal()).extracting(JournalRow::to).containsExactly(EffectState.COMMITTED);
        assertThat(now.rows()).hasSize(1);
        assertThat(store().queries().changes(StoreLab.TENANT, null, 10)).hasSize(1);
    }

    @Test
    void aForeignJournalRowIsAConflictAndWritesNothing() {
        Owned owned = lab().owned(lab().node()).dispatched("charge");
        applied(outside(Move.outside(owned.key()).committed("charge", 0, 1)));
        String before = everything(owned.key());

        assertThat(owned.commit(full(owned))).isInstanceOf(CommitAnswer.Conflict.class);
        assertThat(owned.again(full(owned))).isInstanceOf(CommitAnswer.Conflict.class);
        assertThat(everything(owned.key())).isEqualTo(before);
    }

    @Test
    void aForeignBlockRowIsAConflict() {
        Owned owned = lab().owned(lab().node());
        applied(outside(Move.outside(owned.key()).block("b", 0, BlockRow.Kind.CLEARED, null)));
        String before = everything(owned.key());

        assertThat(owned.commit(owned.move().block("b", 0, BlockRow.Kind.OUTPUT, "1").block("c", 0, BlockRow.Kind.OUTPUT, "1")))
                .isInstanceOf(CommitAnswer.Conflict.class);
        assertThat(everything(owned.key())).isEqualTo(before);
    }

    @Test
    void aForeignReceiptIsAConflictByPositionAndById() {
        Owned owned = lab().owned(lab().node()).dispatched("charge");
        String before = everything(owned.key());
        Move samePosition = owned.move().block("b", 0, BlockRow.Kind.OUTPUT, "1").intent("charge", 0);
        Move byId = owned.move();
        ReceiptRow sameId = StoreLab.receipt(owned.key(), owned.claim(), owned.node(), byId.transition(), "elsewhere", 0);
        UUID taken = owned.load().receipts().getFirst().id();
        byId.intent(new ReceiptRow(
                taken, sameId.execution(), sameId.path(), 0, false, sameId.kind(), sameId.handler(), sameId.destination(),
                sameId.destinationFingerprint(), null, sameId.requestSha256(), sameId.request(), sameId.claim(), sameId.node(),
                sameId.transitionId(), 0, null, null, null, null, null));

        assertThat(owned.commit(samePosition)).isInstanceOf(CommitAnswer.Conflict.class);
        assertThat(owned.commit(byId)).isInstanceOf(CommitAnswer.Conflict.class);
        assertThat(everything(owned.key())).isEqualTo(before);
    }

    @Test
    void oneMembersTroubleNeverFailsItsNeighbours() {
        UUID node = lab().node();
        List<Owned> members = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            members.add(lab().owned(node).dispatched("charge"));
        }
        applied(outside(Move.outside(members.get(1).key()).committed("charge", 0, 1)));
        Owned thief = new Owned(lab(), members.get(3).key(), node, new Claim(1, nextId()));
        List<Commit> batch = new ArrayList<>(members.stream()
                .map(member -> member.move().committed("charge", 0, 1).intent("ship", 0).commit())
                .toList());
        batch.set(2, members.get(2).move().committed("charge", 0, 1).intent("charge", 0).commit());
        batch.set(3, thief.move().committed("charge", 0, 1).intent("ship", 0).commit());

        List<CommitAnswer> answers = store().commit(node, batch, false);

        assertThat(answers).hasSize(5);
        assertThat(settled(answers.get(0)).intents()).isEqualTo(IntentAnswer.DISPATCHED);
        assertThat(answers.get(1)).isInstanceOf(CommitAnswer.Conflict.class);
        assertThat(answers.get(2)).isInstanceOf(CommitAnswer.Conflict.class);
        assertThat(answers.get(3)).isInstanceOf(CommitAnswer.ClaimLost.class);
        assertThat(settled(answers.get(4)).intents()).isEqualTo(IntentAnswer.DISPATCHED);
        assertThat(members).map(member -> member.load().receipts().size()).containsExactly(2, 1, 1, 1, 2);
        assertThat(members).map(member -> member.load().journal().size()).containsExactly(1, 1, 0, 0, 1);
    }

    @Test
    void twoMovesOfOneInstanceInOneBatchAreRefused() {
        Owned owned = lab().owned(lab().node());

        assertThatThrownBy(() -> store().commit(
                        owned.node(), List.of(owned.move().intent("a", 0).commit(), owned.move().intent("b", 0).commit()), false))
                .isInstanceOf(IllegalArgumentException.class);
        assertThat(owned.load().receipts()).isEmpty();
    }

    @Test
    void aMoveThatTheStateMachineDoesNotHaveIsRefused() {
        UUID node = lab().node();
        for (EffectState from : EffectState.values()) {
            for (EffectState to : EffectState.values()) {
                Owned owned = lab().owned(node).dispatched("charge");
                Move move = owned.move()
                        .settle(owned.move().row("charge", 0, 1, from, to, null, null, OutputState.NONE))
                        .block("b", 0, BlockRow.Kind.OUTPUT, "1");
                assertTaken(owned, move, from.canMoveTo(to));
            }
        }
    }

    @Test
    void onlyALostOutputIsSuppliedWithoutAMove() {
        UUID node = lab().node();
        for (EffectState state : EffectState.values()) {
            for (OutputState output : OutputState.values()) {
                Owned owned = lab().owned(node).dispatched("charge");
                boolean supplies = output == OutputState.SAVED && (state == EffectState.COMMITTED || state == EffectState.VERIFIED);
                assertTaken(owned, owned.move().settle(owned.move().row("charge", 0, 1, state, state, null, null, output)), supplies);
            }
        }
    }

    /** A store may refuse the member or the whole batch; of what it refuses nothing is there. */
    private static void assertTaken(Owned owned, Move move, boolean expected) {
        boolean taken;
        try {
            taken = !(owned.commit(move) instanceof CommitAnswer.Conflict);
        } catch (StoreException refused) {
            taken = false;
        }
        assertThat(taken).as(move.commit().settles().toString()).isEqualTo(expected);
        InstanceSnapshot now = owned.load();
        assertThat(now.journal()).hasSize(expected ? 1 : 0);
        assertThat(now.rows()).hasSize(expected ? move.commit().rows().size() : 0);
    }

    @Test
    void anEmptyBatchIsAnsweredWithNothing() {
        assertThat(store().commit(lab().node(), List.of(), false)).isEmpty();
        assertThat(store().start(lab().node(), List.of())).isEmpty();
    }

    @Test
    void aReleaseGivesTheClaimUp() {
        Owned owned = lab().owned(lab().node()).dispatched("charge");

        Settled answer = settled(owned.commit(owned.move()
                .unknown("charge", 0, 1)
                .event("effect.unknown")
                .releaseEvent("instance.waiting")
                .release(InstanceState.WAITING, 60_000L, 0, "[{\"reason\":\"effect_unknown\"}]", null)));

        assertThat(answer.release()).isEqualTo(ReleaseAnswer.RELEASED);
        InstanceRecord record = lab().record(owned.key());
        assertThat(record.state()).isEqualTo(InstanceState.WAITING);
        assertThat(record.claimNode()).isNull();
        assertThat(record.claim()).isEqualTo(owned.claim());
        assertThat(record.reasons()).isEqualTo("[{\"reason\":\"effect_unknown\"}]");
        assertThat(record.nextFireAt()).isEqualTo(answer.databaseNow().plusMillis(60_000));
        assertThat(store().queries().changes(StoreLab.TENANT, null, 10)).extracting(Queries.Change::type)
                .containsExactly("effect.unknown", "instance.waiting");
    }

    @Test
    void anIntentThatHoldsOnlyIfNobodyCameIsHeldWhenSomebodyDid() {
        Owned owned = lab().owned(lab().node()).dispatched("charge");
        Settled first = settled(owned.commit(owned.move().intent("a", 0).expect(0)));
        assertThat(first.intents()).isEqualTo(IntentAnswer.DISPATCHED);
        applied(outside(Move.outside(owned.key()).block("$signal/0", 0, BlockRow.Kind.STATE, "1")));

        Move late = owned.move().committed("charge", 0, 1).intent("b", 0).expect(0);
        Settled answer = settled(owned.commit(late));
        assertThat(answer.intents()).isEqualTo(IntentAnswer.HELD_BY_NEWS);
        assertThat(answer.wakeSeq()).isEqualTo(1);
        assertThat(settled(owned.again(late)).intents()).isEqualTo(IntentAnswer.HELD_BY_NEWS);
        assertThat(owned.load().receipts()).extracting(ReceiptRow::path).containsExactlyInAnyOrder("charge", "a");
        assertThat(owned.load().journal()).hasSize(1);

        assertThat(settled(owned.commit(owned.move().intent("b", 0).expect(1))).intents()).isEqualTo(IntentAnswer.DISPATCHED);
    }

    @Test
    void newsKeepsTheClaimAndWritesEverythingButTheRelease() {
        Owned owned = lab().owned(lab().node()).dispatched("charge");
        applied(outside(Move.outside(owned.key()).block("$signal/0", 0, BlockRow.Kind.STATE, "1")));

        Settled answer = settled(owned.commit(owned.move()
                .committed("charge", 0, 1)
                .event("effect.committed")
                .releaseEvent("instance.completed")
                .release(InstanceState.COMPLETED, null, 0, null, "{\"output\":1}")));

        assertThat(answer.release()).isEqualTo(ReleaseAnswer.NEWS);
        assertThat(answer.wakeSeq()).isEqualTo(1);
        InstanceSnapshot now = owned.load();
        assertThat(now.instance().state()).isEqualTo(InstanceState.RUNNING);
        assertThat(now.instance().claimNode()).isEqualTo(owned.node());
        assertThat(now.instance().outcome()).isNull();
        assertThat(now.journal()).hasSize(1);
        assertThat(store().queries().changes(StoreLab.TENANT, null, 10)).extracting(Queries.Change::type)
                .containsExactly("effect.committed");
        assertThat(settled(owned.commit(owned.move().release(InstanceState.COMPLETED, null, 1))).release())
                .isEqualTo(ReleaseAnswer.RELEASED);
    }

    @Test
    void aTerminalReleaseClearsTheDueTime() {
        Owned owned = lab().owned(lab().node());

        owned.commit(owned.move().release(InstanceState.COMPLETED, 0L, 0, null, "{\"output\":{\"total\":1.10}}"));

        InstanceRecord record = lab().record(owned.key());
        assertThat(record.state()).isEqualTo(InstanceState.COMPLETED);
        assertThat(record.nextFireAt()).isNull();
        assertThat(record.outcome()).isEqualTo("{\"output\":{\"total\":1.10}}");
        assertThat(claimed(owned.node(), 10)).isEmpty();
    }

    @Test
    void aFencedNodeMayStillGiveItsClaimUp() {
        Owned owned = lab().owned(lab().node());
        store().fence(owned.node());

        assertThat(settled(owned.commit(owned.move().release(InstanceState.SCHEDULED, 0L, 0))).release())
                .isEqualTo(ReleaseAnswer.RELEASED);
        assertThat(claimed(lab().node(), 10)).containsExactly(owned.key());
    }

    @Test
    void theQueueHoldsWhatIsPreparedUnknownOrHasLostItsOutput() {
        Owned owned = lab().owned(lab().node());
        owned.commit(owned.move().prepared("work", 0).intent("charge", 0).intent("fetch", 0).intent("ship", 0));
        assertThat(queue()).containsExactly("prepared=1");

        owned.commit(owned.move().unknown("charge", 0, 1).outputLost("fetch", 0, 1).committed("ship", 0, 1));
        assertThat(queue()).containsExactly("output_lost=1", "prepared=1", "unknown=1");

        owned.commit(owned.move()
                .settle(owned.move().row("work", 0, 1, EffectState.PREPARED, EffectState.DISPATCHED, null, null, OutputState.NONE))
                .settle(owned.move().row("charge", 0, 2, EffectState.UNKNOWN, EffectState.VERIFIED, null, "{}", OutputState.SAVED)));
        assertThat(queue()).containsExactly("output_lost=1");

        owned.commit(owned.move()
                .settle(owned.move().row("fetch", 0, 2, EffectState.COMMITTED, EffectState.COMMITTED, null, "{}", OutputState.SAVED)));
        assertThat(queue()).isEmpty();
    }

    private List<String> queue() {
        return store().queries().openDepth().stream().map(depth -> depth.state() + "=" + depth.depth()).toList();
    }

    @Test
    void progressResetsTheTakeovers() {
        UUID first = lab().node();
        Owned owned = lab().owned(first);
        store().fence(first);
        assertThat(store().fenceAndFree(10)).isEqualTo(1);
        Owned next = lab().claim(lab().node(), owned.key());
        assertThat(lab().record(owned.key()).takeovers()).isEqualTo(1);

        next.commit(next.move().intent("a", 0));
        assertThat(lab().record(owned.key()).takeovers()).isEqualTo(1);
        next.commit(next.move().committed("a", 0, 1).resetTakeover());
        assertThat(lab().record(owned.key()).takeovers()).isZero();
    }

    @Test
    void textTheDatabaseCannotKeepNeverLosesTheSettle() {
        for (String bad : List.of("nul \u0000 inside", "half \uD83D pair")) {
            UUID node = lab().node();
            Owned owned = lab().owned(node).dispatched("charge");
            Owned neighbour = lab().owned(node).dispatched("charge");
            Move move = owned.move();
            JournalRow row = move.row("charge", 0, 1, EffectState.DISPATCHED, EffectState.COMMITTED, bad, "{\"ok\":true}", OutputState.SAVED);
            move.settle(row).block("route", 0, BlockRow.Kind.FRAME, "{}").intent("ship", 0);

            List<CommitAnswer> answers = store().commit(
                    node, List.of(move.commit(), neighbour.move().committed("charge", 0, 1).intent("ship", 0).commit()), false);

            Settled answer = settled(answers.getFirst());
            JournalRow kept = store().queries().journal(owned.key(), "charge", 0).getFirst();
            assertThat(kept.to()).isEqualTo(EffectState.COMMITTED);
            assertThat(kept.reply().body()).isEqualTo(row.reply().body());
            if (answer.unstorable()) {
                assertThat(kept.outputState()).isEqualTo(OutputState.UNUSABLE);
                assertThat(kept.problem()).contains("OUTPUT_UNSTORABLE");
                assertThat(kept.output()).isNull();
                assertThat(answer.intents()).isEqualTo(IntentAnswer.HELD_BY_FLAG);
                assertThat(owned.load().receipts()).hasSize(1);
                assertThat(owned.load().rows()).isEmpty();
            } else {
                assertThat(kept.providerReceiptId()).isEqualTo(bad);
                assertThat(answer.intents()).isEqualTo(IntentAnswer.DISPATCHED);
            }
            assertThat(settled(owned.again(move)).unstorable()).isEqualTo(answer.unstorable());
            assertThat(settled(answers.getLast()).intents()).isEqualTo(IntentAnswer.DISPATCHED);
            assertThat(settled(answers.getLast()).unstorable()).isFalse();
            assertThat(neighbour.load().receipts()).hasSize(2);
        }
    }

    @Test
    void aPureOutputTheDatabaseCannotKeepBecomesTheBlocksError() {
        Owned owned = lab().owned(lab().node());
        String bad = "\"half \uD83D pair\"";

        Settled answer = settled(owned.commit(owned.move()
                .block("pure", 0, BlockRow.Kind.OUTPUT, bad)
                .block("route", 0, BlockRow.Kind.FRAME, "{}")
                .intent("ship", 0)
                .release(InstanceState.WAITING, null, 0)));

        BlockRow kept = owned.load().rows().getFirst();
        if (answer.unstorable()) {
            assertThat(kept.kind()).isEqualTo(BlockRow.Kind.ERROR);
            assertThat(kept.body()).contains("OUTPUT_UNSTORABLE");
            assertThat(owned.load().rows()).hasSize(1);
            assertThat(owned.load().receipts()).isEmpty();
            assertThat(answer.intents()).isEqualTo(IntentAnswer.HELD_BY_FLAG);
            assertThat(answer.release()).isEqualTo(ReleaseAnswer.NEWS);
            assertThat(lab().record(owned.key()).claimNode()).isEqualTo(owned.node());
        } else {
            assertThat(kept.body()).isEqualTo(bad);
        }
    }
}
