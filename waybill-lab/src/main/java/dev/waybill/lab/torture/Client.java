package dev.waybill.lab.torture;

import dev.waybill.json.Json;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/**
 * Starts runs at a steady rate, each under a key of its own, and asks again with the same key until it is told; some it cancels, pauses
 * and resumes, or retries when they have failed. Everything it asked and was told is in its journal.
 */
final class Client {
    private static final Duration PATIENCE = Duration.ofSeconds(3);
    private static final long PAUSE_NANOS = Duration.ofMillis(400).toNanos();
    /** One in so many starts is asked for twice at once: the key must make them one. */
    private static final int TWINS = 12;

    /** One in so many starts repeats a key from long ago: the answer must be that run. */
    private static final int REPEATS = 15;

    /** One in so many runs is cancelled, as many are paused; every failed one that is seen is retried once. */
    private static final int SIGNALLED = 14;

    private final Cell cell;
    private final JsonLines journal;
    private final InstantSource clock;
    private final RandomGenerator random;
    private final int programs;
    private final AtomicBoolean giveUp = new AtomicBoolean();
    private final AtomicLong open = new AtomicLong();
    private final ConcurrentLinkedQueue<String> refused = new ConcurrentLinkedQueue<>();
    private final Map<String, LongAdder> told = new ConcurrentHashMap<>();
    private final LongAdder again = new LongAdder();

    Client(Cell cell, JsonLines journal, InstantSource clock, RandomGenerator random, int programs) {
        this.cell = cell;
        this.journal = journal;
        this.clock = clock;
        this.random = random;
        this.programs = programs;
    }

    /** What a run's client is going to do with it, drawn before it is started. */
    private enum Plan {
        NOTHING,
        CANCEL,
        PAUSE,
        RETRY_IF_FAILED
    }

    /** While it is told to go on. */
    void run(double startsPerSecond, BooleanSupplier goOn) {
        long gap = (long) (1e9 / startsPerSecond);
        long next = System.nanoTime();
        String[] programOf = new String[1 << 16];
        for (int n = 0; goOn.getAsBoolean() && n < programOf.length; n++) {
            String program = Programs.name(random.nextInt(programs));
            programOf[n] = program;
            Plan plan = random.nextInt(SIGNALLED) == 0
                    ? Plan.CANCEL
                    : random.nextInt(SIGNALLED) == 0 ? Plan.PAUSE : random.nextInt(4) == 0 ? Plan.RETRY_IF_FAILED : Plan.NOTHING;
            // Some signals come at once, some while the run is under way.
            long after = random.nextInt(1_200);
            String key = "order-" + n;
            live(() -> started(program, key).ifPresent(run -> follow(run, plan, after)));
            if (random.nextInt(TWINS) == 0) {
                live(() -> started(program, key));
            }
            if (n > 20 && random.nextInt(REPEATS) == 0) {
                int old = random.nextInt(n - 10);
                live(() -> started(programOf[old], "order-" + old));
            }
            next += gap;
            LockSupport.parkNanos(next - System.nanoTime());
        }
    }

    private void live(Runnable what) {
        open.incrementAndGet();
        Thread.ofVirtual().start(() -> {
            try {
                what.run();
            } finally {
                open.decrementAndGet();
            }
        });
    }

    private Optional<String> started(String program, String key) {
        while (!giveUp.get()) {
            Told answer = ask("start", null, key, it -> it.put("name", program).put("key", key).set("data", Programs.data(key)));
            if (answer.refused()) {
                refused.add(key + " " + answer);
                return Optional.empty();
            }
            if (answer.ok != null) {
                return Optional.of(answer.ok.asString());
            }
            again.increment();
            LockSupport.parkNanos(PAUSE_NANOS);
        }
        return Optional.empty();
    }

    private void follow(String run, Plan plan, long afterMillis) {
        switch (plan) {
            case NOTHING -> {}
            case CANCEL -> {
                LockSupport.parkNanos(Duration.ofMillis(afterMillis).toNanos());
                insist("cancel", run);
            }
            case PAUSE -> {
                LockSupport.parkNanos(Duration.ofMillis(afterMillis).toNanos());
                if (insist("pause", run)) {
                    LockSupport.parkNanos(Duration.ofMillis(500 + afterMillis).toNanos());
                    insist("resume", run);
                }
            }
            case RETRY_IF_FAILED -> {
                if (awaitFailure(run)) {
                    insist("retry", run);
                }
            }
        }
    }

    private boolean awaitFailure(String run) {
        while (!giveUp.get()) {
            Optional<JsonNode> seen = cell.anyReady().flatMap(node -> node.ask("run", it -> it.put("run", run), PATIENCE));
            String state = seen.map(it -> it.path("ok").path("state").asString("")).orElse("");
            if (List.of("failed", "completed", "cancelled").contains(state)) {
                return state.equals("failed");
            }
            LockSupport.parkNanos(3 * PAUSE_NANOS);
        }
        return false;
    }

    /** Until it is told yes or no. @return whether it was yes */
    private boolean insist(String signal, String run) {
        while (!giveUp.get()) {
            Told answer = ask(signal, run, null, it -> it.put("run", run));
            boolean notYet = answer.refused() && List.of("EFFECT_NOT_QUIET", "RUN_BUSY").contains(answer.code());
            if (answer.ok != null || (answer.refused() && !notYet)) {
                told.computeIfAbsent(signal + (answer.ok != null ? "" : " refused: " + answer.code()), it -> new LongAdder()).increment();
                return answer.ok != null;
            }
            LockSupport.parkNanos((notYet ? 3 : 1) * PAUSE_NANOS);
        }
        return false;
    }

    /** @param ok what was answered, or null. @param error why not, or null when nobody said anything */
    private record Told(@Nullable JsonNode ok, @Nullable JsonNode error) {
        boolean refused() {
            int status = error == null ? 0 : error.path("status").asInt();
            return status >= 400 && status < 500 && status != 429;
        }

        String code() {
            return error == null ? "" : error.path("code").asString("");
        }
    }

    private Told ask(String what, @Nullable String run, @Nullable String key, java.util.function.Consumer<ObjectNode> more) {
        Optional<Node> node = cell.anyReady();
        if (node.isEmpty()) {
            return new Told(null, null);
        }
        Instant at = clock.instant();
        Optional<JsonNode> answer = node.get().ask(what, more, PATIENCE);
        Told result = new Told(
                answer.filter(it -> it.has("ok")).map(it -> it.path("ok")).orElse(null),
                answer.filter(it -> it.has("error")).map(it -> it.path("error")).orElse(null));
        ObjectNode line = Json.NODES.objectNode().put("op", what.equals("start") ? "start" : "signal");
        line.put("result", result.ok != null ? "ok" : result.refused() ? "fail" : "info");
        line.put("at", at.toString()).put("answered", answer.isPresent() ? clock.instant().toString() : null);
        line.put("tenant", "default").put("node", node.get().name());
        if (key != null) {
            line.put("key", key).put("id", result.ok == null ? null : result.ok.asString());
        } else {
            line.put("signal", what).put("id", run);
        }
        if (result.error != null) {
            line.set("error", result.error);
        }
        journal.add(line);
        return result;
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

    /** Answers to signals. */
    Map<String, LongAdder> told() {
        return told;
    }

    long askedAgain() {
        return again.sum();
    }
}
