package dev.waybill.server.api;

import dev.waybill.json.Json;
import dev.waybill.model.WaybillException;
import dev.waybill.operate.Effects;
import dev.waybill.operate.Money;
import dev.waybill.operate.Resolution.Then;
import dev.waybill.operate.Statement;
import dev.waybill.operate.StatementImport;
import dev.waybill.operate.StatementImport.Action;
import dev.waybill.operate.StatementImport.Covers;
import dev.waybill.operate.StatementImport.Match;
import dev.waybill.operate.StatementImport.Row;
import dev.waybill.operate.StatementImport.Verdict;
import dev.waybill.store.Queries.EffectView;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.format.DateTimeParseException;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** A provider's statement against the receipts of its destination. */
final class StatementRoutes {
    private final Effects effects;

    StatementRoutes(Backend backend) {
        effects = backend.effects();
    }

    List<Endpoint> endpoints() {
        return List.of(Endpoint.post(
                        "/api/v1/effects/statement", "importStatement",
                        "Holds a provider's statement against the receipts of a destination; with apply it decides what it proves.")
                .tag("effects")
                .body("StatementImport")
                .answers(200, "StatementReport")
                .refuses(409, 422)
                .does(this::run));
    }

    private Response run(Call call) {
        JsonNode body = call.body();
        if (body.has("lines") == body.has("text")) {
            throw WaybillException.badRequest("MISSING_FIELD", "give the statement either as text or as lines", "/text");
        }
        Map<String, String> map = new TreeMap<>();
        body.path("map").properties().forEach(field -> map.put(field.getKey(), field.getValue().asString()));
        Statement statement = body.has("text") ? Statement.parse(body.get("text").asString(), map) : Statement.of(body.get("lines"), map);
        JsonNode covers = body.path("covers");
        JsonNode missing = body.path("missing");
        StatementImport.Request request = new StatementImport.Request(
                body.path("destination").asString(),
                statement,
                Match.parse(body.path("match").asString("key")),
                body.path("apply").asBoolean(false),
                covers.isObject() ? new Covers(time(covers, "from"), time(covers, "to")) : null,
                missing.isString() ? Then.valueOf(missing.asString().toUpperCase(Locale.ROOT)) : null,
                call.actor());
        return Response.ok(report(request, StatementImport.run(effects, call.tenant(), request)));
    }

    private static Instant time(JsonNode covers, String field) {
        try {
            return OffsetDateTime.parse(covers.path(field).asString()).toInstant();
        } catch (DateTimeParseException e) {
            throw WaybillException.badRequest("INVALID_FIELD", field + " must be a time such as 2026-01-31T12:00:00Z", "/covers/" + field);
        }
    }

    private static ObjectNode report(StatementImport.Request request, List<Row> rows) {
        ObjectNode json = Json.NODES.objectNode();
        json.put("destination", request.destination());
        json.put("applied", request.apply());
        ObjectNode counts = json.putObject("counts");
        counts.put("lines", request.statement().lines().size());
        for (Verdict verdict : Verdict.values()) {
            counts.put(verdict.wire(), rows.stream().filter(row -> row.verdict() == verdict).count());
        }
        counts.put("to_do", rows.stream().filter(row -> row.action() != Action.NONE && !row.done()).count());
        counts.put("done", rows.stream().filter(Row::done).count());
        json.set("items", Views.array(rows, StatementRoutes::row));
        return json;
    }

    private static ObjectNode row(Row row) {
        ObjectNode json = Json.NODES.objectNode();
        json.put("verdict", row.verdict().wire());
        json.put("action", row.action().wire());
        json.put("done", row.done());
        json.put("code", row.code());
        json.put("why", row.why());
        Statement.Line line = row.line();
        if (line == null) {
            json.putNull("line");
        } else {
            ObjectNode shown = json.putObject("line");
            shown.put("number", line.number());
            shown.put("reference", line.reference());
            shown.put("transaction", line.transaction());
            money(shown, line.money());
            Views.time(shown, "at", line.at());
            shown.put("text", line.text());
        }
        EffectView effect = row.effect();
        if (effect == null) {
            json.putNull("effect");
        } else {
            ObjectNode shown = json.putObject("effect");
            shown.put("effect_id", effect.receipt().id().toString());
            shown.put("state", effect.state().wire());
            shown.put("instance_id", effect.instance().id().toString());
            shown.put("path", effect.receipt().path());
            shown.set("labels", effect.receipt().labels() == null ? Json.NODES.objectNode() : Views.parse(effect.receipt().labels()));
            money(shown, row.expected());
        }
        return json;
    }

    /** As text: a number would pass through a binary fraction in many a client. */
    private static void money(ObjectNode json, @Nullable Money money) {
        json.put("amount", money == null ? null : money.amount().toPlainString());
        json.put("currency", money == null ? null : money.currency());
    }
}
