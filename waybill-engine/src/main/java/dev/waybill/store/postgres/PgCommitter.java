package dev.waybill.store.postgres;

import static dev.waybill.store.postgres.Columns.Type.INT4;
import static dev.waybill.store.postgres.Columns.Type.TEXT;
import static dev.waybill.store.postgres.Columns.Type.UUID;

import dev.waybill.model.Claim;
import dev.waybill.model.InstanceKey;
import dev.waybill.store.Commit;
import dev.waybill.store.CommitAnswer;
import dev.waybill.store.CommitAnswer.IntentAnswer;
import dev.waybill.store.CommitAnswer.ReleaseAnswer;
import dev.waybill.store.InvariantRows;
import dev.waybill.store.JournalRow;
import dev.waybill.store.TextRule;
import dev.waybill.store.postgres.CommitStatement.Member;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.UUID;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Commits of owners. The usual way is one statement that is its own transaction ({@link CommitStatement}). When a row of the batch
 * exists already or is refused, nothing of it is durable, and the careful way sorts the members out under their locks; a repeat after
 * an unclear COMMIT goes the careful way at once, because the lock waits for the old transaction and only then its rows can be found.
 */
final class PgCommitter {
    /** PostgreSQL's order of the key, so that every transaction locks in one order whoever sorted. */
    static final Comparator<InstanceKey> LOCK_ORDER = Comparator.comparing(InstanceKey::tenant)
            .thenComparing(InstanceKey::id, PgCommitter::compareUnsigned);

    private static final int MAX_RUNS = 10;
    private final Links links;

    PgCommitter(Links links) {
        this.links = links;
    }

    private static int compareUnsigned(UUID a, UUID b) {
        int high = Long.compareUnsigned(a.getMostSignificantBits(), b.getMostSignificantBits());
        return high != 0 ? high : Long.compareUnsigned(a.getLeastSignificantBits(), b.getLeastSignificantBits());
    }

    List<CommitAnswer> commit(UUID node, List<Commit> batch, boolean again) {
        if (batch.isEmpty()) {
            return List.of();
        }
        List<Member> members = members(batch);
        List<CommitAnswer> answers = run(node, members, again);
        CommitAnswer[] ordered = new CommitAnswer[batch.size()];
        for (int i = 0; i < ordered.length; i++) {
            ordered[members.get(i).index()] = answers.get(i);
        }
        return Arrays.asList(ordered);
    }

    private static List<Member> members(List<Commit> batch) {
        List<Member> members = new ArrayList<>(batch.size());
        for (int i = 0; i < batch.size(); i++) {
            members.add(new Member(i, batch.get(i), TextRule.UTF8_WITHOUT_NUL.kept(batch.get(i))));
        }
        members.sort(Comparator.comparing(Member::key, LOCK_ORDER));
        for (int i = 1; i < members.size(); i++) {
            if (members.get(i).key().equals(members.get(i - 1).key())) {
                throw new IllegalArgumentException("two members of one batch move instance " + members.get(i).key());
            }
        }
        return members;
    }

    private List<CommitAnswer> run(UUID node, List<Member> members, boolean again) {
        boolean careful = again;
        for (int run = 1; ; run++) {
            Connection connection = take();
            boolean keep = false;
            try {
                List<CommitAnswer> answers =
                        careful ? new Careful(connection, node, members).run() : atOnce(connection, node, members);
                keep = true;
                return answers;
            } catch (SQLException e) {
                keep = !PgErrors.connectionLost(e);
                boolean sortOut = PgErrors.rowRefused(e) && !careful;
                if (!sortOut && (!PgErrors.mayRunAgain(e) || run == MAX_RUNS)) {
                    throw PgErrors.ofWrite("commit of " + members.size() + " moves", e);
                }
                careful |= sortOut;
            } finally {
                // A connection whose COMMIT is unclear, or whose state nobody vouches for, is never used again.
                if (keep) {
                    links.give(connection);
                } else {
                    links.drop(connection);
                }
            }
        }
    }

    /**
     * A member whose claim is gone may be the repeat of a move that gave it up: only then is it worth a second look. Those with
     * invariants go the careful way by themselves, so that nobody else waits for a guard.
     */
    private static List<CommitAnswer> atOnce(Connection connection, UUID node, List<Member> members) throws SQLException {
        List<Integer> plain = IntStream.range(0, members.size())
                .filter(i -> members.get(i).asked().invariants().isEmpty())
                .boxed()
                .toList();
        boolean all = plain.size() == members.size();
        List<CommitAnswer> written = plain.isEmpty()
                ? List.of()
                : CommitStatement.run(connection, node, all ? members : plain.stream().map(members::get).toList());
        if (all && written.stream().noneMatch(CommitAnswer.ClaimLost.class::isInstance)) {
            return written;
        }
        @Nullable CommitAnswer[] answers = new CommitAnswer[members.size()];
        for (int i = 0; i < plain.size(); i++) {
            answers[plain.get(i)] = written.get(i) instanceof CommitAnswer.ClaimLost ? null : written.get(i);
        }
        List<Integer> rest = IntStream.range(0, answers.length).filter(i -> answers[i] == null).boxed().toList();
        List<CommitAnswer> looked = new Careful(connection, node, rest.stream().map(members::get).toList()).run();
        for (int i = 0; i < rest.size(); i++) {
            answers[rest.get(i)] = looked.get(i);
        }
        List<CommitAnswer> result = new ArrayList<>(answers.length);
        for (CommitAnswer answer : answers) {
            result.add(Objects.requireNonNull(answer));
        }
        return result;
    }

    private Connection take() {
        try {
            return links.take();
        } catch (SQLException e) {
            throw PgErrors.store("no connection to commit on", e);
        }
    }

    /** One explicit transaction: lock, look, write what is new member by member if need be. */
    private record Careful(Connection connection, UUID node, List<Member> members, @Nullable CommitAnswer[] answers) {
        private static final Columns.Shape KEYS = new Columns.Shape()
                .with(INT4, "ord", "sort")
                .with(TEXT, "tenant_id")
                .with(UUID, "instance_id")
                .with(TEXT, "path")
                .with(INT4, "attempt", "n");

        private static final int JOURNAL = 0;
        private static final int RECEIPT = 1;
        private static final int BLOCK = 2;

        /** All of the members' instances, whoever owns them; the lock also waits for a transaction whose end nobody heard of. */
        private static final String LOCK =
                """
                SELECT x.ord, i.claim_epoch, i.claim_nonce, i.claim_node, i.wake_seq, i.cancel_requested, i.pause_requested,
                       i.last_transition, now(),
                       coalesce((SELECT n.expires_at FROM nodes n
                                  WHERE n.id = ?::uuid AND n.id = coalesce(i.claim_node, n.id) AND NOT n.fenced) > clock_timestamp(), false)
                  FROM %s
                 CROSS JOIN LATERAL (
                   SELECT * FROM task_instances i
                    WHERE i.tenant_id = x.tenant_id AND i.id = x.instance_id FOR NO KEY UPDATE) i
                """
                        .formatted(KEYS.from("x"));

        /** A statement of its own, after the locks: only its snapshot sees what the old transaction wrote. */
        private static final String FIND =
                """
                WITH x AS MATERIALIZED (SELECT * FROM %s)
                SELECT x.ord, x.sort, x.path, j.transition_id, j.output_state
                  FROM x JOIN receipt_journal j USING (tenant_id, instance_id, path, attempt, n) WHERE x.sort = 0
                UNION ALL
                SELECT x.ord, x.sort, x.path, r.transition_id, NULL
                  FROM x JOIN effect_receipts r USING (tenant_id, instance_id, path, attempt) WHERE x.sort = 1
                UNION ALL
                SELECT x.ord, x.sort, x.path, b.transition_id, NULL
                  FROM x JOIN block_outputs b USING (tenant_id, instance_id, path, n) WHERE x.sort = 2
                """
                        .formatted(KEYS.from("x"));

        private record Locked(
                Claim claim,
                @Nullable UUID claimNode,
                long wakeSeq,
                boolean cancel,
                boolean pause,
                @Nullable UUID lastTransition,
                Instant now,
                boolean live) {}

        private record Found(int sort, String path, UUID transition, boolean unusable) {}

        Careful(Connection connection, UUID node, List<Member> members) {
            this(connection, node, new ArrayList<>(members), new CommitAnswer[members.size()]);
        }

        List<CommitAnswer> run() throws SQLException {
            connection.setAutoCommit(false);
            try {
                connection.clearWarnings();
                List<@Nullable Locked> locked = lock();
                List<List<Found>> found = find();
                List<Integer> fresh = new ArrayList<>();
                for (int i = 0; i < members.size(); i++) {
                    answers[i] = known(members.get(i), locked.get(i), found.get(i));
                    if (answers[i] == null) {
                        fresh.add(i);
                    }
                }
                guardedWrite(locked, fresh);
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
            List<CommitAnswer> result = new ArrayList<>(answers.length);
            for (CommitAnswer answer : answers) {
                result.add(Objects.requireNonNull(answer));
            }
            return result;
        }

        private List<@Nullable Locked> lock() throws SQLException {
            Columns keys = new Columns(KEYS);
            for (int i = 0; i < members.size(); i++) {
                InstanceKey key = members.get(i).key();
                keys.add(i, 0, key.tenant(), key.id(), null, null, null);
            }
            @Nullable Locked[] locked = new Locked[members.size()];
            try (PreparedStatement statement = connection.prepareStatement(LOCK)) {
                statement.setObject(1, node);
                keys.bind(statement, 2);
                try (ResultSet row = statement.executeQuery()) {
                    while (row.next()) {
                        locked[row.getInt(1)] = new Locked(
                                new Claim(row.getLong(2), row.getObject(3, UUID.class)), row.getObject(4, UUID.class), row.getLong(5),
                                row.getBoolean(6), row.getBoolean(7), row.getObject(8, UUID.class),
                                row.getObject(9, OffsetDateTime.class).toInstant(), row.getBoolean(10));
                    }
                }
            }
            return Arrays.asList(locked);
        }

        private List<List<Found>> find() throws SQLException {
            Columns keys = new Columns(KEYS);
            List<List<Found>> found = new ArrayList<>();
            for (int i = 0; i < members.size(); i++) {
                found.add(new ArrayList<>());
                Commit commit = members.get(i).kept();
                InstanceKey key = commit.instance();
                for (JournalRow row : commit.settles()) {
                    keys.add(i, JOURNAL, key.tenant(), key.id(), row.path(), row.attempt(), row.n());
                }
                for (var row : commit.intents()) {
                    keys.add(i, RECEIPT, key.tenant(), key.id(), row.path(), row.attempt(), null);
                }
                for (var row : commit.rows()) {
                    keys.add(i, BLOCK, key.tenant(), key.id(), row.path(), null, row.n());
                }
            }
            if (keys.isEmpty()) {
                return found;
            }
            try (PreparedStatement statement = connection.prepareStatement(FIND)) {
                keys.bind(statement, 1);
                try (ResultSet row = statement.executeQuery()) {
                    while (row.next()) {
                        found.get(row.getInt(1)).add(new Found(
                                row.getInt(2), row.getString(3), row.getObject(4, UUID.class), "unusable".equals(row.getString(5))));
                    }
                }
            }
            return found;
        }

        /** The answer that is certain without writing; null when the member is still to be written. */
        private static @Nullable CommitAnswer known(Member member, @Nullable Locked row, List<Found> found) {
            Commit commit = member.asked();
            if (row == null) {
                return new CommitAnswer.ClaimLost();
            }
            UUID mine = commit.transitionId();
            boolean owned = row.claimNode() != null && row.claim().equals(commit.claim());
            if (mine.equals(row.lastTransition()) || found.stream().anyMatch(it -> it.transition().equals(mine))) {
                return repeated(member, row, owned, found);
            }
            if (!owned) {
                return new CommitAnswer.ClaimLost();
            }
            boolean held = !row.live() || commit.held(row.cancel(), row.pause()) || member.asked().overtaken(row.wakeSeq());
            return found.stream()
                    .filter(it -> it.sort() != RECEIPT || !held)
                    .findFirst()
                    .map(it -> (CommitAnswer) new CommitAnswer.Conflict(
                            List.of("journal row of ", "receipt of ", "row of ").get(it.sort()) + it.path() + " exists"))
                    .orElse(null);
        }

        /** What the first submission came to, read from what it left. */
        private static CommitAnswer repeated(Member member, Locked row, boolean owned, List<Found> found) {
            Commit commit = member.asked();
            UUID mine = commit.transitionId();
            boolean dispatched = found.stream().anyMatch(it -> it.sort() == RECEIPT && it.transition().equals(mine));
            boolean unstorable = member.unstorable()
                    || found.stream().anyMatch(Found::unusable)
                            && commit.settles().stream().noneMatch(it -> it.outputState() == JournalRow.OutputState.UNUSABLE);
            IntentAnswer intents;
            if (commit.intents().isEmpty()) {
                intents = IntentAnswer.NONE;
            } else if (dispatched) {
                intents = IntentAnswer.DISPATCHED;
            } else {
                intents = IntentAnswer.held(row.live(), commit.held(row.cancel(), row.pause()), commit.overtaken(row.wakeSeq()));
            }
            ReleaseAnswer release;
            if (commit.release() == null) {
                release = ReleaseAnswer.NONE;
            } else {
                release = owned ? ReleaseAnswer.NEWS : ReleaseAnswer.RELEASED;
            }
            return new CommitAnswer.Settled(intents, release, row.wakeSeq(), row.cancel(), row.pause(), unstorable, row.now());
        }

        /** {@link #write}, with the guards of the intents taken before and the rest of what invariants ask for written behind it. */
        private void guardedWrite(List<@Nullable Locked> locked, List<Integer> fresh) throws SQLException {
            PgInvariants invariants = new PgInvariants(connection);
            Map<Integer, Commit> guarded = new TreeMap<>();
            Map<Integer, Commit> sending = new TreeMap<>();
            for (int i : fresh) {
                Commit commit = members.get(i).kept();
                if (!commit.invariants().isEmpty()) {
                    guarded.put(i, commit);
                    Locked row = locked.get(i);
                    if (row != null && row.live() && !commit.held(row.cancel(), row.pause()) && !commit.overtaken(row.wakeSeq())) {
                        sending.put(i, commit);
                    }
                }
            }
            Map<Integer, Map<String, InvariantRows.Holder>> duplicates = invariants.take(sending);
            duplicates.forEach((i, held) -> members.set(i, members.get(i).withoutIntents(held.keySet())));
            write(fresh);
            invariants.written(guarded, Arrays.asList(answers));
            for (Map.Entry<Integer, Map<String, InvariantRows.Holder>> entry : duplicates.entrySet()) {
                if (answers[entry.getKey()] instanceof CommitAnswer.Settled settled) {
                    answers[entry.getKey()] = settled.with(entry.getValue());
                }
            }
            for (int i = 0; i < answers.length; i++) {
                Commit commit = members.get(i).asked();
                if (!fresh.contains(i) && !commit.invariants().guards().isEmpty() && answers[i] instanceof CommitAnswer.Settled settled) {
                    answers[i] = settled.with(invariants.duplicates(commit));
                }
            }
        }

        /** All at once; when one is refused, in halves, until the culprit stands alone. */
        private void write(List<Integer> which) throws SQLException {
            if (which.isEmpty()) {
                return;
            }
            SQLException refused = tryWrite(which, which.stream().map(members::get).toList());
            if (refused == null) {
                return;
            }
            if (which.size() > 1) {
                write(which.subList(0, which.size() / 2));
                write(which.subList(which.size() / 2, which.size()));
                return;
            }
            int index = which.getFirst();
            Member member = members.get(index);
            SQLException stillRefused = refused;
            if (!PgErrors.uniqueViolation(refused)) {
                stillRefused = tryWrite(which, List.of(new Member(member.index(), member.asked(), outcomeOnly(member.kept()))));
            }
            if (stillRefused != null) {
                answers[index] = new CommitAnswer.Conflict(String.valueOf(stillRefused.getMessage()));
            }
        }

        /** @return why the database refused a row, or null when all is written; then the answers are filled in */
        private @Nullable SQLException tryWrite(List<Integer> which, List<Member> what) throws SQLException {
            Savepoint before = connection.setSavepoint();
            try {
                List<CommitAnswer> written = CommitStatement.run(connection, node, what);
                connection.releaseSavepoint(before);
                for (int i = 0; i < which.size(); i++) {
                    answers[which.get(i)] = written.get(i);
                }
                return null;
            } catch (SQLException e) {
                if (!PgErrors.rowRefused(e)) {
                    throw e;
                }
                connection.rollback(before);
                return e;
            }
        }

        /** The same rule as {@link TextRule#kept(Commit)}, for a refusal that nobody foresaw. */
        private static Commit outcomeOnly(Commit commit) {
            return new Commit(
                    commit.instance(),
                    commit.claim(),
                    commit.transitionId(),
                    commit.settles().stream().map(row -> row.unstorable(TextRule.PROBLEM)).toList(),
                    List.of(),
                    List.of(),
                    List.of(),
                    null,
                    commit.resetTakeover(),
                    commit.invariants().ofSettles(),
                    null,
                    commit.compensates());
        }
    }
}
