package dev.waybill.check;

import dev.waybill.check.Rows.Line;
import dev.waybill.check.Rows.Move;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;

/** S4 over the attempts of one effect, by the provider's own word. */
final class OncePerEffect implements Property {
    @Override
    public String name() {
        return "once-per-effect";
    }

    @Override
    public String promise() {
        return "one effect is applied at most once, over all its attempts";
    }

    @Override
    public void check(History history, Findings findings) {
        for (RunStory story : history.runs()) {
            story.effects.forEach((path, attempts) -> {
                List<Line> applied = new ArrayList<>();
                attempts.forEach(attempt -> history.lines(attempt.receipt().id()).stream()
                        .filter(line -> line.applied() && !excused(attempt, line))
                        .forEach(applied::add));
                if (!applied.isEmpty()) {
                    findings.expect(applied.size() == 1, Subject.of(story.key, path), path + " was applied " + applied.size() + " times");
                }
            });
        }
    }

    /**
     * What was undone does not count; nor what had happened before a person wrote it off: that is the person's mistake. What happens
     * only afterwards counts: the engine must not let anybody resend before it is quiet.
     */
    static boolean excused(Attempt attempt, Line application) {
        Move undone = attempt.firstTo("compensated");
        Move writtenOff = attempt.firstTo("abandoned");
        Instant at = application.at();
        return undone != null || (writtenOff != null && !at.isAfter(writtenOff.at()));
    }
}
