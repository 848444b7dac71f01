package dev.waybill.store.memory;

import dev.waybill.store.Store;
import dev.waybill.store.StoreLab;
import dev.waybill.store.TickingClock;
import java.time.Duration;
import java.util.List;
import java.util.UUID;

/** The memory store, and time that the test moves. */
public final class MemoryLab extends StoreLab {
    private final TickingClock clock = new TickingClock(Duration.ofMillis(1));
    private final MemoryStore store;

    public MemoryLab(Faults faults) {
        store = new MemoryStore(clock, faults);
    }

    @Override
    public Store store() {
        return store;
    }

    @Override
    public void expireLease(UUID node) {
        // Time passes for everybody: the other nodes must go on with their heartbeats.
        List<UUID> others = store.queries().nodes().stream()
                .map(view -> view.node())
                .filter(other -> !other.equals(node))
                .toList();
        store.queries().nodes().stream()
                .filter(view -> view.node().equals(node))
                .forEach(view -> clock.advanceTo(view.expiresAt()));
        others.forEach(other -> store.heartbeat(other, Duration.ofHours(1)));
    }

    @Override
    public void close() {
        store.close();
    }
}
