package dev.waybill.engine;

import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * The machine an engine runs on: its monotonic clock, its threads, and every wait that time can end. All code of the engine goes through
 * here, so that a simulator can run it as it is under a clock and a scheduler of its own. Waits that only another thread can end (locks,
 * futures) need no door: a scheduler of virtual threads sees those.
 */
public interface Host {
    Host SYSTEM = new Host() {};

    /** Nanoseconds of a clock that never goes back; see {@link System#nanoTime}. */
    default long nanoTime() {
        return System.nanoTime();
    }

    /** A daemon of the platform, not yet started: for the few that must beat even when every virtual thread is busy. */
    default Thread platform(String name, Runnable body) {
        return Thread.ofPlatform().name(name).daemon(true).unstarted(body);
    }

    /** A virtual thread, not yet started. */
    default Thread virtual(String name, Runnable body) {
        return Thread.ofVirtual().name(name).unstarted(body);
    }

    /** Returns after about this long, or earlier when the thread is interrupted. */
    default void pause(long nanos) {
        LockSupport.parkNanos(nanos);
    }

    /** The head of the queue, or null when none came within {@code nanos}. */
    default <T> @Nullable T poll(BlockingQueue<T> queue, long nanos) throws InterruptedException {
        return queue.poll(nanos, TimeUnit.NANOSECONDS);
    }

    /** @return false when no permit came within {@code nanos} */
    default boolean acquire(Semaphore semaphore, long nanos) throws InterruptedException {
        return semaphore.tryAcquire(nanos, TimeUnit.NANOSECONDS);
    }

    /** @return false when the latch did not open within {@code nanos} */
    default boolean await(CountDownLatch latch, long nanos) throws InterruptedException {
        return latch.await(nanos, TimeUnit.NANOSECONDS);
    }

    /** Waits for the end of a thread, at most {@code nanos}. */
    default void join(Thread thread, long nanos) throws InterruptedException {
        thread.join(java.time.Duration.ofNanos(nanos));
    }
}
