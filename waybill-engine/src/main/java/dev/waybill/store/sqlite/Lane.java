package dev.waybill.store.sqlite;

import dev.waybill.store.StoreException;
import dev.waybill.store.UnclearCommitException;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Platform threads that own connections; callers hand work over and wait. The driver's native calls pin the carrier of a virtual
 * thread, so no virtual thread may make them itself.
 */
final class Lane implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Lane.class);

    /** Calls that may wait for a thread; more wait outside. */
    private static final int QUEUE_LIMIT = 4_096;

    @FunctionalInterface
    interface Work<T> {
        T run(Db db) throws SQLException;
    }

    @FunctionalInterface
    interface Opener {
        Db open() throws SQLException;
    }

    private record Job(Work<?> work, CompletableFuture<Object> answer) {}

    private final BlockingQueue<Job> jobs = new ArrayBlockingQueue<>(QUEUE_LIMIT);
    private final List<Thread> threads = new ArrayList<>();
    private volatile boolean closed;

    /**
     * @throws SQLException when a connection cannot be opened
     */
    Lane(String name, int size, Opener opener) throws SQLException {
        List<Db> connections = new ArrayList<>();
        try {
            for (int i = 0; i < size; i++) {
                connections.add(opener.open());
            }
        } catch (SQLException | RuntimeException e) {
            for (Db db : connections) {
                db.close();
            }
            throw e;
        }
        for (Db db : connections) {
            threads.add(Thread.ofPlatform().daemon().name(name + "-" + threads.size()).start(() -> serve(db)));
        }
    }

    /**
     * Runs the work on a thread of the lane. An interrupt does not cut the wait short: the work would be done all the same, and nobody
     * would know.
     *
     * @throws StoreException when the database refused, or the store is closed: nothing of it is durable
     */
    @SuppressWarnings("unchecked")
    <T> T call(Work<T> work) {
        if (closed) {
            throw new StoreException("the store is closed", new IllegalStateException("closed"));
        }
        CompletableFuture<Object> answer = new CompletableFuture<>();
        put(new Job(work, answer));
        if (closed) {
            // The threads may have seen their last job already.
            refuseWhatIsLeft();
        }
        try {
            return (T) answer.join();
        } catch (CompletionException e) {
            throw rethrown(e.getCause() == null ? e : e.getCause());
        }
    }

    private void put(Job job) {
        boolean interrupted = false;
        while (true) {
            try {
                jobs.put(job);
                break;
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** A fresh exception, so that the trace tells of the caller too. */
    private static RuntimeException rethrown(Throwable cause) {
        return switch (cause) {
            case UnclearCommitException unclear -> new UnclearCommitException(String.valueOf(unclear.getMessage()), unclear);
            case SQLException refused -> new StoreException("SQLite: " + refused.getMessage(), refused);
            case StoreException refused -> new StoreException(String.valueOf(refused.getMessage()), refused);
            case RuntimeException bug -> bug;
            default -> new IllegalStateException(cause);
        };
    }

    private void serve(Db db) {
        try {
            while (true) {
                Job job = jobs.take();
                if (job.answer().isDone()) {
                    break;
                }
                try {
                    job.answer().complete(job.work().run(db));
                } catch (Throwable e) {
                    job.answer().completeExceptionally(e);
                }
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            try {
                db.close();
            } catch (SQLException e) {
                LOG.warn("closing a connection failed", e);
            }
        }
    }

    /** Lets what was handed over finish, then closes the connections. */
    @Override
    public void close() {
        if (closed) {
            return;
        }
        closed = true;
        Job stop = new Job(_ -> true, CompletableFuture.completedFuture(true));
        threads.forEach(_ -> put(stop));
        boolean interrupted = false;
        for (Thread thread : threads) {
            while (thread.isAlive()) {
                try {
                    thread.join();
                } catch (InterruptedException e) {
                    interrupted = true;
                }
            }
        }
        refuseWhatIsLeft();
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private void refuseWhatIsLeft() {
        if (threads.stream().anyMatch(Thread::isAlive)) {
            return;
        }
        for (Job job = jobs.poll(); job != null; job = jobs.poll()) {
            job.answer().completeExceptionally(new StoreException("the store is closed", new IllegalStateException("closed")));
        }
    }
}
