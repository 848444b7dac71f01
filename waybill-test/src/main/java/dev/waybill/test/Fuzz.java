package dev.waybill.test;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * Holds a property against generated cases, shrinks the first that fails, and says how to repeat it. A build makes the same cases every
 * time; {@code -Dwaybill.fuzz.seconds=N} makes new ones for N seconds a target, {@code -Dwaybill.fuzz.seed=S} begins somewhere else, and
 * {@code -Dwaybill.fuzz.replay=TARGET:CHOICES} repeats one case.
 */
public final class Fuzz {
    private static final long SHRINK_NANOS = 20_000_000_000L;
    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();

    /** Throws when the case that the choices make breaks the property. */
    public interface Property {
        void check(Choices choices) throws Exception;
    }

    /** Something that must stay within bounds. */
    public interface Work {
        void run() throws Exception;
    }

    private Fuzz() {}

    /**
     * @param target name of what is held to the property; the seed of a build comes from it
     * @param runs   how many cases a build makes
     * @throws AssertionError with the shrunk case and the command that repeats it
     */
    public static void check(String target, int runs, Property property) {
        String replay = System.getProperty("waybill.fuzz.replay", "");
        if (!replay.isEmpty()) {
            if (replay.startsWith(target + ":")) {
                replay(target, replay.substring(target.length() + 1), property);
            }
            return;
        }
        long seconds = Long.getLong("waybill.fuzz.seconds", 0);
        long seed = Long.getLong("waybill.fuzz.seed", seconds > 0 ? System.nanoTime() : target.hashCode());
        long started = System.nanoTime();
        long run = 0;
        while (seconds > 0 ? System.nanoTime() - started < seconds * 1_000_000_000L : run < runs) {
            Choices choices = Choices.of(seed + run++);
            Throwable failure = failure(property, choices);
            if (failure != null) {
                throw shrunk(target, seed + run - 1, choices.made(), failure, property);
            }
        }
        System.out.printf("fuzz %s: %,d runs from seed %d in %.1f s%n", target, run, seed, (System.nanoTime() - started) / 1e9);
    }

    /**
     * Runs {@code work} on this thread and fails when it cost more processor time or garbage than it may: a busy machine does not count.
     */
    public static void within(long cpuMillis, long allocatedMegabytes, String what, Work work) throws Exception {
        long cpu = THREADS.getCurrentThreadCpuTime();
        long allocated = THREADS.getCurrentThreadAllocatedBytes();
        try {
            work.run();
        } finally {
            long millis = (THREADS.getCurrentThreadCpuTime() - cpu) / 1_000_000;
            long megabytes = THREADS.getCurrentThreadAllocatedBytes() - allocated >> 20;
            if (millis > cpuMillis || megabytes > allocatedMegabytes) {
                throw new AssertionError("%d ms of processor time (at most %d) and %d MiB (at most %d): %s"
                        .formatted(millis, cpuMillis, megabytes, allocatedMegabytes, what.length() > 400 ? what.substring(0, 400) + ".." : what));
            }
        }
    }

    private static void replay(String target, String choices, Property property) {
        Throwable failure = failure(property, Choices.of(numbers(choices)));
        if (failure != null) {
            throw new AssertionError("fuzz " + target + ": the case still fails: " + failure, failure);
        }
    }

    private static @Nullable Throwable failure(Property property, Choices choices) {
        try {
            property.check(choices);
            return null;
        } catch (Throwable e) {
            // Errors too: a stack overflow or a lack of memory is what a fuzzer looks for.
            return e;
        }
    }

    private static AssertionError shrunk(String target, long seed, int[] first, Throwable firstFailure, Property property) {
        long deadline = System.nanoTime() + SHRINK_NANOS;
        int[] best = first;
        Throwable failure = firstFailure;
        boolean better = true;
        while (better && System.nanoTime() < deadline) {
            better = false;
            for (Candidates candidates = new Candidates(best); candidates.hasNext() && System.nanoTime() < deadline; ) {
                Choices choices = Choices.of(candidates.next());
                Throwable now = failure(property, choices);
                int[] made = choices.made();
                if (now != null && now.getClass() == firstFailure.getClass() && simpler(made, best)) {
                    best = made;
                    failure = now;
                    better = true;
                    candidates.retarget(best);
                }
            }
        }
        String numbers = Arrays.stream(best).mapToObj(n -> Integer.toString(n, 36)).collect(Collectors.joining("."));
        return new AssertionError(
                "fuzz %s, seed %d: %s%nrepeat: -Dwaybill.fuzz.replay=%s:%s".formatted(target, seed, failure, target, numbers), failure);
    }

    private static boolean simpler(int[] a, int[] b) {
        return a.length != b.length ? a.length < b.length : Arrays.compare(a, b) < 0;
    }

    private static int[] numbers(String text) {
        return text.isEmpty() ? new int[0] : Arrays.stream(text.split("\\.")).mapToInt(n -> Integer.parseInt(n, 36)).toArray();
    }

    /** Ways to make a list of choices simpler, boldest first: leave parts out, make parts 0, lower single numbers. */
    private static final class Candidates {
        private int[] from;
        private int size;
        private int at;
        private int way;

        Candidates(int[] from) {
            this.from = from;
            this.size = Integer.highestOneBit(Math.max(1, from.length / 2));
        }

        /** Goes on at the same place with a better list. */
        void retarget(int[] better) {
            from = better;
        }

        boolean hasNext() {
            if (at >= from.length) {
                at = 0;
                if (way < 2 && size > 1) {
                    size /= 2;
                } else {
                    way++;
                    size = way == 1 ? Integer.highestOneBit(Math.max(1, from.length / 2)) : 1;
                }
            }
            return way < 5 && from.length > 0;
        }

        int[] next() {
            int end = Math.min(from.length, at + size);
            int[] list;
            if (way == 0) {
                list = new int[from.length - (end - at)];
                System.arraycopy(from, 0, list, 0, at);
                System.arraycopy(from, end, list, at, from.length - end);
            } else {
                list = from.clone();
                for (int i = at; i < end; i++) {
                    list[i] = way == 1 ? 0 : way == 2 ? list[i] / 2 : way == 3 ? list[i] * 3 / 4 : Math.max(0, list[i] - 1);
                }
            }
            at = end;
            return list;
        }
    }
}
