package dev.waybill.store.sqlite;

import dev.waybill.model.InstanceKey;
import dev.waybill.store.AuditRow;
import dev.waybill.store.DestinationHolds;
import dev.waybill.store.HoldEvents;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

final class SqliteHolds implements DestinationHolds {
    private static final String AT = " WHERE tenant_id = ? AND destination = ?";

    private final Lane readers;
    private final SqliteStore store;

    SqliteHolds(Lane readers, SqliteStore store) {
        this.readers = readers;
        this.store = store;
    }

    private record Row(boolean held, @Nullable Long probeAt, @Nullable UUID probe) {}

    private static Optional<Row> row(Db db, Place place) throws SQLException {
        return db.sql("SELECT held, probe_at, probe_receipt FROM destination_holds" + AT)
                .text(place.tenant())
                .text(place.destination())
                .first(row -> {
                    boolean held = row.getBoolean(1);
                    long at = row.getLong(2);
                    Long probeAt = row.wasNull() ? null : (Long) at;
                    return new Row(held, probeAt, Db.optionalUuid(row, 3));
                });
    }

    @Override
    public Admission admit(Place place, UUID receipt, Duration probe) {
        // Nearly always nothing is held: that is read beside the writer.
        if (readers.call(db -> row(db, place)).filter(Row::held).isEmpty()) {
            return new Admission.Go();
        }
        return store.write((db, now) -> {
            Optional<Row> row = row(db, place);
            if (row.isEmpty() || !row.get().held) {
                return new Admission.Go();
            }
            Long at = row.get().probeAt;
            if (at != null && receipt.equals(row.get().probe)) {
                return new Admission.Probe();
            }
            if (at == null || at > now) {
                return new Admission.Held(at == null ? probe.toMillis() : Math.min((at - now + 999) / 1_000, probe.toMillis()));
            }
            db.sql("UPDATE destination_holds SET probe_at = ?, probe_receipt = ?" + AT)
                    .number(now + micros(probe))
                    .uuid(receipt)
                    .text(place.tenant())
                    .text(place.destination())
                    .update();
            return new Admission.Probe();
        });
    }

    @Override
    public boolean unknown(Place place, UUID receipt, InstanceKey at, int unknowns, Duration within, Duration probe) {
        return store.write((db, now) -> {
            known(db, place, now);
            db.sql("INSERT INTO destination_unknowns (tenant_id, destination, receipt_id, at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING")
                    .text(place.tenant())
                    .text(place.destination())
                    .uuid(receipt)
                    .number(now)
                    .update();
            db.sql("DELETE FROM destination_unknowns" + AT + " AND at <= ?")
                    .text(place.tenant())
                    .text(place.destination())
                    .number(now - micros(within))
                    .update();
            String reason = DestinationHolds.why(unknowns, within);
            boolean tripped = db.sql("""
                            UPDATE destination_holds SET held = 1, since = ?, probe_at = ?, probe_receipt = NULL, actor = ?, reason = ?
                             WHERE tenant_id = ? AND destination = ? AND held = 0
                               AND (SELECT count(*) FROM destination_unknowns u WHERE u.tenant_id = ? AND u.destination = ?) >= ?""")
                            .number(now)
                            .number(now + micros(probe))
                            .text(POLICY)
                            .text(reason)
                            .text(place.tenant())
                            .text(place.destination())
                            .text(place.tenant())
                            .text(place.destination())
                            .number(unknowns)
                            .update()
                    == 1;
            if (tripped) {
                Rows.insert(db, at, List.of(HoldEvents.event(place, true, POLICY, reason, receipt)), now);
            }
            return tripped;
        });
    }

    @Override
    public boolean answered(Place place, UUID probe, InstanceKey at) {
        return store.write((db, now) -> {
            boolean released = db.sql("UPDATE destination_holds SET held = 0, since = ?, probe_at = NULL, probe_receipt = NULL, actor = ?, reason = ?" + AT
                                    + " AND held = 1 AND probe_at IS NOT NULL AND probe_receipt = ?")
                            .number(now)
                            .text(POLICY)
                            .text("the probe was answered")
                            .text(place.tenant())
                            .text(place.destination())
                            .uuid(probe)
                            .update()
                    == 1;
            if (released) {
                forget(db, place);
                Rows.insert(db, at, List.of(HoldEvents.event(place, false, POLICY, "the probe was answered", probe)), now);
            }
            return released;
        });
    }

    @Override
    public boolean set(Place place, boolean held, String actor, String reason) {
        return store.write((db, now) -> {
            known(db, place, now);
            boolean changed = db.sql("UPDATE destination_holds SET held = ?, since = ?, probe_at = NULL, probe_receipt = NULL, actor = ?, reason = ?" + AT
                                    + " AND (held <> ? OR held = 1 AND probe_at IS NOT NULL)")
                            .flag(held)
                            .number(now)
                            .text(actor)
                            .text(reason)
                            .text(place.tenant())
                            .text(place.destination())
                            .flag(held)
                            .update()
                    == 1;
            if (changed) {
                forget(db, place);
                Rows.insert(db, DestinationHolds.nowhere(place.tenant()), List.of(HoldEvents.event(place, held, actor, reason, null)), now);
                AuditRow audit = HoldEvents.audit(place, held, actor, reason);
                db.sql("INSERT INTO audit_log (tenant_id, at, actor, action, subject, details) VALUES (?, ?, ?, ?, ?, ?)")
                        .text(place.tenant())
                        .number(now)
                        .text(audit.actor())
                        .text(audit.action())
                        .text(audit.subject())
                        .text(audit.details())
                        .update();
            }
            return changed;
        });
    }

    @Override
    public List<Standing> list(@Nullable String tenant) {
        return readers.call(db -> db.sql("""
                        SELECT tenant_id, destination, name, held, since, actor, reason,
                               (SELECT count(*) FROM destination_unknowns u WHERE u.tenant_id = h.tenant_id AND u.destination = h.destination), probe_at
                          FROM destination_holds h
                         WHERE ? OR tenant_id = ?
                         ORDER BY tenant_id, destination""")
                .flag(tenant == null)
                .text(tenant)
                .list(row -> {
                    long probeAt = row.getLong(9);
                    return new Standing(
                            new Place(row.getString(1), row.getString(2), row.getString(3)), row.getBoolean(4), Db.time(row.getLong(5)), row.getString(6),
                            row.getString(7), row.getInt(8), probeAt == 0 ? null : Db.time(probeAt));
                }));
    }

    private static void known(Db db, Place place, long now) throws SQLException {
        db.sql("""
                        INSERT INTO destination_holds (tenant_id, destination, name, held, since, actor, reason) VALUES (?, ?, ?, 0, ?, ?, '')
                            ON CONFLICT (tenant_id, destination) DO UPDATE SET name = excluded.name""")
                .text(place.tenant())
                .text(place.destination())
                .text(place.name())
                .number(now)
                .text(POLICY)
                .update();
    }

    private static void forget(Db db, Place place) throws SQLException {
        db.sql("DELETE FROM destination_unknowns" + AT).text(place.tenant()).text(place.destination()).update();
    }

    private static long micros(Duration duration) {
        return duration.toMillis() * 1_000;
    }
}
