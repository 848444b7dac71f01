package dev.waybill.server.api;

import static dev.waybill.server.api.Endpoint.Type.INTEGER;

import dev.waybill.json.Json;
import dev.waybill.model.WaybillException;
import dev.waybill.operate.Attachment;
import dev.waybill.operate.EffectCase;
import dev.waybill.operate.Effects;
import dev.waybill.operate.Evidence;
import dev.waybill.operate.Proposal;
import dev.waybill.store.DeskStore.FoundEvidence;
import dev.waybill.store.EvidenceRow;
import java.util.Base64;
import java.util.List;
import java.util.UUID;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** What people add to a case, and decisions that need two of them. */
final class EvidenceRoutes {
    private static final String EFFECT = "/api/v1/effects/{id}";
    private static final int MAX_PROPOSALS = 500;

    private final Effects effects;
    private final Function<Call, UUID> receipt;

    /** @param receipt the receipt that the path names, in whole or by its beginning */
    EvidenceRoutes(Backend backend, Function<Call, UUID> receipt) {
        effects = backend.effects();
        this.receipt = receipt;
    }

    List<Endpoint> endpoints() {
        return List.of(
                Endpoint.get(EFFECT + "/evidence", "listEvidence", "All evidence of a receipt, in order; it is never changed or removed.")
                        .tag("effects")
                        .answers(200, "EvidenceList")
                        .refuses(404, 409)
                        .does(call -> {
                            ObjectNode list = Json.NODES.objectNode();
                            list.set("items", EffectViews.evidence(file(call).evidence()));
                            return Response.ok(list);
                        }),
                Endpoint.post(EFFECT + "/evidence", "attachEvidence", "Adds a note, a link or a file to the case, whatever its state.")
                        .tag("effects")
                        .header("Idempotency-Key", "The same key again adds nothing.")
                        .body("EvidenceInput")
                        .answers(201, "EffectCase")
                        .refuses(404, 409, 422)
                        .does(this::attach),
                Endpoint.get(EFFECT + "/evidence/{n}/content", "getEvidenceContent", "The bytes of one item, as they were handed in.")
                        .tag("effects")
                        .answers(200, null, "application/octet-stream")
                        .refuses(404, 409)
                        .does(this::content),
                Endpoint.post(EFFECT + "/approve", "approveEffect", "Carries out what another principal proposed; the run goes on in the same transaction.")
                        .tag("effects")
                        .body("Approval")
                        .answers(200, "EffectCase")
                        .refuses(404, 409, 422)
                        .does(call -> ended(effects.approve(
                                call.tenant(), receipt.apply(call), proposal(call), text(call.body().get("note")), call.actor()))),
                Endpoint.post(EFFECT + "/reject", "rejectEffect", "Ends a proposal without carrying it out.")
                        .tag("effects")
                        .body("Rejection")
                        .answers(200, "EffectCase")
                        .refuses(404, 409, 422)
                        .does(call -> ended(effects.reject(
                                call.tenant(), receipt.apply(call), proposal(call), call.body().path("note").asString(), call.actor()))),
                Endpoint.get("/api/v1/proposals", "listProposals", "Resolutions that wait for another principal, newest first.")
                        .tag("effects")
                        .query("limit", INTEGER, "at most this many, 1 to " + MAX_PROPOSALS)
                        .answers(200, "ProposalList")
                        .does(this::proposals));
    }

    private EffectCase file(Call call) {
        return effects.get(call.tenant(), receipt.apply(call).toString());
    }

    private static Response ended(EffectCase file) {
        return Response.ok(EffectViews.caseFile(file));
    }

    private Response attach(Call call) {
        JsonNode body = call.body();
        Evidence evidence = new Evidence(text(body.get("note")), text(body.get("link")), file(body.get("file"), "/file"));
        return Response.json(
                201, EffectViews.caseFile(effects.attach(call.tenant(), receipt.apply(call), evidence, call.actor(), call.idempotencyKey())));
    }

    private Response content(Call call) {
        List<EvidenceRow> rows = file(call).evidence();
        String n = call.path("n");
        EvidenceRow row = n.matches("[1-9]\\d{0,4}") && Integer.parseInt(n) <= rows.size() ? rows.get(Integer.parseInt(n) - 1) : null;
        if (row == null || row.bytes() == null) {
            throw WaybillException.notFound("EVIDENCE_NOT_FOUND", "this effect has no evidence with that number and content");
        }
        // What a stranger may have written is handed to a program, never shown by a browser.
        return new Response(200, "application/octet-stream", row.bytes(), java.util.Map.of("Content-Disposition", "attachment"), false);
    }

    private Response proposals(Call call) {
        Integer limit = call.queryInt("limit", 1, MAX_PROPOSALS);
        ArrayNode items = Json.NODES.arrayNode();
        for (FoundEvidence found : effects.recentProposals(call.tenant(), MAX_PROPOSALS)) {
            EffectCase file = effects.get(call.tenant(), found.receipt().toString());
            UUID id = UUID.fromString(Json.parse(found.row().body()).path("proposal_id").asString());
            Proposal.pending(file.effect(), file.evidence(), file.databaseNow())
                    .filter(proposal -> proposal.id().equals(id) && items.size() < (limit == null ? Call.DEFAULT_LIMIT : limit))
                    .ifPresent(proposal -> items.add(EffectViews.proposal(proposal)
                            .put("effect_id", found.receipt().toString())
                            .put("instance_id", found.instance().id().toString())));
        }
        ObjectNode list = Json.NODES.objectNode();
        list.set("items", items);
        return Response.ok(list);
    }

    private static UUID proposal(Call call) {
        return UUID.fromString(call.body().path("proposal_id").asString());
    }

    /** @throws WaybillException 400 INVALID_FIELD when it is no base64 */
    static @Nullable Attachment file(@Nullable JsonNode file, String pointer) {
        if (file == null || file.isNull()) {
            return null;
        }
        try {
            byte[] bytes = Base64.getDecoder().decode(file.path("content_base64").asString());
            String type = text(file.get("media_type"));
            return new Attachment(file.path("name").asString(), type == null ? "application/octet-stream" : type, bytes);
        } catch (IllegalArgumentException e) {
            throw WaybillException.badRequest("INVALID_FIELD", "content_base64 is not base64", pointer + "/content_base64");
        }
    }

    private static @Nullable String text(@Nullable JsonNode value) {
        return value == null || value.isNull() ? null : value.asString();
    }
}
