package dev.waybill.test;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * A PostgreSQL primary and a standby that follows it by streaming replication, through a proxy of its own. With a synchronous standby a
 * commit that was acknowledged is on both machines, also right after a failover: the promoted server acknowledges nothing until its own
 * standby is there. Verbs are for one thread at a time.
 */
public final class PostgresPair implements AutoCloseable {
    private static final String NAME = "follower";
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    /** A follower that is restarted or cut off for seconds finds its WAL here and needs no new copy. */
    private static final Map<String, String> SETTINGS = Map.of(
            "wal_keep_size", "96MB", "max_wal_size", "160MB", "wal_retrieve_retry_interval", "200ms", "wal_sender_timeout", "5s",
            "wal_receiver_timeout", "5s");

    private final boolean synchronous;
    private final FaultProxy replication;
    private volatile TestPostgres.Server primary;
    private volatile TestPostgres.@Nullable Server standby;

    private PostgresPair(TestPostgres.Server primary, boolean synchronous) {
        this.primary = primary;
        this.synchronous = synchronous;
        this.replication = FaultProxy.to("127.0.0.1", primary.port());
    }

    /**
     * Both started; returns when the standby follows.
     *
     * @param synchronous   commits wait until the standby has them on its disk
     * @param diskMebibytes each server's files are on a {@link SmallDisk} of that size; 0 = where everything is
     */
    public static PostgresPair start(boolean synchronous, int diskMebibytes) {
        Map<String, String> settings = new HashMap<>(SETTINGS);
        var primary = diskMebibytes == 0 ? TestPostgres.server(settings) : TestPostgres.serverOnSmallDisk(settings, diskMebibytes);
        primary.start();
        var pair = new PostgresPair(primary, synchronous);
        if (synchronous) {
            // Written before the copy is made, so that a promoted standby waits for its own; loaded once there is one to wait for.
            pair.execute("ALTER SYSTEM SET synchronous_standby_names = '" + NAME + "'");
        }
        pair.attach();
        if (synchronous) {
            pair.execute("SELECT pg_reload_conf()");
            pair.awaitFollower();
        }
        return pair;
    }

    public TestPostgres.Server primary() {
        return primary;
    }

    public TestPostgres.@Nullable Server standby() {
        return standby;
    }

    /** The link by which the standby follows. */
    public FaultProxy replication() {
        return replication;
    }

    /** Whether the standby is connected and, where it is to be synchronous, counts. */
    public boolean follows() {
        try (Connection connection = primary.maintenance().connect();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(
                        "SELECT state, sync_state FROM pg_stat_replication WHERE application_name = '" + NAME + "'")) {
            return row.next()
                    && row.getString(1).equals("streaming")
                    && (!synchronous || !row.getString(2).equals("async") || !isSynchronousYet(connection));
        } catch (SQLException primaryAway) {
            return false;
        }
    }

    private static boolean isSynchronousYet(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SHOW synchronous_standby_names")) {
            row.next();
            return !row.getString(1).isEmpty();
        }
    }

    /** Makes a standby from the primary's files when there is none, or in place of one that no longer follows. */
    public void attach() {
        var old = standby;
        if (old != null) {
            old.close();
        }
        try {
            var fresh = primary.follower(NAME, replication.port());
            standby = fresh;
            fresh.start();
        } catch (SQLException e) {
            throw new IllegalStateException("no copy of the primary: " + e.getMessage(), e);
        }
        awaitFollower();
    }

    private void awaitFollower() {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (!follows()) {
            if (System.nanoTime() > deadline) {
                throw new IllegalStateException("the standby does not follow:\n" + (standby == null ? "" : standby.log()));
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(50));
        }
    }

    /**
     * The primary is killed and never seen again, the standby is promoted.
     *
     * @return the new primary, which has no standby yet: {@link #attach} one
     */
    public TestPostgres.Server failOver() {
        TestPostgres.Server dead = primary;
        dead.kill();
        TestPostgres.Server promoted = promote();
        dead.close();
        return promoted;
    }

    /**
     * The primary is frozen and the standby promoted beside it; nobody tells the primary.
     *
     * @return the old primary, still frozen, with whoever is connected to it; the caller thaws and closes it
     */
    public TestPostgres.Server failOverFrozen() {
        TestPostgres.Server zombie = primary;
        zombie.freeze();
        promote();
        return zombie;
    }

    private TestPostgres.Server promote() {
        var promoted = standby;
        if (promoted == null) {
            throw new IllegalStateException("there is no standby");
        }
        try (Connection connection = promoted.maintenance().connect();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT pg_promote(true, 60)")) {
            if (!row.next() || !row.getBoolean(1)) {
                throw new IllegalStateException("the standby was not promoted");
            }
        } catch (SQLException e) {
            throw new IllegalStateException("the standby was not promoted: " + e.getMessage() + "\n" + promoted.log(), e);
        }
        primary = promoted;
        standby = null;
        replication.retarget("127.0.0.1", promoted.port());
        return promoted;
    }

    private void execute(String sql) {
        try (Connection connection = primary.maintenance().connect();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        } catch (SQLException e) {
            throw new IllegalStateException(sql + ": " + e.getMessage(), e);
        }
    }

    @Override
    public void close() {
        replication.close();
        var last = standby;
        if (last != null) {
            last.close();
        }
        primary.close();
    }
}
