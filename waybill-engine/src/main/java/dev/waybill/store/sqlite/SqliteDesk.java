package dev.waybill.store.sqlite;

import dev.waybill.model.InstanceKey;
import dev.waybill.store.DeskStore;
import dev.waybill.store.EvidenceRow;
import java.util.List;

/** The desk's verbs. */
final class SqliteDesk implements DeskStore {
    private final Lane readers;
    private final SqliteStore store;

    SqliteDesk(Lane readers, SqliteStore store) {
        this.readers = readers;
        this.store = store;
    }

    @Override
    public List<FoundEvidence> evidenceOfKind(String tenant, String kind, int limit) {
        return readers.call(db -> db.sql("""
                        SELECT e.instance_id, r.id, e.path, e.attempt, e.kind, e.actor, e.body, e.at
                          FROM effect_evidence e JOIN effect_receipts r USING (tenant_id, instance_id, path, attempt)
                         WHERE e.tenant_id = ? AND e.kind = ? AND e.kind IN ('proposal', 'escalation')
                         ORDER BY e.seq DESC LIMIT ?""")
                .text(tenant)
                .text(kind)
                .number(limit)
                .list(row -> new FoundEvidence(
                        new InstanceKey(tenant, Db.uuid(row, 1)),
                        Db.uuid(row, 2),
                        new EvidenceRow(
                                row.getString(3), row.getInt(4), row.getString(5), row.getString(6), row.getString(7), null,
                                Db.time(row.getLong(8))))));
    }

    @Override
    public String keepOnce(String name, String value) {
        return store.write((db, _) -> {
            db.sql("INSERT INTO store_meta (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING").text(name).text(value).update();
            return db.sql("SELECT value FROM store_meta WHERE name = ?").text(name).first(row -> row.getString(1)).orElseThrow();
        });
    }
}
