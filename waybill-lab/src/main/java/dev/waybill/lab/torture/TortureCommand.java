package dev.waybill.lab.torture;

import dev.waybill.check.Main;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.io.PrintWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.Comparator;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.Callable;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.random.RandomGenerator;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;
import tools.jackson.databind.JsonNode;

/** {@code ./waybill lab torture}: kills engines and the database under load for some minutes, then has everybody's books checked. */
@Command(
        name = "torture",
        mixinStandardHelpOptions = true,
        description = "Engines in processes, a real database and provider, faults by seed; then the books are checked. Exit 0: all zeros.")
public final class TortureCommand implements Callable<Integer> {
    /** After the last fault everything has come to rest within this long (reliability.md, L1). */
    private static final Duration CALM = Duration.ofSeconds(60);

    private static final int PROGRAMS = 15;

    /** From here on a window that was not reached fails the run; a shorter one only says so. */
    private static final double MINUTES_FOR_EVERY_WINDOW = 8;

    @Spec
    private CommandSpec spec;

    @Option(names = "--minutes", defaultValue = "2", description = "how long there are faults; fractions are fine (default: ${DEFAULT-VALUE})")
    private double minutes;

    @Option(names = "--store", defaultValue = "postgres", description = "postgres or sqlite, a temporary one (default: ${DEFAULT-VALUE})")
    private String store;

    @Option(names = "--engines", defaultValue = "3", description = "engine processes; one on SQLite (default: ${DEFAULT-VALUE})")
    private int engines;

    @Option(names = "--seed", description = "of programs, provider and nemesis; default: the clock")
    private @Nullable Long seed;

    @Option(names = "--rate", defaultValue = "4", description = "starts per second (default: ${DEFAULT-VALUE})")
    private double rate;

    @Option(names = "--keep", description = "keep the directory even when all is well")
    private boolean keep;

    private final InstantSource clock = InstantSource.system();

    @Override
    public Integer call() throws IOException, SQLException, InterruptedException {
        PrintWriter out = spec.commandLine().getOut();
        long chosen = seed != null ? seed : clock.millis();
        Path directory = Files.createTempDirectory("waybill-torture-");
        out.println("torture: store " + store + ", seed " + chosen + ", directory " + directory);
        out.flush();
        boolean clean;
        try (Cell cell = new Cell(directory, store.equals("postgres"), store.equals("postgres") ? engines : 1, chosen)) {
            clean = torture(cell, directory, chosen, out);
        }
        if (clean && !keep) {
            delete(directory);
        } else {
            out.println("kept: " + directory + " (ledger, client, faults, logs of every engine)");
        }
        out.flush();
        return clean ? 0 : 1;
    }

    private boolean torture(Cell cell, Path directory, long chosen, PrintWriter out)
            throws IOException, SQLException, InterruptedException {
        RandomGenerator random = new Random(chosen);
        // One after the other: the first makes the schema.
        cell.nodes().forEach(Node::start);
        for (JsonNode document : new Programs(random, cell.providerPort()).documents(PROGRAMS)) {
            JsonNode answer = cell.nodes().getFirst()
                    .ask("publish", it -> it.set("document", document), Duration.ofSeconds(20))
                    .orElseThrow(() -> new IllegalStateException("no answer to publish"));
            if (!answer.has("ok")) {
                throw new IllegalStateException("publish: " + answer);
            }
        }
        try (JsonLines calls = new JsonLines(directory.resolve("client.jsonl"));
                JsonLines deeds = new JsonLines(directory.resolve("faults.jsonl"))) {
            ProviderBook book = new ProviderBook(cell.ledger());
            Client client = new Client(cell, calls, clock, new Random(random.nextLong()), PROGRAMS);
            Operator operator = new Operator(cell, book, calls, clock, new Random(random.nextLong()));
            Nemesis nemesis = new Nemesis(cell, deeds, clock, new Random(random.nextLong()));
            long began = System.nanoTime();
            long deadline = began + (long) (minutes * 60e9);
            Thread asking = Thread.ofPlatform().daemon().name("client").start(() -> client.run(rate, deadline));
            Thread deciding = Thread.ofPlatform().daemon().name("operator").start(operator);
            nemesis.run(deadline);
            asking.join();
            cell.calmProvider();
            long calm = System.nanoTime();
            // What stood in the store now must stand there in the end.
            Path before = directory.resolve("dump-at-calm.jsonl");
            boolean dumped = checker(out, "dump", "--store", cell.storeUrl(), "--to", before.toString());
            boolean rested = await(CALM, () -> client.idle() && operator.queueEmpty() && atRest(cell));
            long resting = System.nanoTime() - calm;
            client.giveUp();
            operator.stop();
            deciding.join();
            StoreBook books;
            try (Connection connection = cell.connect()) {
                books = StoreBook.read(connection);
            }
            Figures figures = new Figures(books, book);
            out.printf(
                    "faults for %d s, at rest %s after %.1f s of calm%n", Duration.ofNanos(calm - began).toSeconds(), rested ? "" : "NOT",
                    resting / 1e9);
            Windows windows = new Windows(cell.server() != null, figures, nemesis.deeds(), cell.counted());
            print(out, cell, figures, books, client, operator, nemesis, windows);
            boolean everywhere = windows.missed().isEmpty();
            if (!everywhere) {
                out.println("never reached: " + String.join("; ", windows.missed()));
            }
            client.refused().forEach(refusal -> out.println("a start was refused: " + refusal));
            Path after = directory.resolve("dump-at-rest.jsonl");
            dumped &= checker(out, "dump", "--store", cell.storeUrl(), "--to", after.toString());
            section(out, "the checker");
            boolean holds = dumped
                    && checker(
                            out, "--ledger", cell.ledger().toString(), "--dump", before.toString(), "--dump", after.toString(), "--client",
                            directory.resolve("client.jsonl").toString(), "--faults", directory.resolve("faults.jsonl").toString(),
                            "--unique-content");
            boolean vacuous = !everywhere && minutes >= MINUTES_FOR_EVERY_WINDOW;
            return holds && !vacuous && rested && !client.refused().iterator().hasNext();
        }
    }

    private static boolean checker(PrintWriter out, String... arguments) {
        var said = new ByteArrayOutputStream();
        var stream = new PrintStream(said, true, StandardCharsets.UTF_8);
        int exit = Main.run(arguments, stream, stream);
        out.print(said.toString(StandardCharsets.UTF_8));
        out.flush();
        return exit == 0;
    }

    private static boolean atRest(Cell cell) {
        try (Connection connection = cell.connect()) {
            return StoreBook.runs(connection).values().stream().allMatch(run -> run.terminal() || run.state().equals("paused"));
        } catch (SQLException busy) {
            return false; // asked again until the calm is over
        }
    }

    private static boolean await(Duration atMost, BooleanSupplier condition) {
        long deadline = System.nanoTime() + atMost.toNanos();
        while (System.nanoTime() < deadline) {
            if (condition.getAsBoolean()) {
                return true;
            }
            LockSupport.parkNanos(Duration.ofMillis(500).toNanos());
        }
        return false;
    }

    // --- the report ------------------------------------------------------------------------------------------------------------

    private static void print(
            PrintWriter out, Cell cell, Figures figures, StoreBook books, Client client, Operator operator, Nemesis nemesis,
            Windows windows) {
        section(out, "figures");
        line(out, "runs", books.runs().size());
        line(out, "guarded steps (receipts)", figures.guardedSteps());
        line(out, "deliveries", figures.delivered());
        line(out, "applications", figures.applied());
        line(out, "engine processes", cell.nodes().stream().mapToInt(Node::starts).sum());
        line(out, "starts asked again", client.askedAgain());
        line(out, "unknown, never delivered", figures.neverDeliveredUnknowns());
        table(out, "nemesis", nemesis.deeds());
        table(out, "runs", figures.runsByState());
        table(out, "waits", figures.namedWaits());
        table(out, "unknown by reason", figures.unknownsByReason());
        table(out, "not applied by proof", figures.notAppliedByProof());
        table(out, "operator", operator.decisions());
        table(out, "moves", figures.movesByActor());
        table(out, "evidence", books.evidence());
        table(out, "engines counted", cell.counted());
        table(out, "windows", windows.reached());
    }

    private static void section(PrintWriter out, String title) {
        out.println();
        out.println(title);
    }

    private static void table(PrintWriter out, String title, Map<String, ?> figures) {
        section(out, title);
        figures.forEach((name, figure) -> line(out, name, figure));
    }

    private static void line(PrintWriter out, String name, Object figure) {
        out.printf("  %-58s %8s%n", name, figure);
    }

    private static void delete(Path directory) throws IOException {
        try (var files = Files.walk(directory)) {
            files.sorted(Comparator.reverseOrder()).forEach(file -> file.toFile().delete());
        }
    }
}
