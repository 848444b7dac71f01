package dev.waybill.server.api;

import dev.waybill.json.Json;
import dev.waybill.operate.HeldDestinations;
import dev.waybill.operate.HeldDestinations.Destination;
import dev.waybill.store.DestinationHolds.Standing;
import java.util.List;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** {@code /api/v1/destinations}: which there are, which are held, and holding and releasing by hand. */
final class DestinationRoutes {
    private static final String BASE = "/api/v1/destinations";
    private final HeldDestinations destinations;

    DestinationRoutes(Backend backend) {
        destinations = backend.destinations();
    }

    List<Endpoint> endpoints() {
        return List.of(
                Endpoint.get(BASE, "listDestinations", "Every destination with a profile, and whether it is held.")
                        .tag("destinations")
                        .answers(200, "DestinationList")
                        .does(call -> {
                            List<Destination> all = destinations.list(call.tenant());
                            return Response.ok(Views.page(all, Math.max(1, all.size()), DestinationRoutes::view, _ -> ""));
                        }),
                Endpoint.post(BASE + "/hold", "holdDestination", "New dispatches wait until it is released by hand; nothing fails.")
                        .tag("destinations")
                        .body("DestinationDecision")
                        .answers(200, "Destination")
                        .refuses(404, 409, 422)
                        .does(call -> set(call, true)),
                Endpoint.post(BASE + "/release", "releaseDestination", "Ends a hold, whoever began it.")
                        .tag("destinations")
                        .body("DestinationDecision")
                        .answers(200, "Destination")
                        .refuses(404, 422)
                        .does(call -> set(call, false)));
    }

    private Response set(Call call, boolean held) {
        JsonNode body = call.body();
        return Response.ok(view(destinations.set(
                call.tenantOf(body), body.path("destination").asString(), held, body.path("reason").asString(""), call.actor())));
    }

    private static ObjectNode view(Destination one) {
        Standing standing = one.standing();
        ObjectNode json = Json.NODES.objectNode();
        json.put("destination", one.place().destination());
        json.put("name", one.place().name());
        json.put("holdable", one.holdable());
        json.put("held", one.held());
        json.put("since", standing == null ? null : standing.since().toString());
        json.put("by", standing == null || !standing.held() ? null : standing.actor());
        json.put("reason", standing == null || !standing.held() ? null : standing.reason());
        json.put("unknowns", standing == null ? 0 : standing.counted());
        json.put("next_probe_at", standing == null || standing.probeAt() == null ? null : standing.probeAt().toString());
        return json;
    }
}
