package dev.waybill.store.postgres;

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
import dev.waybill.store.jdbc.Sql;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.json.JsonMapper;

/** Reads for people, on pooled connections with the planner's own mind. Effects are searched by {@link PgEffectSearch}. */
final class PgQueries implements Queries {
    private static final JsonMapper JSON = new JsonMapper();
    private static final int PAGE = 500;
    private final PostgresStore.Reads reads;

    PgQueries(PostgresStore.Reads reads) {
        this.reads = reads;
    }

    /**
     * Metadata is JSON text, which SQL cannot look into where it holds U+0000: SQL narrows by what it has indexes for, and pages of
     * that are filtered here.
     */
    @Override
    public List<InstanceRecord> instances(InstanceFilter filter) {
        return reads.with("list instances", connection -> {
            List<InstanceRecord> result = new ArrayList<>();
            UUID after = filter.after();
            int skip = filter.offset();
            boolean all = filter.metadata().isEmpty();
            while (true) {
                int size = all ? filter.limit() : PAGE;
                Where where = filter.allTenants() ? new Where("true") : new Where("i.tenant_id = ?", filter.tenant());
                if (!filter.states().isEmpty()) {
                    where.and("i.state = ANY (?)", connection.createArrayOf("text", wires(filter.states())));
                }
                if (filter.sequenceId() != null) {
                    where.and("d.tenant_id COLLATE \"POSIX\" = ? AND d.sequence_id = ?", filter.tenant(), filter.sequenceId());
                }
                if (after != null) {
                    where.and("i.id < ?", after);
                }
                List<InstanceRecord> page = Sql.query(
                        connection,
                        """
                        SELECT %s
                          FROM task_instances i
                          JOIN instance_data d ON d.tenant_id = i.tenant_id AND d.instance_id = i.id
                         WHERE %s
                         ORDER BY i.id DESC LIMIT ? OFFSET ?
                        """
                                .formatted(PgReader.INSTANCE, where.sql()),
                        PgReader::instance,
                        where.arguments(size, all ? skip : 0));
                for (InstanceRecord record : page) {
                    if (all || (describes(record.metadata(), filter.metadata()) && skip-- <= 0)) {
                        result.add(record);
                    }
                    if (result.size() == filter.limit()) {
                        return result;
                    }
                }
                if (all || page.size() < size) {
                    return result;
                }
                after = page.getLast().key().id();
            }
        });
    }

    private static String[] wires(Iterable<InstanceState> states) {
        List<String> wires = new ArrayList<>();
        states.forEach(state -> wires.add(state.wire()));
        return wires.toArray(String[]::new);
    }

    private static boolean describes(@Nullable String metadata, Map<String, String> wanted) {
        if (metadata == null) {
            return false;
        }
        JsonNode json = JSON.readTree(metadata);
        return wanted.entrySet().stream().allMatch(it -> says(json.get(it.getKey()), it.getValue()));
    }

    static boolean labelled(@Nullable String labels, String value) {
        return labels != null && JSON.readTree(labels).valueStream().anyMatch(label -> says(label, value));
    }

    private static boolean says(@Nullable JsonNode node, String value) {
        return node != null && node.isValueNode() && !node.isNull() && (node.isString() ? node.asString() : node.toString()).equals(value);
    }

    @Override
    public List<EffectView> effects(EffectFilter filter) {
        filter.requireBounded();
        return reads.with("search effects", connection -> new PgEffectSearch(connection, filter).run());
    }

    @Override
    public Optional<EffectView> effect(String tenant, UUID receiptId) {
        return reads.with("read an effect", connection -> PgEffectSearch.one(connection, tenant, receiptId));
    }

    @Override
    public List<JournalRow> journal(InstanceKey instance, String path, int attempt) {
        return reads.with("read a journal", connection -> Sql.query(
                connection,
                "SELECT " + PgReader.journal("j", "", true)
                        + " FROM receipt_journal j WHERE tenant_id = ? AND instance_id = ? AND path = ? AND attempt = ? ORDER BY n",
                row -> PgReader.journal(row, ""),
                instance.tenant(),
                instance.id(),
                path,
                attempt));
    }

    @Override
    public List<EvidenceRow> evidence(InstanceKey instance, String path, int attempt) {
        return reads.with("read evidence", connection -> Sql.query(
                connection,
                """
                SELECT path, attempt, kind, actor, body, bytes, at
                  FROM effect_evidence
                 WHERE tenant_id = ? AND instance_id = ? AND path = ? AND attempt = ?
                 ORDER BY seq
                """,
                row -> new EvidenceRow(
                        row.getString(1), row.getInt(2), row.getString(3), row.getString(4), row.getString(5), row.getBytes(6),
                        PgReader.instant(row, "at")),
                instance.tenant(),
                instance.id(),
                path,
                attempt));
    }

    @Override
    public List<InvariantResult> invariantResults(String tenant, UUID execution) {
        return reads.with("read results of invariants", connection -> Sql.query(
                connection,
                """
                SELECT r.* FROM instance_data d JOIN invariant_results r USING (tenant_id, instance_id)
                 WHERE d.tenant_id COLLATE "POSIX" = ? AND d.execution_id = ?
                 ORDER BY r.instance_id, r.seq
                """,
                row -> new InvariantResult(
                        new InstanceKey(tenant, PgReader.uuid(row, "instance_id")),
                        new InvariantRows.Result(
                                row.getString("invariant"), row.getString("rule"), row.getString("path"), row.getBoolean("held"),
                                row.getString("details")),
                        PgReader.instant(row, "at")),
                tenant,
                execution));
    }

    @Override
    public List<BlockRow> blockRows(InstanceKey instance) {
        return reads.with("read rows", connection -> Sql.query(
                connection,
                "SELECT * FROM block_outputs WHERE tenant_id = ? AND instance_id = ? ORDER BY path, n",
                PgReader::block,
                instance.tenant(),
                instance.id()));
    }

    @Override
    public List<OpenDepth> openDepth() {
        return reads.with("measure the queue", connection -> Sql.query(
                connection,
                """
                SELECT tenant_id, kind, destination, state, count(*), min(since) AS oldest
                  FROM effect_open
                 GROUP BY tenant_id, kind, destination, state
                 ORDER BY tenant_id, kind, destination COLLATE "C", state
                """,
                row -> new OpenDepth(
                        row.getString(1), row.getString(2), row.getString(3), row.getString(4), row.getLong(5),
                        PgReader.instant(row, "oldest"))));
    }

    @Override
    public List<OpenEffect> unknownEffects() {
        return reads.with("read the queue", connection -> Sql.query(
                connection,
                """
                SELECT tenant_id, instance_id, id, path, attempt, kind, destination, since, labels
                  FROM effect_open WHERE state = 'unknown' ORDER BY since, id
                """,
                row -> new OpenEffect(
                        new InstanceKey(row.getString("tenant_id"), PgReader.uuid(row, "instance_id")), PgReader.uuid(row, "id"),
                        row.getString("path"), row.getInt("attempt"), row.getString("kind"), row.getString("destination"),
                        PgReader.instant(row, "since"), row.getString("labels"))));
    }

    /** Below the oldest transaction that still runs nothing can appear any more: what is handed out is final. */
    @Override
    public List<Change> changes(@Nullable String tenant, @Nullable String after, int limit) {
        Where where = new Where("e.xid < pg_snapshot_xmin(pg_current_snapshot())");
        if (tenant != null) {
            where.and("e.tenant_id = ?", tenant);
        }
        if (after != null) {
            int dot = after.indexOf('.');
            where.and("(e.xid, e.seq) > (?::xid8, ?::bigint)", after.substring(0, dot), Long.valueOf(after.substring(dot + 1)));
        }
        return reads.with("read changes", connection -> Sql.query(
                connection,
                """
                SELECT e.xid::text || '.' || e.seq AS cursor, e.tenant_id, e.instance_id, e.type, e.payload, e.subject, e.at
                  FROM events e
                 WHERE %s
                 ORDER BY e.xid, e.seq LIMIT ?
                """
                        .formatted(where.sql()),
                row -> new Change(
                        row.getString("cursor"), new InstanceKey(row.getString("tenant_id"), PgReader.uuid(row, "instance_id")),
                        row.getString("type"), row.getString("payload"), row.getString("subject"), PgReader.instant(row, "at")),
                where.arguments(limit)));
    }

    @Override
    public @Nullable String newestChange() {
        return reads.with("read changes", connection -> Sql.first(
                        connection,
                        """
                        SELECT xid::text || '.' || seq FROM events
                         WHERE xid < pg_snapshot_xmin(pg_current_snapshot())
                         ORDER BY xid DESC, seq DESC LIMIT 1
                        """,
                        row -> row.getString(1)))
                .orElse(null);
    }

    @Override
    public List<AuditEntry> audit(String tenant, @Nullable String subject, int limit) {
        Where where = new Where("tenant_id = ?", tenant);
        if (subject != null) {
            where.and("subject = ?", subject);
        }
        return reads.with("read the audit log", connection -> Sql.query(
                connection,
                "SELECT at, actor, action, subject, details FROM audit_log WHERE " + where.sql() + " ORDER BY seq DESC LIMIT ?",
                row -> new AuditEntry(
                        PgReader.instant(row, "at"),
                        new AuditRow(row.getString(2), row.getString(3), row.getString(4), row.getString(5))),
                where.arguments(limit)));
    }

    @Override
    public List<NodeView> nodes() {
        return reads.with("list nodes", connection -> Sql.query(
                connection,
                "SELECT id, name, started_at, expires_at, fenced FROM nodes ORDER BY started_at, id",
                row -> new NodeView(
                        PgReader.uuid(row, "id"), row.getString("name"), PgReader.instant(row, "started_at"),
                        PgReader.instant(row, "expires_at"), row.getBoolean("fenced"))));
    }

    /** Conditions and their arguments, side by side. */
    static final class Where {
        private final List<String> conditions = new ArrayList<>();
        private final List<@Nullable Object> arguments = new ArrayList<>();

        Where(String condition, @Nullable Object... values) {
            and(condition, values);
        }

        Where and(String condition, @Nullable Object... values) {
            conditions.add(condition);
            arguments.addAll(java.util.Arrays.asList(values));
            return this;
        }

        String sql() {
            return String.join(" AND ", conditions);
        }

        @Nullable Object[] arguments(@Nullable Object... more) {
            List<@Nullable Object> all = new ArrayList<>(arguments);
            all.addAll(java.util.Arrays.asList(more));
            return all.toArray();
        }
    }

    static EffectView view(ResultSet row) throws SQLException {
        var receipt = PgReader.receipt(row);
        JournalRow last = row.getObject("j_n") == null ? null : PgReader.journal(row, "j_");
        EffectState state = last != null ? last.to() : receipt.prepared() ? EffectState.PREPARED : EffectState.DISPATCHED;
        return new EffectView(
                new InstanceKey(row.getString("tenant_id"), PgReader.uuid(row, "instance_id")), receipt, state, last,
                last == null ? PgReader.instant(row, "at") : PgReader.instant(row, "j_at"));
    }
}
