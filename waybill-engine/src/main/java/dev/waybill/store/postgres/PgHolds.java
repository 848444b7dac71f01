package dev.waybill.store.postgres;

import dev.waybill.model.InstanceKey;
import dev.waybill.store.AuditRow;
import dev.waybill.store.DestinationHolds;
import dev.waybill.store.Event;
import dev.waybill.store.HoldEvents;
import dev.waybill.store.jdbc.Sql;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

final class PgHolds implements DestinationHolds {
    private static final String AT = " WHERE tenant_id = ? AND destination = ?";

    private final PostgresStore.Reads reads;

    PgHolds(PostgresStore.Reads reads) {
        this.reads = reads;
    }

    private record Row(boolean held, @Nullable Long probeInMillis, @Nullable UUID probe) {}

    @Override
    public Admission admit(Place place, UUID receipt, Duration probe) {
        return reads.write("look at a held destination", connection -> {
            Optional<Row> row = row(connection, place);
            if (row.isEmpty() || !row.get().held) {
                return new Admission.Go();
            }
            Long left = row.get().probeInMillis;
            if (receipt.equals(row.get().probe) && left != null) {
                return new Admission.Probe();
            }
            if (left == null || left > 0) {
                return new Admission.Held(left == null ? probe.toMillis() : Math.min(left, probe.toMillis()));
            }
            // The row's lock and the condition decide who probes.
            int mine = Sql.update(
                    connection,
                    "UPDATE destination_holds SET probe_at = now() + ?::bigint * interval '1 millisecond', probe_receipt = ?" + AT
                            + " AND held AND probe_at <= now()",
                    probe.toMillis(), receipt, place.tenant(), place.destination());
            return mine == 1 ? new Admission.Probe() : new Admission.Held(probe.toMillis());
        });
    }

    private static Optional<Row> row(Connection connection, Place place) throws SQLException {
        return Sql.first(
                connection,
                "SELECT held, ceil(extract(epoch FROM probe_at - now()) * 1000)::bigint, probe_receipt FROM destination_holds" + AT,
                row -> new Row(row.getBoolean(1), (Long) row.getObject(2), row.getObject(3, UUID.class)), place.tenant(), place.destination());
    }

    @Override
    public boolean unknown(Place place, UUID receipt, InstanceKey at, int unknowns, Duration within, Duration probe) {
        return transaction("count an unknown", connection -> {
            // The row first, and its lock: two that count at once would both see one too few.
            lock(connection, place);
            Sql.update(
                    connection, "INSERT INTO destination_unknowns (tenant_id, destination, receipt_id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING",
                    place.tenant(), place.destination(), receipt);
            Sql.update(
                    connection, "DELETE FROM destination_unknowns" + AT + " AND at <= now() - ?::bigint * interval '1 millisecond'", place.tenant(),
                    place.destination(), within.toMillis());
            String reason = DestinationHolds.why(unknowns, within);
            int tripped = Sql.update(
                    connection,
                    """
                    UPDATE destination_holds
                       SET held = true, since = now(), probe_at = now() + ?::bigint * interval '1 millisecond', probe_receipt = NULL, actor = ?, reason = ?
                     WHERE tenant_id = ? AND destination = ? AND NOT held
                       AND (SELECT count(*) FROM destination_unknowns u WHERE u.tenant_id = ? AND u.destination = ?) >= ?
                    """,
                    probe.toMillis(), POLICY, reason, place.tenant(), place.destination(), place.tenant(), place.destination(), unknowns);
            if (tripped == 1) {
                tell(connection, at, HoldEvents.event(place, true, POLICY, reason, receipt));
            }
            return tripped == 1;
        });
    }

    @Override
    public boolean answered(Place place, UUID probe, InstanceKey at) {
        return transaction("release a destination", connection -> {
            boolean released = Sql.update(
                            connection,
                            "UPDATE destination_holds SET held = false, since = now(), probe_at = NULL, probe_receipt = NULL, actor = ?, reason = ?" + AT
                                    + " AND held AND probe_at IS NOT NULL AND probe_receipt = ?",
                            POLICY, "the probe was answered", place.tenant(), place.destination(), probe)
                    == 1;
            if (released) {
                forget(connection, place);
                tell(connection, at, HoldEvents.event(place, false, POLICY, "the probe was answered", probe));
            }
            return released;
        });
    }

    @Override
    public boolean set(Place place, boolean held, String actor, String reason) {
        return transaction("hold or release a destination", connection -> {
            lock(connection, place);
            boolean changed = Sql.update(
                            connection,
                            "UPDATE destination_holds SET held = ?, since = now(), probe_at = NULL, probe_receipt = NULL, actor = ?, reason = ?" + AT
                                    + " AND (held <> ? OR held AND probe_at IS NOT NULL)",
                            held, actor, reason, place.tenant(), place.destination(), held)
                    == 1;
            if (changed) {
                forget(connection, place);
                tell(connection, DestinationHolds.nowhere(place.tenant()), HoldEvents.event(place, held, actor, reason, null));
                AuditRow audit = HoldEvents.audit(place, held, actor, reason);
                Sql.update(
                        connection, "INSERT INTO audit_log (tenant_id, actor, action, subject, details) VALUES (?, ?, ?, ?, ?)", place.tenant(),
                        audit.actor(), audit.action(), audit.subject(), audit.details());
            }
            return changed;
        });
    }

    @Override
    public List<Standing> list(@Nullable String tenant) {
        return reads.with("list held destinations", connection -> Sql.query(
                connection,
                """
                SELECT tenant_id, destination, name, held, since, actor, reason, probe_at,
                       (SELECT count(*)::int FROM destination_unknowns u WHERE u.tenant_id = h.tenant_id AND u.destination = h.destination)
                  FROM destination_holds h
                 WHERE ?::text IS NULL OR tenant_id = ?
                 ORDER BY tenant_id, destination
                """,
                row -> new Standing(
                        new Place(row.getString(1), row.getString(2), row.getString(3)), row.getBoolean(4), row.getObject(5, OffsetDateTime.class).toInstant(),
                        row.getString(6), row.getString(7), row.getInt(9), instant(row.getObject(8, OffsetDateTime.class))),
                tenant, tenant));
    }

    private static @Nullable Instant instant(@Nullable OffsetDateTime at) {
        return at == null ? null : at.toInstant();
    }

    private static void lock(Connection connection, Place place) throws SQLException {
        Sql.update(
                connection,
                """
                INSERT INTO destination_holds (tenant_id, destination, name, held, actor, reason) VALUES (?, ?, ?, false, ?, '')
                    ON CONFLICT (tenant_id, destination) DO UPDATE SET name = excluded.name
                """,
                place.tenant(), place.destination(), place.name(), POLICY);
    }

    private static void forget(Connection connection, Place place) throws SQLException {
        Sql.update(connection, "DELETE FROM destination_unknowns" + AT, place.tenant(), place.destination());
    }

    private static void tell(Connection connection, InstanceKey at, Event event) throws SQLException {
        Sql.update(
                connection, "INSERT INTO events (tenant_id, instance_id, type, payload, subject) VALUES (?, ?, ?, ?, ?)", at.tenant(), at.id(),
                event.type(), event.payload(), event.subject());
    }

    private boolean transaction(String what, PostgresStore.Reads.Work<Boolean> work) {
        return reads.write(what, connection -> {
            boolean auto = connection.getAutoCommit();
            connection.setAutoCommit(false);
            boolean done = false;
            try {
                boolean answer = work.on(connection);
                connection.commit();
                done = true;
                return answer;
            } finally {
                if (!done) {
                    connection.rollback();
                }
                connection.setAutoCommit(auto);
            }
        });
    }
}
