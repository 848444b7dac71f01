package dev.waybill.engine;

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * Group commit: callers hand an item over and wait; one platform thread takes what has gathered and writes it in one transaction. No
 * waiting for company: an idle batcher flushes at once. Callers own no connection (store.md, Group commit).
 */
final class Batcher<T, R> implements AutoCloseable {

    /** Writes one batch and answers in its order. Runs on the batcher's own thread; may block until the outcome is certain. */
    interface Writer<T, R> {
        List<R> write(List<T> batch);
    }

    private static final long CLOSE_NANOS = 10_000_000_000L;

    /** A value and who waits for its answer, or the end of the queue. */
    private sealed interface Item<T, R> {
        record Asked<T, R>(T value, CompletableFuture<R> answer) implements Item<T, R> {}

        record End<T, R>() implements Item<T, R> {}
    }

    private final Host host;
    private final LinkedBlockingQueue<Item<T, R>> queue = new LinkedBlockingQueue<>();
    private final int maxBatch;
    private final Writer<T, R> writer;
    private final Thread thread;
    private volatile boolean closed;

    Batcher(Host host, String name, int maxBatch, Writer<T, R> writer) {
        this.host = host;
        this.maxBatch = maxBatch;
        this.writer = writer;
        this.thread = host.platform(name, this::run);
        thread.start();
    }

    CompletableFuture<R> submit(T value) {
        CompletableFuture<R> answer = new CompletableFuture<>();
        if (closed) {
            answer.completeExceptionally(new IllegalStateException("the engine is closed"));
            return answer;
        }
        queue.add(new Item.Asked<>(value, answer));
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
        List<Item.Asked<T, R>> batch = new ArrayList<>(maxBatch);
        boolean ending = false;
        while (!ending || !queue.isEmpty()) {
            taken.clear();
            batch.clear();
            try {
                taken.add(queue.take());
            } catch (InterruptedException e) {
                continue; // nobody interrupts this thread: a write cut short is an unclear one
            }
            queue.drainTo(taken, maxBatch - 1);
            for (Item<T, R> item : taken) {
                switch (item) {
                    case Item.Asked<T, R> asked -> batch.add(asked);
                    case Item.End<T, R>() -> ending = true;
                }
            }
            write(batch);
        }
    }

    private void write(List<Item.Asked<T, R>> batch) {
        if (batch.isEmpty()) {
            return;
        }
        List<T> values = new ArrayList<>(batch.size());
        for (Item.Asked<T, R> item : batch) {
            values.add(item.value);
        }
        try {
            List<R> answers = writer.write(values);
            for (int i = 0; i < batch.size(); i++) {
                batch.get(i).answer.complete(answers.get(i));
            }
        } catch (RuntimeException | Error e) {
            for (Item.Asked<T, R> item : batch) {
                item.answer.completeExceptionally(e);
            }
        }
    }

    private void failRest() {
        for (Item<T, R> item = queue.poll(); item != null; item = queue.poll()) {
            if (item instanceof Item.Asked<T, R> asked) {
                asked.answer.completeExceptionally(new IllegalStateException("the engine is closed"));
            }
        }
    }

    /** Writes what is queued, then ends. */
    @Override
    public void close() {
        closed = true;
        queue.add(new Item.End<>());
        try {
            host.join(thread, CLOSE_NANOS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        failRest();
    }
}
