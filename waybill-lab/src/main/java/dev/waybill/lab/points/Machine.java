package dev.waybill.lab.points;

import dev.waybill.engine.CrashPoints;
import dev.waybill.model.InstanceKey;
import java.io.IOException;
import java.net.Socket;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.jspecify.annotations.Nullable;

/**
 * One process of one engine, simulated: everything of it that could reach a database or the network passes {@link #at} before and after,
 * and from the moment of its death on nothing does. A dead machine's sockets are closed, its database is taken away ({@link Ground}),
 * and each of its threads that comes to a boundary stays there until the case is over; then it gets {@link Killed}, so that threads and
 * memory of thousands of machines can be collected, and every boundary goes on throwing it.
 *
 * <p>At most one fault happens to a machine, the first time that its point is reached.
 */
final class Machine implements CrashPoints {
    /** What happens at the point. */
    enum Kind {
        /** As with kill -9. */
        CRASH,
        /** The call throws, with its connection broken; the engine lives on. Before: nothing was done. After: the answer was lost. */
        ERROR
    }

    /** @param point the name of a boundary, as {@link Machine#points} names them */
    record Fault(String point, Kind kind) {
        @Override
        public String toString() {
            return (kind == Kind.ERROR ? "error@" : "") + point;
        }

        static Fault parse(String text) {
            return text.startsWith("error@") ? new Fault(text.substring("error@".length()), Kind.ERROR) : new Fault(text, Kind.CRASH);
        }
    }

    /** What a thread of a dead process gets in the end; no code may hold it for an answer. */
    static final class Killed extends Error {
        private static final long serialVersionUID = 1L;

        Killed() {
            super("this process is dead", null, false, false);
        }
    }

    private final @Nullable Fault fault;
    private final ReadWriteLock gate = new ReentrantReadWriteLock();
    private final CountDownLatch buried = new CountDownLatch(1);
    private final CompletableFuture<Boolean> died = new CompletableFuture<>();
    private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
    private final List<Runnable> lastDeeds = new ArrayList<>();
    private volatile boolean dead;

    // Guarded by this.
    private final List<String> points = new ArrayList<>();
    private final Map<String, Integer> counts = new HashMap<>();
    private boolean counting = true;
    private boolean fired;

    Machine(@Nullable Fault fault) {
        this.fault = fault;
    }

    /** Done at the moment of death, when no call is in a driver. */
    void onDeath(Runnable deed) {
        lastDeeds.add(deed);
    }

    CompletableFuture<Boolean> died() {
        return died;
    }

    boolean isDead() {
        return dead;
    }

    /** Whether the fault has happened. */
    synchronized boolean fired() {
        return fired;
    }

    @Nullable Fault fault() {
        return fault;
    }

    /** What was reached so far, in order; each once. */
    synchronized List<String> points() {
        return List.copyOf(points);
    }

    /** Takes back points that are none. */
    synchronized void forget(String prefix) {
        points.removeIf(point -> point.startsWith(prefix));
    }

    /**
     * From now on nothing happens to it and nothing is counted.
     *
     * @return false when it is too late: it dies or is dead
     */
    synchronized boolean calm() {
        counting = false;
        return !dead && !(fired && fault != null && fault.kind == Kind.CRASH);
    }

    /** The next number of something that happens several times: 1, 2 .. */
    synchronized int next(String what) {
        return counts.merge(what, 1, Integer::sum);
    }

    /**
     * A boundary.
     *
     * @return true when the call must fail here ({@link Kind#ERROR})
     */
    boolean at(String point) {
        if (dead) {
            rest();
        }
        synchronized (this) {
            if (!counting) {
                return false;
            }
            points.add(point);
            if (fired || fault == null || !fault.point.equals(point)) {
                return false;
            }
            fired = true;
        }
        if (fault.kind == Kind.ERROR) {
            return true;
        }
        die();
        throw rest();
    }

    /** Ends a machine that nothing was to happen to any more: as dead as by a fault. */
    void end() {
        if (!dead) {
            die();
        }
    }

    private void die() {
        gate.writeLock().lock();
        try {
            dead = true;
            lastDeeds.forEach(Runnable::run);
            for (Socket socket : sockets) {
                close(socket);
            }
        } finally {
            gate.writeLock().unlock();
        }
        died.complete(true);
    }

    private static void close(Socket socket) {
        try {
            socket.close();
        } catch (IOException e) {
            throw new IllegalStateException("a socket of a dead process cannot be closed", e);
        }
    }

    /** Where a dead process's thread stays. Never returns; the type lets a caller say so. */
    Killed rest() {
        boolean waiting = true;
        while (waiting) {
            try {
                buried.await();
                waiting = false;
            } catch (InterruptedException e) {
                // A dead thread hears nothing; whoever interrupted it is dead too.
            }
        }
        throw new Killed();
    }

    /** The case is over: its threads may unwind. */
    void bury() {
        buried.countDown();
    }

    @FunctionalInterface
    interface Deed<T, E extends Exception> {
        T run() throws E;
    }

    /** Something that reaches the outside: death waits until it is over, and after death it does not begin. */
    <T, E extends Exception> T alive(Deed<T, E> deed) throws E {
        gate.readLock().lock();
        try {
            if (!dead) {
                return deed.run();
            }
        } finally {
            gate.readLock().unlock();
        }
        throw rest();
    }

    void connected(Socket socket) {
        sockets.add(socket);
        if (dead) {
            close(socket);
            throw rest();
        }
    }

    @Override
    public void reached(Point point, InstanceKey instance, String path) {
        String name = "at:" + point + ":" + path;
        at(name + "#" + next(name));
    }
}
