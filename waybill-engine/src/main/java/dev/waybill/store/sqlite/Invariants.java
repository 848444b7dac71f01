package dev.waybill.store.sqlite;

import dev.waybill.model.InstanceKey;
import dev.waybill.store.Commit;
import dev.waybill.store.InvariantRows.Guard;
import dev.waybill.store.InvariantRows.Holder;
import dev.waybill.store.InvariantRows.Result;
import dev.waybill.store.ReceiptRow;
import java.sql.SQLException;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;

/** Guards and results in the caller's transaction: the only writer, so what is read stays true until it ends. */
final class Invariants {
    private Invariants() {}

    /** Which intents' content another effect holds. */
    static Map<String, Holder> duplicates(Db db, Commit commit, long now) throws SQLException {
        Map<String, Holder> duplicates = new HashMap<>();
        Map<List<String>, Holder> inCommit = new HashMap<>();
        for (Guard guard : commit.invariants().guards()) {
            Optional<Holder> holder = holder(db, commit.instance(), guard, now);
            List<String> key = key(guard);
            Holder first = holder.orElseGet(() -> inCommit.computeIfAbsent(key, _ -> asHolder(commit, guard)));
            boolean ours = first.instance().equals(commit.instance().id()) && first.path().equals(guard.path());
            if (!ours) {
                duplicates.put(
                        guard.path(), new Holder(guard.invariant(), first.instance(), first.path(), first.attempt(), first.receipt()));
            }
        }
        return duplicates;
    }

    private static List<String> key(Guard guard) {
        return List.of(guard.scope(), guard.kind(), guard.fingerprint(), guard.contentSha256());
    }

    private static Holder asHolder(Commit commit, Guard guard) {
        UUID receipt = commit.intents().stream()
                .filter(it -> it.path().equals(guard.path()) && it.attempt() == guard.attempt())
                .map(ReceiptRow::id)
                .findFirst()
                .orElseThrow();
        return new Holder(guard.invariant(), commit.instance().id(), guard.path(), guard.attempt(), receipt);
    }

    /** Whoever holds it still: an expired guard is nobody's, unless its effect is unresolved. */
    private static Optional<Holder> holder(Db db, InstanceKey key, Guard guard, long now) throws SQLException {
        return db.sql("""
                        SELECT instance_id, path, attempt, receipt_id FROM effect_guards g
                         WHERE tenant_id = ? AND scope = ? AND kind = ? AND fingerprint = ? AND content = ?
                           AND (expires_at IS NULL OR expires_at > ? OR EXISTS (
                             SELECT 1 FROM effect_receipts r
                              WHERE r.tenant_id = g.tenant_id AND r.instance_id = g.instance_id AND r.path = g.path
                                AND coalesce((SELECT j.to_state FROM receipt_journal j
                                               WHERE j.tenant_id = r.tenant_id AND j.instance_id = r.instance_id AND j.path = r.path
                                                 AND j.attempt = r.attempt
                                               ORDER BY n DESC LIMIT 1), r.state) IN ('prepared', 'dispatched', 'unknown')))""")
                .text(key.tenant())
                .text(guard.scope())
                .text(guard.kind())
                .text(guard.fingerprint())
                .text(guard.contentSha256())
                .number(now)
                .first(row -> new Holder(guard.invariant(), Db.uuid(row, 1), row.getString(2), row.getInt(3), Db.uuid(row, 4)));
    }

    /** With the intents: what they hold from now on. */
    static void take(Db db, Commit commit, long now) throws SQLException {
        for (Guard guard : commit.invariants().guards()) {
            Holder holder = asHolder(commit, guard);
            Long window = guard.windowMillis();
            db.sql("""
                            INSERT INTO effect_guards AS g (tenant_id, scope, kind, fingerprint, content, instance_id, path, attempt,
                                   receipt_id, at, expires_at)
                            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                            ON CONFLICT DO UPDATE
                               SET instance_id = excluded.instance_id, path = excluded.path, attempt = excluded.attempt,
                                   receipt_id = excluded.receipt_id, at = excluded.at, expires_at = excluded.expires_at
                             WHERE (g.instance_id, g.path) <> (excluded.instance_id, excluded.path)""")
                    .text(commit.instance().tenant())
                    .text(guard.scope())
                    .text(guard.kind())
                    .text(guard.fingerprint())
                    .text(guard.contentSha256())
                    .uuid(commit.instance().id())
                    .text(guard.path())
                    .number(guard.attempt())
                    .uuid(holder.receipt())
                    .number(now)
                    .number(window == null ? null : (Long) Rows.later(now, Objects.requireNonNull(window)))
                    .update();
        }
    }

    static void free(Db db, InstanceKey instance, Collection<String> paths) throws SQLException {
        for (String path : paths) {
            db.sql("DELETE FROM effect_guards WHERE tenant_id = ? AND instance_id = ? AND path = ?")
                    .text(instance.tenant())
                    .uuid(instance.id())
                    .text(path)
                    .update();
        }
    }

    static void insert(Db db, Commit commit, List<Result> results, long now) throws SQLException {
        for (Result result : results) {
            db.sql("""
                            INSERT INTO invariant_results (tenant_id, instance_id, invariant, rule, path, held, details, transition_id, at)
                            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)""")
                    .text(commit.instance().tenant())
                    .uuid(commit.instance().id())
                    .text(result.invariant())
                    .text(result.rule())
                    .text(result.path())
                    .flag(result.held())
                    .text(result.details())
                    .uuid(commit.transitionId())
                    .number(now)
                    .update();
        }
    }
}
