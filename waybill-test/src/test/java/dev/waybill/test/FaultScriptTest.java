package dev.waybill.test;

import static dev.waybill.test.Behaviour.answer;
import static dev.waybill.test.Behaviour.applyThenAnswer;
import static dev.waybill.test.Behaviour.normal;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.net.SocketException;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

/** Every behaviour as a bare socket sees it. */
class FaultScriptTest {
    private static final String BODY = "{\"amount\":5}";
    private static final String BOOKED = "{\"id\":\"ch_01\",\"status\":\"succeeded\",\"amount\":5}";
    private static final Duration SOON = Duration.ofSeconds(20);

    @RegisterExtension
    static final ProviderExtension acme = new ProviderExtension();

    private static RawClient charging(Behaviour behaviour) throws IOException {
        acme.get().script(Rule.on("POST", "/charges").then(behaviour));
        return new RawClient(acme.get().port()).post("/charges", BODY);
    }

    private static void assertCounts(int seen, int applied) {
        assertThat(acme.get().seen()).isEqualTo(seen);
        assertThat(acme.get().applied()).isEqualTo(applied);
    }

    private static LedgerEntry lastLine() {
        return acme.get().ledger().getLast();
    }

    @Test
    void applyThenAnswerBooksAndSaysSomethingElse() throws IOException {
        try (var client = charging(applyThenAnswer(503, Map.of("X-Gateway", "down"), "try later"))) {
            var reply = client.readReply();
            assertThat(reply.status()).isEqualTo(503);
            assertThat(reply.head()).contains("X-Gateway: down");
            assertThat(reply.body()).isEqualTo("try later");
        }
        assertCounts(1, 1);
        assertThat(lastLine().fault()).isEqualTo("503");
    }

    @Test
    void answerBooksNothing() throws IOException {
        try (var client = charging(answer(500))) {
            assertThat(client.readReply().status()).isEqualTo(500);
        }
        assertCounts(1, 0);
    }

    @Test
    void applyThenDropEndsInAResetWithoutAByte() throws IOException {
        try (var client = charging(Behaviour.applyThenDrop())) {
            assertThatThrownBy(client::readToEnd).isInstanceOf(SocketException.class).hasMessageContaining("reset");
        }
        assertCounts(1, 1);
        assertThat(lastLine().answer()).isNull();
        assertThat(lastLine().fault()).isEqualTo("Reset");
    }

    @Test
    void applyThenCloseEndsInAFinWithoutAByte() throws IOException {
        try (var client = charging(Behaviour.applyThenClose())) {
            assertThat(client.readToEnd()).isEmpty();
        }
        assertCounts(1, 1);
    }

    @Test
    void dropBeforeApplyResetsAndBooksNothing() throws IOException {
        try (var client = charging(Behaviour.dropBeforeApply())) {
            assertThatThrownBy(client::readToEnd).isInstanceOf(SocketException.class);
        }
        assertCounts(1, 0);
    }

    @Test
    void swallowSaysNothingUntilReleased() throws IOException {
        try (var client = charging(Behaviour.swallow())) {
            await().until(() -> !acme.get().ledger().isEmpty() && lastLine().kind() == LedgerEntry.Kind.ANSWER);
            assertThat(client.available()).isZero();
            acme.get().release(lastLine().delivery());
            assertThat(client.readToEnd()).isEmpty();
        }
        assertCounts(1, 0);
    }

    @Test
    void aSwallowWithATimeoutEndsByItself() throws IOException {
        try (var client = charging(Behaviour.swallow().sentAs(new Behaviour.Wire.Silence(30)))) {
            assertThat(client.readToEnd()).isEmpty();
        }
        assertCounts(1, 0);
    }

    @Test
    void applyThenStallSendsHeadAndSomeBytesThenNothing() throws IOException {
        try (var client = charging(Behaviour.applyThenStall(6))) {
            assertThat(client.readHead()).contains("201", "Content-Length: " + BOOKED.length());
            assertThat(client.read(6)).isEqualTo(BOOKED.substring(0, 6));
            assertThat(client.available()).isZero();
            acme.get().releaseAll();
            assertThat(client.readToEnd()).isEmpty();
        }
        assertCounts(1, 1);
    }

    @Test
    void truncatedBodyDeclaresMoreThanItSends() throws IOException {
        try (var client = charging(Behaviour.truncatedBody(100, 13))) {
            assertThat(client.readHead()).contains("Content-Length: 100");
            assertThat(client.readToEnd()).isEqualTo(BOOKED.substring(0, 13));
        }
        assertCounts(1, 1);
    }

    @Test
    void chunkWithoutTerminatorIsOneWholeChunkAndAFin() throws IOException {
        try (var client = charging(Behaviour.chunkWithoutTerminator())) {
            assertThat(client.readHead()).contains("Transfer-Encoding: chunked").doesNotContain("Content-Length");
            assertThat(client.readToEnd()).isEqualTo(Integer.toHexString(BOOKED.length()) + "\r\n" + BOOKED + "\r\n");
        }
    }

    @Test
    void closeDelimitedHasNoLengthAndAsManyBytesAsAsked() throws IOException {
        try (var client = charging(Behaviour.closeDelimited(15))) {
            assertThat(client.readHead()).contains("Connection: close").doesNotContain("Content-Length", "Transfer-Encoding");
            assertThat(client.readToEnd()).isEqualTo(BOOKED.substring(0, 15));
        }
        acme.get().reset();
        try (var client = charging(Behaviour.closeDelimited(-1))) {
            client.readHead();
            assertThat(client.readToEnd()).isEqualTo(BOOKED);
        }
    }

    @Test
    void partialStatusLineIsCutInTheStatus() throws IOException {
        try (var client = charging(Behaviour.partialStatusLine())) {
            assertThat(client.readToEnd()).isEqualTo("HTTP/1.1 2");
        }
        assertCounts(1, 1);
    }

    @Test
    void garbageIsNoHttp() throws IOException {
        try (var client = charging(Behaviour.garbage())) {
            assertThat(client.readToEnd()).isNotEmpty().doesNotContain("HTTP/");
        }
        assertCounts(1, 1);
    }

    @Test
    void dripSendsTheWholeBodyByteByByte() throws IOException {
        try (var client = charging(Behaviour.drip(50))) {
            client.readHead();
            assertThat(client.available()).isLessThan(BOOKED.length());
            assertThat(client.read(BOOKED.length())).isEqualTo(BOOKED);
        }
    }

    @Test
    void redirectPointsElsewhereAndBooksNothing() throws IOException {
        try (var client = charging(Behaviour.redirect(307, "http://127.0.0.1:1/other"))) {
            assertThat(client.readReply().head()).startsWith("HTTP/1.1 307").contains("Location: http://127.0.0.1:1/other");
        }
        assertCounts(1, 0);
    }

    @Test
    void retryAfterIsSentAsWritten() throws IOException {
        try (var client = charging(Behaviour.retryAfter(429, "120junk"))) {
            assertThat(client.readReply().head()).startsWith("HTTP/1.1 429").contains("Retry-After: 120junk");
        }
        assertCounts(1, 0);
    }

    @Test
    void aBigBodyIsSoundJsonOfExactlyThatSize() throws IOException {
        try (var client = charging(Behaviour.bigBody(3_000_000))) {
            String body = client.readReply().body();
            assertThat(body).hasSize(3_000_000);
            assertThat(Json.MAPPER.readTree(body).path("id").asString()).isEqualTo("ch_01");
        }
    }

    @Test
    void anInterimAnswerAloneIsFollowedByTheEnd() throws IOException {
        try (var client = charging(answer(103))) {
            assertThat(client.readToEnd()).startsWith("HTTP/1.1 103").endsWith("\r\n\r\n");
        }
    }

    @Test
    void closeAfterMillisKillsTheNextRequestOnThatConnectionUnread() throws IOException {
        try (var client = charging(normal().closeAfterMillis(200))) {
            assertThat(client.readReply().status()).isEqualTo(201);
            client.post("/charges", BODY);
            assertThatThrownBy(() -> {
                        if (client.readToEnd().isEmpty()) {
                            throw new SocketException("closed");
                        }
                    })
                    .isInstanceOf(SocketException.class);
        }
        assertCounts(1, 1);
    }

    @Test
    void anAnswerCanWaitForAnotherRequestToArrive() throws IOException {
        acme.get().script(Rule.on("POST", "/a").then(Behaviour.answerAfterArrivalOf(Match.of("POST", "/b"))));
        try (var a = new RawClient(acme.get().port());
                var b = new RawClient(acme.get().port())) {
            a.post("/a", "1");
            await().until(() -> acme.get().applied() == 1);
            assertThat(a.available()).isZero();
            b.post("/b", "2");
            assertThat(a.readReply().status()).isEqualTo(200);
            assertThat(b.readReply().status()).isEqualTo(200);
        }
    }

    @Test
    void twoAnswersCanWaitForEachOthersRequests() throws IOException {
        acme.get().script(
                Rule.on("POST", "/a").then(Behaviour.answerAfterArrivalOf(delivery -> delivery.text().equals("2"))),
                Rule.on("POST", "/b").then(Behaviour.answerAfterArrivalOf(delivery -> delivery.text().equals("1"))));
        try (var a = new RawClient(acme.get().port()).post("/a", "1");
                var b = new RawClient(acme.get().port()).post("/b", "2")) {
            assertThat(a.readReply().status()).isEqualTo(200);
            assertThat(b.readReply().status()).isEqualTo(200);
        }
    }

    @Test
    void anAnswerCanWaitForALatch() throws IOException {
        var latch = new CountDownLatch(1);
        try (var client = charging(normal().holdUntil(latch))) {
            await().until(() -> acme.get().applied() == 1);
            assertThat(client.available()).isZero();
            latch.countDown();
            assertThat(client.readReply().status()).isEqualTo(201);
        }
    }

    @Test
    void aPausedBookingIsAnsweredWhenReleased() throws IOException {
        try (var client = charging(Behaviour.pauseAfterBooking())) {
            var booked = acme.get().awaitDelivery(delivery -> true, SOON);
            await().until(() -> acme.get().applied() == 1);
            assertThat(client.available()).isZero();
            acme.get().release(booked.number());
            assertThat(client.readReply().status()).isEqualTo(201);
        }
    }

    @Test
    void aReleaseThatComesBeforeThePauseIsNotLost() throws IOException {
        acme.get().onBooked(delivery -> acme.get().release(delivery.number()));
        try (var client = charging(Behaviour.pauseAfterBooking())) {
            assertThat(client.readReply().status()).isEqualTo(201);
        }
    }

    @Test
    void aRequestCanLandLate() throws IOException {
        try (var client = charging(normal().bookedOnlyAfter(new Behaviour.Hold.Released()))) {
            var delivery = acme.get().awaitDelivery(any -> true, SOON);
            assertThat(acme.get().applied()).isZero();
            client.close(); // the client gave up long ago
            acme.get().release(delivery.number());
            await().until(() -> acme.get().applied() == 1);
        }
    }

    @Test
    void theSequenceOfARuleIsUsedUpInOrderAndThenTheNextRuleDecides() throws IOException {
        acme.get().script(
                Rule.on("POST", "/charges").then(answer(429), answer(503)),
                Rule.on("POST", "/charges").onNth(2, answer(418)),
                Rule.onAny().thenAlways(answer(404)));
        try (var client = new RawClient(acme.get().port())) {
            for (int expected : new int[] {429, 503, 201, 418, 404, 404}) {
                assertThat(client.post("/charges", BODY).readReply().status()).isEqualTo(expected);
            }
        }
        assertCounts(6, 1);
    }

    @Test
    void rulesPickByBodyKeyAndCondition() throws IOException {
        acme.get().script(
                Rule.on("POST", "/charges").bodyContaining("order-B").then(answer(500)),
                Rule.on(Match.ANY.withKey("k2")).then(answer(501)),
                Rule.on(delivery -> "yes".equals(delivery.header("x-odd"))).then(answer(502)));
        try (var client = new RawClient(acme.get().port())) {
            assertThat(client.post("/charges", "{\"order\":\"order-A\"}").readReply().status()).isEqualTo(201);
            assertThat(client.post("/charges", "{\"order\":\"order-B\"}").readReply().status()).isEqualTo(500);
            assertThat(client.post("/charges", BODY, "Idempotency-Key: k2").readReply().status()).isEqualTo(501);
            assertThat(client.post("/charges", BODY, "X-Odd: yes").readReply().status()).isEqualTo(502);
        }
    }

    @Test
    void closingTheProviderEndsEveryWait() throws IOException {
        var provider = FakeProvider.start();
        provider.script(Rule.on("POST", "/a").then(Behaviour.swallow()), Rule.on("POST", "/b").then(normal().holdUntil(new CountDownLatch(1))));
        try (var a = new RawClient(provider.port()).post("/a", "1");
                var b = new RawClient(provider.port()).post("/b", "2")) {
            await().until(() -> provider.deliveries().size() == 2);
            provider.close();
            assertThat(ends(a) && ends(b)).isTrue();
        }
        assertThatThrownBy(() -> new RawClient(provider.port())).isInstanceOf(java.net.ConnectException.class);
    }

    private static boolean ends(RawClient client) throws IOException {
        try {
            return client.readToEnd().isEmpty();
        } catch (SocketException reset) {
            return true;
        }
    }
}
