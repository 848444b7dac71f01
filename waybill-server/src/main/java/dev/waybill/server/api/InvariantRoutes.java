package dev.waybill.server.api;

import static dev.waybill.server.api.Endpoint.Type.STRING;

import dev.waybill.engine.SequenceCache;
import dev.waybill.json.Json;
import dev.waybill.model.WaybillException;
import dev.waybill.operate.Sequences;
import dev.waybill.store.Queries;
import dev.waybill.store.Queries.InvariantResult;
import java.util.List;
import java.util.UUID;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** {@code /api/v1/continuity/invariants}: what must hold of every run of a version, and what it came to. */
final class InvariantRoutes {
    private static final String BASE = "/api/v1/continuity/";
    private final Sequences sequences;
    private final Queries queries;

    InvariantRoutes(Backend backend) {
        sequences = backend.sequences();
        queries = backend.queries();
    }

    List<Endpoint> endpoints() {
        return List.of(
                Endpoint.post(BASE + "invariants", "createInvariant", "Declares an invariant for a published version; it cannot be taken back.")
                        .tag("invariants")
                        .body("InvariantDeclaration")
                        .answers(201, "Invariant")
                        .refuses(404, 409, 422)
                        .does(this::create),
                Endpoint.get(BASE + "invariants", "listInvariants", "The invariants of one version: those of its document, then those declared afterwards.")
                        .tag("invariants")
                        .required("sequence_id", STRING, "the version")
                        .answers(200, "InvariantList")
                        .refuses(404)
                        .does(this::list),
                Endpoint.get(BASE + "executions/{id}/invariants/results", "listInvariantResults", "What the invariants of an execution's runs came to.")
                        .tag("invariants")
                        .answers(200, "InvariantResultList")
                        .does(this::results));
    }

    private Response create(Call call) {
        JsonNode body = call.body();
        String tenant = call.tenantOf(body);
        UUID sequence = UUID.fromString(body.path("sequence_id").asString());
        int version = sequences.get(tenant, sequence).version();
        if (body.hasNonNull("sequence_version") && body.path("sequence_version").asInt() != version) {
            throw new WaybillException(
                    422, "INVALID_VALUE", "sequence " + sequence + " is version " + version + "; an id names one version", "/sequence_version",
                    "leave out sequence_version", null);
        }
        ObjectNode invariant = Json.NODES.objectNode();
        for (String member : List.of("name", "rule", "commit_guard")) {
            if (body.has(member)) {
                invariant.set(member, body.get(member));
            }
        }
        sequences.addInvariant(tenant, sequence, invariant);
        ObjectNode answer = view(invariant, sequence);
        answer.put("effective_within_ms", SequenceCache.INVARIANTS_FRESH.toMillis());
        return Response.json(201, answer);
    }

    private static ObjectNode view(JsonNode invariant, UUID sequence) {
        ObjectNode json = Json.NODES.objectNode();
        json.put("sequence_id", sequence.toString());
        json.set("name", invariant.path("name"));
        json.set("rule", invariant.path("rule"));
        json.put("commit_guard", invariant.path("commit_guard").asBoolean(false));
        return json;
    }

    private Response list(Call call) {
        UUID sequence = call.queryId("sequence_id");
        if (sequence == null) {
            call.required("sequence_id");
            throw Call.invalid("sequence_id", "must be a UUID");
        }
        return Response.ok(all(Views.array(sequences.invariants(call.tenant(), sequence), it -> view(it, sequence))));
    }

    private Response results(Call call) {
        UUID execution = call.id("id", "EXECUTION_NOT_FOUND", "execution", "waybill run list");
        return Response.ok(all(Views.array(queries.invariantResults(call.tenant(), execution), InvariantRoutes::result)));
    }

    private static ObjectNode result(InvariantResult one) {
        ObjectNode json = Json.NODES.objectNode();
        json.put("instance_id", one.instance().id().toString());
        json.put("invariant", one.result().invariant());
        json.put("rule", one.result().rule());
        json.put("block", one.result().path().isEmpty() ? null : one.result().path());
        json.put("outcome", one.result().held() ? "held" : "violated");
        json.set("details", Json.parse(one.result().details()));
        json.put("at", one.at().toString());
        return json;
    }

    private static ObjectNode all(JsonNode items) {
        ObjectNode json = Json.NODES.objectNode();
        json.set("items", items);
        json.put("has_more", false);
        json.putNull("next_cursor");
        return json;
    }
}
