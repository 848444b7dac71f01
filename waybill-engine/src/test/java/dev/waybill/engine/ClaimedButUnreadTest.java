package dev.waybill.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.EngineOptions;
import dev.waybill.Waybill;
import dev.waybill.json.Json;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.InstanceState;
import dev.waybill.operate.StartRequest;
import dev.waybill.store.SequenceStore;
import dev.waybill.store.Store;
import dev.waybill.store.StoreException;
import dev.waybill.store.memory.MemoryStore;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.InstantSource;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** Found by the torture run: a batch was claimed, then no connection was to be had, and its runs stayed claimed by a live node for ever. */
class ClaimedButUnreadTest {
    private static final EngineOptions WEAK = EngineOptions.DEFAULT.withAcceptLossOnWeakStore(true);

    /** The model store, whose sequences cannot be read the first time. */
    private static Store withUnreadableSequences(MemoryStore real, AtomicInteger failures) {
        SequenceStore sequences = proxy(SequenceStore.class, real.sequences(), failures);
        return (Store) Proxy.newProxyInstance(Store.class.getClassLoader(), new Class<?>[] {Store.class}, (proxy, method, arguments) -> {
            if (method.getName().equals("sequences")) {
                return sequences;
            }
            try {
                return method.invoke(real, arguments);
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        });
    }

    private static <T> T proxy(Class<T> type, T real, AtomicInteger failures) {
        return type.cast(Proxy.newProxyInstance(type.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
            if (method.getName().equals("get") && failures.getAndDecrement() > 0) {
                throw new StoreException("no connection is available", null);
            }
            try {
                return method.invoke(real, arguments);
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        }));
    }

    @Test
    void aRunThatWasClaimedWhileTheDatabaseCouldNotBeReadGoesOnWhenItCan() {
        MemoryStore real = new MemoryStore(InstantSource.system());
        UUID run;
        try (Waybill first = Waybill.store(real).options(WEAK).open()) {
            first.sequences().publish("default", Json.parseDefinition(
                    "{\"name\":\"nap\",\"blocks\":[{\"type\":\"step\",\"id\":\"nap\",\"handler\":\"sleep\",\"params\":{\"duration\":500}}]}"));
            run = first.runs().start(StartRequest.of("nap", Json.NODES.objectNode())).id();
        }
        AtomicInteger failures = new AtomicInteger(1);
        try (Waybill second = Waybill.store(withUnreadableSequences(real, failures)).options(WEAK).open()) {
            // Looked at past the engine, whose look would be the one that fails.
            Awaitility.await().atMost(EngineLab.PATIENCE).until(
                    () -> real.load(new InstanceKey("default", run)).orElseThrow().instance().state() == InstanceState.COMPLETED);
            assertThat(second.node()).isNotNull();
            assertThat(failures.get()).as("it was in the way").isNotPositive();
        }
    }
}
