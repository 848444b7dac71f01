package dev.waybill.lab.torture;

import dev.waybill.json.Json;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReadWriteLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ObjectNode;

/** What was done to the cell: the fault log, the counts of it, and whether store or network are in trouble now. */
final class Deeds {
    /** So long after a fault of the store or the network an engine may still be busy with it. */
    private static final Duration AFTERMATH = Duration.ofSeconds(2);

    private static final long TO_GET_PEACE_MILLIS = 10_000;

    private final JsonLines journal;
    private final InstantSource clock;
    private final Map<String, Integer> counts = new TreeMap<>();
    private final ReadWriteLock weather = new ReentrantReadWriteLock(true);
    private final AtomicInteger troubles = new AtomicInteger();
    private volatile long lastTrouble = System.nanoTime() - AFTERMATH.toNanos();

    Deeds(JsonLines journal, InstantSource clock) {
        this.journal = journal;
        this.clock = clock;
    }

    Instant now() {
        return clock.instant();
    }

    static void pause(long millis) {
        long deadline = System.nanoTime() + Duration.ofMillis(millis).toNanos();
        for (long left = deadline - System.nanoTime(); left > 0; left = deadline - System.nanoTime()) {
            LockSupport.parkNanos(left);
        }
    }

    /** A fault of the store or the way to it. */
    void trouble(Runnable deed) {
        weather.readLock().lock();
        troubles.incrementAndGet();
        try {
            deed.run();
        } finally {
            lastTrouble = System.nanoTime();
            troubles.decrementAndGet();
            weather.readLock().unlock();
        }
    }

    /** Store and network are left alone meanwhile, and for a moment before; where that cannot be had in time, it is done anyway. */
    void inPeace(Runnable deed) {
        boolean peace = false;
        try {
            peace = weather.writeLock().tryLock(TO_GET_PEACE_MILLIS, TimeUnit.MILLISECONDS);
            if (peace) {
                pause(AFTERMATH.toMillis() + 100);
            }
            deed.run();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            if (peace) {
                weather.writeLock().unlock();
            }
        }
    }

    /** Whether anything but the engines themselves stood in their way since then. */
    boolean troubledSince(long nanoTime) {
        return troubles.get() > 0 || lastTrouble + AFTERMATH.toNanos() > nanoTime;
    }

    /** @param node null = everybody. @param detail counted apart */
    void log(Instant at, Instant until, String kind, @Nullable Node node, @Nullable String detail) {
        ObjectNode line = Json.NODES.objectNode().put("at", at.toString()).put("until", until.toString()).put("kind", kind);
        line.put("node", node == null ? null : node.name()).put("point", detail);
        journal.add(line);
        synchronized (counts) {
            counts.merge(detail == null ? kind : kind + " " + detail, 1, Integer::sum);
        }
    }

    Map<String, Integer> counts() {
        synchronized (counts) {
            return new TreeMap<>(counts);
        }
    }

    /** {@code kill -9} of an engine, wherever it was. */
    int kills() {
        return counts().entrySet().stream().filter(deed -> deed.getKey().startsWith("kill")).mapToInt(Map.Entry::getValue).sum();
    }
}
