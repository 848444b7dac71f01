package dev.waybill.recorder;

import dev.waybill.model.InstanceKey;
import dev.waybill.model.Outcome;
import dev.waybill.recorder.FlightFile.Kind;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * This process's file. Thread-safe. Closed at the end of an engine that may outlive itself in its process: from then on nothing may be
 * sent by it any more, because others may read the file and conclude so.
 */
public final class FlightRecorder implements Recorder {
    private static final Logger LOG = LoggerFactory.getLogger(FlightRecorder.class);
    private static final int MAX_TEXT_BYTES = 4_096;

    private final Path path;
    private final FileChannel channel;
    private final FlightFile file;
    private final Flights.Held held;
    /** Receipts whose end the store has not acknowledged, and whether the call has spoken. */
    private final Map<UUID, Boolean> open = new ConcurrentHashMap<>();
    private volatile boolean closed;
    private volatile boolean broken;

    FlightRecorder(Path path, FileChannel channel, FlightFile file, Flights.Held held) {
        this.path = path;
        this.channel = channel;
        this.file = file;
        this.held = held;
    }

    @Override
    public synchronized void incarnation(UUID node) {
        if (!closed) file.incarnation(node);
    }

    @Override
    public void intent(UUID receipt, UUID node, InstanceKey instance, String path) {
        byte[] tenant = instance.tenant().getBytes(StandardCharsets.UTF_8);
        byte[] at = path.getBytes(StandardCharsets.UTF_8);
        // Of what does not fit there is no intent here, and nothing is ever said about it.
        if (closed || broken || tenant.length > MAX_TEXT_BYTES || at.length > MAX_TEXT_BYTES) return;
        ByteBuffer payload = ByteBuffer.allocate(3 * 16 + 2 * 4 + tenant.length + at.length);
        put(put(put(payload, receipt), node), instance.id());
        payload.putInt(tenant.length).put(tenant).putInt(at.length).put(at);
        open.put(receipt, false);
        note(Kind.INTENT, payload.array());
    }

    @Override
    public void firstByte(UUID receipt) {
        if (closed) throw new IllegalStateException("the engine is closed");
        if (!broken && open.containsKey(receipt)) note(Kind.FIRST_BYTE, put(ByteBuffer.allocate(16), receipt).array());
    }

    @Override
    public void answered(UUID receipt, Outcome outcome) {
        if (closed || broken || open.replace(receipt, true) == null) return;
        byte[] text;
        try {
            text = OutcomeText.write(outcome, file.maxPayload() / 2);
        } catch (RuntimeException e) {
            LOG.warn("the answer of effect {} cannot be kept in the flight recorder", receipt, e);
            return;
        }
        note(Kind.ANSWER, put(ByteBuffer.allocate(16 + text.length), receipt).put(text).array());
    }

    @Override
    public void settled(UUID receipt, boolean known) {
        Boolean spoken = open.get(receipt);
        if (spoken == null || closed || broken || !(known || spoken)) return;
        open.remove(receipt);
        note(Kind.SETTLED, put(ByteBuffer.allocate(16), receipt).array());
    }

    private void note(Kind kind, byte[] payload) {
        try {
            file.append(kind, payload);
        } catch (IllegalStateException e) {
            // Closed meanwhile. That matters to whoever is about to send, and to nobody else.
            if (kind == Kind.FIRST_BYTE || !closed) throw e;
        } catch (InternalError e) {
            // The page could not be written (an I/O error, a file cut off by somebody). A recorder with a hole must not speak.
            LOG.error("the flight recorder {} cannot be written and goes silent", path, e);
            broken = true;
            file.breakDown();
        }
    }

    private static ByteBuffer put(ByteBuffer buffer, UUID id) {
        return buffer.putLong(id.getMostSignificantBits()).putLong(id.getLeastSignificantBits());
    }

    /** The file goes with the engine, unless the store has not heard everything yet: then the next engine on this machine reads it. */
    @Override
    public synchronized void close() {
        if (closed) return;
        closed = true;
        try {
            file.close();
            if (open.isEmpty()) {
                Files.deleteIfExists(path);
            } else {
                LOG.info("the flight recorder {} stays: it knows of {} effects that are not settled", path, open.size());
            }
            channel.close();
        } catch (IOException e) {
            LOG.warn("the flight recorder {} could not be closed: {}", path, e.toString());
        } finally {
            held.close();
        }
    }
}
