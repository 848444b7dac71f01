package dev.waybill.server;

import dev.waybill.engine.Meter;
import dev.waybill.operate.HeldDestinations;
import dev.waybill.store.DestinationHolds.Standing;
import dev.waybill.store.Queries;
import dev.waybill.store.Queries.OpenDepth;
import dev.waybill.store.Queries.OpenEffect;
import dev.waybill.store.StoreException;
import dev.waybill.store.WebhookStore;
import io.micrometer.core.instrument.Counter;
import io.micrometer.core.instrument.DistributionSummary;
import io.micrometer.core.instrument.Gauge;
import io.micrometer.core.instrument.MultiGauge;
import io.micrometer.core.instrument.Tags;
import io.micrometer.core.instrument.binder.jvm.JvmGcMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmMemoryMetrics;
import io.micrometer.core.instrument.binder.jvm.JvmThreadMetrics;
import io.micrometer.core.instrument.binder.system.ProcessorMetrics;
import io.micrometer.core.instrument.binder.system.UptimeMetrics;
import io.micrometer.prometheusmetrics.PrometheusConfig;
import io.micrometer.prometheusmetrics.PrometheusMeterRegistry;
import java.math.BigDecimal;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The engine's {@link Meter} on Micrometer, and the gauges of the queue, read from the store when somebody scrapes. */
public final class Metrics implements Meter, AutoCloseable {
    private static final Logger LOG = LoggerFactory.getLogger(Metrics.class);
    private static final double[] SECONDS = {0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30};
    private static final double[] SIZES = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512};

    private static final List<String> ALARMS =
            List.of("waybill_ledger_behind_total", "waybill_commits_unclear_total", "waybill_takeovers_total");

    private record Series(String name, List<String> labels) {}

    private record Queue(String kind, String destination) {}

    private final PrometheusMeterRegistry registry = new PrometheusMeterRegistry(PrometheusConfig.DEFAULT);
    private final Map<Series, Counter> counters = new ConcurrentHashMap<>();
    private final Map<Series, DistributionSummary> summaries = new ConcurrentHashMap<>();
    private final MultiGauge unresolved = MultiGauge.builder("waybill_effects_unresolved")
            .description("Effects that wait for a person or a verifier")
            .register(registry);
    private final MultiGauge oldest = MultiGauge.builder("waybill_effects_oldest_unresolved_seconds")
            .description("Age of the oldest of them")
            .register(registry);
    private final MultiGauge atRisk = MultiGauge.builder("waybill_effects_money_at_risk")
            .description("Sum of the amount labels of unknown effects")
            .register(registry);
    private final MultiGauge webhooks = MultiGauge.builder("waybill_webhooks")
            .description("Webhook endpoints by state: active, failing, parked")
            .register(registry);
    private final AtomicInteger nodesAlive = new AtomicInteger();
    private final MultiGauge heldDestinations = MultiGauge.builder("waybill_destinations_held")
            .description("Tenants for which this destination is held: new dispatches there wait")
            .register(registry);
    private final AtomicInteger storeUp = registry.gauge("waybill_store_up", new AtomicInteger(1));
    private final JvmGcMetrics gc = new JvmGcMetrics();
    private final InstantSource clock;

    public Metrics(InstantSource clock) {
        this.clock = clock;
        gc.bindTo(registry);
        new JvmMemoryMetrics().bindTo(registry);
        new JvmThreadMetrics().bindTo(registry);
        new ProcessorMetrics().bindTo(registry);
        new UptimeMetrics().bindTo(registry);
        Gauge.builder("waybill_nodes_alive", nodesAlive, AtomicInteger::get)
                .description("Nodes that hold their lease")
                .register(registry);
        // What alerts watch is there from the start: a counter that appears with its first event has no increase.
        ALARMS.forEach(name -> count(name, 0));
    }

    @Override
    public void count(String name, long by, String... labels) {
        counters.computeIfAbsent(new Series(name, List.of(labels)), series -> Counter.builder(series.name())
                        .tags(labels)
                        .register(registry))
                .increment(by);
    }

    @Override
    public void record(String name, double value, String... labels) {
        summaries.computeIfAbsent(new Series(name, List.of(labels)), series -> DistributionSummary.builder(series.name())
                        .tags(labels)
                        .serviceLevelObjectives(name.endsWith("_seconds") ? SECONDS : SIZES)
                        .register(registry))
                .record(value);
    }

    /** Prometheus text. A store that does not answer costs its gauges, not the scrape. */
    public String scrape(Queries queries, HeldDestinations destinations, Optional<WebhookStore> hooks) {
        try {
            gauges(queries.openDepth());
            money(queries.unknownEffects());
            hooks.ifPresent(store -> webhooks(store.counts()));
            Instant now = clock.instant();
            nodesAlive.set((int) queries.nodes().stream().filter(node -> !node.fenced() && node.expiresAt().isAfter(now)).count());
            held(destinations.standings());
            up(1);
        } catch (StoreException e) {
            LOG.warn("the queue's depth could not be read: {}", e.getMessage());
            gauges(List.of());
            money(List.of());
            held(List.of());
            up(0);
        }
        return registry.scrape();
    }

    private void held(List<Standing> standings) {
        Map<String, Long> names = new LinkedHashMap<>();
        standings.stream().filter(Standing::held).forEach(one -> names.merge(one.place().destination(), 1L, Long::sum));
        heldDestinations.register(names.entrySet().stream().map(one -> MultiGauge.Row.of(Tags.of("destination", one.getKey()), one.getValue())).toList(), true);
    }

    private void up(int value) {
        if (storeUp != null) {
            storeUp.set(value);
        }
    }

    private void gauges(List<OpenDepth> depths) {
        Instant now = clock.instant();
        Map<Queue, Long> depth = new LinkedHashMap<>();
        Map<Queue, Instant> since = new LinkedHashMap<>();
        for (OpenDepth open : depths) {
            Queue queue = new Queue(open.kind(), open.destination());
            depth.merge(queue, open.depth(), Long::sum);
            since.merge(queue, open.oldest(), (a, b) -> a.isBefore(b) ? a : b);
        }
        unresolved.register(
                depth.entrySet().stream()
                        .map(entry -> MultiGauge.Row.of(tags(entry.getKey()), entry.getValue()))
                        .toList(),
                true);
        oldest.register(
                since.entrySet().stream()
                        .map(entry -> MultiGauge.Row.of(
                                tags(entry.getKey()),
                                Math.max(0, Duration.between(entry.getValue(), now).toMillis() / 1_000.0)))
                        .toList(),
                true);
    }

    private record Risk(String destination, String currency) {}

    /** Added up exactly; the gauge is the nearest double. */
    private void money(List<OpenEffect> unknown) {
        Map<Risk, BigDecimal> sums = new LinkedHashMap<>();
        for (OpenEffect effect : unknown) {
            MoneyAtRisk.of(effect).ifPresent(money ->
                    sums.merge(new Risk(effect.destination(), money.currency()), money.amount(), BigDecimal::add));
        }
        atRisk.register(
                sums.entrySet().stream()
                        .map(entry -> MultiGauge.Row.of(
                                Tags.of("destination", entry.getKey().destination(), "currency", entry.getKey().currency()), entry.getValue()))
                        .toList(),
                true);
    }

    private void webhooks(List<WebhookStore.Parked> counts) {
        long all = counts.stream().mapToLong(WebhookStore.Parked::endpoints).sum();
        long failing = counts.stream().mapToLong(WebhookStore.Parked::failing).sum();
        long parked = counts.stream().mapToLong(WebhookStore.Parked::parked).sum();
        webhooks.register(
                List.of(
                        MultiGauge.Row.of(Tags.of("state", "active"), all - failing - parked),
                        MultiGauge.Row.of(Tags.of("state", "failing"), failing),
                        MultiGauge.Row.of(Tags.of("state", "parked"), parked)),
                true);
    }

    private static Tags tags(Queue queue) {
        return Tags.of("kind", queue.kind(), "destination", queue.destination());
    }

    @Override
    public void close() {
        gc.close();
        registry.close();
    }
}
