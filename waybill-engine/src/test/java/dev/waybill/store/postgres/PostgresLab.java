package dev.waybill.store.postgres;

import dev.waybill.store.Store;
import dev.waybill.store.StoreLab;
import dev.waybill.test.TestPostgres;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Optional;
import java.util.UUID;

/** A fresh database of the shared server; its role owns it and is no superuser. */
final class PostgresLab extends StoreLab {
    final TestPostgres.Database database = TestPostgres.database();
    private final PostgresStore store = PostgresStore.open(config());
    private PostgresStore other;

    PostgresLab() {
        store.migrate();
    }

    PostgresConfig config() {
        return PostgresConfig.of(database.jdbcUrl(), database.user(), database.password());
    }

    @Override
    public PostgresStore store() {
        return store;
    }

    @Override
    public Store other() {
        if (other == null) {
            other = PostgresStore.over(database.dataSource());
        }
        return other;
    }

    @Override
    public void expireLease(UUID node) {
        execute("UPDATE nodes SET expires_at = now() - interval '1 second' WHERE id = '" + node + "'");
    }

    @Override
    public Optional<Sql> sql() {
        return Optional.of(this::run);
    }

    void execute(String statement) {
        try {
            run(statement);
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    void run(String statement) throws SQLException {
        try (Connection connection = database.connect();
                Statement jdbc = connection.createStatement()) {
            jdbc.execute(statement);
        }
    }

    String ask(String query) {
        try (Connection connection = database.connect();
                Statement jdbc = connection.createStatement();
                var row = jdbc.executeQuery(query)) {
            row.next();
            return row.getString(1);
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() {
        store.close();
        if (other != null) {
            other.close();
        }
        database.drop();
    }
}
