package dev.waybill.lab.torture;

import dev.waybill.lab.crash.LabEngine;
import dev.waybill.test.SmallDisk;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.InstantSource;
import java.util.Comparator;
import java.util.EnumSet;
import java.util.Locale;
import java.util.Set;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code ./waybill lab torture}: kills engines and the database under load for some minutes, then has everybody's books checked. */
@Command(
        name = "torture",
        mixinStandardHelpOptions = true,
        description = "Engines in processes, a real database with a standby, a real provider, faults by seed; then the books are checked."
                + " Exit 0: all zeros, and every dangerous window was reached. With --control, exit 0: the checker found what is wrong.")
public final class TortureCommand implements Callable<Integer> {
    /** From here on every window must be reached; a shorter run must reach those that it always can. */
    private static final double MINUTES_FOR_EVERY_WINDOW = 8;

    private static final int GATE_STEPS = 10_000;
    private static final int GATE_KILLS = 200;

    @Spec
    private CommandSpec spec;

    @Option(names = "--minutes", defaultValue = "2", description = "how long there are faults; fractions are fine (default: ${DEFAULT-VALUE})")
    private double minutes;

    @Option(
            names = "--gate",
            description = "until there were 10,000 guarded steps and 200 kill -9, and every window was reached; --minutes is the most it may take")
    private boolean gate;

    @Option(names = "--store", defaultValue = "postgres", description = "postgres or sqlite, a temporary one (default: ${DEFAULT-VALUE})")
    private String store;

    @Option(names = "--engines", defaultValue = "4", description = "engine processes; one on SQLite (default: ${DEFAULT-VALUE})")
    private int engines;

    @Option(names = "--seed", description = "of programs, provider and nemesis; default: the clock")
    private @Nullable Long seed;

    @Option(names = "--rate", defaultValue = "5", description = "starts per second (default: ${DEFAULT-VALUE})")
    private double rate;

    @Option(names = "--control", description = "a system that must fail: async (a standby without the last commits) or seed (the seed's protocol)")
    private @Nullable String control;

    @Option(names = "--keep", description = "keep the directory even when all is well")
    private boolean keep;

    private final InstantSource clock = InstantSource.system();

    @Override
    public Integer call() throws IOException, SQLException, InterruptedException {
        PrintWriter out = spec.commandLine().getOut();
        TortureReport report = new TortureReport(out);
        long chosen = seed != null ? seed : clock.millis();
        Path directory = Files.createTempDirectory("waybill-torture-");
        report.say("torture: " + (control == null ? "store " + store : "control " + control) + ", seed " + chosen + ", directory " + directory);
        boolean clean =
                switch (control) {
                    case null -> torture(directory, chosen, report);
                    case "async" -> new AsyncControl(directory, chosen, engines, report, clock).go(rate);
                    case "seed" -> {
                        Ground ground = new PostgresGround(engines, true, SmallDisk.possible());
                        try (Cell cell = new Cell(SeedEngine.class, directory, ground, engines, chosen)) {
                            boolean caught = new SeedControl(cell, directory, chosen, report, clock).go(minutes, rate);
                            report.say(caught ? "control: the checker found the doubles, as it must" : "CONTROL SURVIVED: no double was found");
                            yield caught;
                        }
                    }
                    default -> throw new IllegalArgumentException("--control is async or seed, not " + control);
                };
        if (clean && !keep) {
            delete(directory);
        } else {
            report.say("kept: " + directory + " (ledger, client, faults, dumps, logs of every engine)");
        }
        return clean ? 0 : 1;
    }

    private boolean torture(Path directory, long chosen, TortureReport report) throws IOException, SQLException, InterruptedException {
        boolean postgres = store.equals("postgres");
        boolean smallDisk = SmallDisk.possible();
        if (!smallDisk) {
            report.say("skipped: disk full, because this user may not mount a tmpfs");
        }
        Set<Windows.Ability> able = EnumSet.noneOf(Windows.Ability.class);
        if (postgres) {
            able.add(Windows.Ability.POSTGRES);
        }
        if (smallDisk) {
            able.add(Windows.Ability.SMALL_DISK);
        }
        int nodes = postgres ? engines : 1;
        Ground ground = postgres ? new PostgresGround(nodes, true, smallDisk) : new SqliteGround(directory, smallDisk);
        TortureRun.Plan plan = gate
                ? new TortureRun.Plan(minutes, GATE_STEPS, GATE_KILLS, rate, true)
                : new TortureRun.Plan(minutes, 0, 0, rate, minutes >= MINUTES_FOR_EVERY_WINDOW);
        try (Cell cell = new Cell(LabEngine.class, directory, ground, nodes, chosen)) {
            return new TortureRun(cell, directory, chosen, able, report, clock).go(plan);
        }
    }

    private static void delete(Path directory) throws IOException {
        try (var files = Files.walk(directory)) {
            files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
        }
    }
}
