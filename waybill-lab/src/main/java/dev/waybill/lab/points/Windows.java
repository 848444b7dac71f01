package dev.waybill.lab.points;

import dev.waybill.lab.points.Machine.Kind;
import dev.waybill.lab.points.Trial.Outcome;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/** How often a crash hit each named window of reliability.md section 5.2 that this build has (W6 and W12 without the flight recorder). */
final class Windows {
    private Windows() {}

    private record Window(String name, String what, java.util.function.BiPredicate<String, Ground.Left> hit) {}

    private static Window point(String name, String what, String pattern) {
        return new Window(name, what, (point, left) -> point.matches(pattern));
    }

    private static final String COMMITS = "(COMMIT|WITH)";

    private static final List<Window> ALL = List.of(
            new Window("W01", "before the claim commits", (point, left) -> point.matches("claim-due#.*:before") && left.due() > 0),
            new Window("W02", "claim committed, answer lost", (point, left) -> point.matches("claim-due#.*:after") && left.claimed() > 0),
            point("W03", "params resolved", "at:BEFORE_INTENT:.*"),
            point("W04", "intent sent to the database", "commit[^#]*-intent.*:" + COMMITS + ":before"),
            point("W05", "intent committed, answer lost", "commit[^#]*-intent.*:" + COMMITS + ":after"),
            point("W06", "intent acknowledged", "at:AFTER_INTENT:.*"),
            point("W07", "before the first byte", "wire:.*:(dial|connected|send)#.*"),
            point("W08", "in the middle of the request", "wire:.*:half_sent#.*"),
            point("W09", "after the last byte", "wire:.*:sent#.*"),
            point("W10", "status line read", "wire:.*:status#.*"),
            point("W11", "in the middle of the body", "wire:.*:half_read#.*"),
            point("W12", "body complete", "wire:.*:(read|end)#.*"),
            point("W13", "answer known, nothing handed over", "at:(AFTER_ANSWER|BEFORE_SETTLE):.*"),
            point("W14", "settle sent to the database", "commit[^#]*-settle.*:" + COMMITS + ":before"),
            point("W15", "settle committed, answer lost", "commit[^#]*-settle.*:" + COMMITS + ":after"),
            point("W16", "settled, next not sent", "at:AFTER_SETTLE:.*"),
            point("W17", "unknown being written", "commit[^#]*-unknown.*"));

    /** @return every window, those that no crash hit with 0 */
    static Map<String, Integer> hits(List<Outcome> outcomes) {
        Map<String, Integer> hits = new TreeMap<>();
        ALL.forEach(window -> hits.put(window.name + " " + window.what, 0));
        for (Outcome outcome : outcomes) {
            for (int i = 0; i < outcome.faults().size(); i++) {
                boolean fired = i < outcome.fired().size() && outcome.fired().get(i);
                if (!fired || outcome.faults().get(i).kind() != Kind.CRASH) {
                    continue;
                }
                String point = outcome.faults().get(i).point();
                Ground.Left left = i < outcome.lefts().size() ? outcome.lefts().get(i) : new Ground.Left(0, 0);
                ALL.stream()
                        .filter(window -> window.hit.test(point, left))
                        .forEach(window -> hits.merge(window.name + " " + window.what, 1, Integer::sum));
            }
        }
        return hits;
    }
}
