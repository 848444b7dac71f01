package dev.waybill;

import java.time.Duration;

/**
 * Limits and times of an engine; every one has a unit.
 *
 * @param lease              node lease on the database clock (15 s)
 * @param heartbeat          how often it is extended (5 s)
 * @param sendDeadline       an intent not sent this long after it was handed over is not sent at all (2 s)
 * @param stepTimeout        for a step that names none (10 s, as the wire's http_request)
 * @param drain              how long SIGTERM waits for calls in flight (20 s)
 * @param maxRunningTurns    instances this node moves at once
 * @param maxCallsInFlight   effect calls at once; a slot is taken before the intent commits
 * @param maxBatch           commits written in one transaction
 * @param committers         writers; 2 on PostgreSQL, 1 on SQLite
 * @param maxReplyBytes      reply cap (10 MiB)
 * @param crashLoopTakeovers takeovers without progress after which a run waits, reason crash_loop
 * @param acceptLossOnWeakStore go on although the database may lose answered commits (DURABILITY_WEAK)
 * @param restored           the database was restored from a backup: pause every unfinished run, ledger_may_be_behind
 */
public record EngineOptions(
        Duration lease,
        Duration heartbeat,
        Duration sendDeadline,
        Duration stepTimeout,
        Duration drain,
        int maxRunningTurns,
        int maxCallsInFlight,
        int maxBatch,
        int committers,
        int maxReplyBytes,
        int crashLoopTakeovers,
        boolean acceptLossOnWeakStore,
        boolean restored) {
    public static final EngineOptions DEFAULT = new EngineOptions(
            Duration.ofSeconds(15),
            Duration.ofSeconds(5),
            Duration.ofSeconds(2),
            Duration.ofSeconds(10),
            Duration.ofSeconds(20),
            1_000,
            512,
            200,
            2,
            10 * 1024 * 1024,
            10,
            false,
            false);

    public EngineOptions withLease(Duration lease, Duration heartbeat) {
        return new EngineOptions(
                lease, heartbeat, sendDeadline, stepTimeout, drain, maxRunningTurns, maxCallsInFlight, maxBatch, committers,
                maxReplyBytes, crashLoopTakeovers, acceptLossOnWeakStore, restored);
    }

    public EngineOptions withDrain(Duration drain) {
        return new EngineOptions(
                lease, heartbeat, sendDeadline, stepTimeout, drain, maxRunningTurns, maxCallsInFlight, maxBatch, committers,
                maxReplyBytes, crashLoopTakeovers, acceptLossOnWeakStore, restored);
    }

    public EngineOptions withAcceptLossOnWeakStore(boolean accept) {
        return new EngineOptions(
                lease, heartbeat, sendDeadline, stepTimeout, drain, maxRunningTurns, maxCallsInFlight, maxBatch, committers,
                maxReplyBytes, crashLoopTakeovers, accept, restored);
    }

    public EngineOptions withRestored(boolean restored) {
        return new EngineOptions(
                lease, heartbeat, sendDeadline, stepTimeout, drain, maxRunningTurns, maxCallsInFlight, maxBatch, committers,
                maxReplyBytes, crashLoopTakeovers, acceptLossOnWeakStore, restored);
    }

    public EngineOptions withCommitters(int committers) {
        return new EngineOptions(
                lease, heartbeat, sendDeadline, stepTimeout, drain, maxRunningTurns, maxCallsInFlight, maxBatch, committers,
                maxReplyBytes, crashLoopTakeovers, acceptLossOnWeakStore, restored);
    }

    public EngineOptions withSendDeadline(Duration sendDeadline) {
        return new EngineOptions(
                lease, heartbeat, sendDeadline, stepTimeout, drain, maxRunningTurns, maxCallsInFlight, maxBatch, committers,
                maxReplyBytes, crashLoopTakeovers, acceptLossOnWeakStore, restored);
    }

    public EngineOptions withMaxBatch(int maxBatch) {
        return new EngineOptions(
                lease, heartbeat, sendDeadline, stepTimeout, drain, maxRunningTurns, maxCallsInFlight, maxBatch, committers,
                maxReplyBytes, crashLoopTakeovers, acceptLossOnWeakStore, restored);
    }
}
