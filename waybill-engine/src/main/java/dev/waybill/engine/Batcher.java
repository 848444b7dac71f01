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
        if (closed) { // closed between the check and the add: nobody may be left waiting
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
            try {
                taken.add(queue.take());
            } catch (InterruptedException e) {
                if (closed) {
                    failRest();
                    return;
                }
                continue;
            }
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
            if (closed && queue.isEmpty()) {
                return;
            }
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
        thread.interrupt();
        try {
            thread.join(5_000);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
