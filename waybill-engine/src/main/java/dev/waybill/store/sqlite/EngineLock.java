package dev.waybill.store.sqlite;

import dev.waybill.model.WaybillException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/**
 * One engine for each file: an operating system lock on {@code FILE.lock}, which dies with its process and so proves that every
 * earlier engine of the file is dead. The lock file itself stays: deleting it would let two engines lock two files of one name.
 */
final class EngineLock implements AutoCloseable {
    /**
     * Locks of this process. POSIX gives a process's locks up as soon as it closes any descriptor of the file, so a second opener in
     * this process must not even look into the lock file.
     */
    private static final Set<Path> HELD_HERE = ConcurrentHashMap.newKeySet();

    /** Behind the text, so that others can read it where locks are mandatory (Windows). */
    private static final long LOCKED_BYTE = 1L << 40;

    private final Path path;
    private final FileChannel channel;

    private EngineLock(Path path, FileChannel channel) {
        this.path = path;
        this.channel = channel;
    }

    /**
     * @param now written into the file for whoever finds it locked
     * @throws WaybillException STORE_IN_USE, naming the holder
     */
    static EngineLock take(Path database, Instant now) throws IOException {
        Path path = database.resolveSibling(database.getFileName() + ".lock");
        if (!HELD_HERE.add(path)) {
            throw inUse(database, "this process (" + ProcessHandle.current().pid() + ")");
        }
        FileChannel channel = null;
        try {
            channel = FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE);
            FileLock lock = channel.tryLock(LOCKED_BYTE, 1, false);
            if (lock == null) {
                throw inUse(database, "process " + Files.readString(path).strip());
            }
            String holder = ProcessHandle.current().pid() + " since " + now + "\n";
            channel.truncate(0);
            channel.write(ByteBuffer.wrap(holder.getBytes(StandardCharsets.UTF_8)), 0);
            return new EngineLock(path, channel);
        } catch (IOException | RuntimeException e) {
            HELD_HERE.remove(path);
            if (channel != null) {
                channel.close();
            }
            throw e;
        }
    }

    private static WaybillException inUse(Path database, String holder) {
        return WaybillException.conflict(
                "STORE_IN_USE",
                database + " is in use by " + holder + ": a file has one engine",
                "stop that process, or send your command to its server");
    }

    /** Closing the channel gives the lock up. */
    @Override
    public void close() throws IOException {
        channel.close();
        HELD_HERE.remove(path);
    }
}
