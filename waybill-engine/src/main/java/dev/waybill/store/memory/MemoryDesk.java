package dev.waybill.store.memory;

import dev.waybill.model.InstanceKey;
import dev.waybill.store.DeskStore;
import dev.waybill.store.EvidenceRow;
import dev.waybill.store.ReceiptRow;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.locks.ReentrantLock;

/** The desk's verbs, as a model. */
final class MemoryDesk implements DeskStore {
    private final ReentrantLock lock;
    private final Map<InstanceKey, MemoryInstance> instances;
    private final Map<String, String> kept = new HashMap<>();

    MemoryDesk(ReentrantLock lock, Map<InstanceKey, MemoryInstance> instances) {
        this.lock = lock;
        this.instances = instances;
    }

    @Override
    public List<FoundEvidence> evidenceOfKind(String tenant, String kind, int limit) {
        lock.lock();
        try {
            List<FoundEvidence> found = new ArrayList<>();
            instances.forEach((key, instance) -> {
                for (EvidenceRow row : instance.evidence) {
                    for (ReceiptRow receipt : instance.receipts.values()) {
                        boolean ours = receipt.path().equals(row.path()) && receipt.attempt() == row.attempt();
                        if (ours && key.tenant().equals(tenant) && row.kind().equals(kind)) {
                            found.add(new FoundEvidence(key, receipt.id(), new EvidenceRow(
                                    row.path(), row.attempt(), row.kind(), row.actor(), row.body(), null, row.at())));
                        }
                    }
                }
            });
            found.sort(Comparator.comparing((FoundEvidence one) -> Objects.requireNonNull(one.row().at())).reversed());
            return List.copyOf(found.subList(0, Math.min(limit, found.size())));
        } finally {
            lock.unlock();
        }
    }

    @Override
    public String keepOnce(String name, String value) {
        lock.lock();
        try {
            return kept.computeIfAbsent(name, _ -> value);
        } finally {
            lock.unlock();
        }
    }
}
