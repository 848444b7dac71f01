package dev.waybill.test;

import static dev.waybill.test.FaultProxy.Direction.ANSWER;
import static dev.waybill.test.FaultProxy.Direction.REQUEST;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.net.ConnectException;
import java.net.SocketException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.RegisterExtension;

class FaultProxyTest {
    private static final String BODY = "{\"amount\":5}";

    @RegisterExtension
    static final ProviderExtension acme = new ProviderExtension();

    private FaultProxy proxy;
    private RawClient client;

    @BeforeEach
    void connect() throws IOException {
        proxy = FaultProxy.to("127.0.0.1", acme.get().port());
        client = new RawClient(proxy.port());
    }

    @AfterEach
    void close() throws IOException {
        client.close();
        proxy.close();
    }

    @Test
    void aSoundProxyChangesNothing() throws IOException {
        assertThat(client.post("/charges", BODY).readReply().status()).isEqualTo(201);
        assertThat(client.post("/charges", BODY).readReply().body()).contains("ch_02");
        assertThat(proxy.connections()).isEqualTo(1);
        assertThat(proxy.bytes(REQUEST)).isGreaterThan(2L * BODY.length());
        assertThat(client.post("/charges", BODY, "Connection: close").readToEnd()).contains("ch_03");
        client.close();
        await().until(() -> proxy.openLinks() == 0);
    }

    @Test
    void aStalledRequestArrivesWhenTheNetworkHeals() throws IOException {
        proxy.stall(REQUEST, ANSWER);
        client.post("/charges", BODY);
        assertThat(client.available()).isZero();
        assertThat(acme.get().seen()).isZero();
        proxy.heal();
        assertThat(client.readReply().status()).isEqualTo(201);
    }

    @Test
    void aStalledAnswerLeavesTheRequestBooked() throws IOException {
        proxy.stall(ANSWER);
        client.post("/charges", BODY);
        await().until(() -> acme.get().applied() == 1);
        assertThat(proxy.bytes(ANSWER)).isZero();
        proxy.heal();
        assertThat(client.readReply().status()).isEqualTo(201);
    }

    @Test
    void aDroppedAnswerIsGoneForGood() throws IOException {
        proxy.drop(ANSWER);
        client.post("/charges", BODY);
        await().until(() -> acme.get().ledger().size() == 3);
        client.post("/charges", BODY, "Connection: close");
        assertThat(client.readToEnd()).isEmpty();
        assertThat(acme.get().applied()).isEqualTo(2);
    }

    @Test
    void aDelayedLinkStillDelivers() throws IOException {
        proxy.delay(Duration.ofMillis(50));
        long start = System.nanoTime();
        assertThat(client.post("/charges", BODY).readReply().status()).isEqualTo(201);
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isGreaterThanOrEqualTo(Duration.ofMillis(100));
    }

    @Test
    void resetReachesBothSides() throws IOException {
        acme.get().script(Rule.onAny().then(Behaviour.swallow()));
        client.post("/charges", BODY);
        await().until(() -> acme.get().deliveries().size() == 1);
        proxy.reset();
        assertThatThrownBy(client::readToEnd).isInstanceOf(SocketException.class);
        assertThat(proxy.openLinks()).isZero();
    }

    @Test
    void aServersResetIsNotTurnedIntoAnEnd() throws IOException {
        acme.get().script(Rule.onAny().then(Behaviour.applyThenDrop()));
        client.post("/charges", BODY);
        assertThatThrownBy(client::readToEnd).isInstanceOf(SocketException.class);
    }

    @Test
    void aRequestCutAfterSomeBytesIsSeenAndNeverComplete() throws IOException {
        String request = "POST /charges HTTP/1.1\r\nHost: acme\r\nContent-Length: 12\r\n\r\n";
        proxy.cutAfter(REQUEST, request.length() + 5L);
        client.send(request + BODY);
        assertThatThrownBy(client::readToEnd).isInstanceOf(SocketException.class);
        assertThat(proxy.bytes(REQUEST)).isEqualTo(request.length() + 5L);
        assertThat(proxy.cuts()).isEqualTo(1);
        assertThat(acme.get().deliveries()).isEmpty();
    }

    @Test
    void anAnswerIsCutAfterExactlySoManyBytes() throws IOException {
        proxy.cutAfter(ANSWER, 10);
        client.post("/charges", BODY);
        assertThat(client.read(10)).isEqualTo("HTTP/1.1 2");
        assertThatThrownBy(client::readToEnd).isInstanceOf(SocketException.class);
        assertThat(acme.get().applied()).isEqualTo(1);
    }

    @Test
    void aLinkIsCutRightBeforeAPatternEvenWhenItComesInPieces() throws IOException {
        proxy.cutAt(REQUEST, "COMMIT".getBytes(StandardCharsets.US_ASCII));
        client.post("/charges", "{\"note\":\"COM\"}");
        assertThat(client.readReply().status()).isEqualTo(201);
        long before = proxy.bytes(REQUEST);
        client.send("COM");
        await().until(() -> proxy.bytes(REQUEST) == before + 3);
        client.send("MIT and more");
        assertThatThrownBy(client::readToEnd).isInstanceOf(SocketException.class);
        assertThat(proxy.bytes(REQUEST)).isEqualTo(before + 3);
    }

    @Test
    void halfCloseEndsOneDirectionOnly() throws IOException {
        acme.get().script(Rule.onAny().then(Behaviour.pauseAfterBooking()));
        client.post("/charges", BODY);
        await().until(() -> acme.get().applied() == 1);
        proxy.halfClose(ANSWER);
        assertThat(client.readToEnd()).isEmpty();
        acme.get().releaseAll();
        await().until(() -> acme.get().ledger().size() == 3);
        client.post("/charges", BODY);
        await().until(() -> acme.get().applied() == 2);
    }

    @Test
    void refusedConnectionsAreRefusedByTheKernelAndTheOldOnesGoOn() throws IOException {
        client.get("/health").readReply();
        proxy.refuse();
        assertThatThrownBy(() -> new RawClient(proxy.port())).isInstanceOf(ConnectException.class);
        assertThat(client.get("/health").readReply().status()).isEqualTo(200);
        proxy.heal();
        try (var next = new RawClient(proxy.port())) {
            assertThat(next.get("/health").readReply().status()).isEqualTo(200);
        }
    }

    @Test
    void aTargetThatIsDownLooksLikeAReset() throws IOException {
        try (var toNowhere = FaultProxy.to("127.0.0.1", Ports.free());
                var lost = new RawClient(toNowhere.port())) {
            assertThatThrownBy(lost::readToEnd).isInstanceOf(SocketException.class);
        }
    }
}
