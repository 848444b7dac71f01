package dev.waybill.recorder;

import dev.waybill.model.InstanceKey;
import dev.waybill.model.Outcome;
import dev.waybill.recorder.FlightFile.Entry;
import dev.waybill.recorder.FlightFile.Kind;
import dev.waybill.recorder.Testimony.Says;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The file of a process that is proven dead; its lock is held until this is closed. */
public final class DeadFlight implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(DeadFlight.class);

    private final Path path;
    private final FileChannel channel;
    private final FlightFile file;
    private final Flights.Held held;

    DeadFlight(Path path, FileChannel channel, FlightFile file, Flights.Held held) {
        this.path = path;
        this.channel = channel;
        this.file = file;
        this.held = held;
    }

    public Path path() {
        return path;
    }

    /** The last incarnations its process ran under; all of them are dead. */
    public List<UUID> incarnations() {
        return file.incarnations();
    }

    /**
     * One for each receipt that was not seen settled and whose intent, with all that came after it, is still there. The intent's record is
     * what makes silence speak: it was written before the commit, and a later note that is missing was never finished.
     */
    public List<Testimony> testimonies() {
        return of(file.entries());
    }

    static List<Testimony> of(List<Entry> entries) {
        Map<UUID, Flight> flights = new LinkedHashMap<>();
        for (Entry entry : entries) {
            ByteBuffer payload = ByteBuffer.wrap(entry.payload());
            UUID receipt = id(payload);
            if (entry.kind() == Kind.INTENT) {
                flights.remove(receipt);
                flights.put(receipt, new Flight(payload));
            }
            Flight flight = flights.get(receipt);
            if (flight != null) flight.note(entry.kind(), entry.payload());
        }
        List<Testimony> testimonies = new ArrayList<>();
        flights.forEach((receipt, flight) -> {
            if (!flight.settled) testimonies.add(new Testimony(receipt, flight.node, flight.instance, flight.path, flight.says()));
        });
        return testimonies;
    }

    /** One receipt as far as the file tells. */
    private static final class Flight {
        private final UUID node;
        private final InstanceKey instance;
        private final String path;
        private boolean begun;
        private boolean settled;
        private byte @Nullable [] answer;

        Flight(ByteBuffer payload) {
            this.node = id(payload);
            UUID run = id(payload);
            this.instance = new InstanceKey(text(payload), run);
            this.path = text(payload);
        }

        void note(Kind kind, byte[] payload) {
            switch (kind) {
                case INTENT -> {}
                case FIRST_BYTE -> begun = true;
                case ANSWER -> answer = Arrays.copyOfRange(payload, 16, payload.length);
                case SETTLED -> settled = true;
            }
        }

        Says says() {
            if (answer != null) {
                Optional<Outcome> outcome = OutcomeText.read(answer);
                return outcome.isPresent() ? new Says.Answered(outcome.get()) : new Says.Gap();
            }
            return begun ? new Says.Gap() : new Says.NotSent();
        }
    }

    private static UUID id(ByteBuffer payload) {
        return new UUID(payload.getLong(), payload.getLong());
    }

    private static String text(ByteBuffer payload) {
        byte[] bytes = new byte[payload.getInt()];
        payload.get(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }

    /** Everything in it was heard. */
    public void delete() {
        try {
            Files.deleteIfExists(path);
        } catch (IOException e) {
            LOG.warn("the flight recorder {} could not be deleted: {}", path, e.toString());
        }
    }

    @Override
    public void close() {
        try {
            file.close();
            channel.close();
        } catch (IOException e) {
            LOG.warn("the flight recorder {} could not be closed: {}", path, e.toString());
        } finally {
            held.close();
        }
    }
}
