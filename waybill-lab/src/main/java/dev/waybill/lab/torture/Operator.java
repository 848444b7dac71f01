package dev.waybill.lab.torture;

import dev.waybill.json.Json;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** The person who empties the queue: looks into the provider's record once an effect is quiet, and says what stands there. */
final class Operator implements Runnable {
    private static final Duration PATIENCE = Duration.ofSeconds(3);
    private static final long PAUSE_NANOS = Duration.ofMillis(300).toNanos();
    /** Clocks of engine, store and provider are one machine's; this is for the ledger's write. */
    private static final Duration MARGIN = Duration.ofSeconds(1);
    /** One in so many absent effects is written off instead of sent again. */
    private static final int WRITTEN_OFF = 6;

    private final Cell cell;
    private final ProviderBook book;
    private final JsonLines journal;
    private final InstantSource clock;
    private final RandomGenerator random;
    private final AtomicBoolean stopped = new AtomicBoolean();
    private final Map<String, LongAdder> decisions = new ConcurrentHashMap<>();
    private volatile boolean queueEmpty;

    Operator(Cell cell, ProviderBook book, JsonLines journal, InstantSource clock, RandomGenerator random) {
        this.cell = cell;
        this.book = book;
        this.journal = journal;
        this.clock = clock;
        this.random = random;
    }

    @Override
    public void run() {
        while (!stopped.get()) {
            cell.anyReady().ifPresent(node -> {
                Optional<JsonNode> queue = node.ask("queue", it -> {}, PATIENCE);
                if (queue.isPresent() && queue.get().has("ok")) {
                    queueEmpty = queue.get().path("ok").isEmpty();
                    queue.get().path("ok").forEach(open -> look(node, open));
                }
            });
            LockSupport.parkNanos(PAUSE_NANOS);
        }
    }

    void stop() {
        stopped.set(true);
    }

    /** At the last look. */
    boolean queueEmpty() {
        return queueEmpty;
    }

    Map<String, LongAdder> decisions() {
        return decisions;
    }

    private void look(Node node, JsonNode open) {
        if (!clock.instant().isAfter(Instant.parse(open.path("quiet_at").asString()).plus(MARGIN))) {
            return;
        }
        String id = open.path("id").asString();
        List<JsonNode> applied = book.applications(id);
        if (open.path("state").asString().equals("output_lost")) {
            // It was done; what it said is in the provider's record.
            JsonNode answer = applied.isEmpty() ? Json.NODES.objectNode() : applied.getFirst().path("answer");
            decide(node, "supply", id, null, it -> it.set("output", Json.NODES.objectNode().put("status", 200).set("body", answer)));
        } else if (!applied.isEmpty()) {
            String providerId = applied.getFirst().path("answer").path("id").asString();
            decide(node, "resolve", id, "committed", it -> it.put("state", "committed").put("provider_receipt_id", providerId));
        } else {
            String then = random.nextInt(WRITTEN_OFF) == 0 ? "fail" : "resend";
            decide(node, "resolve", id, "abandoned", it -> it.put("state", "abandoned").put("then", then));
        }
    }

    private void decide(Node node, String what, String id, @Nullable String state, Consumer<ObjectNode> more) {
        Instant at = clock.instant();
        Optional<JsonNode> answer = node.ask(what, it -> more.accept(it.put("effect", id)), PATIENCE);
        boolean ok = answer.isPresent() && answer.get().has("ok");
        int status = answer.map(it -> it.path("error").path("status").asInt()).orElse(0);
        ObjectNode line = Json.NODES.objectNode().put("op", what);
        line.put("result", ok ? "ok" : status >= 400 && status < 500 ? "fail" : "info").put("at", at.toString());
        line.put("answered", answer.isPresent() ? clock.instant().toString() : null).put("tenant", "default");
        line.put("effect", id).put("state", state);
        if (answer.isPresent() && !ok) {
            line.set("error", answer.get().path("error"));
        }
        journal.add(line);
        if (ok) {
            decisions.computeIfAbsent(state == null ? "output supplied" : state, it -> new LongAdder()).increment();
        }
    }
}
