package dev.waybill.check;

import dev.waybill.check.Rows.Move;

/** S3, the other half: the key conflict on n is the compare-and-swap, so a gap or a wrong predecessor is a lost or doubled move. */
final class GaplessJournal implements Property {
    @Override
    public String name() {
        return "gapless-journal";
    }

    @Override
    public String promise() {
        return "a receipt's moves are numbered 1, 2, 3 .. and each leaves the state the one before reached";
    }

    @Override
    public void check(History history, Findings findings) {
        for (Attempt attempt : history.attempts()) {
            String state = attempt.receipt().state();
            int n = 1;
            for (Move move : attempt.moves()) {
                findings.expect(move.n() == n, Subject.of(attempt), attempt + ": move n=" + move.n() + " where n=" + n + " was next");
                findings.expect(
                        move.fromState().equals(state), Subject.of(attempt),
                        attempt + " n=" + move.n() + " leaves " + move.fromState() + ", but the receipt was " + state);
                state = move.toState();
                n = move.n() + 1;
            }
        }
        for (RunStory story : history.runs()) {
            story.orphans.forEach(move -> findings.expect(
                    false, Subject.of(story.key), "a move of " + move.path() + "#" + move.attempt() + ", which has no receipt"));
        }
    }
}
