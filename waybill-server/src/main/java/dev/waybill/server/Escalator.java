package dev.waybill.server;

import dev.waybill.json.Json;
import dev.waybill.store.EscalationStore;
import dev.waybill.store.Queries;
import dev.waybill.store.Queries.OpenEffect;
import dev.waybill.store.StoreException;
import java.math.BigDecimal;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import tools.jackson.databind.node.ObjectNode;

/**
 * Calls people ({@code effect.escalated}) when an unknown effect grows old, or when what is at stake in a currency adds up: about the effect
 * whose amount reached the threshold, oldest first. Every node looks; the store lets each threshold and effect be told once.
 */
final class Escalator implements AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Escalator.class);
    private static final long PAUSE_SECONDS = 15;

    private record Purse(String tenant, String currency) {}

    private final Queries queries;
    private final EscalationStore store;
    private final ServerConfig.Escalation thresholds;
    private final InstantSource clock;
    private final CountDownLatch closed = new CountDownLatch(1);

    Escalator(Queries queries, EscalationStore store, ServerConfig.Escalation thresholds, InstantSource clock) {
        this.queries = queries;
        this.store = store;
        this.thresholds = thresholds;
        this.clock = clock;
    }

    Escalator start() {
        Thread.ofVirtual().name("waybill-escalator").start(this::watch);
        return this;
    }

    private void watch() {
        try {
            do {
                try {
                    look();
                } catch (StoreException unreachable) {
                    LOG.warn("escalation: the store does not answer: {}", unreachable.getMessage());
                }
            } while (!closed.await(PAUSE_SECONDS, TimeUnit.SECONDS));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** One look at the queue. */
    void look() {
        Instant now = clock.instant();
        Map<Purse, BigDecimal> sums = new HashMap<>();
        for (OpenEffect effect : queries.unknownEffects()) {
            Duration age = Duration.between(effect.since(), now);
            thresholds.ages().stream().filter(it -> age.compareTo(it) >= 0).forEach(it -> tell(effect, "age:" + it, "unknown for " + it));
            MoneyAtRisk.of(effect).ifPresent(money -> add(sums, effect, money));
        }
    }

    private void add(Map<Purse, BigDecimal> sums, OpenEffect effect, MoneyAtRisk money) {
        BigDecimal limit = thresholds.amounts().get(money.currency());
        Purse purse = new Purse(effect.instance().tenant(), money.currency());
        BigDecimal before = sums.getOrDefault(purse, BigDecimal.ZERO);
        BigDecimal after = before.add(money.amount());
        sums.put(purse, after);
        if (limit != null && before.compareTo(limit) < 0 && after.compareTo(limit) >= 0) {
            String threshold = limit.toPlainString() + " " + money.currency();
            tell(effect, "amount:" + threshold, "money at risk reached " + threshold);
        }
    }

    private void tell(OpenEffect effect, String threshold, String reason) {
        ObjectNode payload = Json.NODES.objectNode();
        payload.put("instance_id", effect.instance().id().toString());
        payload.put("effect_id", effect.id().toString());
        payload.put("path", effect.path());
        payload.put("attempt", effect.attempt());
        payload.put("destination", effect.destination());
        payload.put("reason", reason);
        payload.put("threshold", threshold);
        if (effect.labels() != null) {
            payload.set("labels", Json.parse(effect.labels()));
        }
        store.escalate(effect, threshold, Json.write(payload));
    }

    @Override
    public void close() {
        closed.countDown();
    }
}
