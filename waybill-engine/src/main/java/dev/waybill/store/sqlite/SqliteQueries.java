package dev.waybill.store.sqlite;

import dev.waybill.store.InvariantRows;
import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.InstanceState;
import dev.waybill.store.AuditRow;
import dev.waybill.store.BlockRow;
import dev.waybill.store.EvidenceRow;
import dev.waybill.store.InstanceRecord;
import dev.waybill.store.JournalRow;
import dev.waybill.store.Queries;
import dev.waybill.store.ReceiptRow;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.util.Collections;
import java.util.EnumSet;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

final class SqliteQueries implements Queries {
    /** A JSON scalar says the word when it is that string, or a number or boolean whose JSON text it is. */
    private static final String SAYS =
            "CASE type WHEN 'text' THEN atom = ? WHEN 'null' THEN 0 WHEN 'object' THEN 0 WHEN 'array' THEN 0 ELSE %s -> fullkey = ? END";

    /** A text without escapes holds every value of it as it is: the cheap look comes first, 10,000 documents are not parsed for one. */
    private static final String LABELLED =
            """
            ((instr(%1$s.labels, ?) > 0 OR instr(%1$s.labels, '\\') > 0)
             AND EXISTS (SELECT 1 FROM json_each(%1$s.labels) WHERE\s"""
                    + SAYS.formatted("%1$s.labels") + "))";

    private static final String BY_ID = "r.seq IN (" + Rows.SEQ_BY_ID + ")";
    private static final String BY_KEY = "r.seq IN (" + Rows.SEQ_BY_KEY + ")";
    private static final String BY_PROVIDER_ID = "r.seq IN (" + Rows.SEQ_BY_PROVIDER_ID + ")";

    private static final String LAST_MOVE =
            """

              LEFT JOIN receipt_journal j
                ON (j.tenant_id, j.instance_id, j.path, j.attempt) = (r.tenant_id, r.instance_id, r.path, r.attempt)
               AND j.n = (SELECT max(m.n) FROM receipt_journal m
                           WHERE (m.tenant_id, m.instance_id, m.path, m.attempt) = (r.tenant_id, r.instance_id, r.path, r.attempt))""";

    private static final String EFFECT =
            "SELECT " + Rows.RECEIPT_COLUMNS + ", r.tenant_id, r.instance_id, " + Rows.JOURNAL_COLUMNS;

    /** States that are rare and looked for: task_instances_attention. */
    private static final Set<InstanceState> ATTENTION =
            EnumSet.of(InstanceState.WAITING, InstanceState.PAUSED, InstanceState.FAILED, InstanceState.CANCELLED);

    private final Lane readers;

    SqliteQueries(Lane readers) {
        this.readers = readers;
    }

    @Override
    public List<InstanceRecord> instances(InstanceFilter filter) {
        Where where = new Where(
                "SELECT " + Rows.INSTANCE_COLUMNS + """

                  FROM task_instances i JOIN instance_data d ON (d.tenant_id, d.instance_id) = (i.tenant_id, i.id)
                 WHERE\s""" + (filter.allTenants() ? "?" : "i.tenant_id = ?"),
                filter.allTenants() ? 1 : filter.tenant());
        if (!filter.states().isEmpty()) {
            where.and("i.state IN " + marks(filter.states()), filter.states().stream().map(InstanceState::wire).toArray());
            if (ATTENTION.containsAll(filter.states())) {
                // Said once more in the words of the partial index, or the planner does not see that it serves.
                where.and("i.state IN ('waiting', 'paused', 'failed', 'cancelled')");
            }
        }
        where.when(filter.sequenceId(), "d.sequence_id = ?").when(filter.after(), "i.id < ?");
        filter.metadata().forEach((name, value) -> where.and(
                "EXISTS (SELECT 1 FROM json_each(d.metadata) WHERE key = ? AND " + SAYS.formatted("d.metadata") + ")",
                name, value, value));
        where.end("ORDER BY i.id DESC LIMIT ? OFFSET ?", filter.limit(), filter.offset());
        return readers.call(db -> where.list(db, Rows::instance));
    }

    @Override
    public List<EffectView> effects(EffectFilter filter) {
        filter.requireBounded();
        Where where = search(filter);
        return readers.call(db -> where.list(db, SqliteQueries::effect));
    }

    static Where search(EffectFilter filter) {
        boolean queue = filter.openOnly() || filter.states().equals(Set.of(EffectState.UNKNOWN));
        // In the queue its own indexes serve; elsewhere the instance or the time range bounds the search.
        String from = queue ? "o" : "r";
        Where where = new Where(
                EFFECT
                        + (queue
                                ? """

                                  FROM effect_open o
                                  JOIN effect_receipts r
                                    ON (r.tenant_id, r.instance_id, r.path, r.attempt) = (o.tenant_id, o.instance_id, o.path, o.attempt)"""
                                : "\n  FROM effect_receipts r")
                        + LAST_MOVE + "\n WHERE " + from + ".tenant_id = ?",
                filter.tenant());
        InstanceKey instance = filter.instance();
        if (instance != null) {
            where.and(from + ".tenant_id = ? AND " + from + ".instance_id = ?", instance.tenant(), instance.id());
        }
        if (!filter.states().isEmpty()) {
            where.and(
                    "coalesce(j.to_state, r.state) IN " + marks(filter.states()),
                    filter.states().stream().map(EffectState::wire).toArray());
        }
        if (filter.execution() != null) {
            where.and(
                    from + ".instance_id IN (SELECT d.instance_id FROM instance_data d WHERE d.tenant_id = ? AND d.execution_id = ?)",
                    filter.tenant(), filter.execution());
        }
        where.when(filter.block(), from + ".path = ?")
                .when(filter.requestSha256(), from + ".request_sha256 = ?")
                .when(filter.fingerprint(), from + ".destination_fingerprint = ?")
                .when(filter.epoch(), from + ".claim_epoch = ?")
                .when(filter.attempt(), from + ".attempt = ?")
                .when(micros(filter.from()), from + ".at >= ?")
                .when(micros(filter.to()), from + ".at < ?");
        if (filter.id() != null) {
            where.and(BY_ID, filter.tenant(), filter.id());
        }
        if (filter.idempotencyKey() != null) {
            where.and(BY_KEY, filter.tenant(), filter.idempotencyKey());
        }
        if (filter.providerReceiptId() != null) {
            where.and(BY_PROVIDER_ID, filter.tenant(), filter.providerReceiptId());
        }
        if (filter.label() != null) {
            where.and(LABELLED.formatted(from), filter.label(), filter.label(), filter.label());
        }
        if (filter.word() != null) {
            word(where, filter, from, filter.word());
        }
        if (filter.after() != null) {
            int bar = filter.after().indexOf('|');
            long at = Db.micros(Instant.parse(filter.after().substring(0, bar)));
            UUID id = UUID.fromString(filter.after().substring(bar + 1));
            where.and("(%1$s.at, %1$s.id) < (?, ?)".formatted(from), at, id);
        }
        // An execution has few runs: they lead, and their few receipts are sorted. Reading the queue in order to find them is what the sign forbids.
        String order = filter.execution() != null ? "+" + from : from;
        return where.end("ORDER BY %s.at DESC, %s.id DESC LIMIT ?".formatted(order, order), filter.limit());
    }

    private static void word(Where where, EffectFilter filter, String from, String word) {
        // One list of numbers and not three conditions: then it leads the plan.
        String named = "(SELECT * FROM (" + Rows.SEQ_BY_ID + ") UNION SELECT * FROM (" + Rows.SEQ_BY_KEY
                + ") UNION SELECT * FROM (" + Rows.SEQ_BY_PROVIDER_ID + "))";
        // In the queue the row itself decides; a receipt is visited only for a match.
        String names = from.equals("r")
                ? "(r.seq IN " + named
                : "((o.instance_id, o.path, o.attempt) IN (SELECT n.instance_id, n.path, n.attempt FROM effect_receipts n WHERE n.seq IN "
                        + named + ")";
        Stream<@Nullable Object> arguments =
                Stream.of(filter.tenant(), uuid(word), filter.tenant(), word, filter.tenant(), word);
        if (filter.bounded()) {
            names += " OR %1$s.request_sha256 = ? OR %1$s.destination_fingerprint = ? OR %1$s.path = ? OR ".formatted(from) + LABELLED.formatted(from);
            arguments = Stream.concat(arguments, Collections.nCopies(6, word).stream());
        }
        where.and(names + ")", arguments.toArray());
    }

    private static @Nullable Object uuid(String word) {
        try {
            UUID id = UUID.fromString(word);
            return id.toString().equals(word) ? id : null;
        } catch (IllegalArgumentException e) {
            return null;
        }
    }

    @Override
    public Optional<EffectView> effect(String tenant, UUID receiptId) {
        return readers.call(db -> db.sql(EFFECT + " FROM effect_receipts r" + LAST_MOVE + " WHERE " + BY_ID)
                .text(tenant)
                .uuid(receiptId)
                .first(SqliteQueries::effect));
    }

    private static EffectView effect(ResultSet row) throws SQLException {
        int before = Rows.RECEIPT_WIDTH + 2;
        ReceiptRow receipt = Rows.receipt(row);
        InstanceKey instance = new InstanceKey(row.getString(before - 1), Db.uuid(row, before));
        JournalRow last = row.getString(before + 1) == null ? null : Rows.journal(row, before, null);
        EffectState state = last != null ? last.to() : receipt.prepared() ? EffectState.PREPARED : EffectState.DISPATCHED;
        Instant since = Objects.requireNonNull(last == null ? receipt.at() : last.at());
        return new EffectView(instance, receipt, state, last, since);
    }

    @Override
    public List<JournalRow> journal(InstanceKey instance, String path, int attempt) {
        return readers.call(db -> db.sql("SELECT " + Rows.JOURNAL_COLUMNS + """
                        , j.reply_body
                          FROM receipt_journal j
                         WHERE j.tenant_id = ? AND j.instance_id = ? AND j.path = ? AND j.attempt = ? ORDER BY j.n""")
                .text(instance.tenant())
                .uuid(instance.id())
                .text(path)
                .number(attempt)
                .list(Rows::journalWithBody));
    }

    @Override
    public List<EvidenceRow> evidence(InstanceKey instance, String path, int attempt) {
        return readers.call(db -> db.sql("""
                        SELECT path, attempt, kind, actor, body, bytes, at FROM effect_evidence
                         WHERE tenant_id = ? AND instance_id = ? AND path = ? AND attempt = ? ORDER BY seq""")
                .text(instance.tenant())
                .uuid(instance.id())
                .text(path)
                .number(attempt)
                .list(row -> new EvidenceRow(
                        row.getString(1), row.getInt(2), row.getString(3), row.getString(4), row.getString(5), row.getBytes(6),
                        Db.time(row.getLong(7)))));
    }

    @Override
    public List<InvariantResult> invariantResults(String tenant, UUID execution) {
        return readers.call(db -> db.sql("""
                        SELECT r.instance_id, r.invariant, r.rule, r.path, r.held, r.details, r.at
                          FROM instance_data d JOIN invariant_results r ON r.tenant_id = d.tenant_id AND r.instance_id = d.instance_id
                         WHERE d.tenant_id = ? AND d.execution_id = ?
                         ORDER BY r.instance_id, r.seq""")
                .text(tenant)
                .uuid(execution)
                .list(row -> new InvariantResult(
                        new InstanceKey(tenant, Db.uuid(row, 1)),
                        new InvariantRows.Result(
                                row.getString(2), row.getString(3), row.getString(4), row.getInt(5) == 1, row.getString(6)),
                        Db.time(row.getLong(7)))));
    }

    @Override
    public List<BlockRow> blockRows(InstanceKey instance) {
        return readers.call(db -> db.sql("SELECT " + Rows.BLOCK_COLUMNS + """

                          FROM block_outputs b WHERE b.tenant_id = ? AND b.instance_id = ? ORDER BY b.path, b.n""")
                .text(instance.tenant())
                .uuid(instance.id())
                .list(Rows::block));
    }

    @Override
    public List<OpenDepth> openDepth() {
        return readers.call(db -> db.sql("""
                        SELECT tenant_id, kind, destination, state, count(*), min(since) FROM effect_open
                         GROUP BY tenant_id, kind, destination, state ORDER BY tenant_id, kind, destination, state""")
                .list(row -> new OpenDepth(
                        row.getString(1), row.getString(2), row.getString(3), row.getString(4), row.getLong(5), Db.time(row.getLong(6)))));
    }

    @Override
    public List<OpenEffect> unknownEffects() {
        return readers.call(db -> db.sql("""
                        SELECT tenant_id, instance_id, id, path, attempt, kind, destination, since, labels FROM effect_open
                         WHERE state = 'unknown' ORDER BY since, id""")
                .list(row -> new OpenEffect(
                        new InstanceKey(row.getString(1), Db.uuid(row, 2)), Db.uuid(row, 3), row.getString(4), row.getInt(5), row.getString(6),
                        row.getString(7), Db.time(row.getLong(8)), row.getString(9))));
    }

    @Override
    public List<Change> changes(@Nullable String tenant, @Nullable String after, int limit) {
        Where where = new Where(
                        "SELECT seq, tenant_id, instance_id, type, payload, subject, at FROM events WHERE seq > ?",
                        after == null ? 0L : Long.parseLong(after))
                .when(tenant, "tenant_id = ?")
                .end("ORDER BY seq LIMIT ?", limit);
        return readers.call(db -> where.list(db, row -> new Change(
                row.getString(1), new InstanceKey(row.getString(2), Db.uuid(row, 3)), row.getString(4), row.getString(5), row.getString(6),
                Db.time(row.getLong(7)))));
    }

    @Override
    public @Nullable String newestChange() {
        // The counter and not the newest row: retention may have taken that.
        Optional<String> newest = readers.call(
                db -> db.sql("SELECT seq FROM sqlite_sequence WHERE name = 'events' AND seq > 0").first(row -> row.getString(1)));
        return newest.orElse(null);
    }

    @Override
    public List<AuditEntry> audit(String tenant, @Nullable String subject, int limit) {
        Where where = new Where("SELECT at, actor, action, subject, details FROM audit_log WHERE tenant_id = ?", tenant)
                .when(subject, "subject = ?")
                .end("ORDER BY seq DESC LIMIT ?", limit);
        return readers.call(db -> where.list(db, row -> new AuditEntry(
                Db.time(row.getLong(1)), new AuditRow(row.getString(2), row.getString(3), row.getString(4), row.getString(5)))));
    }

    @Override
    public List<NodeView> nodes() {
        return readers.call(db -> db.sql("SELECT id, name, started_at, expires_at, fenced FROM nodes ORDER BY started_at, seq")
                .list(row -> new NodeView(
                        Db.uuid(row, 1), row.getString(2), Db.time(row.getLong(3)), Db.time(row.getLong(4)), row.getInt(5) == 1)));
    }

    private static @Nullable Long micros(@Nullable Instant time) {
        return time == null ? null : Db.micros(time);
    }

    private static String marks(Set<?> values) {
        return "(" + String.join(", ", Collections.nCopies(values.size(), "?")) + ")";
    }
}
