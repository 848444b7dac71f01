package dev.waybill.lab.torture;

import dev.waybill.check.Main;
import java.io.ByteArrayOutputStream;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;

/** What a run prints, and the checker it asks. */
final class TortureReport {
    private final PrintWriter out;

    TortureReport(PrintWriter out) {
        this.out = out;
    }

    void say(String line) {
        out.println(line);
        out.flush();
    }

    void section(String title) {
        out.println();
        out.println(title);
    }

    void table(String title, Map<String, ?> figures) {
        section(title);
        figures.forEach(this::line);
    }

    void line(String name, Object figure) {
        out.printf("  %-58s %8s%n", name, figure);
    }

    boolean dump(Ground ground, Path to) {
        return run("dump", "--store", ground.directUrl(), "--to", to.toString()) == 0;
    }

    /** @param only these properties; none = all. @return whether they hold */
    boolean check(Path directory, List<Path> dumps, String... only) {
        List<String> arguments = new ArrayList<>(List.of(
                "--ledger", directory.resolve("ledger.jsonl").toString(), "--client", directory.resolve("client.jsonl").toString(), "--faults",
                directory.resolve("faults.jsonl").toString(), "--unique-content"));
        dumps.forEach(dump -> arguments.addAll(List.of("--dump", dump.toString())));
        for (String property : only) {
            arguments.addAll(List.of("--only", property));
        }
        section("the checker");
        return run(arguments.toArray(String[]::new)) == 0;
    }

    private int run(String... arguments) {
        var said = new ByteArrayOutputStream();
        var stream = new PrintStream(said, true, StandardCharsets.UTF_8);
        int exit = Main.run(arguments, stream, stream);
        out.print(said.toString(StandardCharsets.UTF_8));
        out.flush();
        return exit;
    }
}
