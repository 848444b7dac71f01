package dev.waybill.store.postgres;

import static dev.waybill.store.postgres.Columns.Type.BOOL;
import static dev.waybill.store.postgres.Columns.Type.INT8;
import static dev.waybill.store.postgres.Columns.Type.TEXT;
import static dev.waybill.store.postgres.Columns.Type.UUID;

import dev.waybill.model.InstanceKey;
import dev.waybill.model.InstanceState;
import dev.waybill.store.Commit;
import dev.waybill.store.CommitAnswer;
import dev.waybill.store.CommitAnswer.IntentAnswer;
import dev.waybill.store.CommitAnswer.ReleaseAnswer;
import dev.waybill.store.ReceiptRow;
import dev.waybill.store.Release;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.atomic.AtomicReferenceArray;
import org.jspecify.annotations.Nullable;

/**
 * A batch of owners' moves as one statement (store.md, commit protocol): lock the instances, keep the members whose claim holds, write
 * what belongs to those. Parts without rows are left out of the text, so that a small commit does not pay for what it does not do.
 *
 * <p>All parts share one snapshot, but {@code own} reads the locked, newest version of each instance and every decision is taken from
 * its columns. The UPDATE meets the same version: READ COMMITTED follows the row to it, and nobody else can change it under the lock.
 */
final class CommitStatement {
    private static final Columns.Shape MEMBERS = new Columns.Shape()
            .with(TEXT, "tenant_id")
            .with(UUID, "id")
            .with(INT8, "claim_epoch")
            .with(UUID, "claim_nonce")
            .with(TEXT, "to_state")
            .with(INT8, "expected_wake_seq", "intents_wake_seq")
            .with(BOOL, "compensates");

    private static final Columns.Shape MOVES = new Columns.Shape()
            .with(Columns.Type.INT4, "ord")
            .with(TEXT, "tenant_id")
            .with(UUID, "id", "transition_id")
            .with(TEXT, "to_state")
            .with(INT8, "fire_in_millis")
            .with(TEXT, "reasons", "outcome")
            .with(BOOL, "reset_takeover", "lone_intent");

    /** Bits of {@code code}: what a member may write. */
    private static final String OWNS = "(SELECT a FROM code)[x.ord] & 1 <> 0";
    private static final String DISPATCHES = "(SELECT a FROM code)[x.ord] & 2 <> 0";
    private static final String RELEASES = "(SELECT a FROM code)[x.ord] & 4 <> 0";

    private static final String HEAD =
            """
            WITH own AS MATERIALIZED (
              -- The row lock is the fence: a predicate without it lets a takeover commit in between. Members come in key order, so two
              -- batches never wait for each other crosswise. The lease is judged after the lock was had, not before the wait for it; it is
              -- that of the node that claimed: who was fenced and came back under another id sends nothing under the old claim.
              SELECT m.ord, i.wake_seq, i.cancel_requested, i.pause_requested, m.compensates,
                     m.to_state IS NOT NULL AND i.wake_seq = m.expected_wake_seq AS releases,
                     i.wake_seq IS DISTINCT FROM coalesce(m.intents_wake_seq, i.wake_seq) AS overtaken,
                     coalesce((SELECT n.expires_at FROM nodes n WHERE n.id = ?::uuid AND n.id = i.claim_node AND NOT n.fenced)
                              > clock_timestamp(), false) AS live
                FROM %s
                LEFT JOIN LATERAL (
                  SELECT i.wake_seq, i.cancel_requested, i.pause_requested, i.claim_node
                    FROM task_instances i
                   WHERE i.tenant_id = m.tenant_id AND i.id = m.id
                     AND i.claim_epoch = m.claim_epoch AND i.claim_nonce = m.claim_nonce AND i.claim_node IS NOT NULL
                     FOR NO KEY UPDATE) i ON true
            ), code AS MATERIALIZED (
              -- An array, not a join: looking a member up by its number costs nothing and no planner can get it wrong.
              SELECT array_agg(CASE WHEN wake_seq IS NULL THEN 0
                                    ELSE 1 + CASE WHEN live AND (compensates OR NOT cancel_requested) AND NOT pause_requested AND NOT overtaken THEN 2 ELSE 0 END
                                           + CASE WHEN releases THEN 4 ELSE 0 END END ORDER BY ord) AS a
                FROM own
            )"""
                    .formatted(MEMBERS.fromOrdered("m"));

    /** A lone intent that is held leaves no row but this mark, by which its repeat finds that it was held. */
    private static final String UPDATE =
            """
            UPDATE task_instances i
               SET state = CASE WHEN %1$s THEN x.to_state ELSE i.state END,
                   next_fire_at = CASE WHEN %1$s THEN now() + x.fire_in_millis * interval '1 millisecond' ELSE i.next_fire_at END,
                   claim_node = CASE WHEN %1$s THEN NULL ELSE i.claim_node END,
                   reasons = CASE WHEN %1$s THEN x.reasons ELSE i.reasons END,
                   outcome = CASE WHEN %1$s THEN x.outcome ELSE i.outcome END,
                   takeovers = CASE WHEN x.reset_takeover THEN 0 ELSE i.takeovers END,
                   last_transition = x.transition_id,
                   updated_at = now()
              FROM %2$s
             WHERE i.tenant_id = x.tenant_id AND i.id = x.id
               AND (%1$s OR x.reset_takeover AND %3$s OR x.lone_intent AND %3$s AND NOT %4$s)
            RETURNING i.next_fire_at <= now() AS due
            """
                    .formatted(RELEASES, MOVES.from("x"), OWNS, "(" + DISPATCHES + ")");

    /** Prepared intents wait in the queue; their receipts are not visible to this statement but through RETURNING. */
    private static final String OPEN_PREPARED =
            """
            INSERT INTO effect_open (tenant_id, instance_id, path, attempt, id, at, claim_epoch, state, kind, destination,
                   destination_fingerprint, request_sha256, idempotency_key, labels)
            SELECT tenant_id, instance_id, path, attempt, id, at, claim_epoch, state, kind, destination,
                   destination_fingerprint, request_sha256, idempotency_key, labels
              FROM receipts
             WHERE state = 'prepared'
            """;

    private static final String RETURNING =
            """
            RETURNING tenant_id, instance_id, path, attempt, id, at, claim_epoch, state, kind, destination, destination_fingerprint,
                      request_sha256, idempotency_key, labels
            """;

    /** A released instance that is due now is news for other nodes; rare, so the lock that NOTIFY takes at commit is too. */
    private static final String HINTS = "SELECT pg_notify('" + PostgresStore.CHANNEL + "', '') IS NULL AS told FROM moves WHERE due LIMIT 1";

    private static final String TAIL =
            """

            SELECT ord, wake_seq, cancel_requested, pause_requested, releases, live, now()%s FROM own ORDER BY ord""";

    private static final int JOURNAL = 1, RECEIPTS = 2, BLOCKS = 4, EVENTS = 8, MOVE = 16, OPEN = 32, CLOSE = 64, PREPARED = 128;
    private static final AtomicReferenceArray<@Nullable String> TEXTS = new AtomicReferenceArray<>(256);

    /**
     * One member of a batch.
     *
     * @param index      its place in the caller's list
     * @param asked      what the caller asked for
     * @param kept       what the database can keep of it; the same object when that is everything
     */
    record Member(int index, Commit asked, Commit kept) {
        boolean unstorable() {
            return asked != kept;
        }

        InstanceKey key() {
            return asked.instance();
        }

        Member withoutIntents(java.util.Set<String> paths) {
            Commit fewer = asked.withoutIntents(paths);
            return new Member(index, fewer, unstorable() ? kept.withoutIntents(paths) : fewer);
        }
    }

    private CommitStatement() {}

    /** Runs the statement in whatever transaction the connection is in; answers in the order of {@code members}. */
    static List<CommitAnswer> run(Connection connection, java.util.UUID node, List<Member> members) throws SQLException {
        Columns instances = new Columns(MEMBERS);
        Columns journal = new Columns(Rows.JOURNAL);
        Columns receipts = new Columns(Rows.RECEIPTS);
        Columns blocks = new Columns(Rows.BLOCKS);
        Columns events = new Columns(Rows.EVENTS);
        Columns moves = new Columns(MOVES);
        Columns opens = new Columns(Rows.OPENS);
        Columns closes = new Columns(Rows.CLOSES);
        boolean prepared = false;
        for (int i = 0; i < members.size(); i++) {
            int ord = i + 1;
            Commit commit = members.get(i).kept();
            InstanceKey key = commit.instance();
            Release release = commit.release();
            instances.add(
                    key.tenant(), key.id(), commit.claim().epoch(), commit.claim().nonce(),
                    release == null ? null : release.to().wire(), release == null ? null : release.expectedWakeSeq(),
                    commit.intentsAtWakeSeq(), commit.compensates());
            if (!commit.settles().isEmpty()) {
                commit.settles().forEach(row -> Rows.addJournal(journal, ord, key, row));
                Rows.addQueue(opens, closes, ord, key, commit.settles());
            }
            int ordinal = 0;
            for (ReceiptRow intent : commit.intents()) {
                Rows.addReceipt(receipts, ord, key, ordinal++, intent);
                prepared |= intent.prepared();
            }
            commit.rows().forEach(row -> Rows.addBlock(blocks, ord, key, row));
            commit.events().forEach(event -> Rows.addEvent(events, ord, false, key, event));
            boolean loneIntent = commit.settles().isEmpty() && commit.rows().isEmpty() && !commit.intents().isEmpty();
            if (release != null || commit.resetTakeover() || loneIntent) {
                moves.add(
                        ord, key.tenant(), key.id(), commit.transitionId(), release == null ? null : release.to().wire(),
                        release == null ? null : fireIn(release), release == null ? null : release.reasons(),
                        release == null ? null : release.outcome(), commit.resetTakeover(), loneIntent);
            }
            if (release != null) {
                release.events().forEach(event -> Rows.addEvent(events, ord, true, key, event));
            }
        }
        int parts = (journal.isEmpty() ? 0 : JOURNAL) | (receipts.isEmpty() ? 0 : RECEIPTS) | (blocks.isEmpty() ? 0 : BLOCKS)
                | (events.isEmpty() ? 0 : EVENTS) | (moves.isEmpty() ? 0 : MOVE) | (opens.isEmpty() ? 0 : OPEN)
                | (closes.isEmpty() ? 0 : CLOSE) | (prepared ? PREPARED : 0);
        try (PreparedStatement statement = connection.prepareStatement(text(parts))) {
            statement.setObject(1, node);
            int next = instances.bind(statement, 2);
            for (Columns part : List.of(journal, receipts, blocks, events, moves, opens, closes)) {
                if (!part.isEmpty()) {
                    next = part.bind(statement, next);
                }
            }
            try (ResultSet rows = statement.executeQuery()) {
                List<CommitAnswer> answers = answers(rows, members);
                PgErrors.refuseWarning(statement.getWarnings());
                return answers;
            }
        }
    }

    /** Null where nothing but news may wake the instance. */
    private static @Nullable Long fireIn(Release release) {
        Long fireIn = release.fireInMillis();
        return fireIn == null || release.to() == InstanceState.PAUSED || release.to().terminal() ? null : (Long) Rows.bounded(fireIn);
    }

    private static String text(int parts) {
        String known = TEXTS.get(parts);
        if (known != null) {
            return known;
        }
        StringBuilder sql = new StringBuilder(HEAD);
        part(sql, parts, JOURNAL, "journal", Rows.insertJournal(OWNS));
        part(sql, parts, RECEIPTS, "receipts", Rows.insertReceipts(DISPATCHES) + ((parts & PREPARED) == 0 ? "" : RETURNING));
        part(sql, parts, PREPARED, "prepared", OPEN_PREPARED);
        part(sql, parts, BLOCKS, "blocks", Rows.insertBlocks(OWNS));
        part(sql, parts, EVENTS, "events", Rows.insertEvents("CASE WHEN x.on_release THEN " + RELEASES + " ELSE " + OWNS + " END"));
        part(sql, parts, MOVE, "moves", UPDATE);
        part(sql, parts, MOVE, "hints", HINTS);
        part(sql, parts, OPEN, "opens", Rows.insertOpens(OWNS));
        part(sql, parts, CLOSE, "closes", Rows.deleteOpens(OWNS));
        String text = sql.append(TAIL.formatted((parts & MOVE) == 0 ? "" : ", (SELECT count(told) FROM hints)")).toString();
        TEXTS.set(parts, text);
        return text;
    }

    private static void part(StringBuilder sql, int parts, int bit, String name, String text) {
        if ((parts & bit) != 0) {
            sql.append(", ").append(name).append(" AS (\n").append(text).append(")");
        }
    }

    private static List<CommitAnswer> answers(ResultSet rows, List<Member> members) throws SQLException {
        List<CommitAnswer> answers = new ArrayList<>(members.size());
        Instant now = Instant.EPOCH;
        for (Member member : members) {
            rows.next();
            if (answers.isEmpty()) {
                now = rows.getObject(7, OffsetDateTime.class).toInstant();
            }
            long wakeSeq = rows.getLong(2);
            if (rows.wasNull()) {
                answers.add(new CommitAnswer.ClaimLost());
                continue;
            }
            boolean cancel = rows.getBoolean(3);
            boolean pause = rows.getBoolean(4);
            answers.add(new CommitAnswer.Settled(
                    intents(member, rows.getBoolean(6), member.asked().held(cancel, pause), wakeSeq), release(member, rows.getBoolean(5)), wakeSeq, cancel, pause,
                    member.unstorable(), now));
        }
        return answers;
    }

    private static IntentAnswer intents(Member member, boolean live, boolean flagged, long wakeSeq) {
        if (member.asked().intents().isEmpty()) {
            return IntentAnswer.NONE;
        }
        boolean stopped = flagged || member.kept().intents().isEmpty();
        boolean overtaken = member.asked().overtaken(wakeSeq);
        return live && !stopped && !overtaken ? IntentAnswer.DISPATCHED : IntentAnswer.held(live, stopped, overtaken);
    }

    private static ReleaseAnswer release(Member member, boolean released) {
        if (member.asked().release() == null) {
            return ReleaseAnswer.NONE;
        }
        return released ? ReleaseAnswer.RELEASED : ReleaseAnswer.NEWS;
    }
}
