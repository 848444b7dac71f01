package dev.waybill.store;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.model.Claim;
import dev.waybill.model.EffectPosition;
import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.InstanceState;
import dev.waybill.store.Queries.EffectFilter;
import dev.waybill.store.Queries.InstanceFilter;
import dev.waybill.store.memory.Faults;
import dev.waybill.store.memory.MemoryLab;
import java.lang.reflect.RecordComponent;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.function.Function;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Random histories of verbs, played against the memory store and another: every answer and everything that can be read must be the
 * same but for times. A failure names its seed; {@code -Dwaybill.seed=N} plays that one alone,
 * {@code -Dwaybill.histories=N} plays more.
 */
public abstract class StoreDifferential {
    private static final int STEPS = 60;

    /** How many histories a run plays. */
    private static final int HISTORIES = Integer.getInteger("waybill.histories", 100);

    protected abstract StoreLab open() throws Exception;

    @Test
    void randomHistoriesGiveTheSameAnswersAsTheModel() throws Exception {
        Long only = Long.getLong("waybill.seed");
        try (StoreLab model = new MemoryLab(Faults.NONE);
                StoreLab subject = open()) {
            for (long seed = only == null ? 1 : only; seed <= (only == null ? HISTORIES : only); seed++) {
                new History(seed, model, subject).play();
            }
        }
    }

    /** One history has tenants of its own, so that many can share a database. */
    private static final class History {
        private final Random random;
        private final long seed;
        private final StoreLab model;
        private final StoreLab subject;
        private final List<String> tenants;
        private final List<InstanceKey> keys = new ArrayList<>();
        private final List<UUID> nodes = new ArrayList<>();
        private final Map<InstanceKey, List<Claim>> claims = new LinkedHashMap<>();
        private final List<Commit> commits = new ArrayList<>();
        private final List<OutsideMove> moves = new ArrayList<>();
        private String doing = "";

        History(long seed, StoreLab model, StoreLab subject) {
            this.seed = seed;
            this.random = new Random(seed);
            this.model = model;
            this.subject = subject;
            this.tenants = List.of("acme-" + seed, "Globex-" + seed);
        }

        void play() {
            register();
            register();
            for (int step = 0; step < STEPS; step++) {
                switch (random.nextInt(12)) {
                    case 0, 1 -> start();
                    case 2, 3 -> claim();
                    case 4, 5, 6, 7 -> commit();
                    case 8, 9 -> outside();
                    case 10 -> lease();
                    default -> repeat();
                }
            }
            compareAll();
            // The next history shares the database: nothing of this one may be due or held any more.
            nodes.forEach(node -> both("fence", lab -> {
                lab.store().fence(node);
                return true;
            }));
            both("free", lab -> lab.store().fenceAndFree(10_000));
            UUID sweeper = register();
            UUID nonce = id();
            both("sweep", lab -> lab.store().claim(sweeper, nonce, 10_000).size());
        }

        // --- verbs -------------------------------------------------------------------------------------------------------------

        private UUID register() {
            UUID node = id();
            nodes.add(node);
            both("registerNode", lab -> {
                lab.store().registerNode(node, "n", Duration.ofHours(1));
                return true;
            });
            return node;
        }

        private void start() {
            UUID node = pick(nodes);
            List<Start> batch = new ArrayList<>();
            for (int i = random.nextInt(3); i >= 0; i--) {
                InstanceKey key = !keys.isEmpty() && random.nextInt(10) == 0 ? pick(keys) : new InstanceKey(pick(tenants), id());
                String dedup = random.nextInt(3) == 0 ? "k" + random.nextInt(3) : null;
                Claim claim = random.nextBoolean() ? new Claim(1, id()) : null;
                batch.add(new Start(
                        key, key.id(), id(), "default", random.nextInt(4), random.nextInt(4) == 0 ? 30L * 86_400_000 : 0, "{}",
                        "{\"n\":" + random.nextInt(3) + "}", dedup == null ? null : "s", dedup, dedup == null ? null : "hash" + i, claim));
            }
            List<StartAnswer> answers = both("start " + batch, lab -> lab.store().start(node, batch));
            for (int i = 0; i < answers.size(); i++) {
                Start start = batch.get(i);
                if (answers.get(i) instanceof StartAnswer.Created created) {
                    keys.add(start.instance());
                    claims.put(start.instance(), new ArrayList<>());
                    if (created.claimed()) {
                        claims.get(start.instance()).add(start.claim());
                    }
                }
            }
        }

        private void claim() {
            UUID node = pick(nodes);
            UUID nonce = id();
            int limit = random.nextInt(3) == 0 ? 100 : random.nextInt(4);
            List<InstanceSnapshot> claimed = both("claim " + limit, lab -> lab.store().claim(node, nonce, limit).stream()
                    .sorted((a, b) -> a.instance().key().toString().compareTo(b.instance().key().toString()))
                    .toList());
            claimed.forEach(snapshot -> claims.get(snapshot.instance().key()).add(snapshot.instance().claim()));
        }

        private void commit() {
            Set<InstanceKey> members = new HashSet<>();
            List<Commit> batch = new ArrayList<>();
            for (int i = random.nextInt(4); i >= 0; i--) {
                List<InstanceKey> owned = claims.entrySet().stream().filter(entry -> !entry.getValue().isEmpty()).map(Map.Entry::getKey).toList();
                if (!owned.isEmpty()) {
                    InstanceKey key = pick(owned);
                    if (members.add(key)) {
                        batch.add(commit(key));
                    }
                }
            }
            submit(batch, random.nextInt(4) == 0);
        }

        private void submit(List<Commit> batch, boolean again) {
            UUID node = pick(nodes);
            both("commit " + again + " " + batch, lab -> lab.store().commit(node, batch, again));
            commits.addAll(batch);
        }

        private Commit commit(InstanceKey key) {
            List<Claim> known = claims.get(key);
            Claim claim = random.nextInt(5) == 0 ? pick(known) : known.getLast();
            InstanceSnapshot now = model.load(key);
            Move move = new Move(key, claim, pick(nodes)).transition(id());
            settles(move, now);
            blocks(move, now);
            Set<String> used = new HashSet<>();
            for (int i = random.nextInt(3); i > 0; i--) {
                String path = "p" + random.nextInt(4);
                int attempt = random.nextInt(3);
                if (used.add(path + attempt)) {
                    if (random.nextInt(4) == 0) {
                        move.prepared(path, attempt);
                    } else {
                        move.intent(path, attempt);
                    }
                }
            }
            if (random.nextInt(3) == 0) {
                move.event("e" + random.nextInt(100));
            }
            if (random.nextInt(4) == 0) {
                move.compensates();
            }
            if (random.nextInt(4) == 0) {
                move.resetTakeover();
            }
            if (random.nextInt(3) == 0) {
                InstanceState to = pick(List.of(
                        InstanceState.SCHEDULED, InstanceState.WAITING, InstanceState.WAITING, InstanceState.PAUSED,
                        InstanceState.COMPLETED, InstanceState.FAILED, InstanceState.CANCELLED));
                Long fire = random.nextBoolean() ? null : random.nextBoolean() ? 0L : 30L * 86_400_000;
                long seen = random.nextInt(5) == 0 ? random.nextInt(3) : now.instance().wakeSeq();
                move.releaseEvent("r" + random.nextInt(100)).release(to, fire, seen, random.nextBoolean() ? "[]" : null, "{}");
            }
            return move.commit();
        }

        private void settles(Move move, InstanceSnapshot now) {
            Map<EffectPosition, EffectState> states = new LinkedHashMap<>();
            Map<EffectPosition, Integer> last = new LinkedHashMap<>();
            for (ReceiptRow row : now.receipts()) {
                states.put(new EffectPosition(row.path(), row.attempt()), row.prepared() ? EffectState.PREPARED : EffectState.DISPATCHED);
            }
            for (JournalRow row : now.journal()) {
                states.put(new EffectPosition(row.path(), row.attempt()), row.to());
                last.put(new EffectPosition(row.path(), row.attempt()), row.n());
            }
            for (EffectPosition at : states.keySet()) {
                if (random.nextInt(3) != 0) {
                    continue;
                }
                int n = last.getOrDefault(at, 0) + (random.nextInt(6) == 0 && last.containsKey(at) ? 0 : 1);
                List<EffectState> moves = states.get(at).successors().stream().sorted().toList();
                if (moves.isEmpty()) {
                    continue;
                }
                EffectState to = pick(moves);
                JournalRow.OutputState output = to != EffectState.COMMITTED
                        ? JournalRow.OutputState.NONE
                        : random.nextInt(3) == 0 ? JournalRow.OutputState.LOST : JournalRow.OutputState.SAVED;
                move.settle(move.row(
                        at.path(), at.attempt(), n, states.get(at), to, random.nextBoolean() ? "pi" + random.nextInt(5) : null, "{}", output));
            }
        }

        private void blocks(Move move, InstanceSnapshot now) {
            for (String path : List.of("b0", "b1", "$state/x")) {
                if (random.nextInt(5) == 0) {
                    int n = now.rows().stream().filter(row -> row.path().equals(path)).mapToInt(BlockRow::n).max().orElse(-1);
                    move.block(path, random.nextInt(6) == 0 && n >= 0 ? n : n + 1, pick(List.of(BlockRow.Kind.values())), "{\"r\":1.0}");
                }
            }
        }

        private void outside() {
            if (keys.isEmpty()) {
                return;
            }
            InstanceKey key = random.nextInt(20) == 0 ? new InstanceKey(pick(tenants), id()) : pick(keys);
            Move move = Move.outside(key).transition(id());
            if (keys.contains(key)) {
                InstanceSnapshot now = model.load(key);
                settles(move, now);
                blocks(move, now);
                if (random.nextInt(4) == 0) {
                    move.expect(random.nextInt(3) == 0 ? 1 : now.instance().wakeSeq());
                }
            }
            if (random.nextInt(8) == 0) {
                move.intent("p" + random.nextInt(4), random.nextInt(3));
            }
            if (random.nextInt(3) == 0) {
                move.evidence("p" + random.nextInt(4), 0, "note", random.nextBoolean() ? new byte[] {1, 2} : null);
            }
            if (random.nextInt(4) == 0) {
                move.expect(InstanceState.WAITING, InstanceState.RUNNING, InstanceState.FAILED);
            }
            if (random.nextInt(6) == 0) {
                move.cancel();
            }
            if (random.nextInt(4) == 0) {
                move.pause(random.nextBoolean());
            }
            if (random.nextInt(2) == 0) {
                move.wakeFrom(InstanceState.WAITING, InstanceState.PAUSED, InstanceState.FAILED);
            }
            if (random.nextInt(10) == 0) {
                move.raiseEpoch(random.nextBoolean() ? "[\"behind\"]" : null);
            }
            if (random.nextInt(3) == 0) {
                move.event("o" + random.nextInt(100)).audit("a" + random.nextInt(100), "s" + random.nextInt(3));
            }
            moves.add(move.outside());
            submit(moves.getLast());
        }

        private void submit(OutsideMove move) {
            both("outside " + move, lab -> lab.store().settleFromOutside(move));
        }

        /** What a caller does after an unclear commit. A move without rows is only known while it is the last. */
        private void repeat() {
            List<Commit> rowful = commits.stream().filter(commit -> !commit.settles().isEmpty() || !commit.rows().isEmpty()).toList();
            if (random.nextBoolean() && !rowful.isEmpty()) {
                submit(List.of(pick(rowful)), random.nextBoolean());
                return;
            }
            List<OutsideMove> known = moves.stream().filter(move -> !move.journal().isEmpty() || !move.rows().isEmpty()).toList();
            if (!known.isEmpty()) {
                submit(pick(known));
            }
        }

        private void lease() {
            UUID node = pick(nodes);
            switch (random.nextInt(6)) {
                case 0 -> register();
                case 1 -> both("fence", lab -> {
                    lab.store().fence(node);
                    return true;
                });
                case 2 -> both("expire", lab -> {
                    lab.expireLease(node);
                    return true;
                });
                case 3 -> both("heartbeat", lab -> lab.store().heartbeat(node, Duration.ofHours(1)));
                default -> both("free", lab -> lab.store().fenceAndFree(100));
            }
        }

        // --- reads -------------------------------------------------------------------------------------------------------------

        private void compareAll() {
            for (InstanceKey key : keys) {
                both("load " + key, lab -> lab.store().load(key));
                both("rows " + key, lab -> lab.store().queries().blockRows(key));
                for (ReceiptRow row : model.load(key).receipts()) {
                    both("journal", lab -> lab.store().queries().journal(key, row.path(), row.attempt()));
                    both("evidence", lab -> lab.store().queries().evidence(key, row.path(), row.attempt()));
                    both("effect", lab -> lab.store().queries().effect(key.tenant(), row.id()));
                }
                both("changes " + key, lab -> lab.store().queries().changes(key.tenant(), null, 10_000).stream()
                        .filter(change -> change.instance().equals(key))
                        .toList());
            }
            for (String tenant : tenants) {
                both("audit", lab -> lab.store().queries().audit(tenant, null, 1_000));
                both("audit", lab -> lab.store().queries().audit(tenant, "s1", 3));
                both("instances", lab -> lab.store().queries().instances(
                        new InstanceFilter(tenant, Set.of(), null, Map.of("n", "1"), null, 50, 0)));
                both("instances", lab -> lab.store().queries().instances(
                        new InstanceFilter(tenant, Set.of(InstanceState.RUNNING, InstanceState.WAITING), null, Map.of(), null, 50, 1)));
                both("queue", lab -> sorted(lab.store().queries().effects(filter(tenant, true, Set.of(), null))));
                both("unknown", lab -> sorted(lab.store().queries().effects(filter(tenant, false, Set.of(EffectState.UNKNOWN), null))));
                both("word", lab -> sorted(lab.store().queries().effects(filter(tenant, false, Set.of(), "pi1"))));
                both("depth", lab -> lab.store().queries().openDepth().stream().filter(depth -> depth.tenant().equals(tenant)).toList());
            }
            both("nodes", lab -> lab.store().queries().nodes());
        }

        private static EffectFilter filter(String tenant, boolean openOnly, Set<EffectState> states, String word) {
            return new EffectFilter(
                    tenant, openOnly, states, null, null, word, null, null, null, null, null, null, null, null, null, null, null, null, 1_000);
        }

        /** Within one transaction effects have one time; the stores may cut time differently. */
        private static List<Queries.EffectView> sorted(List<Queries.EffectView> views) {
            return views.stream().sorted((a, b) -> a.receipt().id().compareTo(b.receipt().id())).toList();
        }

        // --- the comparison ----------------------------------------------------------------------------------------------------

        private <T> T both(String what, Function<StoreLab, T> verb) {
            String before = doing;
            doing = what;
            T expected = verb.apply(model);
            T actual = verb.apply(subject);
            assertThat(text(actual)).as("seed %d: %s%nafter %s", seed, what, before).isEqualTo(text(expected));
            return expected;
        }

        private static String text(Object value) {
            return switch (value) {
                case null -> "null";
                case Instant _ -> "time";
                case byte[] bytes -> HexFormat.of().formatHex(bytes);
                case java.util.Optional<?> optional -> "?" + text(optional.orElse(null));
                case Collection<?> all -> Stream.of(all.toArray()).map(History::text).toList().toString();
                case CommitAnswer.Conflict _ -> "Conflict";
                case OutsideAnswer.Conflict conflict -> "Conflict " + conflict.state() + " " + conflict.wakeSeq();
                case Queries.Change change -> change.type() + change.payload() + change.subject() + change.instance();
                case Record record -> record.getClass().getSimpleName()
                        + Stream.of(record.getClass().getRecordComponents()).map(part -> part.getName() + "=" + text(part(record, part))).toList();
                default -> Objects.toString(value);
            };
        }

        private static Object part(Record record, RecordComponent component) {
            try {
                component.getAccessor().setAccessible(true);
                return component.getAccessor().invoke(record);
            } catch (ReflectiveOperationException e) {
                throw new AssertionError(e);
            }
        }

        /** Grows, as UUID version 7 does, and is the same for one seed and step. */
        private UUID id() {
            return new UUID((0x0190_0000_0000L + seed * 10_000 + ++drawn) << 16 | 0x7000L, random.nextLong() >>> 2 | 0x8000_0000_0000_0000L);
        }

        private long drawn;

        private <T> T pick(List<T> from) {
            return from.get(random.nextInt(from.size()));
        }
    }
}
