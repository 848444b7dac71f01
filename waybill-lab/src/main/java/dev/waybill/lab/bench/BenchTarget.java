package dev.waybill.lab.bench;

import dev.waybill.store.Store;
import dev.waybill.store.postgres.PostgresStore;
import dev.waybill.store.sqlite.SqliteConfig;
import dev.waybill.store.sqlite.SqliteStore;
import dev.waybill.test.TestPostgres;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.jspecify.annotations.Nullable;

/** The database under test. {@code temporary-postgres} starts an own one with its defaults (fsync on) and throws it away. */
final class BenchTarget implements AutoCloseable {
    static final String TEMPORARY_POSTGRES = "temporary-postgres";
    static final String TEMPORARY_SQLITE = "temporary-sqlite";

    private final String url;
    private final TestPostgres.@Nullable Database temporary;
    private final Path directory;

    BenchTarget(String store) {
        try {
            this.directory = Files.createTempDirectory("waybill-bench");
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        this.temporary = store.equals(TEMPORARY_POSTGRES) ? TestPostgres.database() : null;
        this.url = temporary != null
                ? temporary.waybillUrl()
                : store.equals(TEMPORARY_SQLITE) ? "sqlite:" + directory.resolve("bench.db") : store;
    }

    boolean sqlite() {
        return url.startsWith("sqlite:");
    }

    Store open() {
        return sqlite() ? new SqliteStore(SqliteConfig.of(file()), BenchRound.CLOCK) : PostgresStore.open(url);
    }

    Path recorderFolder() {
        return directory.resolve("flight");
    }

    SeedProtocolStore seed(Store real) {
        return new SeedProtocolStore(real, jdbcUrl(), user(), password(), BenchRound.CLOCK, sqlite());
    }

    private Path file() {
        return Path.of(url.substring("sqlite:".length()));
    }

    private String jdbcUrl() {
        if (sqlite()) {
            return "jdbc:sqlite:" + file();
        }
        URI uri = URI.create(url);
        return "jdbc:postgresql://" + uri.getHost() + ":" + (uri.getPort() < 0 ? 5432 : uri.getPort()) + uri.getPath();
    }

    private String user() {
        return sqlite() ? "" : URI.create(url).getUserInfo().split(":", 2)[0];
    }

    private String password() {
        if (sqlite()) {
            return "";
        }
        String[] parts = URI.create(url).getUserInfo().split(":", 2);
        return parts.length < 2 ? "" : parts[1];
    }

    Connection connect() throws SQLException {
        return DriverManager.getConnection(jdbcUrl(), user(), password());
    }

    private long number(String sql) {
        try (Connection connection = connect();
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(sql)) {
            rows.next();
            return rows.getLong(1);
        } catch (SQLException e) {
            throw new IllegalStateException(sql, e);
        }
    }

    long receipts(boolean seed) {
        return number("SELECT count(*) FROM " + (seed ? "seed_receipts" : "effect_receipts"));
    }

    /** Bytes of WAL ever written; 0 on SQLite. */
    long wal() {
        return sqlite() ? 0 : number("SELECT (pg_current_wal_lsn() - '0/0'::pg_lsn)::bigint");
    }

    @Override
    public void close() {
        if (temporary != null) {
            temporary.drop();
        }
        try (var files = Files.walk(directory)) {
            files.sorted(java.util.Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
