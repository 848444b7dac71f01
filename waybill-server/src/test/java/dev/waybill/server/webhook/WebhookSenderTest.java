package dev.waybill.server.webhook;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import dev.waybill.json.Json;
import dev.waybill.store.StoreException;
import dev.waybill.store.WebhookStore;
import dev.waybill.store.WebhookStore.WebhookEndpoint;
import dev.waybill.store.sqlite.SqliteConfig;
import dev.waybill.store.sqlite.SqliteStore;
import dev.waybill.transport.AddressPolicy;
import dev.waybill.transport.HttpTransport;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Events reach a real receiver from a real store: signed, in order, at least once, by one sender at a time. */
class WebhookSenderTest {
    private static final String TENANT = "acme";
    private static final UUID ID = new UUID(1, 1);
    private static final String SECRET = StandardWebhook.secret("0123456789abcdef0123456789abcdef".getBytes(StandardCharsets.UTF_8));

    private record Got(String id, String timestamp, String signature, String body) {}

    @TempDir
    Path directory;

    private final List<Got> got = new CopyOnWriteArrayList<>();
    private final AtomicInteger answer = new AtomicInteger(204);
    private final AtomicReference<Instant> now = new AtomicReference<>(Instant.parse("2026-11-30T12:00:00Z"));
    private final List<WebhookSender> senders = new ArrayList<>();
    private HttpServer receiver;
    private SqliteStore store;

    @BeforeEach
    void open() throws IOException {
        receiver = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        receiver.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
        receiver.createContext("/", this::receive);
        receiver.start();
        store = new SqliteStore(SqliteConfig.of(directory.resolve("w.db")), now::get);
        store.migrate();
    }

    @AfterEach
    void close() {
        senders.forEach(WebhookSender::close);
        receiver.stop(0);
        store.close();
    }

    private void receive(HttpExchange exchange) throws IOException {
        try (exchange) {
            var head = exchange.getRequestHeaders();
            got.add(new Got(
                    head.getFirst("webhook-id"), head.getFirst("webhook-timestamp"), head.getFirst("webhook-signature"),
                    new String(exchange.getRequestBody().readAllBytes(), StandardCharsets.UTF_8)));
            if (answer.get() == 302) {
                exchange.getResponseHeaders().add("Location", "/elsewhere");
            }
            exchange.sendResponseHeaders(answer.get(), -1);
        }
    }

    private WebhookStore webhooks() {
        return store.webhooks().orElseThrow();
    }

    private WebhookEndpoint row() {
        return webhooks().get(TENANT, ID).orElseThrow();
    }

    private void endpoint() {
        webhooks().add(TENANT, ID, "http://127.0.0.1:" + receiver.getAddress().getPort() + "/in", Set.of("effect.unknown"), SECRET, null);
    }

    private HttpTransport transport() {
        return new HttpTransport(AddressPolicy.fromConfig(List.of("127.0.0.1:" + receiver.getAddress().getPort()), false));
    }

    private WebhookSender sender(WebhookStore over, Duration... delays) {
        WebhookSender sender =
                new WebhookSender(over, store.queries(), transport(), now::get, new Random(senders.size()), List.of(delays)).start();
        senders.add(sender);
        return sender;
    }

    private void events(String tenant, String type, int from, int to) throws SQLException {
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + directory.resolve("w.db"));
                PreparedStatement insert = connection.prepareStatement(
                        "INSERT INTO events (tenant_id, instance_id, type, subject, at, payload) VALUES (?, zeroblob(16), ?, 'e', 1000000, ?)")) {
            for (int i = from; i < to; i++) {
                insert.setString(1, tenant);
                insert.setString(2, type);
                insert.setString(3, "{\"n\":" + i + "}");
                insert.executeUpdate();
            }
        }
    }

    private List<Integer> numbers() {
        return got.stream().map(it -> Json.parse(it.body).path("data").path("n").asInt()).toList();
    }

    private static String signature(String secret, Got message) throws Exception {
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(Base64.getDecoder().decode(secret.substring("whsec_".length())), "HmacSHA256"));
        return "v1," + Base64.getEncoder().encodeToString(
                mac.doFinal((message.id + "." + message.timestamp + "." + message.body).getBytes(StandardCharsets.UTF_8)));
    }

    @Test
    void whatWasAskedForArrivesSignedAndOnceAndNothingElseDoes() throws Exception {
        endpoint();
        events("globex", "effect.unknown", 90, 91);
        events(TENANT, "instance.completed", 91, 92);
        events(TENANT, "effect.unknown", 1, 3);
        events(TENANT, "instance.completed", 92, 93);
        sender(webhooks());

        await().until(() -> "5".equals(row().cursor()));
        assertThat(numbers()).containsExactly(1, 2);
        for (Got message : got) {
            assertThat(message.signature).isEqualTo(signature(SECRET, message));
            assertThat(message.timestamp).isEqualTo(Long.toString(now.get().getEpochSecond()));
            assertThat(Json.parse(message.body).path("type").asString()).isEqualTo("effect.unknown");
            assertThat(Json.parse(message.body).path("timestamp").asString()).isEqualTo("1970-01-01T00:00:01Z");
        }
        assertThat(got).extracting(Got::id).doesNotHaveDuplicates();
    }

    @Test
    void duringARotationBothSecretsSignAndAfterwardsTheNewOneAlone() throws Exception {
        endpoint();
        String fresh = StandardWebhook.secret(new byte[32]);
        webhooks().rotate(TENANT, ID, fresh, Webhooks.GRACE);
        events(TENANT, "effect.unknown", 1, 2);
        sender(webhooks());
        await().until(() -> "1".equals(row().cursor()));
        assertThat(got.getFirst().signature.split(" ")).containsExactly(signature(fresh, got.getFirst()), signature(SECRET, got.getFirst()));

        now.updateAndGet(it -> it.plus(Webhooks.GRACE).plusSeconds(1));
        events(TENANT, "effect.unknown", 2, 3);
        await().until(() -> "2".equals(row().cursor()));
        assertThat(got.getLast().signature).isEqualTo(signature(fresh, got.getLast()));
    }

    /** As a kill -9 between the receiver's yes and the cursor: the claim stays, its time runs out, another node sends again. */
    @Test
    void whatWasSentButNotNotedIsSentAgainUnderTheSameId() throws Exception {
        endpoint();
        events(TENANT, "effect.unknown", 1, 2);
        WebhookSender dying = sender(dyingAtAdvance());
        await().until(() -> got.size() == 1);
        dying.close();
        sender(webhooks());
        assertThat(webhooks().due()).isEmpty();

        now.updateAndGet(it -> it.plus(Duration.ofMinutes(2)));
        await().until(() -> "1".equals(row().cursor()));
        assertThat(got).hasSize(2);
        assertThat(got.get(0).id).isEqualTo(got.get(1).id);
        assertThat(got.get(0).body).isEqualTo(got.get(1).body);
        assertThat(got.get(0).timestamp).isNotEqualTo(got.get(1).timestamp);
    }

    private WebhookStore dyingAtAdvance() {
        return (WebhookStore) Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] {WebhookStore.class}, (_, method, arguments) -> {
            if (method.getName().equals("advance")) {
                throw new StoreException("the process is gone", new IllegalStateException());
            }
            try {
                return method.invoke(webhooks(), arguments);
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        });
    }

    @Test
    void manySendersSendEachEventOnceAndInOrder() throws Exception {
        endpoint();
        for (int i = 0; i < 4; i++) {
            sender(webhooks());
        }
        events(TENANT, "effect.unknown", 0, 60);
        senders.forEach(WebhookSender::hint);
        await().until(() -> "60".equals(row().cursor()));
        assertThat(numbers()).containsExactlyElementsOf(IntStream.range(0, 60).boxed().toList());
    }

    @Test
    void aReceiverThatIsDownIsTriedAgainThenParkedAndAReplayGoesOnWhereItStood() throws Exception {
        endpoint();
        answer.set(503);
        events(TENANT, "effect.unknown", 1, 3);
        sender(webhooks(), Duration.ofSeconds(5), Duration.ofHours(1));
        await().until(() -> row().failures() == 1);
        assertThat(row().parked()).isFalse();
        assertThat(row().dueAt()).isBetween(now.get().plusSeconds(5), now.get().plusSeconds(6));
        now.updateAndGet(it -> it.plusSeconds(6));
        await().until(() -> row().failures() == 2);
        now.updateAndGet(it -> it.plus(Duration.ofHours(2)));
        await().until(() -> row().parked());
        assertThat(numbers()).containsExactly(1, 1, 1);
        assertThat(got).extracting(Got::id).containsOnly(got.getFirst().id);
        assertThat(row().lastError()).isEqualTo("answered 503");

        answer.set(200);
        new Webhooks(store.webhooks(), store.queries(), transport(), now::get, new Random(1)).replay(TENANT, ID, Webhooks.From.HERE);
        await().until(() -> "2".equals(row().cursor()));
        assertThat(numbers()).containsExactly(1, 1, 1, 1, 2);
        assertThat(row().failures()).isZero();
    }

    @Test
    void aReplayMaySkipTheEventThatIsRefusedOrBeginAnew() throws Exception {
        endpoint();
        answer.set(410);
        events(TENANT, "effect.unknown", 1, 3);
        sender(webhooks(), Duration.ofHours(1));
        await().until(() -> row().parked());
        answer.set(200);
        Webhooks webhooks = new Webhooks(store.webhooks(), store.queries(), transport(), now::get, new Random(1));
        webhooks.replay(TENANT, ID, Webhooks.From.SKIP);
        await().until(() -> "2".equals(row().cursor()));
        assertThat(numbers()).containsExactly(1, 2);
        webhooks.replay(TENANT, ID, Webhooks.From.BEGINNING);
        await().until(() -> got.size() == 4);
        assertThat(numbers()).containsExactly(1, 2, 1, 2);
    }

    @Test
    void aRedirectIsNotFollowedAndAnAddressThatIsClosedIsNotDialled() throws Exception {
        endpoint();
        answer.set(302);
        events(TENANT, "effect.unknown", 1, 2);
        sender(webhooks(), Duration.ofHours(1));
        await().until(() -> row().failures() == 1);
        assertThat(got).hasSize(1);
        assertThat(row().lastStatus()).isEqualTo(302);

        WebhookSender strict = new WebhookSender(
                webhooks(), store.queries(), new HttpTransport(AddressPolicy.publicOnly()), now::get, new Random(9), List.of());
        senders.forEach(WebhookSender::close);
        senders.add(strict.start());
        webhooks().restart(TENANT, ID, null);
        await().until(() -> row().parked());
        assertThat(got).hasSize(1);
        assertThat(row().lastError()).contains("127.0.0.1");
    }
}
