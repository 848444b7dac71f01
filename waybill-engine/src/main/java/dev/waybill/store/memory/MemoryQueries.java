package dev.waybill.store.memory;

import dev.waybill.model.InstanceKey;
import dev.waybill.store.BlockRow;
import dev.waybill.store.EvidenceRow;
import dev.waybill.store.InstanceRecord;
import dev.waybill.store.JournalRow;
import dev.waybill.store.Queries;
import dev.waybill.store.ReceiptRow;
import dev.waybill.store.memory.MemoryStore.Node;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

final class MemoryQueries implements Queries {
    private static final JsonMapper JSON = new JsonMapper();

    record Audited(String tenant, AuditEntry entry) {}

    private record OpenKey(String tenant, String kind, String destination, String state) {}

    private final ReentrantLock lock;
    private final Map<InstanceKey, MemoryInstance> instances;
    private final List<Change> changes;
    private final List<Audited> audit;
    private final Map<UUID, Node> nodes;

    MemoryQueries(
            ReentrantLock lock,
            Map<InstanceKey, MemoryInstance> instances,
            List<Change> changes,
            List<Audited> audit,
            Map<UUID, Node> nodes) {
        this.lock = lock;
        this.instances = instances;
        this.changes = changes;
        this.audit = audit;
        this.nodes = nodes;
    }

    @Override
    public List<InstanceRecord> instances(InstanceFilter filter) {
        return locked(() -> of(filter.tenant())
                .map(MemoryInstance::record)
                .filter(record -> filter.states().isEmpty() || filter.states().contains(record.state()))
                .filter(record -> filter.sequenceId() == null || filter.sequenceId().equals(record.sequenceId()))
                .filter(record -> filter.after() == null
                        || record.key().id().toString().compareTo(filter.after().toString()) < 0)
                .filter(record -> filter.metadata().entrySet().stream()
                        .allMatch(wanted -> says(member(record.metadata(), wanted.getKey()), wanted.getValue())))
                .sorted(Comparator.<InstanceRecord, String>comparing(record -> record.key().id().toString()).reversed())
                .skip(filter.offset())
                .limit(filter.limit())
                .toList());
    }

    @Override
    public List<EffectView> effects(EffectFilter filter) {
        filter.requireBounded();
        return locked(() -> of(filter.tenant())
                .filter(instance -> filter.instance() == null || filter.instance().equals(instance.start.instance()))
                .flatMap(instance -> instance.receipts.values().stream()
                        .filter(receipt -> matches(filter, instance, receipt))
                        .map(receipt -> view(instance, receipt)))
                .filter(view -> filter.after() == null || place(view).compareTo(place(filter.after())) < 0)
                .sorted(Comparator.<EffectView, Place>comparing(view -> place(view)).reversed())
                .limit(filter.limit())
                .toList());
    }

    private record Place(Instant at, String id) implements Comparable<Place> {
        @Override
        public int compareTo(Place other) {
            int byTime = at.compareTo(other.at);
            return byTime != 0 ? byTime : id.compareTo(other.id);
        }
    }

    private static Place place(EffectView view) {
        return new Place(at(view.receipt()), view.receipt().id().toString());
    }

    private static Place place(String cursor) {
        int bar = cursor.indexOf('|');
        return new Place(Instant.parse(cursor.substring(0, bar)), cursor.substring(bar + 1));
    }

    private static boolean matches(EffectFilter filter, MemoryInstance instance, ReceiptRow receipt) {
        JournalRow last = instance.last(receipt);
        return (!filter.openOnly() || MemoryInstance.openAs(receipt, last) != null)
                && (filter.states().isEmpty() || filter.states().contains(MemoryInstance.stateOf(receipt, last)))
                && same(filter.execution(), receipt.execution())
                && same(filter.id(), receipt.id())
                && same(filter.block(), receipt.path())
                && same(filter.requestSha256(), receipt.requestSha256())
                && same(filter.fingerprint(), receipt.destinationFingerprint())
                && same(filter.idempotencyKey(), receipt.idempotencyKey())
                && same(filter.epoch(), receipt.claim().epoch())
                && same(filter.attempt(), receipt.attempt())
                && (filter.providerReceiptId() == null || providerIds(instance, receipt).contains(filter.providerReceiptId()))
                && (filter.label() == null || labelled(receipt, filter.label()))
                && (filter.from() == null || !at(receipt).isBefore(filter.from()))
                && (filter.to() == null || at(receipt).isBefore(filter.to()))
                && (filter.word() == null || named(filter.word(), filter.bounded(), instance, receipt));
    }

    private static boolean named(String word, boolean bounded, MemoryInstance instance, ReceiptRow receipt) {
        boolean byName = word.equals(receipt.id().toString())
                || word.equals(receipt.idempotencyKey())
                || providerIds(instance, receipt).contains(word);
        return byName
                || (bounded
                        && (word.equals(receipt.requestSha256())
                                || word.equals(receipt.destinationFingerprint())
                                || word.equals(receipt.path())
                                || labelled(receipt, word)));
    }

    private static boolean same(@Nullable Object wanted, @Nullable Object actual) {
        return wanted == null || wanted.equals(actual);
    }

    private static List<String> providerIds(MemoryInstance instance, ReceiptRow receipt) {
        TreeMap<Integer, JournalRow> moves = instance.journal.getOrDefault(MemoryInstance.position(receipt), new TreeMap<>());
        List<String> ids = new ArrayList<>();
        for (JournalRow move : moves.values()) {
            if (move.providerReceiptId() != null) {
                ids.add(move.providerReceiptId());
            }
        }
        return ids;
    }

    private static boolean labelled(ReceiptRow receipt, String value) {
        return receipt.labels() != null && JSON.readTree(receipt.labels()).valueStream().anyMatch(label -> says(label, value));
    }

    private static @Nullable JsonNode member(@Nullable String json, String name) {
        return json == null ? null : JSON.readTree(json).get(name);
    }

    private static boolean says(@Nullable JsonNode node, String value) {
        return node != null && node.isValueNode() && !node.isNull() && (node.isString() ? node.asString() : node.toString()).equals(value);
    }

    @Override
    public Optional<EffectView> effect(String tenant, UUID receiptId) {
        return locked(() -> of(tenant)
                .flatMap(instance -> instance.receipts.values().stream()
                        .filter(receipt -> receipt.id().equals(receiptId))
                        .map(receipt -> view(instance, receipt)))
                .findFirst());
    }

    private static EffectView view(MemoryInstance instance, ReceiptRow receipt) {
        JournalRow last = instance.last(receipt);
        return new EffectView(
                instance.start.instance(),
                receipt,
                MemoryInstance.stateOf(receipt, last),
                last == null ? null : MemoryInstance.withoutBody(last),
                since(receipt, last));
    }

    private static Instant since(ReceiptRow receipt, @Nullable JournalRow last) {
        return last == null ? at(receipt) : Objects.requireNonNull(last.at());
    }

    private static Instant at(ReceiptRow receipt) {
        return Objects.requireNonNull(receipt.at());
    }

    @Override
    public List<JournalRow> journal(InstanceKey key, String path, int attempt) {
        return locked(() -> Stream.ofNullable(instances.get(key))
                .flatMap(instance -> instance.journal.values().stream())
                .flatMap(moves -> moves.values().stream())
                .filter(row -> row.path().equals(path) && row.attempt() == attempt)
                .toList());
    }

    @Override
    public List<EvidenceRow> evidence(InstanceKey key, String path, int attempt) {
        return locked(() -> Stream.ofNullable(instances.get(key))
                .flatMap(instance -> instance.evidence.stream())
                .filter(row -> row.path().equals(path) && row.attempt() == attempt)
                .toList());
    }

    @Override
    public List<InvariantResult> invariantResults(String tenant, UUID execution) {
        return locked(() -> instances.values().stream()
                .filter(it -> it.start.instance().tenant().equals(tenant) && it.start.execution().equals(execution))
                .sorted(Comparator.comparing(it -> it.start.instance().id()))
                .flatMap(it -> it.invariantResults.stream())
                .toList());
    }

    @Override
    public List<BlockRow> blockRows(InstanceKey key) {
        return locked(() -> Stream.ofNullable(instances.get(key))
                .flatMap(instance -> instance.rows.values().stream())
                .flatMap(byN -> byN.values().stream())
                .toList());
    }

    @Override
    public List<OpenDepth> openDepth() {
        Comparator<OpenKey> order = Comparator.comparing(OpenKey::tenant, MemoryInstance.BY_UTF8)
                .thenComparing(OpenKey::kind)
                .thenComparing(OpenKey::destination, MemoryInstance.BY_UTF8)
                .thenComparing(OpenKey::state);
        return locked(() -> {
            Map<OpenKey, OpenDepth> depths = new TreeMap<>(order);
            for (MemoryInstance instance : instances.values()) {
                for (ReceiptRow receipt : instance.receipts.values()) {
                    JournalRow last = instance.last(receipt);
                    String state = MemoryInstance.openAs(receipt, last);
                    if (state != null) {
                        OpenKey key = new OpenKey(
                                instance.start.instance().tenant(), receipt.kind().wire(), receipt.destination(), state);
                        depths.merge(key, depth(key, 1, since(receipt, last)), (a, b) -> depth(
                                key, a.depth() + b.depth(), a.oldest().isBefore(b.oldest()) ? a.oldest() : b.oldest()));
                    }
                }
            }
            return List.copyOf(depths.values());
        });
    }

    @Override
    public List<OpenEffect> unknownEffects() {
        return locked(() -> instances.values().stream()
                .flatMap(instance -> instance.receipts.values().stream()
                        .filter(receipt -> "unknown".equals(MemoryInstance.openAs(receipt, instance.last(receipt))))
                        .map(receipt -> new OpenEffect(
                                instance.start.instance(), receipt.id(), receipt.path(), receipt.attempt(), receipt.kind().wire(),
                                receipt.destination(), since(receipt, instance.last(receipt)), receipt.labels())))
                .sorted(Comparator.comparing(OpenEffect::since).thenComparing(it -> it.id().toString()))
                .toList());
    }

    private static OpenDepth depth(OpenKey key, long depth, Instant oldest) {
        return new OpenDepth(key.tenant(), key.kind(), key.destination(), key.state(), depth, oldest);
    }

    @Override
    public List<Change> changes(@Nullable String tenant, @Nullable String after, int limit) {
        int seen = after == null ? 0 : Integer.parseInt(after);
        return locked(() -> changes.stream()
                .skip(seen)
                .filter(change -> tenant == null || tenant.equals(change.instance().tenant()))
                .limit(limit)
                .toList());
    }

    @Override
    public @Nullable String newestChange() {
        return locked(() -> changes.isEmpty() ? null : changes.getLast().cursor());
    }

    @Override
    public List<AuditEntry> audit(String tenant, @Nullable String subject, int limit) {
        return locked(() -> audit.reversed().stream()
                .filter(audited -> audited.tenant().equals(tenant))
                .map(Audited::entry)
                .filter(entry -> subject == null || subject.equals(entry.row().subject()))
                .limit(limit)
                .toList());
    }

    @Override
    public List<NodeView> nodes() {
        return locked(() -> nodes.values().stream()
                .map(node -> new NodeView(node.id(), node.name(), node.startedAt(), node.expiresAt(), node.fenced()))
                .toList());
    }

    private Stream<MemoryInstance> of(String tenant) {
        Collection<MemoryInstance> all = instances.values();
        return all.stream().filter(instance ->
                tenant.equals(InstanceFilter.ALL_TENANTS) || instance.start.instance().tenant().equals(tenant));
    }

    private <T extends @Nullable Object> T locked(Supplier<T> read) {
        lock.lock();
        try {
            return read.get();
        } finally {
            lock.unlock();
        }
    }
}
