package dev.waybill.check;

import dev.waybill.check.Rows.BlockRow;
import dev.waybill.check.Rows.Move;
import dev.waybill.check.Rows.Receipt;
import java.time.Instant;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * S6. What one transaction should have written is there as a whole: rows of one transition id have one time and one run, a settled block
 * has its output (or says that it is lost or unusable), a final no has the row that tells the block, and no intent stands behind an
 * effect that has no outcome.
 */
final class AtomicSettle implements Property {
    @Override
    public String name() {
        return "atomic-settle";
    }

    @Override
    public String promise() {
        return "receipt, output and next move commit together";
    }

    private record Written(Instant at, Rows.RunKey run, String what) {}

    @Override
    public void check(History history, Findings findings) {
        Map<String, Written> transitions = new HashMap<>();
        for (RunStory story : history.runs()) {
            for (Attempt attempt : story.attempts()) {
                Receipt receipt = attempt.receipt();
                together(transitions, receipt.transitionId(), new Written(receipt.at(), story.key, attempt + " dispatched"), receipt.path(), findings);
                for (Move move : attempt.moves()) {
                    together(
                            transitions, move.transitionId(), new Written(move.at(), story.key, attempt + " " + move.toState()), move.path(),
                            findings);
                    whole(story, attempt, move, findings);
                }
            }
            story.rows.values().forEach(rows -> rows.forEach(row -> together(
                    transitions, row.transitionId(), new Written(row.at(), story.key, row.path() + " " + row.kind()), row.path(), findings)));
            for (Reference.Finding finding : story.reference().findings) {
                if (finding.kind() == Reference.Kind.UNSETTLED_PREDECESSOR) {
                    findings.expect(false, Subject.of(story.key, finding.path()), finding.message());
                }
            }
        }
    }

    private static void together(Map<String, Written> transitions, String id, Written row, String path, Findings findings) {
        Written first = transitions.putIfAbsent(id, row);
        if (first != null) {
            findings.expect(
                    first.at.equals(row.at) && first.run.equals(row.run), Subject.of(row.run, path),
                    "one transition wrote '" + first.what + "' at " + first.at + " of " + first.run + " and '" + row.what + "' at " + row.at
                            + " of " + row.run);
        }
    }

    private static void whole(RunStory story, Attempt attempt, Move move, Findings findings) {
        String fault = null;
        if (Set.of("committed", "verified").contains(move.toState())) {
            fault = switch (move.outputState()) {
                case "saved" -> move.output() == null ? "its output is said to be saved and is not there" : null;
                case "lost" -> null;
                case "unusable" -> move.problem() == null ? "its output is unusable without a reason" : null;
                default -> chained(story, move) ? null : "it is settled, but its output is neither saved nor said to be lost";
            };
        } else if (move.toState().equals("not_applied") && move.retryInMillis() == null) {
            BlockRow row = told(story, move);
            fault = row == null && !alone(story, attempt, move) ? "it ended for good, but nothing of that transition tells the block" : null;
        }
        findings.expect(fault == null, Subject.of(attempt), attempt + " n=" + move.n() + ": " + fault);
    }

    /** Of receipts sent one after the other under one key, one carries the output: the same transaction moved it. */
    private static boolean chained(RunStory story, Move move) {
        return story.attempts(move.path()).stream()
                .flatMap(other -> other.moves().stream())
                .anyMatch(other -> other != move && other.transitionId().equals(move.transitionId()) && !other.outputState().equals("none"));
    }

    /** A no to a resend speaks about the resend alone: an earlier receipt is unknown still, and so is the effect. */
    private static boolean alone(RunStory story, Attempt attempt, Move move) {
        return attempt.receipt().resendOf() != null
                && story.attempts(move.path()).stream()
                        .anyMatch(other -> other.receipt().attempt() < attempt.receipt().attempt() && "unknown".equals(other.stateAt(move.at())));
    }

    private static @Nullable BlockRow told(RunStory story, Move move) {
        return story.rows(move.path()).stream()
                .filter(row -> row.transitionId().equals(move.transitionId()) && Set.of("error", "output").contains(row.kind()))
                .findFirst()
                .orElse(null);
    }
}
