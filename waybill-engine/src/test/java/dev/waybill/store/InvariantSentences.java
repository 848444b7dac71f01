package dev.waybill.store;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceState;
import dev.waybill.store.CommitAnswer.IntentAnswer;
import dev.waybill.store.CommitAnswer.Settled;
import dev.waybill.store.InvariantRows.Holder;
import dev.waybill.store.JournalRow.OutputState;
import dev.waybill.store.StoreLab.Owned;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

/** Content that one effect alone may have, and what invariants came to (semantics.md section 6). */
abstract class InvariantSentences extends StoreSentences {

    private Owned charged(String content) {
        Owned owned = lab().owned(lab().node());
        assertThat(settled(owned.commit(owned.move().intent("charge", 0).guard("charge", 0, content))).duplicates()).isEmpty();
        return owned;
    }

    private Settled ask(Owned owned, String path, int attempt, String content) {
        return settled(owned.commit(owned.move().intent(path, attempt).guard(path, attempt, content)));
    }

    private static Holder holder(Owned owned) {
        return new Holder("one-charge", owned.key().id(), "charge", 0, owned.load().receipts().getFirst().id());
    }

    @Test
    void theFirstEffectWithAContentHoldsItAndAnotherIsADuplicate() {
        Owned first = charged("order-7");
        Owned second = lab().owned(lab().node());

        Settled answer = ask(second, "charge", 0, "order-7");

        assertThat(answer.duplicates()).containsExactly(java.util.Map.entry("charge", holder(first)));
        assertThat(answer.unstorable()).isFalse();
        assertThat(second.load().receipts()).isEmpty();
        assertThat(ask(second, "charge", 0, "order-8").duplicates()).isEmpty();
        assertThat(second.load().receipts()).hasSize(1);
    }

    @Test
    void anotherStepOfTheSameRunIsAnotherEffect() {
        Owned owned = charged("order-7");
        assertThat(ask(owned, "charge-again", 0, "order-7").duplicates()).containsOnlyKeys("charge-again");
        assertThat(owned.load().receipts()).hasSize(1);
    }

    @Test
    void everyAttemptOfTheHolderPasses() {
        Owned owned = charged("order-7");
        owned.commit(owned.move().settle(owned.move().row("charge", 0, 1, EffectState.DISPATCHED, EffectState.NOT_APPLIED, null, null, OutputState.NONE)));
        Settled answer = ask(owned, "charge", 1, "order-7");
        assertThat(answer.intents()).isEqualTo(IntentAnswer.DISPATCHED);
        assertThat(answer.duplicates()).isEmpty();
    }

    @Test
    void aDuplicateInfluencesNothingElseOfItsCommit() {
        Owned first = charged("order-7");
        Owned second = lab().owned(lab().node()).dispatched("reserve");

        Settled answer = settled(second.commit(second.move()
                .committed("reserve", 0, 1)
                .intent("charge", 0)
                .guard("charge", 0, "order-7")
                .intent("notify", 0)));

        assertThat(answer.intents()).isEqualTo(IntentAnswer.DISPATCHED);
        assertThat(answer.duplicates()).containsOnlyKeys("charge");
        assertThat(answer.duplicates().get("charge")).isEqualTo(holder(first));
        assertThat(second.load().receipts()).extracting(ReceiptRow::path).containsExactly("reserve", "notify");
        assertThat(second.load().journal()).hasSize(1);
    }

    @Test
    void twoIntentsOfOneCommitWithOneContentAreOneEffectAndOneDuplicate() {
        Owned owned = lab().owned(lab().node());
        Settled answer = settled(owned.commit(owned.move()
                .intent("a", 0).guard("a", 0, "order-7")
                .intent("b", 0).guard("b", 0, "order-7")));
        assertThat(answer.duplicates()).hasSize(1);
        assertThat(owned.load().receipts()).hasSize(1);
        assertThat(owned.load().receipts().getFirst().path()).isNotEqualTo(answer.duplicates().keySet().iterator().next());
    }

    @Test
    void aHeldIntentHoldsNoContent() {
        Owned owned = lab().owned(lab().node());
        store().settleFromOutside(Move.outside(owned.key()).cancel().outside());
        assertThat(ask(owned, "charge", 0, "order-7").intents()).isEqualTo(IntentAnswer.HELD_BY_FLAG);
        Owned other = lab().owned(lab().node());
        assertThat(ask(other, "charge", 0, "order-7").intents()).isEqualTo(IntentAnswer.DISPATCHED);
    }

    @Test
    void whatEndsWithoutApplicationIsFreedByItsOwnerOrFromOutside() {
        Owned first = charged("order-7");
        first.commit(first.move()
                .settle(first.move().row("charge", 0, 1, EffectState.DISPATCHED, EffectState.NOT_APPLIED, null, null, OutputState.NONE))
                .frees("charge"));
        Owned second = lab().owned(lab().node());
        assertThat(ask(second, "charge", 0, "order-7").duplicates()).isEmpty();
        applied(store().settleFromOutside(Move.outside(second.key())
                .settle(second.move().row("charge", 0, 1, EffectState.DISPATCHED, EffectState.UNKNOWN, null, null, OutputState.NONE))
                .settle(second.move().row("charge", 0, 2, EffectState.UNKNOWN, EffectState.ABANDONED, null, null, OutputState.NONE))
                .frees("charge")
                .outside()));
        Owned third = lab().owned(lab().node());
        assertThat(ask(third, "charge", 0, "order-7").duplicates()).isEmpty();
    }

    @Test
    void whatAnEndFreesIsFreedByThatEndOnly() {
        Owned first = charged("order-7");
        first.commit(first.move()
                .settle(first.move().row("charge", 0, 1, EffectState.DISPATCHED, EffectState.NOT_APPLIED, null, null, OutputState.NONE)));
        first.commit(first.move().freesByEnd("charge").release(InstanceState.CANCELLED, null, 99));
        assertThat(ask(lab().owned(lab().node()), "charge", 0, "order-7").duplicates()).containsOnlyKeys("charge");
        first.commit(first.move().freesByEnd("charge").release(InstanceState.CANCELLED, null, 0));
        assertThat(ask(lab().owned(lab().node()), "charge", 0, "order-7").duplicates()).isEmpty();
    }

    @Test
    void aRefusedMoveFreesNothing() {
        Owned first = charged("order-7");
        Owned thief = new Owned(lab(), first.key(), first.node(), new dev.waybill.model.Claim(0, StoreLab.nextId()));
        assertThat(thief.commit(thief.move().frees("charge").result("charge", false))).isInstanceOf(CommitAnswer.ClaimLost.class);
        store().settleFromOutside(Move.outside(first.key()).expect(InstanceState.FAILED).frees("charge").outside());
        assertThat(ask(lab().owned(lab().node()), "charge", 0, "order-7").duplicates()).containsOnlyKeys("charge");
        assertThat(store().queries().invariantResults(StoreLab.TENANT, lab().record(first.key()).execution())).isEmpty();
    }

    @Test
    void scopesAndTenantsDoNotMeet() {
        charged("order-7");
        Owned other = lab().owned(lab().node());
        Settled answer = settled(other.commit(
                other.move().intent("charge", 0).guard("charge", 0, "order-7", "execution:" + other.key().id(), null)));
        assertThat(answer.duplicates()).isEmpty();
    }

    @Test
    void anExpiredGuardChangesHandsUnlessItsHolderIsUnresolved() {
        Owned first = lab().owned(lab().node());
        first.commit(first.move().intent("charge", 0).guard("charge", 0, "order-7", "tenant", -1L));
        assertThat(ask(lab().owned(lab().node()), "charge", 0, "order-7").duplicates()).as("in flight").containsOnlyKeys("charge");
        first.commit(first.move().unknown("charge", 0, 1));
        assertThat(ask(lab().owned(lab().node()), "charge", 0, "order-7").duplicates()).as("unknown").containsOnlyKeys("charge");
        first.commit(first.move().settle(
                first.move().row("charge", 0, 2, EffectState.UNKNOWN, EffectState.COMMITTED, "pi_1", "{}", OutputState.SAVED)));
        Owned next = lab().owned(lab().node());
        assertThat(ask(next, "charge", 0, "order-7").duplicates()).as("settled and expired").isEmpty();
        assertThat(ask(lab().owned(lab().node()), "charge", 0, "order-7").duplicates().get("charge")).isEqualTo(holder(next));
    }

    @Test
    void aRepeatOfACommitWithADuplicateAnswersTheSame() {
        charged("order-7");
        Owned second = lab().owned(lab().node()).dispatched("reserve");
        Move move = second.move().committed("reserve", 0, 1).intent("charge", 0).guard("charge", 0, "order-7").intent("notify", 0);
        Settled first = settled(second.commit(move));
        Settled again = settled(second.again(move));
        assertThat(again.duplicates()).isEqualTo(first.duplicates());
        assertThat(again.intents()).isEqualTo(first.intents());
        assertThat(second.load().receipts()).hasSize(2);
    }

    @Test
    void resultsAreKeptAndThoseOfTheRunOnlyWithItsRelease() {
        Owned owned = charged("order-7");
        java.util.UUID execution = lab().record(owned.key()).execution();
        owned.commit(owned.move().result("charge", false).result("", true));
        assertThat(store().queries().invariantResults(StoreLab.TENANT, execution)).extracting(it -> it.result().path()).containsExactly("charge");

        owned.commit(owned.move().result("", true).release(InstanceState.FAILED, null, 99));
        assertThat(store().queries().invariantResults(StoreLab.TENANT, execution)).hasSize(1);
        Move ending = owned.move().committed("charge", 0, 1).result("", true).release(InstanceState.COMPLETED, null, 0);
        owned.commit(ending);
        owned.again(ending);
        assertThat(store().queries().invariantResults(StoreLab.TENANT, execution))
                .extracting(it -> it.result().path() + it.result().held())
                .containsExactly("chargefalse", "true");
        assertThat(store().queries().invariantResults("globex", execution)).isEmpty();
    }

    @Test
    void ofManyAtOnceExactlyOneGetsTheContent() throws Exception {
        int many = 20;
        List<Owned> all = new ArrayList<>();
        java.util.UUID node = lab().node();
        for (int i = 0; i < many; i++) {
            all.add(lab().owned(node));
        }
        CountDownLatch go = new CountDownLatch(1);
        List<Future<Settled>> answers = new ArrayList<>();
        try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (int i = 0; i < many; i++) {
                Owned owned = all.get(i);
                Store through = i % 2 == 0 ? lab().store() : lab().other();
                answers.add(threads.submit(() -> {
                    go.await();
                    Commit commit = owned.move().intent("charge", 0).guard("charge", 0, "order-7").guard("charge", 0, "order-7b").commit();
                    return settled(through.commit(owned.node(), List.of(commit), false).getFirst());
                }));
            }
            go.countDown();
        }
        List<Holder> holders = new ArrayList<>();
        int winners = 0;
        for (Future<Settled> answer : answers) {
            winners += answer.get().duplicates().isEmpty() ? 1 : 0;
            holders.addAll(answer.get().duplicates().values());
        }
        assertThat(winners).isEqualTo(1);
        assertThat(holders).hasSize(many - 1);
        assertThat(holders.stream().distinct()).hasSize(1);
    }

    @Test
    void anInvariantIsAddedToAVersionOnce() {
        java.util.UUID id = StoreLab.nextId();
        store().sequences().insert(new SequenceRow(id, StoreLab.TENANT, "default", "order", 1, false, "{}", null));
        InvariantDeclaration invariant = new InvariantDeclaration(StoreLab.TENANT, id, "one-charge", "{\"a\":1}", null);
        assertThat(store().sequences().addInvariant(invariant)).isTrue();
        assertThat(store().sequences().addInvariant(invariant)).isFalse();
        assertThat(store().sequences().addInvariant(new InvariantDeclaration(StoreLab.TENANT, StoreLab.nextId(), "x", "{}", null))).isFalse();
        assertThat(store().sequences().addInvariant(new InvariantDeclaration("globex", id, "x", "{}", null))).isFalse();
        assertThat(store().sequences().invariants(StoreLab.TENANT, id)).extracting(InvariantDeclaration::definition).containsExactly("{\"a\":1}");
    }
}
