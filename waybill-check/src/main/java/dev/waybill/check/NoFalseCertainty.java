package dev.waybill.check;

import dev.waybill.check.Rows.Line;
import dev.waybill.check.Rows.Move;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * S8, after everything has come to rest. The most dangerous lie is {@code not_applied} with an application: somebody will send again.
 * Only receipts of HTTP requests that write are held against the ledger, and whatever else the ledger names.
 */
final class NoFalseCertainty implements Property {
    @Override
    public String name() {
        return "no-false-certainty";
    }

    @Override
    public String promise() {
        return "committed and verified happened at the provider, not_applied did not";
    }

    @Override
    public void check(History history, Findings findings) {
        Set<String> appliedKeys = new HashSet<>();
        history.ledger.forEach(line -> {
            if (line.applied() && line.idempotencyKey() != null) {
                appliedKeys.add(line.idempotencyKey());
            }
        });
        for (Attempt attempt : history.attempts()) {
            List<Line> lines = history.lines(attempt.receipt().id());
            boolean ledgered = attempt.receipt().kind().equals("http") ? attempt.receipt().writes() : !lines.isEmpty();
            Move last = attempt.last();
            // What stood there before anything was sent is somebody else's; only a key could tell whose.
            boolean before = attempt.receipt().state().equals("prepared") && attempt.receipt().idempotencyKey() == null;
            if (!ledgered || last == null || before) {
                continue;
            }
            String lie = attempt.applied()
                    ? saidYes(attempt, lines, appliedKeys)
                    : last.toState().equals("not_applied") ? saidNo(last, lines) : null;
            if (attempt.applied() || last.toState().equals("not_applied")) {
                findings.expect(lie == null, Subject.of(attempt), attempt + " " + lie);
            }
        }
    }

    /** A provider that says 2xx and does nothing lies itself; then we only repeat it. */
    private static @Nullable String saidYes(Attempt attempt, List<Line> lines, Set<String> appliedKeys) {
        String key = attempt.receipt().idempotencyKey();
        boolean happened = lines.stream().anyMatch(line -> line.applied() || (line.answered() && status(line) / 100 == 2))
                || (key != null && appliedKeys.contains(key));
        return happened ? null : "is " + attempt.state() + ", but the provider never did it";
    }

    private static @Nullable String saidNo(Move no, List<Line> lines) {
        if (lines.stream().anyMatch(Line::applied)) {
            return "is not_applied (" + no.proof() + "), but the provider did it";
        }
        boolean arrived = "not_sent".equals(no.proof()) && lines.stream().anyMatch(Line::delivered);
        return arrived ? "is not_applied because nothing was sent, but it arrived" : null;
    }

    private static int status(Line line) {
        return line.answer() == null ? 0 : line.answer().path("status").asInt(0);
    }
}
