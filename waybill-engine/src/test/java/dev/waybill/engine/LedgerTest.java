package dev.waybill.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.model.Claim;
import dev.waybill.model.EffectKind;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.InstanceState;
import dev.waybill.model.ReceiptId;
import dev.waybill.store.InstanceSnapshot;
import dev.waybill.store.ReceiptRow;
import dev.waybill.store.Start;
import dev.waybill.store.Store;
import dev.waybill.store.memory.MemoryStore;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.UUID;
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
        ledger.dispatched(sent, List.of(receipt(sent, node, claim)));

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
}
