package dev.waybill.check;

import dev.waybill.check.Rows.Event;
import java.util.HashSet;
import java.util.Set;

/** S17: what people and webhooks must hear of is in the outbox, and nothing else. */
final class Outbox implements Property {
    @Override
    public String name() {
        return "outbox";
    }

    @Override
    public String promise() {
        return "every effect that became unknown and every run that ended is announced, and only those";
    }

    @Override
    public void check(History history, Findings findings) {
        for (RunStory story : history.runs()) {
            Set<String> announced = new HashSet<>();
            for (Event event : story.events) {
                if (event.type().equals("effect.unknown") && event.subject() != null) {
                    announced.add(event.subject());
                }
            }
            for (Attempt attempt : story.attempts()) {
                boolean unknown = attempt.firstTo("unknown") != null;
                boolean told = announced.contains(attempt.receipt().id());
                if (unknown || told) {
                    findings.expect(
                            unknown == told, Subject.of(attempt),
                            attempt + (unknown ? " became unknown without an event effect.unknown" : " was announced as unknown and never was"));
                }
            }
            Rows.Run run = story.run;
            if (run != null && run.terminal()) {
                findings.expect(
                        story.events.stream().anyMatch(event -> event.type().equals("instance." + run.state())), Subject.of(story.key),
                        "the run is " + run.state() + " without an event instance." + run.state());
            }
        }
    }
}
