package dev.waybill.store.jdbc;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;

/**
 * Numbered SQL files, applied in order, each in a transaction of its own that also records it. A file that was applied is never
 * edited: a changed checksum stops the start. The lock is a statement inside the transaction, never session state, so that it works
 * behind a pooler and dies with its owner.
 *
 * @param anchor class whose package holds the files as resources
 * @param files  names such as {@code 001_core.sql}, in order; the number is the version
 * @param lock   statement that makes other runners wait until this transaction ends, or an empty string where opening the transaction
 *               does that already
 */
public record Migrations(Class<?> anchor, List<String> files, String lock) {
    private static final String TABLE =
            """
            CREATE TABLE IF NOT EXISTS waybill_migrations (
              version  int  NOT NULL PRIMARY KEY,
              name     text NOT NULL,
              checksum text NOT NULL
            )""";

    /**
     * Brings the schema up to the newest file.
     *
     * @throws IllegalStateException when the database holds a migration that this build does not know, or knows with another text
     */
    public void run(Connection connection) throws SQLException {
        createTable(connection);
        for (String file : files) {
            String text = text(file);
            inTransaction(connection, () -> {
                if (!applied(connection, file, text)) {
                    script(connection, text);
                    Sql.update(
                            connection,
                            "INSERT INTO waybill_migrations (version, name, checksum) VALUES (?, ?, ?)",
                            version(file),
                            file,
                            checksum(text));
                }
            });
        }
        refuseNewerSchema(connection);
    }

    /** Two processes that create the table at the same moment collide in the catalogue: the loser looks again. */
    private static void createTable(Connection connection) throws SQLException {
        try {
            execute(connection, TABLE);
        } catch (SQLException raced) {
            execute(connection, TABLE);
        }
    }

    private boolean applied(Connection connection, String file, String text) throws SQLException {
        List<String> known = Sql.query(
                connection, "SELECT checksum FROM waybill_migrations WHERE version = ?", row -> row.getString(1), version(file));
        if (!known.isEmpty() && !known.getFirst().equals(checksum(text))) {
            throw new IllegalStateException("migration " + file + " was applied with another text; restore the file of that release");
        }
        return !known.isEmpty();
    }

    private void refuseNewerSchema(Connection connection) throws SQLException {
        List<String> unknown = new ArrayList<>(
                Sql.query(connection, "SELECT name FROM waybill_migrations ORDER BY version", row -> row.getString(1)));
        unknown.removeAll(files);
        if (!unknown.isEmpty()) {
            throw new IllegalStateException("the schema is newer than this build: it has " + unknown + "; start a newer release");
        }
    }

    @FunctionalInterface
    private interface Work {
        void run() throws SQLException;
    }

    private void inTransaction(Connection connection, Work work) throws SQLException {
        connection.setAutoCommit(false);
        try {
            if (!lock.isEmpty()) {
                execute(connection, lock);
            }
            work.run();
            connection.commit();
        } catch (SQLException | RuntimeException e) {
            connection.rollback();
            throw e;
        } finally {
            connection.setAutoCommit(true);
        }
    }

    private static void execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    /** Some drivers (SQLite's) run only the first statement of a text unless it is an update. */
    private static void script(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate(sql);
        }
    }

    private static int version(String file) {
        return Integer.parseInt(file.substring(0, file.indexOf('_')));
    }

    private String text(String file) {
        try (InputStream in = anchor.getResourceAsStream(file)) {
            if (in == null) {
                throw new IllegalStateException("migration " + file + " is missing beside " + anchor.getName());
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static String checksum(String text) {
        try {
            return HexFormat.of().formatHex(MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8)));
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException("every Java platform has SHA-256", e);
        }
    }
}
