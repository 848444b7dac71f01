package dev.waybill.store;

import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * Endpoints that events are sent to, each with its durable place in the outbox. One sender at a time works for an endpoint: it holds a claim
 * in the database's time, and every step it records names the claim, so that one who lost it changes nothing any more.
 */
public interface WebhookStore {
    /**
     * @param types          event types that are sent, never empty
     * @param secret         signs; never shown again
     * @param previousSecret signs beside it until {@code previousUntil}; null when there was no rotation or its time is over
     * @param cursor         everything up to here was delivered or is not asked for; null: the beginning
     * @param failures       attempts in a row that failed for the event that is next
     * @param failingSince   of the first of them
     * @param parked         nothing is sent until somebody says so
     */
    record WebhookEndpoint(
            String tenant,
            UUID id,
            String url,
            Set<String> types,
            String secret,
            @Nullable String previousSecret,
            @Nullable Instant previousUntil,
            @Nullable String cursor,
            Instant createdAt,
            Instant dueAt,
            int failures,
            @Nullable Instant failingSince,
            @Nullable Instant succeededAt,
            @Nullable Integer lastStatus,
            @Nullable String lastError,
            boolean parked) {
        /** Without the secrets, and without the URL, which may be one: what is logged must not sign or call. */
        @Override
        public String toString() {
            return "webhook " + id + " of " + tenant;
        }
    }

    void add(String tenant, UUID id, String url, Set<String> types, String secret, @Nullable String cursor);

    Optional<WebhookEndpoint> get(String tenant, UUID id);

    /** In order of creation. */
    List<WebhookEndpoint> list(String tenant);

    /** @return false when there is none */
    boolean remove(String tenant, UUID id);

    /** The secret there was goes on signing for {@code grace}. */
    boolean rotate(String tenant, UUID id, String secret, Duration grace);

    /** Goes on from {@code cursor} (null: the beginning) at once, parked or not. A sender that is at work loses its claim. */
    boolean restart(String tenant, UUID id, @Nullable String cursor);

    /** Of every tenant: neither parked nor claimed, and due. Only a look: {@link #claim} decides. */
    List<WebhookEndpoint> due();

    /**
     * Takes or extends the claim of {@code sender}, a value of its own for each round of work.
     *
     * @return the row as it is now; empty when another sender holds it, or it is parked, not due or gone
     */
    Optional<WebhookEndpoint> claim(String tenant, UUID id, UUID sender, Duration lease);

    /** Moves the cursor; {@code delivered}: an event was taken by the receiver, which ends a row of failures. False: the claim is lost. */
    boolean advance(String tenant, UUID id, UUID sender, String cursor, boolean delivered);

    /** Notes a failure and lets go: due again after {@code delay}, or parked when it is null. False: the claim is lost. */
    boolean fail(String tenant, UUID id, UUID sender, @Nullable Integer status, String error, @Nullable Duration delay);

    /** Lets go. */
    void release(String tenant, UUID id, UUID sender);

    /** For the gauges: every tenant's, by tenant. */
    List<Parked> counts();

    record Parked(String tenant, long endpoints, long failing, long parked) {}
}
