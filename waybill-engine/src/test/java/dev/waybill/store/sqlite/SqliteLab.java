package dev.waybill.store.sqlite;

import dev.waybill.store.Store;
import dev.waybill.store.StoreLab;
import dev.waybill.store.TickingClock;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;

/** A file in a test's directory, and time that the test moves. */
final class SqliteLab extends StoreLab {
    final Path file;
    final TickingClock clock;
    private SqliteStore store;

    SqliteLab(Path file, TickingClock clock) {
        this.file = file;
        this.clock = clock;
        this.store = new SqliteStore(SqliteConfig.of(file), clock);
        store.migrate();
    }

    SqliteLab(Path directory) {
        this(directory.resolve("waybill.db"), new TickingClock(Duration.ofMillis(1)));
    }

    @Override
    public Store store() {
        return store;
    }

    /** As after a crash: the old engine is gone, the file stays. */
    void reopen() {
        store.close();
        store = new SqliteStore(SqliteConfig.of(file), clock);
        store.migrate();
    }

    @Override
    public void expireLease(UUID node) {
        // Time passes for everybody: the other nodes must go on with their heartbeats.
        List<UUID> others = store.queries().nodes().stream()
                .map(view -> view.node())
                .filter(other -> !other.equals(node))
                .toList();
        store.queries().nodes().stream()
                .filter(view -> view.node().equals(node))
                .forEach(view -> clock.advanceTo(view.expiresAt()));
        others.forEach(other -> store.heartbeat(other, Duration.ofHours(1)));
    }

    @Override
    public Optional<Sql> sql() {
        return Optional.of(statement -> {
            try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file);
                    Statement jdbc = connection.createStatement()) {
                jdbc.execute(statement);
            }
        });
    }

    @Override
    public void close() {
        store.close();
    }
}
