package dev.waybill.store;

import dev.waybill.json.Json;
import dev.waybill.store.DestinationHolds.Place;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** What the outbox and the audit log say of holds; the same words in every store. */
public final class HoldEvents {
    private HoldEvents() {}

    public static Event event(Place place, boolean held, String actor, String reason, @Nullable UUID receipt) {
        String payload = Json.write(Json.NODES
                .objectNode()
                .put("destination", place.destination())
                .put("name", place.name())
                .put("by", actor)
                .put("reason", reason)
                .put("effect_id", receipt == null ? null : receipt.toString()));
        return new Event(held ? "destination.held" : "destination.released", payload, receipt == null ? null : receipt.toString());
    }

    public static AuditRow audit(Place place, boolean held, String actor, String reason) {
        return new AuditRow(
                actor, held ? "destination.hold" : "destination.release", place.destination(), Json.write(Json.NODES.objectNode().put("reason", reason)));
    }
}
