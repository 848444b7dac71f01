package dev.waybill.store.postgres;

import dev.waybill.store.InvariantDeclaration;
import dev.waybill.store.SequenceRow;
import dev.waybill.store.SequenceStore;
import dev.waybill.store.jdbc.Sql;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

final class PgSequences implements SequenceStore {
    private final PostgresStore.Reads reads;

    PgSequences(PostgresStore.Reads reads) {
        this.reads = reads;
    }

    @Override
    public boolean insert(SequenceRow row) {
        return reads.write("publish a sequence", connection -> Sql.update(
                        connection,
                        """
                        INSERT INTO sequences (tenant_id, id, namespace, name, version, deprecated, definition)
                        VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
                        """,
                        row.tenant(),
                        row.id(),
                        row.namespace(),
                        row.name(),
                        row.version(),
                        row.deprecated(),
                        row.definition())
                == 1);
    }

    @Override
    public Optional<SequenceRow> get(String tenant, UUID id) {
        return select("tenant_id = ? AND id = ?", tenant, id).stream().findFirst();
    }

    @Override
    public Optional<SequenceRow> byName(String tenant, String namespace, String name, @Nullable Integer version) {
        List<SequenceRow> found = version == null
                ? select("tenant_id = ? AND namespace = ? AND name = ? AND NOT deprecated ORDER BY version DESC LIMIT 1", tenant, namespace, name)
                : select("tenant_id = ? AND namespace = ? AND name = ? AND version = ?", tenant, namespace, name, version);
        return found.stream().findFirst();
    }

    @Override
    public List<SequenceRow> versions(String tenant, String namespace, String name) {
        return select("tenant_id = ? AND namespace = ? AND name = ? ORDER BY version DESC", tenant, namespace, name);
    }

    @Override
    public List<SequenceRow> list(String tenant, @Nullable UUID after, int limit) {
        String order = " ORDER BY namespace, name, version DESC LIMIT ?";
        return after == null
                ? select("tenant_id = ?" + order, tenant, limit)
                : select(
                        """
                        tenant_id = ? AND (namespace, name, -version) > (
                          SELECT namespace, name, -version FROM sequences WHERE tenant_id = ? AND id = ?)"""
                                + order,
                        tenant,
                        tenant,
                        after,
                        limit);
    }

    @Override
    public boolean deprecate(String tenant, UUID id) {
        return reads.write("deprecate a sequence", connection -> Sql.update(
                        connection, "UPDATE sequences SET deprecated = true WHERE tenant_id = ? AND id = ?", tenant, id)
                == 1);
    }

    @Override
    public boolean addInvariant(InvariantDeclaration invariant) {
        return reads.write("add an invariant", connection -> Sql.update(
                        connection,
                        """
                        INSERT INTO invariants (tenant_id, sequence_id, name, definition)
                        SELECT tenant_id, id, ?, ? FROM sequences WHERE tenant_id = ? AND id = ? ON CONFLICT DO NOTHING
                        """,
                        invariant.name(),
                        invariant.definition(),
                        invariant.tenant(),
                        invariant.sequence())
                == 1);
    }

    @Override
    public List<InvariantDeclaration> invariants(String tenant, UUID sequence) {
        return reads.with("read invariants", connection -> Sql.query(
                connection,
                "SELECT * FROM invariants WHERE tenant_id = ? AND sequence_id = ? ORDER BY name",
                row -> new InvariantDeclaration(
                        tenant, sequence, row.getString("name"), row.getString("definition"), PgReader.instant(row, "created_at")),
                tenant,
                sequence));
    }

    private List<SequenceRow> select(String where, @Nullable Object... arguments) {
        return reads.with(
                "read sequences",
                connection -> Sql.query(connection, "SELECT * FROM sequences WHERE " + where, PgSequences::row, arguments));
    }

    private static SequenceRow row(ResultSet row) throws SQLException {
        return new SequenceRow(
                PgReader.uuid(row, "id"), row.getString("tenant_id"), row.getString("namespace"), row.getString("name"),
                row.getInt("version"), row.getBoolean("deprecated"), row.getString("definition"), PgReader.instant(row, "created_at"));
    }
}
