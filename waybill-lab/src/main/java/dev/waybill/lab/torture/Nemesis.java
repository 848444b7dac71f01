package dev.waybill.lab.torture;

import dev.waybill.engine.CrashPoints.Point;
import dev.waybill.json.Json;
import dev.waybill.test.TestPostgres;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.locks.LockSupport;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ObjectNode;

/** Does what happens to machines, one thing at a time, chosen by seed; every deed is in the fault log. */
final class Nemesis {
    private static final Duration TO_REACH_A_POINT = Duration.ofSeconds(3);
    private static final List<Point> POINTS = List.of(Point.values());

    private final Cell cell;
    private final JsonLines journal;
    private final InstantSource clock;
    private final RandomGenerator random;
    private final Map<String, Integer> deeds = new TreeMap<>();
    private final List<Thread> restarts = new ArrayList<>();

    Nemesis(Cell cell, JsonLines journal, InstantSource clock, RandomGenerator random) {
        this.cell = cell;
        this.journal = journal;
        this.clock = clock;
        this.random = random;
    }

    /** Until the deadline ({@link System#nanoTime}); all is repaired when it returns. */
    void run(long deadline) throws InterruptedException {
        while (System.nanoTime() < deadline) {
            pause(800 + random.nextInt(2_000));
            List<Node> ready = cell.nodes().stream().filter(Node::isReady).toList();
            if (ready.isEmpty()) {
                continue;
            }
            Node node = ready.get(random.nextInt(ready.size()));
            int drawn = random.nextInt(100);
            if (drawn < 40) {
                kill(node);
            } else if (drawn < 65) {
                strikeAtAPoint(node);
            } else if (drawn < 78) {
                freeze(node);
            } else if (drawn < 90) {
                drain(node);
            } else if (cell.server() != null) {
                killStore(cell.server());
            } else {
                kill(node);
            }
        }
        for (Thread restart : restarts) {
            restart.join();
        }
        if (!cell.nodes().stream().allMatch(Node::isReady)) {
            throw new IllegalStateException("a node did not come back: " + cell.nodes().stream().filter(it -> !it.isReady()).map(Node::name).toList());
        }
        Instant now = clock.instant();
        log(now, now, "calm", null, null);
    }

    /** Its supervisor starts it again while other things happen elsewhere. */
    private void restart(Node node) {
        restarts.removeIf(thread -> !thread.isAlive());
        restarts.add(Thread.ofPlatform().daemon().name("restart-" + node.name()).start(node::start));
    }

    private void kill(Node node) {
        Instant at = clock.instant();
        node.kill();
        log(at, at, "kill", node, null);
        restart(node);
    }

    /** Mostly; a fault of one thread or of the whole process, held exactly there, otherwise. */
    private void strikeAtAPoint(Node node) {
        Point point = POINTS.get(random.nextInt(POINTS.size()));
        Optional<String> held = node.holdAt(point.name(), TO_REACH_A_POINT);
        if (held.isPresent() && random.nextInt(5) == 0) {
            // One thread stalls longer than its intent may wait, the node lives on.
            Instant at = clock.instant();
            pause(2_200);
            node.release();
            log(at, clock.instant(), "stall at point", node, point.name());
            return;
        }
        if (held.isPresent() && random.nextInt(3) == 0) {
            // A stall exactly there, longer than the lease: its claims are taken over while a thread stands still.
            Instant at = clock.instant();
            node.freeze();
            pause(4_000 + random.nextInt(1_500));
            node.thaw();
            node.release();
            log(at, clock.instant(), "freeze at point", node, point.name());
            return;
        }
        Instant at = clock.instant();
        node.kill();
        restart(node);
        log(at, at, held.isPresent() ? "kill at point" : "kill", node, held.isPresent() ? point.name() : null);
    }

    private void freeze(Node node) {
        Instant at = clock.instant();
        node.freeze();
        pause(3_500 + random.nextInt(3_000));
        node.thaw();
        log(at, clock.instant(), "freeze", node, null);
    }

    /** One, or one after the other, as a release does. */
    private void drain(Node node) {
        if (random.nextInt(3) > 0) {
            drainOne(node);
        } else {
            cell.nodes().stream().filter(Node::isReady).forEach(this::drainOne);
        }
    }

    private void drainOne(Node node) {
        Instant at = clock.instant();
        int exit = node.terminate();
        Instant until = clock.instant();
        node.start();
        log(at, until, exit == 0 ? "drain" : "drain that failed (exit " + exit + ")", node, null);
    }

    private void killStore(TestPostgres.Server server) {
        Instant at = clock.instant();
        server.kill();
        pause(random.nextInt(1_500));
        server.start();
        log(at, clock.instant(), "store kill", null, null);
    }

    private static void pause(long millis) {
        long deadline = System.nanoTime() + Duration.ofMillis(millis).toNanos();
        for (long left = deadline - System.nanoTime(); left > 0; left = deadline - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }

    private void log(Instant at, Instant until, String kind, @Nullable Node node, @Nullable String point) {
        ObjectNode line = Json.NODES.objectNode().put("at", at.toString()).put("until", until.toString()).put("kind", kind);
        line.put("node", node == null ? null : node.name()).put("point", point);
        journal.add(line);
        deeds.merge(point == null ? kind : kind + " " + point, 1, Integer::sum);
    }

    Map<String, Integer> deeds() {
        return deeds;
    }
}
