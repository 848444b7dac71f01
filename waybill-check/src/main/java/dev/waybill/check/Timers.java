package dev.waybill.check;

import dev.waybill.check.Rows.BlockRow;
import dev.waybill.check.Rows.Move;
import dev.waybill.check.Rows.RunKey;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** S12, by the store's clock: delays, sleeps, polls and backoffs are over before what waits for them begins. */
final class Timers implements Property {
    /** Due times have milliseconds, rows microseconds. */
    private static final Duration ROUNDING = Duration.ofMillis(1);

    @Override
    public String name() {
        return "timers";
    }

    @Override
    public String promise() {
        return "nothing that waits for a time goes on before it";
    }

    @Override
    public void check(History history, Findings findings) {
        for (RunStory story : history.runs()) {
            story.rows.forEach((path, rows) -> rows(story, path, rows, findings));
            story.effects.forEach((path, attempts) -> backoff(story, path, attempts, findings));
        }
        for (Rows.Call call : history.client) {
            if (call.op().equals("start") && call.ok() && call.id() != null && call.delayMs() != null) {
                RunStory story = history.run(new RunKey(call.tenantOrDefault(), call.id()));
                Instant begin = story == null ? null : story.beginUnder("");
                if (story != null && story.run != null && begin != null) {
                    due(story, "", story.run.createdAt(), call.delayMs(), begin, "its start was delayed", findings);
                }
            }
        }
    }

    private static void rows(RunStory story, String path, List<BlockRow> rows, Findings findings) {
        for (int i = 0; i < rows.size(); i++) {
            BlockRow row = rows.get(i);
            if (row.dueInMillis() == null || !(row.kind().equals("timer") || row.kind().equals("retry"))) {
                continue;
            }
            Instant next = i + 1 < rows.size() ? rows.get(i + 1).at() : null;
            boolean asked = i + 1 < rows.size() && rows.get(i + 1).kind().equals("cleared");
            for (Attempt attempt : story.attempts(path)) {
                Instant sent = attempt.receipt().at();
                next = !sent.isBefore(row.at()) && (next == null || sent.isBefore(next)) ? sent : next;
            }
            if (path.endsWith("/$poll")) {
                next = nextIteration(story, path);
            }
            if (next != null && !asked) {
                due(story, path, row.at(), row.dueInMillis(), next, "its " + row.kind(), findings);
            }
        }
    }

    /** What a poll holds back is the next verdict or the end of the loop. */
    private static @Nullable Instant nextIteration(RunStory story, String poll) {
        String iteration = poll.substring(0, poll.length() - "/$poll".length());
        int open = iteration.lastIndexOf('[');
        String loop = iteration.substring(0, open);
        int next = Integer.parseInt(iteration.substring(open + 1, iteration.length() - 1)) + 1;
        Instant verdict = story.begin(loop + "[" + next + "]");
        return verdict != null ? verdict : story.begin(loop);
    }

    private static void backoff(RunStory story, String path, List<Attempt> attempts, Findings findings) {
        for (int i = 1; i < attempts.size(); i++) {
            List<Move> moves = new ArrayList<>(attempts.get(i - 1).moves());
            Instant sent = attempts.get(i).receipt().at();
            moves.removeIf(move -> move.at().isAfter(sent));
            Move last = moves.isEmpty() ? null : moves.getLast();
            if (last == null || last.retryInMillis() == null) {
                continue;
            }
            boolean asked = story.rows(path).stream()
                    .anyMatch(row -> row.kind().equals("cleared") && between(last.at(), row.at(), sent));
            // A person who says of an earlier attempt that it shall be sent again does not wait for the backoff of a refused resend.
            boolean decided = attempts.subList(0, i).stream()
                    .flatMap(attempt -> attempt.moves().stream())
                    .anyMatch(move -> move.byPerson() && move.toState().equals("abandoned") && between(last.at(), move.at(), sent));
            if (!asked && !decided) {
                due(story, path, last.at(), last.retryInMillis(), sent, "the backoff of " + attempts.get(i - 1), findings);
            }
        }
    }

    private static boolean between(Instant first, Instant at, Instant end) {
        return !at.isBefore(first) && !at.isAfter(end);
    }

    private static void due(RunStory story, String path, Instant from, long millis, Instant next, String what, Findings findings) {
        Instant due = from.plusMillis(millis);
        findings.expect(
                !next.isBefore(due.minus(ROUNDING)), Subject.of(story.key, path),
                path + " went on at " + next + ", but " + what + " was over only at " + due);
    }
}
