package dev.waybill.lab.program;

import dev.waybill.lab.program.Expected.Rigour;
import dev.waybill.store.Store;
import dev.waybill.store.memory.MemoryStore;
import dev.waybill.store.sqlite.SqliteConfig;
import dev.waybill.store.sqlite.SqliteStore;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code ./waybill lab programs}: random programs through the real engine, each held against what must come of it. */
@Command(
        name = "programs",
        mixinStandardHelpOptions = true,
        description = "Runs random workflow programs on a real engine and compares every result with an independent interpreter's.")
public final class ProgramsCommand implements Callable<Integer> {
    @Spec
    private CommandSpec spec;

    @Option(names = "--seeds", defaultValue = "5000", description = "how many")
    private long seeds;

    @Option(names = "--from", defaultValue = "0", description = "the first seed")
    private long from;

    @Option(names = "--store", defaultValue = "memory", description = "memory or sqlite (a temporary file)")
    private String store;

    @Option(names = "--at-once", defaultValue = "16", description = "programs running beside each other")
    private int atOnce;

    @Option(names = "--pause-micros", defaultValue = "1000", description = "longest time a request takes")
    private long pauseMicros;

    @Option(names = "--pauses", defaultValue = "0", description = "how often each run is paused and resumed meanwhile")
    private int pauses;

    @Option(names = "--blocks", defaultValue = "18", description = "most blocks of a program")
    private int blocks;

    @Option(names = "--show", description = "only print the program of this seed and what must come of it")
    private @Nullable Long show;

    private static final int MOST_SHOWN = 10;

    /** How often each feature was there; guards the counts beside it. */
    private final Map<String, Integer> met = new TreeMap<>();

    private long effects;
    private int wrong;

    @Override
    public Integer call() throws IOException, InterruptedException {
        PrintWriter out = spec.commandLine().getOut();
        Options options = Options.of(ProgramHandler.NAME, "lab://provider");
        options = options.sized(blocks, options.maxDepth(), options.maxEffects());
        if (show != null) {
            Program program = Program.of(show, options);
            out.println(program.shown().toPrettyString());
            out.println(program.expected());
            program.expected().facts().forEach((path, fact) -> {
                out.println("  " + path + " " + fact);
                if (fact.attempts() != null) {
                    out.println("      " + program.script().reactions(path));
                }
            });
            out.flush();
            return 0;
        }
        Path directory = Files.createTempDirectory("waybill-programs");
        Function<InstantSource, Store> opened = store.equals("memory")
                ? MemoryStore::new
                : clock -> new SqliteStore(SqliteConfig.of(directory.resolve("programs.db")), clock);
        long started = System.nanoTime();
        Options all = options;
        try (Bench bench = new Bench(opened, TimeUnit.MICROSECONDS.toNanos(pauseMicros))) {
            AtomicLong next = new AtomicLong(from);
            try (ExecutorService workers = Executors.newFixedThreadPool(atOnce)) {
                for (int i = 0; i < atOnce; i++) {
                    workers.execute(() -> {
                        for (long seed = next.getAndIncrement(); seed < from + seeds; seed = next.getAndIncrement()) {
                            List<String> differences = one(bench, seed, all);
                            synchronized (met) {
                                if (!differences.isEmpty() && ++wrong <= MOST_SHOWN) {
                                    out.println("seed " + seed + ":");
                                    differences.forEach(difference -> out.println("    " + difference));
                                    out.flush();
                                }
                            }
                        }
                    });
                }
            }
        } finally {
            try (var files = Files.walk(directory)) {
                files.sorted(java.util.Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
            }
        }
        double seconds = (System.nanoTime() - started) / 1e9;
        met.forEach((feature, count) -> out.printf(Locale.ROOT, "  %-40s %,9d%n", feature, count));
        out.printf(
                Locale.ROOT, "%,d programs with %,d effects in %.1f s (%.0f programs/s): %d differ from what must come of them%n", seeds,
                effects, seconds, seeds / seconds, wrong);
        out.flush();
        return wrong == 0 ? 0 : 1;
    }

    private List<String> one(Bench bench, long seed, Options options) {
        try {
            Program program = Program.of(seed, options);
            List<String> differences = program.expected().check(bench.run(program, pauses), Rigour.EXACT);
            synchronized (met) {
                effects += program.expected().facts().values().stream().filter(Expected.Fact::effect).count();
                program.features().forEach(feature -> met.merge(feature, 1, Integer::sum));
                met.merge("run " + program.expected().state(), 1, Integer::sum);
            }
            return differences;
        } catch (RuntimeException e) {
            return List.of("it could not be run: " + e);
        }
    }
}
