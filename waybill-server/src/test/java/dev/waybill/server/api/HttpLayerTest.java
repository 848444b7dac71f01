package dev.waybill.server.api;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.waybill.server.ApiKeys;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.http.HttpRequest;
import java.nio.charset.StandardCharsets;
import java.time.InstantSource;
import java.util.List;
import java.util.Random;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What the HTTP layer does by itself, without an engine behind it. */
class HttpLayerTest {
    private static final String INSTANCES = "/api/v1/instances";
    private static final ApiKeys KEYS = new ApiKeys(List.of(
            new ApiKeys.Key("ops", null, "5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8"), // "password"
            new ApiKeys.Key("shop", "acme", "2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"))); // "secret"

    private static Api open;
    private static Api keyed;
    private static Http http;
    private static Http withKeys;

    @BeforeAll
    static void start() {
        open = new Api(StubBackend.empty(), ApiKeys.NONE, true, InstantSource.system(), () -> "metric 1\n", "test").start("127.0.0.1", 0);
        keyed = new Api(StubBackend.empty(), KEYS, false, InstantSource.system(), () -> "metric 1\n", "test").start("127.0.0.1", 0);
        http = new Http(open.port());
        withKeys = new Http(keyed.port());
    }

    @AfterAll
    static void stop() {
        open.close();
        keyed.close();
    }

    @Test
    void whatIsNotThereIsAProblemToo() {
        http.get("/").refused(404, "ROUTE_NOT_FOUND");
        http.get("/api/v1/nothing").refused(404, "ROUTE_NOT_FOUND");
        http.get("/errors/NO_SUCH_CODE").refused(404, "ROUTE_NOT_FOUND");
        http.send("DELETE", INSTANCES, null).refused(405, "METHOD_NOT_ALLOWED");
        http.send("PUT", "/api/v1/effects/1234", new byte[0]).refused(405, "METHOD_NOT_ALLOWED");
    }

    @Test
    void anIdThatIsNoneIsAsUnknownAsAnyOther() {
        http.get(INSTANCES + "/not-an-id").refused(404, "RUN_NOT_FOUND");
        http.get("/api/v1/sequences/1234").refused(404, "SEQUENCE_NOT_FOUND");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', value = {
        "{\"a\":                          | MALFORMED_JSON",
        "{} {}                            | MALFORMED_JSON",
        "NaN                              | MALFORMED_JSON",
        "{\"version\":1,\"version\":2}    | DUPLICATE_MEMBER",
        "{\"metadata\":{\"a\":\"\\ud800\"}} | INVALID_UNICODE",
        "{\"metadata\":{\"a\":1e99999999}}  | NUMBER_OUT_OF_RANGE",
        "[]                               | INVALID_FIELD",
        "{\"sequence_name\":5}            | INVALID_FIELD",
        "{\"priority\":\"urgent\"}        | INVALID_FIELD",
        "{\"sequence_id\":\"x\"}          | INVALID_FIELD",
        "{}                               | MISSING_FIELD",
    })
    void aBadBodyIsTheCallersFault(String body, String code) {
        http.post(INSTANCES, body).refused(400, code);
    }

    @Test
    void aBodyNestedTooDeeplyIsRefused() {
        String deep = "{\"context\":{\"data\":" + "[".repeat(5_000) + "]".repeat(5_000) + "}}";
        http.post(INSTANCES, deep).refused(400, "JSON_TOO_DEEP");
    }

    @Test
    void aFieldNobodyKnowsIsNamedWithItsPlaceAndTheNearestOne() {
        Http.Answer answer = http.post(INSTANCES, "{\"sequence_name\":\"a\",\"idempotencykey\":\"x\"}").refused(400, "UNKNOWN_FIELD");
        assertThat(answer.json().path("pointer").asString()).isEqualTo("/idempotencykey");
        assertThat(answer.json().path("detail").asString()).contains("did you mean idempotency_key?");

        Http.Answer inner = http.post(INSTANCES, "{\"sequence_name\":\"a\",\"context\":{\"dta\":{}}}").refused(400, "UNKNOWN_FIELD");
        assertThat(inner.json().path("pointer").asString()).isEqualTo("/context/dta");
        assertThat(inner.json().path("detail").asString()).contains("did you mean data?");
    }

    @Test
    void aFieldOfTheOlderWireThatIsNotActedOnIsRefusedUnlessItAsksForNothing() {
        Http.Answer answer = http.post(INSTANCES, "{\"sequence_name\":\"a\",\"concurrency_key\":\"x\"}").refused(400, "UNSUPPORTED_FIELD");
        assertThat(answer.json().path("pointer").asString()).isEqualTo("/concurrency_key");
        http.post(INSTANCES, "{\"sequence_name\":\"a\",\"dry_run\":true}").refused(400, "UNSUPPORTED_FIELD");
        http.post(INSTANCES, "{\"sequence_name\":\"a\",\"dry_run\":false,\"budget\":null,\"timezone\":\"UTC\"}").refused(404, "NOT_HERE");
    }

    @Test
    void twoDifferentKeysAreAQuestionAndNotAStart() {
        http.post(INSTANCES, "{\"sequence_name\":\"a\",\"idempotency_key\":\"x\"}", "Idempotency-Key", "y")
                .refused(400, "IDEMPOTENCY_KEY_MISMATCH");
        http.post(INSTANCES, "{\"sequence_name\":\"a\",\"idempotency_key\":\"x\"}", "Idempotency-Key", "x").refused(404, "NOT_HERE");
    }

    @Test
    void aBodyBeyondTheLimitIs413WhetherItSaysItsLengthOrNot() {
        byte[] large = ("{\"a\":\"" + "x".repeat(Body.MAX_BYTES) + "\"}").getBytes(StandardCharsets.UTF_8);
        http.send("POST", INSTANCES, large, "Content-Type", "application/json").refused(413, "BODY_TOO_LARGE");
        HttpRequest chunked = HttpRequest.newBuilder(http.uri(INSTANCES))
                .header("Content-Type", "application/json")
                .POST(HttpRequest.BodyPublishers.ofInputStream(() -> new ByteArrayInputStream(large)))
                .build();
        http.send(chunked).refused(413, "BODY_TOO_LARGE");
    }

    @Test
    void aBodyOfAnotherKindIs415() {
        http.send("POST", INSTANCES, "a: b".getBytes(StandardCharsets.UTF_8), "Content-Type", "application/yaml")
                .refused(415, "UNSUPPORTED_MEDIA_TYPE");
        http.send("POST", INSTANCES, "{}".getBytes(StandardCharsets.UTF_8)).refused(415, "UNSUPPORTED_MEDIA_TYPE");
        http.send("POST", INSTANCES, "a=b".getBytes(StandardCharsets.UTF_8), "Content-Type", "application/x-www-form-urlencoded")
                .refused(415, "UNSUPPORTED_MEDIA_TYPE");
    }

    @ParameterizedTest
    @ValueSource(strings = {"a: &x 1\nb: *x", "a: 1\na: 2", "a: [", "\t- x", "", "--- 1\n--- 2"})
    void yamlThatIsNotOneJsonValueIsRefused(String yaml) {
        Http.Answer answer = http.send(
                "POST", "/api/v1/sequences", yaml.getBytes(StandardCharsets.UTF_8), "Content-Type", "application/yaml");
        answer.refused(400, "MALFORMED_YAML");
    }

    @ParameterizedTest
    @CsvSource({
        "/api/v1/effects?stat=unknown, UNKNOWN_PARAMETER",
        "/api/v1/effects?state=unknwn, INVALID_PARAMETER",
        "/api/v1/effects?limit=0, INVALID_PARAMETER",
        "/api/v1/effects?limit=501, INVALID_PARAMETER",
        "/api/v1/effects?limit=5&limit=6, INVALID_PARAMETER",
        "/api/v1/effects?epoch=-1, INVALID_PARAMETER",
        "/api/v1/effects?from=yesterday, INVALID_PARAMETER",
        "/api/v1/effects?cursor=%00%01, INVALID_PARAMETER",
        "/api/v1/effects?cursor=bm90IGEgY3Vyc29y, INVALID_PARAMETER",
        "/api/v1/effects?instance_id=1, INVALID_PARAMETER",
        "/api/v1/effects?q=, INVALID_PARAMETER",
        "/api/v1/instances?state=running;drop, INVALID_PARAMETER",
        "/api/v1/instances?offset=99999999999, INVALID_PARAMETER",
        "/api/v1/instances?wait_ms=5, UNKNOWN_PARAMETER",
        "/api/v1/sequences/by-name, MISSING_PARAMETER",
        "/api/v1/sequences/by-name?name=a&version=x, INVALID_PARAMETER",
    })
    void aBadParameterIsRefusedAndNeverIgnored(String path, String code) {
        http.get(path).refused(400, code);
    }

    @Test
    void filtersThatAreGoodAreTaken() {
        assertThat(http.get(INSTANCES + "?state=running,waiting&metadata.order=42&limit=500&offset=3&tenant_id=default").status()).isEqualTo(200);
        assertThat(http.get("/api/v1/effects?state=open&q=A-1&label=x&from=2026-01-31T12:00:00%2B01:00").status()).isEqualTo(200);
    }

    @Test
    void aPageOfAnotherOriginOrUnderAnotherNameGetsNothing() throws IOException {
        http.get("/api/v1/info", "Origin", "http://evil.example").refused(403, "ORIGIN_FORBIDDEN");
        http.get("/api/v1/info", "Origin", "null").refused(403, "ORIGIN_FORBIDDEN");
        assertThat(http.get("/api/v1/info", "Origin", "http://127.0.0.1:" + open.port()).status()).isEqualTo(200);
        assertThat(http.get("/api/v1/info").header("access-control-allow-origin")).isEmpty();
        String rebound = http.raw("GET /api/v1/info HTTP/1.1\r\nHost: evil.example\r\nConnection: close\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
        assertThat(rebound).startsWith("HTTP/1.1 403").contains("HOST_FORBIDDEN");
    }

    @Test
    void withoutAGoodKeyOnlyHealthAndTheDocumentAnswer() {
        withKeys.get("/api/v1/info").refused(401, "UNAUTHORIZED");
        withKeys.get("/api/v1/info", "x-api-key", "wrong").refused(401, "UNAUTHORIZED");
        withKeys.get("/metrics").refused(401, "UNAUTHORIZED");
        withKeys.post(INSTANCES, "{not even json").refused(401, "UNAUTHORIZED");
        assertThat(withKeys.get("/health/live").status()).isEqualTo(200);
        assertThat(withKeys.get("/health/ready").status()).isEqualTo(200);
        assertThat(withKeys.get("/openapi.json").status()).isEqualTo(200);
        assertThat(withKeys.get("/api/v1/info", "x-api-key", "password").status()).isEqualTo(200);
        assertThat(withKeys.get("/metrics", "Authorization", "Bearer password").text()).isEqualTo("metric 1\n");
    }

    @Test
    void aTenantsKeyServesThatTenantOnly() {
        assertThat(withKeys.get(INSTANCES, "x-api-key", "secret").status()).isEqualTo(200);
        assertThat(withKeys.get(INSTANCES, "x-api-key", "secret", "x-tenant-id", "acme").status()).isEqualTo(200);
        withKeys.get(INSTANCES, "x-api-key", "secret", "x-tenant-id", "other").refused(403, "TENANT_FORBIDDEN");
        withKeys.get(INSTANCES + "?tenant_id=other", "x-api-key", "secret").refused(403, "TENANT_FORBIDDEN");
        withKeys.post(INSTANCES, "{\"sequence_name\":\"a\",\"tenant_id\":\"other\"}", "x-api-key", "secret").refused(403, "TENANT_FORBIDDEN");
        withKeys.get("/metrics", "x-api-key", "secret").refused(403, "OPERATOR_KEY_REQUIRED");
        withKeys.post("/api/v1/store/accept", "{}", "x-api-key", "secret").refused(403, "OPERATOR_KEY_REQUIRED");
        withKeys.get(INSTANCES, "x-api-key", "password", "x-tenant-id", "a b").refused(400, "TENANT_INVALID");
        withKeys.get(INSTANCES + "?tenant_id=one", "x-api-key", "password", "x-tenant-id", "two").refused(400, "TENANT_MISMATCH");
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "GARBAGE\r\n\r\n",
        "GET /%zz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        "GET /a/../../etc/passwd HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        "GET /api/v1/instances/%2e%2e%2f HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        "GET /api/v1/instances/a%2fb HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        "GET /api/v1/instances?state=%ff%fe HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        "GET /api/v1/instances?%zz=1 HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
        "GET / HTTP/1.1\r\nConnection: close\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: localhost\r\nHost: other\r\nConnection: close\r\n\r\n",
        "GET / HTTP/9.9\r\nHost: localhost\r\n\r\n",
        "POST /api/v1/instances HTTP/1.1\r\nHost: localhost\r\nContent-Length: -5\r\n\r\n",
        "POST /api/v1/instances HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        "POST /api/v1/instances HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 50\r\nConnection: close\r\n\r\n{\"a\"",
        "POST /api/v1/instances HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\nzz\r\n",
        "POST /api/v1/instances HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json; charset=\"nonsense\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}",
        "BREW /api/v1/instances HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n",
    })
    void aRequestThatIsNotHttpGetsAProblemOrNothingButNeverAPage(String request) throws IOException {
        String answer = http.raw(request.getBytes(StandardCharsets.ISO_8859_1));
        if (!answer.isEmpty()) {
            assertThat(answer).matches("(?s)HTTP/1\\.1 (4\\d\\d|505) .*").contains("application/problem+json").contains("\"code\":");
        }
        assertThat(answer).doesNotContainIgnoringCase("<html").doesNotContain("\tat ").doesNotContain("Jetty");
    }

    @Test
    void itListensWhereItWasToldAndNowhereElse() throws IOException {
        int free;
        try (ServerSocket socket = new ServerSocket(0)) {
            free = socket.getLocalPort();
        }
        try (Api api = new Api(StubBackend.empty(), ApiKeys.NONE, true, InstantSource.system(), () -> "", "test").start("127.0.0.1", free)) {
            assertThat(api.port()).isEqualTo(free);
            assertThat(new Http(free).get("/health/live").status()).isEqualTo(200);
            List<InetAddress> others = NetworkInterface.networkInterfaces()
                    .flatMap(NetworkInterface::inetAddresses)
                    .filter(address -> !address.isLoopbackAddress())
                    .toList();
            for (InetAddress other : others) {
                assertThatThrownBy(() -> new Socket(other, free).close()).as("reachable at " + other).isInstanceOf(IOException.class);
            }
        }
    }

    @Test
    void aStreamEndsWhenTheServerDrains() throws Exception {
        Api api = new Api(StubBackend.empty(), ApiKeys.NONE, true, InstantSource.system(), () -> "", "test").start("127.0.0.1", 0);
        try (Socket socket = new Socket("127.0.0.1", api.port())) {
            socket.setSoTimeout(20_000);
            socket.getOutputStream()
                    .write("GET /api/v1/changes HTTP/1.1\r\nHost: localhost\r\nAccept: text/event-stream\r\n\r\n".getBytes(StandardCharsets.US_ASCII));
            BufferedReader reader = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.US_ASCII));
            while (!reader.readLine().equals(": waybill")) {}
            api.drain();
            while (reader.readLine() instanceof String line && !line.equals("0")) {}
            assertThat(new Http(api.port()).get("/health/live").status()).isEqualTo(200);
        } finally {
            api.close();
        }
    }

    @Test
    void headersBeyondTheLimitAre431() throws IOException {
        String answer = http.raw(("GET / HTTP/1.1\r\nHost: localhost\r\nX-Big: " + "x".repeat(40_000) + "\r\n\r\n").getBytes(StandardCharsets.US_ASCII));
        assertThat(answer).startsWith("HTTP/1.1 431").contains("application/problem+json");
    }

    @Test
    void noBadRequestIsEverThisServersFault() {
        long seed = System.nanoTime();
        Random random = new Random(seed);
        List<Endpoint> endpoints = open.endpoints();
        List<String> pieces = List.of(
                "", "\0", "\ud800", "../", "%00", "'; DROP TABLE effects; --", "{{ secrets.X }}", "= $eval('1')", "\u202e", "-1", "1e999",
                "9".repeat(400), "null", "true", "[]", "{}", "0".repeat(36), "ffffffff-ffff-ffff-ffff-fffffffffffg", "a".repeat(3_000));
        for (int i = 0; i < 600; i++) {
            Endpoint endpoint = endpoints.get(random.nextInt(endpoints.size()));
            String path = endpoint.path().replaceAll("\\{\\w+}", encode(pieces.get(random.nextInt(pieces.size())) + "x"));
            if (random.nextBoolean()) {
                String name = endpoint.parameters.isEmpty() || random.nextInt(4) == 0
                        ? "surprise"
                        : endpoint.parameters.get(random.nextInt(endpoint.parameters.size())).name();
                path += "?" + encode(name) + "=" + encode(pieces.get(random.nextInt(pieces.size())));
            }
            byte[] body = endpoint.method().equals("POST") ? body(random, pieces) : null;
            Http.Answer answer = body == null
                    ? http.get(path)
                    : http.send("POST", path, body, "Content-Type", random.nextInt(5) == 0 ? "application/yaml" : "application/json");
            assertThat(answer.status()).as("seed %d, %s %s: %s", seed, endpoint, path, answer.text()).isLessThan(500);
            if (answer.status() >= 400) {
                answer.isProblem();
            }
        }
    }

    private static String encode(String text) {
        return java.net.URLEncoder.encode(text.replace("/", "_"), StandardCharsets.UTF_8).replace("+", "%20");
    }

    private static byte[] body(Random random, List<String> pieces) {
        byte[] bytes = switch (random.nextInt(4)) {
            case 0 -> ("{\"sequence_name\":\"" + pieces.get(random.nextInt(pieces.size())) + "\",\"state\":5}").getBytes(StandardCharsets.UTF_8);
            case 1 -> ("{\"state\":\"committed\",\"signal_type\":{\"custom\":\"x\"},\"output\":" + pieces.get(random.nextInt(pieces.size())) + "}")
                    .getBytes(StandardCharsets.UTF_8);
            case 2 -> ("{\"name\":\"x\",\"blocks\":[{\"id\":" + "[".repeat(random.nextInt(80)) + "}]}").getBytes(StandardCharsets.UTF_8);
            default -> "{\"name\":\"x\",\"version\":1,\"blocks\":[]}".getBytes(StandardCharsets.UTF_8);
        };
        for (int flips = random.nextInt(3); flips > 0 && bytes.length > 0; flips--) {
            bytes[random.nextInt(bytes.length)] = (byte) random.nextInt(256);
        }
        return bytes;
    }
}
