package dev.waybill.check;

import java.util.HashSet;
import java.util.Set;

/** semantics.md section 8: an end waits for what is in flight, and names what stays unknown. */
final class EndedClean implements Property {
    @Override
    public String name() {
        return "ended-clean";
    }

    @Override
    public String promise() {
        return "no run that rests has a dispatched receipt; an ended one names its residuals";
    }

    @Override
    public void check(History history, Findings findings) {
        for (RunStory story : history.runs()) {
            Rows.Run run = story.run;
            boolean rests = run != null && (run.terminal() || run.state().equals("waiting") || run.state().equals("paused"));
            if (run == null || !rests) {
                continue;
            }
            Set<String> residuals = new HashSet<>();
            Json.parse(run.outcome()).path("residuals").forEach(residual -> residuals.add(residual.path("effect_id").asString("")));
            for (Attempt attempt : story.attempts()) {
                findings.expect(
                        !attempt.state().equals("dispatched"), Subject.of(attempt), "the run is " + run.state() + ", but " + attempt + " is in flight");
                if (run.terminal() && attempt.state().equals("unknown")) {
                    findings.expect(
                            residuals.contains(attempt.receipt().id()), Subject.of(attempt),
                            "the run is " + run.state() + " and does not name " + attempt + ", which is unknown, as a residual");
                }
            }
        }
    }
}
