package dev.waybill.check;

import dev.waybill.check.Rows.Fault;
import dev.waybill.check.Rows.Node;
import java.time.Instant;
import java.util.Comparator;

/** L7: who was asked to go and has gone by itself leaves nothing of its own in flight. */
final class Drained implements Property {
    @Override
    public String name() {
        return "drained";
    }

    @Override
    public String promise() {
        return "a node that drained has settled everything it dispatched before it exits";
    }

    @Override
    public void check(History history, Findings findings) {
        for (Fault fault : history.faults) {
            if (!fault.kind().equals("drain") || fault.until() == null) {
                continue;
            }
            Node node = history.last.nodes.stream()
                    .filter(one -> one.name().equals(fault.node()) && !one.startedAt().isAfter(fault.at()))
                    .max(Comparator.comparing(Node::startedAt))
                    .orElse(null);
            if (node == null) {
                continue;
            }
            Instant gone = fault.until().plus(history.settings.skew());
            for (Attempt attempt : history.attempts()) {
                if (attempt.receipt().nodeId().equals(node.id())) {
                    // A takeover counts, too: only of a node that stands still beyond its lease can another take what it has in flight.
                    findings.expect(
                            attempt.moves().stream().anyMatch(move -> !move.at().isAfter(gone)),
                            Subject.of(attempt),
                            attempt + " was left in flight when node " + node.name() + " exited at " + fault.until());
                }
            }
        }
    }
}
