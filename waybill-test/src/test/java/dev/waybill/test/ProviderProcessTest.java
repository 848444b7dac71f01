package dev.waybill.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.SocketException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ProviderProcessTest {
    private static final Duration SOON = Duration.ofSeconds(30);

    @TempDir
    Path directory;

    @Test
    void aDirectorHearsOfABookingBeforeTheAnswerGoesOut() throws IOException {
        try (var acme = ProviderClient.launch(directory.resolve("ledger.jsonl"))) {
            acme.script(
                    Rule.on("POST", "/charges").bodyContaining("order-B").then(Behaviour.applyThenDrop()),
                    Rule.on("POST", "/charges").bodyContaining("order-D").then(Behaviour.pauseAfterBooking()));
            try (var b = new RawClient(acme.port()).post("/charges", "{\"order\":\"order-B\"}");
                    var d = new RawClient(acme.port()).post("/charges", "{\"order\":\"order-D\"}", "Idempotency-Key: charge-D")) {
                assertThatThrownBy(b::readToEnd).isInstanceOf(SocketException.class);
                LedgerEntry booked = acme.awaitBooked(entry -> "charge-D".equals(entry.idempotencyKey()), SOON);
                assertThat(d.available()).isZero();
                acme.release(booked.delivery());
                assertThat(d.readReply().status()).isEqualTo(201);
            }
            assertThat(acme.stats().path("seen").asInt()).isEqualTo(2);
            assertThat(acme.stats().path("applied_per_path").path("/charges").asInt()).isEqualTo(2);
            acme.awaitEvent(entry -> entry.seq() == 6, SOON);
            assertThat(Ledger.read(directory.resolve("ledger.jsonl"))).isEqualTo(acme.events());
            acme.shutdown();
        }
    }

    @Test
    void everyBehaviourThatIsDataSurvivesTheTripToAnotherProcess() {
        var rules = new Rule[] {
            Rule.on("POST", "/a").bodyContaining("x").then(Behaviour.normal(), Behaviour.applyThenStall(3)).thenAlways(Behaviour.answer(404)),
            Rule.onAny()
                    .then(
                            Behaviour.answerAfterArrivalOf(Match.of("GET", "/b").withKey("k")),
                            Behaviour.truncatedBody(9, 3).closeAfterMillis(4),
                            Behaviour.garbage().with("A", "b"),
                            Behaviour.drip(5).answeredAfter(Duration.ofSeconds(1)),
                            Behaviour.normal().bookedOnlyAfter(new Behaviour.Hold.Released()))
        };
        String json = Json.MAPPER.writeValueAsString(rules);
        assertThat(Json.MAPPER.readValue(json, Rule[].class)).containsExactly(rules);
    }

    @Test
    void aRuleWithCodeInItIsRefusedBeforeItIsSent() {
        try (var provider = FakeProvider.start();
                var client = ProviderClient.connect(provider.port(), 1)) {
            assertThatThrownBy(() -> client.script(Rule.on(delivery -> true).then(Behaviour.normal())))
                    .isInstanceOf(IllegalArgumentException.class);
            assertThatThrownBy(() -> client.script(Rule.onAny().then(Behaviour.normal().holdUntil(new CountDownLatch(1)))))
                    .isInstanceOf(IllegalArgumentException.class);
        }
    }

    @Test
    void aScriptThatIsMisspeltIsRefused() throws IOException {
        try (var provider = FakeProvider.start()) {
            int control = new ControlServer(provider).port();
            try (var client = new RawClient(control)) {
                assertThat(client.post("/rules", "[{\"match\":{\"pathh\":\"/a\"},\"behaviours\":[]}]").readReply().head()).contains("400");
            }
        }
    }

    @Test
    void aShutDownProviderEndsItsProcessAndTellsWhoeverWaits() {
        try (var acme = ProviderClient.launch(directory.resolve("ledger.jsonl"))) {
            acme.shutdown();
            assertThatThrownBy(() -> acme.awaitBooked(entry -> true, SOON)).hasMessageContaining("before it ended");
        }
    }

    @Test
    void aProviderWhoseDirectorDiedEndsToo() {
        try (var acme = Processes.java(FakeProvider.class, "--port", "0", "--control", "--ledger", directory.resolve("ledger.jsonl").toString())) {
            acme.awaitLine(line -> line.matches("listening \\d+"), SOON);
            acme.endInput(); // what the kernel does to a dead parent's pipe
            assertThat(acme.waitFor(SOON)).isZero();
        }
    }
}
