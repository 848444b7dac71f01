package dev.waybill.lab.bench;

import dev.waybill.EngineOptions;
import dev.waybill.Waybill;
import dev.waybill.engine.CrashPoints;
import dev.waybill.engine.Meter;
import dev.waybill.handler.EffectHandler;
import dev.waybill.json.Json;
import dev.waybill.model.Outcome;
import dev.waybill.operate.StartRequest;
import dev.waybill.store.Store;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Consumer;
import org.HdrHistogram.ConcurrentHistogram;
import org.HdrHistogram.Histogram;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ArrayNode;
import tools.jackson.databind.node.ObjectNode;

/** One measured round: a whole engine on a store, {@code workflows} runs of {@code steps} guarded steps, {@code concurrency} at once. */
final class BenchRound {
    private static final String HANDLER = "bench_effect";
    /** 110 bytes of answer, 240 bytes of request: what store.md's table was measured with. */
    private static final JsonNode ANSWER = Json.parse(
            "{\"id\":\"ch_0000000000000000000001\",\"status\":\"succeeded\",\"amount\":4200,\"currency\":\"EUR\",\"captured\":true}");

    /**
     * What a round came to.
     *
     * @param turnCommits  transactions that moved runs (starts and claims apart)
     * @param otherCommits transactions that started or claimed runs
     * @param walBytes     written by the database meanwhile; 0 where it can't tell
     * @param receipts     rows found afterwards; must be one per step
     */
    record Result(
            String protocol,
            int concurrency,
            long steps,
            double seconds,
            long turnCommits,
            long otherCommits,
            long walBytes,
            long receipts,
            double p50Millis,
            double p99Millis) {
        double stepsPerSecond() {
            return steps / seconds;
        }
    }

    private final BenchTarget target;
    private final String protocol;
    private final int steps;

    BenchRound(BenchTarget target, String protocol, int steps) {
        this.target = target;
        this.protocol = protocol;
        this.steps = steps;
    }

    /**
     * One long round on a schema that was empty when it began: does speed decay as rows gather?
     *
     * @return guarded steps per second of each interval
     */
    List<Double> decay(Duration length, Duration interval, int concurrency, Consumer<String> report) throws InterruptedException {
        Map<UUID, CountDownLatch> ended = new ConcurrentHashMap<>();
        List<Double> rates = new ArrayList<>();
        try (Waybill engine = engine(new Counts(), ended)) {
            String name = publish(engine);
            AtomicBoolean stop = new AtomicBoolean();
            Thread driver = Thread.ofVirtual().start(() -> {
                while (!stop.get()) {
                    try {
                        drive(engine, name, 20 * concurrency, concurrency, ended, new Histogram(3));
                    } catch (InterruptedException e) {
                        return;
                    }
                }
            });
            long before = target.receipts(false);
            long until = System.nanoTime() + length.toNanos();
            for (long began = System.nanoTime(); began < until; ) {
                TimeUnit.NANOSECONDS.sleep(Math.min(interval.toNanos(), until - began));
                long receipts = target.receipts(false);
                long now = System.nanoTime();
                rates.add((receipts - before) / ((now - began) / 1e9));
                report.accept(String.format(java.util.Locale.ROOT, "%,12d receipts  %,9.0f steps/s", receipts, rates.getLast()));
                before = receipts;
                began = now;
            }
            stop.set(true);
            driver.join();
        }
        return rates;
    }

    private Waybill engine(Counts counts, Map<UUID, CountDownLatch> ended) {
        EngineOptions options = target.sqlite() ? EngineOptions.DEFAULT.withCommitters(1) : EngineOptions.DEFAULT;
        return Waybill.store(target.open()).flightRecorder(target.recorderFolder()).options(options).meter(counts).crashPoints(points(ended)).handler(HANDLER, effect()).open();
    }

    private static CrashPoints points(Map<UUID, CountDownLatch> ended) {
        return (point, instance, path) -> {
            if (point == CrashPoints.Point.AFTER_RELEASE) {
                ended.computeIfAbsent(instance.id(), id -> new CountDownLatch(1)).countDown();
            }
        };
    }

    private String publish(Waybill engine) {
        String name = "bench-" + protocol + "-" + engine.node().toString().substring(0, 13);
        engine.sequences().publish("default", sequence(name));
        return name;
    }

    Result run(int workflows, int concurrency, int warmup) throws InterruptedException {
        Counts counts = new Counts();
        Map<UUID, CountDownLatch> ended = new ConcurrentHashMap<>();
        boolean seed = protocol.equals("seed");
        EngineOptions options = EngineOptions.DEFAULT;
        Store store = target.open();
        SeedProtocolStore seedStore = seed ? target.seed(store) : null;
        // The seed has no send deadline; under load its queue for 16 connections is longer than ours allows.
        EngineOptions used = seed
                ? options.withCommitters(SeedProtocolStore.CONNECTIONS).withMaxBatch(1).withSendDeadline(Duration.ofMinutes(1))
                : target.sqlite() ? options.withCommitters(1) : options;
        Waybill.Builder builder = Waybill.store(seedStore == null ? store : seedStore);
        if (protocol.equals("waybill")) {
            builder.flightRecorder(target.recorderFolder()); // as users have it; "unrecorded" shows what it costs
        }
        try (Waybill engine = builder
                .options(used)
                .meter(counts)
                .crashPoints(points(ended))
                .handler(HANDLER, effect())
                .open()) {
            String name = publish(engine);
            drive(engine, name, warmup, concurrency, ended, new Histogram(3));
            long receiptsBefore = target.receipts(seed);
            long turnsBefore = seedStore == null ? counts.commits.sum() : seedStore.commits.sum();
            long othersBefore = counts.others.sum();
            long walBefore = target.wal();
            Histogram latency = new ConcurrentHistogram(3);
            long began = System.nanoTime();
            drive(engine, name, workflows, concurrency, ended, latency);
            double seconds = (System.nanoTime() - began) / 1e9;
            long wal = target.wal() - walBefore;
            long turns = (seedStore == null ? counts.commits.sum() : seedStore.commits.sum()) - turnsBefore;
            long receipts = target.receipts(seed) - receiptsBefore;
            long total = (long) workflows * steps;
            if (receipts != total) {
                throw new IllegalStateException(
                        "a run without receipts is a failed run: " + receipts + " receipts for " + total + " guarded steps");
            }
            return new Result(
                    protocol, concurrency, total, seconds, turns, counts.others.sum() - othersBefore, wal, receipts,
                    latency.getValueAtPercentile(50) / 1000.0, latency.getValueAtPercentile(99) / 1000.0);
        }
    }

    private void drive(
            Waybill engine, String name, int workflows, int concurrency, Map<UUID, CountDownLatch> ended, Histogram latency)
            throws InterruptedException {
        AtomicInteger left = new AtomicInteger(workflows);
        AtomicInteger failed = new AtomicInteger();
        Semaphore done = new Semaphore(0);
        for (int i = 0; i < concurrency; i++) {
            Thread.ofVirtual().start(() -> {
                try {
                    for (int n = left.getAndDecrement(); n > 0; n = left.getAndDecrement()) {
                        long began = System.nanoTime();
                        UUID id = engine.runs().start(StartRequest.of(name, order(n))).id();
                        CountDownLatch latch = ended.computeIfAbsent(id, x -> new CountDownLatch(1));
                        if (!latch.await(60, TimeUnit.SECONDS)) {
                            failed.incrementAndGet();
                        }
                        ended.remove(id);
                        latency.recordValue((System.nanoTime() - began) / 1000);
                    }
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                } catch (RuntimeException e) {
                    failed.incrementAndGet();
                    e.printStackTrace();
                } finally {
                    done.release();
                }
            });
        }
        done.acquire(concurrency);
        if (failed.get() > 0) {
            throw new IllegalStateException(failed.get() + " workflows did not end");
        }
    }

    private static JsonNode order(int n) {
        ObjectNode order = Json.NODES.objectNode();
        order.put("order", "order-" + n);
        order.put("amount", 4200);
        return order;
    }

    private JsonNode sequence(String name) {
        ObjectNode sequence = Json.NODES.objectNode();
        sequence.put("name", name);
        ArrayNode blocks = sequence.putArray("blocks");
        for (int i = 0; i < steps; i++) {
            ObjectNode step = blocks.addObject();
            step.put("type", "step").put("id", "step-" + i).put("handler", HANDLER);
            ObjectNode params = step.putObject("params");
            params.put("order", "{{ data.order }}");
            params.put("amount", "{{ data.amount }}");
            params.put("currency", "EUR");
            params.put("description", "a request of about 240 bytes, as a payment API gets them: who, what, how much, and why it is charged at all");
            params.put("statement", "WAYBILL BENCH STEP " + i);
        }
        return sequence;
    }

    /** Effectful (the default for a handler the engine did not write), and does nothing: the cost measured is the engine's. */
    private static EffectHandler effect() {
        return request -> new EffectHandler.Preparation.Ready(dispatch -> new Outcome.Committed(ANSWER, null, null));
    }

    /** Counts transactions. */
    private static final class Counts implements Meter {
        private final LongAdder commits = new LongAdder();
        private final LongAdder others = new LongAdder();

        @Override
        public void count(String name, long by, String... labels) {
            switch (name) {
                case "waybill_commits_total" -> commits.add(by);
                case "waybill_start_commits_total", "waybill_claim_commits_total" -> others.add(by);
                default -> {}
            }
        }

        @Override
        public void record(String name, double value, String... labels) {}
    }

    /** The clock of rows that only the seed's tables have. */
    static final InstantSource CLOCK = InstantSource.system();
}
