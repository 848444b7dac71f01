package dev.waybill.store;

import static dev.waybill.store.StoreLab.nextId;
import static dev.waybill.store.StoreLab.nextKey;
import static dev.waybill.store.StoreLab.start;
import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.model.Claim;
import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.InstanceState;
import dev.waybill.store.StoreLab.Owned;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

abstract class ClaimSentences extends StoreSentences {

    @Test
    void aClaimRaisesTheEpochAndTakesTheNonce() {
        InstanceKey key = lab().scheduled();
        UUID node = lab().node();
        UUID nonce = nextId();

        List<InstanceSnapshot> claimed = store().claim(node, nonce, 10);

        assertThat(claimed).hasSize(1);
        InstanceRecord record = claimed.getFirst().instance();
        assertThat(record.key()).isEqualTo(key);
        assertThat(record.claim()).isEqualTo(new Claim(1, nonce));
        assertThat(record.claimNode()).isEqualTo(node);
        assertThat(record.state()).isEqualTo(InstanceState.RUNNING);
        assertThat(record.nextFireAt()).isNull();
        assertThat(lab().record(key)).isEqualTo(record);

        Owned owned = new Owned(lab(), key, node, record.claim());
        owned.commit(owned.move().release(InstanceState.WAITING, 0L, 0));
        UUID later = nextId();
        assertThat(store().claim(node, later, 10).getFirst().instance().claim()).isEqualTo(new Claim(2, later));
    }

    @Test
    void whatALostClaimOrStartTookIsFoundByItsNonce() {
        UUID node = lab().node();
        UUID nonce = nextId();
        InstanceKey first = lab().scheduled();
        InstanceKey second = lab().scheduled();
        store().claim(node, nonce, 10);
        Owned started = lab().owned(node);

        assertThat(store().claimedUnder(node, nonce)).containsExactlyInAnyOrder(first, second);
        assertThat(store().claimedUnder(node, started.claim().nonce())).containsExactly(started.key());
        assertThat(store().claimedUnder(lab().node(), nonce)).isEmpty();

        Owned owned = new Owned(lab(), first, node, lab().record(first).claim());
        owned.commit(owned.move().release(InstanceState.WAITING, 0L, 0));
        assertThat(store().claimedUnder(node, nonce)).containsExactly(second);
        store().fence(node);
        store().fenceAndFree(10);
        assertThat(store().claimedUnder(node, nonce)).isEmpty();
    }

    @Test
    void whatIsNotDueIsNotClaimed() {
        InstanceKey later = nextKey();
        store().start(nextId(), List.of(start(later, 1, 3_600_000, "{}", null)));
        UUID node = lab().node();
        Owned onlyNews = lab().owned(node).waiting();
        Owned timer = lab().owned(node);
        timer.commit(timer.move().release(InstanceState.WAITING, 3_600_000L, 0));
        Owned paused = lab().owned(node);
        paused.commit(paused.move().release(InstanceState.PAUSED, 0L, 0));
        Owned running = lab().owned(node);

        assertThat(claimed(node, 10)).isEmpty();
        assertThat(lab().record(onlyNews.key()).state()).isEqualTo(InstanceState.WAITING);
        assertThat(lab().record(timer.key()).nextFireAt()).isNotNull();
        assertThat(lab().record(paused.key()).nextFireAt()).isNull();
        assertThat(lab().record(running.key()).claimNode()).isEqualTo(node);
    }

    @Test
    void aTimerThatIsDueIsClaimed() {
        UUID node = lab().node();
        Owned timer = lab().owned(node);
        timer.commit(timer.move().release(InstanceState.WAITING, 0L, 0));

        assertThat(claimed(node, 10)).containsExactly(timer.key());
    }

    @Test
    void aDueTimeBeyondAllTimeIsNever() {
        UUID node = lab().node();
        InstanceKey never = nextKey();
        store().start(nextId(), List.of(start(never, 1, Long.MAX_VALUE, "{}", null)));
        Owned timer = lab().owned(node);
        timer.commit(timer.move().release(InstanceState.WAITING, Long.MAX_VALUE, 0));

        assertThat(claimed(node, 10)).isEmpty();
        assertThat(lab().record(never).nextFireAt()).isNotNull();
        assertThat(lab().record(timer.key()).nextFireAt()).isNotNull();
    }

    @Test
    void twoClaimersNeverShareAnInstance() throws Exception {
        List<Start> batch = new ArrayList<>();
        for (int i = 0; i < 200; i++) {
            batch.add(start(nextKey()));
        }
        store().start(nextId(), batch);
        List<Store> handles = List.of(store(), lab().other(), store(), lab().other());
        CountDownLatch go = new CountDownLatch(1);
        List<Future<List<InstanceKey>>> got = new ArrayList<>();
        try (ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor()) {
            for (Store handle : handles) {
                UUID node = lab().node();
                got.add(threads.submit((Callable<List<InstanceKey>>) () -> {
                    go.await();
                    List<InstanceKey> mine = new ArrayList<>();
                    List<InstanceSnapshot> some;
                    do {
                        some = handle.claim(node, nextId(), 7);
                        some.forEach(snapshot -> mine.add(snapshot.instance().key()));
                    } while (!some.isEmpty());
                    return mine;
                }));
            }
            go.countDown();
        }
        List<InstanceKey> all = new ArrayList<>();
        for (Future<List<InstanceKey>> one : got) {
            all.addAll(one.get());
        }
        // A claimer that meets rows locked by another may see nothing for a moment and stop: what is left must still be there.
        all.addAll(claimed(lab().node(), 1_000));
        assertThat(all).hasSize(200).doesNotHaveDuplicates();
    }

    @Test
    void aFloodOfOneTenantDoesNotStarveAnother() {
        List<Start> flood = new ArrayList<>();
        for (int i = 0; i < 300; i++) {
            flood.add(start(nextKey(), 3, 0, "{}", null));
        }
        store().start(nextId(), flood);
        InstanceKey small = new InstanceKey("globex", nextId());
        InstanceKey smaller = new InstanceKey("initech", nextId());
        store().start(nextId(), List.of(start(small, 0, 0, "{}", null), start(smaller)));

        List<InstanceKey> claimed = claimed(lab().node(), 10);

        assertThat(claimed).hasSize(10).contains(small, smaller);
    }

    @Test
    void priorityComesBeforeDueTime() {
        UUID node = lab().node();
        InstanceKey low = startedWith(0);
        InstanceKey firstNormal = startedWith(1);
        InstanceKey secondNormal = startedWith(1);
        InstanceKey critical = startedWith(3);
        InstanceKey high = startedWith(2);

        List<InstanceKey> order = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            order.addAll(claimed(node, 1));
        }

        assertThat(order).containsExactly(critical, high, firstNormal, secondNormal, low);
    }

    private InstanceKey startedWith(int priority) {
        InstanceKey key = nextKey();
        store().start(nextId(), List.of(start(key, priority, 0, "{}", null)));
        return key;
    }

    @Test
    void aClaimTakesNoMoreThanItsLimit() {
        for (int i = 0; i < 5; i++) {
            lab().scheduled();
        }
        UUID node = lab().node();

        assertThat(claimed(node, 3)).hasSize(3);
        assertThat(claimed(node, 3)).hasSize(2);
        assertThat(claimed(node, 3)).isEmpty();
        assertThat(store().claim(node, nextId(), 0)).isEmpty();
    }

    @Test
    void aFencedExpiredOrUnknownNodeClaimsNothing() {
        InstanceKey key = lab().scheduled();
        UUID fenced = lab().node();
        store().fence(fenced);
        UUID expired = lab().node();
        lab().expireLease(expired);

        assertThat(claimed(fenced, 10)).isEmpty();
        assertThat(claimed(expired, 10)).isEmpty();
        assertThat(claimed(nextId(), 10)).isEmpty();
        assertThat(claimed(lab().node(), 10)).containsExactly(key);
    }

    @Test
    void aSnapshotHoldsEverythingInOrder() {
        UUID node = lab().node();
        Owned owned = lab().owned(node);
        owned.commit(owned.move()
                .intent("z", 0)
                .intent("a[10]/x", 0)
                .intent("a[2]/x", 0)
                .block("loop", 0, BlockRow.Kind.FRAME, "{\"i\":0}")
                .block("$state/total", 0, BlockRow.Kind.STATE, "1"));
        owned.commit(owned.move().unknown("z", 0, 1).block("loop", 1, BlockRow.Kind.FRAME, "{\"i\":1}"));
        owned.commit(owned.move()
                .settle(owned.move().row("z", 0, 2, EffectState.UNKNOWN, EffectState.NOT_APPLIED, null, null, JournalRow.OutputState.NONE))
                .committed("a[2]/x", 0, 1)
                .intent("z", 1));
        owned.commit(owned.move().block("loop", 2, BlockRow.Kind.FRAME, "{\"i\":2}").release(InstanceState.WAITING, 0L, 0));

        InstanceSnapshot claimed = store().claim(node, nextId(), 1).getFirst();

        assertThat(claimed.receipts())
                .extracting(row -> row.path() + "#" + row.attempt())
                .containsExactly("z#0", "a[10]/x#0", "a[2]/x#0", "z#1");
        assertThat(claimed.journal())
                .extracting(row -> row.path() + "#" + row.attempt() + "/" + row.n())
                .containsExactly("a[2]/x#0/1", "z#0/1", "z#0/2");
        assertThat(claimed.rows()).extracting(row -> row.path() + "/" + row.n()).containsExactly("$state/total/0", "loop/2");
        assertThat(claimed.rows()).extracting(BlockRow::body).containsExactly("1", "{\"i\":2}");
        assertThat(claimed.receipts()).allSatisfy(row -> {
            assertThat(row.at()).isNotNull().isBeforeOrEqualTo(claimed.databaseNow());
            assertThat(row.quietAt()).isEqualTo(row.at().plusMillis(row.quietInMillis()));
        });
        assertThat(claimed.journal().getFirst().reply().body()).isNull();
        assertThat(claimed.journal().getFirst().reply().status()).isEqualTo(200);
        assertThat(lab().load(owned.key())).usingRecursiveComparison().ignoringFields("databaseNow").isEqualTo(claimed);
    }

    @Test
    void theNextDueTimeIsKnown() {
        Duration horizon = Duration.ofMinutes(5);
        assertThat(store().millisUntilNextDue(horizon)).isEqualTo(300_000);

        UUID node = lab().node();
        Owned timer = lab().owned(node);
        timer.commit(timer.move().release(InstanceState.WAITING, 60_000L, 0));
        assertThat(store().millisUntilNextDue(horizon)).isBetween(1L, 60_000L);
        assertThat(store().millisUntilNextDue(Duration.ofMillis(20))).isEqualTo(20);

        InstanceKey due = lab().scheduled();
        assertThat(store().millisUntilNextDue(horizon)).isZero();
        assertThat(claimed(node, 10)).containsExactly(due);
        assertThat(store().millisUntilNextDue(horizon)).isBetween(1L, 60_000L);
    }

    @Test
    void anUnknownInstanceIsNotThere() {
        assertThat(store().load(nextKey())).isEmpty();
        assertThat(store().load(new InstanceKey("globex", lab().scheduled().id()))).isEmpty();
        assertThat(store().existingReceipts(StoreLab.TENANT, Set.of(nextId()))).isEmpty();
        assertThat(store().existingReceipts(StoreLab.TENANT, Set.of())).isEmpty();
    }
}
