package dev.waybill.store.postgres;

import dev.waybill.model.InstanceKey;
import dev.waybill.store.DeskStore;
import dev.waybill.store.EvidenceRow;
import dev.waybill.store.jdbc.Sql;
import java.util.List;

/** The desk's verbs, each one statement. */
final class PgDesk implements DeskStore {
    private final PostgresStore.Reads reads;

    PgDesk(PostgresStore.Reads reads) {
        this.reads = reads;
    }

    @Override
    public List<FoundEvidence> evidenceOfKind(String tenant, String kind, int limit) {
        return reads.with("find evidence", connection -> Sql.query(
                connection,
                """
                SELECT e.instance_id, r.id, e.path, e.attempt, e.kind, e.actor, e.body, e.at
                  FROM effect_evidence e JOIN effect_receipts r USING (tenant_id, instance_id, path, attempt)
                 WHERE e.tenant_id COLLATE "POSIX" = ? AND e.kind = ? AND e.kind IN ('proposal', 'escalation')
                 ORDER BY e.seq DESC
                 LIMIT ?
                """,
                row -> new FoundEvidence(
                        new InstanceKey(tenant, PgReader.uuid(row, "instance_id")),
                        PgReader.uuid(row, "id"),
                        new EvidenceRow(
                                row.getString("path"), row.getInt("attempt"), row.getString("kind"), row.getString("actor"),
                                row.getString("body"), null, PgReader.instant(row, "at"))),
                tenant,
                kind,
                limit));
    }

    @Override
    public String keepOnce(String name, String value) {
        reads.write("keep a value", connection -> Sql.update(
                connection, "INSERT INTO store_meta (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING", name, value));
        return reads.with("read a value", connection -> Sql.first(
                        connection, "SELECT value FROM store_meta WHERE name = ?", row -> row.getString(1), name)
                .orElseThrow());
    }
}
