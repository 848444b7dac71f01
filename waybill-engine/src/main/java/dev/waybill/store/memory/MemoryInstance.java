package dev.waybill.store.memory;

import dev.waybill.model.Claim;
import dev.waybill.model.EffectPosition;
import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceState;
import dev.waybill.model.Reply;
import dev.waybill.store.BlockRow;
import dev.waybill.store.EvidenceRow;
import dev.waybill.store.InstanceRecord;
import dev.waybill.store.InstanceSnapshot;
import dev.waybill.store.JournalRow;
import dev.waybill.store.ReceiptRow;
import dev.waybill.store.Queries;
import dev.waybill.store.Start;
import java.nio.charset.StandardCharsets;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** One instance with all of its rows. Not thread-safe: the store's lock guards it. */
final class MemoryInstance {
    private static final long MAX_MILLIS = 100L * 366 * 24 * 3600 * 1000;
    static final UUID NO_NONCE = new UUID(0, 0);
    static final Comparator<String> BY_UTF8 =
            (a, b) -> Arrays.compareUnsigned(a.getBytes(StandardCharsets.UTF_8), b.getBytes(StandardCharsets.UTF_8));
    private static final Comparator<EffectPosition> BY_POSITION =
            Comparator.comparing(EffectPosition::path, BY_UTF8).thenComparing(EffectPosition::attempt);

    final Start start;
    final Instant createdAt;
    final Map<EffectPosition, ReceiptRow> receipts = new LinkedHashMap<>();
    final Map<EffectPosition, TreeMap<Integer, JournalRow>> journal = new TreeMap<>(BY_POSITION);
    final Map<String, TreeMap<Integer, BlockRow>> rows = new TreeMap<>(BY_UTF8);
    final List<EvidenceRow> evidence = new ArrayList<>();
    final List<Queries.InvariantResult> invariantResults = new ArrayList<>();
    InstanceState state = InstanceState.SCHEDULED;
    @Nullable Instant nextFireAt;
    Claim claim = new Claim(0, NO_NONCE);
    @Nullable UUID claimNode;
    long wakeSeq;
    boolean cancelRequested;
    boolean pauseRequested;
    int takeovers;
    @Nullable String reasons;
    @Nullable String outcome;
    Instant updatedAt;
    /** Of the last commit by an owner and of the last outside move: how a repeat that wrote no rows finds itself. */
    @Nullable UUID ownerTransition;

    @Nullable UUID outsideTransition;

    MemoryInstance(Start start, Instant now) {
        this.start = start;
        this.createdAt = now;
        this.updatedAt = now;
    }

    /** The same rows in maps of their own. */
    MemoryInstance copy() {
        MemoryInstance copy = new MemoryInstance(start, createdAt);
        copy.receipts.putAll(receipts);
        journal.forEach((position, moves) -> copy.journal.put(position, new TreeMap<>(moves)));
        rows.forEach((path, byN) -> copy.rows.put(path, new TreeMap<>(byN)));
        copy.evidence.addAll(evidence);
        copy.invariantResults.addAll(invariantResults);
        copy.state = state;
        copy.nextFireAt = nextFireAt;
        copy.claim = claim;
        copy.claimNode = claimNode;
        copy.wakeSeq = wakeSeq;
        copy.cancelRequested = cancelRequested;
        copy.pauseRequested = pauseRequested;
        copy.takeovers = takeovers;
        copy.reasons = reasons;
        copy.outcome = outcome;
        copy.updatedAt = updatedAt;
        copy.ownerTransition = ownerTransition;
        copy.outsideTransition = outsideTransition;
        return copy;
    }

    /** What is later than a hundred years means never, and no time may overflow in the middle of a verb. */
    static Instant later(Instant now, long millis) {
        return now.plusMillis(Math.clamp(millis, -MAX_MILLIS, MAX_MILLIS));
    }

    boolean heldUnder(Claim other) {
        return claimNode != null && claim.equals(other);
    }

    /** True when any of these rows is there and was written by this transition: the move is durable already. */
    boolean wrote(UUID transition, List<JournalRow> moves, List<BlockRow> blocks, List<ReceiptRow> intents) {
        return moves.stream().anyMatch(row -> {
                    JournalRow found = find(row);
                    return found != null && found.transitionId().equals(transition);
                })
                || blocks.stream().anyMatch(row -> {
                    BlockRow found = find(row);
                    return found != null && found.transitionId().equals(transition);
                })
                || intents.stream().anyMatch(row -> wrote(transition, row));
    }

    boolean wrote(UUID transition, ReceiptRow intent) {
        ReceiptRow found = receipts.get(position(intent));
        return found != null && found.transitionId().equals(transition);
    }

    /** Which of these starts from another state than the row before it reached, in words, or null. */
    @Nullable String elsewhere(List<JournalRow> moves) {
        for (JournalRow row : moves) {
            TreeMap<Integer, JournalRow> had = journal.get(position(row));
            JournalRow before = had == null ? null : had.get(row.n() - 1);
            if (before == null || before.to() != row.from()) {
                return "journal " + row.path() + "#" + row.attempt() + " is not " + row.from().wire() + " at n=" + (row.n() - 1);
            }
        }
        return null;
    }

    /** What of these is there already, in words, or null. */
    @Nullable String conflict(List<JournalRow> moves, List<BlockRow> blocks) {
        for (JournalRow row : moves) {
            if (find(row) != null) {
                return "journal " + row.path() + "#" + row.attempt() + " n=" + row.n();
            }
        }
        for (BlockRow row : blocks) {
            if (find(row) != null) {
                return "block " + row.path() + " n=" + row.n();
            }
        }
        return null;
    }

    /**
     * What the CHECK of the databases' journal refuses: whatever is neither a move of semantics.md section 3 nor the row that supplies a
     * lost output and moves nothing.
     *
     * @return the first such move, in words, or null
     */
    static @Nullable String unlawful(List<JournalRow> moves) {
        for (JournalRow row : moves) {
            boolean supplied = row.from() == row.to() && Set.of(EffectState.COMMITTED, EffectState.VERIFIED).contains(row.to())
                    && row.outputState() == JournalRow.OutputState.SAVED;
            if (!supplied && !row.from().canMoveTo(row.to())) {
                return row.path() + "#" + row.attempt() + " cannot move from " + row.from().wire() + " to " + row.to().wire();
            }
        }
        return null;
    }

    void add(JournalRow row, Instant now) {
        journal.computeIfAbsent(position(row), _ -> new TreeMap<>()).put(row.n(), new JournalRow(
                row.path(), row.attempt(), row.n(), row.from(), row.to(), row.actor(), row.claim(), row.transitionId(), row.proof(),
                row.reason(), row.message(), row.providerReceiptId(), row.retryInMillis(), row.countsAsAttempt(), row.reply(),
                row.output(), row.outputState(), row.problem(), now));
    }

    void add(BlockRow row, Instant now) {
        rows.computeIfAbsent(row.path(), _ -> new TreeMap<>()).put(row.n(), new BlockRow(
                row.path(), row.n(), row.kind(), row.body(), row.dueInMillis(), row.transitionId(), now));
    }

    void add(ReceiptRow row, Instant now) {
        receipts.put(position(row), new ReceiptRow(
                row.id(), row.execution(), row.path(), row.attempt(), row.prepared(), row.kind(), row.handler(), row.destination(),
                row.destinationFingerprint(), row.idempotencyKey(), row.requestSha256(), row.request(), row.claim(), row.node(),
                row.transitionId(), row.quietInMillis(), row.keyWindowMillis(), row.resendOf(), row.labels(), now,
                later(now, row.quietInMillis())));
    }

    void add(EvidenceRow row, Instant now) {
        evidence.add(new EvidenceRow(row.path(), row.attempt(), row.kind(), row.actor(), row.body(), row.bytes(), now));
    }

    @Nullable JournalRow last(ReceiptRow receipt) {
        TreeMap<Integer, JournalRow> moves = journal.get(position(receipt));
        return moves == null ? null : moves.lastEntry().getValue();
    }

    static EffectState stateOf(ReceiptRow receipt, @Nullable JournalRow last) {
        if (last != null) {
            return last.to();
        }
        return receipt.prepared() ? EffectState.PREPARED : EffectState.DISPATCHED;
    }

    /** Why the receipt is in the queue (prepared, unknown, output_lost), or null when it is not. */
    static @Nullable String openAs(ReceiptRow receipt, @Nullable JournalRow last) {
        if (last == null) {
            return receipt.prepared() ? "prepared" : null;
        }
        if (!last.opens()) {
            return null;
        }
        return last.to() == EffectState.UNKNOWN ? "unknown" : "output_lost";
    }

    InstanceRecord record() {
        return new InstanceRecord(
                start.instance(), start.execution(), start.sequenceId(), start.namespace(), state, start.priority(), nextFireAt, claim,
                claimNode, wakeSeq, cancelRequested, pauseRequested, takeovers, reasons, outcome, start.context(), start.metadata(),
                start.dedupKey(), createdAt, updatedAt);
    }

    InstanceSnapshot snapshot(Instant now) {
        return new InstanceSnapshot(
                record(),
                List.copyOf(receipts.values()),
                journal.values().stream().flatMap(moves -> moves.values().stream()).map(MemoryInstance::withoutBody).toList(),
                rows.values().stream().map(byN -> byN.lastEntry().getValue()).toList(),
                now);
    }

    static JournalRow withoutBody(JournalRow row) {
        Reply reply = row.reply();
        if (reply == null || reply.body() == null) {
            return row;
        }
        return new JournalRow(
                row.path(), row.attempt(), row.n(), row.from(), row.to(), row.actor(), row.claim(), row.transitionId(), row.proof(),
                row.reason(), row.message(), row.providerReceiptId(), row.retryInMillis(), row.countsAsAttempt(),
                new Reply(reply.status(), reply.headers(), null, reply.truncated()), row.output(), row.outputState(), row.problem(),
                row.at());
    }

    private @Nullable JournalRow find(JournalRow row) {
        TreeMap<Integer, JournalRow> moves = journal.get(position(row));
        return moves == null ? null : moves.get(row.n());
    }

    private @Nullable BlockRow find(BlockRow row) {
        TreeMap<Integer, BlockRow> byN = rows.get(row.path());
        return byN == null ? null : byN.get(row.n());
    }

    static EffectPosition position(ReceiptRow row) {
        return new EffectPosition(row.path(), row.attempt());
    }

    private static EffectPosition position(JournalRow row) {
        return new EffectPosition(row.path(), row.attempt());
    }
}
