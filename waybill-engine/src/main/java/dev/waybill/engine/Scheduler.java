package dev.waybill.engine;

import dev.waybill.engine.Engine.Loaded;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.InstanceState;
import dev.waybill.store.Commit;
import dev.waybill.store.InstanceRecord;
import dev.waybill.store.InstanceSnapshot;
import dev.waybill.store.OutsideMove;
import dev.waybill.store.Queries.InstanceFilter;
import dev.waybill.store.Release;
import dev.waybill.store.StoreException;
import dev.waybill.store.UnclearCommitException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Claims due instances for this node, bounded by its free capacity, and runs a {@link Turn} for each. Frees what dead nodes held.
 * Wake-ups of this node are in memory; other nodes learn by the store's hints with a 1 s poll behind them; correctness never depends on
 * a hint.
 */
final class Scheduler implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Scheduler.class);
    private static final Duration POLL = Duration.ofSeconds(1);
    private static final Duration SWEEP = Duration.ofSeconds(2);
    private static final int MAX_CLAIM = 200;
    private static final int MAX_FREE = 500;
    private static final int STRAY_LOOKS = 3;
    /** How long a COMMIT whose answer was lost is looked for: longer than any lock wait or socket timeout. */
    private static final Duration LOST_FOR = Duration.ofMinutes(2);

    private final Engine engine;
    private final InstantSource wall;
    private final Runnable onChange;
    private final Runnable beforeSweep;
    private final Map<InstanceKey, Turn> running = new ConcurrentHashMap<>();
    private final AtomicInteger taken = new AtomicInteger();
    private final Semaphore wake = new Semaphore(0);
    /** By when they were last heard of. */
    private final Map<LostClaim, Long> lostClaims = new ConcurrentHashMap<>();
    private final CountDownLatch stop = new CountDownLatch(1);
    private final Thread thread;
    private final Thread sweeper;
    /** The sweeper's own: see {@link #freeStrays}. */
    private int historyChanges;

    private int strayLooks;
    private Map<InstanceKey, InstanceRecord> strays = Map.of();
    private volatile boolean draining;
    private volatile long drainDeadlineNanos;
    private volatile boolean closed;

    /**
     * A claim that is or may be durable and that nobody runs, although what it took belongs to this node: its answer never came, or what
     * else a turn needs did not.
     */
    private record LostClaim(UUID node, UUID nonce) {}

    /**
     * @param onChange    something of interest may have changed
     * @param beforeSweep run before the claims of dead nodes are freed: whoever knows what became of their effects speaks first
     */
    Scheduler(Engine engine, InstantSource wall, Runnable onChange, Runnable beforeSweep) {
        this.engine = engine;
        this.wall = wall;
        this.onChange = onChange;
        this.beforeSweep = beforeSweep;
        this.thread = engine.host().platform("waybill-scheduler", this::run);
        this.sweeper = engine.host().platform("waybill-sweeper", this::sweepOn);
    }

    void start() {
        engine.store().onNotification(() -> {
            nudge();
            running.values().forEach(Turn::hint);
        });
        sweeper.start();
        thread.start();
    }

    /** Something may be due now. */
    void nudge() {
        wake.release();
        onChange.run();
    }

    /** Somebody wrote news about this instance. */
    void nudge(InstanceKey instance) {
        Turn turn = running.get(instance);
        if (turn != null) {
            turn.nudge();
        }
        nudge();
    }

    /** Room for one more turn, taken; give it back with {@link #leave} or by the end of the turn. */
    boolean enter() {
        if (draining) {
            return false;
        }
        if (taken.incrementAndGet() > engine.options().maxRunningTurns()) {
            taken.decrementAndGet();
            return false;
        }
        return true;
    }

    void leave() {
        taken.decrementAndGet();
    }

    /** Runs an instance this node has just claimed; its place was taken with {@link #enter}. */
    void adopt(InstanceSnapshot snapshot) {
        InstanceKey key = snapshot.instance().key();
        Loaded loaded;
        try {
            loaded = engine.sequences().get(key.tenant(), snapshot.instance().sequenceId());
        } catch (StoreException e) {
            LOG.warn("run {} is claimed but waits for the database: {}", key, e.getMessage());
            leave();
            lost(engine.node().incarnation(), snapshot.instance().claim().nonce());
            return;
        } catch (RuntimeException e) {
            LOG.error("INVALID_CONFIG the sequence of run {} cannot be read; the run waits for somebody to look", key, e);
            park(snapshot);
            return;
        }
        if (loaded == null) {
            LOG.error("SEQUENCE_NOT_FOUND run {} names sequence {} which is gone", key, snapshot.instance().sequenceId());
            park(snapshot);
            return;
        }
        Turn turn;
        try {
            turn = new Turn(engine, this, loaded, snapshot, wall);
        } catch (RuntimeException e) {
            LOG.error("INVALID_CONFIG the rows of run {} cannot be read; it waits for somebody to look", key, e);
            park(snapshot);
            return;
        }
        // A claim whose answer was thought lost may be found while that answer is being taken up: one claim, one turn.
        if (running.merge(key, turn, (there, here) -> there.claim().equals(here.claim()) ? there : here) != turn) {
            leave();
            return;
        }
        engine.host().virtual("waybill-turn-" + key.id(), turn).start();
    }

    /** A run that no turn can be made of gives its claim back, so that it does not stay claimed until this node ends. */
    private void park(InstanceSnapshot snapshot) {
        Release release = new Release(
                InstanceState.WAITING, null, snapshot.instance().wakeSeq(),
                Reasons.single("crash_loop", "waybill run retry " + snapshot.instance().key().id()), null, List.of());
        engine.committer()
                .submit(new Commit(
                        snapshot.instance().key(), snapshot.instance().claim(), engine.ids().get(), List.of(), List.of(), List.of(), List.of(),
                        release, false))
                .whenComplete((answer, failure) -> {
                    leave();
                    if (failure != null) {
                        LOG.error("the claim of {} could not be given up; it ends with this node's lease", snapshot.instance().key(), failure);
                    }
                });
    }

    void ended(Turn turn) {
        running.remove(turn.key(), turn);
        taken.decrementAndGet();
        if (taken.get() >= engine.options().maxRunningTurns() - MAX_CLAIM / 2) {
            wake.release(); // a full node has room again
        }
    }

    void released(InstanceKey key, Release release) {
        if (release.fireInMillis() != null) {
            if (release.fireInMillis() <= 0) {
                nudge();
            } else if (release.fireInMillis() < POLL.toMillis() && !closed) {
                nudgeIn(TimeUnit.MILLISECONDS.toNanos(release.fireInMillis()));
            }
        }
        onChange.run();
    }

    private void nudgeIn(long nanos) {
        engine.host()
                .virtual("waybill-due", () -> {
                    engine.host().pause(nanos);
                    nudge();
                })
                .start();
    }

    boolean draining() {
        return draining;
    }

    long drainDeadlineNanos() {
        return drainDeadlineNanos;
    }

    int runningTurns() {
        return running.size();
    }

    private void run() {
        while (!closed) {
            try {
                long pause = draining ? POLL.toMillis() : claimAll();
                if (engine.host().acquire(wake, TimeUnit.MILLISECONDS.toNanos(pause))) {
                    wake.drainPermits();
                }
            } catch (InterruptedException e) {
                return;
            } catch (StoreException | UnclearCommitException e) {
                LOG.warn("claiming waits for the database: {}", e.getMessage());
                pauseAfterTrouble();
            } catch (RuntimeException e) {
                LOG.error("claiming failed", e);
                pauseAfterTrouble();
            }
        }
    }

    private void pauseAfterTrouble() {
        try {
            engine.host().acquire(wake, POLL.toNanos());
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** Claims while there is work and room; returns how long to wait for more. */
    private long claimAll() {
        while (!draining) {
            int room = 0;
            while (room < MAX_CLAIM && enter()) {
                room++;
            }
            if (room == 0) {
                return POLL.toMillis();
            }
            List<InstanceSnapshot> claimed;
            UUID node = engine.node().incarnation();
            UUID nonce = engine.ids().get();
            try {
                claimed = engine.store().claim(node, nonce, room);
            } catch (RuntimeException e) {
                taken.addAndGet(-room);
                lost(node, nonce);
                throw e;
            }
            taken.addAndGet(claimed.size() - room);
            engine.meter().count("waybill_claim_commits_total", 1);
            if (!claimed.isEmpty()) {
                engine.meter().count("waybill_claims_total", claimed.size());
            }
            claimed.forEach(this::adopt);
            if (claimed.size() < room) {
                return Math.max(1, engine.store().millisUntilNextDue(POLL));
            }
        }
        return POLL.toMillis();
    }

    /**
     * The answer to a claim (or to a start that came with one) was lost, or nobody could begin to run what it took: that is looked for
     * until it cannot land any more.
     */
    void lost(UUID node, UUID nonce) {
        lostClaims.put(new LostClaim(node, nonce), engine.host().nanoTime());
    }

    private void findLost() {
        for (Map.Entry<LostClaim, Long> entry : lostClaims.entrySet()) {
            LostClaim lost = entry.getKey();
            if (!lost.node.equals(engine.node().incarnation())) {
                lostClaims.remove(lost); // fenced: others take over what it held
                continue;
            }
            boolean all = true;
            for (InstanceKey key : engine.store().claimedUnder(lost.node, lost.nonce)) {
                all &= running.containsKey(key) || takeUp(key, lost);
            }
            // Only after a look that found nothing to do: the database may have been away for longer.
            if (all && engine.host().nanoTime() - entry.getValue() > LOST_FOR.toNanos()) {
                lostClaims.remove(lost, entry.getValue());
            }
        }
    }

    /** @return false when there is no room for it now */
    private boolean takeUp(InstanceKey key, LostClaim lost) {
        InstanceSnapshot found = engine.store().load(key).orElse(null);
        boolean ours = found != null
                && found.instance().claim().nonce().equals(lost.nonce)
                && found.instance().claimNode() != null
                && !running.containsKey(key);
        if (ours && !enter()) {
            return false;
        }
        if (ours && found != null) {
            adopt(found);
        }
        return true;
    }

    /**
     * A database that went back may show runs as claimed by this node which it has released since: nobody else may take what a living
     * node holds, and nobody here runs it. Their claims are given up; what they had in flight becomes unknown. Seen twice, so that a
     * claim whose answer is on its way is left alone.
     */
    private void freeStrays() {
        int changes = engine.ledger().historyChanges();
        if (changes != historyChanges) {
            historyChanges = changes;
            strayLooks = STRAY_LOOKS;
            strays = Map.of();
        }
        if (strayLooks == 0) {
            return;
        }
        Map<InstanceKey, InstanceRecord> found = new HashMap<>();
        UUID node = engine.node().incarnation();
        UUID after = null;
        List<InstanceRecord> page;
        do {
            page = engine.store().queries().instances(new InstanceFilter(
                    InstanceFilter.ALL_TENANTS, Set.of(InstanceState.RUNNING), null, Map.of(), after, MAX_FREE, 0));
            for (InstanceRecord one : page) {
                after = one.key().id();
                if (node.equals(one.claimNode()) && !running.containsKey(one.key())) {
                    found.put(one.key(), one);
                }
            }
        } while (page.size() == MAX_FREE);
        for (InstanceRecord one : found.values()) {
            InstanceRecord before = strays.get(one.key());
            if (before != null && before.claim().equals(one.claim())) {
                LOG.warn("run {} is claimed by this node in the database, which went back, and by nobody here: its claim is given up", one.key());
                Certain.outside(engine.host(), engine.store(), new OutsideMove(
                        one.key(), engine.ids().get(), one.wakeSeq(), Set.of(InstanceState.RUNNING), List.of(), List.of(), List.of(),
                        List.of(), null, null, Set.of(), true, null, List.of(), null));
                nudge();
            }
        }
        strays = found;
        strayLooks--;
    }

    private void sweepOn() {
        try {
            do {
                sweep();
            } while (!engine.host().await(stop, SWEEP.toNanos()));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void sweep() {
        try {
            engine.ledger().lookAtHistory();
            findLost();
            freeStrays();
            beforeSweep.run();
            int freed;
            do {
                freed = engine.store().fenceAndFree(MAX_FREE);
                if (freed > 0) {
                    LOG.info("{} runs of dead nodes are free again", freed);
                    engine.meter().count("waybill_takeovers_total", freed);
                    nudge();
                }
            } while (freed == MAX_FREE);
        } catch (StoreException | UnclearCommitException e) {
            LOG.warn("the sweep for dead nodes waits for the database: {}", e.getMessage());
        } catch (RuntimeException e) {
            LOG.error("the sweep for dead nodes failed", e);
        }
    }

    /**
     * Stops claiming and dispatching; calls in flight may end until {@code drain} is over, then they are interrupted and what stays
     * unclear is recorded as unknown before this returns (semantics.md section 8).
     */
    void drain(Duration drain) {
        drainDeadlineNanos = engine.host().nanoTime() + drain.toNanos();
        draining = true;
        running.values().forEach(Turn::nudge);
        long until = drainDeadlineNanos + TimeUnit.SECONDS.toNanos(10);
        while (!running.isEmpty() && engine.host().nanoTime() < until) {
            for (Turn turn : running.values()) {
                turn.awaitEnd(Duration.ofMillis(200));
                break;
            }
        }
        if (!running.isEmpty()) {
            LOG.error("{} turns did not end in time; their claims end with this node", running.size());
        }
    }

    @Override
    public void close() {
        closed = true;
        stop.countDown();
        thread.interrupt();
        sweeper.interrupt();
        try {
            engine.host().join(thread, TimeUnit.SECONDS.toNanos(5));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
