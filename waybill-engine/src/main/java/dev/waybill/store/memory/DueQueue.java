package dev.waybill.store.memory;

import dev.waybill.model.InstanceKey;
import java.time.Duration;
import java.time.Instant;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;

/** Unclaimed instances that are or will be due, and who comes first. Not thread-safe: the store's lock guards it. */
final class DueQueue {
    private record Due(Instant at, InstanceKey key) {}

    private static final Comparator<MemoryInstance> URGENCY = Comparator.<MemoryInstance>comparingInt(instance -> -instance.start.priority())
            .thenComparing(instance -> Objects.requireNonNull(instance.nextFireAt))
            .thenComparing(instance -> instance.start.instance().id().toString());

    private final TreeMap<Due, MemoryInstance> waiting;

    DueQueue(Comparator<InstanceKey> byKey) {
        waiting = new TreeMap<>(Comparator.comparing(Due::at).thenComparing(Due::key, byKey));
    }

    /** By its {@code nextFireAt}; one that has none is not waiting. */
    void add(MemoryInstance instance) {
        if (instance.nextFireAt != null) {
            waiting.put(new Due(instance.nextFireAt, instance.start.instance()), instance);
        }
    }

    /** Before its {@code nextFireAt} changes. */
    void remove(MemoryInstance instance) {
        if (instance.nextFireAt != null) {
            waiting.remove(new Due(instance.nextFireAt, instance.start.instance()));
        }
    }

    void clear() {
        waiting.clear();
    }

    /** The first of every tenant comes before the second of any; among equals by priority, due time, id. */
    List<MemoryInstance> fairly(Instant now, int limit) {
        Map<String, List<MemoryInstance>> byTenant = new TreeMap<>(MemoryInstance.BY_UTF8);
        for (Map.Entry<Due, MemoryInstance> one : waiting.entrySet()) {
            if (one.getKey().at().isAfter(now)) {
                break;
            }
            byTenant.computeIfAbsent(one.getKey().key().tenant(), _ -> new ArrayList<>()).add(one.getValue());
        }
        byTenant.values().forEach(list -> list.sort(URGENCY));
        List<MemoryInstance> chosen = new ArrayList<>();
        for (int rank = 0; chosen.size() < limit; rank++) {
            int place = rank;
            List<MemoryInstance> round = byTenant.values().stream()
                    .filter(list -> list.size() > place)
                    .map(list -> list.get(place))
                    .sorted(URGENCY)
                    .toList();
            if (round.isEmpty()) {
                break;
            }
            chosen.addAll(round.subList(0, Math.min(round.size(), limit - chosen.size())));
        }
        return chosen;
    }

    /** 0 = now; at most the horizon. */
    long millisUntilNext(Instant now, Duration horizon) {
        if (waiting.isEmpty()) {
            return horizon.toMillis();
        }
        long micros = ChronoUnit.MICROS.between(now, waiting.firstKey().at());
        return Math.clamp(Math.ceilDiv(micros, 1_000L), 0, horizon.toMillis());
    }
}
