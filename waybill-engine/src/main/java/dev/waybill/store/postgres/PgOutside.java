package dev.waybill.store.postgres;

import static dev.waybill.store.postgres.Columns.Type.BYTEA;
import static dev.waybill.store.postgres.Columns.Type.INT4;
import static dev.waybill.store.postgres.Columns.Type.TEXT;
import static dev.waybill.store.postgres.Columns.Type.UUID;

import dev.waybill.model.InstanceKey;
import dev.waybill.model.InstanceState;
import dev.waybill.store.AuditRow;
import dev.waybill.store.BlockRow;
import dev.waybill.store.Event;
import dev.waybill.store.EvidenceRow;
import dev.waybill.store.JournalRow;
import dev.waybill.store.OutsideAnswer;
import dev.waybill.store.OutsideMove;
import dev.waybill.store.ReceiptRow;
import dev.waybill.store.TextRule;
import dev.waybill.store.jdbc.Sql;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Moves by whoever is not the owner (semantics.md section 4.7): lock the instance, check what was expected, write, raise wake_seq. One
 * explicit transaction; nothing of it depends on the session, so it runs on a pooled connection.
 */
final class PgOutside {
    private static final int MAX_RUNS = 10;

    /** A repeat whose COMMIT was unclear waits here for the first one's end. */
    private static final String LOCK =
            """
            SELECT state, wake_seq, claim_node, last_outside,
                   CASE WHEN current_setting('synchronous_commit') IN ('off', 'local')
                        THEN set_config('synchronous_commit', 'on', true) END
              FROM task_instances
             WHERE tenant_id = ? AND id = ?
               FOR NO KEY UPDATE
            """;

    private record Locked(InstanceState state, long wakeSeq, @Nullable UUID claimNode, @Nullable UUID lastOutside) {}

    private static final Columns.Shape JOURNAL_KEYS = new Columns.Shape().with(TEXT, "path").with(INT4, "attempt", "n");

    private static final String FIND_JOURNAL =
            """
            SELECT 1 FROM %s JOIN receipt_journal j USING (path, attempt, n)
             WHERE j.tenant_id = ? AND j.instance_id = ? AND j.transition_id = ? LIMIT 1
            """
                    .formatted(JOURNAL_KEYS.from("k"));

    private static final Columns.Shape FROM = new Columns.Shape().with(TEXT, "path").with(INT4, "attempt", "n").with(TEXT, "from_state");

    /** Which row of a journal starts from another state than the one before it reached. */
    private static final String FIND_ELSEWHERE =
            """
            SELECT 'journal ' || f.path || '#' || f.attempt || ' is not ' || f.from_state || ' at n=' || f.n - 1
              FROM %s LEFT JOIN receipt_journal j
                ON j.tenant_id = ? AND j.instance_id = ? AND j.path = f.path AND j.attempt = f.attempt AND j.n = f.n - 1
             WHERE j.to_state IS DISTINCT FROM f.from_state LIMIT 1
            """
                    .formatted(FROM.from("f"));

    private static final Columns.Shape EVIDENCE = new Columns.Shape()
            .with(TEXT, "path")
            .with(INT4, "attempt")
            .with(TEXT, "kind", "actor", "body")
            .with(BYTEA, "bytes");

    private static final String INSERT_EVIDENCE =
            """
            INSERT INTO effect_evidence (tenant_id, instance_id, transition_id, path, attempt, kind, actor, body, bytes)
            SELECT ?, ?::uuid, ?::uuid, path, attempt, kind, actor, body, bytes FROM %s
            """
                    .formatted(EVIDENCE.from("x"));

    /**
     * A raised epoch voids the claim: a claimed instance becomes due again, unless it is to be paused. Otherwise position and claim stay
     * the owner's, and only an unclaimed instance is woken.
     */
    private static final String UPDATE =
            """
            UPDATE task_instances i
               SET wake_seq = i.wake_seq + 1,
                   cancel_requested = coalesce(?::boolean, i.cancel_requested),
                   pause_requested = coalesce(?::boolean, i.pause_requested),
                   claim_epoch = CASE WHEN d.raises THEN i.claim_epoch + 1 ELSE i.claim_epoch END,
                   claim_nonce = CASE WHEN d.raises THEN '00000000-0000-0000-0000-000000000000' ELSE i.claim_nonce END,
                   claim_node = CASE WHEN d.raises THEN NULL ELSE i.claim_node END,
                   state = CASE WHEN d.pauses THEN 'paused' WHEN d.wakes THEN 'scheduled' ELSE i.state END,
                   reasons = CASE WHEN d.pauses THEN d.pause_reasons ELSE i.reasons END,
                   next_fire_at = CASE WHEN d.pauses THEN NULL WHEN d.wakes THEN now() ELSE i.next_fire_at END,
                   last_outside = ?::uuid,
                   updated_at = now()
              FROM (SELECT c.tenant_id, c.id, r.raises, r.pause_reasons,
                           r.pause_reasons IS NOT NULL AND r.raises AND c.state NOT IN ('completed', 'failed', 'cancelled') AS pauses,
                           CASE WHEN c.claim_node IS NULL THEN c.state = ANY (?::text[]) ELSE r.raises END AS wakes
                      FROM task_instances c
                     CROSS JOIN (SELECT ?::boolean AS raises, ?::text AS pause_reasons) r
                     WHERE c.tenant_id = ? AND c.id = ?) d
             WHERE i.tenant_id = d.tenant_id AND i.id = d.id
            RETURNING i.state, i.wake_seq,
                      CASE WHEN i.next_fire_at <= now() THEN pg_notify('%s', '') IS NULL END
            """
                    .formatted(PostgresStore.CHANNEL);

    private final Links.Source pool;

    PgOutside(Links.Source pool) {
        this.pool = pool;
    }

    OutsideAnswer settle(OutsideMove move) {
        for (int run = 1; ; run++) {
            boolean begun = false;
            try (Connection connection = pool.open()) {
                begun = true;
                connection.setAutoCommit(false);
                try {
                    OutsideAnswer answer = settle(connection, move);
                    connection.setAutoCommit(true);
                    return answer;
                } catch (SQLException | RuntimeException e) {
                    rollback(connection, e);
                    throw e;
                }
            } catch (SQLException e) {
                if (!begun) {
                    throw PgErrors.store("no connection for a move of " + move.instance(), e);
                }
                if (!PgErrors.mayRunAgain(e) || run == MAX_RUNS) {
                    throw PgErrors.ofWrite("move of " + move.instance(), e);
                }
            }
        }
    }

    /** Before the connection goes back: switching auto-commit on would commit what is half done. */
    private static void rollback(Connection connection, Exception why) {
        try {
            if (!connection.getAutoCommit()) {
                connection.rollback();
                connection.setAutoCommit(true);
            }
        } catch (SQLException e) {
            why.addSuppressed(e);
        }
    }

    private static OutsideAnswer settle(Connection connection, OutsideMove move) throws SQLException {
        connection.clearWarnings();
        InstanceKey key = move.instance();
        Optional<Locked> found = Sql.first(
                connection,
                LOCK,
                row -> new Locked(
                        InstanceState.ofWire(row.getString(1)), row.getLong(2), row.getObject(3, UUID.class), row.getObject(4, UUID.class)),
                key.tenant(),
                key.id());
        if (found.isEmpty()) {
            connection.rollback();
            return new OutsideAnswer.NotFound();
        }
        Locked locked = found.get();
        if (move.transitionId().equals(locked.lastOutside()) || wroteJournal(connection, move)) {
            // The commit writes nothing, but it waits for the standby as the first one should have.
            commit(connection);
            return new OutsideAnswer.Applied(locked.state(), locked.wakeSeq(), locked.claimNode());
        }
        String unexpected = unexpected(move, locked);
        if (unexpected == null) {
            unexpected = elsewhere(connection, move);
        }
        if (unexpected == null) {
            try {
                OutsideAnswer answer = write(connection, move, locked);
                commit(connection);
                return answer;
            } catch (SQLException e) {
                if (!PgErrors.uniqueViolation(e)) {
                    throw e;
                }
                unexpected = String.valueOf(e.getMessage());
            }
        }
        connection.rollback();
        return new OutsideAnswer.Conflict(locked.state(), locked.wakeSeq(), unexpected);
    }

    private static void commit(Connection connection) throws SQLException {
        connection.commit();
        PgErrors.refuseWarning(connection.getWarnings());
    }

    private static boolean wroteJournal(Connection connection, OutsideMove move) throws SQLException {
        if (move.journal().isEmpty()) {
            return false;
        }
        Columns keys = new Columns(JOURNAL_KEYS);
        move.journal().forEach(row -> keys.add(row.path(), row.attempt(), row.n()));
        try (PreparedStatement statement = connection.prepareStatement(FIND_JOURNAL)) {
            int next = keys.bind(statement, 1);
            statement.setString(next, move.instance().tenant());
            statement.setObject(next + 1, move.instance().id());
            statement.setObject(next + 2, move.transitionId());
            try (var row = statement.executeQuery()) {
                return row.next();
            }
        }
    }

    private static @Nullable String elsewhere(Connection connection, OutsideMove move) throws SQLException {
        List<JournalRow> continuing = move.continuing();
        if (continuing.isEmpty()) {
            return null;
        }
        Columns from = new Columns(FROM);
        continuing.forEach(row -> from.add(row.path(), row.attempt(), row.n(), row.from().wire()));
        try (PreparedStatement statement = connection.prepareStatement(FIND_ELSEWHERE)) {
            int next = from.bind(statement, 1);
            statement.setString(next, move.instance().tenant());
            statement.setObject(next + 1, move.instance().id());
            try (var row = statement.executeQuery()) {
                return row.next() ? row.getString(1) : null;
            }
        }
    }

    private static @Nullable String unexpected(OutsideMove move, Locked locked) {
        if (!move.expectedStates().isEmpty() && !move.expectedStates().contains(locked.state())) {
            return "the instance is " + locked.state().wire();
        }
        Long expected = move.expectedWakeSeq();
        return expected != null && expected != locked.wakeSeq() ? "wake_seq is " + locked.wakeSeq() + ", not " + expected : null;
    }

    private static OutsideAnswer write(Connection connection, OutsideMove move, Locked locked) throws SQLException {
        InstanceKey key = move.instance();
        List<JournalRow> journal = move.journal().stream().map(TextRule.UTF8_WITHOUT_NUL::kept).toList();
        Columns receipts = new Columns(Rows.RECEIPTS);
        Columns rows = new Columns(Rows.JOURNAL);
        Columns blocks = new Columns(Rows.BLOCKS);
        Columns events = new Columns(Rows.EVENTS);
        Columns opens = new Columns(Rows.OPENS);
        Columns closes = new Columns(Rows.CLOSES);
        for (ReceiptRow row : move.missingReceipts()) {
            Rows.addReceipt(receipts, 1, key, receipts.size(), row);
            if (row.prepared() && journal.stream().noneMatch(it -> it.path().equals(row.path()) && it.attempt() == row.attempt())) {
                opens.add(1, key.tenant(), key.id(), row.path(), row.attempt(), "prepared", null, null);
            }
        }
        journal.forEach(row -> Rows.addJournal(rows, 1, key, row));
        Rows.addQueue(opens, closes, 1, key, journal);
        for (BlockRow row : move.rows()) {
            Rows.addBlock(blocks, 1, key, row);
        }
        for (Event event : move.events()) {
            Rows.addEvent(events, 1, false, key, event);
        }
        execute(connection, Rows.insertReceipts("true"), receipts);
        execute(connection, Rows.insertJournal("true"), rows);
        execute(connection, Rows.deleteOpens("true"), closes);
        execute(connection, Rows.insertOpens("true"), opens);
        execute(connection, Rows.insertBlocks("true"), blocks);
        execute(connection, Rows.insertEvents("true"), events);
        evidence(connection, move);
        PgInvariants.free(connection, key, move.freedGuards());
        AuditRow audit = move.audit();
        if (audit != null) {
            Sql.update(
                    connection,
                    "INSERT INTO audit_log (tenant_id, actor, action, subject, details) VALUES (?, ?, ?, ?, ?)",
                    key.tenant(),
                    audit.actor(),
                    audit.action(),
                    audit.subject(),
                    audit.details());
        }
        return Sql.first(
                        connection,
                        UPDATE,
                        row -> new OutsideAnswer.Applied(InstanceState.ofWire(row.getString(1)), row.getLong(2), locked.claimNode()),
                        move.cancel(),
                        move.pause(),
                        move.transitionId(),
                        connection.createArrayOf(
                                "text", move.wakeFrom().stream().map(InstanceState::wire).toArray(String[]::new)),
                        move.raiseEpoch(),
                        move.pauseReasons(),
                        key.tenant(),
                        key.id())
                .orElseThrow();
    }

    private static void evidence(Connection connection, OutsideMove move) throws SQLException {
        if (move.evidence().isEmpty()) {
            return;
        }
        Columns columns = new Columns(EVIDENCE);
        for (EvidenceRow row : move.evidence()) {
            columns.add(row.path(), row.attempt(), row.kind(), row.actor(), row.body(), row.bytes());
        }
        try (PreparedStatement statement = connection.prepareStatement(INSERT_EVIDENCE)) {
            statement.setString(1, move.instance().tenant());
            statement.setObject(2, move.instance().id());
            statement.setObject(3, move.transitionId());
            columns.bind(statement, 4);
            statement.executeUpdate();
        }
    }

    private static void execute(Connection connection, String sql, Columns columns) throws SQLException {
        if (columns.isEmpty()) {
            return;
        }
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            columns.bind(statement, 1);
            statement.executeUpdate();
        }
    }
}
