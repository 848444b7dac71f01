package dev.waybill.check;

import dev.waybill.check.Rows.Move;
import java.util.HashMap;
import java.util.Map;

/** The place people and verifiers look for ambiguity holds all of it and nothing else. */
final class OpenQueue implements Property {
    @Override
    public String name() {
        return "open-queue";
    }

    @Override
    public String promise() {
        return "the queue holds exactly the effects that are unknown, have lost their output or wait prepared";
    }

    @Override
    public void check(History history, Findings findings) {
        for (RunStory story : history.runs()) {
            Map<String, String> queued = new HashMap<>();
            story.open.forEach(open -> queued.put(open.path() + "#" + open.attempt(), open.state()));
            for (Attempt attempt : story.attempts()) {
                String found = queued.remove(attempt.toString());
                String right = right(attempt);
                if (found != null || !right.equals("none")) {
                    findings.expect(
                            right.equals(found), Subject.of(attempt), attempt + " is in the queue as " + found + ", it should be there as " + right);
                }
            }
            queued.keySet().forEach(stranger -> findings.expect(false, Subject.of(story.key), stranger + " is in the queue and has no receipt"));
        }
    }

    private static String right(Attempt attempt) {
        Move last = attempt.last();
        if (last == null) {
            return attempt.receipt().state().equals("prepared") ? "prepared" : "none";
        }
        return last.toState().equals("unknown") ? "unknown" : last.outputState().equals("lost") ? "output_lost" : "none";
    }
}
