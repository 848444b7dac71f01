package dev.waybill.store.sqlite;

import dev.waybill.model.InstanceKey;
import dev.waybill.model.InstanceState;
import dev.waybill.store.BlockRow;
import dev.waybill.store.Commit;
import dev.waybill.store.CommitAnswer;
import dev.waybill.store.CommitAnswer.IntentAnswer;
import dev.waybill.store.CommitAnswer.ReleaseAnswer;
import dev.waybill.store.InvariantRows.Holder;
import dev.waybill.store.JournalRow;
import dev.waybill.store.ReceiptRow;
import dev.waybill.store.Release;
import dev.waybill.store.TextRule;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.sqlite.SQLiteErrorCode;
import org.sqlite.SQLiteException;

/**
 * The owner's commits. The claim is compared in Java from the row just read: this thread is the only writer and the transaction holds
 * the write lock, so nothing can come between.
 */
final class Commits {
    /** A member met a row that is there already while no savepoint stood before it: the batch must run again, carefully. */
    static final class Clash extends Exception {
        private static final long serialVersionUID = 1L;
        static final Clash INSTANCE = new Clash();

        private Clash() {
            super("a row is there already", null, false, false);
        }
    }

    private record Row(
            long epoch,
            UUID nonce,
            @Nullable UUID node,
            long wakeSeq,
            boolean cancel,
            boolean pause,
            @Nullable UUID lastTransition) {}

    private final Db db;
    private final @Nullable UUID node;
    private final boolean again;
    private final boolean careful;
    private final long now;

    /**
     * @param node    who commits, or null when its lease is over
     * @param careful false: no savepoints, and the first row that is there already ends the attempt with {@link Clash}. A savepoint for
     *                every member would cost every batch for what happens once in a thousand
     */
    Commits(Db db, @Nullable UUID node, boolean again, boolean careful, long now) {
        this.db = db;
        this.node = node;
        this.again = again;
        this.careful = careful;
        this.now = now;
    }

    List<CommitAnswer> run(List<Commit> batch) throws SQLException, Clash {
        List<CommitAnswer> answers = new ArrayList<>(batch.size());
        for (Commit commit : batch) {
            answers.add(run(commit));
        }
        return answers;
    }

    private CommitAnswer run(Commit submitted) throws SQLException, Clash {
        Optional<Row> found = db.sql("""
                        SELECT claim_epoch, claim_nonce, claim_node, wake_seq, cancel_requested, pause_requested, last_transition
                          FROM task_instances WHERE tenant_id = ? AND id = ?""")
                .text(submitted.instance().tenant())
                .uuid(submitted.instance().id())
                .first(row -> new Row(
                        row.getLong(1), Db.uuid(row, 2), Db.optionalUuid(row, 3), row.getLong(4), row.getInt(5) == 1, row.getInt(6) == 1,
                        Db.optionalUuid(row, 7)));
        if (found.isEmpty()) {
            return new CommitAnswer.ClaimLost();
        }
        Row row = found.get();
        Commit asked = submitted;
        Commit commit = TextRule.UTF8.kept(asked);
        boolean held = row.node() != null && row.epoch() == commit.claim().epoch() && row.nonce().equals(commit.claim().nonce());
        boolean send = alive(row) && !commit.held(row.cancel(), row.pause()) && !commit.overtaken(row.wakeSeq()) && !commit.intents().isEmpty();
        boolean last = commit.transitionId().equals(row.lastTransition());
        // Where the first one would clash with its own rows, the clash finds it; where it would not, it must be looked for.
        boolean look = again || !held || (!send && !commit.intents().isEmpty());
        if (last || (look && wrote(commit))) {
            return repeated(row, asked, commit, held);
        }
        if (!held) {
            return new CommitAnswer.ClaimLost();
        }
        Map<String, Holder> duplicates = send && !commit.invariants().guards().isEmpty() ? Invariants.duplicates(db, commit, now) : Map.of();
        if (!duplicates.isEmpty()) {
            boolean storable = commit == asked;
            asked = asked.withoutIntents(duplicates.keySet());
            commit = storable ? asked : commit.withoutIntents(duplicates.keySet());
            send = !commit.intents().isEmpty();
        }
        if (!careful) {
            String clash = write(row, commit, send);
            if (clash != null) {
                throw Clash.INSTANCE;
            }
        } else {
            db.execute("SAVEPOINT member");
            String clash = write(row, commit, send);
            if (clash != null) {
                db.execute("ROLLBACK TO member");
            }
            db.execute("RELEASE member");
            if (clash != null) {
                return wrote(commit) ? repeated(row, asked, commit, true) : new CommitAnswer.Conflict(clash);
            }
        }
        Release release = commit.release();
        return settled(row, asked, commit, send, release != null && release.expectedWakeSeq() == row.wakeSeq()).with(duplicates);
    }

    /** Who was fenced and came back under another id sends nothing under the old claim. */
    private boolean alive(Row row) {
        return node != null && (row.node() == null || row.node().equals(node));
    }

    private boolean wrote(Commit commit) throws SQLException {
        return Rows.wrote(db, commit.instance(), commit.transitionId(), commit.settles(), commit.rows(), commit.intents());
    }

    private CommitAnswer repeated(Row row, Commit asked, Commit commit, boolean held) throws SQLException {
        Map<String, Holder> duplicates = Invariants.duplicates(db, commit, now);
        boolean sent = !commit.intents().isEmpty();
        for (ReceiptRow intent : commit.intents()) {
            sent = sent && (duplicates.containsKey(intent.path()) || Rows.wrote(db, commit.instance(), commit.transitionId(), intent));
        }
        return settled(row, asked, commit, sent, commit.release() != null && !held).with(duplicates);
    }

    private CommitAnswer.Settled settled(Row row, Commit asked, Commit kept, boolean sent, boolean released) {
        IntentAnswer intents;
        if (asked.intents().isEmpty()) {
            intents = IntentAnswer.NONE;
        } else if (sent) {
            intents = IntentAnswer.DISPATCHED;
        } else {
            intents = IntentAnswer.held(alive(row), asked.held(row.cancel(), row.pause()), asked.overtaken(row.wakeSeq()));
        }
        ReleaseAnswer release = asked.release() == null ? ReleaseAnswer.NONE : released ? ReleaseAnswer.RELEASED : ReleaseAnswer.NEWS;
        return new CommitAnswer.Settled(
                intents, release, row.wakeSeq(), row.cancel(), row.pause(), kept != asked, Db.time(now));
    }

    /**
     * @return which row is there already, or null when everything was written
     */
    private @Nullable String write(Row row, Commit commit, boolean send) throws SQLException {
        InstanceKey key = commit.instance();
        String at = "";
        try {
            for (JournalRow move : commit.settles()) {
                at = "journal " + move.path() + "#" + move.attempt() + " n=" + move.n();
                Rows.insert(db, key, move, now);
            }
            for (BlockRow block : commit.rows()) {
                at = "block " + block.path() + " n=" + block.n();
                Rows.insert(db, key, block, now);
            }
            if (send) {
                for (ReceiptRow intent : commit.intents()) {
                    at = "receipt " + intent.path() + "#" + intent.attempt();
                    Rows.insert(db, key, intent, now);
                }
                Invariants.take(db, commit, now);
            }
        } catch (SQLiteException e) {
            if (taken(e)) {
                return at;
            }
            throw e;
        }
        Rows.insert(db, key, commit.events(), now);
        Release release = commit.release();
        boolean released = release != null && release.expectedWakeSeq() == row.wakeSeq();
        if (release != null && released) {
            release(commit, release);
        } else if (commit.resetTakeover() || (commit.settles().isEmpty() && commit.rows().isEmpty() && !send)) {
            // Without rows of its own the commit must be remembered here.
            db.sql("""
                            UPDATE task_instances
                               SET last_transition = ?, updated_at = ?, takeovers = CASE WHEN ? THEN 0 ELSE takeovers END
                             WHERE tenant_id = ? AND id = ?""")
                    .uuid(commit.transitionId())
                    .number(now)
                    .flag(commit.resetTakeover())
                    .text(key.tenant())
                    .uuid(key.id())
                    .update();
        }
        Invariants.free(db, key, commit.invariants().freed(released));
        Invariants.insert(db, commit, commit.invariants().results(released), now);
        return null;
    }

    private void release(Commit commit, Release release) throws SQLException {
        Long fireIn = release.fireInMillis();
        boolean looksAgain = !release.to().terminal() && release.to() != InstanceState.PAUSED && fireIn != null;
        db.sql("""
                        UPDATE task_instances
                           SET state = ?, claim_node = NULL, next_fire_at = ?, reasons = ?, outcome = ?, last_transition = ?, updated_at = ?,
                               takeovers = CASE WHEN ? THEN 0 ELSE takeovers END
                         WHERE tenant_id = ? AND id = ?""")
                .text(release.to().wire())
                .number(looksAgain && fireIn != null ? Rows.later(now, fireIn) : null)
                .text(release.reasons())
                .text(release.outcome())
                .uuid(commit.transitionId())
                .number(now)
                .flag(commit.resetTakeover())
                .text(commit.instance().tenant())
                .uuid(commit.instance().id())
                .update();
        Rows.insert(db, commit.instance(), release.events(), now);
    }

    /** True when a key is taken; any other constraint is a bug and must be loud. */
    static boolean taken(SQLiteException e) {
        SQLiteErrorCode code = e.getResultCode();
        return code == SQLiteErrorCode.SQLITE_CONSTRAINT_PRIMARYKEY
                || code == SQLiteErrorCode.SQLITE_CONSTRAINT_UNIQUE
                || code == SQLiteErrorCode.SQLITE_CONSTRAINT_ROWID;
    }
}
