package dev.waybill.operate;

import dev.waybill.json.Json;
import dev.waybill.model.EffectState;
import dev.waybill.operate.Resolution.Then;
import dev.waybill.store.EvidenceRow;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * A decision that waits for a second person. It is a row of the case's evidence, and so is what became of it; nothing is ever changed.
 *
 * @param principal who proposed it, without what the caller said about itself
 * @param journalN  of the receipt's last move when it was proposed: any later move voids it
 * @param decidedBy principal, or null while nobody did
 */
public record Proposal(
        UUID id, Resolution resolution, String principal, int journalN, Instant expiresAt, State state, @Nullable String decidedBy) {
    static final String KIND = "proposal";
    static final String APPROVED = "proposal_approved";
    static final String REJECTED = "proposal_rejected";

    public enum State {
        PENDING,
        APPROVED,
        REJECTED,
        EXPIRED,
        /** The receipt moved meanwhile. */
        VOID;

        public String wire() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    public boolean pending() {
        return state == State.PENDING;
    }

    /** @param n of the receipt's last move, 0 = none */
    static List<Proposal> of(List<EvidenceRow> evidence, int n, Instant now) {
        Map<UUID, EvidenceRow> decisions = new HashMap<>();
        evidence.stream()
                .filter(row -> row.kind().equals(APPROVED) || row.kind().equals(REJECTED))
                .forEach(row -> decisions.put(id(Json.parse(row.body())), row));
        List<Proposal> proposals = new ArrayList<>();
        for (EvidenceRow row : evidence) {
            if (row.kind().equals(KIND)) {
                JsonNode body = Json.parse(row.body());
                proposals.add(read(body, decisions.get(id(body)), n, now));
            }
        }
        return List.copyOf(proposals);
    }

    private static UUID id(JsonNode body) {
        return UUID.fromString(body.path("proposal_id").asString());
    }

    private static Proposal read(JsonNode body, @Nullable EvidenceRow decision, int n, Instant now) {
        String then = body.path("then").asString("");
        Resolution resolution = new Resolution(
                EffectState.ofWire(body.path("state").asString()), body.path("note").asString(), body.path("link").asString(null),
                body.path("provider_receipt_id").asString(null), body.get("output"),
                then.isEmpty() ? null : Then.valueOf(then.toUpperCase(Locale.ROOT)), body.path("actor").asString(),
                body.path("idempotency_key").asString(null));
        Instant expires = Instant.parse(body.path("expires_at").asString());
        int at = body.path("journal_n").asInt();
        State state;
        if (decision != null) {
            state = decision.kind().equals(APPROVED) ? State.APPROVED : State.REJECTED;
        } else if (at != n) {
            state = State.VOID;
        } else {
            state = expires.isAfter(now) ? State.PENDING : State.EXPIRED;
        }
        return new Proposal(
                id(body), resolution, body.path("principal").asString(), at, expires, state,
                decision == null ? null : Json.parse(decision.body()).path("principal").asString());
    }

    /** The body of its row. */
    static ObjectNode body(UUID id, Resolution r, int n, Instant expires) {
        ObjectNode body = Json.NODES.objectNode().put("proposal_id", id.toString()).put("state", r.state().wire()).put("note", r.note());
        put(body, "link", r.link());
        put(body, "provider_receipt_id", r.providerReceiptId());
        if (r.output() != null) {
            body.set("output", r.output());
        }
        put(body, "then", r.then() == null ? null : r.then().name().toLowerCase(Locale.ROOT));
        body.put("actor", r.actor()).put("principal", FourEyes.principal(r.actor()));
        put(body, "idempotency_key", r.idempotencyKey());
        if (r.file() != null) {
            body.set("file", r.file().json());
        }
        return body.put("journal_n", n).put("expires_at", expires.toString());
    }

    private static void put(ObjectNode body, String name, @Nullable String value) {
        if (value != null) {
            body.put(name, value);
        }
    }
}
