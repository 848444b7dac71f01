package dev.waybill.engine;

import dev.waybill.definition.Sequence;
import dev.waybill.model.Claim;
import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.Problem;
import dev.waybill.model.ReceiptId;
import dev.waybill.store.BlockRow;
import dev.waybill.store.InstanceRecord;
import dev.waybill.store.InstanceSnapshot;
import dev.waybill.store.JournalRow;
import dev.waybill.store.JournalRow.OutputState;
import dev.waybill.store.ReceiptRow;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * What a turn knows of its instance: the durable rows as they were read, plus what it has just written or is about to write. Position
 * lives in rows by block path; there is no cursor. Owned by one turn; not thread-safe.
 */
final class RunState {

    /** One attempt of an effect: its receipt and how it stands. */
    static final class Attempt {
        final ReceiptRow receipt;
        @Nullable JournalRow last;

        Attempt(ReceiptRow receipt, @Nullable JournalRow last) {
            this.receipt = receipt;
            this.last = last;
        }

        EffectState state() {
            if (last != null) {
                return last.to();
            }
            return receipt.prepared() ? EffectState.PREPARED : EffectState.DISPATCHED;
        }

        int nextN() {
            return last == null ? 1 : last.n() + 1;
        }
    }

    private final Host host;
    final Sequence sequence;
    final InstanceKey key;
    final UUID execution;
    final JsonNode context;
    private final Function<String, JsonNode> parser;
    private final Map<String, List<Attempt>> effects = new LinkedHashMap<>();
    private final Map<String, BlockRow> rows = new HashMap<>();
    private final Map<String, JsonNode> bodies = new HashMap<>();
    private final Map<String, JsonNode> outputs = new HashMap<>();
    /** In loops: the first iteration that has not ended, so that a long loop is not walked from its beginning for every step. */
    private final Map<String, Integer> firstOpen = new HashMap<>();
    /** Iterations that have left a durable trace, as path prefixes ({@code items[1]/}). */
    private final Set<String> begun = new HashSet<>();

    Claim claim;
    long wakeSeq;
    boolean cancelRequested;
    boolean pauseRequested;
    int takeovers;
    private Instant databaseNow;
    private long readAtNanos;

    Host host() {
        return host;
    }

    RunState(Host host, Sequence sequence, InstanceSnapshot snapshot, JsonNode context, Function<String, JsonNode> parser) {
        InstanceRecord instance = snapshot.instance();
        this.host = host;
        this.sequence = sequence;
        this.key = instance.key();
        this.execution = instance.execution();
        this.context = context;
        this.parser = parser;
        this.claim = instance.claim();
        this.wakeSeq = instance.wakeSeq();
        this.cancelRequested = instance.cancelRequested();
        this.pauseRequested = instance.pauseRequested();
        this.takeovers = instance.takeovers();
        this.databaseNow = snapshot.databaseNow();
        this.readAtNanos = host.nanoTime();
        Map<String, Map<Integer, Attempt>> byPosition = new HashMap<>();
        for (ReceiptRow receipt : snapshot.receipts()) {
            Attempt attempt = new Attempt(receipt, null);
            effects.computeIfAbsent(receipt.path(), p -> new ArrayList<>()).add(attempt);
            begin(receipt.path());
            byPosition.computeIfAbsent(receipt.path(), p -> new HashMap<>()).put(receipt.attempt(), attempt);
        }
        for (JournalRow row : snapshot.journal()) {
            Map<Integer, Attempt> attempts = byPosition.get(row.path());
            Attempt attempt = attempts == null ? null : attempts.get(row.attempt());
            if (attempt == null) {
                throw new IllegalStateException("journal of " + key + " names " + row.path() + "#" + row.attempt() + " which has no receipt");
            }
            attempt.last = row;
        }
        effects.values().forEach(list -> list.sort((a, b) -> Integer.compare(a.receipt.attempt(), b.receipt.attempt())));
        for (BlockRow row : snapshot.rows()) {
            rows.put(row.path(), row);
            begin(row.path());
        }
    }

    private void begin(String path) {
        for (int at = path.indexOf("]/"); at >= 0; at = path.indexOf("]/", at + 2)) {
            begun.add(path.substring(0, at + 2));
        }
    }

    boolean begun(String iterationPrefix) {
        return begun.contains(iterationPrefix);
    }

    /** A row whose identity is not what its place says is never used (semantics.md section 3, Identity). */
    @Nullable Problem brokenIdentity() {
        for (List<Attempt> attempts : effects.values()) {
            for (Attempt attempt : attempts) {
                ReceiptRow r = attempt.receipt;
                if (!r.execution().equals(execution)
                        || !ReceiptId.of(execution, key.id(), r.path(), r.attempt()).equals(r.id())) {
                    return Problem.of(
                            "INVALID_CONFIG",
                            "receipt " + r.id() + " at " + r.path() + "#" + r.attempt() + " of " + key
                                    + " does not have the identity of its place; it is not used");
                }
            }
        }
        return null;
    }

    // --- reading ---------------------------------------------------------------------------------------------------------------

    List<Attempt> attempts(String path) {
        return effects.getOrDefault(path, List.of());
    }

    /**
     * The attempt that says how the effect stands, of those of one step. One effect has many receipts, and the newest is not always the
     * one: a person or a verifier decides about an earlier one after a resend was refused. What happened has happened, whatever came
     * behind it; else what was decided last holds.
     */
    static Attempt decisive(List<Attempt> attempts) {
        Attempt newest = attempts.getLast();
        if (newest.last == null) {
            return newest; // under way
        }
        Attempt found = null;
        for (Attempt one : attempts) {
            found = found == null || weight(one) >= weight(found) ? one : found;
        }
        if (found != null && weight(found) > 0) {
            return found;
        }
        Attempt decided = newest;
        for (Attempt one : attempts) {
            if (later(one.last, decided.last)) {
                decided = one;
            }
        }
        return decided;
    }

    /** How much an attempt says: it has an output; it happened; nothing yet. */
    private static int weight(Attempt attempt) {
        boolean applied = attempt.state() == EffectState.COMMITTED || attempt.state() == EffectState.VERIFIED;
        boolean output = attempt.last != null && attempt.last.outputState() != OutputState.NONE;
        return applied && output ? 3 : applied ? 2 : output ? 1 : 0;
    }

    /** A row that is not durable yet has no time and is the latest. */
    private static boolean later(@Nullable JournalRow one, @Nullable JournalRow than) {
        return one != null && than != null && than.at() != null && (one.at() == null || one.at().isAfter(than.at()));
    }

    @Nullable Attempt lastAttempt(String path) {
        List<Attempt> attempts = effects.get(path);
        return attempts == null ? null : attempts.getLast();
    }

    Collection<List<Attempt>> allEffects() {
        return effects.values();
    }

    @Nullable BlockRow row(String path) {
        return rows.get(path);
    }

    BlockRow rowOrThrow(String path) {
        BlockRow row = rows.get(path);
        if (row == null) {
            throw new IllegalStateException("no row at " + path + " of " + key);
        }
        return row;
    }

    Collection<BlockRow> allRows() {
        return rows.values();
    }

    JsonNode body(BlockRow row) {
        return bodies.computeIfAbsent(row.path(), p -> parser.apply(row.body() == null ? "null" : row.body()));
    }

    JsonNode parse(String json) {
        return parser.apply(json);
    }

    int firstOpen(String path) {
        return firstOpen.getOrDefault(path, 0);
    }

    void firstOpen(String path, int iteration) {
        firstOpen.put(path, iteration);
    }

    /** The output of the block at {@code path}, or null when it has none (yet). */
    @Nullable JsonNode output(String path) {
        JsonNode known = outputs.get(path);
        if (known != null) {
            return known;
        }
        BlockRow row = rows.get(path);
        if (row != null && row.kind() == BlockRow.Kind.OUTPUT) {
            return remember(path, body(row));
        }
        // Usually the last attempt has it; in a chain of resends it is where the answer, or the proof, was found.
        for (Attempt attempt : attempts(path).reversed()) {
            if (attempt.last != null && attempt.last.output() != null) {
                return remember(path, parser.apply(attempt.last.output()));
            }
        }
        return null;
    }

    private JsonNode remember(String path, JsonNode output) {
        outputs.put(path, output);
        return output;
    }

    /** An instance variable (set_state), or null. */
    @Nullable JsonNode variable(String name) {
        BlockRow row = rows.get(STATE_PREFIX + name);
        return row == null || row.body() == null ? null : body(row);
    }

    ObjectNode variables() {
        ObjectNode all = tools.jackson.databind.node.JsonNodeFactory.instance.objectNode();
        for (BlockRow row : rows.values()) {
            if (row.kind() == BlockRow.Kind.STATE && row.body() != null) {
                all.set(row.path().substring(STATE_PREFIX.length()), body(row));
            }
        }
        return all;
    }

    static final String STATE_PREFIX = "$state/";

    /** The database's time, carried forward by this process's monotonic clock since it was last told. */
    Instant now() {
        return databaseNow.plusNanos(host.nanoTime() - readAtNanos);
    }

    /** Milliseconds until {@code at + dueInMillis}; a row not yet acknowledged counts from its commit. Never negative. */
    long millisUntil(@Nullable Instant at, long dueInMillis) {
        if (at == null) {
            return Math.max(0, dueInMillis);
        }
        long left = java.time.Duration.between(now(), at.plusMillis(dueInMillis)).toNanos();
        return left <= 0 ? 0 : (left + 999_999) / 1_000_000;
    }

    // --- writing (tentative until the commit is acknowledged) ------------------------------------------------------------------

    void apply(JournalRow row) {
        for (Attempt attempt : attempts(row.path())) {
            if (attempt.receipt.attempt() == row.attempt()) {
                attempt.last = row;
                outputs.remove(row.path());
                return;
            }
        }
        throw new IllegalStateException("no receipt at " + row.path() + "#" + row.attempt());
    }

    void apply(BlockRow row) {
        rows.put(row.path(), row);
        bodies.remove(row.path());
        outputs.remove(row.path());
        begin(row.path());
    }

    /** A receipt that has just become durable. */
    void apply(ReceiptRow receipt) {
        effects.computeIfAbsent(receipt.path(), p -> new ArrayList<>()).add(new Attempt(receipt.stamped(databaseNow), null));
        begin(receipt.path());
    }

    /** The commit that carried these rows was acknowledged at {@code at}. */
    void acknowledged(Collection<JournalRow> settles, Collection<BlockRow> written, Instant at) {
        databaseNow = at;
        readAtNanos = host.nanoTime();
        for (JournalRow row : settles) {
            apply(stamped(row, at));
        }
        for (BlockRow row : written) {
            if (row.dueInMillis() != null && rows.get(row.path()) == row) {
                apply(new BlockRow(row.path(), row.n(), row.kind(), row.body(), row.dueInMillis(), row.transitionId(), at));
            }
        }
    }

    private static JournalRow stamped(JournalRow r, Instant at) {
        return new JournalRow(
                r.path(), r.attempt(), r.n(), r.from(), r.to(), r.actor(), r.claim(), r.transitionId(), r.proof(), r.reason(),
                r.message(), r.providerReceiptId(), r.retryInMillis(), r.countsAsAttempt(), r.reply(), r.output(), r.outputState(),
                r.problem(), at);
    }

    int nextN(String path) {
        BlockRow row = rows.get(path);
        return row == null ? 1 : row.n() + 1;
    }
}
