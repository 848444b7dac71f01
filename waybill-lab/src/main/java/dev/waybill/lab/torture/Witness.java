package dev.waybill.lab.torture;

import dev.waybill.test.Delivery;
import java.nio.ByteBuffer;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The provider looks every receipt up in the engines' store, over a connection of its own and before it does anything: a request whose
 * receipt is not durably dispatched is the one thing that must never be seen (reliability.md S2).
 */
final class Witness implements AutoCloseable {
    static final String DATABASE_AWAY = "db_down";
    private static final long PATIENCE_MILLIS = 900;
    /** After a failure nobody waits for the next one. */
    private static final long PAUSE_NANOS = Duration.ofMillis(250).toNanos();
    private static final String LOOK =
            """
            SELECT r.state, (SELECT j.to_state FROM receipt_journal j
                              WHERE j.tenant_id = r.tenant_id AND j.instance_id = r.instance_id AND j.path = r.path AND j.attempt = r.attempt
                              ORDER BY j.n DESC LIMIT 1)
              FROM effect_receipts r WHERE r.tenant_id = 'default' AND r.id =\s""";

    private final String url;
    private final String user;
    private final String password;
    private final ReentrantLock turn = new ReentrantLock(true);
    private @Nullable Connection connection;
    private long failed = System.nanoTime() - PAUSE_NANOS;

    Witness(String url, String user, String password) {
        this.url = url;
        this.user = user;
        this.password = password;
    }

    /** @return the receipt's state, {@code absent}, or {@code db_down} when it could not be asked */
    String stateOf(Delivery delivery) {
        String receipt = delivery.effectId();
        if (receipt == null) {
            return "absent";
        }
        boolean mine = false;
        try {
            mine = turn.tryLock(PATIENCE_MILLIS, TimeUnit.MILLISECONDS);
            return mine && System.nanoTime() - failed >= PAUSE_NANOS ? look(UUID.fromString(receipt)) : DATABASE_AWAY;
        } catch (SQLException away) {
            failed = System.nanoTime();
            close();
            System.err.println("the engines' store cannot be asked: " + away.getMessage());
            return DATABASE_AWAY;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return DATABASE_AWAY;
        } finally {
            if (mine) {
                turn.unlock();
            }
        }
    }

    private String look(UUID receipt) throws SQLException {
        Connection open = connection;
        if (open == null) {
            open = DriverManager.getConnection(url, user, password);
            connection = open;
        }
        boolean sqlite = url.startsWith("jdbc:sqlite:");
        try (PreparedStatement statement = open.prepareStatement(LOOK + "?")) {
            if (sqlite) {
                statement.setBytes(1, ByteBuffer.allocate(16).putLong(receipt.getMostSignificantBits()).putLong(receipt.getLeastSignificantBits()).array());
            } else {
                statement.setObject(1, receipt);
            }
            try (ResultSet row = statement.executeQuery()) {
                if (!row.next()) {
                    return "absent";
                }
                String moved = row.getString(2);
                return moved == null ? row.getString(1) : moved;
            }
        }
    }

    @Override
    public void close() {
        Connection open = connection;
        connection = null;
        if (open != null) {
            try {
                open.close();
            } catch (SQLException alreadyGone) {
                failed = System.nanoTime();
            }
        }
    }
}
