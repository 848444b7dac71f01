package dev.waybill.server.api;

import dev.waybill.json.Json;
import dev.waybill.model.InstanceKey;
import dev.waybill.operate.CaseSigner;
import dev.waybill.operate.EffectCase;
import dev.waybill.operate.Effects;
import dev.waybill.operate.Runs;
import dev.waybill.store.EvidenceRow;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** A case that leaves the house: everything that is known about an effect, signed. */
final class ExportRoutes {
    /** What says what to do now is no part of what was. */
    private static final List<String> OF_THE_MOMENT = List.of("next", "age_seconds", "healing");

    private final Effects effects;
    private final Runs runs;
    private final CaseSigner signer;

    ExportRoutes(Backend backend) {
        effects = backend.effects();
        runs = backend.runs();
        signer = backend.signer();
    }

    List<Endpoint> endpoints() {
        return List.of(
                Endpoint.get("/api/v1/effects/{id}/export", "exportEffect", "The case file with every content and the run's outputs, signed.")
                        .tag("effects")
                        .answers(200, "CaseExport")
                        .refuses(404, 409)
                        .does(call -> new Response(
                                200, "application/json", signer.sign(document(effects.get(call.tenant(), call.path("id")))), Map.of(), false)),
                Endpoint.get("/api/v1/signing-key", "getSigningKey", "The public key that exports are signed with.")
                        .tag("effects")
                        .answers(200, "SigningKey")
                        .does(_ -> Response.ok(signer.publicKey())));
    }

    private ObjectNode document(EffectCase file) {
        ObjectNode json = EffectViews.caseFile(file);
        OF_THE_MOMENT.forEach(json::remove);
        ArrayNode evidence = (ArrayNode) json.path("evidence");
        for (int i = 0; i < evidence.size(); i++) {
            content((ObjectNode) evidence.get(i), file.evidence().get(i));
        }
        ObjectNode outputs = Json.NODES.objectNode();
        InstanceKey run = file.effect().instance();
        Map<String, JsonNode> known = file.run() == null ? Map.of() : runs.outputs(run.tenant(), run.id());
        known.forEach(outputs::set);
        json.set("run_outputs", outputs);
        Views.time(json, "exported_at", file.databaseNow());
        return json;
    }

    /** Whole, whatever its length, and only once. */
    private static void content(ObjectNode item, EvidenceRow row) {
        byte[] bytes = row.bytes();
        List.of("bytes", "bytes_size", "bytes_base64").forEach(item::remove);
        if (bytes != null) {
            item.put("content_base64", Base64.getEncoder().encodeToString(bytes)).put("content_sha256", CaseSigner.sha256(bytes));
        }
    }
}
