package dev.waybill.recorder;

import dev.waybill.recorder.FlightFile.Origin;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.BasicFileAttributes;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.HexFormat;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.random.RandomGenerator;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The folder in which the nodes of one machine keep their flight recorders, one file for each process. A file's lock lives as long as its
 * process; whoever wins it has proof that the process is dead. Files of another boot, of another place or unreadable ones are set aside
 * and never read from.
 */
public final class Flights {
    /** Ring of one node: some 20,000 steps with small answers, more than ten seconds of a busy node. */
    public static final long DEFAULT_BYTES = 16L << 20;

    public static final long MIN_BYTES = 64L << 10;
    public static final long MAX_BYTES = 1L << 30;

    /** Files set aside that are kept; older ones are deleted. */
    static final int MAX_ASIDE = 4;

    static final String LIVE = ".flight";
    private static final String UNFINISHED = ".new";
    private static final String ASIDE = ".aside";
    /** Behind the content; POSIX does not mind. */
    private static final long LOCKED_BYTE = 1L << 40;

    private static final Logger LOG = LoggerFactory.getLogger(Flights.class);

    private final Path folder;
    private final UUID boot;
    private final byte[] store;
    private final long bytes;

    private Flights(Path folder, UUID boot, byte[] store, long bytes) {
        this.folder = folder;
        this.boot = boot;
        this.store = store;
        this.bytes = bytes;
    }

    /**
     * @param store its description: a file is read only by engines of the same store
     * @param bytes of the ring, 64 KiB to 1 GiB
     * @return empty, with a log line, where no file could speak: not Linux, not a local file system, not writable
     */
    public static Optional<Flights> in(Path folder, String store, long bytes) {
        return in(folder, Machine.boot(), store, bytes);
    }

    static Optional<Flights> in(Path folder, Optional<UUID> boot, String store, long bytes) {
        if (bytes < MIN_BYTES || bytes > MAX_BYTES) {
            throw new IllegalArgumentException("a flight recorder of " + bytes + " bytes; it has " + MIN_BYTES + " to " + MAX_BYTES);
        }
        if (boot.isEmpty()) {
            LOG.info("no flight recorder: this system has no boot id");
            return Optional.empty();
        }
        try {
            Files.createDirectories(folder, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------")));
            if (PosixFilePermissions.toString(Files.getPosixFilePermissions(folder)).matches(".{4}w.{4}|.{7}w.")) {
                // A file that somebody else put there would be believed.
                LOG.warn("no flight recorder: others can write to {}", folder);
                return Optional.empty();
            }
            if (!Machine.isLocal(folder)) {
                LOG.info("no flight recorder: {} is not on a file system of this machine alone", folder);
                return Optional.empty();
            }
        } catch (IOException | UnsupportedOperationException e) {
            LOG.warn("no flight recorder in {}: {}", folder, e.toString());
            return Optional.empty();
        }
        return Optional.of(new Flights(folder, boot.get(), sha256(store), bytes & ~7L));
    }

    // --- this process's own ----------------------------------------------------------------------------------------------------

    /** Starts this process's file; empty, with a log line, when the folder does not allow it (disk full, permissions). */
    public Optional<FlightRecorder> record(RandomGenerator random) {
        for (int tries = 0; tries < 3; tries++) {
            Path file = folder.resolve(HexFormat.of().toHexDigits(random.nextLong()) + LIVE);
            try {
                FlightRecorder recorder = create(file, random.nextLong());
                if (recorder != null) return Optional.of(recorder);
            } catch (IOException e) {
                LOG.warn("no flight recorder in {}: {}", folder, e.toString());
                return Optional.empty();
            }
        }
        return Optional.empty();
    }

    /** Null when somebody who tidies up got the lock of the new file first. */
    private @Nullable FlightRecorder create(Path file, long salt) throws IOException {
        Path unfinished = file.resolveSibling(file.getFileName() + UNFINISHED);
        Held held = Held.of(file);
        if (held == null) return null;
        FileChannel channel = null;
        try {
            channel = FileChannel.open(
                    unfinished,
                    EnumSet.of(StandardOpenOption.CREATE_NEW, StandardOpenOption.READ, StandardOpenOption.WRITE),
                    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
            if (channel.tryLock(LOCKED_BYTE, 1, false) == null) {
                channel.close();
                held.close();
                return null;
            }
            FlightFile mapped = FlightFile.create(channel, bytes, salt, new Origin(boot, store, identity(unfinished)));
            Files.move(unfinished, file, StandardCopyOption.ATOMIC_MOVE);
            return new FlightRecorder(file, channel, mapped, held);
        } catch (IOException | RuntimeException e) {
            if (channel != null) channel.close();
            Files.deleteIfExists(unfinished);
            held.close();
            throw e;
        }
    }

    /**
     * Files this very Java process holds, seen by every copy of this class. POSIX gives a process's locks up as soon as it closes any
     * descriptor of the file: our own must not even be opened.
     */
    static final class Held implements AutoCloseable {
        private static final String PREFIX = "dev.waybill.recorder.held.";
        private final String name;

        private Held(String name) {
            this.name = name;
        }

        /** Null when another engine of this process holds it. */
        static @Nullable Held of(Path file) {
            String name = PREFIX + file.getFileName().toString().replace(UNFINISHED, "");
            return System.getProperties().putIfAbsent(name, "true") == null ? new Held(name) : null;
        }

        @Override
        public void close() {
            System.clearProperty(name);
        }
    }

    // --- those of the dead -----------------------------------------------------------------------------------------------------

    /** The files of this store whose processes are dead, locked; close every one. */
    public List<DeadFlight> dead() {
        List<DeadFlight> dead = new ArrayList<>();
        for (Path file : list("")) {
            String name = file.getFileName().toString();
            if (!(name.endsWith(LIVE) || name.endsWith(LIVE + UNFINISHED))) continue;
            try {
                DeadFlight flight = open(file);
                if (flight != null) dead.add(flight);
            } catch (NoSuchFileException e) {
                // Somebody else was done with it.
            } catch (IOException e) {
                LOG.warn("the flight recorder {} cannot be looked at: {}", file, e.toString());
            }
        }
        return dead;
    }

    private @Nullable DeadFlight open(Path file) throws IOException {
        Held held = Held.of(file);
        if (held == null) return null;
        FileChannel channel = null;
        DeadFlight flight = null;
        try {
            channel = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE);
            FileLock lock = channel.tryLock(LOCKED_BYTE, 1, false);
            // The name may be gone, or another file's, since it was opened.
            if (lock == null || !Files.exists(file)) return null;
            if (file.getFileName().toString().endsWith(UNFINISHED)) {
                Files.delete(file); // its process died before it was ready: it holds nothing
                return null;
            }
            FlightFile mapped = FlightFile.read(channel).orElse(null);
            String wrong = mapped == null ? "it is not whole" : wrong(mapped, file);
            if (wrong != null || mapped == null) {
                if (mapped != null) mapped.close();
                aside(file, String.valueOf(wrong));
                return null;
            }
            if (!MessageDigest.isEqual(mapped.origin().store(), store)) {
                mapped.close();
                return null;
            }
            flight = new DeadFlight(file, channel, mapped, held);
            return flight;
        } catch (OverlappingFileLockException e) {
            return null;
        } finally {
            if (flight == null) {
                if (channel != null) channel.close();
                held.close();
            }
        }
    }

    private @Nullable String wrong(FlightFile mapped, Path file) throws IOException {
        if (!mapped.origin().boot().equals(boot)) return "it was written before this machine started";
        if (!mapped.origin().sameFile(new Origin(boot, store, identity(file)))) return "it is a copy";
        return mapped.broken() ? "its writer could not go on writing" : null;
    }

    private void aside(Path file, String why) throws IOException {
        Files.move(file, file.resolveSibling(file.getFileName() + ASIDE), StandardCopyOption.ATOMIC_MOVE);
        LOG.warn("the flight recorder {} says nothing: {}; it is kept beside as {}{}", file, why, file.getFileName(), ASIDE);
        List<Path> all = list(ASIDE);
        all.sort(Comparator.comparing(one -> one.toFile().lastModified()));
        for (Path old : all.subList(0, Math.max(0, all.size() - MAX_ASIDE))) {
            Files.deleteIfExists(old);
            LOG.info("the flight recorder {} is deleted: there are {} newer ones beside it", old, MAX_ASIDE);
        }
    }

    private List<Path> list(String suffix) {
        try (Stream<Path> files = Files.list(folder)) {
            return new ArrayList<>(files.filter(file -> file.getFileName().toString().endsWith(suffix)).toList());
        } catch (IOException e) {
            LOG.warn("the flight recorders in {} cannot be listed: {}", folder, e.toString());
            return List.of();
        }
    }

    private static byte[] identity(Path file) throws IOException {
        return sha256(String.valueOf(Files.readAttributes(file, BasicFileAttributes.class).fileKey()));
    }

    private static byte[] sha256(String text) {
        try {
            return MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }
}
