package dev.waybill.store.memory;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.waybill.store.Move;
import dev.waybill.store.StoreConformance;
import dev.waybill.store.StoreException;
import dev.waybill.store.StoreLab;
import dev.waybill.store.UnclearCommitException;
import org.junit.jupiter.api.Test;

class MemoryStoreTest extends StoreConformance {

    @Override
    protected StoreLab open() {
        return new MemoryLab(Faults.NONE);
    }

    @Test
    void aFaultBeforeAVerbLeavesNothingAndAFaultAfterItLeavesEverything() {
        boolean[] armed = {false, false};
        MemoryLab lab = new MemoryLab(new Faults() {
            @Override
            public void before(Verb verb) {
                if (armed[0] && verb == Verb.COMMIT) {
                    throw new StoreException("refused", new IllegalStateException("down"));
                }
            }

            @Override
            public void after(Verb verb) {
                if (armed[1] && verb == Verb.COMMIT) {
                    throw new UnclearCommitException("gone", new IllegalStateException("reset"));
                }
            }
        });
        StoreLab.Owned owned = lab.owned(lab.node());
        Move move = owned.move().intent("charge", 0);

        armed[0] = true;
        assertThatThrownBy(() -> owned.commit(move)).isInstanceOf(StoreException.class);
        assertThat(owned.load().receipts()).isEmpty();
        armed[0] = false;
        armed[1] = true;
        assertThatThrownBy(() -> owned.commit(move)).isInstanceOf(UnclearCommitException.class);
        assertThat(owned.load().receipts()).hasSize(1);
        armed[1] = false;
        assertThat(owned.again(move)).isInstanceOf(dev.waybill.store.CommitAnswer.Settled.class);
        assertThat(owned.load().receipts()).hasSize(1);
    }

    @Test
    void aPromotedReplicaHoldsWhatWasHeldWhenItWasTakenAndNothingOfLater() {
        MemoryLab lab = new MemoryLab(Faults.NONE);
        MemoryStore store = (MemoryStore) lab.store();
        StoreLab.Owned kept = lab.owned(lab.node());
        kept.commit(kept.move().intent("charge", 0).guard("charge", 0, "order-7").result("charge", true));
        MemoryStore.Replica replica = store.replica();
        StoreLab.Owned lost = lab.owned(lab.node());
        lost.commit(lost.move().intent("charge", 0).guard("charge", 0, "order-8"));

        store.promote(replica);

        StoreLab.Owned next = lab.owned(lab.node());
        var answer = (dev.waybill.store.CommitAnswer.Settled) next.commit(
                next.move().intent("a", 0).guard("a", 0, "order-7").intent("b", 0).guard("b", 0, "order-8"));
        assertThat(answer.duplicates()).containsOnlyKeys("a");
        assertThat(store.queries().invariantResults(StoreLab.TENANT, lab.record(kept.key()).execution())).hasSize(1);
        assertThat(store.load(lost.key())).isEmpty();
    }
}
