package dev.waybill.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;
import org.junit.jupiter.api.io.TempDir;

class FakeProviderTest {
    private static final Instant NOON = Instant.parse("2026-11-30T12:00:00Z");

    @RegisterExtension
    static final ProviderExtension acme = new ProviderExtension(builder -> builder.clock(() -> NOON));

    @RegisterExtension
    static final ProviderExtension keyed = new ProviderExtension(FakeProvider.Builder::honouringKeys);

    @Test
    void aChargeIsBookedAndFoundAgainByKeyAndByOrder() throws IOException {
        try (var client = new RawClient(acme.get().port())) {
            var created = client.post("/charges", "{\"amount\":42.00,\"order\":\"order-A\"}", "Idempotency-Key: charge-A").readReply();
            assertThat(created.status()).isEqualTo(201);
            assertThat(created.body()).isEqualTo("{\"id\":\"ch_01\",\"status\":\"succeeded\",\"amount\":42.00,\"order\":\"order-A\",\"key\":\"charge-A\"}");
            client.post("/charges", "{\"amount\":1,\"order\":\"order-B\"}").readReply();

            assertThat(client.get("/charges?key=charge-A").readReply().body()).isEqualTo("{\"count\":1,\"items\":[" + created.body() + "]}");
            assertThat(client.get("/charges?order=order-B").readReply().body()).contains("\"count\":1", "ch_02");
            assertThat(client.get("/charges?order=order%2DZ").readReply().body()).isEqualTo("{\"count\":0,\"items\":[]}");
            assertThat(client.get("/charges").readReply().body()).contains("\"count\":2");
            assertThat(client.get("/charges/ch_01").readReply().body()).isEqualTo(created.body());
            assertThat(client.get("/charges/ch_09").readReply().status()).isEqualTo(404);
            assertThat(client.get("/health").readReply().status()).isEqualTo(200);
        }
        assertThat(acme.get().seen()).isEqualTo(9);
        assertThat(acme.get().applied()).isEqualTo(2);
    }

    @Test
    void aDeclinedCardIsAnsweredAndNotBooked() throws IOException {
        try (var client = new RawClient(acme.get().port())) {
            var reply = client.post("/charges", "{\"amount\":5,\"card\":\"declined\"}").readReply();
            assertThat(reply.status()).isEqualTo(402);
            assertThat(reply.body()).contains("card_declined");
        }
        assertThat(acme.get().applied()).isZero();
        assertThat(acme.get().ledger()).extracting(LedgerEntry::kind).containsExactly(LedgerEntry.Kind.DELIVERY, LedgerEntry.Kind.ANSWER);
    }

    @Test
    void shipmentsAndAnyOtherWriteAreBookedToo() throws IOException {
        try (var client = new RawClient(acme.get().port())) {
            assertThat(client.post("/shipments", "{\"order\":\"order-A\"}").readReply().body()).contains("\"id\":\"lb_01\"", "order-A");
            assertThat(client.post("/notify", "hello").readReply().body()).contains("\"id\":\"op_01\"");
            assertThat(client.send("DELETE /things/1 HTTP/1.1\r\nHost: acme\r\n\r\n").readReply().body()).contains("op_02");
            assertThat(client.get("/nothing").readReply().status()).isEqualTo(404);
        }
        assertThat(acme.get().appliedPerPath()).containsOnlyKeys("/shipments", "/notify", "/things/1").containsEntry("/notify", 1);
    }

    @Test
    void withoutHonouredKeysTheSameKeyBooksTwice() throws IOException {
        try (var client = new RawClient(acme.get().port())) {
            client.post("/charges", "{\"amount\":5}", "Idempotency-Key: k").readReply();
            client.post("/charges", "{\"amount\":5}", "Idempotency-Key: k").readReply();
        }
        assertThat(acme.get().appliedPerKey()).containsEntry("k", 2);
    }

    @Test
    void anHonouredKeyReplaysItsAnswerAndRefusesAnotherRequest() throws IOException {
        try (var client = new RawClient(keyed.get().port())) {
            var first = client.post("/charges", "{\"amount\":5}", "Idempotency-Key: k").readReply();
            var again = client.post("/charges", "{\"amount\":5}", "Idempotency-Key: k").readReply();
            assertThat(again.status()).isEqualTo(first.status());
            assertThat(again.body()).isEqualTo(first.body());
            assertThat(again.head()).contains("Idempotent-Replayed: true");
            var other = client.post("/charges", "{\"amount\":6}", "Idempotency-Key: k").readReply();
            assertThat(other.status()).isEqualTo(422);
            assertThat(client.post("/charges", "{\"amount\":5,\"card\":\"declined\"}", "Idempotency-Key: d").readReply().status()).isEqualTo(402);
            assertThat(client.post("/charges", "{\"amount\":5,\"card\":\"declined\"}", "Idempotency-Key: d").readReply().head())
                    .contains("402", "Idempotent-Replayed: true");
        }
        assertThat(keyed.get().seen()).isEqualTo(5);
        assertThat(keyed.get().appliedPerKey()).containsExactly(java.util.Map.entry("k", 1));
    }

    @Test
    void theLedgerFileTellsDeliveryApplicationAndAnswerInOrder() throws IOException {
        try (var client = new RawClient(acme.get().port())) {
            client.post("/charges", "{\"order\":\"o\",\"amount\":5}", "Idempotency-Key: k1", "Waybill-Effect-Id: 7f3a").readReply();
        }
        List<LedgerEntry> ledger = Ledger.read(acme.get().ledgerPath());
        ledger = ledger.subList(ledger.size() - 3, ledger.size());
        assertThat(ledger).isEqualTo(acme.get().ledger());
        LedgerEntry delivery = ledger.get(0);
        assertThat(delivery.kind()).isEqualTo(LedgerEntry.Kind.DELIVERY);
        assertThat(delivery.at()).isEqualTo(NOON);
        assertThat(delivery.method()).isEqualTo("POST");
        assertThat(delivery.path()).isEqualTo("/charges");
        assertThat(delivery.effectId()).isEqualTo("7f3a");
        assertThat(delivery.idempotencyKey()).isEqualTo("k1");
        assertThat(delivery.body()).isEqualTo("{\"order\":\"o\",\"amount\":5}");
        assertThat(delivery.bodySha256()).hasSize(64);
        assertThat(ledger.get(1).kind()).isEqualTo(LedgerEntry.Kind.APPLY);
        assertThat(ledger.get(1).answer().path("id").asString()).isEqualTo("ch_01");
        assertThat(ledger.get(2).kind()).isEqualTo(LedgerEntry.Kind.ANSWER);
        assertThat(ledger.get(2).answer().path("status").asInt()).isEqualTo(201);
        assertThat(ledger).extracting(LedgerEntry::delivery).containsOnly(delivery.delivery());
        assertThat(ledger.get(2).seq()).isEqualTo(delivery.seq() + 2);
    }

    @Test
    void theSameRequestHasOneContentWhateverItsMemberOrderAndKey() throws IOException {
        try (var client = new RawClient(acme.get().port())) {
            client.post("/charges", "{\"order\":\"o\",\"amount\":5}", "Idempotency-Key: k1").readReply();
            client.post("/charges", "{ \"amount\":5, \"order\":\"o\" }", "Idempotency-Key: k2").readReply();
            client.post("/charges", "{\"order\":\"p\",\"amount\":5}").readReply();
        }
        assertThat(acme.get().appliedPerContent().values()).containsExactlyInAnyOrder(2, 1);
    }

    @Test
    void aBookingIsInTheLedgerFileBeforeTheHookRunsAndTheHookRunsBeforeTheAnswer() throws IOException {
        List<String> order = new CopyOnWriteArrayList<>();
        try (var client = new RawClient(acme.get().port())) {
            acme.get().onBooked(delivery -> {
                order.add("ledger says " + acme.get().ledger().getLast().kind());
                order.add("answered " + available(client));
            });
            client.post("/charges", "{\"amount\":5}").readReply();
        }
        assertThat(order).containsExactly("ledger says APPLY", "answered 0");
    }

    @Test
    void aLedgerGoesOnWhereItEndedAndSkipsATornLastLine(@TempDir Path directory) throws IOException {
        Path file = directory.resolve("ledger.jsonl");
        try (var provider = FakeProvider.builder().ledger(file).start();
                var client = new RawClient(provider.port())) {
            client.post("/charges", "{}").readReply();
        }
        try (var provider = FakeProvider.builder().ledger(file).start();
                var client = new RawClient(provider.port())) {
            client.get("/health").readReply();
            assertThat(provider.ledger()).extracting(LedgerEntry::seq).containsExactly(1L, 2L, 3L, 4L, 5L);
        }
        Files.writeString(file, "{\"seq\":6,\"at", StandardOpenOption.APPEND);
        assertThat(Ledger.read(file)).hasSize(5);
    }

    @Test
    void chunkedBodiesAndExpectContinueAreUnderstood() throws IOException {
        try (var client = new RawClient(acme.get().port())) {
            client.send("POST /charges HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n8\r\n{\"amount\r\n4;x=y\r\n\":5}\r\n0\r\nTrailer: 1\r\n\r\n");
            assertThat(client.readReply().body()).contains("\"amount\":5");
            client.send("POST /charges HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 12\r\n\r\n");
            assertThat(client.readHead()).startsWith("HTTP/1.1 100 ");
            assertThat(client.send("{\"amount\":6}").readReply().body()).contains("\"amount\":6");
        }
    }

    @Test
    void aRequestWhoseBodyNeverCameIsSeenAndNotApplied() throws IOException {
        try (var client = new RawClient(acme.get().port())) {
            client.send("POST /charges HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\n{\"amount\"");
            await().until(() -> acme.get().seen() == 1);
        }
        await().until(() -> !acme.get().ledger().isEmpty());
        assertThat(acme.get().ledger().getFirst().fault()).startsWith("incomplete: body ended after 9 of 100 bytes");
        assertThat(acme.get().applied()).isZero();
    }

    @Test
    void bytesThatAreNoRequestAreNotSeen() throws IOException {
        try (var client = new RawClient(acme.get().port())) {
            assertThat(client.send("hello\r\n\r\n").readToEnd()).startsWith("HTTP/1.1 400 ");
        }
        try (var tls = new RawClient(acme.get().port())) {
            assertThat(tls.send("\u0016\u0003\u0001").readToEnd()).startsWith("HTTP/1.1 400 ");
        }
        assertThat(acme.get().seen()).isZero();
    }

    @Test
    void aCallerThatWantsTheConnectionClosedGetsItClosed() throws IOException {
        try (var client = new RawClient(acme.get().port())) {
            assertThat(client.post("/charges", "{}", "Connection: close").readToEnd()).contains("Connection: close", "ch_01");
        }
    }

    private static int available(RawClient client) {
        try {
            return client.available();
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }
}
