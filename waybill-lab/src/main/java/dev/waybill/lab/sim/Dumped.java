package dev.waybill.lab.sim;

import dev.waybill.json.Json;
import dev.waybill.model.Claim;
import dev.waybill.model.InstanceKey;
import dev.waybill.store.BlockRow;
import dev.waybill.store.EvidenceRow;
import dev.waybill.store.InstanceRecord;
import dev.waybill.store.JournalRow;
import dev.waybill.store.Queries.Change;
import dev.waybill.store.Queries.EffectFilter;
import dev.waybill.store.Queries.EffectView;
import dev.waybill.store.Queries.InstanceFilter;
import dev.waybill.store.Queries.NodeView;
import dev.waybill.store.ReceiptRow;
import dev.waybill.store.SequenceRow;
import dev.waybill.store.Store;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ObjectNode;

/** What the model store holds, in the form that waybill-check reads. */
final class Dumped {
    private static final int ALL = 1_000_000;

    private Dumped() {}

    static List<ObjectNode> of(Store store, Instant at) {
        List<ObjectNode> lines = new ArrayList<>();
        lines.add(line("dump").put("at", at.toString()).put("store", "memory"));
        List<InstanceRecord> instances =
                store.queries().instances(new InstanceFilter(InstanceFilter.ALL_TENANTS, Set.of(), null, Map.of(), null, ALL, 0));
        for (InstanceRecord run : instances) {
            lines.add(instance(run));
            if (run.dedupKey() != null) {
                lines.add(line("dedup_keys")
                        .put("tenant_id", run.key().tenant())
                        .put("scope", "instance")
                        .put("key", run.dedupKey())
                        .put("instance_id", run.key().id().toString()));
            }
            effects(store, run.key(), lines);
            store.queries().blockRows(run.key()).forEach(row -> lines.add(block(run.key(), row)));
        }
        int seq = 0;
        for (Change change : store.queries().changes(null, null, ALL)) {
            lines.add(line("events")
                    .put("seq", ++seq)
                    .put("tenant_id", change.instance().tenant())
                    .put("instance_id", change.instance().id().toString())
                    .put("type", change.type())
                    .put("subject", change.subject())
                    .put("at", change.at().toString())
                    .put("payload", change.payload()));
        }
        for (NodeView node : store.queries().nodes()) {
            lines.add(line("nodes")
                    .put("id", node.node().toString())
                    .put("name", node.name())
                    .put("started_at", node.startedAt().toString())
                    .put("expires_at", node.expiresAt().toString())
                    .put("fenced", node.fenced()));
        }
        for (SequenceRow row : store.sequences().list("default", null, ALL)) {
            lines.add(line("sequences")
                    .put("tenant_id", row.tenant())
                    .put("id", row.id().toString())
                    .put("namespace", row.namespace())
                    .put("name", row.name())
                    .put("version", row.version())
                    .put("definition", row.definition()));
        }
        return lines;
    }

    private static ObjectNode line(String table) {
        return Json.NODES.objectNode().put("table", table);
    }

    private static ObjectNode effect(String table, InstanceKey run, String path, int attempt) {
        return line(table)
                .put("tenant_id", run.tenant())
                .put("instance_id", run.id().toString())
                .put("path", path)
                .put("attempt", attempt);
    }

    private static ObjectNode claim(ObjectNode line, @Nullable Claim claim) {
        return line.put("claim_epoch", claim == null ? null : Long.valueOf(claim.epoch()))
                .put("claim_nonce", claim == null ? null : claim.nonce().toString());
    }

    private static @Nullable String text(@Nullable Object value) {
        return value == null ? null : value.toString();
    }

    private static ObjectNode instance(InstanceRecord run) {
        return claim(line("instances"), run.claim())
                .put("tenant_id", run.key().tenant())
                .put("id", run.key().id().toString())
                .put("execution_id", run.execution().toString())
                .put("sequence_id", run.sequenceId().toString())
                .put("state", run.state().wire())
                .put("next_fire_at", text(run.nextFireAt()))
                .put("claim_node", text(run.claimNode()))
                .put("wake_seq", run.wakeSeq())
                .put("cancel_requested", run.cancelRequested())
                .put("pause_requested", run.pauseRequested())
                .put("takeovers", run.takeovers())
                .put("reasons", run.reasons())
                .put("outcome", run.outcome())
                .put("created_at", run.createdAt().toString())
                .put("updated_at", run.updatedAt().toString())
                .put("dedup_key", run.dedupKey())
                .put("metadata", run.metadata())
                .put("context", run.context());
    }

    private static void effects(Store store, InstanceKey run, List<ObjectNode> lines) {
        EffectFilter all = new EffectFilter(
                run.tenant(), false, Set.of(), run, null, null, null, null, null, null, null, null, null, null, null, null, null, null, ALL);
        for (EffectView view : store.queries().effects(all)) {
            ReceiptRow receipt = view.receipt();
            lines.add(claim(effect("receipts", run, receipt.path(), receipt.attempt()), receipt.claim())
                    .put("id", receipt.id().toString())
                    .put("execution_id", receipt.execution().toString())
                    .put("state", receipt.prepared() ? "prepared" : "dispatched")
                    .put("kind", receipt.kind().wire())
                    .put("handler", receipt.handler())
                    .put("destination", receipt.destination())
                    .put("destination_fingerprint", receipt.destinationFingerprint())
                    .put("idempotency_key", receipt.idempotencyKey())
                    .put("request_sha256", receipt.requestSha256())
                    .put("request", receipt.request())
                    .put("node_id", receipt.node().toString())
                    .put("transition_id", receipt.transitionId().toString())
                    .put("at", text(receipt.at()))
                    .put("quiet_at", text(receipt.quietAt()))
                    .put("key_window_millis", receipt.keyWindowMillis())
                    .put("resend_of", text(receipt.resendOf()))
                    .put("labels", receipt.labels()));
            for (JournalRow row : store.queries().journal(run, receipt.path(), receipt.attempt())) {
                lines.add(journal(run, row));
            }
            JournalRow last = view.last();
            if (last != null && last.opens()) {
                lines.add(effect("effect_open", run, receipt.path(), receipt.attempt())
                        .put("id", receipt.id().toString())
                        .put("state", last.outputState() == JournalRow.OutputState.LOST ? "output_lost" : "unknown"));
            }
            int seq = 0;
            for (EvidenceRow row : store.queries().evidence(run, receipt.path(), receipt.attempt())) {
                lines.add(effect("evidence", run, row.path(), row.attempt())
                        .put("seq", ++seq)
                        .put("kind", row.kind())
                        .put("actor", row.actor())
                        .put("at", text(row.at()))
                        .put("body", row.body()));
            }
        }
    }

    private static ObjectNode journal(InstanceKey run, JournalRow row) {
        ObjectNode line = claim(effect("journal", run, row.path(), row.attempt()), row.claim())
                .put("n", row.n())
                .put("from_state", row.from().wire())
                .put("to_state", row.to().wire())
                .put("actor", row.actor())
                .put("transition_id", row.transitionId().toString())
                .put("at", text(row.at()))
                .put("proof", row.proof() == null ? null : row.proof().wire())
                .put("reason", row.reason())
                .put("message", row.message())
                .put("provider_receipt_id", row.providerReceiptId())
                .put("retry_in_millis", row.retryInMillis())
                .put("counts_as_attempt", row.countsAsAttempt())
                .put("output_state", row.outputState().name().toLowerCase(java.util.Locale.ROOT))
                .put("problem", row.problem())
                .put("output", row.output());
        if (row.reply() != null) {
            line.put("reply_status", row.reply().status()).put("reply_truncated", row.reply().truncated());
            if (row.reply().body() != null) {
                line.put("reply_body", Base64.getEncoder().encodeToString(row.reply().body()));
            }
        }
        return line;
    }

    private static ObjectNode block(InstanceKey run, BlockRow row) {
        return line("block_outputs")
                .put("tenant_id", run.tenant())
                .put("instance_id", run.id().toString())
                .put("path", row.path())
                .put("n", row.n())
                .put("kind", row.kind().name().toLowerCase(java.util.Locale.ROOT))
                .put("due_in_millis", row.dueInMillis())
                .put("transition_id", row.transitionId().toString())
                .put("at", text(row.at()))
                .put("body", row.body());
    }
}
