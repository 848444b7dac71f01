package dev.waybill.check;

import java.net.URI;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Base64;
import java.util.HexFormat;
import java.util.List;
import java.util.Properties;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ObjectNode;

/**
 * Reads a store by SQL of its own, in one snapshot, over whichever JDBC driver is on the class path. What is wrong in the engine's
 * reading of its rows cannot be wrong here too.
 */
final class StoreReader {

    /**
     * @param columns of both stores, each {@code name:type}; types are text, int, id (UUID), time, flag, bytes, digest
     */
    private record Table(String name, String from, String columns, String order) {}

    private static final String EFFECT = "tenant_id:text instance_id:id path:text attempt:int ";

    private static final List<Table> TABLES = List.of(
            new Table(
                    "receipts", "effect_receipts",
                    EFFECT
                            + """
                            id:id execution_id:id state:text kind:text handler:text destination:text destination_fingerprint:digest \
                            idempotency_key:text request_sha256:digest claim_epoch:int claim_nonce:id node_id:id transition_id:id at:time \
                            quiet_at:time key_window_millis:int resend_of:id labels:text request:text""",
                    "tenant_id, instance_id, path, attempt"),
            new Table(
                    "journal", "receipt_journal",
                    EFFECT
                            + """
                            n:int from_state:text to_state:text actor:text claim_epoch:int claim_nonce:id transition_id:id at:time proof:text \
                            reason:text message:text provider_receipt_id:text retry_in_millis:int counts_as_attempt:flag output_state:text \
                            problem:text output:text reply_status:int reply_truncated:flag reply_headers:text reply_body:bytes""",
                    "tenant_id, instance_id, path, attempt, n"),
            new Table(
                    "block_outputs", "block_outputs",
                    "tenant_id:text instance_id:id path:text n:int kind:text due_in_millis:int transition_id:id at:time body:text",
                    "tenant_id, instance_id, path, n"),
            new Table(
                    "instances",
                    """
                    (SELECT i.*, d.execution_id, d.sequence_id, d.namespace, d.dedup_key, d.created_at, d.metadata, d.context
                       FROM task_instances i
                       JOIN instance_data d ON d.tenant_id = i.tenant_id AND d.instance_id = i.id) AS run""",
                    """
                    tenant_id:text id:id state:text priority:int next_fire_at:time claim_epoch:int claim_nonce:id claim_node:id \
                    wake_seq:int cancel_requested:flag pause_requested:flag takeovers:int updated_at:time reasons:text outcome:text \
                    execution_id:id sequence_id:id namespace:text dedup_key:text created_at:time metadata:text context:text""",
                    "tenant_id, id"),
            new Table(
                    "effect_open", "effect_open", EFFECT + "id:id state:text at:time since:time claim_epoch:int",
                    "tenant_id, instance_id, path, attempt"),
            new Table(
                    "evidence", "effect_evidence",
                    EFFECT + "seq:int transition_id:id kind:text actor:text at:time body:text bytes:bytes",
                    "tenant_id, instance_id, path, attempt, seq"),
            new Table("events", "events", "seq:int tenant_id:text instance_id:id type:text subject:text at:time payload:text", "seq"),
            new Table("nodes", "nodes", "id:id name:text started_at:time expires_at:time fenced:flag", "started_at, id"),
            new Table(
                    "sequences", "sequences",
                    "tenant_id:text id:id namespace:text name:text version:int created_at:time definition:text", "tenant_id, id"),
            new Table(
                    "dedup_keys", "dedup_keys", "tenant_id:text scope:text key:text instance_id:id payload_sha256:text created_at:time",
                    "tenant_id, scope, key"));

    /** Kept by a trigger of the lab, where it was installed. */
    private static final Table CLAIMS = new Table(
            "claims", "claim_history", "tenant_id:text instance_id:id claim_epoch:int claim_nonce:id claim_node:id at:time",
            "tenant_id, instance_id, claim_epoch");

    private final Connection connection;
    private final boolean postgres;

    private StoreReader(Connection connection, boolean postgres) {
        this.connection = connection;
        this.postgres = postgres;
    }

    /** @param url {@code sqlite:FILE}, {@code postgresql://USER[:PASS]@HOST:PORT/DB}, or a JDBC URL of either */
    static Dump read(String url) throws SQLException {
        boolean postgres = url.startsWith("postgres") || url.startsWith("jdbc:postgresql:");
        try (Connection connection = connect(url)) {
            connection.setAutoCommit(false);
            if (postgres) {
                connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
                connection.setReadOnly(true);
            }
            StoreReader reader = new StoreReader(connection, postgres);
            Dump dump = new Dump(reader.lines());
            connection.rollback();
            return dump;
        }
    }

    private static Connection connect(String url) throws SQLException {
        if (url.startsWith("jdbc:")) {
            return DriverManager.getConnection(url);
        }
        if (url.startsWith("sqlite:")) {
            // Read-only: a checker that could write would not be one.
            return DriverManager.getConnection("jdbc:sqlite:file:" + url.substring("sqlite:".length()) + "?mode=ro");
        }
        URI uri = URI.create(url);
        Properties login = new Properties();
        if (uri.getUserInfo() != null) {
            String[] parts = uri.getUserInfo().split(":", 2);
            login.setProperty("user", parts[0]);
            if (parts.length == 2) {
                login.setProperty("password", parts[1]);
            }
        }
        return DriverManager.getConnection("jdbc:postgresql://" + uri.getHost() + ":" + uri.getPort() + uri.getPath(), login);
    }

    private List<ObjectNode> lines() throws SQLException {
        List<ObjectNode> lines = new ArrayList<>();
        String now = postgres ? "SELECT clock_timestamp()" : "SELECT CAST(unixepoch('subsec') * 1000 AS INTEGER) * 1000";
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(now)) {
            row.next();
            lines.add(Json.MAPPER.createObjectNode()
                    .put("table", "dump")
                    .put("at", String.valueOf(time(row, 1)))
                    .put("store", postgres ? "postgresql" : "sqlite"));
        }
        for (Table table : TABLES) {
            read(table, lines);
        }
        if (exists(CLAIMS.from)) {
            read(CLAIMS, lines);
        }
        return lines;
    }

    private boolean exists(String table) throws SQLException {
        String sql = postgres
                ? "SELECT 1 WHERE to_regclass('" + table + "') IS NOT NULL"
                : "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = '" + table + "'";
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            return row.next();
        }
    }

    private void read(Table table, List<ObjectNode> lines) throws SQLException {
        String[] columns = table.columns.split(" ");
        StringBuilder names = new StringBuilder();
        for (String column : columns) {
            names.append(names.isEmpty() ? "" : ", ").append(column, 0, column.indexOf(':'));
        }
        String sql = "SELECT " + names + " FROM " + table.from + " ORDER BY " + table.order;
        try (Statement statement = connection.createStatement()) {
            statement.setFetchSize(1_000);
            try (ResultSet row = statement.executeQuery(sql)) {
                while (row.next()) {
                    ObjectNode line = Json.MAPPER.createObjectNode().put("table", table.name);
                    for (int i = 0; i < columns.length; i++) {
                        int colon = columns[i].indexOf(':');
                        put(line, columns[i].substring(0, colon), columns[i].substring(colon + 1), row, i + 1);
                    }
                    lines.add(line);
                }
            }
        }
    }

    private void put(ObjectNode line, String name, String type, ResultSet row, int index) throws SQLException {
        if (row.getObject(index) == null) {
            line.putNull(name);
            return;
        }
        switch (type) {
            case "text" -> line.put(name, row.getString(index));
            case "int" -> line.put(name, row.getLong(index));
            case "flag" -> line.put(name, row.getBoolean(index));
            case "id" -> line.put(name, id(row, index));
            case "time" -> line.put(name, String.valueOf(time(row, index)));
            case "bytes" -> line.put(name, Base64.getEncoder().encodeToString(row.getBytes(index)));
            case "digest" -> line.put(name, postgres ? HexFormat.of().formatHex(row.getBytes(index)) : row.getString(index));
            default -> throw new IllegalArgumentException("no column type " + type);
        }
    }

    private String id(ResultSet row, int index) throws SQLException {
        if (postgres) {
            return row.getString(index);
        }
        byte[] bytes = row.getBytes(index);
        var buffer = java.nio.ByteBuffer.wrap(bytes);
        return new UUID(buffer.getLong(), buffer.getLong()).toString();
    }

    private @Nullable Instant time(ResultSet row, int index) throws SQLException {
        if (postgres) {
            OffsetDateTime time = row.getObject(index, OffsetDateTime.class);
            return time == null ? null : time.toInstant();
        }
        long micros = row.getLong(index);
        return Instant.ofEpochSecond(Math.floorDiv(micros, 1_000_000L), Math.floorMod(micros, 1_000_000L) * 1_000);
    }
}
