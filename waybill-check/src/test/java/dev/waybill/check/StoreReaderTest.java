package dev.waybill.check;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.test.TestPostgres;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The same few rows in both stores' real schemas make the same dump. */
class StoreReaderTest {
    private static final String RUN = "11112222-3333-4000-8000-000000000001";
    private static final String OTHER = "11112222-3333-4000-8000-000000000002";

    @TempDir
    Path directory;

    /** The engine's migration, read as a file: this module knows no class of it. */
    private static String schema(String store) throws IOException {
        return Files.readString(Path.of("..", "waybill-engine", "src", "main", "resources", "dev", "waybill", "store", store, "001_core.sql"));
    }

    private static void execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate(sql);
        }
    }

    private static void fill(Connection connection, boolean postgres) throws SQLException {
        String run = postgres ? "'" + RUN + "'" : "x'" + RUN.replace("-", "") + "'";
        String other = postgres ? "'" + OTHER + "'" : "x'" + OTHER.replace("-", "") + "'";
        String at = postgres ? "'2026-11-30T12:00:00.000123Z'" : "1796040000000123";
        String yes = postgres ? "true" : "1";
        String no = postgres ? "false" : "0";
        String digest = postgres ? "'\\xabcd'" : "'abcd'";
        String bytes = postgres ? "'\\x7b7d'" : "x'7b7d'";
        execute(connection, "INSERT INTO nodes (id, name, started_at, expires_at, fenced" + (postgres ? "" : ", seen_at") + ") VALUES (" + other
                + ", 'n1', " + at + ", " + at + ", " + yes + (postgres ? "" : ", " + at) + ")");
        execute(connection, "INSERT INTO sequences (tenant_id, id, namespace, name, version, deprecated, created_at, definition) VALUES ('acme', "
                + other + ", 'default', 's', 1, " + no + ", " + at + ", '{}')");
        execute(connection, "INSERT INTO task_instances (tenant_id, id, state, priority, next_fire_at, claim_epoch, claim_nonce, wake_seq,"
                + " cancel_requested, pause_requested, takeovers, updated_at, reasons) VALUES ('acme', " + run + ", 'waiting', 1, NULL, 7, " + other
                + ", 3, " + yes + ", " + no + ", 0, " + at + ", '[]')");
        execute(connection, "INSERT INTO instance_data (tenant_id, instance_id, execution_id, sequence_id, namespace, dedup_key, created_at, context)"
                + " VALUES ('acme', " + run + ", " + other + ", " + other + ", 'default', 'k', " + at + ", '{\"data\":{}}')");
        execute(connection, "INSERT INTO effect_receipts (tenant_id, instance_id, path, attempt" + (postgres ? ", ordinal" : "")
                + ", id, execution_id, state, kind, handler, destination, destination_fingerprint, request_sha256, claim_epoch, claim_nonce,"
                + " node_id, transition_id, at, quiet_at, request) VALUES ('acme', " + run + ", 'charge', 0" + (postgres ? ", 0" : "") + ", " + other
                + ", " + other + ", 'dispatched', 'http', 'http_request', 'd', " + digest + ", " + digest + ", 7, " + other + ", " + other + ", "
                + other + ", " + at + ", " + at + ", '{}')");
        execute(connection, "INSERT INTO receipt_journal (tenant_id, instance_id, path, attempt, n, from_state, to_state, actor, claim_epoch,"
                + " claim_nonce, transition_id, at, counts_as_attempt, output_state, reply_status, reply_truncated, reply_body) VALUES ('acme', " + run
                + ", 'charge', 0, 1, 'dispatched', 'unknown', 'engine', 7, " + other + ", " + other + ", " + at + ", " + yes + ", 'none', 503, " + no
                + ", " + bytes + ")");
        execute(connection, "INSERT INTO block_outputs (tenant_id, instance_id, path, n, kind, due_in_millis, transition_id, at) VALUES ('acme', "
                + run + ", 'nap', 1, 'timer', 50, " + other + ", " + at + ")");
        execute(connection, "INSERT INTO effect_open (tenant_id, instance_id, path, attempt, id, state, at, since, kind, destination,"
                + " destination_fingerprint, request_sha256, claim_epoch) VALUES ('acme', " + run + ", 'charge', 0, " + other + ", 'unknown', " + at
                + ", " + at + ", 'http', 'd', " + digest + ", " + digest + ", 7)");
        execute(connection, "INSERT INTO effect_evidence (tenant_id, instance_id, path, attempt, transition_id, kind, actor, at, body) VALUES ('acme', "
                + run + ", 'charge', 0, " + other + ", 'note', 'operator:ann', " + at + ", '{}')");
        execute(connection, "INSERT INTO events (tenant_id, instance_id, type, at, payload) VALUES ('acme', " + run + ", 'effect.unknown', " + at + ", '{}')");
        execute(connection, "INSERT INTO dedup_keys (tenant_id, scope, key, instance_id, created_at) VALUES ('acme', 'run', 'k', " + run + ", " + at + ")");
        execute(connection, "CREATE TABLE claim_history (tenant_id text, instance_id " + (postgres ? "uuid" : "BLOB") + ", claim_epoch bigint, claim_nonce "
                + (postgres ? "uuid" : "BLOB") + ", claim_node " + (postgres ? "uuid" : "BLOB") + ", at " + (postgres ? "timestamptz" : "INTEGER") + ")");
        execute(connection, "INSERT INTO claim_history VALUES ('acme', " + run + ", 7, " + other + ", NULL, " + at + ")");
    }

    private Dump sqlite() throws IOException, SQLException {
        Path file = directory.resolve("store.db");
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file)) {
            execute(connection, schema("sqlite"));
            fill(connection, false);
        }
        return StoreReader.read("sqlite:" + file);
    }

    private static Dump postgres() throws IOException, SQLException {
        TestPostgres.Database database = TestPostgres.database();
        try {
            try (Connection connection = database.connect()) {
                execute(connection, schema("postgres"));
                fill(connection, true);
            }
            return StoreReader.read(database.waybillUrl());
        } finally {
            database.drop();
        }
    }

    @Test
    void bothStoresGiveTheSameDump() throws IOException, SQLException {
        Dump sqlite = sqlite();
        Dump postgres = postgres();
        for (String table : Dump.TABLES) {
            assertThat(postgres.raw(table)).as(table).hasSize(1);
            assertThat(postgres.raw(table)).as(table).isEqualTo(sqlite.raw(table));
        }
    }

    @Test
    void aDumpSaysWhatTheRowsSay() throws IOException, SQLException {
        Dump dump = sqlite();
        assertThat(dump.receipts.getFirst().at()).isEqualTo("2026-11-30T12:00:00.000123Z");
        assertThat(dump.receipts.getFirst().claimNonce()).isEqualTo(OTHER);
        assertThat(dump.runs.getFirst().cancelRequested()).isTrue();
        assertThat(dump.runs.getFirst().executionId()).isEqualTo(OTHER);
        assertThat(dump.journal.getFirst().reply()).isEqualTo(new byte[] {'{', '}'});
        assertThat(dump.journal.getFirst().replyStatus()).isEqualTo(503);
        assertThat(dump.blocks.getFirst().dueInMillis()).isEqualTo(50);
    }

    @Test
    void aDumpThatWasWrittenIsReadBackRowForRow() throws IOException, SQLException {
        Dump dump = sqlite();
        Path file = directory.resolve("dump.jsonl");
        dump.write(file);
        Dump again = Dump.read(file);
        assertThat(again.at).isEqualTo(dump.at);
        for (String table : Dump.TABLES) {
            assertThat(again.raw(table).toString()).isEqualTo(dump.raw(table).toString());
        }
        // A dump from a file and one from the store are compared row for row too.
        History history = new History(List.of(), List.of(again, dump), List.of(), List.of(), History.Settings.DEFAULT);
        Findings findings = new Findings();
        new AppendOnly().check(history, findings);
        assertThat(findings.violations()).isEmpty();
        assertThat(findings.lookedAt()).isPositive();
    }
}
