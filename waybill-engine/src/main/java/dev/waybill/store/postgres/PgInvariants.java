package dev.waybill.store.postgres;

import dev.waybill.model.InstanceKey;
import dev.waybill.store.Commit;
import dev.waybill.store.CommitAnswer;
import dev.waybill.store.CommitAnswer.IntentAnswer;
import dev.waybill.store.CommitAnswer.ReleaseAnswer;
import dev.waybill.store.InvariantRows.Guard;
import dev.waybill.store.InvariantRows.Holder;
import dev.waybill.store.InvariantRows.Result;
import dev.waybill.store.ReceiptRow;
import dev.waybill.store.jdbc.Sql;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** Guards and results in a transaction that holds the locks of its instances. Few runs have any: one statement for each will do. */
final class PgInvariants {
    /** One order for every transaction: two that want the same keys never wait for each other crosswise. */
    private static final Comparator<Asked> GUARD_ORDER = Comparator.comparing((Asked it) -> it.key.tenant())
            .thenComparing(it -> it.guard.scope())
            .thenComparing(it -> it.guard.kind())
            .thenComparing(it -> it.guard.fingerprint())
            .thenComparing(it -> it.guard.contentSha256());

    /**
     * Waits for another transaction that inserts the same key. An expired guard changes hands, unless its holder is unresolved.
     */
    private static final String TAKE =
            """
            INSERT INTO effect_guards AS g (tenant_id, scope, kind, fingerprint, content, instance_id, path, attempt, receipt_id, expires_at)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, now() + ?::bigint * interval '1 millisecond')
            ON CONFLICT (tenant_id, scope, kind, fingerprint, content) DO UPDATE
               SET instance_id = excluded.instance_id, path = excluded.path, attempt = excluded.attempt,
                   receipt_id = excluded.receipt_id, at = now(), expires_at = excluded.expires_at
             WHERE g.expires_at <= now()
               AND (g.instance_id, g.path) <> (excluded.instance_id, excluded.path)
               AND NOT EXISTS (
                 SELECT FROM effect_receipts r
                   LEFT JOIN LATERAL (
                     SELECT j.to_state FROM receipt_journal j
                      WHERE (j.tenant_id, j.instance_id, j.path, j.attempt) = (r.tenant_id, r.instance_id, r.path, r.attempt)
                      ORDER BY n DESC LIMIT 1) j ON true
                  WHERE r.tenant_id = g.tenant_id AND r.instance_id = g.instance_id AND r.path = g.path
                    AND coalesce(j.to_state, r.state) IN ('prepared', 'dispatched', 'unknown'))
            """;

    private static final String KEY = "tenant_id = ? AND scope = ? AND kind = ? AND fingerprint = ? AND content = ?";
    private static final String HOLDER = "SELECT instance_id, path, attempt, receipt_id FROM effect_guards WHERE " + KEY;
    private static final String GIVE_BACK = "DELETE FROM effect_guards WHERE " + KEY + " AND instance_id = ? AND path = ?";
    private static final String FREE =
            "DELETE FROM effect_guards WHERE tenant_id COLLATE \"POSIX\" = ? AND instance_id = ? AND path = ?";
    private static final String INSERT_RESULT =
            """
            INSERT INTO invariant_results (tenant_id, instance_id, transition_id, invariant, rule, path, held, details)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?)
            """;

    private record Asked(int member, InstanceKey key, Guard guard, @Nullable UUID receipt) {}

    private final Connection connection;
    private final List<Asked> taken = new ArrayList<>();

    PgInvariants(Connection connection) {
        this.connection = connection;
    }

    /** Takes what the intents of these members need; answers, by member, the intents whose content another effect holds. */
    Map<Integer, Map<String, Holder>> take(Map<Integer, Commit> members) throws SQLException {
        List<Asked> asked = asked(members);
        Map<Integer, Map<String, Holder>> duplicates = new HashMap<>();
        for (Asked one : asked) {
            Guard guard = one.guard;
            int inserted = Sql.update(
                    connection, TAKE, one.key.tenant(), guard.scope(), guard.kind(), guard.fingerprint(), guard.contentSha256(),
                    one.key.id(), guard.path(), guard.attempt(), one.receipt, guard.windowMillis());
            if (inserted == 1) {
                taken.add(one);
            }
        }
        for (Asked one : asked) {
            Holder holder = holder(one);
            if (holder != null && !(holder.instance().equals(one.key.id()) && holder.path().equals(one.guard.path()))) {
                duplicates.computeIfAbsent(one.member, _ -> new HashMap<>()).put(one.guard.path(), holder);
            }
        }
        for (Asked one : List.copyOf(taken)) { // an intent that lacks one of two guards takes none
            if (duplicates.getOrDefault(one.member, Map.of()).containsKey(one.guard.path())) {
                giveBack(one);
            }
        }
        return duplicates;
    }

    /** Who holds what a repeated commit asked for. */
    Map<String, Holder> duplicates(Commit commit) throws SQLException {
        Map<String, Holder> duplicates = new HashMap<>();
        for (Asked one : asked(Map.of(0, commit))) {
            Holder holder = holder(one);
            if (holder != null && !(holder.instance().equals(one.key.id()) && holder.path().equals(one.guard.path()))) {
                duplicates.put(one.guard.path(), holder);
            }
        }
        return duplicates;
    }

    private static List<Asked> asked(Map<Integer, Commit> members) {
        List<Asked> asked = new ArrayList<>();
        members.forEach((member, commit) -> {
            for (Guard guard : commit.invariants().guards()) {
                asked.add(new Asked(member, commit.instance(), guard, receipt(commit, guard)));
            }
        });
        asked.sort(GUARD_ORDER);
        return asked;
    }

    private static @Nullable UUID receipt(Commit commit, Guard guard) {
        return commit.intents().stream()
                .filter(it -> it.path().equals(guard.path()) && it.attempt() == guard.attempt())
                .map(ReceiptRow::id)
                .findFirst()
                .orElse(null);
    }

    private @Nullable Holder holder(Asked one) throws SQLException {
        Guard guard = one.guard;
        return Sql.first(
                        connection,
                        HOLDER,
                        row -> new Holder(
                                guard.invariant(), PgReader.uuid(row, "instance_id"), row.getString("path"), row.getInt("attempt"), PgReader.uuid(row, "receipt_id")),
                        one.key.tenant(), guard.scope(), guard.kind(), guard.fingerprint(), guard.contentSha256())
                .orElse(null);
    }

    private void giveBack(Asked one) throws SQLException {
        Guard guard = one.guard;
        Sql.update(
                connection, GIVE_BACK, one.key.tenant(), guard.scope(), guard.kind(), guard.fingerprint(), guard.contentSha256(),
                one.key.id(), guard.path());
        taken.remove(one);
    }

    /** After the members were written: a guard stays only with its receipt, what is freed is free, results are inserted. */
    void written(Map<Integer, Commit> members, List<? extends @Nullable CommitAnswer> answers) throws SQLException {
        for (Asked one : List.copyOf(taken)) {
            if (!(answers.get(one.member) instanceof CommitAnswer.Settled settled && settled.intents() == IntentAnswer.DISPATCHED)) {
                giveBack(one);
            }
        }
        for (Map.Entry<Integer, Commit> member : members.entrySet()) {
            if (answers.get(member.getKey()) instanceof CommitAnswer.Settled settled) {
                Commit commit = member.getValue();
                boolean released = settled.release() == ReleaseAnswer.RELEASED;
                free(connection, commit.instance(), commit.invariants().freed(released));
                for (Result result : commit.invariants().results(released)) {
                    Sql.update(
                            connection, INSERT_RESULT, commit.instance().tenant(), commit.instance().id(), commit.transitionId(),
                            result.invariant(), result.rule(), result.path(), result.held(), result.details());
                }
            }
        }
    }

    static void free(Connection connection, InstanceKey instance, Collection<String> paths) throws SQLException {
        for (String path : paths) {
            Sql.update(connection, FREE, instance.tenant(), instance.id(), path);
        }
    }
}
