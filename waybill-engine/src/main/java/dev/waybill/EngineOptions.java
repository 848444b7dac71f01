package dev.waybill;

import java.time.Duration;
import java.util.function.Consumer;

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
        return with(copy -> {
            copy.lease = lease;
            copy.heartbeat = heartbeat;
        });
    }

    public EngineOptions withSendDeadline(Duration sendDeadline) {
        return with(copy -> copy.sendDeadline = sendDeadline);
    }

    public EngineOptions withDrain(Duration drain) {
        return with(copy -> copy.drain = drain);
    }

    public EngineOptions withMaxBatch(int maxBatch) {
        return with(copy -> copy.maxBatch = maxBatch);
    }

    public EngineOptions withCommitters(int committers) {
        return with(copy -> copy.committers = committers);
    }

    public EngineOptions withAcceptLossOnWeakStore(boolean acceptLossOnWeakStore) {
        return with(copy -> copy.acceptLossOnWeakStore = acceptLossOnWeakStore);
    }

    public EngineOptions withRestored(boolean restored) {
        return with(copy -> copy.restored = restored);
    }

    private EngineOptions with(Consumer<Copy> change) {
        Copy copy = new Copy(this);
        change.accept(copy);
        return copy.done();
    }

    /** The one place that knows the order of the components. */
    private static final class Copy {
        private Duration lease;
        private Duration heartbeat;
        private Duration sendDeadline;
        private Duration stepTimeout;
        private Duration drain;
        private int maxRunningTurns;
        private int maxCallsInFlight;
        private int maxBatch;
        private int committers;
        private int maxReplyBytes;
        private int crashLoopTakeovers;
        private boolean acceptLossOnWeakStore;
        private boolean restored;

        Copy(EngineOptions from) {
            this.lease = from.lease;
            this.heartbeat = from.heartbeat;
            this.sendDeadline = from.sendDeadline;
            this.stepTimeout = from.stepTimeout;
            this.drain = from.drain;
            this.maxRunningTurns = from.maxRunningTurns;
            this.maxCallsInFlight = from.maxCallsInFlight;
            this.maxBatch = from.maxBatch;
            this.committers = from.committers;
            this.maxReplyBytes = from.maxReplyBytes;
            this.crashLoopTakeovers = from.crashLoopTakeovers;
            this.acceptLossOnWeakStore = from.acceptLossOnWeakStore;
            this.restored = from.restored;
        }

        EngineOptions done() {
            return new EngineOptions(
                    lease, heartbeat, sendDeadline, stepTimeout, drain, maxRunningTurns, maxCallsInFlight,
                    maxBatch, committers, maxReplyBytes, crashLoopTakeovers, acceptLossOnWeakStore, restored);
        }
    }
}
