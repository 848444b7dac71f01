package dev.waybill.store;

import static dev.waybill.store.StoreLab.nextId;
import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.model.InstanceState;
import dev.waybill.store.CommitAnswer.IntentAnswer;
import dev.waybill.store.CommitAnswer.ReleaseAnswer;
import dev.waybill.store.CommitAnswer.Settled;
import dev.waybill.store.StoreLab.Owned;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** After an unclear COMMIT the identical batch is submitted again: whatever happened, it must not happen twice. */
abstract class RepeatSentences extends StoreSentences {

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aSettleWithAnIntentFindsItself(boolean again) {
        Owned owned = lab().owned(lab().node()).dispatched("charge");
        Move move = owned.move().committed("charge", 0, 1).event("effect.committed").intent("ship", 0);
        Settled first = settled(owned.commit(move));
        String before = everything(owned.key());

        Settled second = settled(again ? owned.again(move) : owned.commit(move));

        assertThat(second.intents()).isEqualTo(IntentAnswer.DISPATCHED).isEqualTo(first.intents());
        assertThat(everything(owned.key())).isEqualTo(before);
    }

    @Test
    void aRepeatThatComesFirstIsWritten() {
        Owned owned = lab().owned(lab().node()).dispatched("charge");

        assertThat(settled(owned.again(owned.move().committed("charge", 0, 1).intent("ship", 0))).intents())
                .isEqualTo(IntentAnswer.DISPATCHED);
        assertThat(owned.load().receipts()).hasSize(2);
    }

    @Test
    void aLoneIntentFindsItself() {
        Owned owned = lab().owned(lab().node());
        Move move = owned.move().intent("charge", 0);
        owned.commit(move);

        assertThat(settled(owned.again(move)).intents()).isEqualTo(IntentAnswer.DISPATCHED);
        assertThat(owned.load().receipts()).hasSize(1);
    }

    @Test
    void heldIntentsStayHeldWhateverTheFlagsSayByNow() {
        Owned owned = lab().owned(lab().node()).dispatched("charge");
        outside(Move.outside(owned.key()).pause(true));
        Move settle = owned.move().committed("charge", 0, 1).intent("ship", 0);
        assertThat(settled(owned.commit(settle)).intents()).isEqualTo(IntentAnswer.HELD_BY_FLAG);
        outside(Move.outside(owned.key()).pause(false));

        assertThat(settled(owned.again(settle)).intents()).isEqualTo(IntentAnswer.HELD_BY_FLAG);
        assertThat(owned.load().receipts()).hasSize(1);
    }

    @Test
    void aLoneHeldIntentStaysHeld() {
        Owned owned = lab().owned(lab().node());
        outside(Move.outside(owned.key()).pause(true));
        Move intent = owned.move().intent("ship", 0);
        assertThat(settled(owned.commit(intent)).intents()).isEqualTo(IntentAnswer.HELD_BY_FLAG);
        outside(Move.outside(owned.key()).pause(false));

        assertThat(settled(owned.again(intent)).intents()).isEqualTo(IntentAnswer.HELD_BY_FLAG);
        assertThat(owned.load().receipts()).isEmpty();
    }

    @Test
    void intentsHeldByAFencedNodeFindThemselves() {
        Owned owned = lab().owned(lab().node()).dispatched("charge");
        store().fence(owned.node());
        Move settle = owned.move().committed("charge", 0, 1).intent("ship", 0);
        owned.commit(settle);

        assertThat(settled(owned.again(settle)).intents()).isEqualTo(IntentAnswer.HELD_BY_NODE);
        assertThat(owned.load().receipts()).hasSize(1);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aReleaseFindsItselfThoughTheClaimIsGivenUp(boolean again) {
        Owned owned = lab().owned(lab().node());
        Move release = owned.move().releaseEvent("instance.waiting").release(InstanceState.WAITING, null, 0);
        owned.commit(release);
        String before = everything(owned.key());

        assertThat(settled(again ? owned.again(release) : owned.commit(release)).release()).isEqualTo(ReleaseAnswer.RELEASED);
        assertThat(everything(owned.key())).isEqualTo(before);
    }

    @Test
    void aReleaseThatMetNewsFindsItself() {
        Owned owned = lab().owned(lab().node());
        outside(Move.outside(owned.key()).block("$signal/0", 0, BlockRow.Kind.STATE, "1"));
        Move release = owned.move().block("a", 0, BlockRow.Kind.OUTPUT, "1").release(InstanceState.WAITING, null, 0);
        assertThat(settled(owned.commit(release)).release()).isEqualTo(ReleaseAnswer.NEWS);

        Settled second = settled(owned.again(release));
        assertThat(second.release()).isEqualTo(ReleaseAnswer.NEWS);
        assertThat(second.wakeSeq()).isEqualTo(1);
        assertThat(lab().record(owned.key()).claimNode()).isEqualTo(owned.node());
    }

    @Test
    void aReleaseFindsItselfAfterAnotherNodeTookTheInstance() {
        Owned owned = lab().owned(lab().node()).dispatched("charge");
        Move release = owned.move().committed("charge", 0, 1).release(InstanceState.WAITING, 0L, 0);
        owned.commit(release);
        Move bare = lab().claim(owned.node(), owned.key()).move().release(InstanceState.WAITING, 0L, 0);
        store().commit(owned.node(), List.of(bare.commit()), false);
        Owned next = lab().claim(lab().node(), owned.key());
        String before = everything(owned.key());

        assertThat(settled(owned.again(release)).release()).isEqualTo(ReleaseAnswer.RELEASED);
        assertThat(settled(store().commit(owned.node(), List.of(bare.commit()), true).getFirst()).release())
                .isEqualTo(ReleaseAnswer.RELEASED);
        assertThat(everything(owned.key())).isEqualTo(before);
        assertThat(settled(next.commit(next.move().intent("ship", 0))).intents()).isEqualTo(IntentAnswer.DISPATCHED);
        assertThat(settled(owned.again(release)).release()).isEqualTo(ReleaseAnswer.RELEASED);
    }

    @Test
    void anIntentFindsItselfAfterATakeover() {
        Owned owned = lab().owned(lab().node()).dispatched("charge");
        Move move = owned.move().committed("charge", 0, 1).intent("ship", 0);
        owned.commit(move);
        store().fence(owned.node());
        store().fenceAndFree(10);
        Owned next = lab().claim(lab().node(), owned.key());
        next.commit(next.move().unknown("ship", 0, 1));
        String before = everything(owned.key());

        assertThat(settled(owned.again(move)).intents()).isEqualTo(IntentAnswer.DISPATCHED);
        assertThat(everything(owned.key())).isEqualTo(before);
    }

    @Test
    void aBatchThatIsHalfKnownIsCompleted() {
        UUID node = lab().node();
        List<Owned> members = new ArrayList<>();
        List<Commit> batch = new ArrayList<>();
        for (int i = 0; i < 4; i++) {
            Owned member = lab().owned(node).dispatched("charge");
            members.add(member);
            batch.add(member.move().committed("charge", 0, 1).intent("ship", 0).commit());
        }
        store().commit(node, batch.subList(0, 2), false);

        assertThat(store().commit(node, batch, true)).allSatisfy(
                answer -> assertThat(settled(answer).intents()).isEqualTo(IntentAnswer.DISPATCHED));
        assertThat(members).allSatisfy(member -> assertThat(member.load().receipts()).hasSize(2));
    }

    @Test
    void aStaleRepeatOfACommitThatNeverHappenedIsLost() {
        Owned owned = lab().owned(lab().node()).dispatched("charge");
        store().fence(owned.node());
        store().fenceAndFree(10);

        assertThat(owned.again(owned.move().committed("charge", 0, 1).intent("ship", 0))).isEqualTo(new CommitAnswer.ClaimLost());
        assertThat(owned.load().journal()).isEmpty();
    }

    @Test
    void anOutsideMoveFindsItself() {
        Owned owned = lab().owned(lab().node()).unknown("charge").waiting();
        Move resolve = Move.outside(owned.key())
                .expect(0)
                .expect(InstanceState.WAITING)
                .committed("charge", 0, 2)
                .evidence("charge", 0, "note", null)
                .event("effect.resolved")
                .wakeFrom(InstanceState.WAITING)
                .audit("effect.resolve", "e-1");
        applied(outside(resolve));
        String before = everything(owned.key());

        assertThat(applied(outside(resolve)).wakeSeq()).isEqualTo(1);
        assertThat(everything(owned.key())).isEqualTo(before);
        applied(outside(Move.outside(owned.key()).transition(nextId()).cancel()));
        applied(outside(resolve));
        assertThat(store().queries().evidence(owned.key(), "charge", 0)).hasSize(1);
    }

    @Test
    void anOutsideMoveWithoutRowsFindsItselfAsTheLast() {
        Owned owned = lab().owned(lab().node());
        Move cancel = Move.outside(owned.key()).cancel().audit("run.cancel", owned.key().toString());
        applied(outside(cancel));

        assertThat(applied(outside(cancel)).wakeSeq()).isEqualTo(1);
        assertThat(store().queries().audit(StoreLab.TENANT, null, 10)).hasSize(1);
    }
}
