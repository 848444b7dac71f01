package dev.waybill.lab.torture;

import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import tools.jackson.databind.JsonNode;

/** One run: load and faults, then calm, then the books. */
final class TortureRun {
    /** After the last fault everything has come to rest within this long (reliability.md, L1). */
    private static final Duration CALM = Duration.ofSeconds(60);

    private static final Duration PATIENCE = Duration.ofSeconds(20);
    private static final long LOOK_NANOS = Duration.ofMillis(500).toNanos();
    private static final int PROGRAMS = 24;

    /**
     * How long and how hard.
     *
     * @param minutes    at most so long there are faults
     * @param steps      and only until there were so many guarded steps
     * @param kills      and so many kill -9
     * @param rate       starts per second
     * @param everywhere every window of the vacuity table must be reached, not only those of a short run
     */
    record Plan(double minutes, long steps, int kills, double rate, boolean everywhere) {}

    private final Cell cell;
    private final Path directory;
    private final Random random;
    private final Set<Windows.Ability> able;
    private final TortureReport report;
    private final InstantSource clock;

    TortureRun(Cell cell, Path directory, long seed, Set<Windows.Ability> able, TortureReport report, InstantSource clock) {
        this.cell = cell;
        this.directory = directory;
        this.random = new Random(seed);
        this.able = able;
        this.report = report;
        this.clock = clock;
    }

    /** @return whether all is well and nothing was missed */
    boolean go(Plan plan) throws IOException, SQLException, InterruptedException {
        open(cell, random);
        try (JsonLines calls = new JsonLines(directory.resolve("client.jsonl"));
                JsonLines faults = new JsonLines(directory.resolve("faults.jsonl"))) {
            ProviderBook book = new ProviderBook(cell.ledger());
            Deeds deeds = new Deeds(faults, clock);
            Client client = new Client(cell, calls, clock, new Random(random.nextLong()), PROGRAMS);
            Operator operator = new Operator(cell, book, calls, clock, new Random(random.nextLong()));
            Nemesis nemesis = new Nemesis(cell, deeds, new Random(random.nextLong()));
            long began = System.nanoTime();
            BooleanSupplier goOn = until(plan, began, book, deeds);
            Thread asking = Thread.ofPlatform().daemon().name("client").start(() -> client.run(plan.rate, goOn));
            Thread deciding = Thread.ofPlatform().daemon().name("operator").start(operator);
            nemesis.run(goOn);
            asking.join();
            cell.calmProvider();
            long calm = System.nanoTime();
            // What stood in the store now must stand there in the end.
            Path before = directory.resolve("dump-at-calm.jsonl");
            boolean dumped = report.dump(cell.ground(), before);
            boolean rested = await(CALM, () -> client.idle() && operator.queueEmpty() && atRest(cell));
            long resting = System.nanoTime() - calm;
            client.giveUp();
            operator.stop();
            deciding.join();
            StoreBook books;
            try (Connection connection = cell.ground().connect()) {
                books = StoreBook.read(connection);
            }
            Figures figures = new Figures(books, book);
            report.say(String.format(
                    "faults for %d s, at rest %s after %.1f s of calm", Duration.ofNanos(calm - began).toSeconds(), rested ? "" : "NOT",
                    resting / 1e9));
            figures.restless().stream().limit(10).forEach(run -> report.say("  never came to rest: run " + run));
            Windows windows = new Windows(able, figures, deeds.counts(), cell.counted(), client.told());
            print(figures, books, client, operator, deeds, windows);
            List<String> missed = windows.missed(plan.everywhere);
            if (!missed.isEmpty()) {
                report.say("never reached: " + String.join("; ", missed));
            }
            boolean reached = figures.guardedSteps() >= plan.steps && deeds.kills() >= plan.kills;
            if (!reached) {
                report.say("too little: " + figures.guardedSteps() + " of " + plan.steps + " guarded steps, " + deeds.kills() + " of "
                        + plan.kills + " kills");
            }
            client.refused().forEach(refusal -> report.say("a start was refused: " + refusal));
            Path after = directory.resolve("dump-at-rest.jsonl");
            dumped &= report.dump(cell.ground(), after);
            boolean holds = dumped && report.check(directory, List.of(before, after));
            return holds && missed.isEmpty() && reached && rested && !client.refused().iterator().hasNext();
        }
    }

    /** Engines, schema, the trigger that keeps every claim, and the programs. */
    static void open(Cell cell, Random random) throws SQLException {
        // One after the other: the first makes the schema.
        cell.nodes().forEach(Node::start);
        cell.ground().recordClaims();
        List<Integer> ports = cell.roads().stream().map(road -> road.wire().port()).toList();
        for (JsonNode document : new Programs(random, ports).documents(PROGRAMS)) {
            JsonNode answer = cell.nodes().getFirst()
                    .ask("publish", it -> it.set("document", document), PATIENCE)
                    .orElseThrow(() -> new IllegalStateException("no answer to publish"));
            if (!answer.has("ok")) {
                throw new IllegalStateException("publish: " + answer);
            }
        }
    }

    static int programs() {
        return PROGRAMS;
    }

    private static BooleanSupplier until(Plan plan, long began, ProviderBook book, Deeds deeds) {
        long deadline = began + (long) (plan.minutes * 60e9);
        boolean counting = plan.steps > 0 || plan.kills > 0;
        // A delivery is a receipt that was sent; there are somewhat more receipts than that.
        return () -> System.nanoTime() < deadline && !(counting && deeds.kills() >= plan.kills && book.delivered() >= plan.steps);
    }

    static boolean atRest(Cell cell) {
        try (Connection connection = cell.ground().connect();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(
                        "SELECT count(*) FROM task_instances WHERE state NOT IN ('completed', 'failed', 'cancelled', 'paused')")) {
            row.next();
            return row.getLong(1) == 0;
        } catch (SQLException busy) {
            return false; // asked again until the calm is over
        }
    }

    static boolean await(Duration atMost, BooleanSupplier condition) {
        long deadline = System.nanoTime() + atMost.toNanos();
        while (System.nanoTime() < deadline) {
            if (condition.getAsBoolean()) {
                return true;
            }
            LockSupport.parkNanos(LOOK_NANOS);
        }
        return false;
    }

    private void print(Figures figures, StoreBook books, Client client, Operator operator, Deeds deeds, Windows windows) {
        report.section("figures");
        report.line("runs", books.runs().size());
        report.line("guarded steps (receipts)", figures.guardedSteps());
        report.line("deliveries", figures.delivered());
        report.line("applications", figures.applied());
        report.line("engine processes", cell.nodes().stream().mapToInt(Node::starts).sum());
        report.line("kill -9 of engines", deeds.kills());
        report.line("starts asked again", client.askedAgain());
        report.line("unknown, never delivered", figures.neverDeliveredUnknowns());
        report.table("nemesis", deeds.counts());
        report.table("runs", figures.runsByState());
        report.table("waits", figures.namedWaits());
        report.table("seen by the provider on arrival", figures.seenStates());
        report.table("unknown by reason", figures.unknownsByReason());
        report.table("not applied by proof", figures.notAppliedByProof());
        report.table("client's signals", client.told());
        report.table("operator", operator.decisions());
        report.table("moves", figures.movesByActor());
        report.table("evidence", books.evidence());
        report.table("engines counted", cell.counted());
        report.table("windows", windows.reached());
    }
}
