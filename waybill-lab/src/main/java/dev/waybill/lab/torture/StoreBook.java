package dev.waybill.lab.torture;

import java.nio.ByteBuffer;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** What the store holds in the end, read with SQL of its own. */
record StoreBook(Map<String, Run> runs, Map<String, Receipt> receipts, Map<String, Integer> evidence) {

    /** @param reasons the JSON of what a waiting run waits for */
    record Run(String id, String state, @Nullable String reasons, int takeovers) {
        boolean terminal() {
            return state.equals("completed") || state.equals("failed") || state.equals("cancelled");
        }

        boolean namedWait() {
            return (state.equals("waiting") || state.equals("paused")) && reasons != null && reasons.contains("\"reason\"");
        }
    }

    /** @param resend sent again under the key of the one before it */
    record Receipt(String id, String run, String path, int attempt, boolean resend, Instant at, List<Move> moves) {
        String state() {
            return moves.isEmpty() ? "dispatched" : moves.getLast().to();
        }

        boolean was(String state) {
            return moves.stream().anyMatch(move -> move.to().equals(state));
        }

        /** The effect: all attempts of one position in one run. */
        String effect() {
            return run + " " + path;
        }
    }

    record Move(int n, String from, String to, String actor, @Nullable String reason, @Nullable String proof, Instant at) {}

    static StoreBook read(Connection connection) throws SQLException {
        Map<String, Receipt> receipts = new TreeMap<>();
        Map<String, Receipt> byPlace = new HashMap<>();
        Map<String, Integer> evidence = new TreeMap<>();
        each(connection, "SELECT id, instance_id, path, attempt, at, resend_of FROM effect_receipts", row -> {
            Receipt receipt = new Receipt(
                    id(row, 1), id(row, 2), row.getString(3), row.getInt(4), row.getObject(6) != null, time(row, 5), new ArrayList<>());
            receipts.put(receipt.id(), receipt);
            byPlace.put(receipt.effect() + "#" + receipt.attempt(), receipt);
        });
        each(
                connection,
                "SELECT instance_id, path, attempt, n, from_state, to_state, actor, reason, proof, at FROM receipt_journal"
                        + " ORDER BY instance_id, path, attempt, n",
                row -> {
                    Receipt receipt = byPlace.get(id(row, 1) + " " + row.getString(2) + "#" + row.getInt(3));
                    if (receipt != null) {
                        receipt.moves().add(new Move(
                                row.getInt(4), row.getString(5), row.getString(6), row.getString(7), row.getString(8), row.getString(9),
                                time(row, 10)));
                    }
                });
        each(connection, "SELECT kind FROM effect_evidence", row -> evidence.merge(row.getString(1), 1, Integer::sum));
        return new StoreBook(runs(connection), receipts, evidence);
    }

    static Map<String, Run> runs(Connection connection) throws SQLException {
        Map<String, Run> runs = new TreeMap<>();
        each(connection, "SELECT id, state, reasons, takeovers FROM task_instances", row -> {
            Run run = new Run(id(row, 1), row.getString(2), row.getString(3), row.getInt(4));
            runs.put(run.id(), run);
        });
        return runs;
    }

    @FunctionalInterface
    private interface Row {
        void read(ResultSet row) throws SQLException;
    }

    private static void each(Connection connection, String sql, Row reader) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(sql)) {
            while (rows.next()) {
                reader.read(rows);
            }
        }
    }

    /** SQLite keeps 16 bytes, PostgreSQL a uuid. */
    private static String id(ResultSet row, int column) throws SQLException {
        Object id = row.getObject(column);
        if (id instanceof byte[] bytes) {
            ByteBuffer both = ByteBuffer.wrap(bytes);
            return new UUID(both.getLong(), both.getLong()).toString();
        }
        return id.toString();
    }

    /** SQLite keeps microseconds. */
    private static Instant time(ResultSet row, int column) throws SQLException {
        Object at = row.getObject(column);
        return at instanceof Number micros
                ? Instant.EPOCH.plus(micros.longValue(), java.time.temporal.ChronoUnit.MICROS)
                : row.getObject(column, OffsetDateTime.class).toInstant();
    }
}
