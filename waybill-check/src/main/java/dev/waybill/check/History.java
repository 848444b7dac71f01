package dev.waybill.check;

import dev.waybill.check.Rows.Call;
import dev.waybill.check.Rows.Fault;
import dev.waybill.check.Rows.Line;
import dev.waybill.check.Rows.RunKey;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Everything that is known of what happened, joined. What a property says, it says of the last dump unless it compares dumps. */
final class History {

    /**
     * Bounds that a property measures by.
     *
     * @param visible       an ambiguous effect is in the queue this long after the fault or the last sign of it (40 s)
     * @param calm          everything has come to rest this long after the last fault (60 s)
     * @param skew          how far the clocks of provider, client and store may differ (1 s)
     * @param uniqueContent every application of this workload asks for something else: one content is applied once
     */
    record Settings(Duration visible, Duration calm, Duration skew, boolean uniqueContent) {
        static final Settings DEFAULT = new Settings(Duration.ofSeconds(40), Duration.ofSeconds(60), Duration.ofSeconds(1), false);
    }

    final List<Line> ledger;
    final List<Dump> dumps;
    final Dump last;
    final List<Call> client;
    final List<Fault> faults;
    final Settings settings;

    private final Map<RunKey, RunStory> runs = new LinkedHashMap<>();
    private final Map<String, Attempt> byId = new HashMap<>();
    private final List<Attempt> attempts = new ArrayList<>();
    private final Map<String, List<Line>> lines = new HashMap<>();
    private final Map<String, Rows.Node> nodes = new HashMap<>();

    /** @param dumps at least one, the earliest first */
    History(List<Line> ledger, List<Dump> dumps, List<Call> client, List<Fault> faults, Settings settings) {
        this.ledger = ledger;
        this.dumps = dumps;
        this.last = dumps.getLast();
        this.client = client;
        this.faults = faults;
        this.settings = settings;
        ledger.forEach(line -> {
            if (line.effectId() != null) {
                lines.computeIfAbsent(line.effectId(), id -> new ArrayList<>()).add(line);
            }
        });
        last.nodes.forEach(node -> nodes.put(node.id(), node));
        Map<String, Rows.Sequence> sequences = new HashMap<>();
        last.sequences.forEach(sequence -> sequences.put(sequence.tenantId() + " " + sequence.id(), sequence));
        last.runs.forEach(run -> {
            RunStory story = story(run.key());
            story.run = run;
            story.sequence = sequences.get(run.tenantId() + " " + run.sequenceId());
        });
        last.receipts.forEach(receipt -> {
            Attempt attempt = new Attempt(receipt, new ArrayList<>());
            byId.put(receipt.id(), attempt);
            attempts.add(attempt);
            story(receipt.run()).add(attempt);
        });
        last.journal.forEach(move -> story(move.run()).add(move));
        last.blocks.forEach(row -> story(row.run()).add(row));
        last.events.forEach(event -> story(event.run()).events.add(event));
        last.evidence.forEach(evidence -> story(evidence.run()).evidence.add(evidence));
        last.open.forEach(open -> story(open.run()).open.add(open));
        runs.values().forEach(RunStory::sort);
        attempts.sort(Comparator.comparing(attempt -> attempt.receipt().at()));
    }

    private RunStory story(RunKey key) {
        return runs.computeIfAbsent(key, RunStory::new);
    }

    Iterable<RunStory> runs() {
        return runs.values();
    }

    @Nullable RunStory run(RunKey key) {
        return runs.get(key);
    }

    /** By the time of their receipts. */
    List<Attempt> attempts() {
        return attempts;
    }

    @Nullable Attempt attempt(@Nullable String receiptId) {
        return receiptId == null ? null : byId.get(receiptId);
    }

    /** What the provider wrote down of one receipt. */
    List<Line> lines(String receiptId) {
        return lines.getOrDefault(receiptId, List.of());
    }

    @Nullable String nodeName(String nodeId) {
        Rows.Node node = nodes.get(nodeId);
        return node == null ? null : node.name();
    }

    Rows.@Nullable Node node(String nodeId) {
        return nodes.get(nodeId);
    }

    /** The faults that struck a node, or all of them. */
    List<Fault> faultsOf(String nodeId) {
        String name = nodeName(nodeId);
        return faults.stream()
                .filter(fault -> !fault.kind().equals("calm") && (fault.node() == null || fault.node().equals(name)))
                .toList();
    }

    /** From here on nothing was done to the system any more; null when nothing ever was. */
    @Nullable Instant calmSince() {
        return faults.stream().map(Fault::end).max(Comparator.naturalOrder()).orElse(null);
    }
}
