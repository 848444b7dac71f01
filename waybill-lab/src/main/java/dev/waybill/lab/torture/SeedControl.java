package dev.waybill.lab.torture;

import dev.waybill.json.Json;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.InstantSource;
import java.time.OffsetDateTime;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.function.BooleanSupplier;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** A control that must fail: the seed's own protocol ({@link SeedEngine}) under the same provider and the same nemesis. */
final class SeedControl {
    private static final Duration CALM = Duration.ofSeconds(45);
    private static final String NOBODY = "00000000-0000-0000-0000-000000000000";

    /** What can be asked of an engine that has no claims, events or journal; the rest would fail for that alone. */
    private static final String[] JUDGED = {"one-delivery", "once-per-effect", "once-per-content", "attempts", "no-false-certainty", "one-run-per-key"};

    private final Cell cell;
    private final Path directory;
    private final Random random;
    private final TortureReport report;
    private final InstantSource clock;

    SeedControl(Cell cell, Path directory, long seed, TortureReport report, InstantSource clock) {
        this.cell = cell;
        this.directory = directory;
        this.random = new Random(seed);
        this.report = report;
        this.clock = clock;
    }

    /** @return whether the checker found that effects were applied twice */
    boolean go(double minutes, double rate) throws IOException, SQLException, InterruptedException {
        cell.nodes().forEach(Node::start);
        List<Integer> ports = cell.roads().stream().map(road -> road.wire().port()).toList();
        for (JsonNode document : new Programs(random, ports).documents(TortureRun.programs())) {
            cell.nodes().getFirst().ask("publish", it -> it.set("document", document), Duration.ofSeconds(20)).orElseThrow();
        }
        try (JsonLines calls = new JsonLines(directory.resolve("client.jsonl"));
                JsonLines faults = new JsonLines(directory.resolve("faults.jsonl"))) {
            Deeds deeds = new Deeds(faults, clock);
            Client client = new Client(cell, calls, clock, new Random(random.nextLong()), TortureRun.programs());
            Nemesis nemesis = new Nemesis(cell, deeds, new Random(random.nextLong()));
            long deadline = System.nanoTime() + (long) (minutes * 60e9);
            BooleanSupplier goOn = () -> System.nanoTime() < deadline;
            Thread asking = Thread.ofPlatform().daemon().name("client").start(() -> client.run(rate, goOn));
            nemesis.run(goOn);
            asking.join();
            cell.calmProvider();
            TortureRun.await(CALM, this::ended);
            client.giveUp();
            Path dump = directory.resolve("dump-at-rest.jsonl");
            write(dump);
            report.line("kill -9 of engines", deeds.kills());
            boolean holds = report.check(directory, List.of(dump), JUDGED);
            return count() > 0 && !holds;
        }
    }

    private boolean ended() {
        try (Connection connection = cell.ground().connect();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT count(*) FROM seed_runs WHERE state NOT IN ('completed', 'failed')")) {
            row.next();
            return row.getLong(1) == 0;
        } catch (SQLException busy) {
            return false;
        }
    }

    /** @return how often something was done again that had been done */
    private int count() {
        Map<String, Integer> applied = new HashMap<>();
        Set<String> asked = new HashSet<>();
        ProviderBook book = new ProviderBook(cell.ledger());
        book.deliveries().values().forEach(lines -> lines.forEach(line -> asked.add(line.path("content").asString(""))));
        book.applications().values().forEach(lines -> lines.forEach(line -> applied.merge(line.path("content").asString(""), 1, Integer::sum)));
        int doubles = applied.values().stream().mapToInt(times -> times - 1).sum();
        report.section("the seed's protocol");
        report.line("guarded steps that reached the provider", asked.size());
        report.line("applications beyond the first", doubles);
        report.line("doubles per 10,000 steps (Waybill under the same nemesis: 0)", asked.isEmpty() ? 0 : doubles * 10_000L / asked.size());
        return doubles;
    }

    /** Its receipts in the form that the checker reads; what it does not have (claims, frames, events) is left out. */
    private void write(Path file) throws IOException, SQLException {
        try (JsonLines lines = new JsonLines(file);
                Connection connection = cell.ground().connect();
                Statement statement = connection.createStatement()) {
            lines.add(Json.NODES.objectNode().put("table", "dump").put("at", clock.instant().toString()).put("store", "seed"));
            try (ResultSet row = statement.executeQuery(
                    "SELECT id, run, step, attempt, state, at, moved_at FROM seed_receipts WHERE state NOT IN ('planned', 'prepared')")) {
                while (row.next()) {
                    String at = row.getObject(6, OffsetDateTime.class).toInstant().toString();
                    ObjectNode receipt = place(row).put("table", "receipts").put("id", row.getString(1)).put("execution_id", row.getString(2));
                    receipt.put("state", "dispatched").put("kind", "http").put("handler", "http_request").put("destination", row.getString(3));
                    receipt.put("destination_fingerprint", "").put("request_sha256", "").put("request", "{\"method\":\"POST\"}");
                    receipt.put("claim_epoch", 1).put("claim_nonce", NOBODY).put("node_id", NOBODY).put("transition_id", NOBODY);
                    lines.add(receipt.put("at", at).put("quiet_at", at));
                    if (!row.getString(5).equals("dispatched")) {
                        ObjectNode move = place(row).put("table", "journal").put("n", 1).put("from_state", "dispatched").put("to_state", row.getString(5));
                        move.put("actor", "engine").put("claim_epoch", 1).put("claim_nonce", NOBODY).put("transition_id", NOBODY);
                        move.put("at", row.getObject(7, OffsetDateTime.class).toInstant().toString()).put("output_state", "none");
                        lines.add(move.put("reply_truncated", false));
                    }
                }
            }
        }
    }

    private static ObjectNode place(ResultSet row) throws SQLException {
        return Json.NODES.objectNode().put("tenant_id", "default").put("instance_id", row.getString(2)).put("path", row.getString(3)).put("attempt", row.getInt(4));
    }
}
