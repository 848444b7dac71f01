package dev.waybill.check;

import dev.waybill.check.Property.Subject;
import dev.waybill.check.Rows.Line;
import dev.waybill.check.Rows.RunKey;
import java.time.Instant;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** The story of one effect (or run, or key) as all witnesses tell it, in the order of their clocks. */
final class Timeline {
    private static final DateTimeFormatter CLOCK = DateTimeFormatter.ofPattern("HH:mm:ss.SSSSSS").withZone(ZoneOffset.UTC);

    /** @param witness receipt, journal, provider .. */
    record Entry(Instant at, String witness, String text) {
        @Override
        public String toString() {
            return String.format(java.util.Locale.ROOT, "%s  %-9s %s", CLOCK.format(at), witness, text);
        }
    }

    private final History history;
    private final List<Entry> entries = new ArrayList<>();
    private final Set<String> receipts = new HashSet<>();
    private final Set<String> nodes = new HashSet<>();

    private Timeline(History history) {
        this.history = history;
    }

    static List<Entry> of(History history, Subject subject) {
        Timeline timeline = new Timeline(history);
        timeline.collect(subject);
        timeline.faults();
        timeline.entries.sort(Comparator.comparing(Entry::at));
        return timeline.entries;
    }

    private void collect(Subject subject) {
        RunKey key = subject.run();
        if (key != null) {
            run(key, subject.path());
        }
        if (subject.effectId() != null) {
            receipts.add(subject.effectId());
        }
        for (Attempt attempt : history.attempts()) {
            if (subject.key() != null && subject.key().equals(attempt.receipt().idempotencyKey())) {
                attempt(attempt);
            }
        }
        for (Line line : history.ledger) {
            boolean named = line.effectId() != null && receipts.contains(line.effectId());
            boolean keyed = subject.key() != null && (subject.key().equals(line.idempotencyKey()) || subject.key().equals(line.content()));
            if (named || keyed || (subject.effectId() != null && subject.effectId().isEmpty() && line.effectId() == null && line.delivered())) {
                add(line.at(), "provider", text(line));
            }
        }
        for (Rows.Call call : history.client) {
            boolean ours = key != null && call.effect() == null && key.id().equals(call.id())
                    || call.effect() != null && receipts.contains(call.effect())
                    || subject.key() != null && subject.key().equals(call.key());
            if (ours) {
                add(call.at(), "client", text(call));
            }
        }
    }

    private void run(RunKey key, @Nullable String path) {
        RunStory story = history.run(key);
        if (story == null) {
            return;
        }
        story.attempts().stream().filter(attempt -> fits(path, attempt.receipt().path())).forEach(this::attempt);
        story.orphans.forEach(move -> add(move.at(), "journal", "without a receipt: " + text(move)));
        story.rows.forEach((at, rows) -> {
            if (fits(path, at)) {
                rows.forEach(row -> add(
                        row.at(), "block",
                        at + " " + row.kind() + (row.dueInMillis() == null ? "" : " due in " + row.dueInMillis() + " ms") + " tx "
                                + brief(row.transitionId()) + " " + cut(row.body())));
            }
        });
        story.evidence.stream()
                .filter(evidence -> fits(path, evidence.path()))
                .forEach(one -> add(one.at(), "evidence", one.path() + "#" + one.attempt() + " " + one.kind() + " by " + one.actor()));
        Rows.Run run = story.run;
        if (run != null) {
            add(run.updatedAt(), "run", run.state() + " epoch " + run.claimEpoch() + " " + cut(run.reasons() != null ? run.reasons() : run.outcome()));
        }
    }

    private static boolean fits(@Nullable String wanted, String path) {
        return wanted == null || path.equals(wanted) || path.startsWith(wanted + "[");
    }

    private void attempt(Attempt attempt) {
        Rows.Receipt receipt = attempt.receipt();
        if (!receipts.add(receipt.id())) {
            return;
        }
        nodes.add(receipt.nodeId());
        add(
                receipt.at(), "receipt",
                attempt + " " + receipt.state() + " " + receipt.id() + " epoch " + receipt.claimEpoch() + " node "
                        + Objects.requireNonNullElse(history.nodeName(receipt.nodeId()), brief(receipt.nodeId())) + " tx "
                        + brief(receipt.transitionId()) + (receipt.idempotencyKey() == null ? "" : " key " + receipt.idempotencyKey()));
        attempt.moves().forEach(move -> add(move.at(), "journal", attempt + " n=" + move.n() + " " + text(move)));
    }

    /** Only those while the story ran: on its nodes, and on everybody. */
    private void faults() {
        if (entries.isEmpty()) {
            return;
        }
        Instant first = entries.stream().map(Entry::at).min(Comparator.naturalOrder()).orElseThrow();
        Instant end = entries.stream().map(Entry::at).max(Comparator.naturalOrder()).orElseThrow();
        Set<String> names = new HashSet<>();
        nodes.forEach(node -> names.add(Objects.requireNonNullElse(history.nodeName(node), node)));
        history.faults.stream()
                .filter(fault -> fault.node() == null || names.contains(fault.node()))
                .filter(fault -> !fault.end().isBefore(first) && !fault.at().isAfter(end))
                .forEach(fault -> add(
                        fault.at(), "fault",
                        fault.kind() + (fault.node() == null ? "" : " " + fault.node())
                                + (fault.until() == null ? "" : " until " + CLOCK.format(fault.until()))));
    }

    private static String text(Rows.Move move) {
        return move.fromState() + " -> " + move.toState() + " by " + move.actor()
                + (move.claimEpoch() == null ? "" : " epoch " + move.claimEpoch()) + " tx " + brief(move.transitionId())
                + (move.proof() == null ? "" : " proof " + move.proof()) + (move.reason() == null ? "" : " (" + move.reason() + ")")
                + (move.outputState().equals("none") ? "" : " output " + move.outputState())
                + (move.replyStatus() == null ? "" : " status " + move.replyStatus());
    }

    private static String text(Line line) {
        return "#" + line.delivery() + " " + line.kind() + " " + Objects.requireNonNullElse(line.method(), "") + " "
                + Objects.requireNonNullElse(line.path(), "") + (line.effectId() == null ? "" : " effect " + brief(line.effectId()))
                + (line.seenState() == null ? "" : " seen " + line.seenState())
                + (line.idempotencyKey() == null ? "" : " key " + line.idempotencyKey())
                + (line.answer() == null ? "" : " " + cut(line.answer().toString())) + (line.fault() == null ? "" : " [" + line.fault() + "]");
    }

    private static String text(Rows.Call call) {
        return call.op() + (call.signal() == null ? "" : " " + call.signal()) + (call.state() == null ? "" : " " + call.state()) + ": "
                + call.result() + (call.answered() == null ? "" : " at " + CLOCK.format(call.answered()));
    }

    private static String brief(String id) {
        return id.length() > 8 ? id.substring(0, 8) : id;
    }

    private static String cut(@Nullable String text) {
        return text == null ? "" : text.length() > 100 ? text.substring(0, 100) + ".." : text;
    }

    private void add(Instant at, String witness, String text) {
        entries.add(new Entry(at, witness, text.strip()));
    }
}
