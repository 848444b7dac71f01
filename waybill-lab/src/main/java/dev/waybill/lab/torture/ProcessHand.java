package dev.waybill.lab.torture;

import dev.waybill.engine.CrashPoints.Point;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Random;
import java.util.concurrent.locks.ReentrantLock;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;

/** Strikes engine processes: kill -9 at random and at named points, freezes longer than the lease, stalled threads, clocks that jump, SIGTERM. */
final class ProcessHand implements Nemesis.Hand {
    private static final Duration TO_REACH_A_POINT = Duration.ofSeconds(2);
    private static final long MOST_OFF_MILLIS = Duration.ofHours(1).toMillis();
    /** Two rolling restarts at once would be none. */
    private static final ReentrantLock ROLLING = new ReentrantLock();

    private enum Kind {
        KILL,
        KILL_AT_POINT,
        STALL_AT_POINT,
        FREEZE_AT_POINT,
        FREEZE,
        CLOCK_JUMP,
        DRAIN,
        DRAIN_IN_PEACE,
        ROLL
    }

    /** @param point where, for the kinds that strike at one */
    record Card(Kind kind, @Nullable Point point) {}

    private final Cell cell;
    private final Deeds deeds;
    private final Restarts restarts;
    private final Deck<Card> deck;
    private final RandomGenerator random;

    /** @param deck of {@link #deck}, shared by the hands of its kind */
    ProcessHand(Cell cell, Deeds deeds, Restarts restarts, Deck<Card> deck, RandomGenerator random) {
        this.cell = cell;
        this.deeds = deeds;
        this.restarts = restarts;
        this.deck = deck;
        this.random = random;
    }

    /** Half of it is plain kills; every named point is there. */
    static Deck<Card> deck(Random random) {
        List<Card> cards = new ArrayList<>();
        for (Point point : Point.values()) {
            cards.addAll(List.of(new Card(Kind.KILL, null), new Card(Kind.KILL, null), new Card(Kind.KILL, null)));
            cards.addAll(List.of(new Card(Kind.KILL_AT_POINT, point), new Card(Kind.KILL_AT_POINT, point)));
        }
        Point[] points = Point.values();
        for (int i = 0; i < 2; i++) {
            cards.add(new Card(Kind.STALL_AT_POINT, i == 0 ? Point.AFTER_INTENT : points[random.nextInt(points.length)]));
            cards.add(new Card(Kind.FREEZE_AT_POINT, i == 0 ? Point.AFTER_ANSWER : points[random.nextInt(points.length)]));
            cards.add(new Card(Kind.FREEZE, null));
            cards.add(new Card(Kind.CLOCK_JUMP, null));
            cards.add(new Card(Kind.CLOCK_JUMP, null));
            cards.add(new Card(Kind.DRAIN, null));
            cards.add(new Card(Kind.DRAIN_IN_PEACE, null));
        }
        cards.add(new Card(Kind.ROLL, null));
        return new Deck<>(List.of(new Card(Kind.KILL, null), new Card(Kind.DRAIN_IN_PEACE, null)), cards, random);
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
        Card card = deck.draw();
        switch (card.kind) {
            case KILL -> kill(node, null);
            case KILL_AT_POINT, STALL_AT_POINT, FREEZE_AT_POINT -> strikeAtAPoint(node, card.kind, Objects.requireNonNull(card.point));
            case FREEZE -> freeze(node);
            case CLOCK_JUMP -> jump(node);
            case DRAIN -> drainOne(node);
            case DRAIN_IN_PEACE -> deeds.inPeace(() -> drainOne(node));
            case ROLL -> roll(node);
        }
    }

    private void kill(Node node, @Nullable Point point) {
        Instant at = deeds.now();
        node.kill();
        deeds.log(at, at, point == null ? "kill" : "kill at point", node, point == null ? null : point.name());
        restarts.restart(node);
    }

    /** Where no thread comes to the point in time, it is a plain kill. */
    private void strikeAtAPoint(Node node, Kind kind, Point point) {
        if (node.holdAt(point.name(), TO_REACH_A_POINT).isEmpty()) {
            kill(node, null);
        } else if (kind == Kind.STALL_AT_POINT) {
            // One thread stalls longer than its intent may wait, the node lives on.
            Instant at = deeds.now();
            Deeds.pause(2_200);
            node.release();
            deeds.log(at, deeds.now(), "stall at point", node, point.name());
            node.give();
        } else if (kind == Kind.FREEZE_AT_POINT) {
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

    /** The node lives on with a clock that is up to an hour off, either way; only the database's time may decide anything. */
    private void jump(Node node) {
        Instant at = deeds.now();
        if (node.setClock(Duration.ofMillis(random.nextLong(-MOST_OFF_MILLIS, MOST_OFF_MILLIS)))) {
            deeds.log(at, at, "clock jump", node, null);
        }
        node.give();
    }

    /** One after the other, as a release does. */
    private void roll(Node node) {
        drainOne(node);
        if (ROLLING.tryLock()) {
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
