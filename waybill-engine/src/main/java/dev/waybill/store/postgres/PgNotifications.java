package dev.waybill.store.postgres;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;

/**
 * Hints by LISTEN on a connection of their own, started with the first listener. Behind a pooler that cannot LISTEN, or while the
 * connection is being renewed, hints are missing and polling goes on: nothing depends on them.
 */
final class PgNotifications implements AutoCloseable {
    private static final int POLL_MILLIS = 1_000;
    private static final long RECONNECT_MILLIS = 1_000;
    private final Links.Source source;
    private final List<Runnable> listeners = new CopyOnWriteArrayList<>();
    private final CountDownLatch closing = new CountDownLatch(1);
    private @Nullable Thread thread;

    PgNotifications(Links.Source source) {
        this.source = source;
    }

    synchronized void add(Runnable listener) {
        listeners.add(listener);
        if (thread == null && closing.getCount() > 0) {
            thread = Thread.ofPlatform().daemon().name("waybill-notifications").start(this::listen);
        }
    }

    private void listen() {
        while (closing.getCount() > 0) {
            try (Connection connection = source.open()) {
                try (Statement statement = connection.createStatement()) {
                    statement.execute("LISTEN " + PostgresStore.CHANNEL);
                }
                // What was said before we listened went by unheard.
                tell();
                PGConnection driver = connection.unwrap(PGConnection.class);
                while (closing.getCount() > 0) {
                    PGNotification[] heard = driver.getNotifications(POLL_MILLIS);
                    if (heard != null && heard.length > 0) {
                        tell();
                    }
                }
                try (Statement statement = connection.createStatement()) {
                    statement.execute("UNLISTEN *");
                }
            } catch (SQLException e) {
                PostgresStore.LOG.debug("no notifications for a while", e);
                pause();
            }
        }
    }

    private void tell() {
        listeners.forEach(Runnable::run);
    }

    private void pause() {
        try {
            closing.await(RECONNECT_MILLIS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            closing.countDown();
        }
    }

    @Override
    public void close() {
        closing.countDown();
    }
}
