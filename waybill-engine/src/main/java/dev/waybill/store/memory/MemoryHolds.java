package dev.waybill.store.memory;

import dev.waybill.model.InstanceKey;
import dev.waybill.store.AuditRow;
import dev.waybill.store.DestinationHolds;
import dev.waybill.store.Event;
import dev.waybill.store.HoldEvents;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BiConsumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** Only the live database has holds here: a standby that is promoted has forgotten them, which lets through and never sends twice. */
final class MemoryHolds implements DestinationHolds {
    private static final class Row {
        boolean held;
        Instant since;
        String name;
        String actor = POLICY;
        String reason = "";
        @Nullable Instant probeAt;
        @Nullable UUID probe;
        final Map<UUID, Instant> unknowns = new HashMap<>();

        Row(Instant since, String name) {
            this.since = since;
            this.name = name;
        }
    }

    private record Key(String tenant, String destination) {}

    private final ReentrantLock lock;
    private final Supplier<Instant> now;
    private final BiConsumer<InstanceKey, Event> outbox;
    private final BiConsumer<String, AuditRow> audit;
    private final Map<Key, Row> rows = new HashMap<>();

    MemoryHolds(ReentrantLock lock, Supplier<Instant> now, BiConsumer<InstanceKey, Event> outbox, BiConsumer<String, AuditRow> audit) {
        this.lock = lock;
        this.now = now;
        this.outbox = outbox;
        this.audit = audit;
    }

    @Override
    public Admission admit(Place place, UUID receipt, Duration probe) {
        return locked(() -> {
            Row row = rows.get(key(place));
            if (row == null || !row.held) {
                return new Admission.Go();
            }
            Instant at = now.get();
            if (row.probeAt != null && receipt.equals(row.probe)) {
                return new Admission.Probe();
            }
            if (row.probeAt == null || row.probeAt.isAfter(at)) {
                long left = row.probeAt == null ? probe.toMillis() : Duration.between(at, row.probeAt).toMillis() + 1;
                return new Admission.Held(Math.min(left, probe.toMillis()));
            }
            row.probeAt = at.plus(probe);
            row.probe = receipt;
            return new Admission.Probe();
        });
    }

    @Override
    public boolean unknown(Place place, UUID receipt, InstanceKey at, int unknowns, Duration within, Duration probe) {
        return locked(() -> {
            Instant time = now.get();
            Row row = known(place, time);
            row.unknowns.putIfAbsent(receipt, time);
            row.unknowns.values().removeIf(one -> !one.isAfter(time.minus(within)));
            if (row.held || row.unknowns.size() < unknowns) {
                return false;
            }
            become(row, true, time, time.plus(probe), POLICY, DestinationHolds.why(unknowns, within));
            outbox.accept(at, HoldEvents.event(place, true, POLICY, row.reason, receipt));
            return true;
        });
    }

    @Override
    public boolean answered(Place place, UUID probe, InstanceKey at) {
        return locked(() -> {
            Row row = rows.get(key(place));
            if (row == null || !row.held || row.probeAt == null || !probe.equals(row.probe)) {
                return false;
            }
            Instant time = now.get();
            become(row, false, time, null, POLICY, "the probe was answered");
            row.unknowns.clear();
            outbox.accept(at, HoldEvents.event(place, false, POLICY, row.reason, probe));
            return true;
        });
    }

    @Override
    public boolean set(Place place, boolean held, String actor, String reason) {
        return locked(() -> {
            Instant time = now.get();
            Row row = known(place, time);
            if (row.held == held && !(held && row.probeAt != null)) {
                return false;
            }
            become(row, held, time, null, actor, reason);
            row.unknowns.clear();
            outbox.accept(DestinationHolds.nowhere(place.tenant()), HoldEvents.event(place, held, actor, reason, null));
            audit.accept(place.tenant(), HoldEvents.audit(place, held, actor, reason));
            return true;
        });
    }

    @Override
    public List<Standing> list(@Nullable String tenant) {
        return locked(() -> {
            List<Standing> all = new ArrayList<>();
            rows.forEach((key, row) -> {
                if (tenant == null || tenant.equals(key.tenant)) {
                    all.add(new Standing(
                            new Place(key.tenant, key.destination, row.name), row.held, row.since, row.actor, row.reason, row.unknowns.size(), row.probeAt));
                }
            });
            all.sort(Comparator.comparing((Standing one) -> one.place().tenant(), MemoryInstance.BY_UTF8)
                    .thenComparing(one -> one.place().destination(), MemoryInstance.BY_UTF8));
            return all;
        });
    }

    private static void become(Row row, boolean held, Instant since, @Nullable Instant probeAt, String actor, String reason) {
        row.held = held;
        row.since = since;
        row.probeAt = probeAt;
        row.probe = null;
        row.actor = actor;
        row.reason = reason;
    }

    private Row known(Place place, Instant time) {
        Row row = rows.computeIfAbsent(key(place), _ -> new Row(time, place.name()));
        row.name = place.name();
        return row;
    }

    private static Key key(Place place) {
        return new Key(place.tenant(), place.destination());
    }

    private <T> T locked(Supplier<T> work) {
        lock.lock();
        try {
            return work.get();
        } finally {
            lock.unlock();
        }
    }
}
