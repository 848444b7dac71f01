package dev.waybill.house;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.Waybill;
import dev.waybill.definition.SequenceParser;
import dev.waybill.handler.Handlers;
import dev.waybill.json.Json;
import dev.waybill.model.InstanceState;
import dev.waybill.operate.RunView;
import dev.waybill.operate.StartRequest;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;

/** The README's Java runs as it stands there, and its sequence is the one in examples/. */
class ReadmeTest {
    private static final java.nio.file.Path ROOT = java.nio.file.Path.of("..").toAbsolutePath().normalize();

    record Order(String id, int amount) {}

    record Charge(String id) {}

    /** The caller's own system. */
    static final class Bank {
        final List<String> keys = new ArrayList<>();

        Charge charge(Order order, String key) {
            keys.add(key);
            return new Charge("ch_" + order.amount());
        }
    }

    @Test
    void theJavaOfTheReadmeRuns() throws IOException {
        Bank bank = new Bank();
        PrintStream before = System.out;
        ByteArrayOutputStream printed = new ByteArrayOutputStream();
        System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
        try {
            // README begin
            try (Waybill waybill = Waybill.sqlite(Path.of("orders.db"))
                    .handler("charge", Handlers.effect(Order.class, Charge.class, (order, call) -> bank.charge(order, call.idempotencyKey())))
                    .open()) {
                waybill.sequences().publish("default", Json.parse("""
                        {"name": "pay", "blocks": [{"type": "step", "id": "charge", "handler": "charge", "params": "{{ data }}",
                         "effect": {"idempotency": {"key": "= 'charge-' & data.id", "window": "24h"}}}]}"""));
                UUID run = waybill.runs().start(StartRequest.of("pay", Json.parse("{\"id\": \"o-7\", \"amount\": 42}"))).id();
                RunView done = waybill.runs().await("default", run, Duration.ofSeconds(10));
                System.out.println(done.state() + " " + done.output());
            }
            // README end
        } finally {
            System.setOut(before);
        }
        assertThat(printed.toString(StandardCharsets.UTF_8)).contains(InstanceState.COMPLETED + " {\"id\":\"ch_42\"}");
        assertThat(bank.keys).containsExactly("charge-o-7");
    }

    /** Stands in for java.nio.file.Path, so that the snippet's file lands in a directory of the test. */
    private static final class Path {
        static java.nio.file.Path of(String name) throws IOException {
            return Files.createTempDirectory("waybill-readme").resolve(name);
        }
    }

    @Test
    void theReadmeShowsExactlyThatJava() throws IOException {
        String source = Files.readString(ROOT.resolve("waybill-engine/src/test/java/dev/waybill/house/ReadmeTest.java"));
        String ran = source.substring(source.indexOf("// README begin") + 15, source.indexOf("// README end"));
        assertThat(compact(block("java"))).endsWith(compact(ran));
    }

    @Test
    void theSequenceOfTheReadmeIsTheExampleAndIsValid() throws IOException {
        String example = Files.readString(ROOT.resolve("examples/order.json"));
        assertThat(block("json")).isEqualTo(example);
        var validation = SequenceParser.validate(Json.parseDefinition(example), name -> name.equals("http_request"));
        assertThat(validation.faults()).isEmpty();
        assertThat(example.lines().count()).isLessThanOrEqualTo(16);
    }

    private static String block(String language) throws IOException {
        String readme = Files.readString(ROOT.resolve("README.md"));
        int start = readme.indexOf("```" + language + "\n") + language.length() + 4;
        return readme.substring(start, readme.indexOf("```", start));
    }

    private static String compact(String text) {
        return text.lines().map(String::strip).filter(line -> !line.isEmpty()).reduce("", (a, b) -> a + b + "\n");
    }
}
