package dev.waybill.engine;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/**
 * Where the nodes of one machine keep their locks. A slot's file holds the incarnation of the process that locked it; whoever wins the
 * lock of a slot has proof that this incarnation is dead, so a restart after kill -9 goes on at once and not after a lease (store.md,
 * Lease). The operating system drops the lock with the process.
 */
public final class NodeDirectory implements AutoCloseable {
    private static final int MAX_SLOTS = 64;

    /**
     * Slots of this process. POSIX gives a process's locks up as soon as it closes any descriptor of the file, so a second engine of
     * this process must not even open the slot of the first.
     */
    private static final Set<Path> HELD_HERE = ConcurrentHashMap.newKeySet();

    private final Path file;

    private final FileChannel channel;
    private final List<UUID> dead;

    private NodeDirectory(Path file, FileChannel channel, List<UUID> dead) {
        this.file = file;
        this.channel = channel;
        this.dead = dead;
    }

    /**
     * Takes the first free slot and learns which former incarnations are dead.
     *
     * @throws UncheckedIOException when the directory can't be used
     */
    public static NodeDirectory open(Path directory) {
        try {
            Path real = Files.createDirectories(directory).toRealPath();
            List<UUID> dead = new ArrayList<>();
            NodeDirectory mine = null;
            for (int slot = 0; slot < MAX_SLOTS; slot++) {
                Path file = real.resolve("node-" + slot + ".lock");
                if (mine != null && !Files.exists(file)) {
                    break;
                }
                if (!HELD_HERE.add(file)) {
                    continue;
                }
                FileChannel channel = locked(file);
                if (channel == null) {
                    continue;
                }
                incarnation(channel).ifPresent(dead::add);
                if (mine == null) {
                    mine = new NodeDirectory(file, channel, dead);
                } else {
                    channel.close();
                    HELD_HERE.remove(file);
                }
            }
            if (mine == null) {
                throw new IOException("all " + MAX_SLOTS + " node slots in " + directory + " are taken");
            }
            return mine;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Null when another process, or another copy of this class, holds it. Closing the channel gives the lock up. */
    private static @Nullable FileChannel locked(Path file) throws IOException {
        FileChannel channel = null;
        FileLock lock = null;
        try {
            channel = FileChannel.open(file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
            lock = channel.tryLock();
            return lock == null ? null : channel;
        } catch (OverlappingFileLockException e) {
            return null;
        } finally {
            if (lock == null) {
                if (channel != null) {
                    channel.close();
                }
                HELD_HERE.remove(file);
            }
        }
    }

    private static Optional<UUID> incarnation(FileChannel channel) throws IOException {
        ByteBuffer text = ByteBuffer.allocate(36);
        channel.position(0);
        while (text.hasRemaining() && channel.read(text) >= 0) {}
        try {
            return Optional.of(UUID.fromString(new String(text.array(), 0, text.position(), StandardCharsets.US_ASCII)));
        } catch (IllegalArgumentException e) {
            return Optional.empty(); // a new slot, or one whose holder died before it wrote
        }
    }

    /** Incarnations that are proven dead: fence them before anything else. */
    public List<UUID> dead() {
        return dead;
    }

    /** Writes down the incarnation that this process runs under, before it is registered. */
    public void write(UUID incarnation) {
        try {
            channel.truncate(0);
            channel.write(ByteBuffer.wrap(incarnation.toString().getBytes(StandardCharsets.US_ASCII)), 0);
            channel.force(true);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void close() {
        try {
            channel.close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        } finally {
            HELD_HERE.remove(file);
        }
    }
}
