package dev.waybill.test;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;

/**
 * A file system that can be full: a tmpfs of a fixed size, mounted where a test wants it. Only root may mount; ask {@link #possible}
 * first.
 */
public final class SmallDisk implements AutoCloseable {
    private static final int PIECE = 1 << 20;

    private final Path directory;

    private SmallDisk(Path directory) {
        this.directory = directory;
    }

    /** Whether this process may mount one; found out by doing it. */
    public static boolean possible() {
        try {
            Path probe = Files.createTempDirectory("waybill-disk-");
            try (SmallDisk disk = mount(probe, 1)) {
                return isMounted(disk.directory);
            } catch (UncheckedIOException notAllowed) {
                return false;
            } finally {
                Files.deleteIfExists(probe);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** @param directory exists and is empty */
    public static SmallDisk mount(Path directory, int mebibytes) {
        try {
            Processes.run(List.of("mount", "-t", "tmpfs", "-o", "size=" + mebibytes + "m,mode=755", "waybill-test", directory.toString()));
            return new SmallDisk(directory);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    static boolean isMounted(Path directory) throws IOException {
        Path mounts = Path.of("/proc/self/mounts");
        return Files.exists(directory)
                && Files.exists(mounts)
                && Files.readString(mounts).contains(" " + directory.toRealPath() + " tmpfs ");
    }

    /** Lazily: a process that still holds a file there must not keep it from going. */
    static void unmount(Path directory) throws IOException {
        Processes.run(List.of("umount", "-l", directory.toString()));
    }

    /** Until {@link #free} not one more byte fits. */
    public void fill() {
        try (FileChannel file = FileChannel.open(ballast(), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            ByteBuffer zeros = ByteBuffer.allocate(PIECE);
            for (int piece = PIECE; piece > 0; ) {
                try {
                    file.write(zeros.clear().limit(piece));
                } catch (IOException full) {
                    piece /= 2; // to the last byte
                }
            }
        } catch (IOException fullAlready) {
            throw new UncheckedIOException(fullAlready);
        }
    }

    public void free() {
        try {
            Files.deleteIfExists(ballast());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private Path ballast() {
        return directory.resolve("ballast");
    }

    @Override
    public void close() {
        try {
            unmount(directory);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
