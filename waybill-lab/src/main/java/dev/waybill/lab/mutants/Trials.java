package dev.waybill.lab.mutants;

import dev.waybill.test.Processes;
import java.io.File;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** Runs mutants, and the true engine, in processes of their own. */
final class Trials {
    /** A suite that takes longer than this hangs, and the true engine's does not. */
    private static final Duration SUITE = Duration.ofMinutes(3);

    private final Forge forge;
    private @Nullable List<Path> tests;
    private final Map<String, Path> forged = new HashMap<>();
    private final Map<String, Verdict> sound = new HashMap<>();

    Trials(Forge forge) {
        this.forge = forge;
    }

    /**
     * What a layer said.
     *
     * @param by which test or property, and how; of a survivor, what it survived
     */
    record Verdict(boolean killed, String by, double seconds) {}

    /**
     * Compiles all these mutants.
     *
     * @throws IllegalStateException naming every one that no longer fits the engine
     */
    void forge(List<Mutant> mutants) {
        List<String> unfit = new ArrayList<>();
        for (Mutant mutant : mutants) {
            try {
                forged.put(mutant.name(), forge.mutant(mutant));
            } catch (IllegalStateException e) {
                unfit.add(String.valueOf(e.getMessage()));
            }
        }
        if (!unfit.isEmpty()) {
            throw new IllegalStateException(String.join("\n", unfit));
        }
    }

    /** Compiles the tests of all these mutants at once. */
    void compileTests(List<Mutant> mutants) {
        tests = forge.tests(mutants.stream()
                .flatMap(mutant -> mutant.tests().stream())
                .map(test -> "dev.waybill." + (test.contains("#") ? test.substring(0, test.indexOf('#')) : test))
                .collect(Collectors.toCollection(TreeSet::new)));
    }

    /** The mutant against each of its test classes: it is killed when every one of them fails, and none of them fails without it. */
    Verdict byTests(Mutant mutant) {
        Patched patched = patched(mutant);
        double seconds = 0;
        List<String> killers = new ArrayList<>();
        for (String test : mutant.tests()) {
            Verdict base = sound.computeIfAbsent(test, it -> suite(null, it));
            if (base.killed()) {
                return new Verdict(false, "the true engine fails it too: " + base.by(), seconds);
            }
            Verdict verdict = suite(patched, test);
            seconds += verdict.seconds();
            if (!verdict.killed()) {
                return new Verdict(false, test + " " + verdict.by(), seconds);
            }
            killers.add(test.substring(test.lastIndexOf('.') + 1) + "." + verdict.by());
        }
        return new Verdict(true, String.join("; ", killers), seconds);
    }

    private Patched patched(Mutant mutant) {
        return new Patched(Objects.requireNonNull(forged.get(mutant.name()), "forge first"), mutant.classes());
    }

    /** The mutant against the simulator, for so long; a seed that the true engine does not survive either says nothing. */
    Verdict bySimulator(Mutant mutant, Duration atMost) {
        long began = System.nanoTime();
        long first = 1;
        while (true) {
            double spent = (System.nanoTime() - began) / 1e9;
            Verdict verdict = seeds(patched(mutant), first, Integer.MAX_VALUE, Math.max(1, (long) (atMost.toSeconds() - spent)));
            double seconds = (System.nanoTime() - began) / 1e9;
            if (!verdict.killed()) {
                return new Verdict(false, verdict.by(), seconds);
            }
            long seed = Long.parseLong(verdict.by().substring(0, verdict.by().indexOf(' ')));
            if (!seeds(null, seed, 1, atMost.toSeconds()).killed()) {
                return new Verdict(true, "seed " + verdict.by(), seconds);
            }
            first = seed + 1;
        }
    }

    private Verdict seeds(@Nullable Patched patched, long first, long count, long seconds) {
        List<String> arguments = Patched.arguments(patched);
        arguments.addAll(List.of(Long.toString(first), Long.toString(count), Long.toString(seconds)));
        long began = System.nanoTime();
        try (Processes.Child child = Processes.start(command(patched, SimTrial.class, arguments), Map.of())) {
            String start = "TRIAL sim ";
            String said = child.awaitLine(line -> line.startsWith(start), Duration.ofSeconds(seconds).plus(SUITE)).substring(start.length());
            double spent = (System.nanoTime() - began) / 1e9;
            return said.startsWith("killed ") ? new Verdict(true, said.substring("killed ".length()), spent) : new Verdict(false, said, spent);
        }
    }

    private Verdict suite(@Nullable Patched patched, String test) {
        List<String> arguments = Patched.arguments(patched);
        arguments.add(test);
        long began = System.nanoTime();
        try (Processes.Child child = Processes.start(command(patched, TestTrial.class, arguments), Map.of())) {
            String start = "TRIAL " + test + " ";
            String said = null;
            try {
                said = child.awaitLine(line -> line.startsWith(start), SUITE).substring(start.length());
            } catch (AssertionError noAnswer) {
                if (!child.isAlive()) {
                    throw new IllegalStateException("the trial of " + test + " died", noAnswer);
                }
            }
            double seconds = (System.nanoTime() - began) / 1e9;
            if (said == null) {
                return new Verdict(true, "it did not end within " + SUITE.toSeconds() + " s", seconds);
            }
            if (said.equals("green 0 tests")) {
                throw new IllegalStateException(test + " selects no test: every mutant would survive it");
            }
            return said.startsWith("killed ") ? new Verdict(true, said.substring("killed ".length()), seconds) : new Verdict(false, said, seconds);
        }
    }

    private List<String> command(@Nullable Patched patched, Class<?> main, List<String> arguments) {
        String classPath = Stream.of(patched == null ? List.<Path>of() : List.of(patched.directory()), tests == null ? List.<Path>of() : tests)
                .flatMap(List::stream)
                .map(Path::toString)
                .collect(Collectors.joining(File.pathSeparator, "", File.pathSeparator + Forge.classPath()));
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(), "--enable-native-access=ALL-UNNAMED",
                "-XX:+UseSerialGC", "-Xmx768m", "-XX:-UsePerfData", "--add-opens", "java.base/java.lang=ALL-UNNAMED", "-Djdk.trackAllThreads=false",
                "-Dlogback.configurationFile=lab-logback.xml", "-cp", classPath, main.getName()));
        command.addAll(arguments);
        return command;
    }
}
