package dev.waybill.transport;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.transport.WireAnswer.Completeness;
import dev.waybill.transport.WireAnswer.Phase;
import java.io.IOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import javax.net.ServerSocketFactory;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509TrustManager;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** How far a request got, on real sockets: the phase is a fact about bytes and never a guess from an exception. */
@Timeout(60)
class HttpTransportTest {
    private static final byte[] BODY = "{\"amount\":5}".getBytes();
    private static final Duration LONG = Duration.ofSeconds(30);

    @Test
    void aLateLastLookSendsZeroBytes() throws Exception {
        AtomicInteger first = new AtomicInteger(-2);
        CountDownLatch over = new CountDownLatch(1);
        try (FaultServer provider = new FaultServer(c -> {
            first.set(c.socket.getInputStream().read());
            over.countDown();
        })) {
            WireAnswer answer = send(provider, "http", BODY, LONG, () -> true);
            assertThat(answer.phase()).isEqualTo(Phase.NOT_SENT);
            assertThat(answer.stop()).isEqualTo(WireAnswer.STOP_LATE);
            assertThat(over.await(10, TimeUnit.SECONDS)).isTrue();
            assertThat(first).as("end of stream, not a byte").hasValue(-1);
            assertThat(provider.connections()).isEqualTo(1);
        }
    }

    /** The note comes after the last look and before the first byte; over TLS before the first byte of the request, not of the handshake. */
    @Test
    void theFirstByteIsToldOnceBeforeItLeaves(@TempDir Path dir) throws Exception {
        Authority authority = Authority.create(dir, "SAN=ip:127.0.0.1");
        for (String scheme : List.of("http", "https")) {
            List<String> order = new CopyOnWriteArrayList<>();
            FaultServer.Script script = c -> {
                c.read();
                order.add("arrived");
                c.write(FaultServer.json("200 OK", "{}"));
            };
            try (FaultServer provider = scheme.equals("http") ? new FaultServer(script) : new FaultServer(script, authority.server())) {
                HttpTransport transport = transport(provider, authority.tls());
                WireRequest request = request(transport, scheme + "://" + provider.hostPort() + "/", new byte[100_000], LONG, () -> {
                    order.add("last look");
                    return false;
                });
                WireAnswer answer = transport.send(telling(request, () -> order.add("first byte")));
                assertThat(answer.phase()).isEqualTo(Phase.ANSWERED);
                assertThat(order).as(scheme).containsExactly("last look", "first byte", "arrived");
            }
        }
    }

    @Test
    void whatCannotBeNotedIsNotSent() throws Exception {
        AtomicInteger first = new AtomicInteger(-2);
        CountDownLatch over = new CountDownLatch(1);
        try (FaultServer provider = new FaultServer(c -> {
            first.set(c.socket.getInputStream().read());
            over.countDown();
        })) {
            HttpTransport transport = transport(provider, HttpTransport.Tls.system());
            WireRequest request = request(transport, "http://" + provider.hostPort() + "/", BODY, LONG, () -> false);
            WireAnswer answer = transport.send(telling(request, () -> {
                throw new IllegalStateException("the engine is closed");
            }));
            assertThat(answer.phase()).isEqualTo(Phase.NOT_SENT);
            assertThat(answer.stop()).isEqualTo(WireAnswer.STOP_INTERRUPTED);
            assertThat(over.await(10, TimeUnit.SECONDS)).isTrue();
            assertThat(first).as("end of stream, not a byte").hasValue(-1);
        }
    }

    private static WireRequest telling(WireRequest r, Runnable firstByte) {
        return new WireRequest(
                r.destination(), r.method(), r.headers(), r.body(), r.timeout(), r.maxReplyBytes(), r.late(), firstByte);
    }

    @Test
    void theLastLookIsAskedOnceAndBeforeAnythingArrives() throws Exception {
        AtomicInteger asked = new AtomicInteger();
        try (FaultServer provider = FaultServer.answering(FaultServer.json("200 OK", "{}"))) {
            WireAnswer answer = send(provider, "http", new byte[100_000], LONG, () -> {
                asked.incrementAndGet();
                return provider.seen() > 0;
            });
            assertThat(answer.phase()).isEqualTo(Phase.ANSWERED);
            assertThat(asked).hasValue(1);
        }
    }

    @Test
    void aServerThatNeverReadsA20MegabyteBodyEndsAtTheDeadlineAndIsUnknown() throws Exception {
        try (FaultServer provider = new FaultServer(FaultServer.Connection::stall)) {
            long start = System.nanoTime();
            WireAnswer answer = send(provider, "http", new byte[20 * 1024 * 1024], Duration.ofSeconds(1), () -> false);
            assertThat(answer.phase()).isEqualTo(Phase.MAYBE_SENT);
            assertThat(answer.stop()).isEqualTo(WireAnswer.STOP_TIMEOUT);
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(10));
        }
    }

    @Test
    void interimAnswersAloneAreNoAnswer() throws Exception {
        String interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n";
        try (FaultServer provider = FaultServer.answering(interim)) {
            WireAnswer answer = send(provider, "http", BODY, LONG, () -> false);
            assertThat(answer.phase()).isEqualTo(Phase.MAYBE_SENT);
            assertThat(answer.stop()).isEqualTo(WireAnswer.STOP_CLOSED);
            assertThat(provider.seen()).isEqualTo(1);
        }
        try (FaultServer provider = FaultServer.answering(interim.repeat(300) + FaultServer.json("201 Created", "{}"))) {
            WireAnswer answer = send(provider, "http", BODY, LONG, () -> false);
            assertThat(answer.status()).isEqualTo(201);
            assertThat(answer.completeness()).isEqualTo(Completeness.COMPLETE);
        }
    }

    @Test
    void aSwitchOfProtocolsIsNoYes() throws Exception {
        try (FaultServer provider =
                FaultServer.answering("HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n")) {
            assertThat(send(provider, "http", BODY, LONG, () -> false).status()).isEqualTo(101);
        }
    }

    @Test
    void aResetAfterTheRequestIsUnknown() throws Exception {
        try (FaultServer provider = new FaultServer(c -> {
            c.read();
            c.reset();
        })) {
            WireAnswer answer = send(provider, "http", BODY, LONG, () -> false);
            assertThat(answer.phase()).isEqualTo(Phase.MAYBE_SENT);
            assertThat(answer.stop()).isEqualTo(WireAnswer.STOP_RESET);
        }
    }

    @Test
    void anAnswerThatComesBeforeTheWholeBodyWasReadCounts() throws Exception {
        try (FaultServer provider = new FaultServer(c -> {
            c.write("HTTP/1.1 413 Too Big\r\nContent-Length: 0\r\n\r\n");
            c.socket.shutdownOutput();
            c.untilClientIsGone();
        })) {
            assertThat(send(provider, "http", new byte[1024 * 1024], LONG, () -> false).status()).isEqualTo(413);
        }
    }

    @Test
    void anInterruptDuringTheHandshakeHasSentNothing() throws Exception {
        CountDownLatch accepted = new CountDownLatch(1);
        try (FaultServer provider = new FaultServer(c -> {
            accepted.countDown();
            c.stall();
        })) {
            WireAnswer answer = interruptedAfter(accepted, provider, "https", BODY);
            assertThat(answer.phase()).isEqualTo(Phase.NOT_SENT);
            assertThat(answer.stop()).isEqualTo(WireAnswer.STOP_INTERRUPTED);
        }
    }

    @Test
    void anInterruptBeforeTheCallHasSentNothing() throws Exception {
        try (FaultServer provider = FaultServer.answering(FaultServer.json("200 OK", "{}"))) {
            Thread.currentThread().interrupt();
            WireAnswer answer = send(provider, "http", BODY, LONG, () -> false);
            assertThat(Thread.currentThread().isInterrupted()).isFalse();
            assertThat(answer.phase()).isEqualTo(Phase.NOT_SENT);
            assertThat(answer.stop()).isEqualTo(WireAnswer.STOP_INTERRUPTED);
            assertThat(provider.seen()).isZero();
        }
    }

    @Test
    void anInterruptWhileTheBodyIsBeingWrittenIsUnknown() throws Exception {
        CountDownLatch accepted = new CountDownLatch(1);
        try (FaultServer provider = new FaultServer(c -> {
            // One byte of the request is here, so some have left; the rest is never read.
            c.socket.getInputStream().read();
            accepted.countDown();
            c.stall();
        })) {
            WireAnswer answer = interruptedAfter(accepted, provider, "http", new byte[20 * 1024 * 1024]);
            assertThat(answer.phase()).isEqualTo(Phase.MAYBE_SENT);
            assertThat(answer.stop()).isEqualTo(WireAnswer.STOP_INTERRUPTED);
        }
    }

    @Test
    void anInterruptWhileWaitingForTheAnswerIsUnknown() throws Exception {
        CountDownLatch read = new CountDownLatch(1);
        try (FaultServer provider = new FaultServer(c -> {
            c.read();
            read.countDown();
            c.stall();
        })) {
            WireAnswer answer = interruptedAfter(read, provider, "http", BODY);
            assertThat(answer.phase()).isEqualTo(Phase.MAYBE_SENT);
            assertThat(answer.stop()).isEqualTo(WireAnswer.STOP_INTERRUPTED);
        }
    }

    @Test
    void anInterruptWithinTheAnswersBodyKeepsTheStatus() throws Exception {
        CountDownLatch written = new CountDownLatch(1);
        try (FaultServer provider = new FaultServer(c -> {
            c.read();
            c.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{");
            written.countDown();
            c.stall();
        })) {
            WireAnswer answer = interruptedAfter(written, provider, "http", BODY);
            // The head may still be on its way when the interrupt comes; then it is unknown, and never not sent.
            if (answer.phase() == Phase.ANSWERED) {
                assertThat(answer.status()).isEqualTo(200);
                assertThat(answer.completeness()).isEqualTo(Completeness.CUT);
            } else {
                assertThat(answer.phase()).isEqualTo(Phase.MAYBE_SENT);
            }
            assertThat(answer.stop()).isEqualTo(WireAnswer.STOP_INTERRUPTED);
        }
    }

    @Test
    void aHandshakeThatNeverEndsIsNotSent() throws Exception {
        try (FaultServer provider = new FaultServer(FaultServer.Connection::stall)) {
            WireAnswer answer = send(provider, "https", BODY, Duration.ofMillis(300), () -> false);
            assertThat(answer.phase()).isEqualTo(Phase.NOT_SENT);
            assertThat(answer.stop()).isEqualTo(WireAnswer.STOP_TIMEOUT);
        }
    }

    @Test
    void theNextAddressIsTriedWhileNothingWasSent() throws Exception {
        try (FaultServer provider = FaultServer.answering(FaultServer.json("200 OK", "{}"))) {
            List<InetSocketAddress> dialled = new CopyOnWriteArrayList<>();
            String pair = "stub.test:" + provider.port();
            HttpTransport transport = new HttpTransport(
                    AddressPolicy.publicOnly().allow(pair),
                    host -> List.of(InetAddress.ofLiteral("127.0.0.2"), InetAddress.ofLiteral("127.0.0.1")),
                    HttpTransport.Tls.system(),
                    dialled::add);
            WireAnswer answer = transport.send(request(transport, "http://" + pair + "/", BODY, LONG, () -> false));
            assertThat(answer.status()).isEqualTo(200);
            assertThat(dialled).extracting(a -> a.getAddress().getHostAddress()).containsExactly("127.0.0.2", "127.0.0.1");
            assertThat(provider.request().header("host")).isEqualTo(pair);
        }
    }

    @Test
    void systemProxySettingsAreNotAsked() throws Exception {
        try (FaultServer proxy = new FaultServer(FaultServer.Connection::read);
                FaultServer provider = FaultServer.answering(FaultServer.json("200 OK", "{}"))) {
            List<String> names = List.of("http.proxyHost", "http.proxyPort", "socksProxyHost", "socksProxyPort", "http.nonProxyHosts");
            System.setProperty("http.proxyHost", "127.0.0.1");
            System.setProperty("http.proxyPort", String.valueOf(proxy.port()));
            System.setProperty("socksProxyHost", "127.0.0.1");
            System.setProperty("socksProxyPort", String.valueOf(proxy.port()));
            System.setProperty("http.nonProxyHosts", "");
            try {
                assertThat(send(provider, "http", BODY, LONG, () -> false).status()).isEqualTo(200);
                assertThat(proxy.connections()).isZero();
            } finally {
                names.forEach(System::clearProperty);
            }
        }
    }

    @Test
    void overTlsTheSameFactsHold(@TempDir Path dir) throws Exception {
        Authority authority = Authority.create(dir, "san=dns:localhost,ip:127.0.0.1");
        AtomicBoolean answer = new AtomicBoolean(true);
        FaultServer.Script script = c -> {
            c.read();
            if (answer.get()) c.write(FaultServer.json("200 OK", "{}"));
        };
        try (FaultServer provider = new FaultServer(script, authority.server())) {
            HttpTransport transport = transport(provider, authority.tls());
            String url = "https://" + provider.hostPort() + "/";
            assertThat(transport.send(request(transport, url, BODY, LONG, () -> false)).status()).isEqualTo(200);
            assertThat(provider.request().body()).isEqualTo(BODY);

            WireAnswer late = transport.send(request(transport, url, BODY, LONG, () -> true));
            assertThat(late.phase()).isEqualTo(Phase.NOT_SENT);
            assertThat(provider.seen()).isEqualTo(1);

            answer.set(false);
            WireAnswer closed = transport.send(request(transport, url, BODY, LONG, () -> false));
            assertThat(closed.phase()).isEqualTo(Phase.MAYBE_SENT);
            assertThat(closed.stop()).isEqualTo(WireAnswer.STOP_CLOSED);
            assertThat(provider.seen()).isEqualTo(2);

            // Nobody vouches for this certificate: the handshake fails, nothing was sent.
            WireAnswer untrusted = send(provider, "https", BODY, LONG, () -> false);
            assertThat(untrusted.phase()).isEqualTo(Phase.NOT_SENT);
            assertThat(untrusted.stop()).isEqualTo(WireAnswer.STOP_UNREACHABLE);
            assertThat(provider.seen()).isEqualTo(2);
        }
    }

    @Test
    void aCertificateForAnotherHostIsNotSent(@TempDir Path dir) throws Exception {
        Authority authority = Authority.create(dir, "san=dns:elsewhere.test");
        try (FaultServer provider = new FaultServer(FaultServer.Connection::read, authority.server())) {
            HttpTransport transport = transport(provider, authority.tls());
            WireAnswer answer = transport.send(request(transport, "https://" + provider.hostPort() + "/", BODY, LONG, () -> false));
            assertThat(answer.phase()).isEqualTo(Phase.NOT_SENT);
            assertThat(provider.seen()).isZero();
        }
    }

    @Test
    void aSocketDialsOnlyWhatWasVetted() throws Exception {
        try (FaultServer provider = FaultServer.answering(FaultServer.json("200 OK", "{}"))) {
            HttpTransport transport = transport(provider, HttpTransport.Tls.system());
            WireRequest request = request(transport, provider.url("/"), BODY, LONG, () -> false);
            Wire wire = new Wire(request, address -> {});
            try (Socket socket = wire.sockets().createSocket()) {
                InetSocketAddress other = new InetSocketAddress(Inet4Address.ofLiteral("127.0.0.2"), provider.port());
                assertThat(catching(() -> socket.connect(other, 1_000))).hasMessageContaining("not vetted");
            }
            assertThat(catching(() -> wire.lookup("other.test"))).isInstanceOf(IOException.class);
            wire.takePermit();
            assertThat(catching(wire::takePermit)).hasMessageContaining("second send");
            assertThat(provider.connections()).isZero();
        }
    }

    private interface Failing {
        void run() throws Exception;
    }

    private static Exception catching(Failing action) {
        try {
            action.run();
            return null;
        } catch (Exception e) {
            return e;
        }
    }

    private static WireAnswer interruptedAfter(CountDownLatch reached, FaultServer provider, String scheme, byte[] body) throws Exception {
        return onVirtualThread(reached, () -> send(provider, scheme, body, LONG, () -> false));
    }

    private interface Sending {
        WireAnswer send() throws Exception;
    }

    /** Interrupts the sender once {@code reached}; it must come back, with its interrupt consumed. */
    private static WireAnswer onVirtualThread(CountDownLatch reached, Sending sending) throws Exception {
        CompletableFuture<WireAnswer> result = new CompletableFuture<>();
        Thread sender = Thread.ofVirtual().start(() -> {
            try {
                WireAnswer answer = sending.send();
                assertThat(Thread.currentThread().isInterrupted()).isFalse();
                result.complete(answer);
            } catch (Exception | AssertionError e) {
                result.completeExceptionally(e);
            }
        });
        assertThat(reached.await(20, TimeUnit.SECONDS)).isTrue();
        sender.interrupt();
        return result.get(20, TimeUnit.SECONDS);
    }

    private static WireAnswer send(FaultServer provider, String scheme, byte[] body, Duration timeout, BooleanSupplier late) {
        HttpTransport transport = transport(provider, HttpTransport.Tls.system());
        return transport.send(request(transport, scheme + "://" + provider.hostPort() + "/", body, timeout, late));
    }

    private static HttpTransport transport(FaultServer provider, HttpTransport.Tls tls) {
        return new HttpTransport(AddressPolicy.publicOnly().allow(provider.hostPort()), Resolver.SYSTEM, tls, address -> {});
    }

    private static WireRequest request(HttpTransport transport, String url, byte[] body, Duration timeout, BooleanSupplier late) {
        Destination destination = ((AddressPolicy.Verdict.Allowed) transport.vet(url)).destination();
        return new WireRequest(destination, "POST", List.of(), body, timeout, 1024 * 1024, late, () -> {});
    }

    /** A self-signed certificate made by the JDK's keytool, for a server and for those who trust it. */
    private record Authority(ServerSocketFactory server, HttpTransport.Tls tls) {
        static Authority create(Path dir, String subjectAlternativeName) throws Exception {
            Path file = dir.resolve("keys.p12");
            Path keytool = Path.of(System.getProperty("java.home"), "bin", "keytool");
            Process process = new ProcessBuilder(
                            keytool.toString(), "-genkeypair", "-alias", "a", "-keyalg", "EC", "-storetype", "PKCS12", "-keystore",
                            file.toString(), "-storepass", "changeit", "-dname", "CN=localhost", "-ext", subjectAlternativeName)
                    .redirectErrorStream(true)
                    .start();
            String said = new String(process.getInputStream().readAllBytes());
            assertThat(process.waitFor()).as(said).isZero();
            KeyStore keys = KeyStore.getInstance("PKCS12");
            try (var in = Files.newInputStream(file)) {
                keys.load(in, "changeit".toCharArray());
            }
            KeyManagerFactory own = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
            own.init(keys, "changeit".toCharArray());
            KeyStore trusted = KeyStore.getInstance("PKCS12");
            trusted.load(null, null);
            trusted.setCertificateEntry("a", keys.getCertificate("a"));
            TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            trust.init(trusted);
            SSLContext context = SSLContext.getInstance("TLS");
            context.init(own.getKeyManagers(), trust.getTrustManagers(), null);
            return new Authority(
                    context.getServerSocketFactory(),
                    new HttpTransport.Tls(context.getSocketFactory(), (X509TrustManager) trust.getTrustManagers()[0]));
        }
    }
}
