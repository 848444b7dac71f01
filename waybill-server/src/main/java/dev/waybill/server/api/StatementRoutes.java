package dev.waybill.server.api;

import dev.waybill.json.Json;
import dev.waybill.operate.Effects;
import dev.waybill.operate.Resolution.Then;
import dev.waybill.operate.Statement;
import dev.waybill.operate.Statement.Row;
import java.time.DateTimeException;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** The provider's statement against the ledger. */
final class StatementRoutes {
    private final Effects effects;

    StatementRoutes(Backend backend) {
        effects = backend.effects();
    }

    List<Endpoint> endpoints() {
        return List.of(Endpoint.post(
                        "/api/v1/effects/import-statement", "importStatement",
                        "Holds a provider's statement against the receipts of its destination; with apply, decides the unknown ones it proves.")
                .tag("effects")
                .body("StatementImport")
                .maxBytes(16 * 1024 * 1024)
                .answers(200, "StatementReport")
                .refuses(422)
                .does(this::run));
    }

    private Response run(Call call) {
        JsonNode body = call.body();
        Map<String, String> columns = new TreeMap<>();
        body.path("columns").properties().forEach(column -> columns.put(column.getKey(), column.getValue().asString()));
        Set<String> statuses = new HashSet<>();
        body.path("statuses").forEach(status -> statuses.add(status.asString()));
        Statement.Request request = new Statement.Request(
                body.path("name").asString("statement"),
                body.path("destination").asString(),
                Statement.Format.valueOf(body.path("format").asString("csv").toUpperCase(Locale.ROOT)),
                body.path("content").asString(),
                columns,
                statuses,
                body.path("amount_label").asString("amount"),
                body.path("amount_shift").asInt(0),
                time(body.path("covers"), "from"),
                time(body.path("covers"), "to"),
                Then.valueOf(body.path("missing_then").asString("none").toUpperCase(Locale.ROOT)),
                body.path("apply").asBoolean(false),
                body.path("match_label").asString(null));
        return Response.ok(view(effects.importStatement(call.tenant(), request, call.actor())));
    }

    private static @Nullable Instant time(JsonNode covers, String name) {
        JsonNode value = covers.get(name);
        try {
            return value == null ? null : OffsetDateTime.parse(value.asString()).toInstant();
        } catch (DateTimeException e) {
            throw dev.waybill.model.WaybillException.badRequest("INVALID_FIELD", "is not a time such as 2026-01-31T12:00:00Z", "/covers/" + name);
        }
    }

    private static ObjectNode view(Statement.Report report) {
        ObjectNode json = Json.NODES.objectNode();
        json.put("sha256", report.sha256());
        json.put("lines", report.lines());
        json.put("applied", report.applied());
        ObjectNode counts = json.putObject("counts");
        for (Statement.Kind kind : Statement.Kind.values()) {
            counts.put(kind.wire(), report.rows().stream().filter(row -> row.kind() == kind).count());
        }
        json.put("open", report.rows().stream().filter(Row::open).count());
        json.set("rows", Views.array(report.rows(), row -> Json.NODES
                .objectNode()
                .put("kind", row.kind().wire())
                .put("line", row.line())
                .put("key", row.key())
                .put("provider_receipt_id", row.providerId())
                .put("amount", row.amount())
                .put("ledger_amount", row.ledgerAmount())
                .put("effect_id", row.effect() == null ? null : row.effect().toString())
                .put("state", row.state())
                .put("action", row.action())
                .put("why", row.why())));
        return json;
    }
}
