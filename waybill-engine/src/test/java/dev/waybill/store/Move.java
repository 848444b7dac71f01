package dev.waybill.store;

import static dev.waybill.model.EffectState.COMMITTED;
import static dev.waybill.model.EffectState.DISPATCHED;
import static dev.waybill.model.EffectState.UNKNOWN;

import dev.waybill.model.Claim;
import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.InstanceState;
import dev.waybill.model.Reply;
import dev.waybill.store.JournalRow.OutputState;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.function.UnaryOperator;

/** Builds the moves of tests: one transition id, and rows that carry it. */
public final class Move {
    private final InstanceKey key;
    private final Claim claim;
    private final UUID node;
    private UUID transition = StoreLab.nextId();
    private final List<JournalRow> journal = new ArrayList<>();
    private final List<BlockRow> rows = new ArrayList<>();
    private final List<ReceiptRow> receipts = new ArrayList<>();
    private final List<EvidenceRow> evidence = new ArrayList<>();
    private final List<Event> events = new ArrayList<>();
    private final List<Event> releaseEvents = new ArrayList<>();
    private final List<InvariantRows.Guard> guards = new ArrayList<>();
    private final Set<String> freed = new HashSet<>();
    private final Set<String> freedByEnd = new HashSet<>();
    private final List<InvariantRows.Result> results = new ArrayList<>();
    private Release release;
    private boolean resetTakeover;
    private Long expectedWakeSeq;
    private boolean compensates;
    private Set<InstanceState> expectedStates = Set.of();
    private Set<InstanceState> wakeFrom = Set.of();
    private Boolean cancel;
    private Boolean pause;
    private boolean raiseEpoch;
    private String pauseReasons;
    private AuditRow audit;

    Move(InstanceKey key, Claim claim, UUID node) {
        this.key = key;
        this.claim = claim;
        this.node = node;
    }

    public static Move outside(InstanceKey key) {
        return new Move(key, new Claim(0, StoreLab.NO_NONCE), StoreLab.NO_NONCE);
    }

    public Move transition(UUID id) {
        transition = id;
        return this;
    }

    public UUID transition() {
        return transition;
    }

    public Move intent(String path, int attempt) {
        return intent(StoreLab.receipt(key, claim, node, transition, path, attempt));
    }

    public Move prepared(String path, int attempt) {
        ReceiptRow row = StoreLab.receipt(key, claim, node, transition, path, attempt);
        return intent(new ReceiptRow(
                row.id(), row.execution(), path, attempt, true, row.kind(), row.handler(), row.destination(),
                row.destinationFingerprint(), row.idempotencyKey(), row.requestSha256(), row.request(), claim, node, transition,
                row.quietInMillis(), null, null, null, null, null));
    }

    public Move intent(ReceiptRow row) {
        receipts.add(row);
        return this;
    }

    public Move committed(String path, int attempt, int n) {
        return settle(committedRow(path, attempt, n));
    }

    public JournalRow committedRow(String path, int attempt, int n) {
        return row(path, attempt, n, n == 1 ? DISPATCHED : UNKNOWN, COMMITTED, "pi_" + path, "{\"ok\":true}", OutputState.SAVED);
    }

    public Move unknown(String path, int attempt, int n) {
        return settle(row(path, attempt, n, DISPATCHED, UNKNOWN, null, null, OutputState.NONE));
    }

    public Move outputLost(String path, int attempt, int n) {
        return settle(row(path, attempt, n, DISPATCHED, COMMITTED, null, null, OutputState.LOST));
    }

    public JournalRow row(
            String path, int attempt, int n, EffectState from, EffectState to, String providerId, String output, OutputState outputState) {
        Reply reply = to == COMMITTED
                ? new Reply(200, Map.of("x-request-id", List.of("r-1", "r-2")), "{\"ok\":true}".getBytes(StandardCharsets.UTF_8), false)
                : null;
        return new JournalRow(
                path, attempt, n, from, to, "engine", claim, transition, null, to == UNKNOWN ? "timeout" : null,
                to == UNKNOWN ? "No answer within 30 s" : null, providerId, null, true, reply, output, outputState, null, null);
    }

    public Move settle(JournalRow row) {
        journal.add(row);
        return this;
    }

    public Move settle(JournalRow row, UnaryOperator<JournalRow> change) {
        return settle(change.apply(row));
    }

    public Move block(String path, int n, BlockRow.Kind kind, String body) {
        return block(new BlockRow(path, n, kind, body, null, transition, null));
    }

    public Move block(BlockRow row) {
        rows.add(row);
        return this;
    }

    public Move event(String type) {
        events.add(new Event(type, "{\"n\":1}", null));
        return this;
    }

    public Move releaseEvent(String type) {
        releaseEvents.add(new Event(type, "{}", null));
        return this;
    }

    public Move release(InstanceState to, Long fireInMillis, long expectedWakeSeq) {
        return release(to, fireInMillis, expectedWakeSeq, null, null);
    }

    public Move release(InstanceState to, Long fireInMillis, long expectedWakeSeq, String reasons, String outcome) {
        release = new Release(to, fireInMillis, expectedWakeSeq, reasons, outcome, releaseEvents);
        return this;
    }

    public Move resetTakeover() {
        resetTakeover = true;
        return this;
    }

    /** The intent at this path wants this content for its effect alone. */
    public Move guard(String path, int attempt, String content) {
        return guard(path, attempt, content, "tenant", null);
    }

    public Move guard(String path, int attempt, String content, String scope, Long windowMillis) {
        guards.add(new InvariantRows.Guard(path, attempt, "one-charge", scope, "http", "fp", content, windowMillis));
        return this;
    }

    public Move frees(String path) {
        freed.add(path);
        return this;
    }

    /** Its intents undo effects. */
    public Move compensates() {
        compensates = true;
        return this;
    }

    public Move freesByEnd(String path) {
        freedByEnd.add(path);
        return this;
    }

    public Move result(String path, boolean held) {
        results.add(new InvariantRows.Result("one-charge", "effect_at_most_once", path, held, "{}"));
        return this;
    }

    public Commit commit() {
        return new Commit(
                key, claim, transition, List.copyOf(journal), List.copyOf(rows), List.copyOf(receipts), List.copyOf(events), release,
                resetTakeover, new InvariantRows(List.copyOf(guards), Set.copyOf(freed), Set.copyOf(freedByEnd), List.copyOf(results)),
                expectedWakeSeq, compensates);
    }

    // --- whoever is not the owner ----------------------------------------------------------------------------------------------

    public Move evidence(String path, int attempt, String kind, byte[] bytes) {
        evidence.add(new EvidenceRow(path, attempt, kind, "operator:ada", "{\"note\":\"called them\"}", bytes, null));
        return this;
    }

    public Move expect(long wakeSeq) {
        expectedWakeSeq = wakeSeq;
        return this;
    }

    public Move expect(InstanceState... states) {
        expectedStates = Set.of(states);
        return this;
    }

    public Move wakeFrom(InstanceState... states) {
        wakeFrom = Set.of(states);
        return this;
    }

    public Move cancel() {
        cancel = true;
        return this;
    }

    public Move pause(boolean flag) {
        pause = flag;
        return this;
    }

    public Move raiseEpoch(String reasons) {
        raiseEpoch = true;
        pauseReasons = reasons;
        return this;
    }

    public Move audit(String action, String subject) {
        audit = new AuditRow("operator:ada", action, subject, "{\"why\":\"test\"}");
        return this;
    }

    public OutsideMove outside() {
        return new OutsideMove(
                key, transition, expectedWakeSeq, expectedStates, List.copyOf(receipts), List.copyOf(journal), List.copyOf(evidence),
                List.copyOf(rows), cancel, pause, wakeFrom, raiseEpoch, pauseReasons, List.copyOf(events), audit,
                Set.copyOf(freed));
    }
}
