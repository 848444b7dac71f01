package dev.waybill.lab.sim;

import java.io.PrintWriter;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.stream.LongStream;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code ./waybill lab sim}: many seeds, each twice. */
@Command(name = "sim", description = "The engine as it is in a simulated world, one seed one history.", mixinStandardHelpOptions = true)
public final class SimCommand implements Callable<Integer> {
    enum Mode {
        SAFETY,
        LIVENESS,
        BOTH
    }

    @Option(names = "--seeds", defaultValue = "1000", description = "how many seeds (default ${DEFAULT-VALUE})")
    long seeds;

    @Option(names = "--first", defaultValue = "1", description = "the first of them (default ${DEFAULT-VALUE})")
    long first;

    @Option(names = "--seed", description = "only this one, with its message chart")
    @Nullable Long seed;

    @Option(names = "--mode", defaultValue = "both", description = "safety, liveness or both: by turns (default ${DEFAULT-VALUE})")
    Mode mode = Mode.BOTH;

    @Option(names = "--threads", description = "simulations at once; default: one per core")
    int threads = Runtime.getRuntime().availableProcessors();

    @Spec
    CommandSpec spec;

    @Override
    public Integer call() throws InterruptedException {
        PrintWriter out = spec.commandLine().getOut();
        Silence.engine();
        Long only = seed;
        if (only != null) {
            SimResult result = Simulation.run(new SimOptions(only, live(only), null, true));
            result.chart().forEach(out::println);
            result.violations().forEach(violation -> out.println("VIOLATION " + violation));
            out.printf(
                    Locale.ROOT, "seed %d %s: %d faults, %.1f s simulated, %d steps, hash %016x, %s%n", only,
                    result.options().liveness() ? "liveness" : "safety", result.faults().size(), result.seconds(), result.steps(),
                    result.hash(), result.clean() ? "clean" : "VIOLATED");
            out.flush();
            return result.clean() ? 0 : 1;
        }
        return many(out);
    }

    private boolean live(long one) {
        return mode == Mode.LIVENESS || (mode == Mode.BOTH && one % 4 == 0);
    }

    private int many(PrintWriter out) throws InterruptedException {
        Sweep sweep = new Sweep(out);
        long began = System.nanoTime();
        AtomicLong next = new AtomicLong(first);
        AtomicBoolean stop = new AtomicBoolean();
        List<Thread> workers = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            Cabin cabin = new Cabin();
            workers.add(Thread.ofPlatform().name("sim-" + i).start(() -> {
                for (long one = next.getAndIncrement(); one < first + seeds && !stop.get(); one = next.getAndIncrement()) {
                    SimOptions options = new SimOptions(one, live(one), null, false);
                    if (!sweep.add(options, cabin)) {
                        stop.set(true);
                    }
                }
            }));
        }
        for (Thread worker : workers) {
            worker.join();
        }
        double seconds = (System.nanoTime() - began) / 1e9;
        sweep.report(out, seconds);
        out.flush();
        return sweep.clean() ? 0 : 1;
    }

    /** What many seeds came to. Thread-safe. */
    static final class Sweep {
        /** So many failing seeds are told; then it is enough. */
        private static final int MOST_FAILURES = 5;

        private static final int ENOUGH_SEEDS = 2_000;

        private final PrintWriter told;
        private final Map<String, Long> reached = new TreeMap<>();
        private final List<SimResult> failures = new ArrayList<>();
        private long seeds;
        /** One of their runs went another way, and two more did not: a thread of the JDK was in it (a lock of a cache, rarely). */
        private long disturbed;
        private long steps;
        private long faults;
        private double simulated;

        /** @param told hears of each failure at once */
        Sweep(PrintWriter told) {
            this.told = told;
        }

        /** @return false when enough has failed */
        boolean add(SimOptions options, Simulator simulator) {
            SimResult result = simulator.run(options);
            long again = simulator.hash(options);
            boolean odd = result.hash() != again;
            if (odd && repeats(options, simulator, again)) {
                result = simulator.run(options); // the first run was the odd one: what is judged is the history that repeats
            }
            boolean settled = !odd || result.hash() == again || repeats(options, simulator, result.hash());
            if (!settled) {
                List<String> all = new ArrayList<>(result.violations());
                all.add(String.format(Locale.ROOT, "the same seed gave two histories: %016x and %016x", result.hash(), again));
                result = new SimResult(
                        options, result.hash(), all, result.faults(), result.reached(), result.steps(), result.seconds(), result.chart());
            }
            synchronized (this) {
                disturbed += odd && settled ? 1 : 0;
                if (!result.clean()) {
                    told.println("seed " + options.seed() + (options.liveness() ? " liveness: " : " safety: ") + result.violations().getFirst().lines().findFirst().orElse(""));
                    told.flush();
                }
                seeds++;
                steps += result.steps();
                faults += result.faults().size();
                simulated += result.seconds();
                result.reached().forEach((situation, times) -> reached.merge(situation, times, Long::sum));
                if (!result.clean()) {
                    failures.add(result);
                }
                return failures.size() < MOST_FAILURES;
            }
        }

        private static boolean repeats(SimOptions options, Simulator simulator, long hash) {
            return LongStream.range(0, 3).allMatch(_ -> simulator.hash(options) == hash);
        }

        /** Fewer seeds cannot come into everything. */
        synchronized List<String> missed() {
            return seeds < ENOUGH_SEEDS ? List.of() : Dangers.missed(reached);
        }

        synchronized boolean clean() {
            return failures.isEmpty() && missed().isEmpty();
        }

        synchronized List<SimResult> failures() {
            return failures;
        }

        synchronized Map<String, Long> reached() {
            return reached;
        }

        synchronized void report(PrintWriter out, double seconds) {
            reached.forEach((situation, times) -> out.printf(Locale.ROOT, "%12d  %s%n", times, situation));
            for (SimResult failure : failures) {
                out.println();
                out.printf(
                        Locale.ROOT, "seed %d %s, %d faults%n", failure.options().seed(),
                        failure.options().liveness() ? "liveness" : "safety", failure.faults().size());
                failure.violations().forEach(violation -> out.println("  " + violation));
                if (failure != failures.getFirst()) {
                    continue; // one told whole is enough to begin with
                }
                SimResult small = Shrink.of(failure);
                out.printf(Locale.ROOT, "with these %d faults alone it %s:%n", small.faults().size(), small.clean() ? "does not happen" : "happens too");
                small.faults().forEach(fault -> out.println("    " + fault));
                small.chart().forEach(line -> out.println("  " + line));
                out.printf(
                        Locale.ROOT, "again: ./waybill lab sim --seed %d --mode %s%n", failure.options().seed(),
                        failure.options().liveness() ? "liveness" : "safety");
            }
            out.printf(
                    Locale.ROOT, "%n%d seeds, each twice, in %.1f s: %.0f seeds/s; %d faults, %.0f s simulated, %d steps: %s%n", seeds, seconds,
                    seeds / seconds, faults, simulated, steps, failures.isEmpty() ? "clean" : failures.size() + " FAILED");
            if (disturbed > 0) {
                out.println(disturbed + " of them gave another history once, and the same one in three further runs");
            }
            List<String> missed = missed();
            if (!missed.isEmpty()) {
                out.println("never in these dangers, so nothing is proved about them: " + missed);
            }
        }
    }
}
