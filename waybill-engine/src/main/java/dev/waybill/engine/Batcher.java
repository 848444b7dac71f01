package dev.waybill.engine;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Group commit: callers hand an item over and wait; one platform thread takes what has gathered and writes it in one transaction. No
 * waiting for company: an idle batcher flushes at once. Callers own no connection (store.md, Group commit).
 */
final class Batcher<T, R> implements AutoCloseable {

    /** Writes one batch and answers in its order. Runs on the batcher's own thread; may block until the outcome is certain. */
    interface Writer<T, R> {
        List<R> write(List<T> batch);
    }

    private static final long IDLE_LOOK_MILLIS = 50;
    private static final long CLOSE_MILLIS = 10_000;

    private record Item<T, R>(T value, CompletableFuture<R> answer) {}

    private final LinkedBlockingQueue<Item<T, R>> queue = new LinkedBlockingQueue<>();
    private final int maxBatch;
    private final Writer<T, R> writer;
    private final Thread thread;
    private volatile boolean closed;

    Batcher(String name, int maxBatch, Writer<T, R> writer) {
        this.maxBatch = maxBatch;
        this.writer = writer;
        this.thread = Thread.ofPlatform().name(name).daemon(true).start(this::run);
    }

    CompletableFuture<R> submit(T value) {
        CompletableFuture<R> answer = new CompletableFuture<>();
        if (closed) {
            answer.completeExceptionally(new IllegalStateException("the engine is closed"));
            return answer;
        }
        queue.add(new Item<>(value, answer));
        if (closed && !thread.isAlive()) { // closed between the check and the add: nobody may be left waiting
            failRest();
        }
        return answer;
    }

    int depth() {
        return queue.size();
    }

    private void run() {
        List<Item<T, R>> taken = new ArrayList<>(maxBatch);
        while (true) {
            taken.clear();
            Item<T, R> first = next();
            if (first == null) {
                if (closed) {
                    return;
                }
                continue;
            }
            taken.add(first);
            queue.drainTo(taken, maxBatch - 1);
            List<T> batch = new ArrayList<>(taken.size());
            for (Item<T, R> item : taken) {
                batch.add(item.value);
            }
            try {
                List<R> answers = writer.write(batch);
                for (int i = 0; i < taken.size(); i++) {
                    taken.get(i).answer.complete(answers.get(i));
                }
            } catch (RuntimeException | Error e) {
                for (Item<T, R> item : taken) {
                    item.answer.completeExceptionally(e);
                }
            }
        }
    }

    /** The next item, or null after a while; the thread is never interrupted, since a write cut short is an unclear one. */
    private @Nullable Item<T, R> next() {
        try {
            return queue.poll(IDLE_LOOK_MILLIS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            return null;
        }
    }

    private void failRest() {
        for (Item<T, R> item = queue.poll(); item != null; item = queue.poll()) {
            item.answer.completeExceptionally(new IllegalStateException("the engine is closed"));
        }
    }

    /** Writes what is queued, then ends. */
    @Override
    public void close() {
        closed = true;
        try {
            thread.join(CLOSE_MILLIS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        failRest();
    }
}
