package dev.waybill.lab.sim;

import dev.waybill.EngineOptions;
import dev.waybill.engine.CrashPoints;
import dev.waybill.engine.EngineRuntime;
import dev.waybill.engine.SequenceCache;
import dev.waybill.handler.Handler;
import dev.waybill.handler.Handlers;
import dev.waybill.json.SecretSource;
import dev.waybill.lab.sim.Fault.Kind;
import dev.waybill.model.InstanceKey;
import dev.waybill.operate.EffectDesk;
import dev.waybill.operate.RunDesk;
import dev.waybill.operate.SequenceCatalog;
import dev.waybill.store.Store;
import java.util.Locale;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.UUID;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A machine that an engine's process runs on, dies on, and is started again on; wired as {@code Waybill} wires it. */
final class SimNode {
    private static final long S = 1_000_000_000L;
    private static final long MS = 1_000_000L;
    /** A node's clock that nobody looks after. */
    private static final long SKEW = 3_600 * S;

    /** What people call: of one process. */
    record Desks(EngineRuntime engine, RunDesk runs, EffectDesk effects) {}

    final String name;
    private final World world;
    private final Cluster cluster;
    private final Plan plan;
    private final Tally tally;
    private final SimProvider provider;
    private final EngineOptions options;
    private final SplittableRandom random;
    private final boolean fencesItself;
    private final boolean scripted;
    private World.Process process;
    private @Nullable Desks desks;
    private @Nullable UUID incarnation;
    private long wallOffset;
    private boolean stopped;
    private int starts;

    /**
     * @param fencesItself a restart proves its former process dead by its own lock and fences it at once
     * @param scripted     the provider follows scripts
     */
    SimNode(
            String name,
            World world,
            Cluster cluster,
            Plan plan,
            Tally tally,
            SimProvider provider,
            EngineOptions options,
            SplittableRandom random,
            boolean fencesItself,
            boolean scripted) {
        this.name = name;
        this.world = world;
        this.cluster = cluster;
        this.plan = plan;
        this.tally = tally;
        this.provider = provider;
        this.options = options;
        this.random = random;
        this.fencesItself = fencesItself;
        this.scripted = scripted;
        this.process = new World.Process(name);
        this.wallOffset = random.nextInt(3) == 0 ? random.nextLong(-SKEW, SKEW) : 0;
    }

    /** Null while it starts or is dead. */
    @Nullable Desks desks() {
        return process.dead() ? null : desks;
    }

    World.Process process() {
        return process;
    }

    boolean running() {
        return !process.dead() && desks != null && !(stopped && world.frozen(process));
    }

    /** It stays dead. */
    void stop() {
        stopped = true;
        if (!process.dead()) {
            world.kill(process);
        }
    }

    /** It stays as it is: nobody starts it again. */
    void abandon() {
        stopped = true;
    }

    void start() {
        if (stopped) {
            return;
        }
        World.Process fresh = new World.Process(name);
        process = fresh;
        desks = null;
        starts++;
        SplittableRandom own = random.split();
        world.note(name, "starts");
        world.thread(fresh, "boot", () -> boot(fresh, own)).start();
    }

    private void boot(World.Process own, SplittableRandom ownRandom) {
        SimHost host = new SimHost(world, own);
        Store store = SimStore.of(world, own, cluster, plan, tally, ownRandom.split());
        Supplier<UUID> ids = ids(ownRandom.split());
        Handlers handlers = new Handlers(
                new SimTransport(world, cluster, own, plan, tally, provider, ownRandom.split(), scripted), () -> world.instant().plusNanos(wallOffset));
        Function<String, @Nullable Handler> byName = handler -> handlers.find(handler).orElse(null);
        SequenceCache sequences = new SequenceCache(store.sequences(), SequenceCatalog::parse);
        long pause = 200 * MS;
        while (true) {
            try {
                if (fencesItself && incarnation != null) {
                    store.fence(incarnation);
                }
                EngineRuntime engine = new EngineRuntime(
                        host, store, options, byName, secrets(), sequences, ids, ownRandom.split(),
                        () -> world.instant().plusNanos(wallOffset), tally, points(own), name, fresh -> incarnation = fresh,
                        null);
                RunDesk runs = new RunDesk(store, engine, sequences, ids);
                desks = new Desks(engine, runs, new EffectDesk(store, engine, runs, ids));
                return;
            } catch (RuntimeException e) {
                // As a supervisor would: it starts again until the database lets it.
                host.pause(pause);
                pause = Math.min(2 * pause, 2 * S);
            }
        }
    }

    /** A token that rotates between any two attempts. */
    private SecretSource secrets() {
        return (tenant, name) -> Optional.of("token-" + world.nanos() / (10 * MS));
    }

    /** Ids of one process grow (RFC 9562 version 7), whatever its clock does. */
    private Supplier<UUID> ids(SplittableRandom own) {
        long[] last = {0};
        return () -> {
            last[0] = Math.max(last[0] + 1, world.instant().plusNanos(wallOffset).toEpochMilli() << 12);
            return new UUID(
                    (last[0] >>> 12) << 16 | 0x7000L | (last[0] & 0xFFF), own.nextLong() & 0x3FFF_FFFF_FFFF_FFFFL | 0x8000_0000_0000_0000L);
        };
    }

    private CrashPoints points(World.Process own) {
        return (point, instance, path) -> reached(own, point, instance);
    }

    private void reached(World.Process own, CrashPoints.Point point, InstanceKey instance) {
        Fault fault = plan.at(point + " " + name, Kind.DIE, Kind.STAND);
        if (fault == null) {
            return;
        }
        String where = point.name().toLowerCase(Locale.ROOT);
        tally.add((fault.kind() == Kind.DIE ? "dies at " : "stands still at ") + where);
        if (fault.kind() == Kind.DIE) {
            crash(fault, where);
        } else {
            freeze(fault);
        }
    }

    // --- what is done to it ----------------------------------------------------------------------------------------------------

    void crash(Fault fault, String where) {
        if (process.dead()) {
            return;
        }
        cluster.struck(fault, name, 0);
        world.note(name, "dies  !" + fault + " " + where);
        world.kill(process);
    }

    void freeze(Fault fault) {
        cluster.struck(fault, name, fault.nanos());
        world.note(name, "stands still for " + fault.nanos() / MS + " ms  !" + fault);
        world.freeze(process, fault.nanos());
    }

    /** SIGTERM. */
    void drain(Fault fault) {
        Desks leaving = desks;
        if (process.dead() || leaving == null) {
            return;
        }
        World.Process own = process;
        Runnable gone = cluster.draining(name);
        world.note(name, "drains  !" + fault);
        world.thread(own, "drain", () -> {
                    leaving.engine().close();
                    world.note(name, "has drained");
                    tally.add("drained");
                    gone.run();
                    world.kill(own);
                })
                .start();
    }

    void jump(Fault fault) {
        wallOffset += random.nextBoolean() ? fault.nanos() : -fault.nanos();
        world.note(name, "its clock jumps  !" + fault);
    }

    /** Starts it again when it is dead, a little later; looked after for ever. */
    void supervise() {
        world.after(random.nextLong(200 * MS, 4 * S), () -> {
            if (process.dead()) {
                start();
            }
            supervise();
        });
    }

    int starts() {
        return starts;
    }
}
