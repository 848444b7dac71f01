package dev.waybill.lab.sim;

import dev.waybill.engine.Host;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;

/** The machine of one simulated process. */
final class SimHost implements Host {
    private final World world;
    private final World.Process process;

    SimHost(World world, World.Process process) {
        this.world = world;
        this.process = process;
    }

    @Override
    public long nanoTime() {
        return world.nanos();
    }

    @Override
    public Thread platform(String name, Runnable body) {
        return world.thread(process, name, body);
    }

    @Override
    public Thread virtual(String name, Runnable body) {
        return world.thread(process, name, body);
    }

    @Override
    public void pause(long nanos) {
        world.await(null, nanos);
    }

    @Override
    public <T> @Nullable T poll(BlockingQueue<T> queue, long nanos) throws InterruptedException {
        await(() -> !queue.isEmpty(), nanos);
        return queue.poll();
    }

    @Override
    public boolean acquire(Semaphore semaphore, long nanos) throws InterruptedException {
        long deadline = nanos > Long.MAX_VALUE - world.nanos() ? Long.MAX_VALUE : world.nanos() + nanos;
        while (!semaphore.tryAcquire()) {
            if (world.nanos() >= deadline || !await(() -> semaphore.availablePermits() > 0, deadline - world.nanos())) {
                return semaphore.tryAcquire();
            }
        }
        return true;
    }

    @Override
    public boolean await(CountDownLatch latch, long nanos) throws InterruptedException {
        return await(() -> latch.getCount() == 0, nanos);
    }

    @Override
    public void join(Thread thread, long nanos) throws InterruptedException {
        await(() -> !thread.isAlive(), nanos);
    }

    private boolean await(java.util.function.BooleanSupplier condition, long nanos) throws InterruptedException {
        boolean holds = world.await(condition, nanos);
        if (!holds && Thread.interrupted()) {
            throw new InterruptedException();
        }
        return holds;
    }
}
