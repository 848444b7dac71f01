package dev.waybill.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.EngineOptions;
import dev.waybill.Waybill;
import dev.waybill.json.Json;
import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceState;
import dev.waybill.operate.RunView;
import dev.waybill.operate.StartRequest;
import dev.waybill.store.Commit;
import dev.waybill.store.JournalRow;
import dev.waybill.store.OutsideMove;
import dev.waybill.store.Store;
import dev.waybill.store.memory.MemoryStore;
import dev.waybill.test.Behaviour;
import dev.waybill.test.FakeProvider;
import dev.waybill.test.Rule;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionTimeoutException;
import org.junit.jupiter.api.Test;

/**
 * Found by the torture run: the verifier was asked while the unknown was on its way to the database, so that its verdict could be written
 * before it. The queue then showed an effect for ever that was verified, and a node that died in between left a verdict about nothing.
 */
class VerdictAfterUnknownTest {
    private static final EngineOptions WEAK = EngineOptions.DEFAULT.withAcceptLossOnWeakStore(true);
    /** So long the unknown is on its way, unless the verifier asks meanwhile. */
    private static final Duration ON_ITS_WAY = Duration.ofMillis(500);

    private final List<List<Integer>> journals = new CopyOnWriteArrayList<>();

    @Test
    void nobodyIsAskedAboutAnUnknownThatIsNotDurableYet() {
        MemoryStore real = new MemoryStore(InstantSource.system());
        try (FakeProvider provider = FakeProvider.start();
                Waybill engine = Waybill.store(slow(real, provider))
                        .options(WEAK)
                        .allowAddresses(List.of("127.0.0.1:" + provider.port()))
                        .open()) {
            provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenDrop()));
            engine.sequences().publish("default", Json.parseDefinition("""
                    {"name":"pay","blocks":[{"type":"step","id":"charge","handler":"http_request","params":{"method":"POST","url":"$P/charges",
                      "body":{"order":"o1"}},"effect":{"settle":0,"verify":{"params":{"method":"GET","url":"$P/charges?order=o1"},
                      "landed":"= body.count > 0","absent":"= body.count = 0","output":"= body.items[0]","every":200}}}]}"""
                    .replace("$P", provider.url(""))));
            UUID id = engine.runs().start(StartRequest.of("pay", Json.NODES.objectNode())).id();
            RunView run = engine.runs().await("default", id, EngineLab.PATIENCE);
            assertThat(run.state()).isEqualTo(InstanceState.COMPLETED);
            assertThat(engine.runs().effects("default", run.id()).getFirst().state()).isEqualTo(EffectState.VERIFIED);
            assertThat(journals).as("what stood there when the verdict n=2 was written").containsExactly(List.of(1));
        }
    }

    private Store slow(MemoryStore real, FakeProvider provider) {
        return (Store) Proxy.newProxyInstance(Store.class.getClassLoader(), new Class<?>[] {Store.class}, (proxy, method, arguments) -> {
            if (method.getName().equals("commit") && carriesUnknown((List<?>) arguments[1])) {
                try {
                    Awaitility.await().atMost(ON_ITS_WAY).until(() -> provider.seen(asked -> asked.method().equals("GET")) > 0);
                    // It was: now its verdict may be faster than this.
                    Awaitility.await().atMost(ON_ITS_WAY).until(() -> !journals.isEmpty());
                } catch (ConditionTimeoutException nobodyAsks) {
                    // As it should be.
                }
            }
            if (method.getName().equals("settleFromOutside") && !((OutsideMove) arguments[0]).journal().isEmpty()) {
                journals.add(real.load(((OutsideMove) arguments[0]).instance()).orElseThrow().journal().stream().map(JournalRow::n).toList());
            }
            try {
                return method.invoke(real, arguments);
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        });
    }

    private static boolean carriesUnknown(List<?> batch) {
        return batch.stream().anyMatch(one -> ((Commit) one).settles().stream().anyMatch(row -> row.to() == EffectState.UNKNOWN));
    }
}
