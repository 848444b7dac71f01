package dev.waybill.lab.torture;

import dev.waybill.engine.CrashPoints.Point;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The vacuity table: a run that came to no harm proves nothing where it never was. */
final class Windows {
    private final Map<String, Long> reached = new LinkedHashMap<>();

    Windows(boolean postgres, Figures figures, Map<String, Integer> deeds, Map<String, ? extends Number> counted) {
        for (Point point : Point.values()) {
            put("struck at " + point, count(deeds, "kill at point " + point) + count(deeds, "freeze at point " + point)
                    + count(deeds, "stall at point " + point));
        }
        put("killed anywhere", count(deeds, "kill"));
        put("drained", count(deeds, "drain"));
        for (String reason : List.of("crash", "interrupted", "reset_after_send", "status_500", "status_503", "timeout")) {
            put("unknown: " + reason + (reason.equals("interrupted") ? " by a drain" : ""), count(figures.unknownsByReason(), reason));
        }
        // Of a killed engine on the same machine its flight recorder knows; of a frozen one it says nothing.
        put("unknown although never delivered", figures.neverDeliveredUnknowns(), postgres);
        put("flight recorder: nothing was sent", count(counted, "waybill_recorder_total/not_sent"));
        put("flight recorder: the answer was there", count(counted, "waybill_recorder_total/answer"));
        put("flight recorder: nobody can know", count(counted, "waybill_recorder_total/gap"));
        put("commit whose answer was lost", count(counted, "waybill_commits_unclear_total"), postgres);
        put("claims taken over from a dead or frozen node", count(counted, "waybill_takeovers_total"), postgres);
        put("frozen beyond the lease", count(deeds, "freeze"), postgres);
        put("late truth settled an unknown", count(counted, "waybill_late_truth_total/settled"), postgres);
        put("late truth kept as evidence only", count(counted, "waybill_late_truth_total/evidence"), postgres);
        put("last look: intent lapsed unsent", sum(figures.notAppliedByProof(), "not_sent"), postgres);
        put("database killed", count(deeds, "store kill"), postgres);
        put("rejected and sent again", sum(figures.notAppliedByProof(), "rejected"));
        put("operator: seen at the provider", sum(figures.movesByActor(), "operator:lab: unknown -> committed"));
        put("operator: absent, sent again or written off", sum(figures.movesByActor(), "operator:lab: unknown -> abandoned"));
        put("operator: lost output supplied", sum(figures.movesByActor(), "operator:lab: committed -> committed"));
    }

    private void put(String window, long times) {
        reached.put(window, times);
    }

    /** One engine on SQLite has no rival and no connection that breaks. */
    private void put(String window, long times, boolean possible) {
        if (possible) {
            put(window, times);
        }
    }

    private static long count(Map<String, ? extends Number> figures, String name) {
        Number figure = figures.get(name);
        return figure == null ? 0 : figure.longValue();
    }

    private static long sum(Map<String, Long> figures, String start) {
        return figures.entrySet().stream().filter(figure -> figure.getKey().startsWith(start)).mapToLong(Map.Entry::getValue).sum();
    }

    Map<String, Long> reached() {
        return reached;
    }

    List<String> missed() {
        return reached.entrySet().stream().filter(window -> window.getValue() == 0).map(Map.Entry::getKey).toList();
    }
}
