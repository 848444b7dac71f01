package dev.waybill.lab.mutants;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import dev.waybill.lab.sim.SimOptions;
import dev.waybill.lab.sim.SimResult;
import dev.waybill.lab.sim.Simulation;
import java.io.PrintStream;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import org.slf4j.LoggerFactory;

/**
 * The main class of a child process that holds an engine, true or mutated, against seeds of the simulator: every fourth for liveness, as
 * {@code ./waybill lab sim} has it. Prints {@code TRIAL sim killed SEED VIOLATION} at the first that does not hold, or {@code TRIAL sim green
 * N seeds}.
 */
final class SimTrial {
    /** An honest seed takes a second; one that runs in circles without the simulated time moving would never end. */
    private static final long SEED_NANOS = 60_000_000_000L;

    private SimTrial() {}

    /** @param arguments directory of the patched classes or {@code -}, their number, their names, first seed, how many, seconds */
    public static void main(String[] arguments) throws ReflectiveOperationException, InterruptedException {
        PrintStream out = System.out;
        System.setOut(System.err);
        ((Logger) LoggerFactory.getLogger("dev.waybill")).setLevel(Level.OFF);
        int at = Patched.require(arguments);
        long first = Long.parseLong(arguments[at]);
        long end = first + Long.parseLong(arguments[at + 1]);
        long deadline = System.nanoTime() + Long.parseLong(arguments[at + 2]) * 1_000_000_000L;
        AtomicLong next = new AtomicLong(first);
        AtomicBoolean said = new AtomicBoolean();
        List<Thread> workers = new ArrayList<>();
        Map<Long, Long> began = new ConcurrentHashMap<>();
        for (int i = 0; i < Runtime.getRuntime().availableProcessors(); i++) {
            workers.add(Thread.ofPlatform().start(() -> {
                while (!said.get() && System.nanoTime() < deadline) {
                    long seed = next.getAndIncrement();
                    if (seed >= end) {
                        return;
                    }
                    SimOptions options = seed % 4 == 0 ? SimOptions.of(seed).live() : SimOptions.of(seed);
                    began.put(seed, System.nanoTime());
                    SimResult result = Simulation.run(options);
                    began.remove(seed);
                    if (!result.clean() && said.compareAndSet(false, true)) {
                        out.println("TRIAL sim killed " + seed + " " + result.violations().getFirst().strip().replaceAll("\\s+", " "));
                    }
                }
            }));
        }
        for (Thread worker : workers) {
            while (!said.get() && !worker.join(Duration.ofMillis(200))) {
                began.forEach((seed, since) -> {
                    if (System.nanoTime() - since > SEED_NANOS && said.compareAndSet(false, true)) {
                        out.println("TRIAL sim killed " + seed + " it does not end");
                    }
                });
            }
        }
        if (!said.get()) {
            out.println("TRIAL sim green " + (Math.min(next.get(), end) - first) + " seeds");
        }
        out.flush();
        Runtime.getRuntime().halt(0);
    }
}
