package dev.waybill.server.api;

import dev.waybill.json.Json;
import dev.waybill.server.webhook.Webhooks;
import dev.waybill.store.WebhookStore.WebhookEndpoint;
import java.util.List;
import java.util.Locale;
import java.util.TreeSet;
import java.util.UUID;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** {@code /api/v1/webhooks}: where events of the tenant are sent. */
final class WebhookRoutes {
    private static final String BASE = "/api/v1/webhooks";

    private final Webhooks webhooks;

    WebhookRoutes(Webhooks webhooks) {
        this.webhooks = webhooks;
    }

    List<Endpoint> endpoints() {
        return List.of(
                Endpoint.post(BASE, "addWebhook", "Sends events from now on to a URL, signed as Standard Webhooks says; the secret is shown this once.")
                        .tag("webhooks")
                        .body("WebhookRequest")
                        .answers(201, "WebhookCreated")
                        .refuses(409, 422)
                        .does(this::add),
                Endpoint.get(BASE, "listWebhooks", "Every webhook of the tenant with how it fares.")
                        .tag("webhooks")
                        .answers(200, "WebhookList")
                        .refuses(409)
                        .does(call -> {
                            List<WebhookEndpoint> all = webhooks.list(call.tenant());
                            return Response.ok(Views.page(all, Math.max(1, all.size()), WebhookRoutes::view, _ -> ""));
                        }),
                one(Endpoint.get(BASE + "/{id}", "getWebhook", "One webhook."), "Webhook")
                        .does(call -> Response.ok(view(webhooks.get(call.tenant(), id(call))))),
                one(Endpoint.post(BASE + "/{id}/remove", "removeWebhook", "Nothing is sent there any more."), "Webhook")
                        .optionalBody("Empty")
                        .does(call -> {
                            call.body();
                            return Response.ok(view(webhooks.remove(call.tenant(), id(call))));
                        }),
                one(Endpoint.post(BASE + "/{id}/rotate", "rotateWebhook", "A new secret, shown this once; for a day the old one signs beside it."), "WebhookCreated")
                        .optionalBody("Empty")
                        .does(call -> {
                            call.body();
                            return created(200, webhooks.rotate(call.tenant(), id(call)));
                        }),
                one(Endpoint.post(BASE + "/{id}/replay", "replayWebhook", "Sends again, parked or not: from where it stands, past the event that is next, or all."), "Webhook")
                        .optionalBody("WebhookReplay")
                        .does(call -> {
                            String from = call.body().path("from").asString("here");
                            return Response.ok(view(webhooks.replay(
                                    call.tenant(), id(call), Webhooks.From.valueOf(from.toUpperCase(Locale.ROOT)))));
                        }),
                one(Endpoint.post(BASE + "/{id}/test", "testWebhook", "Sends webhook.test now and says what came of it."), "WebhookTest")
                        .optionalBody("Empty")
                        .does(call -> {
                            call.body();
                            var result = webhooks.test(call.tenant(), id(call));
                            ObjectNode json = Json.NODES.objectNode();
                            json.put("delivered", result.error() == null);
                            json.put("status", result.status());
                            json.put("error", result.error());
                            return Response.ok(json);
                        }));
    }

    private static Endpoint one(Endpoint endpoint, String answer) {
        return endpoint.tag("webhooks").answers(200, answer).refuses(404, 409);
    }

    private static UUID id(Call call) {
        return call.id("id", "WEBHOOK_NOT_FOUND", "webhook", "waybill webhooks list");
    }

    private Response add(Call call) {
        JsonNode body = call.body();
        JsonNode secret = body.path("secret");
        return created(201, webhooks.add(
                call.tenantOf(body), body.path("url").asString(), body.path("events").valueStream().map(JsonNode::asString).toList(),
                secret.isString() ? secret.asString() : null));
    }

    private static Response created(int status, Webhooks.Created created) {
        return Response.json(status, view(created.endpoint()).put("secret", created.secret()));
    }

    private static ObjectNode view(WebhookEndpoint endpoint) {
        ObjectNode json = Json.NODES.objectNode();
        json.put("id", endpoint.id().toString());
        json.put("url", endpoint.url());
        json.set("events", Views.array(List.copyOf(new TreeSet<>(endpoint.types())), Json.NODES::stringNode));
        json.put("state", endpoint.parked() ? "parked" : endpoint.failures() > 0 ? "failing" : "active");
        json.put("cursor", endpoint.cursor());
        json.put("failures", endpoint.failures());
        Views.time(json, "failing_since", endpoint.failingSince());
        Views.time(json, "next_attempt_at", endpoint.failures() > 0 && !endpoint.parked() ? endpoint.dueAt() : null);
        Views.time(json, "last_success_at", endpoint.succeededAt());
        json.put("last_status", endpoint.lastStatus());
        json.put("last_error", endpoint.lastError());
        Views.time(json, "previous_secret_until", endpoint.previousUntil());
        Views.time(json, "created_at", endpoint.createdAt());
        return json;
    }
}
