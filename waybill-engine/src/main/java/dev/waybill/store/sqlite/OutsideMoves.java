package dev.waybill.store.sqlite;

import dev.waybill.model.InstanceKey;
import dev.waybill.model.InstanceState;
import dev.waybill.store.AuditRow;
import dev.waybill.store.BlockRow;
import dev.waybill.store.EvidenceRow;
import dev.waybill.store.JournalRow;
import dev.waybill.store.OutsideAnswer;
import dev.waybill.store.OutsideMove;
import dev.waybill.store.ReceiptRow;
import dev.waybill.store.TextRule;
import java.sql.SQLException;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.sqlite.SQLiteException;

/** Moves of whoever is not the owner, in the caller's transaction. */
final class OutsideMoves {
    private record Row(
            InstanceState state,
            long epoch,
            byte[] nonce,
            @Nullable UUID node,
            @Nullable Long nextFireAt,
            long wakeSeq,
            boolean cancel,
            boolean pause,
            @Nullable String reasons,
            @Nullable UUID lastOutside) {}

    private OutsideMoves() {}

    static OutsideAnswer run(Db db, OutsideMove move, long now) throws SQLException {
        InstanceKey key = move.instance();
        Optional<Row> found = db.sql("""
                        SELECT state, claim_epoch, claim_nonce, claim_node, next_fire_at, wake_seq, cancel_requested, pause_requested, reasons,
                               last_outside
                          FROM task_instances WHERE tenant_id = ? AND id = ?""")
                .text(key.tenant())
                .uuid(key.id())
                .first(row -> new Row(
                        InstanceState.ofWire(row.getString(1)), row.getLong(2), row.getBytes(3), Db.optionalUuid(row, 4),
                        Db.optionalLong(row, 5), row.getLong(6), row.getInt(7) == 1, row.getInt(8) == 1, row.getString(9),
                        Db.optionalUuid(row, 10)));
        if (found.isEmpty()) {
            return new OutsideAnswer.NotFound();
        }
        Row row = found.get();
        UUID transition = move.transitionId();
        if (transition.equals(row.lastOutside())
                || Rows.wrote(db, key, transition, move.journal(), move.rows(), move.missingReceipts())
                || noted(db, move)) {
            return new OutsideAnswer.Applied(row.state(), row.wakeSeq(), row.node());
        }
        if (!move.expectedStates().isEmpty() && !move.expectedStates().contains(row.state())) {
            return new OutsideAnswer.Conflict(row.state(), row.wakeSeq(), "state " + row.state().wire());
        }
        if (move.expectedWakeSeq() != null && move.expectedWakeSeq() != row.wakeSeq()) {
            return new OutsideAnswer.Conflict(row.state(), row.wakeSeq(), "wake_seq " + row.wakeSeq());
        }
        for (JournalRow next : move.continuing()) {
            boolean follows = db.sql("""
                            SELECT 1 FROM receipt_journal
                             WHERE tenant_id = ? AND instance_id = ? AND path = ? AND attempt = ? AND n = ? AND to_state = ?""")
                    .text(key.tenant())
                    .uuid(key.id())
                    .text(next.path())
                    .number(next.attempt())
                    .number(next.n() - 1)
                    .text(next.from().wire())
                    .exists();
            if (!follows) {
                String what = "journal " + next.path() + "#" + next.attempt() + " is not " + next.from().wire() + " at n=" + (next.n() - 1);
                return new OutsideAnswer.Conflict(row.state(), row.wakeSeq(), what);
            }
        }
        db.execute("SAVEPOINT move");
        String clash = write(db, move, now);
        if (clash != null) {
            db.execute("ROLLBACK TO move");
        }
        db.execute("RELEASE move");
        return clash == null ? moved(db, move, row, now) : new OutsideAnswer.Conflict(row.state(), row.wakeSeq(), clash);
    }

    /** A repeat of a move whose only rows are evidence. */
    private static boolean noted(Db db, OutsideMove move) throws SQLException {
        for (EvidenceRow row : move.evidence()) {
            boolean ours = db.sql("""
                            SELECT 1 FROM effect_evidence
                             WHERE tenant_id = ? AND instance_id = ? AND path = ? AND attempt = ? AND transition_id = ?""")
                    .text(move.instance().tenant())
                    .uuid(move.instance().id())
                    .text(row.path())
                    .number(row.attempt())
                    .uuid(move.transitionId())
                    .exists();
            if (ours) {
                return true;
            }
        }
        return false;
    }

    /**
     * @return which row is there already, or null
     */
    private static @Nullable String write(Db db, OutsideMove move, long now) throws SQLException {
        InstanceKey key = move.instance();
        String at = "";
        try {
            for (ReceiptRow receipt : move.missingReceipts()) {
                at = "receipt " + receipt.path() + "#" + receipt.attempt();
                Rows.insert(db, key, receipt, now);
            }
            for (JournalRow row : move.journal()) {
                at = "journal " + row.path() + "#" + row.attempt() + " n=" + row.n();
                Rows.insert(db, key, TextRule.UTF8.kept(row), now);
            }
            for (BlockRow block : move.rows()) {
                at = "block " + block.path() + " n=" + block.n();
                Rows.insert(db, key, block, now);
            }
        } catch (SQLiteException e) {
            if (Commits.taken(e)) {
                return at;
            }
            throw e;
        }
        for (EvidenceRow row : move.evidence()) {
            Rows.insert(db, key, row, move.transitionId(), now);
        }
        Rows.insert(db, key, move.events(), now);
        Invariants.free(db, key, move.freedGuards());
        AuditRow audit = move.audit();
        if (audit != null) {
            db.sql("INSERT INTO audit_log (tenant_id, at, actor, action, subject, details) VALUES (?, ?, ?, ?, ?, ?)")
                    .text(key.tenant())
                    .number(now)
                    .text(audit.actor())
                    .text(audit.action())
                    .text(audit.subject())
                    .text(audit.details())
                    .update();
        }
        return null;
    }

    private static OutsideAnswer moved(Db db, OutsideMove move, Row row, long now) throws SQLException {
        InstanceState state = row.state();
        Long nextFireAt = row.nextFireAt();
        UUID node = row.node();
        String reasons = row.reasons();
        boolean pausedNow = move.raiseEpoch() && move.pauseReasons() != null && !state.terminal();
        if (pausedNow) {
            state = InstanceState.PAUSED;
            nextFireAt = null;
            reasons = move.pauseReasons();
        } else if (move.raiseEpoch() && node != null) {
            state = InstanceState.SCHEDULED;
            nextFireAt = now;
        }
        if (move.raiseEpoch()) {
            node = null;
        }
        if (!pausedNow && node == null && move.wakeFrom().contains(state)) {
            state = InstanceState.SCHEDULED;
            nextFireAt = now;
        }
        db.sql("""
                        UPDATE task_instances
                           SET state = ?, claim_epoch = ?, claim_nonce = ?, claim_node = ?, next_fire_at = ?, wake_seq = wake_seq + 1,
                               cancel_requested = ?, pause_requested = ?, reasons = ?, last_outside = ?, updated_at = ?
                         WHERE tenant_id = ? AND id = ?""")
                .text(state.wire())
                .number(move.raiseEpoch() ? row.epoch() + 1 : row.epoch())
                .bytes(move.raiseEpoch() ? new byte[16] : row.nonce())
                .uuid(node)
                .number(nextFireAt)
                .flag(Objects.requireNonNullElse(move.cancel(), row.cancel()))
                .flag(Objects.requireNonNullElse(move.pause(), row.pause()))
                .text(reasons)
                .uuid(move.transitionId())
                .number(now)
                .text(move.instance().tenant())
                .uuid(move.instance().id())
                .update();
        return new OutsideAnswer.Applied(state, row.wakeSeq() + 1, row.node());
    }
}
