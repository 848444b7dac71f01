package dev.waybill.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.EngineOptions;
import dev.waybill.model.Claim;
import dev.waybill.model.InstanceKey;
import dev.waybill.store.Commit;
import dev.waybill.store.CommitAnswer;
import dev.waybill.store.Start;
import dev.waybill.store.Store;
import dev.waybill.store.memory.MemoryStore;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;

/** How moves share a transaction. */
class CommitterTest {

    /** Found by the simulator: the batch was refused, both turns and everybody else's in it died, and an answer that had been heard was gone. */
    @Test
    void twoTurnsOfOneRunThatMeetInABatchAreToldApart() throws InterruptedException {
        MemoryStore real = new MemoryStore(InstantSource.system());
        CountDownLatch writing = new CountDownLatch(1);
        CountDownLatch go = new CountDownLatch(1);
        Store store = (Store) Proxy.newProxyInstance(Store.class.getClassLoader(), new Class<?>[] {Store.class}, (proxy, method, arguments) -> {
            if (method.getName().equals("commit")) {
                writing.countDown();
                go.await();
            }
            try {
                return method.invoke(real, arguments);
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        });
        UUID node = UUID.randomUUID();
        real.registerNode(node, "n", Duration.ofHours(1));
        InstanceKey run = new InstanceKey("default", UUID.randomUUID());
        real.start(node, List.of(new Start(run, run.id(), UUID.randomUUID(), "default", 1, 0, "{}", null, null, null, null, null)));
        Claim claim = real.claim(node, UUID.randomUUID(), 1).getFirst().instance().claim();
        Ledger ledger = new Ledger(Host.SYSTEM, store, UUID::randomUUID, Meter.NONE);

        try (Committer committer = new Committer(Host.SYSTEM, store, () -> node, ledger, EngineOptions.DEFAULT.withCommitters(1), Meter.NONE)) {
            CompletableFuture<CommitAnswer> other = committer.submit(move(new InstanceKey("default", UUID.randomUUID()), claim));
            writing.await();
            CompletableFuture<CommitAnswer> old = committer.submit(move(run, new Claim(claim.epoch() - 1, UUID.randomUUID())));
            CompletableFuture<CommitAnswer> now = committer.submit(move(run, claim));
            go.countDown();

            assertThat(other.join()).isInstanceOf(CommitAnswer.ClaimLost.class);
            assertThat(old.join()).isInstanceOf(CommitAnswer.ClaimLost.class);
            assertThat(now.join()).isInstanceOf(CommitAnswer.Settled.class);
        }
    }

    private static Commit move(InstanceKey run, Claim claim) {
        return new Commit(run, claim, UUID.randomUUID(), List.of(), List.of(), List.of(), List.of(), null, false);
    }
}
