package dev.waybill.store.memory;

import dev.waybill.model.Claim;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.InstanceState;
import dev.waybill.store.Commit;
import dev.waybill.store.CommitAnswer;
import dev.waybill.store.CommitAnswer.IntentAnswer;
import dev.waybill.store.CommitAnswer.ReleaseAnswer;
import dev.waybill.store.DestinationHolds;
import dev.waybill.store.DeskStore;
import dev.waybill.store.Durability;
import dev.waybill.store.Event;
import dev.waybill.store.InstanceSnapshot;
import dev.waybill.store.InvariantRows.Holder;
import dev.waybill.store.OutsideAnswer;
import dev.waybill.store.OutsideMove;
import dev.waybill.store.Queries;
import dev.waybill.store.ReceiptRow;
import dev.waybill.store.Release;
import dev.waybill.store.SequenceStore;
import dev.waybill.store.Start;
import dev.waybill.store.StartAnswer;
import dev.waybill.store.Store;
import dev.waybill.store.StoreException;
import dev.waybill.store.TextRule;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import dev.waybill.model.EffectState;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The store as a model: what the databases must do, said in plain Java. One lock makes a verb atomic, every map is ordered, time comes
 * from outside and nothing is random, so that the same calls give the same answers. Its state is the committed state of a database that
 * survives every engine that dies on it; {@link Faults} loses answers and connections.
 */
public final class MemoryStore implements Store {
    private static final Comparator<InstanceKey> BY_KEY =
            Comparator.comparing(InstanceKey::tenant, MemoryInstance.BY_UTF8).thenComparing(key -> key.id().toString());

    private record DedupKey(String tenant, String scope, String key) {}

    private record ReceiptKey(String tenant, UUID id) {}

    record Node(UUID id, String name, Instant startedAt, Instant expiresAt, boolean fenced) {}

    private final InstantSource clock;
    private final MemoryGuards guards = new MemoryGuards(this::unresolved);
    private final Faults faults;
    private final ReentrantLock lock = new ReentrantLock();
    private final Map<InstanceKey, MemoryInstance> instances = new TreeMap<>(BY_KEY);
    private final DueQueue due = new DueQueue(BY_KEY);
    private final Map<ReceiptKey, MemoryInstance> receipts = new HashMap<>();
    private final Map<DedupKey, StartAnswer.Existing> dedup = new HashMap<>();
    private final Map<UUID, Node> nodes = new LinkedHashMap<>();
    private final List<Queries.Change> changes = new ArrayList<>();
    private final List<MemoryQueries.Audited> audit = new ArrayList<>();
    private final MemorySequences sequences;
    private final MemoryHolds holds;
    private final MemoryQueries queries;
    private final MemoryDesk desk;
    private final List<Runnable> listeners = new CopyOnWriteArrayList<>();
    private Instant newest = Instant.EPOCH;

    public MemoryStore(InstantSource clock) {
        this(clock, Faults.NONE);
    }

    /**
     * @param clock database time; readings are cut to microseconds and never go back
     */
    public MemoryStore(InstantSource clock, Faults faults) {
        this.clock = clock;
        this.faults = faults;
        this.sequences = new MemorySequences(lock, this::now);
        this.holds = new MemoryHolds(
                lock, this::now, (at, event) -> publish(at, List.of(event), now()),
                (tenant, row) -> audit.add(new MemoryQueries.Audited(tenant, new Queries.AuditEntry(now(), row))));
        this.queries = new MemoryQueries(lock, instances, changes, audit, nodes);
        this.desk = new MemoryDesk(lock, instances);
    }

    @Override
    public void migrate() {}

    @Override
    public Durability durability() {
        return new Durability(List.of("the store is memory: everything is lost when the process ends"), List.of());
    }

    @Override
    public String description() {
        return "memory";
    }

    @Override
    public String historyId() {
        return "";
    }

    // --- replicas --------------------------------------------------------------------------------------------------------------

    /** What a standby has received of the database: everything except the published sequences, which are never behind here. */
    public final class Replica {
        private final List<MemoryInstance> copies = instances.values().stream().map(MemoryInstance::copy).toList();
        private final Map<DedupKey, StartAnswer.Existing> keys = new HashMap<>(dedup);
        private final Map<UUID, Node> members = new LinkedHashMap<>(nodes);
        private final List<Queries.Change> outbox = List.copyOf(changes);
        private final List<MemoryQueries.Audited> audited = List.copyOf(audit);
        private final MemoryGuards.Copy held = guards.copy();

        private Replica() {}
    }

    /** As of now. */
    public Replica replica() {
        lock.lock();
        try {
            return new Replica();
        } finally {
            lock.unlock();
        }
    }

    /** From here on the replica, used once, is the database: what was committed after it was taken is lost. */
    public void promote(Replica replica) {
        lock.lock();
        try {
            instances.clear();
            due.clear();
            receipts.clear();
            for (MemoryInstance instance : replica.copies) {
                InstanceKey key = instance.start.instance();
                instances.put(key, instance);
                instance.receipts.values().forEach(row -> receipts.put(new ReceiptKey(key.tenant(), row.id()), instance));
                due.add(instance);
            }
            guards.restore(replica.held);
            dedup.clear();
            dedup.putAll(replica.keys);
            nodes.clear();
            nodes.putAll(replica.members);
            changes.clear();
            changes.addAll(replica.outbox);
            audit.clear();
            audit.addAll(replica.audited);
        } finally {
            lock.unlock();
        }
    }

    // --- nodes -----------------------------------------------------------------------------------------------------------------

    @Override
    public void registerNode(UUID node, String name, Duration lease) {
        verb(Faults.Verb.REGISTER_NODE, () -> {
            Instant now = now();
            Node known = nodes.get(node);
            return nodes.put(node, known == null
                    ? new Node(node, name, now, now.plus(lease), false)
                    : new Node(node, name, known.startedAt(), now.plus(lease), known.fenced()));
        });
    }

    @Override
    public boolean heartbeat(UUID node, Duration lease) {
        return verb(Faults.Verb.HEARTBEAT, () -> {
            Instant now = now();
            Node known = nodes.computeIfPresent(node, (_, old) -> old.fenced()
                    ? old
                    : new Node(old.id(), old.name(), old.startedAt(), now.plus(lease), false));
            return known != null && !known.fenced();
        });
    }

    @Override
    public void fence(UUID node) {
        verb(Faults.Verb.FENCE, () -> nodes.computeIfPresent(node, (_, old) -> fenced(old)));
    }

    @Override
    public int fenceAndFree(int limit) {
        int freed = verb(Faults.Verb.FENCE_AND_FREE, () -> {
            Instant now = now();
            nodes.replaceAll((_, node) -> node.expiresAt().isAfter(now) ? node : fenced(node));
            int count = 0;
            for (MemoryInstance instance : instances.values()) {
                Node owner = instance.claimNode == null ? null : nodes.get(instance.claimNode);
                if (owner != null && owner.fenced() && count < limit) {
                    instance.claim = new Claim(instance.claim.epoch() + 1, MemoryInstance.NO_NONCE);
                    instance.claimNode = null;
                    instance.takeovers++;
                    move(instance, InstanceState.SCHEDULED, now, now);
                    count++;
                }
            }
            return count;
        });
        if (freed > 0) {
            tell();
        }
        return freed;
    }

    private static Node fenced(Node node) {
        return new Node(node.id(), node.name(), node.startedAt(), node.expiresAt(), true);
    }

    private boolean alive(UUID node, Instant now) {
        Node known = nodes.get(node);
        return known != null && !known.fenced() && known.expiresAt().isAfter(now);
    }

    // --- admission -------------------------------------------------------------------------------------------------------------

    @Override
    public List<StartAnswer> start(UUID node, List<Start> batch) {
        List<StartAnswer> answers = verb(Faults.Verb.START, () -> {
            Instant now = now();
            boolean alive = alive(node, now);
            return batch.stream().map(start -> start(start, node, alive, now)).toList();
        });
        tell();
        return answers;
    }

    private StartAnswer start(Start start, UUID node, boolean alive, Instant now) {
        String scope = Objects.requireNonNullElse(start.dedupScope(), "");
        DedupKey key = start.dedupKey() == null ? null : new DedupKey(start.instance().tenant(), scope, start.dedupKey());
        StartAnswer.Existing existing = key == null ? null : dedup.get(key);
        if (existing != null) {
            return existing;
        }
        if (instances.containsKey(start.instance())) {
            return new StartAnswer.Existing(start.instance().id(), null);
        }
        MemoryInstance instance = new MemoryInstance(start, now);
        instances.put(start.instance(), instance);
        if (key != null) {
            dedup.put(key, new StartAnswer.Existing(start.instance().id(), start.payloadSha256()));
        }
        boolean claimed = start.claim() != null && alive;
        if (start.claim() != null && alive) {
            instance.claim = start.claim();
            instance.claimNode = node;
            move(instance, InstanceState.RUNNING, null, now);
        } else {
            move(instance, InstanceState.SCHEDULED, MemoryInstance.later(now, start.fireInMillis()), now);
        }
        return new StartAnswer.Created(claimed, now);
    }

    // --- the owner -------------------------------------------------------------------------------------------------------------

    @Override
    public List<CommitAnswer> commit(UUID node, List<Commit> batch, boolean again) {
        Set<InstanceKey> members = new HashSet<>();
        for (Commit commit : batch) {
            if (!members.add(commit.instance())) {
                throw new IllegalArgumentException("two members of the batch move " + commit.instance());
            }
        }
        List<CommitAnswer> answers = verb(Faults.Verb.COMMIT, () -> {
            Instant now = now();
            boolean alive = alive(node, now);
            return batch.stream().map(commit -> commit(commit, node, alive, now)).toList();
        });
        tell();
        return answers;
    }

    private CommitAnswer commit(Commit submitted, UUID node, boolean nodeAlive, Instant now) {
        MemoryInstance instance = instances.get(submitted.instance());
        if (instance == null) {
            return new CommitAnswer.ClaimLost();
        }
        // Who was fenced and came back under another id sends nothing under the old claim.
        boolean alive = nodeAlive && (instance.claimNode == null || node.equals(instance.claimNode));
        Commit asked = submitted;
        Commit commit = TextRule.UTF8.kept(asked);
        UUID transition = commit.transitionId();
        boolean held = instance.heldUnder(commit.claim());
        if (transition.equals(instance.ownerTransition)
                || instance.wrote(transition, commit.settles(), commit.rows(), commit.intents())) {
            Map<String, Holder> duplicates = guards.duplicates(commit, now);
            boolean sent = !commit.intents().isEmpty()
                    && commit.intents().stream()
                            .allMatch(intent -> duplicates.containsKey(intent.path()) || instance.wrote(transition, intent));
            boolean released = commit.release() != null && !held;
            return settled(instance, asked, commit, sent, released, alive, now).with(duplicates);
        }
        if (!held) {
            return new CommitAnswer.ClaimLost();
        }
        boolean send = alive && !commit.held(instance.cancelRequested, instance.pauseRequested) && !commit.overtaken(instance.wakeSeq)
                && !commit.intents().isEmpty();
        Map<String, Holder> duplicates = send ? guards.duplicates(commit, now) : Map.of();
        if (!duplicates.isEmpty()) {
            boolean storable = commit == asked;
            asked = asked.withoutIntents(duplicates.keySet());
            commit = storable ? asked : commit.withoutIntents(duplicates.keySet());
            send = !commit.intents().isEmpty();
        }
        String conflict = instance.conflict(commit.settles(), commit.rows());
        if (conflict == null && send) {
            conflict = conflict(instance, commit.intents());
        }
        if (conflict == null) {
            conflict = MemoryInstance.unlawful(commit.settles());
        }
        if (conflict != null) {
            return new CommitAnswer.Conflict(conflict);
        }

        instance.ownerTransition = transition;
        instance.updatedAt = now;
        commit.settles().forEach(row -> instance.add(row, now));
        commit.rows().forEach(row -> instance.add(row, now));
        if (send) {
            commit.intents().forEach(row -> add(instance, row, now));
            guards.take(commit, now);
        }
        if (commit.resetTakeover()) {
            instance.takeovers = 0;
        }
        publish(instance, commit.events(), now);
        Release release = commit.release();
        boolean released = release != null && release.expectedWakeSeq() == instance.wakeSeq;
        if (release != null && released) {
            release(instance, release, now);
        }
        guards.free(commit.instance(), commit.invariants().freed(released));
        commit.invariants()
                .results(released)
                .forEach(result -> instance.invariantResults.add(new Queries.InvariantResult(instance.start.instance(), result, now)));
        return settled(instance, asked, commit, send, released, alive, now).with(duplicates);
    }

    private void release(MemoryInstance instance, Release release, Instant now) {
        boolean looksAgain = !release.to().terminal() && release.to() != InstanceState.PAUSED && release.fireInMillis() != null;
        instance.claimNode = null;
        instance.reasons = release.reasons();
        instance.outcome = release.outcome();
        move(instance, release.to(), looksAgain ? MemoryInstance.later(now, Objects.requireNonNull(release.fireInMillis())) : null, now);
        publish(instance, release.events(), now);
    }

    private static CommitAnswer.Settled settled(
            MemoryInstance instance, Commit asked, Commit kept, boolean sent, boolean released, boolean alive, Instant now) {
        IntentAnswer intents;
        if (asked.intents().isEmpty()) {
            intents = IntentAnswer.NONE;
        } else if (sent) {
            intents = IntentAnswer.DISPATCHED;
        } else {
            intents = IntentAnswer.held(
                    alive, asked.held(instance.cancelRequested, instance.pauseRequested), asked.overtaken(instance.wakeSeq));
        }
        ReleaseAnswer release = asked.release() == null ? ReleaseAnswer.NONE : released ? ReleaseAnswer.RELEASED : ReleaseAnswer.NEWS;
        return new CommitAnswer.Settled(
                intents, release, instance.wakeSeq, instance.cancelRequested, instance.pauseRequested, kept != asked, now);
    }

    private boolean unresolved(InstanceKey key, String path) {
        MemoryInstance instance = Objects.requireNonNull(instances.get(key));
        return instance.receipts.values().stream()
                .filter(it -> it.path().equals(path))
                .map(it -> MemoryInstance.stateOf(it, instance.last(it)))
                .anyMatch(Set.of(EffectState.PREPARED, EffectState.DISPATCHED, EffectState.UNKNOWN)::contains);
    }

    private @Nullable String conflict(MemoryInstance instance, List<ReceiptRow> rows) {
        for (ReceiptRow row : rows) {
            if (instance.receipts.containsKey(MemoryInstance.position(row))
                    || receipts.containsKey(new ReceiptKey(instance.start.instance().tenant(), row.id()))) {
                return "receipt " + row.id() + " " + row.path() + "#" + row.attempt();
            }
        }
        return null;
    }

    private void add(MemoryInstance instance, ReceiptRow row, Instant now) {
        instance.add(row, now);
        receipts.put(new ReceiptKey(instance.start.instance().tenant(), row.id()), instance);
    }

    private void publish(MemoryInstance instance, List<Event> events, Instant now) {
        publish(instance.start.instance(), events, now);
    }

    private void publish(InstanceKey at, List<Event> events, Instant now) {
        for (Event event : events) {
            changes.add(new Queries.Change(Integer.toString(changes.size() + 1), at, event.type(), event.payload(), event.subject(), now));
        }
    }

    // --- whoever is not the owner ----------------------------------------------------------------------------------------------

    @Override
    public OutsideAnswer settleFromOutside(OutsideMove move) {
        OutsideAnswer answer = verb(Faults.Verb.SETTLE_FROM_OUTSIDE, () -> outside(move, now()));
        tell();
        return answer;
    }

    private OutsideAnswer outside(OutsideMove move, Instant now) {
        String unlawful = MemoryInstance.unlawful(move.journal());
        if (unlawful != null) {
            throw new StoreException("the journal refuses a row", new IllegalStateException(unlawful));
        }
        MemoryInstance instance = instances.get(move.instance());
        if (instance == null) {
            return new OutsideAnswer.NotFound();
        }
        UUID transition = move.transitionId();
        if (transition.equals(instance.outsideTransition)
                || instance.wrote(transition, move.journal(), move.rows(), move.missingReceipts())) {
            return new OutsideAnswer.Applied(instance.state, instance.wakeSeq, instance.claimNode);
        }
        String conflict = null;
        if (!move.expectedStates().isEmpty() && !move.expectedStates().contains(instance.state)) {
            conflict = "state " + instance.state.wire();
        } else if (move.expectedWakeSeq() != null && move.expectedWakeSeq() != instance.wakeSeq) {
            conflict = "wake_seq " + instance.wakeSeq;
        } else {
            conflict = conflict(instance, move.missingReceipts());
        }
        if (conflict == null) {
            conflict = instance.conflict(move.journal(), move.rows());
        }
        if (conflict == null) {
            conflict = instance.elsewhere(move.continuing());
        }
        if (conflict != null) {
            return new OutsideAnswer.Conflict(instance.state, instance.wakeSeq, conflict);
        }

        instance.outsideTransition = transition;
        instance.updatedAt = now;
        instance.wakeSeq++;
        move.missingReceipts().forEach(row -> add(instance, row, now));
        move.journal().forEach(row -> instance.add(TextRule.UTF8.kept(row), now));
        move.evidence().forEach(row -> instance.add(row, now));
        move.rows().forEach(row -> instance.add(row, now));
        if (move.cancel() != null) {
            instance.cancelRequested = move.cancel();
        }
        if (move.pause() != null) {
            instance.pauseRequested = move.pause();
        }
        UUID owner = instance.claimNode;
        boolean paused = move.raiseEpoch() && voidClaim(instance, move.pauseReasons(), now);
        if (!paused && instance.claimNode == null && move.wakeFrom().contains(instance.state)) {
            move(instance, InstanceState.SCHEDULED, now, now);
        }
        publish(instance, move.events(), now);
        guards.free(move.instance(), move.freedGuards());
        if (move.audit() != null) {
            audit.add(new MemoryQueries.Audited(move.instance().tenant(), new Queries.AuditEntry(now, move.audit())));
        }
        return new OutsideAnswer.Applied(instance.state, instance.wakeSeq, owner);
    }

    /** True when the instance became paused. */
    private boolean voidClaim(MemoryInstance instance, @Nullable String pauseReasons, Instant now) {
        boolean claimed = instance.claimNode != null;
        instance.claim = new Claim(instance.claim.epoch() + 1, MemoryInstance.NO_NONCE);
        instance.claimNode = null;
        if (pauseReasons != null && !instance.state.terminal()) {
            instance.reasons = pauseReasons;
            move(instance, InstanceState.PAUSED, null, now);
            return true;
        }
        if (claimed) {
            move(instance, InstanceState.SCHEDULED, now, now);
        }
        return false;
    }

    // --- claims ----------------------------------------------------------------------------------------------------------------

    @Override
    public List<InstanceSnapshot> claim(UUID node, UUID nonce, int limit) {
        return verb(Faults.Verb.CLAIM, () -> {
            Instant now = now();
            if (!alive(node, now)) {
                return List.of();
            }
            List<InstanceSnapshot> claimed = new ArrayList<>();
            for (MemoryInstance instance : due.fairly(now, limit)) {
                instance.claim = new Claim(instance.claim.epoch() + 1, nonce);
                instance.claimNode = node;
                move(instance, InstanceState.RUNNING, null, now);
                claimed.add(instance.snapshot(now));
            }
            return claimed;
        });
    }

    @Override
    public long millisUntilNextDue(Duration horizon) {
        return verb(Faults.Verb.MILLIS_UNTIL_NEXT_DUE, () -> due.millisUntilNext(now(), horizon));
    }

    /** Every change of state goes through here: the queue of due instances follows {@code nextFireAt}. */
    private void move(MemoryInstance instance, InstanceState to, @Nullable Instant nextFireAt, Instant now) {
        due.remove(instance);
        instance.state = to;
        instance.nextFireAt = nextFireAt;
        instance.updatedAt = now;
        due.add(instance);
    }

    // --- reads -----------------------------------------------------------------------------------------------------------------

    @Override
    public List<InstanceKey> claimedUnder(UUID node, UUID nonce) {
        return verb(Faults.Verb.CLAIMED_UNDER, () -> instances.values().stream()
                .filter(instance -> node.equals(instance.claimNode) && nonce.equals(instance.claim.nonce()))
                .map(instance -> instance.start.instance())
                .sorted()
                .toList());
    }

    @Override
    public Optional<InstanceSnapshot> load(InstanceKey key) {
        return verb(Faults.Verb.LOAD, () -> Optional.ofNullable(instances.get(key)).map(instance -> instance.snapshot(now())));
    }

    @Override
    public List<UUID> existingReceipts(String tenant, Collection<UUID> ids) {
        return verb(Faults.Verb.EXISTING_RECEIPTS, () -> ids.stream()
                .filter(id -> receipts.containsKey(new ReceiptKey(tenant, id)))
                .toList());
    }

    @Override
    public Queries queries() {
        return queries;
    }

    @Override
    public DeskStore desk() {
        return desk;
    }

    @Override
    public SequenceStore sequences() {
        return sequences;
    }

    @Override
    public DestinationHolds holds() {
        return holds;
    }

    @Override
    public void onCommitConnection(ConnectionCheck check) {}

    @Override
    public void onNotification(Runnable listener) {
        listeners.add(listener);
    }

    @Override
    public void close() {}

    private void tell() {
        listeners.forEach(Runnable::run);
    }

    private Instant now() {
        Instant reading = clock.instant().truncatedTo(ChronoUnit.MICROS);
        newest = reading.isAfter(newest) ? reading : newest;
        return newest;
    }

    private <T extends @Nullable Object> T verb(Faults.Verb verb, Supplier<T> transaction) {
        faults.before(verb);
        lock.lock();
        T answer;
        try {
            answer = transaction.get();
        } finally {
            lock.unlock();
        }
        faults.after(verb);
        return answer;
    }
}
