package dev.waybill.server.api;

import dev.waybill.engine.EffectContract;
import dev.waybill.engine.NextStep;
import dev.waybill.json.Json;
import dev.waybill.json.SecretText;
import dev.waybill.model.EffectState;
import dev.waybill.model.Reply;
import dev.waybill.operate.EffectCase;
import dev.waybill.operate.Proposal;
import dev.waybill.store.EvidenceRow;
import dev.waybill.store.JournalRow;
import dev.waybill.store.JournalRow.OutputState;
import dev.waybill.store.Queries.EffectView;
import dev.waybill.store.ReceiptRow;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** An effect as people and the wire need it: the receipt, what became of it, and what can be done about it. */
final class EffectViews {
    /** Reply headers whose values are never shown; what our own request carried is already a reference or a mask. */
    private static final Pattern SECRET_HEADER = Pattern.compile("(?i)set-cookie|.*(api-?key|token|secret|password).*");

    private static final int MAX_REPLY_SHOWN = 64 * 1024;

    private EffectViews() {}

    static ObjectNode effect(EffectView view, Instant now) {
        ReceiptRow receipt = view.receipt();
        JournalRow last = view.last();
        ObjectNode json = Json.NODES.objectNode();
        json.put("effect_id", receipt.id().toString());
        json.put("state", view.state().wire());
        json.put("kind", receipt.kind().wire());
        json.put("handler", receipt.handler());
        json.put("destination", receipt.destination());
        json.put("destination_fingerprint", receipt.destinationFingerprint());
        json.put("idempotency_key", receipt.idempotencyKey());
        json.put("request_sha256", receipt.requestSha256());
        json.set("request", SecretText.masked(Views.parse(receipt.request())));
        json.put("epoch", receipt.claim().epoch());
        json.put("attempt", receipt.attempt());
        json.put("block_id", blockId(receipt.path()));
        json.put("path", receipt.path());
        json.put("tenant_id", view.instance().tenant());
        json.put("instance_id", view.instance().id().toString());
        json.put("continuity_id", receipt.execution().toString());
        json.put("resend_of", receipt.resendOf() == null ? null : receipt.resendOf().toString());
        Views.time(json, "planned_at", receipt.at());
        Views.time(json, "prepared_at", receipt.at());
        Views.time(json, "dispatched_at", receipt.prepared() ? null : receipt.at());
        Views.time(json, "quiet_at", receipt.quietAt());
        json.put("provider_receipt_id", last == null ? null : last.providerReceiptId());
        json.put("reason", last == null ? null : last.reason());
        json.put("message", last == null ? null : last.message());
        json.put("proof", last == null || last.proof() == null ? null : last.proof().wire());
        json.put("output_state", last == null ? "none" : wire(last.outputState()));
        json.set("labels", receipt.labels() == null ? Json.NODES.objectNode() : Views.parse(receipt.labels()));
        Views.time(json, "since", view.since());
        json.put("age_seconds", Math.max(0, Duration.between(view.since(), now).toSeconds()));
        json.set("next", next(view, null));
        return json;
    }

    static ObjectNode caseFile(EffectCase file) {
        ObjectNode json = effect(file.effect(), file.databaseNow());
        // The last row need not repeat the provider's id; a stored one is never overwritten by null.
        String providerReceiptId = file.journal().stream()
                .map(JournalRow::providerReceiptId)
                .filter(Objects::nonNull)
                .reduce((_, later) -> later)
                .orElse(null);
        json.put("provider_receipt_id", providerReceiptId);
        if (file.effect().receipt().prepared()) {
            file.journal().stream()
                    .filter(row -> row.to() == EffectState.DISPATCHED)
                    .findFirst()
                    .ifPresent(row -> Views.time(json, "dispatched_at", row.at()));
        }
        EffectContract contract = file.contract();
        json.put("guarantee", contract == null ? null : contract.guarantee().words());
        json.put("guarantee_means", contract == null ? null : contract.guarantee().meaning());
        json.put("destination_profile", contract == null ? null : contract.profile());
        json.put("search_url", contract == null ? null : contract.search());
        json.put("quiet", file.quiet());
        json.set("journal", Views.array(file.journal(), EffectViews::journal));
        json.set("evidence", evidence(file.evidence()));
        json.set("proposals", Views.array(Proposal.of(file.effect(), file.evidence(), file.databaseNow()), EffectViews::proposal));
        json.set("attempts", Views.array(file.attempts(), attempt -> Json.NODES
                .objectNode()
                .put("effect_id", attempt.receipt().id().toString())
                .put("attempt", attempt.receipt().attempt())
                .put("state", attempt.state().wire())
                .put("reason", attempt.last() == null ? null : attempt.last().reason())
                .put("dispatched_at", attempt.receipt().at() == null ? null : attempt.receipt().at().toString())));
        json.set("run", file.run() == null ? Json.NODES.nullNode() : Views.runState(file.run()));
        ArrayNode commands = Json.NODES.arrayNode();
        if (file.next() != null && file.next().verifier()) {
            commands.add("waybill effects verify " + file.effect().receipt().id());
        }
        Proposal.pending(file.effect(), file.evidence(), file.databaseNow())
                .ifPresent(_ -> commands.add("waybill effects approve " + file.effect().receipt().id() + "      (another principal than who proposed it)"));
        json.set("next", commands.addAll(next(file.effect(), file.quiet())));
        json.set("healing", file.next() == null ? Json.NODES.nullNode() : healing(file.next()));
        return json;
    }

    /** What the engine does about an unknown effect by itself. */
    private static ObjectNode healing(NextStep step) {
        ObjectNode json = Json.NODES.objectNode();
        json.put("next", step.next());
        Views.time(json, "at", step.at());
        json.put("why", step.why());
        json.put("effect_id", step.effect().toString());
        json.put("verifier", step.verifier());
        json.put("reads", step.reads());
        json.put("negative_reads", step.negativeReads());
        json.put("negative_reads_needed", step.enough());
        json.put("last_verdict", step.lastVerdict());
        json.put("resends", step.resends());
        Views.time(json, "key_window_end", step.keyWindowEnd());
        Views.time(json, "quiet_at", step.quietAt());
        return json;
    }

    /**
     * Commands to copy.
     *
     * @param quiet null: not known here
     */
    private static ArrayNode next(EffectView view, @Nullable Boolean quiet) {
        String id = view.receipt().id().toString();
        ArrayNode next = Json.NODES.arrayNode();
        if (view.state() == EffectState.UNKNOWN) {
            next.add("waybill effects resolve " + id + " --committed --provider-id ID --note \"what the provider's record shows\"");
            next.add("waybill effects resolve " + id + " --abandoned --note \"where you looked and found nothing\""
                    + (Boolean.FALSE.equals(quiet) ? " --fail" : " --resend"));
        } else if (view.last() != null && view.last().outputState() == OutputState.LOST) {
            next.add("waybill effects output " + id + " --output JSON --note \"where it was found\"");
        }
        return next;
    }

    private static ObjectNode journal(JournalRow row) {
        ObjectNode json = Json.NODES.objectNode();
        json.put("n", row.n());
        json.put("from", row.from().wire());
        json.put("to", row.to().wire());
        json.put("actor", row.actor());
        json.put("epoch", row.claim() == null ? null : row.claim().epoch());
        json.put("transition_id", row.transitionId().toString());
        json.put("proof", row.proof() == null ? null : row.proof().wire());
        json.put("reason", row.reason());
        json.put("message", row.message());
        json.put("provider_receipt_id", row.providerReceiptId());
        json.put("counts_as_attempt", row.countsAsAttempt());
        json.put("output_state", wire(row.outputState()));
        json.set("output", Views.parse(row.output()));
        json.set("problem", Views.parse(row.problem()));
        json.set("reply", row.reply() == null ? Json.NODES.nullNode() : reply(row.reply()));
        Views.time(json, "at", row.at());
        return json;
    }

    private static ObjectNode reply(Reply reply) {
        ObjectNode json = Json.NODES.objectNode();
        json.put("status", reply.status());
        ObjectNode headers = json.putObject("headers");
        for (Map.Entry<String, List<String>> header : reply.headers().entrySet()) {
            headers.put(
                    header.getKey(),
                    SECRET_HEADER.matcher(header.getKey()).matches() ? "***" : String.join(", ", header.getValue()));
        }
        bytes(json, "body", reply.body());
        json.put("truncated", reply.truncated());
        return json;
    }

    /** Numbered from 1 in order of insertion: rows are never removed, so the number is a name. */
    static ArrayNode evidence(List<EvidenceRow> rows) {
        ArrayNode list = Json.NODES.arrayNode();
        for (EvidenceRow row : rows) {
            ObjectNode json = Json.NODES.objectNode();
            json.put("n", list.size() + 1);
            json.put("kind", row.kind());
            json.put("actor", row.actor());
            json.set("body", Views.parse(row.body()));
            // What a person handed in is downloaded, not shown: it may be anything.
            bytes(json, "bytes", row.kind().equals("file") ? null : row.bytes());
            Views.time(json, "at", row.at());
            list.add(json);
        }
        return list;
    }

    static ObjectNode proposal(Proposal proposal) {
        ObjectNode json = Json.NODES.objectNode();
        json.put("proposal_id", proposal.id().toString());
        json.put("status", proposal.status().wire());
        for (String field : List.of("state", "then", "note", "link", "provider_receipt_id", "rule", "file")) {
            json.set(field, proposal.body().has(field) ? proposal.body().get(field) : Json.NODES.nullNode());
        }
        json.put("proposed_by", proposal.actor());
        Views.time(json, "proposed_at", proposal.at());
        Views.time(json, "expires_at", proposal.expiresAt());
        return json;
    }

    /** As JSON when it is JSON, as text when it is text, else in base64 under {@code NAME_base64}; a long one is cut and says so. */
    private static void bytes(ObjectNode json, String name, byte @Nullable [] bytes) {
        if (bytes == null) {
            json.putNull(name);
            return;
        }
        json.put(name + "_size", bytes.length);
        if (bytes.length > MAX_REPLY_SHOWN) {
            json.put(name + "_base64", Base64.getEncoder().encodeToString(Arrays.copyOf(bytes, MAX_REPLY_SHOWN)));
            return;
        }
        String text = new String(bytes, StandardCharsets.UTF_8);
        if (Arrays.equals(text.getBytes(StandardCharsets.UTF_8), bytes)) {
            json.set(name, Json.tryParse(bytes).orElseGet(() -> Json.NODES.stringNode(text)));
        } else {
            json.put(name + "_base64", Base64.getEncoder().encodeToString(bytes));
        }
    }

    /** {@code items[1]/charge} is block {@code charge}. */
    private static String blockId(String path) {
        String last = path.substring(path.lastIndexOf('/') + 1);
        int index = last.indexOf('[');
        return index < 0 ? last : last.substring(0, index);
    }

    private static String wire(OutputState state) {
        return state.name().toLowerCase(Locale.ROOT);
    }
}
