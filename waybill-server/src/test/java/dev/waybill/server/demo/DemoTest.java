package dev.waybill.server.demo;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.json.Json;
import dev.waybill.server.Main;
import dev.waybill.server.cli.Cli;
import dev.waybill.server.cli.Terminal;
import dev.waybill.test.Processes;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.JsonNode;

/** The demo as a user runs it: real processes, a real kill -9, and the table from the ledgers. */
class DemoTest {
    private final ByteArrayOutputStream out = new ByteArrayOutputStream();
    private final ByteArrayOutputStream err = new ByteArrayOutputStream();

    @TempDir
    private Path temporary;

    private int demo(String... arguments) {
        List<String> all = new ArrayList<>(List.of("demo"));
        all.addAll(List.of(arguments));
        Terminal terminal = Terminal.of(
                new PrintStream(out, true, StandardCharsets.UTF_8), new PrintStream(err, true, StandardCharsets.UTF_8), false, Map.of());
        return Cli.run(all.toArray(String[]::new), Map.of(), terminal, InstantSource.system(), UUID::randomUUID);
    }

    private static String row(JsonNode document, String strategy) {
        List<String> cells = new ArrayList<>();
        document.path("table").path(strategy).path("orders").properties().forEach(order -> cells.add(order.getKey() + " "
                + order.getValue().get("charges") + " (" + order.getValue().get("sends") + ") "
                + (order.getValue().get("shipments").asInt() == 1 ? "shipped" : "-")));
        return String.join(", ", cells);
    }

    /** The rows are "charges (sends) shipped" of D; what the other four come to does not depend on the point. */
    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "prepared   | 1 (1) shipped | 1 (1) shipped | ''",
        "dispatched | 0 (0) -       | 1 (1) shipped | ''",
        "booked     | 1 (1) -       | 2 (2) shipped | order-D",
        "committed  | 1 (1) -       | 2 (2) shipped | ''",
        "output     | 1 (1) -       | 1 (1) shipped | ''",
    })
    void whereverTheEngineIsKilledTheLedgersSayWhatIsExpected(String killAt, String noRetry, String retry, String byAPerson) {
        int exit = demo("--kill-at", killAt, "-o", "json");

        String printed = out.toString(StandardCharsets.UTF_8);
        assertThat(exit).as("%s%n%s", printed, err).isZero();
        JsonNode document = Json.parse(printed);
        assertThat(document.path("ok").asBoolean()).isTrue();
        assertThat(document.path("differences")).isEmpty();
        assertThat(document.path("directory").isNull()).isTrue();
        assertThat(row(document, "no_retry"))
                .isEqualTo("A 1 (1) shipped, B 1 (1) -, C 0 (1) -, D " + noRetry + ", E 0 (1) -");
        assertThat(row(document, "retry"))
                .isEqualTo("A 1 (1) shipped, B 2 (2) shipped, C 1 (2) shipped, D " + retry + ", E 0 (1) -");
        assertThat(row(document, "retry_key"))
                .isEqualTo("A 1 (1) shipped, B 1 (2) shipped, C 1 (2) shipped, D " + retry + ", E 0 (1) -");
        assertThat(row(document, "waybill"))
                .isEqualTo("A 1 (1) shipped, B 1 (1) shipped, C 1 (2) shipped, D 1 (1) shipped, E 0 (1) -");
        List<String> resolved = new ArrayList<>();
        document.path("resolutions").forEach(one -> resolved.add(one.path("order").asString()));
        assertThat(String.join(" ", resolved)).isEqualTo(byAPerson);
        assertThat(err.toString(StandardCharsets.UTF_8)).isEmpty();
    }

    @Test
    void asTextItTellsTheStoryAndKeepsTheLedgersWhereItWasTold() throws IOException {
        Path kept = temporary.resolve("kept");

        int exit = demo("--no-input", "--seed", "7", "--dir", kept.toString());

        String story = out.toString(StandardCharsets.UTF_8);
        assertThat(exit).as("%s%n%s", story, err).isZero();
        assertThat(story)
                .contains("UNKNOWN. Nothing is sent again.")
                .contains("order-B  charge  its verifier asked Acme Pay by key and found it: verified ch_")
                .contains("order-D  on the bank's statement   charge committed tr_01   label committed")
                .contains("order-C  its verifier asked Acme Pay until nothing could arrive any more: not there, sent once more   charge committed")
                .contains("$ ./waybill effects list --state unknown")
                .contains("order-E  charge  not_applied: 402 card_declined")
                .contains("retry        1 (1)       2 (2)       1 (2)       2 (2)       0 (1)       B, D charged twice")
                .contains("retry + key  1 (1)       1 (2)       1 (2)       2 (2)       0 (1)       D charged twice")
                .contains("Waybill      1 (1)       1 (1)       1 (2)       1 (1)       0 (1)       four shipped, one refused, none guessed")
                .contains("again: ./waybill demo --seed 7")
                .doesNotContain("\u001b");
        assertThat(kept).isDirectoryContaining("glob:**waybill.jsonl").isDirectoryContaining("glob:**retry.jsonl");
        assertThat(Tally.of(kept.resolve("waybill.jsonl"), Order.five(7))).isEqualTo(Expectation.of(Strategy.WAYBILL, KillAt.BOOKED));
    }

    @Test
    void aDirectorThatIsKilledTakesItsProcessesAlong() {
        try (Processes.Child director = Processes.java(Main.class, "demo", "--dir", temporary.toString())) {
            director.awaitLine(line -> line.contains("engine up"), Children.PATIENCE);
            List<ProcessHandle> children = ProcessHandle.of(director.pid()).orElseThrow().descendants().toList();
            assertThat(children).hasSizeGreaterThanOrEqualTo(2);

            director.kill();

            assertThat(CompletableFuture.allOf(children.stream().map(ProcessHandle::onExit).toArray(CompletableFuture[]::new)))
                    .succeedsWithin(Children.PATIENCE);
        }
    }

    @Test
    void aDirectoryWithSomethingInItIsRefusedAndLeftAlone() throws IOException {
        Path mine = Files.writeString(temporary.resolve("mine.txt"), "mine");

        assertThat(demo("--dir", temporary.toString())).isEqualTo(2);

        assertThat(err.toString(StandardCharsets.UTF_8)).contains("is not empty");
        assertThat(mine).hasContent("mine");
        assertThat(temporary.toFile().list()).containsExactly("mine.txt");
    }

    @Test
    void aLedgerThatDiffersIsNamedWithWhatWasExpected() {
        Tally expected = Expectation.of(Strategy.WAYBILL, KillAt.BOOKED);
        Tally counted = Expectation.of(Strategy.RETRY, KillAt.BOOKED);

        assertThat(Expectation.differences(Strategy.WAYBILL, expected, counted)).containsExactly(
                "Waybill, order-B: expected 1 charge(s), 1 send(s), 1 shipment(s), the ledger has 2 charge(s), 2 send(s), 1 shipment(s)",
                "Waybill, order-D: expected 1 charge(s), 1 send(s), 1 shipment(s), the ledger has 2 charge(s), 2 send(s), 1 shipment(s)");
        assertThat(counted.sound()).isFalse();
        assertThat(counted.words()).isEqualTo("B, D charged twice");
    }

    @Test
    void theSameSeedGivesTheSameOrdersAndTheOneThatDiesIsTheLast() {
        assertThat(Order.five(42)).isEqualTo(Order.five(42)).isNotEqualTo(Order.five(43));
        for (long seed = 0; seed < 20; seed++) {
            assertThat(Order.five(seed)).hasSize(5).last().matches(order -> order.fate() == Order.Fate.KILLED);
        }
    }
}
