package dev.waybill.check;

import dev.waybill.check.Rows.Call;
import dev.waybill.check.Rows.RunKey;
import java.time.Instant;

/** S14, by the client's clock: who was told that a run is cancelled or paused sees nothing new begin. */
final class StoppedMeansStopped implements Property {
    @Override
    public String name() {
        return "stopped-means-stopped";
    }

    @Override
    public String promise() {
        return "after an acknowledged cancel or pause nothing new is dispatched; what undoes a saga is held by a pause alone";
    }

    @Override
    public void check(History history, Findings findings) {
        for (Call call : history.client) {
            boolean stops = call.op().equals("signal") && ("cancel".equals(call.signal()) || "pause".equals(call.signal()));
            if (!stops || !call.ok() || call.id() == null) {
                continue;
            }
            RunStory story = history.run(new RunKey(call.tenantOrDefault(), call.id()));
            if (story == null) {
                continue;
            }
            Instant from = call.end().plus(history.settings.skew());
            Instant until = resumed(history, call);
            // A cancel asks for the undoing, and ends a pause for it.
            boolean cancel = "cancel".equals(call.signal());
            Instant undone = cancel ? from : earliest(until, cancelled(history, call));
            Attempt late = story.attempts().stream()
                    .filter(attempt -> attempt.receipt().at().isAfter(from)
                            && attempt.receipt().at().isBefore(story.compensates(attempt) ? undone : until))
                    .findFirst()
                    .orElse(null);
            findings.expect(
                    late == null, late == null ? Subject.of(story.key) : Subject.of(late),
                    late + " was dispatched after " + call.signal() + " was acknowledged at " + call.end());
        }
    }

    private static Instant earliest(Instant a, Instant b) {
        return a.isBefore(b) ? a : b;
    }

    private static Instant cancelled(History history, Call pause) {
        return history.client.stream()
                .filter(call -> call.op().equals("signal") && "cancel".equals(call.signal()) && !call.result().equals("fail"))
                .filter(call -> String.valueOf(call.id()).equals(pause.id()) && !call.end().isBefore(pause.at()))
                .map(Call::at)
                .min(java.util.Comparator.naturalOrder())
                .orElse(Instant.MAX);
    }

    private static Instant resumed(History history, Call pause) {
        return history.client.stream()
                .filter(call -> call.op().equals("signal") && "resume".equals(call.signal()) && !call.result().equals("fail"))
                .filter(call -> String.valueOf(call.id()).equals(pause.id()) && !"cancel".equals(pause.signal()) && !call.end().isBefore(pause.at()))
                .map(Call::at)
                .min(java.util.Comparator.naturalOrder())
                .orElse(Instant.MAX);
    }
}
