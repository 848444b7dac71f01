package dev.waybill.store.memory;

import dev.waybill.store.InvariantDeclaration;
import dev.waybill.store.SequenceRow;
import dev.waybill.store.SequenceStore;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

final class MemorySequences implements SequenceStore {
    private static final Comparator<SequenceRow> BY_NAME = Comparator.comparing(SequenceRow::namespace, MemoryInstance.BY_UTF8)
            .thenComparing(SequenceRow::name, MemoryInstance.BY_UTF8)
            .thenComparing(SequenceRow::version, Comparator.reverseOrder());

    private final ReentrantLock lock;
    private final Supplier<Instant> now;
    private final List<SequenceRow> rows = new ArrayList<>();
    private final List<InvariantDeclaration> invariants = new ArrayList<>();

    MemorySequences(ReentrantLock lock, Supplier<Instant> now) {
        this.lock = lock;
        this.now = now;
    }

    @Override
    public boolean insert(SequenceRow row) {
        return locked(() -> {
            boolean taken = of(row.tenant()).anyMatch(other -> other.id().equals(row.id())
                    || (other.namespace().equals(row.namespace())
                            && other.name().equals(row.name())
                            && other.version() == row.version()));
            return !taken && rows.add(with(row, row.deprecated(), now.get()));
        });
    }

    @Override
    public Optional<SequenceRow> get(String tenant, UUID id) {
        return locked(() -> of(tenant).filter(row -> row.id().equals(id)).findFirst());
    }

    @Override
    public Optional<SequenceRow> byName(String tenant, String namespace, String name, @Nullable Integer version) {
        return versions(tenant, namespace, name).stream()
                .filter(row -> version == null ? !row.deprecated() : row.version() == version)
                .findFirst();
    }

    @Override
    public List<SequenceRow> versions(String tenant, String namespace, String name) {
        return locked(() -> of(tenant)
                .filter(row -> row.namespace().equals(namespace) && row.name().equals(name))
                .sorted(BY_NAME)
                .toList());
    }

    @Override
    public List<SequenceRow> list(String tenant, @Nullable UUID after, int limit) {
        Optional<SequenceRow> last = after == null ? Optional.empty() : get(tenant, after);
        return locked(() -> of(tenant)
                .filter(row -> last.isEmpty() || BY_NAME.compare(row, last.get()) > 0)
                .sorted(BY_NAME)
                .limit(limit)
                .toList());
    }

    @Override
    public boolean deprecate(String tenant, UUID id) {
        return locked(() -> {
            Optional<SequenceRow> found = of(tenant).filter(row -> row.id().equals(id)).findFirst();
            found.ifPresent(row -> rows.set(rows.indexOf(row), with(row, true, row.createdAt())));
            return found.isPresent();
        });
    }

    @Override
    public boolean addInvariant(InvariantDeclaration invariant) {
        return locked(() -> {
            boolean possible = get(invariant.tenant(), invariant.sequence()).isPresent()
                    && invariants(invariant.tenant(), invariant.sequence()).stream().noneMatch(it -> it.name().equals(invariant.name()));
            return possible
                    && invariants.add(new InvariantDeclaration(
                            invariant.tenant(), invariant.sequence(), invariant.name(), invariant.definition(), now.get()));
        });
    }

    @Override
    public List<InvariantDeclaration> invariants(String tenant, UUID sequence) {
        return locked(() -> invariants.stream()
                .filter(it -> it.tenant().equals(tenant) && it.sequence().equals(sequence))
                .sorted(Comparator.comparing(InvariantDeclaration::name, MemoryInstance.BY_UTF8))
                .toList());
    }

    private Stream<SequenceRow> of(String tenant) {
        return rows.stream().filter(row -> row.tenant().equals(tenant));
    }

    private static SequenceRow with(SequenceRow row, boolean deprecated, @Nullable Instant createdAt) {
        return new SequenceRow(
                row.id(), row.tenant(), row.namespace(), row.name(), row.version(), deprecated, row.definition(), createdAt);
    }

    private <T> T locked(Supplier<T> read) {
        lock.lock();
        try {
            return read.get();
        } finally {
            lock.unlock();
        }
    }
}
