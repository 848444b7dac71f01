package dev.waybill.engine;

import dev.waybill.model.InstanceKey;
import dev.waybill.store.Event;
import dev.waybill.store.ReceiptRow;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.JsonNodeFactory;
import tools.jackson.databind.node.ObjectNode;

/** The outbox rows that the engine writes. */
public final class Events {
    private Events() {}

    static Event instance(String type, InstanceKey instance, @Nullable JsonNode detail) {
        ObjectNode payload = JsonNodeFactory.instance.objectNode();
        payload.put("instance_id", instance.id().toString());
        if (detail != null) {
            payload.set("detail", detail);
        }
        return new Event(type, EngineJson.write(payload), null);
    }

    static Event effectUnknown(InstanceKey instance, ReceiptRow receipt, String reason) {
        return effect("effect.unknown", instance, receipt, reason);
    }

    /** A first-hand answer contradicts what the receipt says: nothing was changed, somebody must look. */
    static Event contradiction(InstanceKey instance, ReceiptRow receipt, String what) {
        return effect("effect.contradiction", instance, receipt, what);
    }

    public static Event effect(String type, InstanceKey instance, ReceiptRow receipt, String reason) {
        ObjectNode payload = JsonNodeFactory.instance.objectNode();
        payload.put("instance_id", instance.id().toString());
        payload.put("effect_id", receipt.id().toString());
        payload.put("path", receipt.path());
        payload.put("attempt", receipt.attempt());
        payload.put("destination", receipt.destination());
        payload.put("reason", reason);
        if (receipt.labels() != null) {
            payload.set("labels", EngineJson.read(receipt.labels()));
        }
        return new Event(type, EngineJson.write(payload), receipt.id().toString());
    }
}
