package dev.waybill.lab.torture;

import dev.waybill.engine.CrashPoints.Point;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.atomic.LongAdder;

/** The vacuity table: a run that came to no harm proves nothing where it never was. */
final class Windows {
    /** What this cell can come to at all. */
    enum Ability {
        /** Several engines with links to a database: rivals, takeovers, connections that break. */
        POSTGRES,
        /** A small disk could be mounted. */
        SMALL_DISK
    }

    private final Map<String, Long> reached = new LinkedHashMap<>();
    /** Windows that a minute and a half reach as good as always. */
    private final Map<String, Long> often = new LinkedHashMap<>();

    /** @param told what the client was told of its signals */
    Windows(
            java.util.Set<Ability> able, Figures figures, Map<String, Integer> deeds, Map<String, ? extends Number> counted,
            Map<String, LongAdder> told) {
        boolean postgres = able.contains(Ability.POSTGRES);
        for (Point point : Point.values()) {
            put("struck at " + point, count(deeds, "kill at point " + point) + count(deeds, "freeze at point " + point)
                    + count(deeds, "stall at point " + point));
        }
        always("killed anywhere", sum(deeds, "kill"));
        always("drained", sum(deeds, "drain"));
        for (String reason : List.of("crash", "interrupted", "reset_after_send", "status_500", "status_503", "timeout")) {
            put("unknown: " + reason + (reason.equals("interrupted") ? " by a drain" : ""), count(figures.unknownsByReason(), reason));
        }
        always("unknown, whatever the reason", sum(figures.unknownsByReason(), ""));
        // Of a killed engine on the same machine its flight recorder knows; of a frozen one it says nothing.
        put("flight recorder: nothing was sent", count(counted, "waybill_recorder_total/not_sent"));
        put("flight recorder: the answer was there", count(counted, "waybill_recorder_total/answer"));
        put("flight recorder: nobody can know", count(counted, "waybill_recorder_total/gap"));
        if (postgres) {
            put("unknown although never delivered", figures.neverDeliveredUnknowns());
        }
        always("the provider saw the receipt dispatched", count(figures.seenStates(), "dispatched"));
        always("applied once and answered", figures.applied());
        always("provider road cut, silent or slow", sum(deeds, "provider road"));
        for (String fault : List.of(
                "cut after request bytes", "cut after answer bytes", "slow", "half open", "black hole", "refused", "ended by FIN")) {
            put("provider road: " + fault, count(deeds, "provider road " + fault));
        }
        put("rejected and sent again", sum(figures.notAppliedByProof(), "rejected"));
        put("refused before a byte left", sum(figures.notAppliedByProof(), "not_sent"));
        put("verifier: landed", sum(figures.movesByActor(), "verifier: unknown -> verified"));
        put("verifier: absent, sent anew", sum(figures.notAppliedByProof(), "verified_absent"));
        put("sent again under its key", figures.resends());
        put("operator: seen at the provider", sum(figures.movesByActor(), "operator:lab: unknown -> committed"));
        put("operator: absent, sent again or written off", sum(figures.movesByActor(), "operator:lab: unknown -> abandoned"));
        put("operator: lost output supplied", sum(figures.movesByActor(), "operator:lab: committed -> committed"));
        for (String signal : List.of("cancel", "pause", "resume", "retry")) {
            put("client: " + signal + " acknowledged", count(told, signal));
        }
        if (able.contains(Ability.SMALL_DISK)) {
            put("disk full", count(deeds, "disk full"));
        }
        if (postgres) {
            databaseWindows(figures, deeds, counted);
        }
    }

    private void databaseWindows(Figures figures, Map<String, Integer> deeds, Map<String, ? extends Number> counted) {
        for (String commit : List.of("intent", "settle", "fused", "other")) {
            put("cut at COMMIT of " + commit + ", reply lost", count(deeds, "cut at COMMIT " + commit + ", reply lost"));
            put("cut at COMMIT of " + commit + ", COMMIT lost", count(deeds, "cut at COMMIT " + commit + ", lost"));
        }
        for (String fault : List.of("cut after request bytes", "cut after answer bytes", "slow", "half open", "black hole", "reset")) {
            put("database link: " + fault, count(deeds, "database link " + fault));
        }
        put("swizzle", count(deeds, "swizzle"));
        always("commit whose answer was lost", count(counted, "waybill_commits_unclear_total"));
        always("claims taken over from a dead or frozen node", count(counted, "waybill_takeovers_total"));
        put("clock of a node jumped", sum(deeds, "clock jump"));
        put("frozen beyond the lease", sum(deeds, "freeze"));
        put("late truth settled an unknown", count(counted, "waybill_late_truth_total/settled"));
        put("late truth kept as evidence only", count(counted, "waybill_late_truth_total/evidence"));
        put("intent lapsed unsent", figures.lapsed());
        always("database killed, restarted or failed over", sum(deeds, "store") + sum(deeds, "standby promoted"));
        put("database killed and restarted", sum(deeds, "store"));
        put("standby promoted", sum(deeds, "standby promoted"));
        put("standby promoted behind a stalled link", count(deeds, "standby promoted behind a stalled link"));
        put("a frozen primary came back after the promotion", count(deeds, "standby promoted beside a frozen primary"));
        put("standby or replication away", sum(deeds, "standby kill") + sum(deeds, "replication stall"));
    }

    private void put(String window, long times) {
        reached.put(window, times);
    }

    private void always(String window, long times) {
        put(window, times);
        often.put(window, times);
    }

    private static long count(Map<String, ? extends Number> figures, String name) {
        Number figure = figures.get(name);
        return figure == null ? 0 : figure.longValue();
    }

    private static long sum(Map<String, ? extends Number> figures, String start) {
        return figures.entrySet().stream().filter(figure -> figure.getKey().startsWith(start)).mapToLong(figure -> figure.getValue().longValue()).sum();
    }

    Map<String, Long> reached() {
        return new TreeMap<>(reached);
    }

    /** @param everywhere or only those that a short run reaches too */
    List<String> missed(boolean everywhere) {
        return (everywhere ? reached : often).entrySet().stream().filter(window -> window.getValue() == 0).map(Map.Entry::getKey).toList();
    }
}
