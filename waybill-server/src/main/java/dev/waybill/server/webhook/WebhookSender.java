package dev.waybill.server.webhook;

import dev.waybill.store.Queries;
import dev.waybill.store.Queries.Change;
import dev.waybill.store.StoreException;
import dev.waybill.store.WebhookStore;
import dev.waybill.store.WebhookStore.WebhookEndpoint;
import dev.waybill.transport.HttpTransport;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sends what the outbox holds to the endpoints of its tenant: in the order of commits, one at a time for each endpoint, at least once. The
 * cursor moves after the receiver took the event, so a death in between sends it again, under the same webhook-id. Runs on threads of its
 * own and reads committed rows only: the engine never waits for it.
 */
public final class WebhookSender implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(WebhookSender.class);
    private static final long POLL_MILLIS = 1_000;
    private static final int PAGE = 100;
    private static final int MOST_AT_ONCE = 16;
    /** Longer than an attempt may take, so that a claim outlives it. */
    private static final Duration LEASE = Delivery.TIMEOUT.multipliedBy(4);

    /** After the n-th failure in a row, as Standard Webhooks recommends; behind the last one the endpoint is parked, after three days. */
    private static final List<Duration> DELAYS = List.of(
            Duration.ofSeconds(5), Duration.ofMinutes(5), Duration.ofMinutes(30), Duration.ofHours(2), Duration.ofHours(5), Duration.ofHours(10),
            Duration.ofHours(14), Duration.ofHours(20), Duration.ofHours(24));

    private final WebhookStore store;
    private final Queries queries;
    private final Delivery delivery;
    private final RandomGenerator random;
    private final List<Duration> delays;
    private final Semaphore signal = new Semaphore(0);
    private final Semaphore places = new Semaphore(MOST_AT_ONCE);
    private final Set<UUID> working = ConcurrentHashMap.newKeySet();
    private final Thread watcher = Thread.ofVirtual().name("waybill-webhooks").unstarted(this::watch);
    private volatile boolean closed;

    public WebhookSender(WebhookStore store, Queries queries, HttpTransport transport, InstantSource clock, RandomGenerator random) {
        this(store, queries, transport, clock, random, DELAYS);
    }

    WebhookSender(
            WebhookStore store, Queries queries, HttpTransport transport, InstantSource clock, RandomGenerator random, List<Duration> delays) {
        this.store = store;
        this.queries = queries;
        this.delivery = new Delivery(transport, clock);
        this.random = random;
        this.delays = delays;
    }

    public WebhookSender start() {
        watcher.start();
        return this;
    }

    /** Something may have been written. Never blocks. */
    public void hint() {
        if (signal.availablePermits() == 0) {
            signal.release();
        }
    }

    private void watch() {
        try {
            while (!closed) {
                round();
                signal.tryAcquire(POLL_MILLIS, TimeUnit.MILLISECONDS);
                signal.drainPermits();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void round() {
        try {
            for (WebhookEndpoint endpoint : store.due()) {
                boolean news = !queries.changes(endpoint.tenant(), endpoint.cursor(), 1).isEmpty();
                if (news && working.add(endpoint.id())) {
                    Thread.ofVirtual().name("waybill-webhook-" + endpoint.id()).start(() -> work(endpoint));
                }
            }
        } catch (StoreException unreachable) {
            LOG.warn("webhooks: the store does not answer: {}", unreachable.getMessage());
        }
    }

    private void work(WebhookEndpoint endpoint) {
        UUID sender = new UUID(random.nextLong(), random.nextLong());
        try {
            places.acquire();
            try {
                drain(endpoint, sender);
            } finally {
                places.release();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (StoreException unreachable) {
            // The claim runs out by itself; whoever takes it next sends again from the cursor.
            LOG.warn("{}: the store does not answer: {}", endpoint, unreachable.getMessage());
        } finally {
            working.remove(endpoint.id());
        }
    }

    private void drain(WebhookEndpoint endpoint, UUID sender) {
        WebhookEndpoint held = store.claim(endpoint.tenant(), endpoint.id(), sender, LEASE).orElse(null);
        if (held == null) {
            return;
        }
        String after = held.cursor();
        while (!closed) {
            List<Change> page = queries.changes(held.tenant(), after, PAGE);
            if (page.isEmpty()) {
                break;
            }
            String passed = null;
            for (Change change : page) {
                if (held.types().contains(change.type())) {
                    // The row is read anew with the claim: a rotation or a removal counts from the next event on.
                    held = closed ? null : store.claim(endpoint.tenant(), endpoint.id(), sender, LEASE).orElse(null);
                    if (held == null || !deliver(held, sender, change)) {
                        return;
                    }
                    passed = null;
                } else {
                    passed = change.cursor();
                }
                after = change.cursor();
            }
            if (passed != null && !store.advance(endpoint.tenant(), endpoint.id(), sender, passed, false)) {
                return;
            }
        }
        store.release(endpoint.tenant(), endpoint.id(), sender);
    }

    /** @return false: stop, the claim is let go or lost */
    private boolean deliver(WebhookEndpoint endpoint, UUID sender, Change change) {
        Delivery.Result result = delivery.send(endpoint, StandardWebhook.id(change), StandardWebhook.body(change));
        if (result.error() == null) {
            return store.advance(endpoint.tenant(), endpoint.id(), sender, change.cursor(), true);
        }
        Duration delay = endpoint.failures() < delays.size() && !result.gone() ? jittered(delays.get(endpoint.failures())) : null;
        LOG.warn("{}: {} was not taken ({}); {}", endpoint, change.type(), result.error(), delay == null ? "parked" : "again in " + delay);
        store.fail(endpoint.tenant(), endpoint.id(), sender, result.status(), result.error(), delay);
        return false;
    }

    /** Up to a tenth more, so that endpoints that went down together do not come back together. */
    private Duration jittered(Duration delay) {
        return delay.plusMillis(random.nextLong(delay.toMillis() / 10 + 1));
    }

    /** The event that the endpoint waits for. */
    static Optional<Change> next(Queries queries, WebhookEndpoint endpoint) {
        @Nullable String after = endpoint.cursor();
        while (true) {
            List<Change> page = queries.changes(endpoint.tenant(), after, PAGE);
            Optional<Change> wanted = page.stream().filter(change -> endpoint.types().contains(change.type())).findFirst();
            if (wanted.isPresent() || page.size() < PAGE) {
                return wanted;
            }
            after = page.getLast().cursor();
        }
    }

    /** An attempt in flight is not waited for: its claim runs out, and it is repeated. */
    @Override
    public void close() {
        closed = true;
        hint();
    }
}
