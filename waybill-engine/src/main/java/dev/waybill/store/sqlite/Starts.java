package dev.waybill.store.sqlite;

import dev.waybill.model.Claim;
import dev.waybill.store.Start;
import dev.waybill.store.StartAnswer;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.UUID;

/** Admission, in the caller's transaction. Only this thread writes, so what was looked up stays so. */
final class Starts {
    private Starts() {}

    static List<StartAnswer> run(Db db, UUID node, List<Start> batch, boolean alive, long now) throws SQLException {
        List<StartAnswer> answers = new ArrayList<>(batch.size());
        for (Start start : batch) {
            answers.add(run(db, node, start, alive, now));
        }
        return answers;
    }

    private static StartAnswer run(Db db, UUID node, Start start, boolean alive, long now) throws SQLException {
        String tenant = start.instance().tenant();
        String scope = Objects.requireNonNullElse(start.dedupScope(), "");
        if (start.dedupKey() != null) {
            Optional<StartAnswer> existing = db.sql("""
                            SELECT instance_id, payload_sha256 FROM dedup_keys WHERE tenant_id = ? AND scope = ? AND key = ?""")
                    .text(tenant)
                    .text(scope)
                    .text(start.dedupKey())
                    .first(row -> new StartAnswer.Existing(Db.uuid(row, 1), row.getString(2)));
            if (existing.isPresent()) {
                return existing.get();
            }
        }
        Claim claim = start.claim();
        boolean claimed = claim != null && alive;
        int created = db.sql("""
                        INSERT INTO task_instances (tenant_id, id, state, priority, next_fire_at, claim_epoch, claim_nonce, claim_node,
                               wake_seq, cancel_requested, pause_requested, takeovers, updated_at)
                        VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0, ?)
                            ON CONFLICT (tenant_id, id) DO NOTHING""")
                .text(tenant)
                .uuid(start.instance().id())
                .text(claimed ? "running" : "scheduled")
                .number(start.priority())
                .number(claimed ? null : Rows.later(now, start.fireInMillis()))
                .number(claim != null && claimed ? claim.epoch() : 0)
                .bytes(claim != null && claimed ? Db.bytes(claim.nonce()) : new byte[16])
                .uuid(claimed ? node : null)
                .number(now)
                .update();
        if (created == 0) {
            return new StartAnswer.Existing(start.instance().id(), null);
        }
        db.sql("""
                        INSERT INTO instance_data (tenant_id, instance_id, execution_id, sequence_id, namespace, dedup_key, created_at,
                               metadata, context)
                        VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)""")
                .text(tenant)
                .uuid(start.instance().id())
                .uuid(start.execution())
                .uuid(start.sequenceId())
                .text(start.namespace())
                .text(start.dedupKey())
                .number(now)
                .text(start.metadata())
                .text(start.context())
                .update();
        if (start.dedupKey() != null) {
            db.sql("""
                            INSERT INTO dedup_keys (tenant_id, scope, key, instance_id, payload_sha256, created_at)
                            VALUES (?, ?, ?, ?, ?, ?)""")
                    .text(tenant)
                    .text(scope)
                    .text(start.dedupKey())
                    .uuid(start.instance().id())
                    .text(start.payloadSha256())
                    .number(now)
                    .update();
        }
        return new StartAnswer.Created(claimed, Db.time(now));
    }
}
