package dev.waybill.definition;

import dev.waybill.json.Json;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;

/**
 * Destination profiles by name: what payment APIs say in public about keys. Facts only, no hosts and no secrets; where a provider gives
 * a range the shorter window and the shorter key stand here. What a profile that names a preset says itself is put over it, member by
 * member. None maps a 5xx to not applied, and none knows more replayed statuses than its provider documents.
 *
 * <ul>
 *   <li>{@code stripe}: header Idempotency-Key, up to 255 characters, kept for at least 24 hours, the first answer repeated whatever it
 *       was; a conflict with a request under way is not stored and may be sent again (docs.stripe.com/api/idempotent_requests). Of the
 *       stored statuses only 402, a declined card, is taken to speak of the first request: a 4xx of validation is not stored.
 *   <li>{@code adyen}: header idempotency-key, at most 64 characters, valid for at least 7 days (31 in older texts), POST only
 *       (docs.adyen.com/development-resources/api-idempotency)
 *   <li>{@code paypal}: header PayPal-Request-Id, at most 108 characters, kept for 6 hours where nothing longer is asked for (Orders v2; other
 *       APIs keep it longer: extend the window there); the latest status of the first request is answered, no refusal is repeated
 *       (developer.paypal.com/reference/guidelines/idempotency, .../docs/api/orders/v2)
 *   <li>{@code worldline-direct}: header X-GCS-Idempotence-Key, at most 40 ASCII characters, at least 24 hours, the outcome of the first request
 *       repeated, 409 while it is under way (docs.direct.worldline-solutions.com, Idempotent requests)
 *   <li>{@code truelayer}: header Idempotency-Key, 30 days from its first use; another payload under it is refused. No length is
 *       published: 255 is ours
 *       (docs.truelayer.com/docs/idempotency-for-payment-requests)
 *   <li>{@code ietf-key}: header Idempotency-Key as a string of structured fields, 409 while the first request is under way, 422 for another
 *       payload; the window is the resource's own and has to be added (draft-ietf-httpapi-idempotency-key-header)
 * </ul>
 *
 * <p>Square carries its key in the body and publishes no time for which it is kept, so that nothing can be promised by a preset.
 */
final class Presets {
    private static final Map<String, JsonNode> ALL = new TreeMap<>(Map.of(
            "stripe", Json.parse("""
                    {"idempotency": {"header": "Idempotency-Key", "max_length": 255, "charset": "ascii", "window": "24h", "replayed": [402]},
                     "on_conflict": "retry", "settle": "2m"}"""),
            "adyen", Json.parse("""
                    {"idempotency": {"header": "idempotency-key", "max_length": 64, "charset": "visible_ascii", "window": "7d", "replayed": []},
                     "on_conflict": "retry", "settle": "2m"}"""),
            "paypal", Json.parse("""
                    {"idempotency": {"header": "PayPal-Request-Id", "max_length": 108, "charset": "visible_ascii", "window": "6h", "replayed": []},
                     "settle": "2m"}"""),
            "worldline-direct", Json.parse("""
                    {"idempotency": {"header": "X-GCS-Idempotence-Key", "max_length": 40, "charset": "visible_ascii", "window": "24h",
                                     "replayed": [402]},
                     "on_conflict": "retry", "settle": "2m"}"""),
            "truelayer", Json.parse("""
                    {"idempotency": {"header": "Idempotency-Key", "max_length": 255, "charset": "visible_ascii", "window": "30d", "replayed": []},
                     "settle": "2m"}"""),
            "ietf-key", Json.parse("""
                    {"idempotency": {"header": "Idempotency-Key", "max_length": 255, "charset": "ascii", "quoted": true, "replayed": []},
                     "on_conflict": "retry", "settle": "60s"}""")));

    private Presets() {}

    static @Nullable JsonNode get(String name) {
        return ALL.get(name);
    }

    static List<String> names() {
        return List.copyOf(ALL.keySet());
    }
}
