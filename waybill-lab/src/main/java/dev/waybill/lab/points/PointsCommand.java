package dev.waybill.lab.points;

import dev.waybill.lab.points.Machine.Fault;
import dev.waybill.lab.points.Trial.Outcome;
import java.io.IOException;
import java.io.PrintWriter;
import java.sql.SQLException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.LoggerFactory;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code ./waybill lab points}: every crash point of the canonical scenarios on a real database. */
@Command(
        name = "points",
        mixinStandardHelpOptions = true,
        description = "A crash (and an error) at every boundary of the canonical scenarios, then the same run on a fresh engine. Exit 0: all hold.")
public final class PointsCommand implements Callable<Integer> {
    /** Failures of one scenario that are told in full. */
    private static final int MOST_SHOWN = 5;

    @Spec
    private CommandSpec spec;

    @Option(names = "--store", defaultValue = "sqlite", description = "sqlite or postgres, a temporary one (default: ${DEFAULT-VALUE})")
    private String store;

    @Option(names = "--scenario", description = "one of them, repeatable; default: all")
    private List<String> names = List.of();

    @Option(names = "--subsets", description = "instead on the model store, in simulated time: a crash at every subset of the boundaries")
    private boolean subsets;

    @Option(names = "--most-points", defaultValue = "14", description = "of the subsets: boundaries at which it may die (default: ${DEFAULT-VALUE})")
    private int mostPoints;

    @Option(names = "--pairs", description = "also a second crash at every point of every recovery")
    private boolean pairs;

    @Option(names = "--distinct", description = "of the pairs leave out those that only repeat another: inside one transaction every point is the same")
    private boolean distinct;

    @Option(names = "--no-errors", description = "crashes only")
    private boolean noErrors;

    @Option(names = "--first", defaultValue = "0", description = "skip so many pairs of that order: to go on where another run ended")
    private int first;

    @Option(names = "--count", description = "and run so many; default: all")
    private @Nullable Integer count;

    @Option(names = "--pair-minutes", description = "begin no further pair after this; they are taken in random order; default: all")
    private @Nullable Double pairMinutes;

    @Option(names = "--seed", defaultValue = "1", description = "of the order of the pairs (default: ${DEFAULT-VALUE})")
    private long seed;

    @Option(names = "--workers", defaultValue = "6", description = "trials at once (default: ${DEFAULT-VALUE})")
    private int workers;

    @Option(names = "--fault", description = "replay: only this trial; a second one is where the recovery is struck")
    private List<String> faults = List.of();

    @Option(names = "--table", description = "also what became of each point")
    private boolean table;

    @Option(names = "--log", description = "let the engines log")
    private boolean log;

    @Override
    public Integer call() throws IOException, SQLException {
        if (!log) {
            quiet();
        }
        PrintWriter out = spec.commandLine().getOut();
        List<Scenario> scenarios = names.isEmpty() ? Scenario.ALL : names.stream().map(Scenario::named).toList();
        if (subsets) {
            return subsets(out, scenarios);
        }
        boolean postgres = store.equals("postgres");
        long began = System.nanoTime();
        List<Outcome> outcomes = new ArrayList<>();
        List<String> books;
        try (var enumeration =
                new Enumeration(postgres, faults.isEmpty() ? workers : 1, scenarios, Mutant.NONE, InstantSource.system())) {
            if (!faults.isEmpty()) {
                List<Fault> asked = faults.stream().map(Fault::parse).toList();
                outcomes.addAll(enumeration.all(scenarios.stream().map(one -> new Enumeration.Task(one, asked)).toList(), null));
            } else {
                List<Outcome> clean = enumeration.clean(scenarios);
                outcomes.addAll(clean);
                List<Outcome> singles = timed(out, "crashes", () -> enumeration.singles(clean));
                outcomes.addAll(singles);
                if (!noErrors) {
                    outcomes.addAll(timed(out, "errors", () -> enumeration.errors(clean, postgres)));
                }
                if (pairs) {
                    List<Enumeration.Task> all = Enumeration.pairs(clean, singles, distinct, seed);
                    int planned = all.size();
                    int from = Math.min(first, planned);
                    List<Enumeration.Task> tasks = all.subList(from, count == null ? planned : (int) Math.min(planned, (long) from + count));
                    Duration limit = pairMinutes == null ? null : Duration.ofMillis((long) (pairMinutes * 60_000));
                    outcomes.addAll(timed(out, "pairs of " + planned + " from " + from, () -> enumeration.all(tasks, limit)));
                }
            }
            books = enumeration.books();
        }
        report(out, outcomes, books, Duration.ofNanos(System.nanoTime() - began));
        return books.isEmpty() && outcomes.stream().allMatch(Outcome::holds) ? 0 : 1;
    }

    private int subsets(PrintWriter out, List<Scenario> scenarios) {
        long failed = 0;
        for (Scenario scenario : scenarios) {
            long began = System.nanoTime();
            Subsets all = new Subsets(scenario, mostPoints);
            if (faults.isEmpty()) {
                all.run(null);
            } else {
                all.replay(new HashSet<>(faults));
            }
            out.printf(
                    "%n%s: %d points, 2^%d subsets = %d histories, %d do not hold, %.1f s%n  crashes in one history: %s%n", scenario.name(),
                    all.points().size(), all.points().size(), all.histories(), all.failures().size(), (System.nanoTime() - began) / 1e9,
                    all.bySize());
            all.points().forEach(point -> out.println("  " + point));
            if (table) {
                all.stories().forEach((story, count) -> out.printf("  %6d  %s%n", count, story));
            }
            all.failures().stream().limit(MOST_SHOWN).forEach(failure -> {
                out.printf("%nDOES NOT HOLD %s: %s%n", scenario.name(), failure.outcome().story());
                failure.outcome().wrong().forEach(wrong -> out.println("  " + wrong.replace("\n", "\n  ")));
                out.println("  again: ./waybill lab points --subsets --scenario " + scenario.name()
                        + failure.deadly().stream().map(point -> " --fault '" + point + "'").collect(Collectors.joining()));
            });
            out.flush();
            failed += all.failures().size();
        }
        return failed == 0 ? 0 : 1;
    }

    /** Engines log what a broken world does to them, and a thread of a dead process ends with {@link Machine.Killed}: nobody's business. */
    static void quiet() {
        if (LoggerFactory.getLogger("dev.waybill") instanceof ch.qos.logback.classic.Logger logger) {
            logger.setLevel(ch.qos.logback.classic.Level.OFF);
        }
        Thread.UncaughtExceptionHandler before = Thread.getDefaultUncaughtExceptionHandler();
        Thread.setDefaultUncaughtExceptionHandler((thread, thrown) -> {
            if (thrown instanceof Machine.Killed) {
                return;
            }
            if (before != null) {
                before.uncaughtException(thread, thrown);
            } else {
                thrown.printStackTrace();
            }
        });
    }

    private interface Step {
        List<Outcome> run();
    }

    private static List<Outcome> timed(PrintWriter out, String what, Step step) {
        long began = System.nanoTime();
        List<Outcome> outcomes = step.run();
        out.printf(
                "%-24s %6d trials, %d do not hold, %.1f s%n", what, outcomes.size(), outcomes.stream().filter(one -> !one.holds()).count(),
                (System.nanoTime() - began) / 1e9);
        out.flush();
        return outcomes;
    }

    private void report(PrintWriter out, List<Outcome> outcomes, List<String> books, Duration took) {
        Map<String, List<Outcome>> byScenario = outcomes.stream()
                .collect(Collectors.groupingBy(one -> one.scenario().name(), TreeMap::new, Collectors.toList()));
        byScenario.forEach((name, some) -> {
            long points = some.stream().filter(one -> one.faults().isEmpty()).mapToLong(one -> new LinkedHashSet<>(one.points().getFirst()).size()).sum();
            long unreached = some.stream().filter(one -> one.fired().contains(false)).count();
            out.printf("%n%s: %d points, %d trials, %d of them missed their point%n", name, points, some.size(), unreached);
            Map<String, Integer> stories = new TreeMap<>();
            some.forEach(one -> stories.merge(one.story(), 1, Integer::sum));
            stories.forEach((story, count) -> out.printf("  %6d  %s%n", count, story));
            if (table) {
                some.forEach(one -> out.printf("    %-60s %s%s%n", faults(one), one.fired().contains(false) ? "(missed) " : "", one.story()));
            }
        });
        out.printf("%nwindows (reliability.md section 5.2), crashes in each%n");
        Windows.hits(outcomes).forEach((window, count) -> out.printf("  %-40s %6d%n", window, count));
        outcomes.stream().filter(one -> !one.holds()).forEach(one -> {
            out.printf("%nDOES NOT HOLD %s: %s%n  run %s%n", one.scenario().name(), one.story(), one.run());
            one.wrong().forEach(wrong -> out.println("  " + wrong.replace("\n", "\n  ")));
            out.println("  again: " + replay(one));
        });
        books.forEach(wrong -> out.println("\n" + wrong));
        out.printf("%n%d trials in %d s, %d do not hold%n", outcomes.size(), took.toSeconds(), outcomes.stream().filter(one -> !one.holds()).count());
        out.flush();
    }

    private static String faults(Outcome outcome) {
        return outcome.faults().isEmpty() ? "-" : outcome.faults().stream().map(Fault::toString).collect(Collectors.joining(" then "));
    }

    private String replay(Outcome outcome) {
        return "./waybill lab points --store " + store + " --scenario " + outcome.scenario().name()
                + outcome.faults().stream().map(fault -> " --fault '" + fault + "'").collect(Collectors.joining());
    }
}
