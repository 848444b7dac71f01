package dev.waybill.lab.sim;

import java.util.List;
import java.util.Map;

/** What many seeds together must have come into; else they prove nothing about it. */
public final class Dangers {
    /** Beginnings of the names in {@link SimResult#reached}. */
    public static final List<String> ALL = List.of(
            "commit unclear_done", "commit unclear_undone", "commit unclear_late", "commit crash", "commit pause", "commit store_refuses",
            "outside unclear_done", "outside unclear_undone", "start unclear_done", "start unclear_undone", "claim unclear_done",
            "claim unclear_undone", "claim unclear_late", "claim crash", "heartbeat unclear_done", "read store_refuses", "disk full", "store out of reach",
            "connection broken by failover", "dies at before_intent", "dies at after_intent", "dies at after_answer", "dies at before_settle",
            "dies at after_settle", "dies at after_release", "stands still at after_intent", "stands still at before_settle", "wire crash",
            "wire pause", "wire packet_late", "wire packet_lost", "wire answer_lost", "wire answer_late", "wire answer_cut", "wire no_route",
            "last look too late", "provider apply_500", "provider apply_late", "provider apply_hang_up", "provider hang_up",
            "provider say_503", "provider say_429", "provider say_402", "provider apply_redirect", "nemesis kill", "nemesis freeze",
            "nemesis failover", "nemesis disk_full", "nemesis clock_jump", "drained", "engine takeovers", "engine late_truth settled", "engine late_truth evidence",
            "engine commits_unclear", "engine effects unknown", "engine effects not_applied", "start deduplicated", "start told only when asked again", "signal cancel of a running run",
            "signal pause of a running run", "resolved committed", "resolved abandoned then resend", "resolved abandoned then fail",
            "resolve refused EFFECT_NOT_QUIET", "dies at after_question", "dies at after_resend_intent",
            "engine verifier_reads landed", "engine verifier_reads absent", "engine verifier_reads inconclusive", "engine effects verified",
            "provider look_lags", "provider look_down", "provider look_503", "provider look_404", "provider hides what it did",
            "provider replays a key", "content refused as a duplicate", "retried by a person", "failover behind", "engine ledger_behind", "ledger accepted");

    private Dangers() {}

    /** Those that never came up. */
    public static List<String> missed(Map<String, Long> reached) {
        return ALL.stream().filter(danger -> reached.keySet().stream().noneMatch(situation -> situation.startsWith(danger))).toList();
    }
}
