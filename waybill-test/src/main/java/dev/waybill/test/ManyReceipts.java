package dev.waybill.test;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * Fills an empty, migrated store with receipts by plain statements: what years of runs leave behind, in seconds. Tenant {@code acme}, four
 * receipts to a run, spread evenly over the ten days before now, an unknown one every {@code receipts / unknown}; each has labels and a key
 * ({@code key-N}), the answered ones a provider id ({@code pi_N}), the newest has the highest number.
 *
 * @param receipts how many, counted from 1
 * @param unknown  how many of them are unknown
 */
public record ManyReceipts(int receipts, int unknown) {
    public static final String TENANT = "acme";

    public ManyReceipts {
        if (receipts < 4 || unknown < 1 || unknown > receipts) {
            throw new IllegalArgumentException("receipts must be at least 4, unknown between 1 and receipts");
        }
    }

    /** @param connection to PostgreSQL or SQLite, in auto-commit mode */
    public void load(Connection connection) throws SQLException {
        boolean sqlite = connection.getMetaData().getDatabaseProductName().equals("SQLite");
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            for (String sql : (sqlite ? SQLITE : POSTGRES).split(";\n")) {
                statement.execute(sql.replace(":receipts", Integer.toString(receipts)).replace(":every", Integer.toString(receipts / unknown)));
            }
            connection.commit();
            connection.setAutoCommit(true);
            // What the database's own maintenance does within minutes.
            statement.execute(sqlite ? "PRAGMA optimize" : "VACUUM (ANALYZE) instance_data, task_instances, effect_receipts, receipt_journal, effect_open");
        }
    }

    private static final String POSTGRES =
            """
            INSERT INTO instance_data (tenant_id, instance_id, execution_id, sequence_id, namespace, context)
            SELECT 'acme', md5('i' || n)::uuid, md5('i' || n)::uuid, md5('s')::uuid, 'default', '{}'
              FROM generate_series(0, :receipts / 4) n;
            INSERT INTO task_instances (tenant_id, id, state, priority)
            SELECT 'acme', md5('i' || n)::uuid, 'completed', 1 FROM generate_series(0, :receipts / 4) n;
            INSERT INTO effect_receipts (tenant_id, instance_id, path, attempt, id, execution_id, state, kind, handler, destination,
                   destination_fingerprint, idempotency_key, request_sha256, claim_epoch, claim_nonce, node_id, transition_id, at, quiet_at,
                   ordinal, labels, request)
            SELECT 'acme', md5('i' || n / 4)::uuid, 'step-' || (n % 4), 0, md5('r' || n)::uuid, md5('i' || n / 4)::uuid, 'dispatched', 'http',
                   'http_request', 'https://api.pay.example', sha256(convert_to('d' || n % 20, 'UTF8')), 'key-' || n,
                   sha256(convert_to('q' || n, 'UTF8')), n % 1000, md5('c')::uuid, md5('n')::uuid, md5('t' || n)::uuid,
                   now() - (:receipts - n) * (interval '10 days' / :receipts), now(), 0,
                   '{"order":"o-' || n || '","amount":"12.50","currency":"EUR"}', '{"method":"POST","url":"https://api.pay.example/charges"}'
              FROM generate_series(1, :receipts) n;
            INSERT INTO receipt_journal (tenant_id, instance_id, path, attempt, n, from_state, to_state, actor, claim_epoch, claim_nonce,
                   transition_id, at, counts_as_attempt, output_state, provider_receipt_id, output)
            SELECT 'acme', md5('i' || n / 4)::uuid, 'step-' || (n % 4), 0, 1, 'dispatched', CASE n % :every WHEN 0 THEN 'unknown' ELSE 'committed' END,
                   'engine', n % 1000, md5('c')::uuid, md5('u' || n)::uuid, now() - (:receipts - n) * (interval '10 days' / :receipts), true,
                   CASE n % :every WHEN 0 THEN 'none' ELSE 'saved' END, CASE WHEN n % :every > 0 THEN 'pi_' || n END,
                   CASE WHEN n % :every > 0 THEN '{"id":"pi_' || n || '","paid":true}' END
              FROM generate_series(1, :receipts) n;
            INSERT INTO effect_open (tenant_id, instance_id, path, attempt, id, state, at, since, kind, destination, destination_fingerprint,
                   request_sha256, claim_epoch, idempotency_key, labels)
            SELECT tenant_id, instance_id, path, attempt, id, 'unknown', at, at, kind, destination, destination_fingerprint, request_sha256,
                   claim_epoch, idempotency_key, labels
              FROM effect_receipts WHERE substr(idempotency_key, 5)::int % :every = 0;
            """;

    private static final String SQLITE =
            """
            CREATE TEMP TABLE numbers AS
              WITH RECURSIVE count (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM count WHERE n < :receipts) SELECT n FROM count;
            INSERT INTO instance_data (tenant_id, instance_id, execution_id, sequence_id, namespace, created_at, context)
            SELECT 'acme', i, i, zeroblob(16), 'default', 0, '{}'
              FROM (SELECT DISTINCT unhex(printf('%032x', n / 4)) AS i FROM numbers);
            INSERT INTO task_instances (tenant_id, id, state, priority, claim_epoch, claim_nonce, wake_seq, cancel_requested, pause_requested,
                   takeovers, updated_at)
            SELECT tenant_id, instance_id, 'completed', 1, 0, zeroblob(16), 0, 0, 0, 0, 0 FROM instance_data;
            INSERT INTO effect_receipts (tenant_id, instance_id, path, attempt, id, execution_id, state, kind, handler, destination,
                   destination_fingerprint, idempotency_key, request_sha256, claim_epoch, claim_nonce, node_id, transition_id, at, quiet_at,
                   labels, request)
            SELECT 'acme', unhex(printf('%032x', n / 4)), 'step-' || (n % 4), 0, unhex(printf('%016x', n * 7919 % 1000003) || printf('%016x', n)),
                   unhex(printf('%032x', n / 4)), 'dispatched', 'http', 'http_request', 'https://api.pay.example', printf('%064x', n % 20),
                   'key-' || n, printf('%064x', n), n % 1000, zeroblob(16), zeroblob(16), unhex(printf('%032x', n)),
                   unixepoch() * 1000000 - (:receipts - n) * (864000000000 / :receipts), unixepoch() * 1000000,
                   '{"order":"o-' || n || '","amount":"12.50","currency":"EUR"}', '{"method":"POST","url":"https://api.pay.example/charges"}'
              FROM numbers;
            INSERT INTO receipt_journal (tenant_id, instance_id, path, attempt, n, from_state, to_state, actor, claim_epoch, claim_nonce,
                   transition_id, at, counts_as_attempt, output_state, provider_receipt_id, output)
            SELECT tenant_id, instance_id, path, attempt, 1, 'dispatched', CASE seq % :every WHEN 0 THEN 'unknown' ELSE 'committed' END,
                   'engine', claim_epoch, claim_nonce, transition_id, at, 1, CASE seq % :every WHEN 0 THEN 'none' ELSE 'saved' END,
                   CASE WHEN seq % :every > 0 THEN 'pi_' || seq END, CASE WHEN seq % :every > 0 THEN '{"id":"pi_' || seq || '","paid":true}' END
              FROM effect_receipts;
            INSERT INTO effect_open (tenant_id, instance_id, path, attempt, id, state, at, since, kind, destination, destination_fingerprint,
                   request_sha256, claim_epoch, labels)
            SELECT tenant_id, instance_id, path, attempt, id, 'unknown', at, at, kind, destination, destination_fingerprint, request_sha256,
                   claim_epoch, labels
              FROM effect_receipts WHERE seq % :every = 0;
            DROP TABLE numbers;
            """;
}
