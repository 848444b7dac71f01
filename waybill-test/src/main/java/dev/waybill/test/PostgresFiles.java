package dev.waybill.test;

import io.zonky.test.db.postgres.embedded.DefaultPostgresBinaryResolver;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.DirectoryNotEmptyException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.apache.commons.compress.archivers.tar.TarArchiveInputStream;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.tukaani.xz.XZInputStream;

/**
 * The files of PostgreSQL servers for tests: binaries unpacked once per machine and user, one locked home directory per server, and the
 * removal of homes whose JVM died without its shutdown hook.
 */
final class PostgresFiles {
    private static final Logger LOG = LoggerFactory.getLogger(PostgresFiles.class);
    private static final Path TEMP = Path.of(System.getProperty("java.io.tmpdir")).toAbsolutePath();
    private static final String HOME_PREFIX = "waybill-pg-";
    private static final String LOCK = "owner.lock";
    private static final String COMPLETE = ".complete";
    private static final String DISK = "disk";
    /** PostgreSQL refuses to run as root; found out once. */
    private static final List<String> AS_NOBODY = asNobody();

    private static @Nullable Path binaries;
    private static boolean swept;

    private PostgresFiles() {}

    /** A server's own directory; the lock tells other JVMs that its owner lives. */
    record Home(Path path, FileChannel channel, FileLock lock) {
        /** Where a small disk of its own is mounted when it has one. */
        Path disk() {
            return path.resolve(DISK);
        }

        void delete() throws IOException {
            if (SmallDisk.isMounted(disk())) {
                SmallDisk.unmount(disk());
            }
            deleteTree(path);
            channel.close();
        }
    }

    static synchronized Home newHome() throws IOException {
        if (!swept) {
            // Before the first home of our own: closing any channel of a file drops all locks this process has on it (POSIX).
            sweep();
            swept = true;
        }
        // The lock is taken under a name that no sweep looks at; it belongs to the file and survives the rename.
        Path hidden = Files.createTempDirectory(TEMP, "." + HOME_PREFIX);
        Files.setPosixFilePermissions(hidden, PosixFilePermissions.fromString("rwxr-xr-x"));
        FileChannel channel = FileChannel.open(hidden.resolve(LOCK), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        FileLock lock = channel.lock();
        giveToNobody(hidden);
        Path home = hidden.resolveSibling(hidden.getFileName().toString().substring(1));
        Files.move(hidden, home, StandardCopyOption.ATOMIC_MOVE);
        return new Home(home, channel, lock);
    }

    /** The command line for a PostgreSQL program, run as somebody who is not root. */
    static List<String> command(String program, List<String> arguments) throws IOException {
        List<String> command = new ArrayList<>(AS_NOBODY);
        command.add(binaries().resolve("bin").resolve(program).toString());
        command.addAll(arguments);
        return command;
    }

    private static synchronized Path binaries() throws IOException {
        Path found = binaries;
        if (found == null) {
            found = unpackOnce();
            binaries = found;
        }
        return found;
    }

    private static Path unpackOnce() throws IOException {
        String os = System.getProperty("os.name").startsWith("Mac") ? "Darwin" : "Linux";
        byte[] archive;
        try (InputStream in = DefaultPostgresBinaryResolver.INSTANCE.getPgBinary(os, System.getProperty("os.arch"))) {
            archive = in.readAllBytes();
        }
        String version = Digests.sha256(archive).substring(0, 16);
        Path fresh = Files.createTempDirectory(TEMP, ".waybill-pgbin-");
        Path shared = TEMP.resolve("waybill-pgbin-" + System.getProperty("user.name") + "-" + version);
        try {
            if (isComplete(shared, fresh)) {
                return shared;
            }
            int entries = unpack(archive, fresh);
            Files.writeString(fresh.resolve(COMPLETE), Integer.toString(entries));
            Files.setPosixFilePermissions(fresh, PosixFilePermissions.fromString("rwxr-xr-x"));
            if (Files.exists(shared)) {
                // Somebody tidied the temporary directory and left a torso: take it away, whole.
                Path torso = Files.createTempDirectory(TEMP, ".waybill-pgbin-").resolve("torso");
                Files.move(shared, torso, StandardCopyOption.ATOMIC_MOVE);
                deleteTree(torso.getParent());
            }
            Files.move(fresh, shared, StandardCopyOption.ATOMIC_MOVE);
            return shared;
        } catch (FileAlreadyExistsException | DirectoryNotEmptyException anotherJvmWasFaster) {
            return shared;
        } finally {
            deleteTree(fresh);
        }
    }

    private static boolean isComplete(Path shared, Path mine) throws IOException {
        Path marker = shared.resolve(COMPLETE);
        if (!Files.exists(marker) || !Files.getOwner(shared).equals(Files.getOwner(mine))) {
            return false;
        }
        try (Stream<Path> files = Files.walk(shared)) {
            return files.count() == Integer.parseInt(Files.readString(marker)) + 2L; // the root and the marker
        }
    }

    private static int unpack(byte[] archive, Path target) throws IOException {
        try (var tar = new TarArchiveInputStream(new XZInputStream(new ByteArrayInputStream(archive)))) {
            for (var entry = tar.getNextEntry(); entry != null; entry = tar.getNextEntry()) {
                Path file = target.resolve(entry.getName()).normalize();
                if (!file.startsWith(target)) {
                    throw new IOException("archive entry leaves its directory: " + entry.getName());
                }
                if (entry.isDirectory()) {
                    Files.createDirectories(file);
                    continue;
                }
                Files.createDirectories(file.getParent());
                if (entry.isSymbolicLink()) {
                    Files.createSymbolicLink(file, Path.of(entry.getLinkName()));
                } else if (entry.isLink()) {
                    Files.createLink(file, target.resolve(entry.getLinkName()));
                } else {
                    Files.copy(tar, file);
                    if ((entry.getMode() & 0100) != 0) {
                        Files.setPosixFilePermissions(file, PosixFilePermissions.fromString("rwxr-xr-x"));
                    }
                }
            }
        }
        try (Stream<Path> files = Files.walk(target)) {
            return (int) files.count() - 1;
        }
    }

    /** Ends and removes servers whose JVM is gone (kill -9 runs no shutdown hook). */
    private static void sweep() throws IOException {
        List<Path> homes;
        try (Stream<Path> entries = Files.list(TEMP)) {
            homes = entries.filter(path -> path.getFileName().toString().startsWith(HOME_PREFIX)).toList();
        }
        for (Path home : homes) {
            if (!Files.isWritable(home.resolve(LOCK))) {
                continue;
            }
            try (FileChannel channel = FileChannel.open(home.resolve(LOCK), StandardOpenOption.WRITE);
                    FileLock lock = channel.tryLock()) {
                if (lock != null) {
                    killOrphan(home.resolve("data"));
                    Path disk = home.resolve(DISK);
                    killOrphan(disk.resolve("data"));
                    if (SmallDisk.isMounted(disk)) {
                        SmallDisk.unmount(disk);
                    }
                    deleteTree(home);
                }
            } catch (IOException stillInUse) {
                // Another JVM sweeps it too, or an orphan still writes there: the next sweep takes it.
                LOG.debug("{} stays for now", home, stillInUse);
            }
        }
    }

    private static void killOrphan(Path data) throws IOException {
        Path pidFile = data.resolve("postmaster.pid");
        if (Files.exists(pidFile)) {
            long pid = Long.parseLong(Files.readAllLines(pidFile).getFirst().trim());
            ProcessHandle.of(pid)
                    .filter(process -> process.info().commandLine().orElse("").contains(data.toString()))
                    .ifPresent(PostgresFiles::killTree);
        }
    }

    /** SIGKILL for a postmaster and all its children, and the certainty that they are gone. */
    static void killTree(ProcessHandle postmaster) {
        List<ProcessHandle> all = new ArrayList<>(List.of(postmaster));
        all.addAll(postmaster.descendants().toList());
        all.forEach(ProcessHandle::destroyForcibly);
        long deadline = System.nanoTime() + TimeUnit.SECONDS.toNanos(10);
        // Orphans are reaped by process 1, which in a container may never do it: a zombie is as gone as it gets.
        while (all.stream().anyMatch(PostgresFiles::isRunning)) {
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException("PostgreSQL " + postmaster.pid() + " survives SIGKILL");
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(2));
        }
    }

    static boolean isRunning(ProcessHandle process) {
        return process.isAlive() && !isZombie(process);
    }

    private static boolean isZombie(ProcessHandle process) {
        try {
            String stat = Files.readString(Path.of("/proc/" + process.pid() + "/stat"));
            return stat.startsWith(" Z", stat.lastIndexOf(')') + 1);
        } catch (IOException goneOrNoProc) {
            return false;
        }
    }

    /** Keeps owners, modes and times: PostgreSQL refuses a data directory that others can read. */
    static void copyTree(Path from, Path to) throws IOException {
        Processes.run(List.of("cp", "-a", from.toString(), to.toString()));
    }

    /**
     * As {@link #copyTree}, of a directory somebody works in: what vanishes meanwhile is left out, and so is what only its owner needs.
     */
    static void copyLiveTree(Path from, Path to) throws IOException {
        Processes.run(List.of(
                "/bin/sh", "-c",
                "cp -a \"$0\" \"$1\" 2>\"$1.errors\" || ! grep -v 'No such file or directory' \"$1.errors\" || exit 1; rm -f \"$1.errors\"; "
                        + "cd \"$1\" && rm -rf postmaster.pid postmaster.opts pg_wal/0* pg_wal/archive_status/*",
                from.toString(), to.toString()));
    }

    static void deleteTree(@Nullable Path root) throws IOException {
        if (root == null || !Files.exists(root)) {
            return;
        }
        try (Stream<Path> files = Files.walk(root)) {
            for (Path file : (Iterable<Path>) files.sorted(Comparator.reverseOrder())::iterator) {
                Files.deleteIfExists(file);
            }
        } catch (UncheckedIOException vanishedWhileWalking) {
            throw vanishedWhileWalking.getCause();
        }
    }

    static void giveToNobody(Path path) throws IOException {
        if (AS_NOBODY.contains("setpriv")) {
            Processes.run(List.of("chown", "-R", "65534:65534", path.toString()));
        }
    }

    private static List<String> asNobody() {
        if (!"root".equals(System.getProperty("user.name"))) {
            return List.of();
        }
        try {
            Processes.run(List.of("unshare", "-U", "true"));
            return List.of("unshare", "-U");
        } catch (IOException noUserNamespacesHere) {
            return List.of("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups");
        }
    }
}
