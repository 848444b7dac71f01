package dev.waybill.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.waybill.model.Claim;
import dev.waybill.model.EffectKind;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.InstanceState;
import dev.waybill.model.ReceiptId;
import dev.waybill.store.Commit;
import dev.waybill.store.CommitAnswer;
import dev.waybill.store.CommitAnswer.IntentAnswer;
import dev.waybill.store.CommitAnswer.ReleaseAnswer;
import dev.waybill.store.InstanceSnapshot;
import dev.waybill.store.InvariantRows.Holder;
import dev.waybill.store.ReceiptRow;
import dev.waybill.store.Start;
import dev.waybill.store.Store;
import dev.waybill.store.StoreException;
import dev.waybill.store.memory.MemoryStore;
import java.io.IOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;

/** What a node remembers against a database that has another history than before. */
class LedgerTest {
    private static final AtomicLong COUNTER = new AtomicLong();

    private static UUID id() {
        return new UUID(0x7000L, 0x8000_0000_0000_0000L | COUNTER.incrementAndGet());
    }

    /** The model store, with a history that can change behind the engine's back. */
    private static Store withHistory(MemoryStore real, AtomicReference<String> history) {
        return (Store) Proxy.newProxyInstance(Store.class.getClassLoader(), new Class<?>[] {Store.class}, (proxy, method, arguments) -> {
            if (method.getName().equals("historyId")) {
                return history.get();
            }
            try {
                return method.invoke(real, arguments);
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        });
    }

    private static ReceiptRow receipt(InstanceKey run, UUID node, Claim claim) {
        return new ReceiptRow(
                ReceiptId.of(run.id(), run.id(), "charge", 0), run.id(), "charge", 0, false, EffectKind.HTTP, "http_request", "http_request x",
                "00".repeat(32), null, "00".repeat(32), "{}", claim, node, id(), 1_000, null, null, null, null, null);
    }

    private static void remember(Ledger ledger, InstanceKey run, ReceiptRow receipt, long comparisonsBefore) {
        Commit commit = new Commit(
                run, receipt.claim(), receipt.transitionId(), List.of(), List.of(), List.of(receipt), List.of(), null, false);
        CommitAnswer answer = new CommitAnswer.Settled(
                IntentAnswer.DISPATCHED, ReleaseAnswer.NONE, 0, false, false, false, Instant.EPOCH);
        ledger.dispatched(List.of(commit), List.of(answer), comparisonsBefore);
    }

    /** A run of its own with a claim, in a store that counts the comparisons and lets {@code during} happen in each. */
    private static final class Compared implements InvocationHandler {
        final MemoryStore real = new MemoryStore(InstantSource.system());
        final UUID node = id();
        final InstanceKey run = new InstanceKey("acme", id());
        final AtomicInteger lookups = new AtomicInteger();
        Runnable during = () -> {};
        Store.ConnectionCheck check = receipts -> {};
        final Store store = (Store) Proxy.newProxyInstance(Store.class.getClassLoader(), new Class<?>[] {Store.class}, this);
        final ReceiptRow receipt;

        Compared() {
            real.registerNode(node, "n", Duration.ofHours(1));
            real.start(node, List.of(new Start(run, run.id(), id(), "default", 1, 0, "{}", null, null, null, null, null)));
            receipt = receipt(run, node, real.claim(node, id(), 1).getFirst().instance().claim());
        }

        @Override
        public Object invoke(Object proxy, Method method, Object[] arguments) throws Throwable {
            if (method.getName().equals("onCommitConnection")) {
                check = (Store.ConnectionCheck) arguments[0];
                return null;
            }
            if (method.getName().equals("existingReceipts")) {
                lookups.incrementAndGet();
                during.run();
            }
            try {
                return method.invoke(real, arguments);
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        }

        boolean paused() {
            return real.load(run).orElseThrow().instance().state() == InstanceState.PAUSED;
        }
    }

    @Test
    void aNewConnectionForCommitsIsComparedOverItselfBeforeItIsUsed() {
        Compared lab = new Compared();
        Ledger ledger = new Ledger(Host.SYSTEM, lab.store, LedgerTest::id, Meter.NONE);
        remember(ledger, lab.run, lab.receipt, ledger.comparisons());
        lab.check.opened((tenant, ids) -> List.copyOf(ids));
        assertThat(lab.paused()).isFalse();

        lab.check.opened((tenant, ids) -> List.of());
        assertThat(lab.paused()).isTrue();
        assertThat(lab.lookups).as("the store was asked over no other connection").hasValue(0);
    }

    /** Model failover.pml, mutant REMEMBER_LATER. */
    @Test
    void aCommitThatAComparisonCouldNotSeeAsksForAnother() {
        Compared lab = new Compared();
        Ledger ledger = new Ledger(Host.SYSTEM, lab.store, LedgerTest::id, Meter.NONE);
        long before = ledger.comparisons();
        lab.check.opened((tenant, ids) -> List.of()); // the neighbour's connection, while our COMMIT is under way on the old primary
        remember(ledger, lab.run, lab.receipt, before);
        assertThat(lab.paused()).isFalse();

        ledger.checkIfSuspect();
        assertThat(lab.paused()).isTrue();
    }

    @Test
    void aSuspicionRaisedDuringAComparisonIsNotForgottenByItsEnd() {
        Compared lab = new Compared();
        Ledger ledger = new Ledger(Host.SYSTEM, lab.store, LedgerTest::id, Meter.NONE);
        remember(ledger, lab.run, lab.receipt, ledger.comparisons());
        lab.during = ledger::suspect;
        ledger.suspect();
        ledger.checkIfSuspect();
        lab.during = () -> {};
        ledger.checkIfSuspect();
        assertThat(lab.lookups).hasValue(2);
        ledger.checkIfSuspect();
        assertThat(lab.lookups).hasValue(2);
    }

    @Test
    void aComparisonThatFailsIsMadeAgain() {
        Compared lab = new Compared();
        Ledger ledger = new Ledger(Host.SYSTEM, lab.store, LedgerTest::id, Meter.NONE);
        remember(ledger, lab.run, lab.receipt, ledger.comparisons());
        lab.during = () -> {
            throw new StoreException("unreachable", new IOException());
        };
        ledger.suspect();
        assertThatThrownBy(ledger::checkIfSuspect).isInstanceOf(StoreException.class);
        lab.during = () -> {};
        ledger.checkIfSuspect();
        assertThat(lab.paused()).isTrue();
    }

    @Test
    void anotherHistoryWithoutOurReceiptsPausesEveryRunAndPutsThemBackAsUnknown() {
        MemoryStore real = new MemoryStore(InstantSource.system());
        AtomicReference<String> history = new AtomicReference<>("7/1");
        Store store = withHistory(real, history);
        UUID node = id();
        store.registerNode(node, "n", Duration.ofHours(1));
        InstanceKey sent = new InstanceKey("acme", id());
        InstanceKey bystander = new InstanceKey("acme", id());
        for (InstanceKey run : List.of(sent, bystander)) {
            store.start(node, List.of(new Start(run, run.id(), id(), "default", 1, 0, "{}", null, null, null, null, null)));
        }
        Claim claim = store.claim(node, id(), 1).getFirst().instance().claim();
        Ledger ledger = new Ledger(Host.SYSTEM, store, LedgerTest::id, Meter.NONE);
        ledger.lookAtHistory();
        remember(ledger, sent, receipt(sent, node, claim), ledger.comparisons());

        ledger.lookAtHistory();
        assertThat(store.load(bystander).orElseThrow().instance().state()).isNotEqualTo(InstanceState.PAUSED);

        history.set("7/2");
        ledger.lookAtHistory();
        InstanceSnapshot after = store.load(sent).orElseThrow();
        assertThat(after.instance().state()).isEqualTo(InstanceState.PAUSED);
        assertThat(after.instance().reasons()).contains("ledger_may_be_behind");
        assertThat(after.journal().getLast().to().wire()).isEqualTo("unknown");
        assertThat(store.load(bystander).orElseThrow().instance().state()).isEqualTo(InstanceState.PAUSED);
    }

    @Test
    void anotherHistoryWithAllOurReceiptsChangesNothing() {
        MemoryStore real = new MemoryStore(InstantSource.system());
        AtomicReference<String> history = new AtomicReference<>("7/1");
        Store store = withHistory(real, history);
        UUID node = id();
        store.registerNode(node, "n", Duration.ofHours(1));
        InstanceKey run = new InstanceKey("acme", id());
        store.start(node, List.of(new Start(run, run.id(), id(), "default", 1, 0, "{}", null, null, null, null, null)));
        Ledger ledger = new Ledger(Host.SYSTEM, store, LedgerTest::id, Meter.NONE);
        ledger.lookAtHistory();
        history.set("7/2");
        ledger.lookAtHistory();
        assertThat(store.load(run).orElseThrow().instance().state()).isEqualTo(InstanceState.SCHEDULED);
    }

    /** Seed 66 of the simulator: a comparison missed what a guard had refused, and paused every unfinished run. */
    @Test
    void whatWasRefusedAsADuplicateIsNotMissedLater() {
        Compared lab = new Compared();
        Ledger ledger = new Ledger(Host.SYSTEM, lab.store, LedgerTest::id, Meter.NONE);
        Commit commit = new Commit(
                lab.run, lab.receipt.claim(), lab.receipt.transitionId(), List.of(), List.of(), List.of(lab.receipt), List.of(), null, false);
        CommitAnswer refused = new CommitAnswer.Settled(IntentAnswer.DISPATCHED, ReleaseAnswer.NONE, 0, false, false, false, Instant.EPOCH)
                .with(Map.of("charge", new Holder("once", id(), "other", 0, id())));
        ledger.dispatched(List.of(commit), List.of(refused), ledger.comparisons());
        ledger.suspect();
        ledger.checkIfSuspect();
        assertThat(lab.paused()).isFalse();
        assertThat(lab.real.load(lab.run).orElseThrow().receipts()).isEmpty();
    }
}
