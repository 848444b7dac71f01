package dev.waybill.engine;

import dev.waybill.EngineOptions;
import dev.waybill.handler.Handler;
import dev.waybill.json.SecretSource;
import dev.waybill.model.Claim;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.InstanceState;
import dev.waybill.model.WaybillException;
import dev.waybill.recorder.Flights;
import dev.waybill.recorder.Recorder;
import dev.waybill.store.InstanceRecord;
import dev.waybill.store.InstanceSnapshot;
import dev.waybill.store.OutsideAnswer;
import dev.waybill.store.OutsideMove;
import dev.waybill.store.Start;
import dev.waybill.store.StartAnswer;
import dev.waybill.store.Store;
import dev.waybill.store.StoreException;
import dev.waybill.store.UnclearCommitException;
import java.time.InstantSource;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** One running node: lease, committer, scheduler and the turns, wired together. */
public final class EngineRuntime implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(EngineRuntime.class);

    private final Host host;
    private final Store store;
    private final EngineOptions options;
    private final Engine engine;
    private final Scheduler scheduler;
    private final Committer committer;
    private final LateTruth lateTruth;
    private final NodeLease node;
    private final Recorder recorder;
    private final Ledger ledger;
    private final Batcher<Start, StartAnswer> starter;
    private final Batcher<Start, StartAnswer> keyedStarter;
    private final List<Runnable> listeners = new CopyOnWriteArrayList<>();
    private final Meter meter;
    private final AtomicBoolean closing = new AtomicBoolean();
    private final CountDownLatch closed = new CountDownLatch(1);

    /**
     * @param host          clock, threads and waits: {@link Host#SYSTEM} unless this is a simulation
     * @param onIncarnation told of every incarnation of this node before it is registered
     * @param flights       where the flight recorders of this machine are; null: none
     * @param wall          only for the last look's clock-jump check; leases and due times use the database's clock
     */
    public EngineRuntime(
            Host host,
            Store store,
            EngineOptions options,
            Function<String, @Nullable Handler> handlers,
            SecretSource secrets,
            SequenceCache sequences,
            Supplier<UUID> ids,
            RandomGenerator random,
            InstantSource wall,
            Meter meter,
            CrashPoints points,
            String nodeName,
            Consumer<UUID> onIncarnation,
            @Nullable Flights flights) {
        this.host = host;
        this.store = store;
        this.options = options;
        this.meter = meter;
        this.ledger = new Ledger(host, store, ids, meter);
        if (options.restored()) {
            int paused = ledger.pauseUnfinished();
            LOG.warn("LEDGER_MAY_BE_BEHIND the store was restored: {} unfinished runs are paused until 'waybill store accept'", paused);
        }
        this.recorder = flights == null ? Recorder.NONE : flights.record(random).map(Recorder.class::cast).orElse(Recorder.NONE);
        this.node = register(nodeName, ids, onIncarnation);
        this.committer = new Committer(host, store, node::incarnation, ledger, options, meter);
        this.lateTruth = new LateTruth(host, store, sequences, ids, random, meter, recorder, this::nudge);
        this.engine = new Engine(
                host, node, store, options, handlers, sequences, secrets, committer, lateTruth, ledger, recorder,
                new Semaphore(options.maxCallsInFlight()), ids, random, meter, points);
        Runnable recall = flights == null ? () -> {} : new Recall(flights, store, lateTruth, meter);
        this.scheduler = new Scheduler(engine, wall, () -> listeners.forEach(Runnable::run), recall);
        this.starter = new Batcher<>(host, "waybill-starter", options.maxBatch(), this::writeStarts);
        this.keyedStarter = new Batcher<>(host, "waybill-starter-keyed", options.maxBatch(), this::writeStarts);
        recall.run(); // before anybody here can take over what it speaks of
        scheduler.start();
    }

    private NodeLease register(String name, Supplier<UUID> ids, Consumer<UUID> onIncarnation) {
        try {
            return new NodeLease(host, store, name, options, ids, incarnation -> {
                recorder.incarnation(incarnation);
                onIncarnation.accept(incarnation);
            });
        } catch (RuntimeException e) {
            recorder.close();
            throw e;
        }
    }

    private List<StartAnswer> writeStarts(List<Start> batch) {
        meter.count("waybill_start_commits_total", 1);
        return Certain.start(host, store, node.incarnation(), batch);
    }

    /**
     * Creates the instance; when this returns it is durable. Where this node has room and the run is due, the claim comes with it.
     *
     * @throws dev.waybill.store.StoreException when the database refused it; nothing is durable then
     * @throws dev.waybill.store.UnclearCommitException when nobody can say; repeat with the same idempotency key
     */
    public StartAnswer start(Start start) {
        boolean eager = start.fireInMillis() == 0 && scheduler.enter();
        Claim claim = eager ? new Claim(1, engine.ids().get()) : null;
        Start asked = new Start(
                start.instance(), start.execution(), start.sequenceId(), start.namespace(), start.priority(), start.fireInMillis(),
                start.context(), start.metadata(), start.dedupScope(), start.dedupKey(), start.payloadSha256(), claim);
        boolean adopted = false;
        try {
            StartAnswer answer = (start.dedupKey() == null ? starter : keyedStarter).submit(asked).join();
            if (answer instanceof StartAnswer.Existing existing && existing.instance().equals(start.instance().id())) {
                InstanceSnapshot found = foundItself(asked);
                adopted = claim != null && claim.equals(found.instance().claim()) && found.instance().claimNode() != null;
                if (adopted) {
                    scheduler.adopt(found);
                } else {
                    scheduler.nudge();
                }
                return new StartAnswer.Created(adopted, found.databaseNow());
            }
            if (answer instanceof StartAnswer.Created created) {
                meter.count("waybill_starts_total", 1);
                if (claim != null && created.claimed()) {
                    adopted = true;
                    scheduler.adopt(fresh(asked, claim, created));
                } else {
                    scheduler.nudge();
                }
            }
            return answer;
        } catch (CompletionException e) {
            if (e.getCause() instanceof UnclearCommitException && claim != null) {
                scheduler.lost(node.incarnation(), claim.nonce()); // if it is durable after all, nobody else may run it
            }
            if (e.getCause() instanceof RuntimeException cause) {
                throw cause;
            }
            throw e;
        } finally {
            if (eager && !adopted) {
                scheduler.leave();
            }
        }
    }

    /**
     * An unclear start was made after all; if the claim came with it, nobody but this node can run it.
     *
     * @throws UnclearCommitException when the database went away again: the run is there, and only the caller was not told
     */
    private InstanceSnapshot foundItself(Start start) {
        try {
            return store.load(start.instance()).orElseThrow();
        } catch (StoreException e) {
            if (start.claim() != null) {
                scheduler.lost(node.incarnation(), start.claim().nonce());
            }
            throw new UnclearCommitException("the start of " + start.instance() + " could not be read again", e);
        }
    }

    private InstanceSnapshot fresh(Start start, Claim claim, StartAnswer.Created created) {
        InstanceRecord instance = new InstanceRecord(
                start.instance(), start.execution(), start.sequenceId(), start.namespace(), InstanceState.RUNNING, start.priority(), null,
                claim, node.incarnation(), 0, false, false, 0, null, null, start.context(), start.metadata(), start.dedupKey(),
                created.databaseNow(), created.databaseNow());
        return new InstanceSnapshot(instance, List.of(), List.of(), List.of(), created.databaseNow());
    }

    /** The state of a run as a turn would see it; for people. */
    public @Nullable RunInspection inspect(InstanceKey key) {
        InstanceSnapshot snapshot = store.load(key).orElse(null);
        Engine.Loaded loaded = snapshot == null ? null : engine.sequences().get(key.tenant(), snapshot.instance().sequenceId());
        return snapshot == null || loaded == null ? null : RunInspection.of(host, snapshot, loaded);
    }

    /**
     * Asks the verifier of an unknown effect now, whatever its schedule and its run's state, and records the verdict.
     *
     * @return false when the effect is not unknown (any longer): nothing was asked or nothing was recorded
     * @throws WaybillException 409 VERIFIER_MISSING when the step declares none
     */
    public boolean verify(InstanceKey key, UUID receipt, String actor) {
        RunInspection run = inspect(key);
        Healing.Unknown unknown = run == null ? null : run.unknown(receipt);
        if (unknown == null) {
            return false;
        }
        if (unknown.effect().verify() == null) {
            throw WaybillException.conflict(
                    "VERIFIER_MISSING", "the step at " + unknown.path() + " declares no effect.verify: there is no question to ask",
                    "waybill effects show " + receipt);
        }
        Verifiers verifiers = new Verifiers(engine);
        try {
            boolean durable = verifiers.ask(verifiers.about(key, unknown), actor).durable();
            nudge(key);
            return durable;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        }
    }

    /**
     * A move by whoever is not the owner.
     *
     * @throws dev.waybill.store.UnclearCommitException when nobody can say whether it is durable; repeat the call
     */
    public OutsideAnswer outside(OutsideMove move) {
        return Certain.outside(host, store, move);
    }

    /** Somebody wrote news about this instance. */
    public void nudge(InstanceKey instance) {
        scheduler.nudge(instance);
    }

    /** Calls {@code listener} whenever this node may have changed something, until the answer is closed. */
    public AutoCloseable listen(Runnable listener) {
        listeners.add(listener);
        return () -> listeners.remove(listener);
    }

    /** Clock and waits, for whoever waits for this engine. */
    public Host host() {
        return host;
    }

    public boolean ready() {
        return !closing.get() && node.alive();
    }

    /** This process start's id in the list of nodes. */
    public UUID incarnation() {
        return node.incarnation();
    }


    @Override
    public void close() {
        if (!closing.compareAndSet(false, true)) {
            awaitClosed();
            return;
        }
        try {
            starter.close();
            keyedStarter.close();
            scheduler.drain(options.drain());
            scheduler.close();
            lateTruth.close();
            committer.close();
            recorder.close();
            node.close();
        } finally {
            closed.countDown();
        }
    }

    /** Who closes after this one finds everything settled, too: the process may end. */
    private void awaitClosed() {
        try {
            host.await(closed, Long.MAX_VALUE);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
