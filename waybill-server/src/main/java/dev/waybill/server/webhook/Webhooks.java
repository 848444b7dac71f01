package dev.waybill.server.webhook;

import dev.waybill.json.Json;
import dev.waybill.model.WaybillException;
import dev.waybill.store.Queries;
import dev.waybill.store.WebhookStore;
import dev.waybill.store.WebhookStore.WebhookEndpoint;
import dev.waybill.transport.AddressPolicy;
import dev.waybill.transport.HttpTransport;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.TreeSet;
import java.util.UUID;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** What people do with webhooks. Sending is {@link WebhookSender}'s. */
public final class Webhooks {
    /** What is sent when nobody says otherwise: what a person must hear of, and that it is over. */
    public static final List<String> DEFAULT_TYPES =
            List.of("effect.unknown", "effect.escalated", "effect.resolved", "effect.contradiction", "instance.failed");

    /** How long the secret before goes on signing after a rotation. */
    public static final Duration GRACE = Duration.ofHours(24);

    private static final int SECRET_BYTES = 32;
    private static final int MOST_ENDPOINTS = 50;

    private final Optional<WebhookStore> store;
    private final Queries queries;
    private final Delivery delivery;
    private final HttpTransport transport;
    private final InstantSource clock;
    private final RandomGenerator random;

    public Webhooks(Optional<WebhookStore> store, Queries queries, HttpTransport transport, InstantSource clock, RandomGenerator random) {
        this.store = store;
        this.queries = queries;
        this.transport = transport;
        this.clock = clock;
        this.random = random;
        this.delivery = new Delivery(transport, clock);
    }

    /** An endpoint with its secret, which is shown this once. */
    public record Created(WebhookEndpoint endpoint, String secret) {}

    /**
     * @param url    vetted as an http_request's: public, or allowed by name
     * @param types  event types; empty: {@link #DEFAULT_TYPES}
     * @param secret {@code whsec_..}, or null: one is made
     * @throws WaybillException 400 INVALID_FIELD, 422 WEBHOOK_LIMIT
     */
    public Created add(String tenant, String url, List<String> types, @Nullable String secret) {
        if (transport.vet(url) instanceof AddressPolicy.Verdict.Refused refused) {
            throw invalid("/url", refused.problem().message());
        }
        String fault = secret == null ? null : StandardWebhook.fault(secret);
        if (fault != null) {
            throw invalid("/secret", fault);
        }
        if (store().list(tenant).size() >= MOST_ENDPOINTS) {
            throw new WaybillException(
                    422, "WEBHOOK_LIMIT", "a tenant has " + MOST_ENDPOINTS + " webhooks at most", null, "remove one: waybill webhooks list");
        }
        String key = secret == null ? newSecret() : secret;
        UUID id = id();
        store().add(tenant, id, url, new TreeSet<>(types.isEmpty() ? DEFAULT_TYPES : types), key, queries.newestChange());
        return new Created(get(tenant, id), key);
    }

    public List<WebhookEndpoint> list(String tenant) {
        return store().list(tenant);
    }

    /** @throws WaybillException 404 WEBHOOK_NOT_FOUND */
    public WebhookEndpoint get(String tenant, UUID id) {
        return store().get(tenant, id).orElseThrow(Webhooks::missing);
    }

    public WebhookEndpoint remove(String tenant, UUID id) {
        WebhookEndpoint endpoint = get(tenant, id);
        found(store().remove(tenant, id));
        return endpoint;
    }

    /** A new secret; both sign for {@link #GRACE}. */
    public Created rotate(String tenant, UUID id) {
        String secret = newSecret();
        found(store().rotate(tenant, id, secret, GRACE));
        return new Created(get(tenant, id), secret);
    }

    /** Where a replay begins. */
    public enum From {
        /** Where it stands: what ended a parked endpoint is tried again. */
        HERE,
        /** Behind the event that is next: for one that its receiver will never take. */
        SKIP,
        /** Everything the outbox still holds; receivers know repeats by their webhook-id. */
        BEGINNING
    }

    public WebhookEndpoint replay(String tenant, UUID id, From from) {
        WebhookEndpoint endpoint = get(tenant, id);
        String cursor = switch (from) {
            case HERE -> endpoint.cursor();
            case BEGINNING -> null;
            case SKIP -> WebhookSender.next(queries, endpoint).map(Queries.Change::cursor).orElse(endpoint.cursor());
        };
        found(store().restart(tenant, id, cursor));
        return get(tenant, id);
    }

    /** Sends {@code webhook.test} now and says what came of it; nothing is stored or repeated. */
    public Delivery.Result test(String tenant, UUID id) {
        WebhookEndpoint endpoint = get(tenant, id);
        byte[] body = StandardWebhook.body(
                "webhook.test", clock.instant(), Json.NODES.objectNode().put("tenant_id", tenant).put("webhook_id", id.toString()));
        return delivery.send(endpoint, "msg_" + id().toString().replace("-", ""), body);
    }

    private WebhookStore store() {
        return store.orElseThrow(() -> new WaybillException(
                409, "WEBHOOKS_UNSUPPORTED", "this store keeps no webhooks", null, "use sqlite: or postgresql:"));
    }

    private String newSecret() {
        byte[] bytes = new byte[SECRET_BYTES];
        random.nextBytes(bytes);
        return StandardWebhook.secret(bytes);
    }

    private UUID id() {
        return new UUID(random.nextLong() & ~0xF000L | 0x4000L, random.nextLong() >>> 2 | Long.MIN_VALUE);
    }

    private static WaybillException invalid(String pointer, String what) {
        return WaybillException.badRequest("INVALID_FIELD", pointer.substring(1) + ": " + what, pointer);
    }

    private static void found(boolean there) {
        if (!there) {
            throw missing();
        }
    }

    private static WaybillException missing() {
        return WaybillException.notFound("WEBHOOK_NOT_FOUND", "there is no webhook with this id");
    }
}
