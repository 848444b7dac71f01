package dev.waybill.check;

import dev.waybill.check.Rows.Move;

/** semantics.md section 5: who sends again before the old request can no longer arrive may do it twice. */
final class QuietBeforeResend implements Property {
    @Override
    public String name() {
        return "quiet-before-resend";
    }

    @Override
    public String promise() {
        return "nobody writes off and resends, or verifies as absent, what may still arrive";
    }

    @Override
    public void check(History history, Findings findings) {
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
