package dev.waybill.lab.torture;

import dev.waybill.engine.CrashPoints.Point;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.locks.ReentrantLock;
import java.util.random.RandomGenerator;

/** Strikes engine processes: kill -9 at random and at named points, freezes longer than the lease, stalled threads, SIGTERM. */
final class ProcessHand implements Nemesis.Hand {
    private static final Duration TO_REACH_A_POINT = Duration.ofSeconds(2);
    private static final List<Point> POINTS = List.of(Point.values());
    /** Two rolling restarts at once would be none. */
    private static final ReentrantLock ROLLING = new ReentrantLock();

    private final Cell cell;
    private final Deeds deeds;
    private final Restarts restarts;
    private final RandomGenerator random;

    ProcessHand(Cell cell, Deeds deeds, Restarts restarts, RandomGenerator random) {
        this.cell = cell;
        this.deeds = deeds;
        this.restarts = restarts;
        this.random = random;
    }

    @Override
    public long pauseMillis() {
        return 300 + random.nextInt(1_200);
    }

    @Override
    public void strike() {
        List<Node> ready = cell.nodes().stream().filter(Node::isAtWork).toList();
        if (ready.size() <= (cell.nodes().size() - 1) / 2) {
            return; // who is to take over from the victims? On a slow machine they are long in coming back
        }
        Node node = ready.get(random.nextInt(ready.size()));
        if (!node.take()) {
            return;
        }
        int drawn = random.nextInt(100);
        if (drawn < 42) {
            kill(node, null);
        } else if (drawn < 76) {
            strikeAtAPoint(node);
        } else if (drawn < 86) {
            freeze(node);
        } else {
            drain(node);
        }
    }

    private void kill(Node node, @org.jspecify.annotations.Nullable Point point) {
        Instant at = deeds.now();
        node.kill();
        deeds.log(at, at, point == null ? "kill" : "kill at point", node, point == null ? null : point.name());
        restarts.restart(node);
    }

    /** Mostly; a fault of one thread or of the whole process, held exactly there, otherwise. */
    private void strikeAtAPoint(Node node) {
        Point point = POINTS.get(random.nextInt(POINTS.size()));
        Optional<String> held = node.holdAt(point.name(), TO_REACH_A_POINT);
        if (held.isEmpty()) {
            kill(node, null);
            return;
        }
        int drawn = random.nextInt(10);
        if (drawn < 2) {
            // One thread stalls longer than its intent may wait, the node lives on.
            Instant at = deeds.now();
            Deeds.pause(2_200);
            node.release();
            deeds.log(at, deeds.now(), "stall at point", node, point.name());
            node.give();
        } else if (drawn < 4) {
            // A stall exactly there, longer than the lease: its claims are taken over while a thread stands still.
            Instant at = deeds.now();
            node.freeze();
            Deeds.pause(4_000 + random.nextInt(1_000));
            node.thaw();
            node.release();
            deeds.log(at, deeds.now(), "freeze at point", node, point.name());
            node.give();
        } else {
            kill(node, point);
        }
    }

    private void freeze(Node node) {
        Instant at = deeds.now();
        node.freeze();
        Deeds.pause(3_500 + random.nextInt(2_000));
        node.thaw();
        deeds.log(at, deeds.now(), "freeze", node, null);
        node.give();
    }

    /** One, or one after the other, as a release does. */
    private void drain(Node node) {
        drainOne(node);
        if (random.nextInt(4) == 0 && ROLLING.tryLock()) {
            try {
                cell.nodes().stream().filter(it -> it != node && it.isReady() && it.take()).forEach(this::drainOne);
            } finally {
                ROLLING.unlock();
            }
        }
    }

    /** It is started again before anything else is done: a rolling restart takes one node away at a time. */
    private void drainOne(Node node) {
        Instant at = deeds.now();
        long began = System.nanoTime();
        int exit = node.terminate();
        Instant until = deeds.now();
        // A drain promises to leave nothing behind only where the store can be reached.
        String kind = deeds.troubledSince(began) ? "drain in trouble" : exit == 0 ? "drain" : "drain that failed (exit " + exit + ")";
        deeds.log(at, until, kind, node, null);
        restarts.startNow(node);
    }
}
