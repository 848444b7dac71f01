package dev.waybill.store.sqlite;

import dev.waybill.model.Claim;
import dev.waybill.model.EffectKind;
import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.InstanceState;
import dev.waybill.model.Proof;
import dev.waybill.model.Reply;
import dev.waybill.store.BlockRow;
import dev.waybill.store.Event;
import dev.waybill.store.EvidenceRow;
import dev.waybill.store.InstanceRecord;
import dev.waybill.store.InstanceSnapshot;
import dev.waybill.store.JournalRow;
import dev.waybill.store.ReceiptRow;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.json.JsonMapper;

/** The rows that moves write and snapshots read, one statement text for each. */
final class Rows {
    private static final JsonMapper JSON = new JsonMapper();
    private static final TypeReference<Map<String, List<String>>> HEADERS = new TypeReference<>() {};
    /** A hundred years: what is later than that means never. */
    private static final long MAX_MILLIS = 100L * 366 * 24 * 3600 * 1000;

    private Rows() {}

    static long later(long now, long millis) {
        return now + Math.clamp(millis, -MAX_MILLIS, MAX_MILLIS) * 1_000;
    }

    static String lower(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT);
    }

    // --- receipts --------------------------------------------------------------------------------------------------------------

    static void insert(Db db, InstanceKey key, ReceiptRow row, long now) throws SQLException {
        db.sql("""
                        INSERT INTO effect_receipts (tenant_id, instance_id, path, attempt, id, execution_id, state, kind, handler,
                               destination, destination_fingerprint, idempotency_key, request_sha256, claim_epoch, claim_nonce, node_id,
                               transition_id, at, quiet_at, key_window_millis, resend_of, labels, request)
                        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""")
                .text(key.tenant())
                .uuid(key.id())
                .text(row.path())
                .number(row.attempt())
                .uuid(row.id())
                .uuid(row.execution())
                .text(row.prepared() ? "prepared" : "dispatched")
                .text(row.kind().wire())
                .text(row.handler())
                .text(row.destination())
                .text(row.destinationFingerprint())
                .text(row.idempotencyKey())
                .text(row.requestSha256())
                .number(row.claim().epoch())
                .uuid(row.claim().nonce())
                .uuid(row.node())
                .uuid(row.transitionId())
                .number(now)
                .number(later(now, row.quietInMillis()))
                .number(row.keyWindowMillis())
                .uuid(row.resendOf())
                .text(row.labels())
                .text(row.request())
                .update();
        if (row.prepared()) {
            open(db, key, row.path(), row.attempt(), "prepared", now);
        }
    }

    /** Columns of {@link #receipt}, from the alias r. */
    static final String RECEIPT_COLUMNS =
            """
            r.id, r.execution_id, r.path, r.attempt, r.state, r.kind, r.handler, r.destination, r.destination_fingerprint,
            r.idempotency_key, r.request_sha256, r.request, r.claim_epoch, r.claim_nonce, r.node_id, r.transition_id, r.quiet_at, r.at,
            r.key_window_millis, r.resend_of, r.labels""";

    static final int RECEIPT_WIDTH = 21;

    /**
     * {@code seq} of the receipt with this (tenant, id), newest thousands first; see the table's comment. CROSS JOIN pins the order.
     */
    static final String SEQ_BY_ID = search("effect_receipts", "e.seq", "", "e.id = ?");

    /** By (tenant, idempotency key). */
    static final String SEQ_BY_KEY = search("effect_receipts", "e.seq", "", "e.idempotency_key = ?");

    /** By (tenant, provider receipt id) of any move. */
    static final String SEQ_BY_PROVIDER_ID = search(
            "receipt_journal",
            "f.seq",
            " JOIN effect_receipts f ON (f.tenant_id, f.instance_id, f.path, f.attempt) = (e.tenant_id, e.instance_id, e.path, e.attempt)",
            "e.provider_receipt_id = ?");

    private static String search(String table, String result, String join, String condition) {
        return """
                WITH RECURSIVE block (n) AS (
                  SELECT max(seq) >> 12 FROM %1$s UNION ALL SELECT n - 1 FROM block WHERE n > 0)
                SELECT %2$s FROM block CROSS JOIN %1$s e%3$s
                 WHERE (e.seq >> 12) = block.n AND e.tenant_id = ? AND %4$s"""
                .formatted(table, result, join, condition);
    }

    static ReceiptRow receipt(ResultSet row) throws SQLException {
        long at = row.getLong(18);
        long quietAt = row.getLong(17);
        return new ReceiptRow(
                Db.uuid(row, 1),
                Db.uuid(row, 2),
                row.getString(3),
                row.getInt(4),
                row.getString(5).equals("prepared"),
                EffectKind.ofWire(row.getString(6)),
                row.getString(7),
                row.getString(8),
                row.getString(9),
                row.getString(10),
                row.getString(11),
                row.getString(12),
                new Claim(row.getLong(13), Db.uuid(row, 14)),
                Db.uuid(row, 15),
                Db.uuid(row, 16),
                (quietAt - at) / 1_000,
                Db.optionalLong(row, 19),
                Db.optionalUuid(row, 20),
                row.getString(21),
                Db.time(at),
                Db.time(quietAt));
    }

    // --- journal ---------------------------------------------------------------------------------------------------------------

    static void insert(Db db, InstanceKey key, JournalRow row, long now) throws SQLException {
        Claim claim = row.claim();
        Proof proof = row.proof();
        Reply reply = row.reply();
        db.sql("""
                        INSERT INTO receipt_journal (tenant_id, instance_id, path, attempt, n, from_state, to_state, actor, claim_epoch,
                               claim_nonce, transition_id, at, proof, reason, message, provider_receipt_id, retry_in_millis,
                               counts_as_attempt, output_state, problem, output, reply_status, reply_truncated, reply_headers, reply_body)
                        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""")
                .text(key.tenant())
                .uuid(key.id())
                .text(row.path())
                .number(row.attempt())
                .number(row.n())
                .text(row.from().wire())
                .text(row.to().wire())
                .text(row.actor())
                .number(claim == null ? null : claim.epoch())
                .uuid(claim == null ? null : claim.nonce())
                .uuid(row.transitionId())
                .number(now)
                .text(proof == null ? null : proof.wire())
                .text(row.reason())
                .text(row.message())
                .text(row.providerReceiptId())
                .number(row.retryInMillis())
                .flag(row.countsAsAttempt())
                .text(lower(row.outputState()))
                .text(row.problem())
                .text(row.output())
                .number(reply == null ? null : reply.status())
                .number(reply == null ? null : reply.truncated() ? 1 : 0)
                .text(reply == null || reply.headers().isEmpty() ? null : JSON.writeValueAsString(reply.headers()))
                .bytes(reply == null ? null : reply.body())
                .update();
        if (row.opens()) {
            open(db, key, row.path(), row.attempt(), row.to() == EffectState.UNKNOWN ? "unknown" : "output_lost", now);
        } else if (row.n() > 1 || row.from() != EffectState.DISPATCHED) {
            // The first move of a dispatched receipt: it was in no queue.
            db.sql("DELETE FROM effect_open WHERE tenant_id = ? AND instance_id = ? AND path = ? AND attempt = ?")
                    .text(key.tenant())
                    .uuid(key.id())
                    .text(row.path())
                    .number(row.attempt())
                    .update();
        }
    }

    private static void open(Db db, InstanceKey key, String path, int attempt, String state, long now) throws SQLException {
        db.sql("""
                        INSERT OR REPLACE INTO effect_open (tenant_id, instance_id, path, attempt, id, state, at, since, kind, destination,
                               destination_fingerprint, request_sha256, claim_epoch, labels)
                        SELECT tenant_id, instance_id, path, attempt, id, ?, at, ?, kind, destination, destination_fingerprint,
                               request_sha256, claim_epoch, labels
                          FROM effect_receipts
                         WHERE tenant_id = ? AND instance_id = ? AND path = ? AND attempt = ?""")
                .text(state)
                .number(now)
                .text(key.tenant())
                .uuid(key.id())
                .text(path)
                .number(attempt)
                .update();
    }

    /** Columns of {@link #journal}, from the alias j; a reply's body is left out. */
    static final String JOURNAL_COLUMNS =
            """
            j.path, j.attempt, j.n, j.from_state, j.to_state, j.actor, j.claim_epoch, j.claim_nonce, j.transition_id, j.proof, j.reason,
            j.message, j.provider_receipt_id, j.retry_in_millis, j.counts_as_attempt, j.reply_status, j.reply_headers, j.reply_truncated,
            j.output, j.output_state, j.problem, j.at""";

    private static final int JOURNAL_WIDTH = 22;

    static JournalRow journal(ResultSet row) throws SQLException {
        return journal(row, 0, null);
    }

    /** From {@link #JOURNAL_COLUMNS} and the body behind them. */
    static JournalRow journalWithBody(ResultSet row) throws SQLException {
        return journal(row, 0, row.getBytes(JOURNAL_WIDTH + 1));
    }

    /**
     * @param before how many columns stand before the row's
     */
    static JournalRow journal(ResultSet row, int before, byte @Nullable [] body) throws SQLException {
        UUID nonce = Db.optionalUuid(row, before + 8);
        String proof = row.getString(before + 10);
        Long status = Db.optionalLong(row, before + 16);
        return new JournalRow(
                row.getString(before + 1),
                row.getInt(before + 2),
                row.getInt(before + 3),
                EffectState.ofWire(row.getString(before + 4)),
                EffectState.ofWire(row.getString(before + 5)),
                row.getString(before + 6),
                nonce == null ? null : new Claim(row.getLong(before + 7), nonce),
                Db.uuid(row, before + 9),
                proof == null ? null : Proof.ofWire(proof),
                row.getString(before + 11),
                row.getString(before + 12),
                row.getString(before + 13),
                Db.optionalLong(row, before + 14),
                row.getInt(before + 15) == 1,
                status == null
                        ? null
                        : new Reply(status.intValue(), headers(row.getString(before + 17)), body, row.getInt(before + 18) == 1),
                row.getString(before + 19),
                JournalRow.OutputState.valueOf(row.getString(before + 20).toUpperCase(Locale.ROOT)),
                row.getString(before + 21),
                Db.time(row.getLong(before + 22)));
    }

    private static Map<String, List<String>> headers(@Nullable String json) {
        return json == null ? Map.of() : JSON.readValue(json, HEADERS);
    }

    // --- blocks, evidence, events ----------------------------------------------------------------------------------------------

    static void insert(Db db, InstanceKey key, BlockRow row, long now) throws SQLException {
        db.sql("""
                        INSERT INTO block_outputs (tenant_id, instance_id, path, n, kind, due_in_millis, transition_id, at, body)
                        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)""")
                .text(key.tenant())
                .uuid(key.id())
                .text(row.path())
                .number(row.n())
                .text(lower(row.kind()))
                .number(row.dueInMillis())
                .uuid(row.transitionId())
                .number(now)
                .text(row.body())
                .update();
    }

    static final String BLOCK_COLUMNS = "b.path, b.n, b.kind, b.body, b.due_in_millis, b.transition_id, b.at";

    static BlockRow block(ResultSet row) throws SQLException {
        return new BlockRow(
                row.getString(1),
                row.getInt(2),
                BlockRow.Kind.valueOf(row.getString(3).toUpperCase(Locale.ROOT)),
                row.getString(4),
                Db.optionalLong(row, 5),
                Db.uuid(row, 6),
                Db.time(row.getLong(7)));
    }

    static void insert(Db db, InstanceKey key, EvidenceRow row, UUID transition, long now) throws SQLException {
        db.sql("""
                        INSERT INTO effect_evidence (tenant_id, instance_id, path, attempt, transition_id, kind, actor, at, body, bytes)
                        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)""")
                .text(key.tenant())
                .uuid(key.id())
                .text(row.path())
                .number(row.attempt())
                .uuid(transition)
                .text(row.kind())
                .text(row.actor())
                .number(now)
                .text(row.body())
                .bytes(row.bytes())
                .update();
    }

    static void insert(Db db, InstanceKey key, List<Event> events, long now) throws SQLException {
        for (Event event : events) {
            db.sql("INSERT INTO events (tenant_id, instance_id, type, subject, at, payload) VALUES (?, ?, ?, ?, ?, ?)")
                    .text(key.tenant())
                    .uuid(key.id())
                    .text(event.type())
                    .text(event.subject())
                    .number(now)
                    .text(event.payload())
                    .update();
        }
    }

    // --- whose rows are these? -------------------------------------------------------------------------------------------------

    /** True when any of these rows is there and was written by this transition: the move is durable already. */
    static boolean wrote(Db db, InstanceKey key, UUID transition, List<JournalRow> journal, List<BlockRow> blocks, List<ReceiptRow> receipts)
            throws SQLException {
        for (JournalRow row : journal) {
            boolean ours = db.sql("""
                            SELECT 1 FROM receipt_journal
                             WHERE tenant_id = ? AND instance_id = ? AND path = ? AND attempt = ? AND n = ? AND transition_id = ?""")
                    .text(key.tenant())
                    .uuid(key.id())
                    .text(row.path())
                    .number(row.attempt())
                    .number(row.n())
                    .uuid(transition)
                    .exists();
            if (ours) {
                return true;
            }
        }
        for (BlockRow row : blocks) {
            boolean ours = db.sql("""
                            SELECT 1 FROM block_outputs
                             WHERE tenant_id = ? AND instance_id = ? AND path = ? AND n = ? AND transition_id = ?""")
                    .text(key.tenant())
                    .uuid(key.id())
                    .text(row.path())
                    .number(row.n())
                    .uuid(transition)
                    .exists();
            if (ours) {
                return true;
            }
        }
        for (ReceiptRow row : receipts) {
            if (wrote(db, key, transition, row)) {
                return true;
            }
        }
        return false;
    }

    static boolean wrote(Db db, InstanceKey key, UUID transition, ReceiptRow row) throws SQLException {
        return db.sql("""
                        SELECT 1 FROM effect_receipts
                         WHERE tenant_id = ? AND instance_id = ? AND path = ? AND attempt = ? AND transition_id = ?""")
                .text(key.tenant())
                .uuid(key.id())
                .text(row.path())
                .number(row.attempt())
                .uuid(transition)
                .exists();
    }

    // --- instances -------------------------------------------------------------------------------------------------------------

    /** Columns of {@link #instance}, from the aliases i and d. */
    static final String INSTANCE_COLUMNS =
            """
            i.tenant_id, i.id, d.execution_id, d.sequence_id, d.namespace, i.state, i.priority, i.next_fire_at, i.claim_epoch, i.claim_nonce,
            i.claim_node, i.wake_seq, i.cancel_requested, i.pause_requested, i.takeovers, i.reasons, i.outcome, d.context, d.metadata,
            d.dedup_key, d.created_at, i.updated_at""";

    static InstanceRecord instance(ResultSet row) throws SQLException {
        Long fireAt = Db.optionalLong(row, 8);
        return new InstanceRecord(
                new InstanceKey(row.getString(1), Db.uuid(row, 2)),
                Db.uuid(row, 3),
                Db.uuid(row, 4),
                row.getString(5),
                InstanceState.ofWire(row.getString(6)),
                row.getInt(7),
                fireAt == null ? null : Db.time(fireAt),
                new Claim(row.getLong(9), Db.uuid(row, 10)),
                Db.optionalUuid(row, 11),
                row.getLong(12),
                row.getInt(13) == 1,
                row.getInt(14) == 1,
                row.getInt(15),
                row.getString(16),
                row.getString(17),
                row.getString(18),
                row.getString(19),
                row.getString(20),
                Db.time(row.getLong(21)),
                Db.time(row.getLong(22)));
    }

    /**
     * Reads a whole instance; within one transaction it is one moment.
     *
     * @param justClaimed true in the transaction that claimed it
     */
    static Optional<InstanceSnapshot> snapshot(Db db, InstanceKey key, boolean justClaimed, long now) throws SQLException {
        Optional<InstanceRecord> instance = db.sql("SELECT " + INSTANCE_COLUMNS + """

                          FROM task_instances i JOIN instance_data d ON (d.tenant_id, d.instance_id) = (i.tenant_id, i.id)
                         WHERE i.tenant_id = ? AND i.id = ?""")
                .text(key.tenant())
                .uuid(key.id())
                .first(Rows::instance);
        if (instance.isEmpty()) {
            return Optional.empty();
        }
        if (justClaimed && instance.get().claim().epoch() == 1 && instance.get().wakeSeq() == 0) {
            // Nobody owned it before and nobody wrote from outside: there are no rows.
            return Optional.of(new InstanceSnapshot(instance.get(), List.of(), List.of(), List.of(), Db.time(now)));
        }
        List<ReceiptRow> receipts = db.sql("SELECT " + RECEIPT_COLUMNS + """

                          FROM effect_receipts r WHERE r.tenant_id = ? AND r.instance_id = ? ORDER BY r.seq""")
                .text(key.tenant())
                .uuid(key.id())
                .list(Rows::receipt);
        List<JournalRow> journal = db.sql("SELECT " + JOURNAL_COLUMNS + """

                          FROM receipt_journal j WHERE j.tenant_id = ? AND j.instance_id = ? ORDER BY j.path, j.attempt, j.n""")
                .text(key.tenant())
                .uuid(key.id())
                .list(Rows::journal);
        List<BlockRow> rows = db.sql("SELECT " + BLOCK_COLUMNS + """

                          FROM block_outputs b
                         WHERE b.tenant_id = ? AND b.instance_id = ?
                           AND b.n = (SELECT max(m.n) FROM block_outputs m
                                       WHERE (m.tenant_id, m.instance_id, m.path) = (b.tenant_id, b.instance_id, b.path))
                         ORDER BY b.path""")
                .text(key.tenant())
                .uuid(key.id())
                .list(Rows::block);
        return Optional.of(new InstanceSnapshot(instance.get(), receipts, journal, rows, Db.time(now)));
    }
}
