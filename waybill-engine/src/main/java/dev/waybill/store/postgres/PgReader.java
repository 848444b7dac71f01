package dev.waybill.store.postgres;

import static dev.waybill.store.postgres.Columns.Type.TEXT;
import static dev.waybill.store.postgres.Columns.Type.UUID;

import dev.waybill.model.Claim;
import dev.waybill.model.EffectKind;
import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.InstanceState;
import dev.waybill.model.Proof;
import dev.waybill.model.Reply;
import dev.waybill.store.BlockRow;
import dev.waybill.store.InstanceRecord;
import dev.waybill.store.InstanceSnapshot;
import dev.waybill.store.JournalRow;
import dev.waybill.store.ReceiptRow;
import dev.waybill.store.jdbc.Sql.RowMapper;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/** Rows back into values, and the snapshots of many instances in four set queries. */
final class PgReader {
    private PgReader() {}

    // --- instances -------------------------------------------------------------------------------------------------------------

    static final String INSTANCE =
            """
            i.tenant_id, i.id, d.execution_id, d.sequence_id, d.namespace, i.state, i.priority, i.next_fire_at, i.claim_epoch,
            i.claim_nonce, i.claim_node, i.wake_seq, i.cancel_requested, i.pause_requested, i.takeovers, i.reasons, i.outcome,
            d.context, d.metadata, d.dedup_key, d.created_at, i.updated_at""";

    static InstanceRecord instance(ResultSet row) throws SQLException {
        return new InstanceRecord(
                new InstanceKey(row.getString("tenant_id"), uuid(row, "id")),
                uuid(row, "execution_id"),
                uuid(row, "sequence_id"),
                row.getString("namespace"),
                InstanceState.ofWire(row.getString("state")),
                row.getInt("priority"),
                instantOrNull(row, "next_fire_at"),
                new Claim(row.getLong("claim_epoch"), uuid(row, "claim_nonce")),
                row.getObject("claim_node", UUID.class),
                row.getLong("wake_seq"),
                row.getBoolean("cancel_requested"),
                row.getBoolean("pause_requested"),
                row.getInt("takeovers"),
                row.getString("reasons"),
                row.getString("outcome"),
                row.getString("context"),
                row.getString("metadata"),
                row.getString("dedup_key"),
                instant(row, "created_at"),
                instant(row, "updated_at"));
    }

    // --- receipts --------------------------------------------------------------------------------------------------------------

    static final String RECEIPT =
            """
            r.tenant_id, r.instance_id, r.path, r.attempt, r.id, r.execution_id, r.state, r.kind, r.handler, r.destination,
            r.destination_fingerprint, r.idempotency_key, r.request_sha256, r.request, r.claim_epoch, r.claim_nonce, r.node_id,
            r.transition_id, r.at, r.quiet_at, r.key_window_millis, r.resend_of, r.labels""";

    static ReceiptRow receipt(ResultSet row) throws SQLException {
        Instant at = instant(row, "at");
        Instant quietAt = instant(row, "quiet_at");
        return new ReceiptRow(
                uuid(row, "id"),
                uuid(row, "execution_id"),
                row.getString("path"),
                row.getInt("attempt"),
                row.getString("state").equals("prepared"),
                EffectKind.ofWire(row.getString("kind")),
                row.getString("handler"),
                row.getString("destination"),
                Rows.digestText(row.getBytes("destination_fingerprint")),
                row.getString("idempotency_key"),
                Rows.digestText(row.getBytes("request_sha256")),
                row.getString("request"),
                new Claim(row.getLong("claim_epoch"), uuid(row, "claim_nonce")),
                uuid(row, "node_id"),
                uuid(row, "transition_id"),
                Duration.between(at, quietAt).toMillis(),
                row.getObject("key_window_millis", Long.class),
                row.getObject("resend_of", UUID.class),
                row.getString("labels"),
                at,
                quietAt);
    }

    // --- the journal -----------------------------------------------------------------------------------------------------------

    /** Column list with a prefix for each name, so that it can stand beside a receipt's; the body is a column or {@code NULL}. */
    static String journal(String alias, String prefix, boolean withBodies) {
        StringBuilder list = new StringBuilder();
        for (String column : JOURNAL_COLUMNS) {
            list.append(alias).append('.').append(column).append(" AS ").append(prefix).append(column).append(", ");
        }
        return list + (withBodies ? alias + ".reply_body" : "NULL::bytea") + " AS " + prefix + "reply_body";
    }

    private static final List<String> JOURNAL_COLUMNS = List.of(
            "path", "attempt", "n", "from_state", "to_state", "actor", "claim_epoch", "claim_nonce", "transition_id", "proof", "reason",
            "message", "provider_receipt_id", "retry_in_millis", "counts_as_attempt", "reply_status", "reply_headers", "reply_truncated",
            "output", "output_state", "problem", "at");

    static JournalRow journal(ResultSet row, String prefix) throws SQLException {
        UUID nonce = row.getObject(prefix + "claim_nonce", UUID.class);
        String proof = row.getString(prefix + "proof");
        Integer status = row.getObject(prefix + "reply_status", Integer.class);
        return new JournalRow(
                row.getString(prefix + "path"),
                row.getInt(prefix + "attempt"),
                row.getInt(prefix + "n"),
                EffectState.ofWire(row.getString(prefix + "from_state")),
                EffectState.ofWire(row.getString(prefix + "to_state")),
                row.getString(prefix + "actor"),
                nonce == null ? null : new Claim(row.getLong(prefix + "claim_epoch"), nonce),
                uuid(row, prefix + "transition_id"),
                proof == null ? null : Proof.ofWire(proof),
                row.getString(prefix + "reason"),
                row.getString(prefix + "message"),
                row.getString(prefix + "provider_receipt_id"),
                row.getObject(prefix + "retry_in_millis", Long.class),
                row.getBoolean(prefix + "counts_as_attempt"),
                status == null
                        ? null
                        : new Reply(
                                status,
                                Rows.headers(row.getString(prefix + "reply_headers")),
                                row.getBytes(prefix + "reply_body"),
                                row.getBoolean(prefix + "reply_truncated")),
                row.getString(prefix + "output"),
                upper(JournalRow.OutputState.class, row.getString(prefix + "output_state")),
                row.getString(prefix + "problem"),
                instant(row, prefix + "at"));
    }

    static BlockRow block(ResultSet row) throws SQLException {
        return new BlockRow(
                row.getString("path"),
                row.getInt("n"),
                upper(BlockRow.Kind.class, row.getString("kind")),
                row.getString("body"),
                row.getObject("due_in_millis", Long.class),
                uuid(row, "transition_id"),
                instant(row, "at"));
    }

    // --- snapshots -------------------------------------------------------------------------------------------------------------

    private static final Columns.Shape KEYS = new Columns.Shape().with(TEXT, "tenant_id").with(UUID, "instance_id");

    private static final String LOAD_JOURNAL =
            "SELECT j.tenant_id, j.instance_id, " + journal("j", "", false) + " FROM " + KEYS.from("k")
                    + " JOIN receipt_journal j USING (tenant_id, instance_id)"
                    + " ORDER BY j.tenant_id, j.instance_id, j.path, j.attempt, j.n";

    private static final String LOAD_BLOCKS =
            "SELECT DISTINCT ON (b.tenant_id, b.instance_id, b.path) b.* FROM " + KEYS.from("k")
                    + " JOIN block_outputs b USING (tenant_id, instance_id)"
                    + " ORDER BY b.tenant_id, b.instance_id, b.path, b.n DESC";

    private static final String LOAD_RECEIPTS =
            "SELECT " + RECEIPT + " FROM " + KEYS.from("k")
                    + " JOIN effect_receipts r USING (tenant_id, instance_id)"
                    + " ORDER BY r.tenant_id, r.instance_id, r.at, r.ordinal";

    /**
     * The instances with all their rows. The instance rows were read before, and receipts are read last: whatever is newer than the
     * instance row has raised its wake_seq or needed the claim, and no journal row is ever without its receipt.
     */
    static List<InstanceSnapshot> snapshots(
            Connection connection, List<InstanceRecord> instances, Predicate<InstanceRecord> hasHistory, Instant databaseNow)
            throws SQLException {
        Columns keys = new Columns(KEYS);
        instances.stream().filter(hasHistory).forEach(it -> keys.add(it.key().tenant(), it.key().id()));
        Map<InstanceKey, List<JournalRow>> journal = Map.of();
        Map<InstanceKey, List<BlockRow>> blocks = Map.of();
        Map<InstanceKey, List<ReceiptRow>> receipts = Map.of();
        if (!keys.isEmpty()) {
            journal = grouped(connection, LOAD_JOURNAL, keys, row -> journal(row, ""));
            blocks = grouped(connection, LOAD_BLOCKS, keys, PgReader::block);
            receipts = grouped(connection, LOAD_RECEIPTS, keys, PgReader::receipt);
        }
        List<InstanceSnapshot> snapshots = new ArrayList<>(instances.size());
        for (InstanceRecord instance : instances) {
            InstanceKey key = instance.key();
            snapshots.add(new InstanceSnapshot(
                    instance,
                    receipts.getOrDefault(key, List.of()),
                    journal.getOrDefault(key, List.of()),
                    blocks.getOrDefault(key, List.of()),
                    databaseNow));
        }
        return snapshots;
    }

    private static <T> Map<InstanceKey, List<T>> grouped(
            Connection connection, String sql, Columns keys, RowMapper<T> mapper) throws SQLException {
        Map<InstanceKey, List<T>> result = new HashMap<>();
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            keys.bind(statement, 1);
            try (ResultSet row = statement.executeQuery()) {
                while (row.next()) {
                    InstanceKey key = new InstanceKey(row.getString("tenant_id"), uuid(row, "instance_id"));
                    result.computeIfAbsent(key, any -> new ArrayList<>()).add(mapper.map(row));
                }
            }
        }
        return result;
    }

    // --- scalars ---------------------------------------------------------------------------------------------------------------

    static UUID uuid(ResultSet row, String column) throws SQLException {
        return Objects.requireNonNull(row.getObject(column, UUID.class), column);
    }

    static Instant instant(ResultSet row, String column) throws SQLException {
        return Objects.requireNonNull(instantOrNull(row, column), column);
    }

    static @Nullable Instant instantOrNull(ResultSet row, String column) throws SQLException {
        OffsetDateTime time = row.getObject(column, OffsetDateTime.class);
        return time == null ? null : time.toInstant();
    }

    static <E extends Enum<E>> E upper(Class<E> type, String wire) {
        return Enum.valueOf(type, wire.toUpperCase(Locale.ROOT));
    }
}
