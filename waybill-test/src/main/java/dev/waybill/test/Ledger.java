package dev.waybill.test;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/** The provider's own record: a file of JSON lines that only grows. What it says was written before the client could know. */
public final class Ledger implements AutoCloseable {
    private final Path file;
    private final FileChannel channel;
    private final InstantSource clock;
    private final List<LedgerEntry> entries = new ArrayList<>();
    private boolean closed;

    Ledger(Path file, InstantSource clock) throws IOException {
        this.file = file;
        this.clock = clock;
        this.channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.WRITE, StandardOpenOption.APPEND);
        this.entries.addAll(read(file));
    }

    /** A ledger file, of this or of another process. A last line that was cut by a crash is left out. */
    public static List<LedgerEntry> read(Path file) {
        try {
            String text = Files.readString(file);
            String whole = text.substring(0, text.lastIndexOf('\n') + 1);
            return whole.lines().map(line -> Json.MAPPER.readValue(line, LedgerEntry.class)).toList();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    Path file() {
        return file;
    }

    void delivery(Delivery delivery, @Nullable String fault, @Nullable String seenState) throws IOException {
        boolean complete = fault == null;
        append(new LedgerEntry(
                0, clock.instant(), LedgerEntry.Kind.DELIVERY, delivery.number(), delivery.method(), delivery.target(), delivery.effectId(),
                delivery.idempotencyKey(), complete ? delivery.bodySha256() : null, complete ? delivery.text() : null,
                complete ? delivery.content() : null, null, fault, delivery.connection(), seenState));
    }

    void apply(Delivery delivery, JsonNode booked, @Nullable String fault) throws IOException {
        append(after(LedgerEntry.Kind.APPLY, delivery, booked, fault));
    }

    void answer(Delivery delivery, @Nullable JsonNode answer, @Nullable String fault) throws IOException {
        append(after(LedgerEntry.Kind.ANSWER, delivery, answer, fault));
    }

    private LedgerEntry after(LedgerEntry.Kind kind, Delivery delivery, @Nullable JsonNode answer, @Nullable String fault) {
        return new LedgerEntry(
                0, clock.instant(), kind, delivery.number(), delivery.method(), delivery.target(), delivery.effectId(),
                delivery.idempotencyKey(), delivery.bodySha256(), null, delivery.content(), answer, fault, delivery.connection(), null);
    }

    private void append(LedgerEntry draft) throws IOException {
        synchronized (this) {
            var entry = new LedgerEntry(
                    entries.size() + 1L, draft.at(), draft.kind(), draft.delivery(), draft.method(), draft.path(), draft.effectId(),
                    draft.idempotencyKey(), draft.bodySha256(), draft.body(), draft.content(), draft.answer(), draft.fault(),
                    draft.connection(), draft.seenState());
            ByteBuffer line = ByteBuffer.wrap((Json.MAPPER.writeValueAsString(entry) + "\n").getBytes(StandardCharsets.UTF_8));
            while (line.hasRemaining()) {
                channel.write(line);
            }
            entries.add(entry);
            notifyAll();
        }
        channel.force(false); // outside the lock: one disk flush serves everybody who waits
    }

    synchronized long size() {
        return entries.size();
    }

    /** Waits for entries with {@code seq > after}. @return empty when the ledger was closed */
    synchronized List<LedgerEntry> awaitAfter(long after) throws InterruptedException {
        while (entries.size() <= after && !closed) {
            wait();
        }
        return List.copyOf(entries.subList((int) Math.min(after, entries.size()), entries.size()));
    }

    @Override
    public void close() throws IOException {
        synchronized (this) {
            closed = true;
            notifyAll();
        }
        channel.close();
    }
}
