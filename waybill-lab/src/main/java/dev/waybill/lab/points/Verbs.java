package dev.waybill.lab.points;

import dev.waybill.model.EffectState;
import dev.waybill.store.Commit;
import dev.waybill.store.Queries;
import dev.waybill.store.SequenceStore;
import dev.waybill.store.Store;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.SQLException;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Names what the store does. Verbs of one machine run one after the other, so that every statement, on whatever thread of the store, is
 * the n-th of a known verb: that makes a point the same point in the next run. What people read is not counted.
 */
final class Verbs {
    /** The thread on which the people of a trial ask. */
    static final String PEOPLE = "lab-client";

    private final Machine machine;
    private final Ground ground;
    private final ReentrantLock one = new ReentrantLock();
    private final ConcurrentLinkedQueue<UUID> nodes = new ConcurrentLinkedQueue<>();
    private volatile @Nullable String verb;
    private int statements;

    Verbs(Machine machine, Ground ground) {
        this.machine = machine;
        this.ground = ground;
    }

    /** The incarnations that this machine registered or meant to. */
    List<UUID> nodes() {
        return List.copyOf(nodes);
    }

    /**
     * The name of the next statement, or null when it is nobody's. Which verb first needs a connection is chance: connecting has a name
     * of its own.
     */
    synchronized @Nullable String statement(String what) {
        String now = verb;
        if (now == null) {
            return null;
        }
        return switch (what) {
            case "CONNECT" -> "connect#" + machine.next("connect") + ":CONNECT";
            case "START_UP" -> "connect#" + machine.next("start_up") + ":START_UP";
            default -> now + "." + ++statements + ":" + what;
        };
    }

    private synchronized void begin(@Nullable String name) {
        verb = name;
        statements = 0;
    }

    Store over(Store raw) {
        Queries queries = serial(Queries.class, raw.queries(), false);
        SequenceStore sequences = serial(SequenceStore.class, raw.sequences(), false);
        Store counted = serial(Store.class, raw, true);
        return (Store) Proxy.newProxyInstance(Verbs.class.getClassLoader(), new Class<?>[] {Store.class}, (self, method, args) ->
                switch (method.getName()) {
                    case "queries" -> queries;
                    case "sequences" -> sequences;
                    // No hints: nothing depends on them, and a connection that listens would answer to no verb.
                    case "onNotification" -> null;
                    case "close", "description" -> invoke(raw, method, args);
                    default -> {
                        if (method.getName().equals("registerNode")) {
                            nodes.add((UUID) args[0]);
                        }
                        yield invoke(counted, method, args);
                    }
                });
    }

    private <T> T serial(Class<T> type, T raw, boolean counted) {
        return type.cast(Proxy.newProxyInstance(Verbs.class.getClassLoader(), new Class<?>[] {type}, (self, method, args) -> {
            if (machine.isDead()) {
                throw machine.rest();
            }
            one.lock();
            try {
                String name = counted && !looks(method) ? name((Store) raw, method, args) : null;
                begin(name);
                Object answer = invoke(raw, method, args);
                if (name != null && idle(name, answer)) {
                    machine.forget(name + ".");
                }
                if (machine.isDead()) {
                    throw machine.rest();
                }
                return answer;
            } catch (RuntimeException e) {
                if (machine.isDead()) {
                    throw machine.rest();
                }
                throw e;
            } finally {
                begin(null);
                one.unlock();
            }
        }));
    }

    /** How often somebody looks depends on how long something takes. */
    private static boolean looks(Method method) {
        return method.getName().equals("load") && Thread.currentThread().getName().equals(PEOPLE);
    }

    /** A poll or sweep that found nothing is the one before it over again, as often as time allows: only the first is a point. */
    private static boolean idle(String name, @Nullable Object answer) {
        boolean nothing = switch (name.substring(0, name.indexOf('#'))) {
            case "fenceAndFree" -> Integer.valueOf(0).equals(answer);
            case "claim-idle", "millisUntilNextDue", "historyId" -> true;
            default -> false;
        };
        return nothing && !name.endsWith("#1");
    }

    private String name(Store raw, Method method, Object[] args) throws SQLException {
        String name = switch (method.getName()) {
            case "commit" -> "commit" + tags((List<?>) args[1]);
            case "claim" -> ground.due(raw) ? "claim-due" : "claim-idle";
            default -> method.getName();
        };
        return name + "#" + machine.next(name);
    }

    /** What a batch carries: {@code -settle}, {@code -unknown}, {@code -intent}, {@code -release}. */
    private static String tags(List<?> batch) {
        Set<String> tags = new TreeSet<>();
        for (Object one : batch) {
            Commit commit = (Commit) one;
            commit.settles().forEach(row -> tags.add(row.to() == EffectState.UNKNOWN ? "-unknown" : "-settle"));
            if (!commit.intents().isEmpty()) {
                tags.add("-intent");
            }
            if (commit.release() != null) {
                tags.add("-release");
            }
        }
        return String.join("", tags);
    }

    private static @Nullable Object invoke(Object raw, Method method, Object @Nullable [] args) throws Throwable {
        try {
            return method.invoke(raw, args);
        } catch (InvocationTargetException e) {
            throw e.getCause();
        }
    }
}
