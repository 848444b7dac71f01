package dev.waybill.lab.mutants;

import dev.waybill.lab.mutants.Trials.Verdict;
import java.io.IOException;
import java.io.PrintWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.stream.Stream;
import picocli.CommandLine.Command;
import picocli.CommandLine.Help.Ansi;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** {@code ./waybill lab mutants}: does anybody notice when the engine loses one of its rules? */
@Command(
        name = "mutants",
        mixinStandardHelpOptions = true,
        description = "Runs the engine with one rule taken out at a time; each must be killed. Exit 1: one survived.")
public final class MutantsCommand implements Callable<Integer> {
    enum Layer {
        sim,
        tests,
        all
    }

    @Spec
    private CommandSpec spec;

    @Option(names = "--mutant", description = "only this one; may be repeated")
    private List<String> names = List.of();

    @Option(names = "--layer", defaultValue = "all", description = "${COMPLETION-CANDIDATES} (default: ${DEFAULT-VALUE})")
    private Layer layer;

    @Option(names = "--sim-seconds", defaultValue = "600", description = "how long the simulator has for each (default: ${DEFAULT-VALUE})")
    private long simSeconds;

    @Option(names = "--list", description = "say what the mutants are, and run none")
    private boolean list;

    @Override
    public Integer call() throws IOException {
        PrintWriter out = spec.commandLine().getOut();
        List<Mutant> chosen = Mutants.named(names);
        if (list) {
            chosen.forEach(mutant -> out.printf("%-26s %s%n%26s %s%n", mutant.name(), mutant.breaks(), "", mutant.places()));
            out.flush();
            return 0;
        }
        Path directory = Files.createTempDirectory("waybill-mutants-");
        try {
            return run(chosen, new Trials(new Forge(SourceTree.find(), directory)), out);
        } finally {
            try (Stream<Path> files = Files.walk(directory)) {
                files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
            }
        }
    }

    private int run(List<Mutant> chosen, Trials trials, PrintWriter out) {
        trials.forge(chosen);
        if (layer != Layer.sim) {
            trials.compileTests(chosen);
        }
        List<String> survivors = new ArrayList<>();
        for (Mutant mutant : chosen) {
            out.println(Ansi.AUTO.string("@|bold " + mutant.name() + "|@  " + mutant.breaks()));
            if (layer != Layer.sim) {
                report(out, mutant, "tests", trials.byTests(mutant), survivors);
            }
            if (layer != Layer.tests) {
                report(out, mutant, "sim  ", trials.bySimulator(mutant, Duration.ofSeconds(simSeconds)), survivors);
            }
        }
        out.println();
        out.println(survivors.isEmpty()
                ? "all of " + chosen.size() + " mutants were killed"
                : Ansi.AUTO.string("@|red SURVIVED: " + String.join(", ", survivors) + "|@"));
        out.flush();
        return survivors.isEmpty() ? 0 : 1;
    }

    private static void report(PrintWriter out, Mutant mutant, String layer, Verdict verdict, List<String> survivors) {
        String seconds = String.format(Locale.ROOT, "%6.1f s", verdict.seconds());
        String by = verdict.by().length() > 220 ? verdict.by().substring(0, 220) + " .." : verdict.by();
        if (verdict.killed()) {
            out.println("  " + layer + seconds + "  killed    " + by);
        } else {
            out.println(Ansi.AUTO.string("  " + layer + seconds + "  @|red SURVIVED|@  ") + by);
            survivors.add(mutant.name() + " (" + layer.strip() + ")");
        }
        out.flush();
    }
}
