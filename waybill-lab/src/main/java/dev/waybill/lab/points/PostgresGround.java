package dev.waybill.lab.points;

import dev.waybill.store.Store;
import dev.waybill.store.postgres.PostgresStore;
import dev.waybill.test.TestPostgres;
import java.lang.reflect.Proxy;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.locks.LockSupport;
import javax.sql.DataSource;

/**
 * One database for all trials of a worker. When a machine dies, its connections with an open transaction are cut hard, which the server
 * rolls back; those between two transactions hold nothing that the server could lose and go on to the next machine, because opening
 * them anew costs more than a trial.
 */
final class PostgresGround implements Ground {
    private final TestPostgres.Database database;
    private final Path directory;
    private final InstantSource clock;
    private final Connection own;
    private final ConcurrentLinkedDeque<Connection> spare = new ConcurrentLinkedDeque<>();

    PostgresGround(TestPostgres.Database database, Path directory, InstantSource clock) throws SQLException {
        this.database = database;
        this.directory = directory;
        this.clock = clock;
        this.own = database.connect();
    }

    @Override
    public void begin() throws SQLException {
        try (Statement statement = own.createStatement()) {
            statement.execute("SELECT to_regclass('nodes')");
            try (ResultSet row = statement.getResultSet()) {
                row.next();
                if (row.getString(1) == null) {
                    return;
                }
            }
            statement.execute("UPDATE nodes SET fenced = true WHERE NOT fenced");
        }
    }

    @Override
    public Store open(Machine machine, Verbs verbs) {
        Set<Connection> raws = ConcurrentHashMap.newKeySet();
        TappedJdbc tapped = new TappedJdbc(machine, verbs, true);
        machine.onDeath(() -> raws.forEach(this::takeAway));
        return PostgresStore.over(source(machine, verbs, raws, tapped));
    }

    private DataSource source(Machine machine, Verbs verbs, Set<Connection> raws, TappedJdbc tapped) {
        return (DataSource) Proxy.newProxyInstance(
                PostgresGround.class.getClassLoader(), new Class<?>[] {DataSource.class}, (self, method, args) -> {
                    if (!method.getName().equals("getConnection")) {
                        throw new UnsupportedOperationException(method.getName());
                    }
                    String point = verbs.statement("CONNECT");
                    if (point != null && machine.at(point + ":before")) {
                        throw new SQLException("the lab refused the connection at " + point, "08001");
                    }
                    return machine.alive(() -> {
                        Connection raw = raw();
                        raws.add(raw);
                        return returning(machine, raws, raw, tapped.tap(raw));
                    });
                });
    }

    /** What the store closes is used again. */
    private Connection returning(Machine machine, Set<Connection> raws, Connection raw, Connection tapped) {
        return (Connection) Proxy.newProxyInstance(
                PostgresGround.class.getClassLoader(), new Class<?>[] {Connection.class}, (self, method, args) -> {
                    if (method.getName().equals("close")) {
                        if (!machine.isDead() && raws.remove(raw)) {
                            takeAway(raw);
                        }
                        return null;
                    }
                    try {
                        return method.invoke(tapped, args);
                    } catch (java.lang.reflect.InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    private Connection raw() throws SQLException {
        Connection raw = spare.pollFirst();
        return raw != null ? raw : database.connect();
    }

    private void takeAway(Connection raw) {
        try {
            if (raw.isClosed()) {
                return;
            }
            if (raw.getAutoCommit()) {
                spare.addFirst(raw);
            } else {
                raw.abort(Runnable::run);
            }
        } catch (SQLException e) {
            throw new IllegalStateException("a connection cannot be taken away", e);
        }
    }

    @Override
    public List<UUID> toFence(List<UUID> dead) {
        return dead;
    }

    @Override
    public void passTime(Instant until) {
        for (Instant now = clock.instant(); !now.isAfter(until); now = clock.instant()) {
            LockSupport.parkNanos(Math.min(Duration.between(now, until).toNanos() + 1_000_000, 50_000_000));
        }
    }

    @Override
    public InstantSource clock() {
        return clock;
    }

    @Override
    public String url() {
        return database.waybillUrl();
    }

    @Override
    public boolean fresh() {
        return false;
    }

    /** Over the ground's own connection: the store's would be opened for it. */
    @Override
    public boolean due(Store raw) throws SQLException {
        return left().due() > 0;
    }

    @Override
    public Left left() throws SQLException {
        return Lefts.read(own, "next_fire_at <= now()");
    }

    @Override
    public Path directory() {
        return directory;
    }

    @Override
    public void close() {
        try (own) {
            for (Connection raw = spare.pollFirst(); raw != null; raw = spare.pollFirst()) {
                raw.close();
            }
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
        database.drop();
    }
}
