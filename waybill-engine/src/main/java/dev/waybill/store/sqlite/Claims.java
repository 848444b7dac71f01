package dev.waybill.store.sqlite;

import dev.waybill.model.InstanceKey;
import dev.waybill.store.InstanceSnapshot;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Who may move what: nodes with their leases, claims and what is due. Everything runs in the caller's transaction. */
final class Claims {
    private static final int CRITICAL = 3;
    private static final int LOW = 0;

    private record Candidate(InstanceKey key, int rank, int priority, long due) {
        static final Comparator<Candidate> BY_TURN = Comparator.comparingInt(Candidate::rank)
                .thenComparing(Comparator.comparingInt(Candidate::priority).reversed())
                .thenComparingLong(Candidate::due)
                .thenComparing(candidate -> candidate.key().id().toString());
    }

    private Claims() {}

    static boolean alive(Db db, UUID node, long now) throws SQLException {
        return db.sql("SELECT 1 FROM nodes WHERE id = ? AND fenced = 0 AND expires_at > ?").uuid(node).number(now).exists();
    }

    static void register(Db db, UUID node, String name, long expiresAt, long now) throws SQLException {
        db.sql("""
                        INSERT INTO nodes (id, name, started_at, seen_at, expires_at, fenced) VALUES (?, ?, ?, ?, ?, 0)
                            ON CONFLICT (id) DO UPDATE SET name = excluded.name, seen_at = excluded.seen_at, expires_at = excluded.expires_at""")
                .uuid(node)
                .text(name)
                .number(now)
                .number(now)
                .number(expiresAt)
                .update();
    }

    static boolean heartbeat(Db db, UUID node, long expiresAt, long now) throws SQLException {
        return db.sql("UPDATE nodes SET seen_at = ?, expires_at = ? WHERE id = ? AND fenced = 0")
                        .number(now)
                        .number(expiresAt)
                        .uuid(node)
                        .update()
                > 0;
    }

    static int free(Db db, int limit, long now) throws SQLException {
        db.sql("UPDATE nodes SET fenced = 1 WHERE fenced = 0 AND expires_at <= ?").number(now).update();
        return db.sql("""
                        UPDATE task_instances
                           SET state = 'scheduled', claim_epoch = claim_epoch + 1, claim_nonce = zeroblob(16), claim_node = NULL,
                               next_fire_at = ?, takeovers = takeovers + 1, updated_at = ?
                         WHERE (tenant_id, id) IN (
                               -- CROSS JOIN pins the order: from the few dead nodes to what they own, never through every instance.
                               SELECT i.tenant_id, i.id
                                 FROM nodes n CROSS JOIN task_instances i INDEXED BY task_instances_owner ON i.claim_node = n.id
                                WHERE n.fenced = 1 AND i.claim_node IS NOT NULL
                                LIMIT ?)""")
                .number(now)
                .number(now)
                .number(limit)
                .update();
    }

    static List<InstanceSnapshot> claim(Db db, UUID node, UUID nonce, int limit, long now) throws SQLException {
        List<InstanceSnapshot> claimed = new ArrayList<>();
        for (Candidate candidate : limit > 0 ? fairly(db, limit, now) : List.<Candidate>of()) {
            db.sql("""
                            UPDATE task_instances
                               SET state = 'running', claim_epoch = claim_epoch + 1, claim_nonce = ?, claim_node = ?, next_fire_at = NULL,
                                   updated_at = ?
                             WHERE tenant_id = ? AND id = ?""")
                    .uuid(nonce)
                    .uuid(node)
                    .number(now)
                    .text(candidate.key().tenant())
                    .uuid(candidate.key().id())
                    .update();
            claimed.add(Rows.snapshot(db, candidate.key(), true, now).orElseThrow());
        }
        return claimed;
    }

    /**
     * The first of every tenant before the second of any. Looks at a share of each tenant first, and deeper only where others left
     * room, so that the cost does not grow with what is due.
     */
    private static List<Candidate> fairly(Db db, int limit, long now) throws SQLException {
        List<String> tenants = tenants(db);
        int share = Math.ceilDiv(limit, Math.max(1, tenants.size()));
        List<Candidate> due = new ArrayList<>();
        List<String> deeper = new ArrayList<>();
        for (String tenant : tenants) {
            List<Candidate> some = due(db, tenant, share, now);
            due.addAll(some);
            if (some.size() == share) {
                deeper.add(tenant);
            }
        }
        if (due.size() < limit && share < limit) {
            due.removeIf(candidate -> deeper.contains(candidate.key().tenant()));
            for (String tenant : deeper) {
                due.addAll(due(db, tenant, limit, now));
            }
        }
        due.sort(Candidate.BY_TURN);
        return due.subList(0, Math.min(limit, due.size()));
    }

    /** Tenants that have something scheduled, by hops through the index and not by reading all of it. */
    private static List<String> tenants(Db db) throws SQLException {
        return db.sql("""
                        WITH RECURSIVE hop (tenant) AS (
                          SELECT min(tenant_id) FROM task_instances WHERE next_fire_at IS NOT NULL
                          UNION ALL
                          SELECT (SELECT min(tenant_id) FROM task_instances WHERE next_fire_at IS NOT NULL AND tenant_id > hop.tenant)
                            FROM hop WHERE hop.tenant IS NOT NULL)
                        SELECT tenant FROM hop WHERE tenant IS NOT NULL""")
                .list(row -> row.getString(1));
    }

    /** One range of the index for each priority: a high one that is due tomorrow does not stand in the way. */
    private static List<Candidate> due(Db db, String tenant, int limit, long now) throws SQLException {
        List<Candidate> due = new ArrayList<>();
        for (int priority = CRITICAL; priority >= LOW && due.size() < limit; priority--) {
            int level = priority;
            int before = due.size();
            List<Candidate> some = db.sql("""
                            SELECT id, next_fire_at FROM task_instances
                             WHERE tenant_id = ? AND priority = ? AND next_fire_at <= ? AND next_fire_at IS NOT NULL
                             ORDER BY next_fire_at, id LIMIT ?""")
                    .text(tenant)
                    .number(level)
                    .number(now)
                    .number(limit - before)
                    .list(row -> new Candidate(new InstanceKey(tenant, Db.uuid(row, 1)), before + row.getRow() - 1, level, row.getLong(2)));
            due.addAll(some);
        }
        return due;
    }

    /** When the next instance is due, or null. */
    static @Nullable Long nextDue(Db db) throws SQLException {
        Long next = null;
        for (String tenant : tenants(db)) {
            for (int priority = CRITICAL; priority >= LOW; priority--) {
                Long first = db.sql("""
                                SELECT min(next_fire_at) FROM task_instances
                                 WHERE tenant_id = ? AND priority = ? AND next_fire_at IS NOT NULL""")
                        .text(tenant)
                        .number(priority)
                        .first(row -> Objects.requireNonNullElse(Db.optionalLong(row, 1), Long.MAX_VALUE))
                        .orElse(Long.MAX_VALUE);
                next = next == null ? first : Math.min(next, first);
            }
        }
        return next == null || next == Long.MAX_VALUE ? null : next;
    }
}
