package dev.waybill.check;

import dev.waybill.check.Rows.BlockRow;
import dev.waybill.check.Rows.Move;
import dev.waybill.check.Rows.Receipt;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** S4, the state side: another attempt only behind a definite no, a write-off, or as a resend under the same key (semantics.md 3, 5). */
final class Attempts implements Property {
    private static final Set<String> ENDED_WITHOUT = Set.of("not_applied", "abandoned", "compensated");

    @Override
    public String name() {
        return "attempts";
    }

    @Override
    public String promise() {
        return "no new attempt while an earlier one may have happened; an automatic one repeats the frozen request";
    }

    @Override
    public void check(History history, Findings findings) {
        for (RunStory story : history.runs()) {
            for (List<Attempt> attempts : story.effects.values()) {
                for (int i = 0; i < attempts.size(); i++) {
                    Attempt attempt = attempts.get(i);
                    findings.expect(
                            attempt.receipt().attempt() == i, Subject.of(attempt), attempt + " where attempt " + i + " was next");
                    if (i > 0) {
                        String fault = fault(story, attempts.get(i - 1), attempt);
                        findings.expect(fault == null, Subject.of(attempt), String.valueOf(fault));
                    }
                }
            }
        }
    }

    private static @Nullable String fault(RunStory story, Attempt before, Attempt next) {
        Receipt old = before.receipt();
        Receipt fresh = next.receipt();
        boolean sameRequest =
                old.requestSha256().equals(fresh.requestSha256()) && Objects.equals(old.idempotencyKey(), fresh.idempotencyKey());
        if (fresh.resendOf() != null) {
            return !fresh.resendOf().equals(old.id())
                    ? next + " resends " + fresh.resendOf() + ", which is not the attempt before"
                    : old.idempotencyKey() != null && sameRequest ? null : next + " resends with another key or request";
        }
        Move last = stateAt(before, fresh);
        if (last == null || !ENDED_WITHOUT.contains(last.toState())) {
            return next + " was sent while " + before + " was " + (last == null ? old.state() : last.toState());
        }
        boolean cleared = clearedBetween(story, old, fresh);
        if (last.retryInMillis() == null && !cleared) {
            return next + " was sent although " + before + " had ended for good and nobody asked";
        }
        return cleared || sameRequest ? null : next + " does not repeat the request that " + before + " froze";
    }

    private static @Nullable Move stateAt(Attempt attempt, Receipt next) {
        Move last = null;
        for (Move move : attempt.moves()) {
            if (!move.at().isAfter(next.at())) {
                last = move;
            }
        }
        return last;
    }

    private static boolean clearedBetween(RunStory story, Receipt old, Receipt fresh) {
        for (BlockRow row : story.rows(old.path())) {
            if (row.kind().equals("cleared") && !row.at().isBefore(old.at()) && !row.at().isAfter(fresh.at())) {
                return true;
            }
        }
        return false;
    }
}
