package dev.waybill.lab.torture;

import dev.waybill.lab.crash.LabEngine;
import dev.waybill.test.FaultProxy.Direction;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.concurrent.atomic.AtomicLong;

/**
 * A control that must fail: commits are acknowledged before the standby has them, the replication link is cut, and then the site loses its
 * power: engines and primary die at one moment, the standby is promoted without the last commits. Nobody is left who remembers.
 */
final class AsyncControl {
    private static final long WARM_UP_MILLIS = 8_000;
    private static final long LOST_MILLIS = 3_000;
    private static final Duration CALM = Duration.ofSeconds(45);

    private final Path directory;
    private final long seed;
    private final int engines;
    private final TortureReport report;
    private final InstantSource clock;

    AsyncControl(Path directory, long seed, int engines, TortureReport report, InstantSource clock) {
        this.directory = directory;
        this.seed = seed;
        this.engines = engines;
        this.report = report;
        this.clock = clock;
    }

    /** @return whether both halves came out as documented */
    boolean go(double rate) throws IOException, SQLException, InterruptedException {
        boolean caught = half(java.nio.file.Files.createDirectory(directory.resolve("power-loss")), rate, true);
        report.say(caught ? "control: the checker found the loss, as it must" : "CONTROL SURVIVED: the loss was not found");
        boolean named = half(java.nio.file.Files.createDirectory(directory.resolve("engines-live")), rate, false);
        report.say(named
                ? "control: engines that lived through it said ledger_may_be_behind, and nothing was done twice"
                : "engines that lived through the loss did NOT all say ledger_may_be_behind, or something was done twice");
        return caught && named;
    }

    private boolean half(Path place, double rate, boolean everybodyDies) throws IOException, SQLException, InterruptedException {
        report.section(everybodyDies ? "asynchronous standby, power loss of the whole site" : "asynchronous standby, the engines live");
        Random random = new Random(seed);
        PostgresGround ground = new PostgresGround(engines, false, false);
        try (Cell cell = new Cell(LabEngine.class, place, ground, engines, seed);
                JsonLines calls = new JsonLines(place.resolve("client.jsonl"));
                JsonLines faults = new JsonLines(place.resolve("faults.jsonl"))) {
            TortureRun.open(cell, random);
            Deeds deeds = new Deeds(faults, clock);
            ProviderBook book = new ProviderBook(cell.ledger());
            Client client = new Client(cell, calls, clock, new Random(random.nextLong()), TortureRun.programs());
            Operator operator = new Operator(cell, book, calls, clock, new Random(random.nextLong()));
            long until = System.nanoTime() + Duration.ofMillis(WARM_UP_MILLIS + LOST_MILLIS).toNanos();
            Thread asking = Thread.ofPlatform().daemon().name("client").start(() -> client.run(rate, () -> System.nanoTime() < until));
            Thread deciding = Thread.ofPlatform().daemon().name("operator").start(operator);
            Deeds.pause(WARM_UP_MILLIS);
            Instant at = deeds.now();
            ground.pair().replication().stall(Direction.REQUEST, Direction.ANSWER);
            Deeds.pause(LOST_MILLIS);
            if (everybodyDies) {
                cell.nodes().forEach(Node::kill);
            }
            ground.pair().failOver();
            ground.followPrimary();
            if (everybodyDies) {
                cell.nodes().forEach(Node::start);
            }
            deeds.log(at, deeds.now(), "standby promoted", null, "behind");
            asking.join();
            cell.calmProvider();
            deeds.log(deeds.now(), deeds.now(), "calm", null, null);
            boolean rested = TortureRun.await(CALM, () -> client.idle() && TortureRun.atRest(cell) && (!everybodyDies || operator.queueEmpty()));
            client.giveUp();
            operator.stop();
            deciding.join();
            Path dump = place.resolve("dump-at-rest.jsonl");
            boolean dumped = report.dump(ground, dump);
            if (everybodyDies) {
                return dumped && !report.check(place, List.of(dump));
            }
            StoreBook books;
            try (var connection = ground.connect()) {
                books = StoreBook.read(connection);
            }
            Map<String, Long> waits = new Figures(books, book).namedWaits();
            report.table("waits", waits);
            AtomicLong behind = cell.counted().get("waybill_ledger_behind_total");
            report.line("receipts that engines missed and put back as unknown", behind == null ? 0 : behind.get());
            report.line("at rest", rested);
            boolean once = report.check(place, List.of(dump), "one-delivery", "once-per-effect", "once-per-content");
            return once && dumped && behind != null && behind.get() > 0 && waits.getOrDefault("ledger_may_be_behind", 0L) > 0;
        }
    }
}
