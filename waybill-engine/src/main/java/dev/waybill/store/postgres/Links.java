package dev.waybill.store.postgres;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.ConcurrentLinkedDeque;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.postgresql.PGConnection;

/**
 * Dedicated connections for one purpose, opened when first needed and kept: a caller has one to itself while it works, at most
 * {@code limit} at a time. Kept apart from the pool, so that no reader can make a committer or a heartbeat wait.
 */
final class Links implements AutoCloseable {
    /**
     * Once for each connection, never afterwards. The batch statements may be planned while the tables are empty; without these a plan
     * that reads the whole table is as good as any then, and stays (measured: a fifth of the speed).
     */
    private static final String START_UP =
            """
            SELECT set_config('synchronous_commit',
                              CASE WHEN current_setting('synchronous_commit') IN ('off', 'local') THEN 'on'
                                   ELSE current_setting('synchronous_commit') END, false),
                   set_config('plan_cache_mode', 'force_generic_plan', false),
                   set_config('enable_seqscan', 'off', false),
                   set_config('enable_hashjoin', 'off', false),
                   set_config('enable_mergejoin', 'off', false),
                   set_config('jit', 'off', false)""";

    private static final String SHUT_DOWN =
            """
            RESET synchronous_commit; RESET plan_cache_mode; RESET enable_seqscan; RESET enable_hashjoin; RESET enable_mergejoin; RESET jit""";

    @FunctionalInterface
    interface Source {
        Connection open() throws SQLException;
    }

    private final Source source;
    private final Semaphore permits;
    private final Duration wait;
    private final Consumer<Connection> opened;
    private final ConcurrentLinkedDeque<Connection> idle = new ConcurrentLinkedDeque<>();
    private volatile boolean closed;

    Links(Source source, int limit, Duration wait) {
        this(source, limit, wait, connection -> {});
    }

    /** @param opened sees every new connection before it is used; what it throws reaches the taker, and the connection is closed */
    Links(Source source, int limit, Duration wait, Consumer<Connection> opened) {
        this.source = source;
        this.permits = new Semaphore(limit);
        this.wait = wait;
        this.opened = opened;
    }

    /** Hand it back with {@link #give} or {@link #drop}. */
    Connection take() throws SQLException {
        boolean permitted;
        try {
            permitted = permits.tryAcquire(wait.toMillis(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new SQLTransientConnectionException("interrupted while waiting for a connection", "08001", e);
        }
        if (!permitted) {
            throw new SQLTransientConnectionException("no connection became free in " + wait, "08001");
        }
        Connection kept = idle.pollFirst();
        if (kept != null) {
            return kept;
        }
        try {
            return open();
        } catch (SQLException | RuntimeException e) {
            permits.release();
            throw e;
        }
    }

    private Connection open() throws SQLException {
        Connection connection = source.open();
        try (Statement statement = connection.createStatement()) {
            connection.setAutoCommit(true);
            statement.execute(START_UP);
            PGConnection driver = connection.unwrap(PGConnection.class);
            if (driver.getPrepareThreshold() > 1) {
                driver.setPrepareThreshold(1);
            }
            opened.accept(connection);
            return connection;
        } catch (SQLException | RuntimeException e) {
            discard(connection);
            throw e;
        }
    }

    void give(Connection connection) {
        if (closed) {
            retire(connection);
        } else {
            idle.addFirst(connection);
        }
        permits.release();
    }

    /** The connection is broken; those that idle beside it most likely broke with it. */
    void drop(Connection connection) {
        discard(connection);
        permits.release();
        for (Connection kept = idle.pollFirst(); kept != null; kept = idle.pollFirst()) {
            discard(kept);
        }
    }

    private static void discard(Connection connection) {
        try {
            connection.close();
        } catch (SQLException e) {
            PostgresStore.LOG.debug("closing a broken connection", e);
        }
    }

    /** Leaves no setting of ours behind in a connection that may belong to the embedder's pool. */
    private static void retire(Connection connection) {
        try (connection;
                Statement statement = connection.createStatement()) {
            statement.execute(SHUT_DOWN);
        } catch (SQLException e) {
            PostgresStore.LOG.debug("closing a connection", e);
        }
    }

    @Override
    public void close() {
        closed = true;
        for (Connection kept = idle.pollFirst(); kept != null; kept = idle.pollFirst()) {
            retire(kept);
        }
    }
}
