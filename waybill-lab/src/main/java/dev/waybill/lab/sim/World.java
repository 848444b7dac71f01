package dev.waybill.lab.sim;

import java.lang.reflect.Constructor;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.PriorityQueue;
import java.util.SplittableRandom;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Executor;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * A clock and a scheduler: virtual threads on an executor of our own run one at a time, in an order drawn from the seed; time stands
 * still while anybody can run and then jumps to the next timer. Uses a constructor inside the JDK (libraries.md note 8), which needs
 * {@code --add-opens java.base/java.lang=ALL-UNNAMED}.
 */
final class World {
    static final Instant BEGIN = Instant.parse("2030-01-01T00:00:00Z");
    /** More turns than any honest run needs: something runs in circles without letting time pass. */
    private static final long MAX_STEPS = 5_000_000;

    private static final long MONITOR_PATIENCE_NANOS = 5_000_000_000L;
    private static final Constructor<?> VIRTUAL = constructor();

    /** What stops as one: a node's process, or everything outside. */
    static final class Process {
        final String name;
        private final List<Task> held = new ArrayList<>();
        private boolean dead;
        private long pausedUntil;

        Process(String name) {
            this.name = name;
        }

        boolean dead() {
            return dead;
        }
    }

    private record Task(Process process, int thread, Runnable continuation, SimThread owner) {}

    private static final class SimThread {
        final Process process;
        final int number;
        @Nullable Thread thread;
        /** It gives its turn away because it stands still. */
        boolean yields;

        SimThread(Process process, int number) {
            this.process = process;
            this.number = number;
        }
    }

    private record Timer(long at, long order, Runnable action) {}

    private static final class Waiter {
        final @Nullable Process process;
        final Thread thread;
        final @Nullable BooleanSupplier ready;
        boolean woken;

        Waiter(@Nullable Process process, Thread thread, @Nullable BooleanSupplier ready) {
            this.process = process;
            this.thread = thread;
            this.ready = ready;
        }
    }

    private final Thread loop = Thread.currentThread();
    private final SplittableRandom schedule;
    private final List<Task> ready = new ArrayList<>();
    private final ConcurrentLinkedQueue<Task> foreign = new ConcurrentLinkedQueue<>();
    private final List<Waiter> waiters = new ArrayList<>();
    private final PriorityQueue<Timer> timers =
            new PriorityQueue<>(Comparator.comparingLong(Timer::at).thenComparingLong(Timer::order));
    private final @Nullable List<String> chart;
    private long now;
    private long order;
    private int threads;
    private long steps;
    private long hash = 0xCBF29CE484222325L;
    private @Nullable SimThread running;
    private @Nullable Throwable failure;

    /** @param charted keep what is noted, for people */
    World(SplittableRandom schedule, boolean charted) {
        this.schedule = schedule;
        this.chart = charted ? new ArrayList<>() : null;
    }

    private static Constructor<?> constructor() {
        try {
            Constructor<?> found =
                    Class.forName("java.lang.ThreadBuilders$VirtualThreadBuilder").getDeclaredConstructor(Executor.class);
            found.setAccessible(true);
            return found;
        } catch (ReflectiveOperationException | RuntimeException e) {
            throw new IllegalStateException(
                    "this JDK does not let the simulator schedule virtual threads: run it with --add-opens java.base/java.lang=ALL-UNNAMED", e);
        }
    }

    long nanos() {
        return now;
    }

    Instant instant() {
        return BEGIN.plusNanos(now);
    }

    long steps() {
        return steps;
    }

    /** Of everything that happened so far, in order. */
    long hash() {
        return hash;
    }

    List<String> chart() {
        return chart == null ? List.of() : chart;
    }

    boolean charted() {
        return chart != null;
    }

    private void mix(long value) {
        hash = (hash ^ value) * 0x100000001B3L;
        hash ^= hash >>> 29;
    }

    /** Something worth telling happened. */
    void note(String where, String what) {
        mix(what.hashCode());
        if (chart != null) {
            chart.add(String.format(java.util.Locale.ROOT, "%11.6f  %-8s %s", now / 1e9, where, what));
        }
    }

    // --- threads ---------------------------------------------------------------------------------------------------------------

    Thread thread(Process process, String name, Runnable body) {
        SimThread owner = new SimThread(process, ++threads);
        Executor executor = continuation -> submitted(new Task(process, owner.number, continuation, owner));
        Thread.Builder.OfVirtual builder;
        try {
            builder = (Thread.Builder.OfVirtual) VIRTUAL.newInstance(executor);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
        Thread thread = builder.name(name).inheritInheritableThreadLocals(false).unstarted(() -> {
            try {
                body.run();
            } catch (Throwable e) {
                failure = new IllegalStateException("thread " + name + " of " + process.name + " died", e);
            }
        });
        owner.thread = thread;
        return thread;
    }

    private void submitted(Task task) {
        if (Thread.currentThread() == loop) {
            ready.add(task);
        } else {
            foreign.add(task); // the JDK hands a monitor on from a thread of its own
        }
    }

    /** The process whose thread is running now, or null between them. */
    @Nullable Process current() {
        return running == null ? null : running.process;
    }

    /** It never runs again. Called by one of its own threads this does not return. */
    void kill(Process process) {
        process.dead = true;
        process.held.clear();
        waiters.removeIf(waiter -> waiter.process == process);
        if (running != null && running.process == process && Thread.currentThread().isVirtual()) {
            while (true) {
                Thread.interrupted(); // an interrupted thread does not park
                LockSupport.park();
            }
        }
    }

    /** It does not run for this long; called by one of its own threads it begins at once. */
    void freeze(Process process, long nanos) {
        long until = now + nanos;
        if (until <= process.pausedUntil) {
            return;
        }
        process.pausedUntil = until;
        after(nanos, () -> thaw(process));
        if (running != null && running.process == process && Thread.currentThread().isVirtual()) {
            running.yields = true;
            Thread.yield();
        }
    }

    private void thaw(Process process) {
        if (now >= process.pausedUntil && !process.dead) {
            ready.addAll(process.held);
            process.held.clear();
        }
    }

    /** Ends a pause that has not ended by itself. */
    void wake(Process process) {
        process.pausedUntil = now;
        thaw(process);
    }

    boolean frozen(Process process) {
        return now < process.pausedUntil;
    }

    // --- time ------------------------------------------------------------------------------------------------------------------

    /** Runs {@code event} on the loop itself; it must not wait. */
    void after(long nanos, Runnable event) {
        timers.add(new Timer(now + Math.max(0, nanos), ++order, event));
    }

    /**
     * Waits until {@code condition} holds, at most {@code nanos}, and no longer than the thread is interrupted.
     *
     * @param condition null = only time ends this
     * @return whether the condition holds
     */
    boolean await(@Nullable BooleanSupplier condition, long nanos) {
        if (condition != null && condition.getAsBoolean()) {
            return true;
        }
        long deadline = nanos > Long.MAX_VALUE - now ? Long.MAX_VALUE : now + nanos;
        if (deadline <= now) {
            return false;
        }
        Waiter waiter = new Waiter(current(), Thread.currentThread(), condition);
        if (condition != null) {
            waiters.add(waiter);
        }
        if (deadline != Long.MAX_VALUE) {
            timers.add(new Timer(deadline, ++order, () -> wake(waiter)));
        }
        boolean holds = false;
        while (!holds && now < deadline && !Thread.currentThread().isInterrupted()) {
            waiter.woken = false;
            LockSupport.park();
            holds = condition != null && condition.getAsBoolean();
        }
        waiter.woken = true;
        if (condition != null) {
            waiters.remove(waiter);
        }
        return holds;
    }

    private static void wake(Waiter waiter) {
        if (!waiter.woken) {
            waiter.woken = true;
            LockSupport.unpark(waiter.thread);
        }
    }

    // --- the loop --------------------------------------------------------------------------------------------------------------

    /**
     * Lets everything run until {@code done} or until so much time has passed.
     *
     * @return whether it was done
     */
    boolean run(BooleanSupplier done, long nanos) {
        long deadline = now + nanos;
        while (!done.getAsBoolean()) {
            if (failure != null) {
                throw new IllegalStateException(failure);
            }
            if (!ready.isEmpty()) {
                step();
                continue;
            }
            Timer next = timers.peek();
            if (next == null || next.at > deadline) {
                now = Math.max(now, deadline);
                return done.getAsBoolean();
            }
            now = Math.max(now, next.at);
            while (next != null && next.at <= now) {
                timers.remove().action.run();
                next = timers.peek();
            }
            wakeReady();
        }
        return true;
    }

    private void step() {
        int index = ready.size() == 1 ? 0 : schedule.nextInt(ready.size());
        Task task = ready.set(index, ready.getLast());
        ready.removeLast();
        if (task.process.dead) {
            return;
        }
        if (now < task.process.pausedUntil) {
            task.process.held.add(task);
            return;
        }
        if (++steps > MAX_STEPS) {
            throw new IllegalStateException("more than " + MAX_STEPS + " steps: something runs in circles");
        }
        mix(task.thread);
        mix(now);
        resume(task);
        wakeReady();
    }

    private void resume(Task task) {
        SimThread owner = task.owner;
        running = owner;
        owner.yields = false;
        Runnable continuation = task.continuation;
        while (continuation != null) {
            continuation.run();
            continuation = owner.yields ? null : held(owner);
        }
        running = null;
    }

    /**
     * The rest of a turn that a lock cut short which somebody outside this world holds for a moment: another simulation or the JDK's own
     * threads, in a cache of the JDK. Nobody here waits while it holds one of the engine's. So this thread goes on before any other, as
     * if nothing had been. It is neither parked nor among the ready then: blocked, or on its way to us from the thread that unblocked it.
     */
    private @Nullable Runnable held(SimThread owner) {
        if (!ready.isEmpty() && ready.getLast().owner == owner) {
            return ready.removeLast().continuation;
        }
        Thread thread = owner.thread;
        long patience = System.nanoTime() + MONITOR_PATIENCE_NANOS;
        while (thread != null && (!foreign.isEmpty() || cutShort(thread))) {
            Task again = foreign.poll();
            if (again != null && again.owner == owner) {
                return again.continuation;
            }
            if (again != null) {
                ready.add(again);
            } else if (System.nanoTime() > patience) {
                throw new IllegalStateException(thread.getName() + " waits for a monitor that a waiting thread holds");
            }
            Thread.onSpinWait();
        }
        return null;
    }

    private static boolean cutShort(Thread thread) {
        Thread.State state = thread.getState();
        return state == Thread.State.BLOCKED || state == Thread.State.RUNNABLE;
    }

    private void wakeReady() {
        for (int i = 0; i < waiters.size(); i++) {
            Waiter waiter = waiters.get(i);
            if (!waiter.woken && waiter.ready != null && waiter.ready.getAsBoolean()) {
                wake(waiter);
            }
        }
    }
}
