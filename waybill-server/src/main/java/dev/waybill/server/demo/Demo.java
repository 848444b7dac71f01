package dev.waybill.server.demo;

import dev.waybill.json.Json;
import dev.waybill.server.demo.Order.Fate;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import tools.jackson.databind.node.ObjectNode;

/** The director: sets the scene, plays the three acts, counts the ledgers, compares. */
public final class Demo {
    /**
     * What the user may choose.
     *
     * @param seed      decides the amounts and which order is placed first
     * @param directory empty or not there yet, and kept; null = a temporary one that is kept only when something went wrong
     */
    public record Options(long seed, KillAt killAt, @Nullable Path directory, String version) {}

    /**
     * @param document everything that was told, and the table
     * @param ok       every ledger is as expected
     */
    public record Result(ObjectNode document, boolean ok) {}

    private final Options options;
    private final Stage stage;
    private final Show show;
    private final Path directory;

    private Demo(Options options, Stage stage, Path directory) {
        this.options = options;
        this.stage = stage;
        this.show = new Show(stage);
        this.directory = directory;
    }

    /** @throws IllegalArgumentException when the directory cannot be used or is not an empty one */
    public static Result run(Options options, Stage stage) {
        return new Demo(options, stage, directory(options.directory)).run();
    }

    private static Path directory(@Nullable Path chosen) {
        try {
            if (chosen == null) {
                return Files.createTempDirectory("waybill-demo-");
            }
            Files.createDirectories(chosen);
            try (Stream<Path> entries = Files.list(chosen)) {
                if (entries.findAny().isPresent()) {
                    throw new IllegalArgumentException(chosen + " is not empty; the demo touches nothing that is not its own");
                }
            }
            return chosen.toAbsolutePath();
        } catch (IOException e) {
            throw new IllegalArgumentException("cannot use " + (chosen == null ? "the temporary directory" : chosen) + ": " + e, e);
        }
    }

    private Result run() {
        AtomicBoolean over = new AtomicBoolean();
        Thread interrupted = new Thread(() -> {
            if (!over.get()) {
                stage.warn("interrupted; what there is so far: " + directory);
            }
        });
        Runtime.getRuntime().addShutdownHook(interrupted);
        ObjectNode document = Json.NODES.objectNode();
        document.put("demo", "waybill " + options.version)
                .put("store", "sqlite")
                .put("seed", options.seed)
                .put("kill_at", options.killAt.wire());
        boolean ok;
        try {
            ok = play(document);
        } catch (RuntimeException | AssertionError e) {
            ok = false;
            failed(document, e);
        } finally {
            over.set(true);
            forget(interrupted);
        }
        document.put("ok", ok).put("seconds", show.seconds());
        document.set("timeline", show.timeline());
        boolean keep = !ok || options.directory != null;
        document.put("directory", keep ? directory.toString() : null);
        if (!keep) {
            delete();
        }
        show.plain(show.dim("again: " + again() + (keep ? "     kept: " + directory + "/*.jsonl" : "     --dir DIR keeps the ledgers")));
        return new Result(document, ok);
    }

    private static void forget(Thread hook) {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException alreadyGoingDown) {
            // It has run.
        }
    }

    private String again() {
        return "./waybill demo --seed " + options.seed + (options.killAt == KillAt.BOOKED ? "" : " --kill-at " + options.killAt.wire());
    }

    private boolean play(ObjectNode document) {
        List<Order> orders = Order.five(options.seed);
        Scene scene = new Scene(directory, orders, options.killAt);
        write(scene.ordersFile(), Json.write(Order.json(orders)));
        show.plain("waybill " + options.version + " demo   store=sqlite   seed=" + options.seed + "   kill-at=" + options.killAt.wire());
        List<String> differences = new ArrayList<>();
        try (WaybillAct waybill = new WaybillAct(scene, stage, show);
                PlainAct noRetry = new PlainAct(Strategy.NO_RETRY, scene, show);
                PlainAct retry = new PlainAct(Strategy.RETRY, scene, show);
                PlainAct retryWithKey = new PlainAct(Strategy.RETRY_KEY, scene, show)) {
            waybill.placeOrders();
            waybill.killAndRestart();
            show.gap();
            show.note("the same five orders without Waybill, each against an Acme Pay and an Acme Bank of its own");
            noRetry.play();
            retry.play();
            retryWithKey.play();
            show.gap();
            waybill.operate();
            differences.addAll(waybill.differences());
            document.setAll(waybill.document());
        }
        return table(document, scene, differences);
    }

    private boolean table(ObjectNode document, Scene scene, List<String> differences) {
        Map<Strategy, Tally> tallies = new EnumMap<>(Strategy.class);
        ObjectNode table = document.putObject("table");
        ObjectNode expected = document.putObject("expected");
        for (Strategy strategy : Strategy.values()) {
            Tally tally = Tally.of(scene.ledger(strategy), scene.orders());
            Tally expectation = Expectation.of(strategy, options.killAt);
            differences.addAll(Expectation.differences(strategy, expectation, tally));
            tallies.put(strategy, tally);
            ObjectNode row = table.putObject(strategy.wire());
            row.set("orders", tally.json());
            row.put("outcome", tally.words());
            expected.set(strategy.wire(), expectation.json());
        }
        show.gap();
        draw(tallies);
        differences.forEach(document.putArray("differences")::add);
        differences.forEach(difference -> show.plain(show.bad("NOT AS EXPECTED  ") + difference));
        if (differences.isEmpty()) {
            show.plain(show.dim("Acme Pay honours idempotency keys; Acme Bank, which takes the money of order-D, knows none and shows no record"));
            show.plain("every row was run for real and counted from its provider's ledger; all as expected");
        }
        return differences.isEmpty();
    }

    private void draw(Map<Strategy, Tally> tallies) {
        StringBuilder head = new StringBuilder(String.format("%-13s", "strategy"));
        for (Fate fate : Fate.values()) {
            head.append(String.format("%-12s", fate.title()));
        }
        show.plain(show.dim(" ".repeat(13) + String.format("%-60s", "charges in the provider's ledger (sends)") + "what became of the orders"));
        show.plain(show.dim(head.toString().stripTrailing()));
        tallies.forEach((strategy, tally) -> {
            StringBuilder row = new StringBuilder(String.format("%-13s", strategy.title()));
            for (Fate fate : Fate.values()) {
                Tally.Count count = tally.get(fate);
                String cell = String.format("%-12s", count);
                row.append(count.charges() > 1 ? show.bad(cell) : cell);
            }
            String words = tally.words();
            row.append(tally.sound() ? show.good(words + (strategy == Strategy.WAYBILL ? ", none guessed" : "")) : show.warn(words));
            show.plain(row.toString());
        });
    }

    private void failed(ObjectNode document, Throwable e) {
        String message = e.getMessage() == null ? e.getClass().getSimpleName() : e.getMessage();
        String first = message.lines().findFirst().orElse(message);
        document.put("error", first);
        stage.warn("the demo broke off: " + first + "\nkept: " + directory + " (failure.txt, engine-*.log)");
        StringWriter trace = new StringWriter();
        e.printStackTrace(new PrintWriter(trace));
        write(directory.resolve("failure.txt"), trace.toString());
    }

    private static void write(Path file, String text) {
        try {
            Files.writeString(file, text);
        } catch (IOException e) {
            throw new UncheckedIOException("cannot write " + file, e);
        }
    }

    private void delete() {
        try (Stream<Path> entries = Files.walk(directory)) {
            for (Path entry : entries.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(entry);
            }
        } catch (IOException e) {
            stage.warn("cannot delete " + directory + ": " + e.getMessage());
        }
    }
}
