package dev.waybill.lab.sim;

import dev.waybill.lab.sim.Fault.Kind;
import dev.waybill.store.Queries;
import dev.waybill.store.SequenceStore;
import dev.waybill.store.Store;
import dev.waybill.store.StoreException;
import dev.waybill.store.UnclearCommitException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import org.jspecify.annotations.Nullable;

/**
 * One process's road to the database: every verb takes its time and may meet a fault before it, after it, or lose its answer. What is
 * thrown is honest in the sense of {@link Store}. 40001 and 40P01 are answered below this seam and show only as slowness.
 */
final class SimStore implements InvocationHandler {
    private static final long US = 1_000;
    /** Verbs that write, by what a lost answer means to their callers. */
    private static final Set<String> WRITES = Set.of(
            "start", "commit", "settleFromOutside", "claim", "fenceAndFree", "heartbeat", "registerNode", "fence", "insert", "deprecate");

    private static final Map<String, String> SHORT = Map.of("settleFromOutside", "outside", "millisUntilNextDue", "due");

    private final World world;
    private final World.Process process;
    private final Cluster cluster;
    private final Plan plan;
    private final Tally tally;
    private final SplittableRandom random;
    private final Object target;
    private int connected;
    private Store.@Nullable ConnectionCheck commitCheck;
    private boolean commitsConnected;
    private int commitsHistory;

    private SimStore(
            World world, World.Process process, Cluster cluster, Plan plan, Tally tally, SplittableRandom random, Object target) {
        this.world = world;
        this.process = process;
        this.cluster = cluster;
        this.plan = plan;
        this.tally = tally;
        this.random = random;
        this.target = target;
        this.connected = cluster.history();
    }

    static Store of(World world, World.Process process, Cluster cluster, Plan plan, Tally tally, SplittableRandom random) {
        return road(Store.class, new SimStore(world, process, cluster, plan, tally, random, cluster.store()));
    }

    private static <T> T road(Class<T> type, SimStore handler) {
        return type.cast(Proxy.newProxyInstance(SimStore.class.getClassLoader(), new Class<?>[] {type}, handler));
    }

    @Override
    public @Nullable Object invoke(Object proxy, Method method, Object @Nullable [] arguments) throws Throwable {
        switch (method.getName()) {
            case "queries" -> {
                return road(Queries.class, new SimStore(world, process, cluster, plan, tally, random, cluster.store().queries()));
            }
            case "sequences" -> {
                return road(SequenceStore.class, new SimStore(world, process, cluster, plan, tally, random, cluster.store().sequences()));
            }
            case "onNotification" -> {
                if (arguments != null) {
                    cluster.listen(process, (Runnable) arguments[0]);
                }
                return null;
            }
            case "description", "toString" -> {
                return "simulated";
            }
            case "onCommitConnection" -> {
                if (arguments != null) {
                    commitCheck = (Store.ConnectionCheck) arguments[0];
                }
                return null;
            }
            case "migrate", "close", "durability" -> {
                return method.invoke(target, arguments);
            }
            case "historyId" -> {
                world.await(null, latency());
                reachable("historyId", false);
                return "history-" + cluster.history();
            }
            default -> {
                return verb(method, arguments);
            }
        }
    }

    private @Nullable Object verb(Method method, Object @Nullable [] arguments) throws Throwable {
        if (!method.getName().equals("commit")) {
            return verbOnce(method, arguments);
        }
        try {
            return verbOnce(method, arguments);
        } catch (StoreException | UnclearCommitException e) {
            commitsConnected = false; // the next commit goes over a new connection
            throw e;
        }
    }

    /** What is behind a new connection is looked at before the first commit goes over it. */
    private void connectCommits() {
        if (commitsConnected && commitsHistory != cluster.history()) { // it broke as every other did, whoever noticed first
            throw new StoreException("the connection for commits is gone", new IllegalStateException("simulated"));
        }
        commitsHistory = cluster.history();
        if (!commitsConnected && commitCheck != null) {
            commitCheck.opened((tenant, ids) -> cluster.store().existingReceipts(tenant, ids));
        }
        commitsConnected = true;
    }

    private @Nullable Object verbOnce(Method method, Object @Nullable [] arguments) throws Throwable {
        String verb = SHORT.getOrDefault(method.getName(), method.getName());
        boolean writes = WRITES.contains(method.getName());
        Fault fault = writes
                ? plan.at(
                        verb + " " + process.name, Kind.STORE_REFUSES, Kind.STORE_SLOW, Kind.UNCLEAR_UNDONE, Kind.UNCLEAR_DONE,
                        Kind.UNCLEAR_LATE, Kind.CRASH, Kind.PAUSE)
                : plan.at(verb + " " + process.name, Kind.STORE_REFUSES, Kind.STORE_SLOW, Kind.CRASH, Kind.PAUSE);
        if (fault != null) {
            tally.add((writes ? verb : "read") + " " + fault.kind().name().toLowerCase(java.util.Locale.ROOT));
            world.note(process.name, verb + "  !" + fault);
            cluster.struck(fault, process.name, fault.kind() == Kind.STORE_SLOW || fault.kind() == Kind.PAUSE ? fault.nanos() : 0);
        }
        Kind kind = fault == null ? null : fault.kind();
        long nanos = fault == null ? 0 : fault.nanos();
        boolean before = random.nextBoolean(); // a process ends on either side of the database's commit
        world.await(null, kind == Kind.STORE_SLOW ? nanos : latency());
        if (kind == Kind.STORE_REFUSES) {
            throw new StoreException(verb + " was refused", new IllegalStateException("simulated"));
        }
        reachable(verb, writes);
        if (verb.equals("commit")) {
            connectCommits();
            reachable(verb, true);
        }
        if (kind == Kind.UNCLEAR_UNDONE) {
            throw unclear(verb);
        }
        if (kind == Kind.UNCLEAR_LATE) {
            int history = cluster.history();
            world.after(nanos, () -> {
                if (history == cluster.history()) { // the server that would have done it is gone
                    land(verb, method, arguments);
                }
            });
            throw unclear(verb);
        }
        if (before) {
            int history = cluster.history();
            fall(kind, nanos, verb + " before it is done");
            if (history != cluster.history()) { // it was on its way to a server that is gone
                throw writes ? unclear(verb) : new StoreException("no answer to " + verb, new IllegalStateException("simulated"));
            }
        }
        Object answer = done(verb, method, arguments);
        if (!before) {
            fall(kind, nanos, verb + " after it was done");
        }
        if (kind == Kind.UNCLEAR_DONE) {
            throw unclear(verb);
        }
        world.await(null, latency());
        return answer;
    }

    private void fall(@Nullable Kind kind, long nanos, String where) {
        if (kind == Kind.CRASH) {
            world.note(process.name, "dies in " + where);
            world.kill(process);
        } else if (kind == Kind.PAUSE) {
            world.note(process.name, "stands still in " + where);
            world.freeze(process, nanos);
        }
    }

    private static UnclearCommitException unclear(String verb) {
        return new UnclearCommitException("the answer to " + verb + " was lost", new IllegalStateException("simulated"));
    }

    private void reachable(String verb, boolean writes) {
        boolean broken = connected != cluster.history();
        connected = cluster.history();
        if (broken || !cluster.reachable(process) || (writes && cluster.full())) {
            tally.add(broken ? "connection broken by failover" : cluster.reachable(process) ? "disk full" : "store out of reach");
            throw new StoreException("no answer to " + verb, new IllegalStateException("simulated"));
        }
    }

    private long latency() {
        return random.nextLong(20 * US, 1_200 * US);
    }

    /** A commit whose connection is long gone lands after all; nobody hears of it. */
    private void land(String verb, Method method, Object @Nullable [] arguments) {
        world.note(process.name, verb + " lands late");
        try {
            done(verb, method, arguments);
        } catch (Throwable e) {
            world.note(process.name, "and fails: " + e);
        }
    }

    private @Nullable Object done(String verb, Method method, Object @Nullable [] arguments) throws Throwable {
        try {
            Object answer = method.invoke(target, arguments);
            cluster.done(process, verb, arguments, answer);
            return answer;
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }
}
