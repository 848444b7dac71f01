package dev.waybill.lab.torture;

import dev.waybill.json.Json;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Optional;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.random.RandomGenerator;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** Starts runs at a steady rate, each under a key of its own, and asks again with the same key until it is told. */
final class Client {
    private static final Duration PATIENCE = Duration.ofSeconds(3);
    private static final long PAUSE_NANOS = Duration.ofMillis(200).toNanos();
    /** One in so many starts is asked for twice at once: the key must make them one. */
    private static final int TWINS = 12;

    private final Cell cell;
    private final JsonLines journal;
    private final InstantSource clock;
    private final RandomGenerator random;
    private final int programs;
    private final AtomicBoolean giveUp = new AtomicBoolean();
    private final AtomicLong open = new AtomicLong();
    private final ConcurrentLinkedQueue<String> refused = new ConcurrentLinkedQueue<>();
    private final LongAdder again = new LongAdder();

    Client(Cell cell, JsonLines journal, InstantSource clock, RandomGenerator random, int programs) {
        this.cell = cell;
        this.journal = journal;
        this.clock = clock;
        this.random = random;
        this.programs = programs;
    }

    /** Until the deadline ({@link System#nanoTime}). */
    void run(double startsPerSecond, long deadline) {
        long gap = (long) (1e9 / startsPerSecond);
        long next = System.nanoTime();
        for (int n = 0; System.nanoTime() < deadline; n++) {
            String key = "order-" + n;
            String program = Programs.name(random.nextInt(programs));
            for (int twin = random.nextInt(TWINS) == 0 ? 2 : 1; twin > 0; twin--) {
                open.incrementAndGet();
                Thread.ofVirtual().start(() -> insist(program, key));
            }
            next += gap;
            LockSupport.parkNanos(next - System.nanoTime());
        }
    }

    private void insist(String program, String key) {
        try {
            while (!giveUp.get() && !told(program, key)) {
                again.increment();
                LockSupport.parkNanos(PAUSE_NANOS);
            }
        } finally {
            open.decrementAndGet();
        }
    }

    private boolean told(String program, String key) {
        Optional<Node> node = cell.anyReady();
        if (node.isEmpty()) {
            return false;
        }
        Instant at = clock.instant();
        Optional<JsonNode> answer = node.get().ask(
                "start", it -> it.put("name", program).put("key", key).set("data", Programs.data(key)), PATIENCE);
        int status = answer.map(it -> it.path("error").path("status").asInt()).orElse(0);
        boolean ok = answer.isPresent() && answer.get().has("ok");
        boolean fail = status >= 400 && status < 500 && status != 429;
        ObjectNode line = Json.NODES.objectNode().put("op", "start").put("result", ok ? "ok" : fail ? "fail" : "info");
        line.put("at", at.toString()).put("answered", answer.isPresent() ? clock.instant().toString() : null);
        line.put("tenant", "default").put("key", key).put("node", node.get().name());
        if (ok) {
            line.put("id", answer.get().path("ok").asString());
        } else if (answer.isPresent()) {
            line.set("error", answer.get().path("error"));
        }
        journal.add(line);
        if (fail) {
            refused.add(key + " " + answer.orElseThrow());
        }
        return ok || fail;
    }

    boolean idle() {
        return open.get() == 0;
    }

    void giveUp() {
        giveUp.set(true);
    }

    Iterable<String> refused() {
        return refused;
    }

    long askedAgain() {
        return again.sum();
    }
}
