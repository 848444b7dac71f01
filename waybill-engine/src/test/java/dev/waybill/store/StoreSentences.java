package dev.waybill.store;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.model.InstanceKey;
import dev.waybill.store.CommitAnswer.Settled;
import java.util.List;
import java.util.UUID;

/** What the groups of {@link StoreConformance} share. */
abstract class StoreSentences {
    abstract StoreLab lab();

    Store store() {
        return lab().store();
    }

    static Settled settled(CommitAnswer answer) {
        assertThat(answer).isInstanceOf(Settled.class);
        return (Settled) answer;
    }

    static OutsideAnswer.Applied applied(OutsideAnswer answer) {
        assertThat(answer).isInstanceOf(OutsideAnswer.Applied.class);
        return (OutsideAnswer.Applied) answer;
    }

    OutsideAnswer outside(Move move) {
        return store().settleFromOutside(move.outside());
    }

    List<InstanceKey> claimed(UUID node, int limit) {
        return store().claim(node, StoreLab.nextId(), limit).stream()
                .map(snapshot -> snapshot.instance().key())
                .toList();
    }

    /** Everything of an instance but the times, for "nothing was written". */
    String everything(InstanceKey key) {
        InstanceSnapshot all = lab().load(key);
        return all.instance() + "\n" + all.receipts() + "\n" + store().queries().blockRows(key) + "\n"
                + all.journal().stream().map(row -> row.path() + row.attempt() + row.n() + row.to()).toList()
                + store().queries().changes(key.tenant(), null, 10_000) + store().queries().audit(key.tenant(), null, 1_000);
    }
}
