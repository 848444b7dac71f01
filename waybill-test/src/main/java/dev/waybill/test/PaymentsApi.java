package dev.waybill.test;

import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * "Acme Pay", as a sane provider would be: {@code POST /charges} and {@code /shipments} book, a POST, PUT, PATCH or DELETE anywhere else is
 * an operation that books too, {@code GET PATH?key=} and {@code ?order=} look up {@code {count, items}}, {@code GET PATH/ID} one of them,
 * {@code GET /health}. A {@code card} that contains "declined" is refused with 402. {@code POST /transfers} is another house, "Acme Bank":
 * it books, knows no keys, and shows nothing to anybody.
 */
final class PaymentsApi {
    private static final String BANK = "/transfers";

    private final boolean honoursKeys;
    private final List<Booking> bookings = new ArrayList<>();
    private final Map<String, Integer> numbers = new HashMap<>();
    private final Map<String, Stored> byKey = new HashMap<>();

    private final @Nullable Duration keyWindow;
    private final Duration lag;
    private final InstantSource clock;

    /**
     * @param honoursKeys same Idempotency-Key, same request: the stored answer; another request: 422
     * @param keyWindow   how long a key is remembered from its first request on; null = for ever
     * @param lag         how far look-ups are behind
     */
    PaymentsApi(boolean honoursKeys, @Nullable Duration keyWindow, Duration lag, InstantSource clock) {
        this.honoursKeys = honoursKeys;
        this.keyWindow = keyWindow;
        this.lag = lag;
        this.clock = clock;
    }

    /** @param booked what this request, and no earlier one, made happen; null = nothing */
    record Answer(int status, Map<String, String> headers, byte[] body, @Nullable JsonNode booked) {
        static Answer of(int status, JsonNode body) {
            return new Answer(status, Map.of(), Json.MAPPER.writeValueAsBytes(body), null);
        }

        static Answer refusal(int status, String code, String message) {
            ObjectNode body = Json.MAPPER.createObjectNode();
            body.putObject("error").put("code", code).put("message", message);
            return of(status, body);
        }

        Answer booking(JsonNode what) {
            return new Answer(status, headers, body, what);
        }

        Answer replayed() {
            return new Answer(status, Map.of("Idempotent-Replayed", "true"), body, null);
        }

        /** What a fault script wants changed. */
        Answer overlaid(Behaviour behaviour) {
            Map<String, String> all = new TreeMap<>(String.CASE_INSENSITIVE_ORDER);
            all.putAll(headers);
            if (behaviour.headers() != null) {
                all.putAll(behaviour.headers());
            }
            return new Answer(
                    behaviour.status() == null ? status : behaviour.status(),
                    all,
                    behaviour.body() == null ? body : behaviour.body().getBytes(StandardCharsets.UTF_8),
                    booked);
        }
    }

    private record Booking(String path, @Nullable String key, JsonNode resource, Instant at) {}

    private record Stored(String request, Answer answer, Instant at) {}

    synchronized void reset() {
        bookings.clear();
        numbers.clear();
        byKey.clear();
    }

    synchronized Answer handle(Delivery delivery) {
        if (delivery.method().equals("GET") || delivery.method().equals("HEAD")) {
            return read(delivery);
        }
        String key = honoursKeys && !delivery.path().equals(BANK) ? delivery.idempotencyKey() : null;
        if (key == null) {
            return write(delivery);
        }
        String request = delivery.method() + " " + delivery.target() + " " + delivery.bodySha256();
        Stored stored = byKey.get(key);
        if (stored == null || keyWindow != null && !clock.instant().isBefore(stored.at.plus(keyWindow))) {
            Answer answer = write(delivery);
            byKey.put(key, new Stored(request, answer, clock.instant()));
            return answer;
        }
        return stored.request.equals(request)
                ? stored.answer.replayed()
                : Answer.refusal(422, "idempotency_key_reused", "this key came with another request before");
    }

    private Answer write(Delivery delivery) {
        JsonNode body = delivery.json();
        return switch (delivery.path()) {
            case "/charges" -> {
                if (body == null || !body.isObject()) {
                    yield Answer.refusal(400, "invalid_request", "a charge is a JSON object");
                }
                yield body.path("card").asString("").contains("declined")
                        ? Answer.refusal(402, "card_declined", "the card was declined")
                        : book(delivery, "ch", "succeeded", 201);
            }
            case "/shipments" -> book(delivery, "lb", "booked", 201);
            case BANK -> book(delivery, "tr", "done", 201);
            default -> book(delivery, "op", "done", 200);
        };
    }

    private Answer book(Delivery delivery, String prefix, String status, int httpStatus) {
        ObjectNode resource = Json.MAPPER.createObjectNode();
        resource.put("id", String.format(Locale.ROOT, "%s_%02d", prefix, numbers.merge(prefix, 1, Integer::sum)));
        resource.put("status", status);
        if (delivery.json() instanceof ObjectNode body) {
            for (String name : List.of("amount", "currency", "order")) {
                if (body.has(name)) {
                    resource.set(name, body.get(name));
                }
            }
        }
        if (delivery.idempotencyKey() != null) {
            resource.put("key", delivery.idempotencyKey());
        }
        bookings.add(new Booking(delivery.path(), delivery.idempotencyKey(), resource, clock.instant()));
        return Answer.of(httpStatus, resource).booking(resource);
    }

    private Answer read(Delivery delivery) {
        if (delivery.path().equals("/health")) {
            return Answer.of(200, Json.MAPPER.createObjectNode().put("status", "ok"));
        }
        if (delivery.path().startsWith(BANK)) {
            return Answer.refusal(404, "no_such_service", "transfers are not shown; they are on the statement");
        }
        String key = delivery.query("key");
        String order = delivery.query("order");
        if (key != null || order != null || delivery.path().equals("/charges") || delivery.path().equals("/shipments")) {
            ObjectNode found = Json.MAPPER.createObjectNode();
            ArrayNode items = Json.MAPPER.createArrayNode();
            for (Booking booking : bookings) {
                if (booking.path.equals(delivery.path())
                        && !clock.instant().isBefore(booking.at.plus(lag))
                        && (key == null || key.equals(booking.key))
                        && (order == null || order.equals(text(booking.resource.path("order"))))) {
                    items.add(booking.resource);
                }
            }
            found.put("count", items.size());
            found.set("items", items);
            return Answer.of(200, found);
        }
        return bookings.stream()
                .filter(booking -> delivery.path().equals(booking.path + "/" + booking.resource.path("id").asString()))
                .findFirst()
                .map(booking -> Answer.of(200, booking.resource))
                .orElseGet(() -> Answer.refusal(404, "not_found", "nothing at " + delivery.path()));
    }

    private static String text(JsonNode node) {
        return node.isValueNode() ? node.asString() : node.toString();
    }
}
