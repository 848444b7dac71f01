package dev.waybill.lab.sim;

import dev.waybill.EngineOptions;
import dev.waybill.json.Json;
import dev.waybill.model.InstanceKey;
import dev.waybill.store.Commit;
import dev.waybill.store.CommitAnswer;
import dev.waybill.store.InstanceSnapshot;
import dev.waybill.store.InvariantRows.Holder;
import dev.waybill.store.JournalRow;
import dev.waybill.store.OutsideMove;
import dev.waybill.store.ReceiptRow;
import dev.waybill.store.Start;
import dev.waybill.store.memory.MemoryStore;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ObjectNode;

/**
 * The database server as everybody outside of an engine sees it: who reaches it, what becomes of its commits, and what must hold of its
 * rows after each of them.
 */
final class Cluster {
    /** Legal moves of a receipt, written down again on purpose (semantics.md section 3). */
    private static final Map<String, Set<String>> LEGAL = Map.of(
            "planned", Set.of("prepared", "abandoned"),
            "prepared", Set.of("dispatched", "abandoned", "verified"),
            "dispatched", Set.of("committed", "unknown", "not_applied"),
            "unknown", Set.of("verified", "committed", "compensated", "abandoned", "not_applied"),
            "committed", Set.of("compensated"),
            "verified", Set.of("compensated"),
            "not_applied", Set.of(),
            "compensated", Set.of(),
            "abandoned", Set.of());

    private final World world;
    private final MemoryStore store;
    private final SplittableRandom random;
    private final List<String> violations;
    private final List<ObjectNode> faults = new ArrayList<>();
    private final Map<World.Process, Runnable> listeners = new LinkedHashMap<>();
    private final Map<World.Process, Long> cut = new HashMap<>();
    private final Map<InstanceKey, Long> epochs = new HashMap<>();
    private final Map<UUID, World.Process> heard = new LinkedHashMap<>();
    private final Set<UUID> commits = new HashSet<>();
    private final Map<InstanceKey, Integer> rows = new HashMap<>();
    private final Map<InstanceKey, String> ended = new HashMap<>();
    private boolean telling;
    private long downUntil;
    private long fullUntil;
    private int history = 1;
    private MemoryStore.@Nullable Replica behind;

    Cluster(World world, SplittableRandom random, List<String> violations) {
        this.world = world;
        this.random = random;
        this.violations = violations;
        this.store = new MemoryStore(world::instant);
        store.onNotification(this::tell);
    }

    /** The database itself, past every fault. */
    MemoryStore store() {
        return store;
    }

    int history() {
        return history;
    }

    // --- faults ----------------------------------------------------------------------------------------------------------------

    void cut(World.Process process, long nanos) {
        cut.put(process, world.nanos() + nanos);
    }

    void down(long nanos) {
        downUntil = Math.max(downUntil, world.nanos() + nanos);
    }

    void full(long nanos) {
        fullUntil = Math.max(fullUntil, world.nanos() + nanos);
    }

    /** Everybody's connection breaks; the next one leads to another server with the same rows. */
    void failover(long nanos) {
        history++;
        down(nanos);
    }

    /** A standby that receives nothing more from now on. */
    void lag() {
        behind = store.replica();
    }

    /**
     * The standby that lags becomes the database: what was committed since is gone, for ever and for everybody.
     *
     * @return whether anything of a run was lost
     */
    boolean failoverBehind(long nanos) {
        MemoryStore.Replica replica = behind;
        behind = null;
        failover(nanos);
        if (replica == null) {
            return false;
        }
        Map<InstanceKey, Integer> before = new HashMap<>(rows);
        store.promote(replica);
        epochs.clear();
        rows.clear();
        ended.clear();
        before.keySet().forEach(this::look);
        return !before.equals(rows);
    }

    void heal() {
        cut.clear();
        downUntil = 0;
        fullUntil = 0;
    }

    boolean reachable(World.Process process) {
        return world.nanos() >= downUntil && world.nanos() >= cut.getOrDefault(process, 0L);
    }

    boolean full() {
        return world.nanos() < fullUntil;
    }

    /** For the checker's fault log. */
    void struck(Fault fault, @Nullable String node, long nanos) {
        faults.add(Json.NODES
                .objectNode()
                .put("at", world.instant().toString())
                .put("until", world.instant().plusNanos(nanos).toString())
                .put("kind", fault.kind().name().toLowerCase(java.util.Locale.ROOT))
                .put("node", node));
    }

    /**
     * A node was asked to go.
     *
     * @return to be run when it has gone; it is held to what a drain promises only if nothing else happened to it or to the store meanwhile
     */
    Runnable draining(String node) {
        String at = world.instant().toString();
        ObjectNode asked = Json.NODES.objectNode().put("at", at).put("until", at).put("kind", "term").put("node", node);
        boolean clean = faults.stream().noneMatch(fault -> fault.path("until").asString().compareTo(at) > 0);
        int before = faults.size();
        faults.add(asked);
        return () -> {
            asked.put("until", world.instant().toString());
            boolean alone = faults.subList(before + 1, faults.size()).stream()
                    .allMatch(other -> other.path("node").isString() && !other.path("node").asString().equals(node));
            if (clean && alone) {
                asked.put("kind", "drain");
            }
        };
    }

    /** From here on nothing more is done. */
    void calm() {
        String now = world.instant().toString();
        faults.removeIf(fault -> fault.path("until").asString().compareTo(now) > 0 && fault.put("until", now).isEmpty());
        faults.add(Json.NODES.objectNode().put("at", now).put("until", now).put("kind", "calm"));
    }

    List<ObjectNode> faults() {
        return faults;
    }

    // --- hints -----------------------------------------------------------------------------------------------------------------

    void listen(World.Process process, Runnable listener) {
        listeners.put(process, listener);
    }

    /** A notification that comes a little later, once for many, and not at all to who is away. */
    private void tell() {
        if (telling) {
            return;
        }
        telling = true;
        world.after(random.nextLong(100_000, 3_000_000), () -> {
            telling = false;
            listeners.keySet().removeIf(World.Process::dead);
            listeners.forEach((process, listener) -> {
                if (reachable(process) && !world.frozen(process) && random.nextInt(10) > 0) {
                    listener.run();
                }
            });
        });
    }

    // --- what must hold after every commit --------------------------------------------------------------------------------------

    /** What the provider sees of a receipt over its own connection. */
    String stateOf(UUID receipt) {
        return store.queries().effect("default", receipt).map(view -> view.state().wire()).orElse("absent");
    }

    void done(World.Process process, String verb, Object @Nullable [] arguments, @Nullable Object answer) {
        switch (verb) {
            case "commit" -> {
                List<?> batch = (List<?>) java.util.Objects.requireNonNull(arguments)[1];
                List<?> answers = (List<?>) java.util.Objects.requireNonNull(answer);
                for (int i = 0; i < batch.size(); i++) {
                    Commit commit = (Commit) batch.get(i);
                    world.note(process.name, "commit " + told(commit) + " -> " + told((CommitAnswer) answers.get(i)));
                    look(commit.instance());
                    if (answers.get(i) instanceof CommitAnswer.Settled settled) {
                        mayDispatch(arguments[0], commit, settled);
                    }
                    // A repeat says what the first submission came to; who stood there may have ended since.
                    boolean first = commits.add(commit.transitionId());
                    if (first && batch.size() == 1 && answers.get(i) instanceof CommitAnswer.Settled settled) {
                        settled.duplicates().values().forEach(holder -> stands(commit.instance(), holder));
                    }
                }
            }
            case "outside" -> {
                OutsideMove move = (OutsideMove) java.util.Objects.requireNonNull(arguments)[0];
                world.note(process.name, "outside " + shorter(move.instance().id()) + " " + move.journal().stream().map(JournalRow::to).toList()
                        + (move.cancel() == null ? "" : " cancel") + (move.pause() == null ? "" : " pause=" + move.pause()) + " -> " + answer);
                look(move.instance());
            }
            case "start" -> {
                for (Object start : (List<?>) java.util.Objects.requireNonNull(arguments)[1]) {
                    world.note(process.name, "start " + shorter(((Start) start).instance().id()) + " -> " + answer);
                    look(((Start) start).instance());
                }
            }
            case "claim" -> {
                for (Object claimed : (List<?>) java.util.Objects.requireNonNull(answer)) {
                    InstanceSnapshot snapshot = (InstanceSnapshot) claimed;
                    world.note(process.name, "claims " + shorter(snapshot.instance().key().id()) + " epoch " + snapshot.instance().claim().epoch());
                    look(snapshot.instance().key());
                }
            }
            case "fenceAndFree" -> {
                if (answer instanceof Integer freed && freed > 0) {
                    world.note(process.name, "frees " + freed + " runs of dead nodes");
                }
            }
            case "heartbeat" -> {
                if (answer instanceof Boolean alive && !alive) {
                    world.note(process.name, "finds itself fenced");
                }
            }
            default -> {}
        }
    }

    /** Only a living node may dispatch (semantics.md section 4, Intent); a repeat only says what an earlier submission came to. */
    private void mayDispatch(Object node, Commit commit, CommitAnswer.Settled settled) {
        boolean now = settled.intents() == CommitAnswer.IntentAnswer.DISPATCHED
                && commit.intents().stream()
                        .flatMap(intent -> store.queries().effect("default", intent.id()).stream())
                        .anyMatch(view -> world.instant().equals(view.receipt().at()));
        expect(
                !now || store.queries().nodes().stream()
                        .anyMatch(one -> one.node().equals(node) && !one.fenced() && one.expiresAt().isAfter(world.instant())),
                commit.instance(), "a node whose lease has run out dispatched " + commit.intents());
    }

    /** The first byte of a request is about to leave. */
    void leaves(@Nullable String effect) {
        if (effect != null) {
            store.queries().effect("default", UUID.fromString(effect)).ifPresent(view -> {
                Instant at = view.receipt().at();
                expect(
                        at == null || !world.instant().isAfter(at.plus(EngineOptions.DEFAULT.sendDeadline())), view.instance(),
                        view.receipt().path() + " was dispatched at " + at + " and leaves at " + world.instant() + ": too late");
            });
        }
    }

    /** A whole answer has come back to a process. */
    void heard(World.Process process, @Nullable String effect) {
        if (effect != null) {
            heard.put(UUID.fromString(effect), process);
        }
    }

    /** What a process heard that lives on is in the ledger, whoever had the claim by then. */
    void nothingForgotten() {
        violations.addAll(forgotten());
    }

    /** Answers that were heard and are not in the ledger, or not yet. */
    List<String> forgotten() {
        List<String> forgotten = new ArrayList<>();
        heard.forEach((receipt, process) -> {
            if (!process.dead() && !world.frozen(process)) {
                store.queries().effect("default", receipt).ifPresent(view -> {
                    String path = view.receipt().path();
                    int attempt = view.receipt().attempt();
                    boolean told = store.queries().journal(view.instance(), path, attempt).stream().anyMatch(row -> row.actor().startsWith("engine"))
                            || store.queries().evidence(view.instance(), path, attempt).stream().anyMatch(row -> row.actor().startsWith("engine"));
                    if (!told) {
                        forgotten.add("run " + view.instance().id() + ": the answer to " + path + "#" + attempt + " that " + process.name
                                + " heard is nowhere");
                    }
                });
            }
        });
        return forgotten;
    }

    private static String told(Commit commit) {
        StringBuilder text = new StringBuilder(shorter(commit.instance().id())).append(" e").append(commit.claim().epoch());
        commit.settles().forEach(row -> text.append(' ').append(row.path()).append('#').append(row.attempt()).append('=').append(row.to().wire()));
        commit.rows().forEach(row -> text.append(' ').append(row.path()).append(':').append(row.kind()));
        commit.intents().forEach(row -> text.append(" intent ").append(row.path()).append('#').append(row.attempt()));
        if (commit.release() != null) {
            text.append(" release ").append(commit.release().to().wire());
        }
        return text.toString();
    }

    private static String told(CommitAnswer answer) {
        return answer instanceof CommitAnswer.Settled settled
                ? "settled, intents " + settled.intents() + ", release " + settled.release()
                : answer.toString();
    }

    private static String shorter(UUID id) {
        return id.toString().substring(28);
    }

    private void look(InstanceKey key) {
        InstanceSnapshot snapshot = store.load(key).orElse(null);
        if (snapshot == null) {
            return;
        }
        long epoch = snapshot.instance().claim().epoch();
        Long before = epochs.put(key, epoch);
        expect(before == null || epoch >= before, key, "the epoch fell from " + before + " to " + epoch);
        int count = snapshot.receipts().size() + snapshot.journal().size();
        Integer had = rows.put(key, count);
        expect(had == null || count >= had, key, "it had " + had + " rows and has " + count);
        Map<String, TreeMap<Integer, JournalRow>> journal = new HashMap<>();
        for (JournalRow row : snapshot.journal()) {
            journal.computeIfAbsent(row.path() + "#" + row.attempt(), place -> new TreeMap<>()).put(row.n(), row);
        }
        boolean flying = false;
        for (ReceiptRow receipt : snapshot.receipts()) {
            String place = receipt.path() + "#" + receipt.attempt();
            String state = receipt.prepared() ? "prepared" : "dispatched";
            TreeMap<Integer, JournalRow> moves = journal.getOrDefault(place, new TreeMap<>());
            int n = 0;
            for (JournalRow move : moves.values()) {
                String to = move.to().wire();
                boolean same = state.equals(to) && move.from() == move.to(); // an output that was supplied
                expect(move.n() == ++n, key, place + " has a gap before n=" + move.n());
                expect(move.from().wire().equals(state), key, place + " n=" + n + " starts from " + move.from().wire() + ", not " + state);
                expect(same || LEGAL.getOrDefault(state, Set.of()).contains(to), key, place + " moved from " + state + " to " + to);
                state = to;
            }
            flying |= state.equals("dispatched");
        }
        String state = snapshot.instance().state().wire();
        boolean over = state.equals("completed") || state.equals("failed") || state.equals("cancelled");
        expect(!over || !flying, key, "it is " + state + " with an effect in flight");
        String end = ended.get(key);
        expect(end == null || end.equals(state) || end.equals("failed"), key, "it was " + end + " and is " + state);
        if (over) {
            ended.put(key, state);
        }
    }

    /** Who holds a content has done it, or may have, or will: what ended without application is free in the same transaction. */
    private void stands(InstanceKey refused, Holder holder) {
        InstanceSnapshot snapshot = store.load(new InstanceKey(refused.tenant(), holder.instance())).orElse(null);
        if (snapshot == null) {
            return;
        }
        TreeMap<Integer, JournalRow> last = new TreeMap<>();
        snapshot.journal().stream()
                .filter(row -> row.path().equals(holder.path()))
                .forEach(row -> last.merge(row.attempt(), row, (a, b) -> a.n() > b.n() ? a : b));
        boolean over = snapshot.receipts().stream().filter(receipt -> receipt.path().equals(holder.path())).allMatch(receipt -> {
            JournalRow end = last.get(receipt.attempt());
            return end != null && LEGAL.getOrDefault(end.to().wire(), Set.of()).isEmpty();
        });
        JournalRow newest = last.isEmpty() ? null : last.lastEntry().getValue();
        expect(!over || newest == null || newest.retryInMillis() != null, refused, "it was refused for " + holder.path() + " of run "
                + holder.instance() + ", which ended without application");
    }

    private void expect(boolean holds, InstanceKey key, String otherwise) {
        if (!holds) {
            violations.add("run " + key.id() + ": " + otherwise);
        }
    }
}
