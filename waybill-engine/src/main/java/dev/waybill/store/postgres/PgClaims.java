package dev.waybill.store.postgres;

import dev.waybill.model.InstanceKey;
import dev.waybill.store.InstanceRecord;
import dev.waybill.store.InstanceSnapshot;
import dev.waybill.store.jdbc.Sql;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;

/** Nodes and their leases, claims and takeovers. Every lease is stamped and judged by the database's clock (case A16). */
final class PgClaims {
    static void register(Connection connection, UUID node, String name, Duration lease) throws SQLException {
        Sql.update(
                connection,
                """
                INSERT INTO nodes AS n (id, name, expires_at) VALUES (?, ?, now() + ? * interval '1 millisecond')
                    ON CONFLICT (id) DO UPDATE SET expires_at = EXCLUDED.expires_at WHERE NOT n.fenced
                """,
                node,
                name,
                lease.toMillis());
    }

    static boolean heartbeat(Connection connection, UUID node, Duration lease) throws SQLException {
        return Sql.update(
                        connection,
                        "UPDATE nodes SET expires_at = now() + ? * interval '1 millisecond' WHERE id = ? AND NOT fenced",
                        lease.toMillis(),
                        node)
                == 1;
    }

    static void fence(Connection connection, UUID node) throws SQLException {
        Sql.update(connection, "UPDATE nodes SET fenced = true WHERE id = ? AND NOT fenced", node);
    }

    /** Fencing commits before any claim is taken away: from then on the node's intents are refused. */
    static int fenceAndFree(Connection connection, int limit) throws SQLException {
        Sql.update(connection, "UPDATE nodes SET fenced = true WHERE NOT fenced AND expires_at < now()");
        int freed = Sql.update(
                connection,
                """
                WITH dead AS MATERIALIZED (
                  SELECT c.tenant_id, c.id
                    FROM nodes n
                   CROSS JOIN LATERAL (
                     SELECT i.tenant_id, i.id FROM task_instances i WHERE i.claim_node = n.id LIMIT ?) c
                   WHERE n.fenced
                   LIMIT ?
                ), locked AS MATERIALIZED (
                  -- An owner's commit that runs just now is not waited for: the next call finds the instance.
                  SELECT l.* FROM (SELECT * FROM dead ORDER BY tenant_id, id) d
                   CROSS JOIN LATERAL (
                     SELECT i.tenant_id, i.id FROM task_instances i
                      WHERE i.tenant_id = d.tenant_id AND i.id = d.id
                        AND EXISTS (SELECT FROM nodes n WHERE n.id = i.claim_node AND n.fenced)
                        FOR NO KEY UPDATE SKIP LOCKED) l
                )
                UPDATE task_instances i
                   SET state = 'scheduled', next_fire_at = now(), claim_epoch = i.claim_epoch + 1, claim_node = NULL,
                       claim_nonce = '00000000-0000-0000-0000-000000000000', takeovers = i.takeovers + 1, updated_at = now()
                  FROM locked l
                 WHERE i.tenant_id = l.tenant_id AND i.id = l.id
                """,
                limit,
                limit);
        if (freed == 0) {
            Sql.update(
                    connection,
                    """
                    DELETE FROM nodes n
                     WHERE n.fenced AND n.expires_at < now() - interval '1 day'
                       AND NOT EXISTS (SELECT FROM task_instances i WHERE i.claim_node = n.id)
                    """);
        }
        return freed;
    }

    private static final String CLAIM =
            """
            WITH RECURSIVE tenants AS (
              -- A skip scan: one index probe for each tenant that has an unclaimed instance, however many instances there are.
              (SELECT tenant_id FROM task_instances
                WHERE next_fire_at IS NOT NULL AND claim_node IS NULL
                  AND EXISTS (SELECT FROM nodes n WHERE n.id = ?::uuid AND NOT n.fenced AND n.expires_at > now())
                ORDER BY tenant_id LIMIT 1)
              UNION ALL
              SELECT (SELECT i.tenant_id FROM task_instances i
                       WHERE i.next_fire_at IS NOT NULL AND i.claim_node IS NULL AND i.tenant_id > t.tenant_id
                       ORDER BY i.tenant_id LIMIT 1)
                FROM tenants t
               WHERE t.tenant_id IS NOT NULL
            ), candidates AS MATERIALIZED (
              -- Each priority by itself, so that a million timers in the future are not looked at. More than asked for, because
              -- another node may be claiming the same ones; nothing is locked yet.
              SELECT c.*, row_number() OVER (PARTITION BY c.tenant_id ORDER BY c.priority DESC, c.next_fire_at, c.id) AS turn
                FROM tenants t
               CROSS JOIN (VALUES (3), (2), (1), (0)) AS p(priority)
               CROSS JOIN LATERAL (
                 SELECT i.tenant_id, i.id, i.priority, i.next_fire_at
                   FROM task_instances i
                  WHERE i.tenant_id = t.tenant_id AND i.priority = p.priority AND i.next_fire_at <= now() AND i.claim_node IS NULL
                  ORDER BY i.next_fire_at
                  LIMIT ?) c
               WHERE t.tenant_id IS NOT NULL
            ), picked AS MATERIALIZED (
              SELECT l.tenant_id, l.id, c.turn, c.priority, c.next_fire_at
                FROM (SELECT * FROM candidates ORDER BY turn, priority DESC, next_fire_at, id) c
               CROSS JOIN LATERAL (
                 SELECT i.tenant_id, i.id FROM task_instances i
                  WHERE i.tenant_id = c.tenant_id AND i.id = c.id AND i.claim_node IS NULL AND i.next_fire_at <= now()
                    FOR NO KEY UPDATE SKIP LOCKED) l
               LIMIT ?
            ), claimed AS (
              UPDATE task_instances i
                 SET state = 'running', next_fire_at = NULL, claim_epoch = i.claim_epoch + 1, claim_nonce = ?::uuid,
                     claim_node = ?::uuid, updated_at = now()
                FROM picked p
               WHERE i.tenant_id = p.tenant_id AND i.id = p.id
              RETURNING i.*, p.turn, p.priority AS p_priority, p.next_fire_at AS p_next_fire_at
            )
            SELECT %s, now() AS database_now
              FROM claimed i
              JOIN instance_data d ON d.tenant_id = i.tenant_id AND d.instance_id = i.id
             ORDER BY i.turn, i.p_priority DESC, i.p_next_fire_at, i.id
            """
                    .formatted(PgReader.INSTANCE);

    static List<InstanceSnapshot> claim(Connection connection, UUID node, UUID nonce, int limit) throws SQLException {
        List<InstanceRecord> claimed = new ArrayList<>();
        Instant[] now = {Instant.EPOCH};
        Sql.query(
                connection,
                CLAIM,
                row -> {
                    now[0] = PgReader.instant(row, "database_now");
                    return claimed.add(PgReader.instance(row));
                },
                node,
                2 * limit,
                limit,
                nonce,
                node);
        // A first claim of an instance that nobody wrote to finds nothing, and need not look.
        return PgReader.snapshots(
                connection, claimed, instance -> instance.claim().epoch() > 1 || instance.wakeSeq() > 0, now[0]);
    }

    static List<InstanceSnapshot> load(Connection connection, InstanceKey key) throws SQLException {
        Instant[] now = {Instant.EPOCH};
        List<InstanceRecord> found = Sql.query(
                connection,
                """
                SELECT %s, now() AS database_now
                  FROM task_instances i
                  JOIN instance_data d ON d.tenant_id = i.tenant_id AND d.instance_id = i.id
                 WHERE i.tenant_id = ? AND i.id = ?
                """
                        .formatted(PgReader.INSTANCE),
                row -> {
                    now[0] = PgReader.instant(row, "database_now");
                    return PgReader.instance(row);
                },
                key.tenant(),
                key.id());
        return PgReader.snapshots(connection, found, instance -> true, now[0]);
    }

    static long millisUntilNextDue(Connection connection, Duration horizon) throws SQLException {
        return Sql.first(
                        connection,
                        """
                        SELECT ceil(extract(epoch FROM next_fire_at - now()) * 1000)::bigint
                          FROM task_instances
                         WHERE next_fire_at IS NOT NULL AND claim_node IS NULL
                         ORDER BY next_fire_at LIMIT 1
                        """,
                        row -> Math.clamp(row.getLong(1), 0L, horizon.toMillis()))
                .orElse(horizon.toMillis());
    }

    private PgClaims() {}
}
