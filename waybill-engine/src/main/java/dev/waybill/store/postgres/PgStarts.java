package dev.waybill.store.postgres;

import static dev.waybill.store.postgres.Columns.Type.INT4;
import static dev.waybill.store.postgres.Columns.Type.INT8;
import static dev.waybill.store.postgres.Columns.Type.TEXT;
import static dev.waybill.store.postgres.Columns.Type.UUID;

import dev.waybill.model.Claim;
import dev.waybill.store.Start;
import dev.waybill.store.StartAnswer;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLTransactionRollbackException;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/** Admission: dedup key and instance in one transaction; the unique constraint decides (semantics.md section 7, case A21). */
final class PgStarts {
    private static final int MAX_RUNS = 10;

    private static final Columns.Shape STARTS = new Columns.Shape()
            .with(INT4, "ord")
            .with(TEXT, "tenant_id")
            .with(UUID, "id", "execution_id", "sequence_id")
            .with(TEXT, "namespace")
            .with(INT4, "priority")
            .with(INT8, "fire_in_millis")
            .with(TEXT, "context", "metadata", "dedup_key")
            .with(INT8, "claim_epoch")
            .with(UUID, "claim_nonce");

    /**
     * An instance id that exists already is skipped, not an error: the repeat of a start whose answer was lost. The claim is taken only
     * while the node lives; else any node may.
     */
    private static final String INSERT =
            """
            WITH x AS MATERIALIZED (
              SELECT *, claim_nonce IS NOT NULL AND coalesce(
                       (SELECT n.expires_at FROM nodes n WHERE n.id = ?::uuid AND NOT n.fenced) > clock_timestamp(), false) AS claims
                FROM %s
            ), instances AS (
              INSERT INTO task_instances (tenant_id, id, state, priority, next_fire_at, claim_epoch, claim_nonce, claim_node)
              SELECT tenant_id, id, CASE WHEN claims THEN 'running' ELSE 'scheduled' END, priority,
                     CASE WHEN NOT claims THEN now() + fire_in_millis * interval '1 millisecond' END,
                     CASE WHEN claims THEN claim_epoch ELSE 0 END,
                     CASE WHEN claims THEN claim_nonce ELSE '00000000-0000-0000-0000-000000000000' END,
                     CASE WHEN claims THEN ?::uuid END
                FROM x
                  ON CONFLICT (tenant_id, id) DO NOTHING
              RETURNING tenant_id, id, next_fire_at <= now() AS due
            ), data AS (
              INSERT INTO instance_data (tenant_id, instance_id, execution_id, sequence_id, namespace, context, metadata, dedup_key)
              SELECT x.tenant_id, x.id, x.execution_id, x.sequence_id, x.namespace, x.context, x.metadata, x.dedup_key
                FROM x JOIN instances i USING (tenant_id, id)
            ), hints AS (
              SELECT pg_notify('%s', '') IS NULL AS told FROM instances WHERE due LIMIT 1
            )
            SELECT x.ord, x.claims, now(), (SELECT count(told) FROM hints)
              FROM x JOIN instances USING (tenant_id, id)
            """
                    .formatted(STARTS.from("s"), PostgresStore.CHANNEL);

    private static final Columns.Shape KEYS = new Columns.Shape()
            .with(INT4, "ord")
            .with(TEXT, "tenant_id", "scope", "key")
            .with(UUID, "instance_id")
            .with(TEXT, "payload_sha256");

    /**
     * DO NOTHING waits for a transaction that holds the same key, and inserts after all if that one rolls back. Keys come sorted: two
     * batches that wait for each other crosswise deadlock otherwise. The loser's row is invisible to this statement: see FIND_KEYS.
     */
    private static final String TAKE_KEYS =
            """
            INSERT INTO dedup_keys (tenant_id, scope, key, instance_id, payload_sha256)
            SELECT tenant_id, scope, key, instance_id, payload_sha256 FROM %s ORDER BY tenant_id, scope, key, ord
                ON CONFLICT (tenant_id, scope, key) DO NOTHING
            RETURNING instance_id
            """
                    .formatted(KEYS.from("k"));

    private static final String FIND_KEYS =
            """
            SELECT k.ord, d.instance_id, d.payload_sha256
              FROM %s
              JOIN dedup_keys d USING (tenant_id, scope, key)
            """
                    .formatted(KEYS.from("k"));

    private final Links links;

    PgStarts(Links links) {
        this.links = links;
    }

    List<StartAnswer> start(UUID node, List<Start> batch) {
        if (batch.isEmpty()) {
            return List.of();
        }
        for (int run = 1; ; run++) {
            Connection connection;
            try {
                connection = links.take();
            } catch (SQLException e) {
                throw PgErrors.store("no connection to start on", e);
            }
            boolean keep = false;
            try {
                List<StartAnswer> answers = start(connection, node, batch);
                keep = true;
                return answers;
            } catch (SQLException e) {
                keep = !PgErrors.connectionLost(e);
                if (!PgErrors.mayRunAgain(e) || run == MAX_RUNS) {
                    throw PgErrors.ofWrite("start of " + batch.size() + " instances", e);
                }
            } finally {
                if (keep) {
                    links.give(connection);
                } else {
                    links.drop(connection);
                }
            }
        }
    }

    private static List<StartAnswer> start(Connection connection, UUID node, List<Start> batch) throws SQLException {
        @Nullable StartAnswer[] answers = new StartAnswer[batch.size()];
        if (batch.stream().allMatch(start -> start.dedupKey() == null)) {
            insert(connection, node, batch, answers);
        } else {
            connection.setAutoCommit(false);
            try {
                Set<Integer> repeats = new HashSet<>();
                while (!keyed(connection, node, batch, answers, repeats)) {
                    connection.rollback();
                }
                connection.commit();
                PgErrors.refuseWarning(connection.getWarnings());
            } catch (SQLException e) {
                if (!PgErrors.connectionLost(e)) {
                    connection.rollback();
                    connection.setAutoCommit(true);
                }
                throw e;
            }
            connection.setAutoCommit(true);
        }
        return Arrays.stream(answers).map(Objects::requireNonNull).toList();
    }

    /**
     * @param repeats members whose instance exists already
     * @return false when there are more of them, and a key would be burnt for one: begin again
     */
    private static boolean keyed(
            Connection connection, UUID node, List<Start> batch, @Nullable StartAnswer[] answers, Set<Integer> repeats)
            throws SQLException {
        Arrays.fill(answers, null);
        repeats.forEach(i -> answers[i] = new StartAnswer.Existing(batch.get(i).instance().id(), null));
        takeKeys(connection, batch, answers);
        List<Integer> found = insert(connection, node, batch, answers);
        found.removeIf(i -> batch.get(i).dedupKey() == null);
        return !repeats.addAll(found);
    }

    /** Fills in the answers of those whose key was used before. */
    private static void takeKeys(Connection connection, List<Start> batch, @Nullable StartAnswer[] answers) throws SQLException {
        connection.clearWarnings();
        Columns keys = new Columns(KEYS);
        TreeMap<UUID, Integer> losers = new TreeMap<>();
        for (int i = 0; i < batch.size(); i++) {
            Start start = batch.get(i);
            if (start.dedupKey() != null && answers[i] == null) {
                keys.add(i, start.instance().tenant(), scope(start), start.dedupKey(), start.instance().id(), start.payloadSha256());
                losers.put(start.instance().id(), i);
            }
        }
        if (keys.isEmpty()) {
            return;
        }
        try (PreparedStatement statement = connection.prepareStatement(TAKE_KEYS)) {
            keys.bind(statement, 1);
            try (ResultSet row = statement.executeQuery()) {
                while (row.next()) {
                    losers.remove(row.getObject(1, UUID.class));
                }
            }
        }
        if (losers.isEmpty()) {
            return;
        }
        try (PreparedStatement statement = connection.prepareStatement(FIND_KEYS)) {
            keys.bind(statement, 1);
            try (ResultSet row = statement.executeQuery()) {
                while (row.next()) {
                    int ord = row.getInt(1);
                    if (losers.containsValue(ord)) {
                        answers[ord] = new StartAnswer.Existing(row.getObject(2, UUID.class), row.getString(3));
                    }
                }
            }
        }
        if (losers.values().stream().anyMatch(ord -> answers[ord] == null)) {
            throw new SQLTransactionRollbackException("a dedup key was pruned between its conflict and its reading", "40001");
        }
    }

    private static String scope(Start start) {
        return start.dedupScope() == null ? "" : start.dedupScope();
    }

    /** @return the members whose instance existed already; they are answered */
    private static List<Integer> insert(Connection connection, UUID node, List<Start> batch, @Nullable StartAnswer[] answers) throws SQLException {
        List<Integer> rest = new ArrayList<>(
                IntStream.range(0, batch.size()).filter(i -> answers[i] == null).boxed().toList());
        if (rest.isEmpty()) {
            return rest;
        }
        rest.sort((a, b) -> PgCommitter.LOCK_ORDER.compare(batch.get(a).instance(), batch.get(b).instance()));
        Columns starts = new Columns(STARTS);
        for (int i : rest) {
            Start start = batch.get(i);
            Claim claim = start.claim();
            starts.add(
                    i, start.instance().tenant(), start.instance().id(), start.execution(), start.sequenceId(), start.namespace(),
                    start.priority(), Rows.bounded(start.fireInMillis()), start.context(), start.metadata(), start.dedupKey(),
                    claim == null ? null : claim.epoch(), claim == null ? null : claim.nonce());
        }
        try (PreparedStatement statement = connection.prepareStatement(INSERT)) {
            statement.setObject(1, node);
            statement.setObject(starts.bind(statement, 2), node);
            try (ResultSet row = statement.executeQuery()) {
                while (row.next()) {
                    answers[row.getInt(1)] = new StartAnswer.Created(
                            row.getBoolean(2), row.getObject(3, OffsetDateTime.class).toInstant());
                }
            }
            PgErrors.refuseWarning(statement.getWarnings());
        }
        rest.removeIf(i -> answers[i] != null);
        rest.forEach(i -> answers[i] = new StartAnswer.Existing(batch.get(i).instance().id(), null));
        return rest;
    }
}
