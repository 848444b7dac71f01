package dev.waybill.server.api;

import dev.waybill.store.Queries;
import dev.waybill.store.StoreException;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * Tells the streams when there may be news. One thread asks the store where its newest change is, at most four times a second; a
 * stream then reads for itself from where it stands. So nothing is queued for a slow client: it holds one page at most, falls
 * behind, and is cut when a write to it stalls.
 */
final class ChangeFeed implements AutoCloseable {
    static final int MAX_STREAMS = 200;
    private static final long PAUSE_MILLIS = 250;
    /** Changes of other nodes are not signalled here; this is how late they may be seen. */
    private static final long POLL_MILLIS = 1_000;

    private final Queries queries;
    private final Semaphore places = new Semaphore(MAX_STREAMS);
    private final ReentrantLock lock = new ReentrantLock();
    private final Condition hint = lock.newCondition();
    private final Condition news = lock.newCondition();
    private final Thread watcher;
    private boolean hinted;
    private boolean closed;
    private @Nullable String newest;
    private long version;

    ChangeFeed(Backend backend) {
        queries = backend.queries();
        watcher = Thread.ofVirtual().name("waybill-changes").unstarted(this::watch);
        backend.onChange().accept(this::hint);
    }

    void start() {
        watcher.start();
    }

    boolean enter() {
        return places.tryAcquire();
    }

    void leave() {
        places.release();
    }

    /**
     * Waits until there may be something after what was known at {@code seen}, at most {@code millis}.
     *
     * @return the version to wait with next time; -1 when the feed is closed
     */
    long await(long seen, long millis) throws InterruptedException {
        lock.lock();
        try {
            long left = TimeUnit.MILLISECONDS.toNanos(millis);
            while (!closed && version == seen && left > 0) {
                left = news.awaitNanos(left);
            }
            return closed ? -1 : version;
        } finally {
            lock.unlock();
        }
    }

    private void hint() {
        lock.lock();
        try {
            hinted = true;
            hint.signal();
        } finally {
            lock.unlock();
        }
    }

    private void watch() {
        try {
            while (waitForHint()) {
                look();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private boolean waitForHint() throws InterruptedException {
        lock.lock();
        try {
            // The pause comes first: a burst of hints is one look.
            long pause = TimeUnit.MILLISECONDS.toNanos(PAUSE_MILLIS);
            while (!closed && pause > 0) {
                pause = news.awaitNanos(pause);
            }
            long poll = TimeUnit.MILLISECONDS.toNanos(POLL_MILLIS);
            while (!closed && !hinted && poll > 0) {
                poll = hint.awaitNanos(poll);
            }
            hinted = false;
            return !closed;
        } finally {
            lock.unlock();
        }
    }

    private void look() {
        String now;
        try {
            now = places.availablePermits() == MAX_STREAMS ? null : queries.newestChange();
        } catch (StoreException unreachable) {
            // The streams stay open and quiet; the next look comes in a second.
            return;
        }
        lock.lock();
        try {
            if (now != null && !now.equals(newest)) {
                newest = now;
                version++;
                news.signalAll();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Ends every stream. */
    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            news.signalAll();
            hint.signalAll();
        } finally {
            lock.unlock();
        }
    }
}
