package dev.waybill.check;

import dev.waybill.check.Rows.Move;
import java.time.Instant;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** semantics.md section 5: who sends again before the old request can no longer arrive may do it twice. */
final class QuietBeforeResend implements Property {
    @Override
    public String name() {
        return "quiet-before-resend";
    }

    @Override
    public String promise() {
        return "nobody resends, or verifies as absent, what may still arrive; and nobody resends after the key's window";
    }

    /** A resend by the engine: something is unknown, all of that is quiet, and the key is not forgotten yet. */
    private static @Nullable String early(List<Attempt> attempts, Attempt resend) {
        Instant sent = resend.receipt().at();
        List<Attempt> unknown = attempts.stream()
                .filter(one -> one.receipt().attempt() < resend.receipt().attempt() && one.stateAt(sent).equals("unknown"))
                .toList();
        if (unknown.isEmpty()) {
            return resend + " resends, and nothing before it was unknown";
        }
        for (Attempt one : unknown) {
            if (sent.isBefore(one.receipt().quietAt())) {
                return resend + " was sent at " + sent + ", " + one + " is quiet only at " + one.receipt().quietAt();
            }
        }
        Attempt first = attempts.stream()
                .filter(one -> java.util.Objects.equals(one.receipt().idempotencyKey(), resend.receipt().idempotencyKey()))
                .findFirst()
                .orElse(resend);
        Long window = first.receipt().keyWindowMillis();
        return window == null || !sent.isBefore(first.receipt().at().plusMillis(window))
                ? resend + " was sent at " + sent + ", outside the window of its key"
                : null;
    }

    @Override
    public void check(History history, Findings findings) {
        for (RunStory story : history.runs()) {
            for (Attempt attempt : story.attempts()) {
                if (attempt.receipt().resendOf() != null) {
                    String fault = early(story.attempts(attempt.receipt().path()), attempt);
                    findings.expect(fault == null, Subject.of(attempt), String.valueOf(fault));
                }
            }
        }
        for (Attempt attempt : history.attempts()) {
            for (Move move : attempt.moves()) {
                boolean resends = move.toState().equals("abandoned") && move.retryInMillis() != null;
                boolean absent = "verified_absent".equals(move.proof());
                if (resends || absent) {
                    findings.expect(
                            !move.at().isBefore(attempt.receipt().quietAt()), Subject.of(attempt),
                            attempt + (resends ? " was to be sent again at " : " was verified absent at ") + move.at() + ", it is quiet only at "
                                    + attempt.receipt().quietAt());
                }
            }
        }
    }
}
