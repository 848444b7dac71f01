package dev.waybill.handler;

import static dev.waybill.transport.FaultServer.answer;
import static dev.waybill.transport.FaultServer.answering;
import static dev.waybill.transport.FaultServer.json;
import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.model.Outcome;
import dev.waybill.model.Proof;
import dev.waybill.transport.AddressPolicy;
import dev.waybill.transport.FaultServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.UnknownHostException;
import java.time.Duration;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ServerSocketFactory;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The transport's share of field cases A03-A06 and A09-A13, counted at the provider. */
class HttpFieldCasesTest {

    /** So that the first timed call does not also load the HTTP library. */
    @BeforeAll
    static void aCallBefore() throws IOException {
        try (FaultServer provider = answering(json("200 OK", "{}"))) {
            HttpCalls.to(provider).charge(provider, Outcome.Committed.class);
        }
    }

    @Test
    void a03APostWhoseConnectionClosesWithoutAByteIsSentOnceAndUnknown() throws IOException {
        try (FaultServer provider = new FaultServer(FaultServer.Connection::read)) {
            Outcome.Unknown unknown = HttpCalls.to(provider).charge(provider, Outcome.Unknown.class);
            assertThat(unknown.reason()).isEqualTo("closed_without_answer");
            assertThat(provider.seen()).isEqualTo(1);
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"POST", "GET", "HEAD", "PUT", "DELETE"})
    void a03AWarmConnectionIsNotUsedAgainAndTheLostRequestIsSentOnce(String method) throws IOException {
        AtomicInteger count = new AtomicInteger();
        try (FaultServer provider = new FaultServer(c -> {
            c.read();
            if (count.getAndIncrement() > 0) return;
            c.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: keep-alive\r\n\r\n");
            // Kept open: whoever sends again here, on the warm connection, is counted.
            c.read();
        })) {
            HttpCalls calls = HttpCalls.to(provider);
            String params = "{\"url\":\"" + provider.url("/") + "\",\"method\":\"" + method + "\"}";
            assertThat(calls.call(params)).isInstanceOf(Outcome.Committed.class);
            assertThat(calls.call(params)).isInstanceOf(Outcome.Unknown.class);
            assertThat(provider.seen()).isEqualTo(2);
            assertThat(provider.connections()).isEqualTo(2);
        }
    }

    @Test
    void a04ThirtyPostsToAServerThatClosesAfterEachReplyAreThirtyCommits() throws IOException {
        try (FaultServer provider = answering("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\n{}")) {
            HttpCalls calls = HttpCalls.to(provider);
            for (int i = 0; i < 30; i++) calls.charge(provider, Outcome.Committed.class);
            assertThat(provider.seen()).isEqualTo(30);
        }
    }

    @Test
    void a05AClosedPortIsNotSentOnEachOfThreeAttempts() throws IOException {
        int port = freePort();
        HttpCalls calls = allowing("127.0.0.1:" + port);
        for (int i = 0; i < 3; i++) unreachable(calls.call(HttpCalls.post("http://127.0.0.1:" + port + "/charge")));
        assertThat(calls.dialled).hasSize(3);
    }

    @Test
    void a05ANameThatDoesNotResolveIsNotSentAndMayBeRetried() {
        HttpCalls calls = new HttpCalls(AddressPolicy.publicOnly(), host -> {
            throw new UnknownHostException(host);
        });
        for (int i = 0; i < 3; i++) unreachable(calls.call(HttpCalls.post("http://nohost.invalid/charge")));
        assertThat(calls.dialled).isEmpty();
    }

    @Test
    void a05APlainTextPortBehindAnHttpsUrlIsNotSent() throws IOException {
        // The script counts a request only if a whole head arrives; a ClientHello never is one.
        try (FaultServer provider = new FaultServer(c -> c.write("HTTP/1.1 400 Bad Request\r\n\r\n"))) {
            HttpCalls calls = HttpCalls.to(provider);
            for (int i = 0; i < 3; i++) unreachable(calls.call(HttpCalls.post("https://" + provider.hostPort() + "/charge")));
            assertThat(provider.seen()).isZero();
            assertThat(provider.connections()).isEqualTo(3);
        }
    }

    @Test
    void a05APortThatOpensAtTheThirdAttemptIsCommittedThere() throws IOException {
        int port = freePort();
        HttpCalls calls = allowing("127.0.0.1:" + port);
        String params = HttpCalls.post("http://127.0.0.1:" + port + "/charge");
        for (int i = 0; i < 2; i++) unreachable(calls.call(params));
        FaultServer.Script yes = c -> {
            c.read();
            c.write(json("200 OK", "{}"));
        };
        try (FaultServer provider = new FaultServer(yes, ServerSocketFactory.getDefault(), port)) {
            assertThat(calls.call(params)).isInstanceOf(Outcome.Committed.class);
            assertThat(provider.seen()).isEqualTo(1);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {402, 404, 410, 422, 409})
    void a06ADeclineIsAnAnswer(int status) throws IOException {
        try (FaultServer provider = answering(json(status + " No", "{\"error\":{\"code\":\"card_declined\"}}"))) {
            Outcome.NotApplied no = HttpCalls.to(provider).charge(provider, Outcome.NotApplied.class);
            assertThat(no.proof()).isEqualTo(Proof.REJECTED);
            assertThat(no.problem().code()).isEqualTo("HTTP_REJECTED");
            assertThat(no.problem().retryable()).isFalse();
            assertThat(no.problem().details().path("status").intValue()).isEqualTo(status);
            assertThat(no.problem().details().path("error_code").stringValue()).isEqualTo("card_declined");
            assertThat(no.reply().status()).isEqualTo(status);
            assertThat(provider.seen()).isEqualTo(1);
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "429 | 30 | PT30S",
                "429 | Mon, 30 Nov 2026 12:00:45 GMT | PT45S",
                "429 | Wed, 21 Oct 2015 07:28:00 GMT | PT0S",
                "429 | -5 |",
                "429 | 120junk |",
                "429 | 0 | PT0S",
                "429 | 99999999999 | PT24H",
                "429 | |",
                "425 | |"
            })
    void a09RetryAfterIsReadAsUntrustedText(int status, String header, Duration expected) throws IOException {
        String line = header == null ? "" : "Retry-After: " + header + "\r\n";
        try (FaultServer provider = answering(answer(status + " Later", line, ""))) {
            Outcome.NotApplied later = HttpCalls.to(provider).charge(provider, Outcome.NotApplied.class);
            assertThat(later.problem().code()).isEqualTo("HTTP_RETRY_LATER");
            assertThat(later.problem().retryable()).isTrue();
            assertThat(later.retryAfter()).isEqualTo(expected);
            assertThat(provider.seen()).isEqualTo(1);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {301, 302, 303})
    void a10ARedirectThatManyServersSendAfterActingIsUnknownAndNotFollowed(int status) throws IOException {
        try (FaultServer provider = answering(answer(status + " See", "Location: /ok\r\n", ""))) {
            Outcome.Unknown unknown = HttpCalls.to(provider).charge(provider, Outcome.Unknown.class);
            assertThat(unknown.reason()).isEqualTo("redirect_" + status);
            assertThat(provider.requests()).extracting(FaultServer.Request::method).containsExactly("POST");
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {307, 308})
    void a10AKeyIsNeverHandedToAnotherHost(int status) throws IOException {
        try (FaultServer stranger = answering(json("200 OK", "{}"));
                FaultServer provider = answering(
                        answer(status + " Go", "Location: " + stranger.url("/charge?api_key=k") + "\r\n", ""))) {
            HttpCalls calls = HttpCalls.to(provider, stranger);
            calls.key = "charge-7";
            calls.keyHeader = "Idempotency-Key";
            Outcome.NotApplied no = calls.charge(provider, Outcome.NotApplied.class);
            assertThat(no.proof()).isEqualTo(Proof.REJECTED);
            assertThat(no.problem().code()).isEqualTo("REDIRECT_NOT_FOLLOWED");
            assertThat(no.problem().details().path("location").stringValue()).isEqualTo(stranger.url("/charge"));
            assertThat(provider.seen()).isEqualTo(1);
            assertThat(stranger.connections()).isZero();
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                // (a) less than its Content-Length
                "HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"id\":\"ch_1\",",
                // (b) a whole chunk and no terminator
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n{\"a\"\r\n",
                // the terminator's own line cut
                "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n",
                // (c) no length
                "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"id\":\"ch_1\",\"sta",
                // no length and nothing in the content that shows its end
                "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n12",
                "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nOK",
                "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n",
                // a complete status line and half of the headers
                "HTTP/1.1 200 OK\r\nContent-Le",
                // two lengths: framing that proves nothing
                "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
                // a length no library survives
                "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n{}",
            })
    void a11ACutReplyIsCommittedWithItsOutputLost(String reply) throws IOException {
        try (FaultServer provider = answering(reply)) {
            Outcome.OutputLost lost = HttpCalls.to(provider).charge(provider, Outcome.OutputLost.class);
            assertThat(lost.reply().status()).isEqualTo(200);
            assertThat(lost.reply().truncated()).isTrue();
            assertThat(provider.seen()).isEqualTo(1);
        }
    }

    @Test
    void a11TheBytesThatCameAreKept() throws IOException {
        try (FaultServer provider = answering("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"id\":\"ch_1\",")) {
            Outcome.OutputLost lost = HttpCalls.to(provider).charge(provider, Outcome.OutputLost.class);
            assertThat(lost.reply().body()).asString().isEqualTo("{\"id\":\"ch_1\",");
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"HTTP/1.1 2", "HTTP/1.1 200", "garbage\r\n\r\n", "ICY 200 OK\r\n\r\n{}", "HTTP/1.1 2000 OK\r\n\r\n{}",
                "HTTP/1.1 -12 OK\r\n\r\n{}", "\u0016\u0003\u0001", "HTTP/2 200\r\n\r\n{}"})
    void a11AnIncompleteOrGarbledStatusLineIsUnknown(String reply) throws IOException {
        try (FaultServer provider = answering(reply)) {
            Outcome.Unknown unknown = HttpCalls.to(provider).charge(provider, Outcome.Unknown.class);
            assertThat(unknown.reason()).isEqualTo("garbled_answer");
            assertThat(provider.seen()).isEqualTo(1);
        }
    }

    @Test
    void a11CompleteJsonShowsItsOwnEnd() throws IOException {
        try (FaultServer provider =
                answering("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{\"receipt_id\":\"ch_1\",\"status\":\"paid\"}")) {
            Outcome.Committed yes = HttpCalls.to(provider).charge(provider, Outcome.Committed.class);
            assertThat(yes.providerReceiptId()).isEqualTo("ch_1");
            assertThat(yes.output().path("body").path("status").stringValue()).isEqualTo("paid");
            assertThat(provider.seen()).isEqualTo(1);
        }
    }

    @Test
    void a12AStallInTheBodyEndsAtTheStepsTimeout() throws IOException {
        try (FaultServer provider = new FaultServer(c -> {
            c.read();
            c.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{\"id\":");
            c.stall();
        })) {
            HttpCalls calls = HttpCalls.to(provider);
            calls.timeout = Duration.ofSeconds(2);
            long start = System.nanoTime();
            Outcome.OutputLost lost = calls.charge(provider, Outcome.OutputLost.class);
            Duration took = Duration.ofNanos(System.nanoTime() - start);
            // The case says 2.0 s +-0.5; the upper bound leaves room for a busy machine and is still far from the provider's silence.
            assertThat(took).isBetween(Duration.ofMillis(1_990), Duration.ofSeconds(4));
            assertThat(lost.reply().status()).isEqualTo(200);
            assertThat(lost.reply().body()).asString().isEqualTo("{\"id\":");
            assertThat(lost.why()).contains("timed out");
            assertThat(provider.seen()).isEqualTo(1);
        }
    }

    @Test
    void a12ADripOfBytesEndsAtTheStepsTimeout() throws IOException {
        try (FaultServer provider = new FaultServer(c -> {
            c.read();
            c.write("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n");
            // Each byte comes well within any read timeout; only the whole call's deadline ends this.
            c.socket.setSoTimeout(100);
            while (true) {
                c.write(" ");
                try {
                    c.untilClientIsGone();
                } catch (java.net.SocketTimeoutException e) {
                    continue;
                }
                return;
            }
        })) {
            HttpCalls calls = HttpCalls.to(provider);
            calls.timeout = Duration.ofSeconds(1);
            long start = System.nanoTime();
            calls.charge(provider, Outcome.OutputLost.class);
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(5));
        }
    }

    @Test
    void a13AReplyBeyondTheCapIsCommittedAndNotKept() throws IOException {
        String twelveMegabytes = "\"" + "x".repeat(12 * 1024 * 1024) + "\"";
        for (boolean announced : new boolean[] {true, false}) {
            String head = announced
                    ? "HTTP/1.1 200 OK\r\nContent-Length: " + twelveMegabytes.length() + "\r\n\r\n"
                    : "HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n";
            try (FaultServer provider = answering(head + twelveMegabytes)) {
                Outcome.OutputUnusable big = HttpCalls.to(provider).charge(provider, Outcome.OutputUnusable.class);
                assertThat(big.problem().code()).isEqualTo("OUTPUT_TOO_LARGE");
                assertThat(big.problem().retryable()).isFalse();
                assertThat(big.problem().details().path("status").intValue()).isEqualTo(200);
                assertThat(big.problem().details().path("body_truncated").booleanValue()).isTrue();
                assertThat(big.reply().truncated()).isTrue();
                assertThat(big.reply().body()).hasSize(64 * 1024);
                assertThat(provider.seen()).isEqualTo(1);
            }
        }
    }

    @Test
    void a13AReplyOfExactlyTheCapIsKept() throws IOException {
        try (FaultServer provider = answering(json("200 OK", "\"" + "x".repeat(98) + "\""))) {
            HttpCalls calls = HttpCalls.to(provider);
            calls.maxReplyBytes = 100;
            assertThat(calls.charge(provider, Outcome.Committed.class).output().path("body").stringValue()).hasSize(98);
            calls.maxReplyBytes = 99;
            assertThat(calls.charge(provider, Outcome.OutputUnusable.class).reply().body()).hasSize(100);
        }
    }

    @Test
    void a37AReplyNestedTooDeepIsCommittedAndItsBytesAreKept() throws IOException {
        String deep = "[".repeat(20_000) + "]".repeat(20_000);
        try (FaultServer provider = answering(json("200 OK", deep))) {
            Outcome.OutputUnusable outcome = HttpCalls.to(provider).charge(provider, Outcome.OutputUnusable.class);
            assertThat(outcome.problem().code()).isEqualTo("OUTPUT_UNSTORABLE");
            assertThat(outcome.reply().body()).asString().isEqualTo(deep);
            assertThat(provider.seen()).isEqualTo(1);
        }
    }

    /** Statuses on which HTTP libraries like to send again; every one of them, for a POST and for a GET. */
    @Test
    void everyStatusIsOneSend() throws IOException {
        AtomicInteger next = new AtomicInteger();
        try (FaultServer provider = new FaultServer(c -> {
            c.read();
            String headers = "Retry-After: 0\r\nLocation: /again\r\nWWW-Authenticate: Basic realm=x\r\nProxy-Authenticate: Basic realm=x\r\n";
            c.write("HTTP/1.1 " + next.get() + " X\r\nContent-Length: 0\r\n" + headers + "\r\n");
        })) {
            HttpCalls calls = HttpCalls.to(provider);
            int sent = 0;
            for (String method : Set.of("POST", "GET")) {
                for (int status = 200; status <= 599; status++) {
                    next.set(status);
                    String params = "{\"url\":\"" + provider.url("/") + "\",\"method\":\"" + method + "\"}";
                    Outcome outcome = calls.call(params);
                    assertThat(outcome.reply()).as("%s %s: %s", method, status, outcome).isNotNull();
                    assertThat(outcome.reply().status()).isEqualTo(status);
                    assertThat(provider.seen()).as("%s %s", method, status).isEqualTo(++sent);
                }
            }
        }
    }

    @Test
    void a204ThatNamesALengthIsCommittedAllTheSame() throws IOException {
        try (FaultServer provider = answering("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n")) {
            assertThat(HttpCalls.to(provider).charge(provider, Outcome.Committed.class).reply().status()).isEqualTo(204);
        }
    }

    @Test
    void aMappedStatusGoesBeforeTheTable() throws IOException {
        try (FaultServer provider = answering(answer("503 Busy", "Retry-After: 7\r\n", ""))) {
            HttpCalls calls = HttpCalls.to(provider);
            assertThat(calls.charge(provider, Outcome.Unknown.class).reason()).isEqualTo("status_503");
            calls.statusMap = java.util.Map.of(503, "not_applied");
            Outcome.NotApplied later = calls.charge(provider, Outcome.NotApplied.class);
            assertThat(later.problem().retryable()).isTrue();
            assertThat(later.retryAfter()).isEqualTo(Duration.ofSeconds(7));
            calls.statusMap = java.util.Map.of(503, "rejected");
            assertThat(calls.charge(provider, Outcome.NotApplied.class).problem().retryable()).isFalse();
            calls.statusMap = java.util.Map.of(503, "committed");
            calls.charge(provider, Outcome.Committed.class);
        }
    }

    @Test
    void anAnswerThatMayMeanAlreadyDoneIsUnknownBehindAnUnknown() throws IOException {
        for (int status : new int[] {404, 409, 410, 412, 422}) {
            try (FaultServer provider = answering(answer(status + " X", "", ""))) {
                HttpCalls calls = HttpCalls.to(provider);
                calls.earlierUnknown = true;
                assertThat(calls.charge(provider, Outcome.Unknown.class).reason()).isEqualTo("status_" + status);
            }
        }
    }

    private static HttpCalls allowing(String hostPort) {
        return new HttpCalls(AddressPolicy.publicOnly().allow(hostPort), dev.waybill.transport.Resolver.SYSTEM);
    }

    private static void unreachable(Outcome outcome) {
        Outcome.NotApplied no = (Outcome.NotApplied) outcome;
        assertThat(no.proof()).isEqualTo(Proof.NOT_SENT);
        assertThat(no.problem().code()).isEqualTo("DESTINATION_UNREACHABLE");
        assertThat(no.problem().retryable()).isTrue();
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.ofLiteral("127.0.0.1"))) {
            return socket.getLocalPort();
        }
    }

    @Test
    void aFramingHeaderWithAStrayCharacterProvesNoBody() throws IOException {
        for (String stray : new String[] {"\rContent-Length: 3", "Content-Length\u000b: 3", "Transfer-Encoding : chunked"}) {
            try (FaultServer provider = answering("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n" + stray + "\r\n\r\n")) {
                assertThat(HttpCalls.to(provider).call(HttpCalls.post(provider.url("/charge")))).as(stray).isInstanceOf(Outcome.OutputLost.class);
            }
        }
    }

    @Test
    void a29AKeyThatTheClientWouldTrimIsRefused() throws IOException {
        try (FaultServer provider = answering(answer("200 OK", "", ""))) {
            for (String key : new String[] {"k\u00a0", "\u2003k", "k\u3000 "}) {
                HttpCalls calls = HttpCalls.to(provider);
                calls.key = key;
                assertThat(calls.refused(HttpCalls.post(provider.url("/charge"))).code()).isEqualTo("PARAM_INVALID");
            }
            assertThat(provider.connections()).isZero();
        }
    }
}
