package dev.waybill.lab.points;

import dev.waybill.store.Store;
import dev.waybill.store.sqlite.SqliteConfig;
import dev.waybill.store.sqlite.SqliteStore;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicReference;

/**
 * A file of its own for each trial, copied from a template. At a machine's death file and log are copied as they are on the disk, and the
 * next machine opens the copy: the dead one cannot reach it whatever it does, and what the next one finds is what kill -9 leaves.
 */
final class SqliteGround implements Ground {
    private static final List<String> FILES = List.of("", "-wal");

    private final Path directory;
    private final InstantSource wall;
    /** Behind the wall clock, so that it can be moved on without ever being ahead of it. */
    private final AtomicReference<Duration> offset = new AtomicReference<>(Duration.ofDays(-2));
    private Path file;
    private int trials;
    private int lives;

    SqliteGround(Path directory, InstantSource wall) {
        this.directory = directory;
        this.wall = wall;
        this.file = directory.resolve("template.db");
    }

    @Override
    public void begin() throws IOException {
        remove();
        trials++;
        lives = 0;
        Path fresh = directory.resolve("trial-" + trials + ".db");
        copy(directory.resolve("template.db"), fresh);
        file = fresh;
    }

    /** Of the last trial; the dead may still have its files open, which unlinking does not mind. */
    private void remove() throws IOException {
        if (trials == 0) {
            return;
        }
        try (var old = Files.newDirectoryStream(directory, "trial-" + trials + ".db*")) {
            for (Path one : old) {
                Files.deleteIfExists(one); // a dead machine that closes removes its own log
            }
        }
    }

    private static void copy(Path from, Path to) throws IOException {
        for (String suffix : FILES) {
            Path part = from.resolveSibling(from.getFileName() + suffix);
            if (Files.exists(part)) {
                Files.copy(part, to.resolveSibling(to.getFileName() + suffix));
            }
        }
    }

    @Override
    public Store open(Machine machine, Verbs verbs) {
        Path mine = file;
        machine.onDeath(() -> {
            try {
                Path next = directory.resolve("trial-" + trials + ".db." + ++lives);
                copy(mine, next);
                file = next;
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        });
        return new SqliteStore(SqliteConfig.of(mine), clock(), new TappedJdbc(machine, verbs, false)::tap);
    }

    /** The first node to register fences all before it: the lock of the file proves them dead. */
    @Override
    public List<UUID> toFence(List<UUID> dead) {
        return List.of();
    }

    @Override
    public void passTime(Instant until) {
        Duration left = Duration.between(clock().instant(), until);
        if (!left.isNegative()) {
            offset.updateAndGet(now -> now.plus(left).plusMillis(1));
        }
    }

    @Override
    public InstantSource clock() {
        return () -> wall.instant().plus(offset.get());
    }

    @Override
    public String url() {
        return "sqlite:" + file;
    }

    @Override
    public boolean fresh() {
        return true;
    }

    @Override
    public boolean due(Store raw) {
        return raw.millisUntilNextDue(Duration.ofMillis(1)) == 0;
    }

    @Override
    public Left left() throws SQLException {
        // In a copy: opening and closing the file folds its log into it, and the next machine is to find it as it was left.
        Path look = directory.resolve("trial-" + trials + ".db.look" + lives);
        try {
            copy(file, look);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + look)) {
            return Lefts.read(connection, "next_fire_at IS NOT NULL");
        }
    }

    @Override
    public Path directory() {
        return directory;
    }

    @Override
    public void close() {}
}
