package dev.waybill.store.sqlite;

import dev.waybill.store.InvariantDeclaration;
import dev.waybill.store.SequenceRow;
import dev.waybill.store.SequenceStore;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

final class SqliteSequences implements SequenceStore {
    private static final String COLUMNS =
            "SELECT s.id, s.tenant_id, s.namespace, s.name, s.version, s.deprecated, s.definition, s.created_at FROM sequences s";

    private final Lane readers;
    private final SqliteStore store;

    SqliteSequences(Lane readers, SqliteStore store) {
        this.readers = readers;
        this.store = store;
    }

    @Override
    public boolean insert(SequenceRow row) {
        return store.write((db, now) -> db.sql("""
                        INSERT INTO sequences (tenant_id, id, namespace, name, version, deprecated, created_at, definition)
                        VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                            ON CONFLICT DO NOTHING""")
                        .text(row.tenant())
                        .uuid(row.id())
                        .text(row.namespace())
                        .text(row.name())
                        .number(row.version())
                        .flag(row.deprecated())
                        .number(now)
                        .text(row.definition())
                        .update()
                > 0);
    }

    @Override
    public Optional<SequenceRow> get(String tenant, UUID id) {
        return readers.call(db -> db.sql(COLUMNS + " WHERE tenant_id = ? AND id = ?").text(tenant).uuid(id).first(SqliteSequences::row));
    }

    @Override
    public Optional<SequenceRow> byName(String tenant, String namespace, String name, @Nullable Integer version) {
        return readers.call(db -> db.sql(COLUMNS + """

                         WHERE tenant_id = ? AND namespace = ? AND name = ? AND CASE WHEN ? THEN version = ? ELSE deprecated = 0 END
                         ORDER BY version DESC LIMIT 1""")
                .text(tenant)
                .text(namespace)
                .text(name)
                .flag(version != null)
                .number(version)
                .first(SqliteSequences::row));
    }

    @Override
    public List<SequenceRow> versions(String tenant, String namespace, String name) {
        return readers.call(db -> db.sql(COLUMNS + " WHERE tenant_id = ? AND namespace = ? AND name = ? ORDER BY version DESC")
                .text(tenant)
                .text(namespace)
                .text(name)
                .list(SqliteSequences::row));
    }

    @Override
    public List<SequenceRow> list(String tenant, @Nullable UUID after, int limit) {
        return readers.call(db -> db.sql(COLUMNS + """

                          LEFT JOIN sequences l ON l.tenant_id = s.tenant_id AND l.id = ?
                         WHERE s.tenant_id = ?
                           AND (l.id IS NULL OR (s.namespace, s.name, -s.version) > (l.namespace, l.name, -l.version))
                         ORDER BY s.namespace, s.name, s.version DESC LIMIT ?""")
                .uuid(after)
                .text(tenant)
                .number(limit)
                .list(SqliteSequences::row));
    }

    @Override
    public boolean deprecate(String tenant, UUID id) {
        return store.write((db, _) ->
                db.sql("UPDATE sequences SET deprecated = 1 WHERE tenant_id = ? AND id = ?").text(tenant).uuid(id).update() > 0);
    }

    @Override
    public boolean addInvariant(InvariantDeclaration invariant) {
        return store.write((db, now) -> db.sql("""
                        INSERT INTO invariants (tenant_id, sequence_id, name, definition, created_at)
                        SELECT tenant_id, id, ?, ?, ? FROM sequences WHERE tenant_id = ? AND id = ?
                            ON CONFLICT DO NOTHING""")
                        .text(invariant.name())
                        .text(invariant.definition())
                        .number(now)
                        .text(invariant.tenant())
                        .uuid(invariant.sequence())
                        .update()
                > 0);
    }

    @Override
    public List<InvariantDeclaration> invariants(String tenant, UUID sequence) {
        return readers.call(db -> db.sql("""
                        SELECT name, definition, created_at FROM invariants WHERE tenant_id = ? AND sequence_id = ? ORDER BY name""")
                .text(tenant)
                .uuid(sequence)
                .list(row -> new InvariantDeclaration(
                        tenant, sequence, row.getString(1), row.getString(2), Db.time(row.getLong(3)))));
    }

    private static SequenceRow row(ResultSet row) throws SQLException {
        return new SequenceRow(
                Db.uuid(row, 1),
                row.getString(2),
                row.getString(3),
                row.getString(4),
                row.getInt(5),
                row.getInt(6) == 1,
                row.getString(7),
                Db.time(row.getLong(8)));
    }
}
