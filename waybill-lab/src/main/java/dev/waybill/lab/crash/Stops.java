package dev.waybill.lab.crash;

import dev.waybill.engine.CrashPoints;
import dev.waybill.model.InstanceKey;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** Holds the threads that reach chosen points of the step protocol, so that the process can be killed or frozen exactly there. */
final class Stops implements CrashPoints {
    private final List<Stop> stops = new CopyOnWriteArrayList<>();
    private final Consumer<String> announce;

    /** @param announce told {@code AT POINT path} when a thread is held */
    Stops(Consumer<String> announce) {
        this.announce = announce;
    }

    private record Stop(Point point, @Nullable String path, int nth, AtomicInteger reached, CountDownLatch open) {}

    /** @param rule {@code POINT[:path[:n]]}: the n-th time (default: the first) that this point is reached at this path (default: any) */
    void add(String rule) {
        String[] parts = rule.split(":");
        stops.add(new Stop(
                Point.valueOf(parts[0]), parts.length > 1 ? parts[1] : null, parts.length > 2 ? Integer.parseInt(parts[2]) : 1,
                new AtomicInteger(), new CountDownLatch(1)));
    }

    /** Lets everybody who is held go on, and forgets the rules. */
    void open() {
        List<Stop> opened = List.copyOf(stops);
        stops.removeAll(opened);
        opened.forEach(stop -> stop.open.countDown());
    }

    @Override
    public void reached(Point point, InstanceKey instance, String path) {
        for (Stop stop : stops) {
            if (stop.point == point && (stop.path == null || stop.path.equals(path)) && stop.reached.incrementAndGet() == stop.nth) {
                announce.accept("AT " + point + " " + path);
                awaitUninterruptibly(stop.open);
            }
        }
    }

    /** A held thread stays held: an interrupt is for whatever comes after. */
    private static void awaitUninterruptibly(CountDownLatch open) {
        boolean interrupted = false;
        while (true) {
            try {
                open.await();
                break;
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
