package dev.waybill.server.api;

import static dev.waybill.server.api.Endpoint.Access.OPEN;
import static dev.waybill.server.api.Endpoint.Access.OPERATOR;

import dev.waybill.json.Json;
import dev.waybill.model.WaybillException;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.function.Supplier;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** Health, metrics, the document, the error pages, and what concerns the server as a whole. */
final class SystemRoutes {
    private final Backend backend;
    private final Supplier<String> metrics;
    private final String version;
    private final Supplier<JsonNode> openApi;

    SystemRoutes(Backend backend, Supplier<String> metrics, String version, Supplier<JsonNode> openApi) {
        this.backend = backend;
        this.metrics = metrics;
        this.version = version;
        this.openApi = openApi;
    }

    List<Endpoint> endpoints() {
        return List.of(
                Endpoint.get("/health/live", "live", "The process answers.")
                        .access(OPEN)
                        .answers(200, "Health")
                        .does(_ -> health(200, "live")),
                Endpoint.get("/health/ready", "ready", "This node holds its lease, is not draining, and the store answers.")
                        .access(OPEN)
                        .answers(200, "Health")
                        .answers(503, "Health")
                        .does(_ -> backend.ready().getAsBoolean() ? health(200, "ready") : health(503, "not_ready")),
                Endpoint.get("/metrics", "metrics", "Prometheus text.")
                        .access(OPERATOR)
                        .answers(200, null, "text/plain")
                        .does(_ -> Response.text(200, "text/plain; version=0.0.4; charset=utf-8", metrics.get())),
                Endpoint.get("/openapi.json", "openApi", "This document.")
                        .access(OPEN)
                        .answers(200, "OpenApi")
                        .does(_ -> Response.ok(openApi.get())),
                Endpoint.get("/errors/{code}", "errorPage", "What an error code means and what to do (Markdown).")
                        .access(OPEN)
                        .answers(200, null, "text/markdown")
                        .refuses(404)
                        .does(SystemRoutes::errorPage),
                Endpoint.get("/api/v1/info", "info", "What runs here.")
                        .answers(200, "Info")
                        .does(_ -> info()),
                Endpoint.get("/api/v1/cluster/nodes", "listNodes", "The engine processes that share this store.")
                        .access(OPERATOR)
                        .answers(200, "NodeList")
                        .does(_ -> {
                            var nodes = backend.queries().nodes();
                            return Response.ok(Views.page(nodes, Math.max(1, nodes.size()), Views::node, _ -> ""));
                        }),
                Endpoint.post(
                                "/api/v1/store/accept", "acceptStore",
                                "Releases the runs that a restore or a failover paused (ledger_may_be_behind).")
                        .access(OPERATOR)
                        .optionalBody("Empty")
                        .answers(200, "Accepted")
                        .does(call -> {
                            call.body();
                            return Response.ok(Json.NODES.objectNode().put("released", backend.runs().acceptLedger(call.actor())));
                        }));
    }

    private static Response health(int status, String text) {
        return Response.json(status, Json.NODES.objectNode().put("status", text));
    }

    private Response info() {
        ObjectNode json = Json.NODES.objectNode();
        json.put("name", "waybill");
        json.put("version", version);
        json.put("store", backend.store());
        json.put("durable", !backend.durability().weak());
        json.set("weaknesses", Views.array(backend.durability().weaknesses(), Json.NODES::stringNode));
        json.set("warnings", Views.array(backend.durability().warnings(), Json.NODES::stringNode));
        return Response.ok(json);
    }

    private static Response errorPage(Call call) {
        String code = call.path("code");
        if (code.matches("[A-Z][A-Z0-9_]{1,63}")) {
            try (InputStream page = SystemRoutes.class.getResourceAsStream("/dev/waybill/server/errors/" + code + ".md")) {
                if (page != null) {
                    return Response.text(200, "text/markdown; charset=utf-8", new String(page.readAllBytes(), StandardCharsets.UTF_8));
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
        throw WaybillException.notFound("ROUTE_NOT_FOUND", "there is no error with this code");
    }
}
