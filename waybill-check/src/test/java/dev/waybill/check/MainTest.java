package dev.waybill.check;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

class MainTest {
    @TempDir
    Path directory;

    private record Outcome(int exit, String out, String err) {}

    private static Outcome run(String... arguments) {
        var out = new ByteArrayOutputStream();
        var err = new ByteArrayOutputStream();
        int exit = Main.run(arguments, new PrintStream(out, true, StandardCharsets.UTF_8), new PrintStream(err, true, StandardCharsets.UTF_8));
        return new Outcome(exit, out.toString(StandardCharsets.UTF_8), err.toString(StandardCharsets.UTF_8));
    }

    private String[] files(Tale tale) throws IOException {
        List<String> arguments = new ArrayList<>();
        write(arguments, "--ledger", tale.ledger);
        write(arguments, "--client", tale.client);
        write(arguments, "--faults", tale.faults);
        for (Dump dump : tale.history().dumps) {
            Path file = directory.resolve("dump" + arguments.size());
            dump.write(file);
            arguments.addAll(List.of("--dump", file.toString()));
        }
        return arguments.toArray(String[]::new);
    }

    private void write(List<String> arguments, String option, List<ObjectNode> lines) throws IOException {
        Path file = directory.resolve(option);
        Files.writeString(file, String.join("", lines.stream().map(line -> line + "\n").toList()));
        arguments.addAll(List.of(option, file.toString()));
    }

    private static String[] and(String[] arguments, String... more) {
        List<String> all = new ArrayList<>(List.of(arguments));
        all.addAll(List.of(more));
        return all.toArray(String[]::new);
    }

    @Test
    void aCleanHistoryExitsWithZeroAndSaysWhatItDidNotLookAt() throws IOException {
        Outcome outcome = run(files(GoodTales.resolved()));
        assertThat(outcome.exit).as(outcome.out + outcome.err).isZero();
        assertThat(outcome.out).containsPattern("one-delivery +2 looked at  holds");
        assertThat(outcome.out).containsPattern("drained +0 looked at  looked at nothing");
        assertThat(outcome.out).endsWith("2 receipts of 1 runs, 5 ledger lines, 2 client calls, 1 faults: clean\n");
    }

    @Test
    void aViolationExitsWithOneAndTellsTheStoryOfOneEffectAsAllWitnessesSawIt() throws IOException {
        Tale tale = GoodTales.resolved();
        tale.ledger.remove(tale.line("apply", "charge"));
        Outcome outcome = run(files(tale));
        assertThat(outcome.exit).isEqualTo(1);
        String story = outcome.out.substring(outcome.out.indexOf("no-false-certainty: run"));
        assertThat(story.lines().map(String::strip).toList())
                .satisfiesExactly(
                        line -> assertThat(line).startsWith("no-false-certainty: run ").endsWith(" at charge"),
                        line -> assertThat(line).isEqualTo("charge#0 is verified, but the provider never did it"),
                        line -> assertThat(line).contains("client    start: ok"),
                        line -> assertThat(line).contains("receipt   charge#0 dispatched").contains("epoch 1 node n1"),
                        line -> assertThat(line).contains("provider  #1 delivery POST /charge"),
                        line -> assertThat(line).contains("fault     kill n1"),
                        line -> assertThat(line).contains("journal   charge#0 n=1 dispatched -> unknown by recovery epoch 2"),
                        line -> assertThat(line).contains("client    resolve verified: ok"),
                        line -> assertThat(line).contains("journal   charge#0 n=2 unknown -> verified by operator:ann"),
                        line -> assertThat(line).contains("evidence  charge#0 resolution"),
                        line -> assertThat(line).contains("run       completed"),
                        line -> assertThat(line).isEmpty(),
                        line -> assertThat(line).endsWith("violated: no-false-certainty"));
    }

    @Test
    void theShortestStoryIsToldFirstAndTheOthersAreNamed() throws IOException {
        Tale tale = GoodTales.resolved();
        tale.ledger.remove(tale.line("apply", "charge"));
        tale.ledger.remove(tale.line("apply", "ship"));
        tale.ledger.remove(tale.line("answer", "ship"));
        tale.move("ship", 0, 1).putNull("reply_status");
        Outcome outcome = run(files(tale));
        assertThat(outcome.out).containsPattern("no-false-certainty: run [^ ]+ at ship\n  ship#0 is committed");
        assertThat(outcome.out).containsPattern("  also run [^ ]+ at charge: charge#0 is verified");
    }

    @Test
    void jsonSaysTheSame() throws IOException {
        Tale tale = GoodTales.unknown();
        tale.tables.get("effect_open").clear();
        Outcome outcome = run(and(files(tale), "-o", "json"));
        assertThat(outcome.exit).isEqualTo(1);
        JsonNode json = Json.MAPPER.readTree(outcome.out);
        assertThat(json.path("clean").asBoolean(true)).isFalse();
        assertThat(json.path("properties")).hasSize(Property.all().size());
        JsonNode violated = json.path("properties").valueStream().filter(one -> !one.path("violations").isEmpty()).findFirst().orElseThrow();
        assertThat(violated.path("name").asString()).isEqualTo("open-queue");
        assertThat(violated.path("violations").path(0).path("timeline")).isNotEmpty();
    }

    @Test
    void boundsAreOptions() throws IOException {
        String[] files = files(GoodTales.hung());
        assertThat(run(files).exit).isZero();
        assertThat(run(and(files, "--visible-seconds", "10")).out).contains("violated: visible");
        assertThat(run(and(files, "--unique-content")).exit).isZero();
    }

    @Test
    void aLastLineThatACrashCutIsLeftOut() throws IOException {
        String[] files = files(GoodTales.fused());
        Path ledger = directory.resolve("--ledger");
        Files.writeString(ledger, Files.readString(ledger) + "{\"seq\":99,\"kind\":\"deliv");
        assertThat(run(files).exit).isZero();
    }

    @Test
    void whatCannotBeReadOrAskedExitsWithTwo() throws IOException {
        String[] files = files(GoodTales.fused());
        assertThat(run()).satisfies(outcome -> assertThat(outcome.exit).isEqualTo(2)).satisfies(outcome -> assertThat(outcome.err).contains("usage:"));
        assertThat(run("--ledger", "x").err).contains("a check needs --ledger and --dump or --store");
        assertThat(run(and(files, "--wrong")).err).contains("unknown argument --wrong");
        assertThat(run(and(files, "--faults")).err).contains("--faults needs a value");
        assertThat(run("dump", "--store", "sqlite:nowhere.db").exit).isEqualTo(2);
        Files.writeString(directory.resolve("--client"), "no json\n");
        Outcome outcome = run(files);
        assertThat(outcome.exit).isEqualTo(2);
        assertThat(outcome.err).contains("line 1 is not JSON");
        Files.writeString(directory.resolve("--client"), "{\"op\":\"start\"}\n");
        assertThat(run(files).exit).isEqualTo(2);
    }
}
