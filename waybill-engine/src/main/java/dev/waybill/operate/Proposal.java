package dev.waybill.operate;

import dev.waybill.json.Json;
import dev.waybill.model.EffectState;
import dev.waybill.operate.Resolution.Then;
import dev.waybill.store.EvidenceRow;
import dev.waybill.store.JournalRow;
import dev.waybill.store.Queries.EffectView;
import java.time.Instant;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * A resolution that waits for a second person. It is evidence, and what becomes of it is evidence: nothing about it is ever
 * rewritten. What it is now is worked out from the rows: approved or rejected by a later row, void when the receipt has moved, expired
 * when its time is over.
 *
 * @param body as stored, in a row of kind {@code proposal}
 * @param at   database time
 */
public record Proposal(JsonNode body, String actor, Instant at, Status status) {
    static final String KIND = "proposal";
    static final String APPROVAL = "approval";
    static final String REJECTION = "rejection";

    public enum Status {
        PENDING,
        APPROVED,
        REJECTED,
        /** The receipt moved before anybody approved. */
        VOID,
        EXPIRED;

        public String wire() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    public UUID id() {
        return UUID.fromString(body.path("proposal_id").asString());
    }

    public Instant expiresAt() {
        return Instant.parse(body.path("expires_at").asString());
    }

    /** Who acts, without the name that the caller gives himself: for two pairs of eyes it must be another key, not another word. */
    static String principal(String actor) {
        int slash = actor.indexOf('/');
        return slash < 0 ? actor : actor.substring(0, slash);
    }

    /** In order of insertion. */
    public static List<Proposal> of(EffectView effect, List<EvidenceRow> evidence, Instant now) {
        return evidence.stream().filter(row -> row.kind().equals(KIND)).map(row -> of(row, effect, evidence, now)).toList();
    }

    public static Optional<Proposal> pending(EffectView effect, List<EvidenceRow> evidence, Instant now) {
        return of(effect, evidence, now).stream()
                .filter(proposal -> proposal.status() == Status.PENDING)
                .max(Comparator.comparing(Proposal::at));
    }

    private static Proposal of(EvidenceRow row, EffectView effect, List<EvidenceRow> evidence, Instant now) {
        JsonNode body = Json.parse(row.body());
        Proposal plain = new Proposal(body, row.actor(), row.at() == null ? now : row.at(), Status.PENDING);
        JournalRow last = effect.last();
        Status status;
        if (ended(evidence, APPROVAL, plain.id())) {
            status = Status.APPROVED;
        } else if (ended(evidence, REJECTION, plain.id())) {
            status = Status.REJECTED;
        } else if (body.path("journal_n").asInt() != (last == null ? 0 : last.n())) {
            status = Status.VOID;
        } else {
            status = plain.expiresAt().isAfter(now) ? Status.PENDING : Status.EXPIRED;
        }
        return new Proposal(body, row.actor(), plain.at(), status);
    }

    private static boolean ended(List<EvidenceRow> evidence, String kind, UUID id) {
        return evidence.stream()
                .filter(row -> row.kind().equals(kind))
                .anyMatch(row -> Json.parse(row.body()).path("proposal_id").asString("").equals(id.toString()));
    }

    static ObjectNode body(
            UUID id, Resolution r, ObjectNode decision, EffectView effect, List<UUID> chain, String rule, Instant expires) {
        ObjectNode body = Json.NODES.objectNode().put("proposal_id", id.toString());
        body.setAll(decision);
        if (r.output() != null) {
            body.set("output", r.output());
        }
        body.put("then_given", r.then() != null);
        body.put("journal_n", effect.last() == null ? 0 : effect.last().n());
        var members = body.putArray("chain");
        chain.forEach(member -> members.add(member.toString()));
        body.put("rule", rule);
        body.put("principal", principal(r.actor()));
        body.put("proposed_by", r.actor());
        body.put("expires_at", expires.toString());
        return body;
    }

    /** What was proposed, with the file that was stored beside it. */
    Resolution resolution(List<EvidenceRow> evidence) {
        String sha256 = body.path("file").path("sha256").asString("");
        Attachment file = evidence.stream()
                .filter(row -> row.kind().equals(Attachment.KIND) && row.bytes() != null && !sha256.isEmpty())
                .filter(row -> Json.parse(row.body()).path("sha256").asString("").equals(sha256))
                .findFirst()
                .map(row -> new Attachment(
                        body.path("file").path("name").asString(), body.path("file").path("media_type").asString(),
                        row.bytes() == null ? new byte[0] : row.bytes()))
                .orElse(null);
        return new Resolution(
                EffectState.ofWire(body.path("state").asString()),
                body.path("note").asString(),
                text("link"),
                text("provider_receipt_id"),
                body.get("output"),
                body.path("then_given").asBoolean() ? Then.valueOf(body.path("then").asString().toUpperCase(Locale.ROOT)) : null,
                body.path("proposed_by").asString(),
                text("idempotency_key"),
                file);
    }

    boolean sameChain(List<UUID> chain) {
        return body.path("chain").valueStream().map(JsonNode::asString).toList()
                .equals(chain.stream().map(UUID::toString).toList());
    }

    private @Nullable String text(String field) {
        JsonNode value = body.get(field);
        return value == null || value.isNull() ? null : value.asString();
    }
}
