package dev.waybill.check;

import java.time.Instant;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** L1. A run that is younger than the bound, or a dump taken too early, proves nothing and is not counted. */
final class RestAfterCalm implements Property {
    private static final Set<String> NAMED = Set.of(
            "timer", "retry", "before_read", "effect_unknown", "effect_abandoned", "output_lost", "crash_loop", "paused", "ledger_may_be_behind", "signal",
            "approval", "worker", "child");

    private static final Set<String> BY_CLOCK = Set.of("timer", "retry", "before_read");

    @Override
    public String name() {
        return "rest-after-calm";
    }

    @Override
    public String promise() {
        return "once faults stop, every run has ended or is in a named wait within the bound";
    }

    @Override
    public void check(History history, Findings findings) {
        Instant now = history.last.at;
        Instant calm = history.calmSince();
        for (RunStory story : history.runs()) {
            Rows.Run run = story.run;
            if (run == null) {
                continue;
            }
            String unrest = unrest(run, now.minus(history.settings.calm()));
            Instant since = calm == null || calm.isBefore(run.createdAt()) ? run.createdAt() : calm;
            if (unrest == null || since.plus(history.settings.calm()).isBefore(now)) {
                findings.expect(
                        unrest == null, Subject.of(story.key),
                        unrest + " at " + now + (calm == null ? "" : "; nothing was done to the system since " + calm));
            }
        }
    }

    /** @param overdue what was due before this should long have happened */
    private static @Nullable String unrest(Rows.Run run, Instant overdue) {
        Instant due = run.nextFireAt();
        return switch (run.state()) {
            case "completed", "failed", "cancelled" -> null;
            case "scheduled" -> due != null && due.isAfter(overdue) ? null : "the run is scheduled for " + due + " and nobody takes it";
            case "waiting", "paused" -> {
                JsonNode reasons = Json.parse(run.reasons());
                boolean byClock = false;
                for (JsonNode reason : reasons) {
                    String name = reason.path("reason").asString("");
                    byClock |= BY_CLOCK.contains(name);
                    if (!NAMED.contains(name)) {
                        yield "the run is " + run.state() + " for no reason that is known: '" + name + "'";
                    }
                }
                if (reasons.isEmpty()) {
                    yield "the run is " + run.state() + " and names no reason";
                }
                if (byClock && run.state().equals("waiting") && (due == null || due.isBefore(overdue))) {
                    yield "the run waits for a time, but is due at " + due;
                }
                yield null;
            }
            default -> "the run is " + run.state();
        };
    }
}
