package dev.waybill.server.api;

import static dev.waybill.server.api.Endpoint.Type.INTEGER;
import static dev.waybill.server.api.Endpoint.Type.STRING;

import dev.waybill.json.Json;
import dev.waybill.operate.Sequences;
import dev.waybill.operate.Sequences.Report;
import dev.waybill.store.SequenceRow;
import java.util.List;
import java.util.UUID;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** {@code /api/v1/sequences}: publish, look, deprecate. */
final class SequenceRoutes {
    private static final String BASE = "/api/v1/sequences";
    private static final String NAMESPACE = "namespace (default \"default\")";
    private final Sequences sequences;

    SequenceRoutes(Backend backend) {
        sequences = backend.sequences();
    }

    List<Endpoint> endpoints() {
        return List.of(
                Endpoint.post(BASE, "createSequence", "Publishes a version; it is immutable from then on.")
                        .tag("sequences")
                        .body("SequenceDocument")
                        .orYaml()
                        .answers(201, "Sequence")
                        .refuses(409, 422)
                        .does(this::create),
                Endpoint.get(BASE, "listSequences", "All versions, by namespace, name and version, newest version first.")
                        .tag("sequences")
                        .paged()
                        .answers(200, "SequenceList")
                        .does(this::list),
                Endpoint.post(BASE + "/validate", "validateSequence", "Every fault and warning at once; nothing is published.")
                        .tag("sequences")
                        .body("SequenceDocument")
                        .orYaml()
                        .answers(200, "ValidationReport")
                        .does(this::validate),
                Endpoint.get(BASE + "/by-name", "getSequenceByName", "The given version, or the newest that is not deprecated.")
                        .tag("sequences")
                        .required("name", STRING, "the sequence's name")
                        .query("namespace", STRING, NAMESPACE)
                        .query("version", INTEGER, "default: the newest that is not deprecated")
                        .answers(200, "Sequence")
                        .refuses(404)
                        .does(this::byName),
                Endpoint.get(BASE + "/versions", "listVersionsByName", "All versions of one name, newest first.")
                        .tag("sequences")
                        .required("name", STRING, "the sequence's name")
                        .query("namespace", STRING, NAMESPACE)
                        .answers(200, "SequenceList")
                        .does(call -> versions(call.tenant(), call.query("namespace", "default"), call.required("name"))),
                Endpoint.get(BASE + "/{id}", "getSequence", "One version.")
                        .tag("sequences")
                        .answers(200, "Sequence")
                        .refuses(404)
                        .does(call -> shown(sequences.get(call.tenant(), id(call)))),
                Endpoint.get(BASE + "/{id}/versions", "listVersions", "All versions of the same name, newest first.")
                        .tag("sequences")
                        .answers(200, "SequenceList")
                        .refuses(404)
                        .does(call -> {
                            SequenceRow row = sequences.get(call.tenant(), id(call));
                            return versions(row.tenant(), row.namespace(), row.name());
                        }),
                Endpoint.post(BASE + "/{id}/deprecate", "deprecateSequence", "New runs by name no longer take this version.")
                        .tag("sequences")
                        .optionalBody("Empty")
                        .answers(200, "Sequence")
                        .refuses(404)
                        .does(this::deprecate));
    }

    private static UUID id(Call call) {
        return call.id("id", "SEQUENCE_NOT_FOUND", "sequence", "waybill sequence list");
    }

    private Response create(Call call) {
        SequenceRow row = sequences.publish(call.tenantOf(call.body()), call.body());
        return Response.json(201, Views.sequence(row)).header("Location", BASE + "/" + row.id());
    }

    private Response validate(Call call) {
        Report report = sequences.validate(call.tenantOf(call.body()), call.body());
        ObjectNode json = Json.NODES.objectNode();
        json.put("valid", report.faults().isEmpty());
        json.set("faults", Views.findings(report.faults()));
        json.set("warnings", Views.findings(report.warnings()));
        json.set("guarantees", guarantees(report));
        return Response.ok(json);
    }

    private static ArrayNode guarantees(Report report) {
        return Views.array(report.guarantees(), step -> Json.NODES
                .objectNode()
                .put("block_id", step.step())
                .put("guarantee", step.guarantee().words())
                .put("means", step.guarantee().meaning()));
    }

    /** One version, with what each of its steps promises on this node. */
    private Response shown(SequenceRow row) {
        ObjectNode json = Views.sequence(row);
        return Response.ok(json.set("guarantees", guarantees(sequences.validate(row.tenant(), Json.parseDefinition(row.definition())))));
    }

    private Response list(Call call) {
        int limit = call.limit();
        List<SequenceRow> rows = sequences.list(call.tenant(), call.queryId("cursor"), limit + 1);
        return Response.ok(Views.page(rows, limit, Views::sequence, row -> row.id().toString()));
    }

    private Response byName(Call call) {
        return shown(sequences.byName(
                call.tenant(),
                call.query("namespace", "default"),
                call.required("name"),
                call.queryInt("version", 1, Integer.MAX_VALUE)));
    }

    private Response versions(String tenant, String namespace, String name) {
        List<SequenceRow> rows = sequences.versions(tenant, namespace, name);
        return Response.ok(Views.page(rows, Math.max(1, rows.size()), Views::sequence, row -> row.id().toString()));
    }

    private Response deprecate(Call call) {
        call.body();
        sequences.deprecate(call.tenant(), id(call));
        return Response.ok(Views.sequence(sequences.get(call.tenant(), id(call))));
    }
}
