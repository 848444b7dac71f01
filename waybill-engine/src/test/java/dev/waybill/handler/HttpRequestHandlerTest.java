package dev.waybill.handler;

import static dev.waybill.transport.FaultServer.answer;
import static dev.waybill.transport.FaultServer.answering;
import static dev.waybill.transport.FaultServer.json;
import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.json.Json;
import dev.waybill.json.SecretText;
import dev.waybill.model.Outcome;
import dev.waybill.model.Problem;
import dev.waybill.model.Reply;
import dev.waybill.transport.AddressPolicy;
import dev.waybill.transport.FaultServer;
import dev.waybill.transport.HttpOutput;
import java.io.IOException;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;
import tools.jackson.databind.node.ObjectNode;

/** What http_request sends and refuses to send (cases A34, A35, A36), and what it makes of an answer. */
class HttpRequestHandlerTest {

    @Test
    void theKeyAndTheReceiptsNameGoOutWithTheRequest() throws IOException {
        try (FaultServer provider = answering(json("200 OK", "{}"))) {
            HttpCalls calls = HttpCalls.to(provider);
            calls.key = "charge-7";
            calls.keyHeader = "X-Request-Key";
            calls.charge(provider, Outcome.Committed.class);
            FaultServer.Request request = provider.request();
            assertThat(request.method()).isEqualTo("POST");
            assertThat(request.header("x-request-key")).isEqualTo("charge-7");
            assertThat(request.header("waybill-effect-id")).isEqualTo(HttpCalls.RECEIPT.toString());
            assertThat(request.header("content-type")).isEqualTo("application/json");
            assertThat(request.header("content-length")).isEqualTo("12");
            assertThat(request.header("accept-encoding")).isEqualTo("identity");
            assertThat(request.header("connection")).isEqualTo("close");
            assertThat(request.header("host")).isEqualTo(provider.hostPort());
            assertThat(request.text()).isEqualTo("{\"amount\":5}");
        }
    }

    @Test
    void numbersKeepTheirDigitsAndTextIsSentAsItIs() throws IOException {
        try (FaultServer provider = answering(json("200 OK", "{\"id\":9007199254740993,\"x\":1.10}"))) {
            HttpCalls calls = HttpCalls.to(provider);
            String exact = "{\"a\":9007199254740993,\"b\":1.10,\"c\":12345678901234567890123,\"d\":\"\u00e9\u20ac\"}";
            String url = "\"url\":\"" + provider.url("/") + "\"";
            Outcome.Committed yes = (Outcome.Committed) calls.call("{" + url + ",\"body\":" + exact + "}");
            assertThat(provider.requests().getLast().text()).isEqualTo(exact);
            assertThat(provider.requests().getLast().method()).isEqualTo("POST");
            assertThat(Json.write(yes.output().path("body"))).isEqualTo("{\"id\":9007199254740993,\"x\":1.10}");

            calls.call("{" + url + ",\"body\":\"a=1&b=\u00fc\",\"headers\":{\"content-type\":\"text/x\"},\"method\":\"put\"}");
            assertThat(provider.requests().getLast().text()).isEqualTo("a=1&b=\u00fc");
            assertThat(provider.requests().getLast().method()).isEqualTo("PUT");
            assertThat(provider.requests().getLast().header("content-type")).isEqualTo("text/x");

            calls.call("{" + url + "}");
            assertThat(provider.requests().getLast().method()).isEqualTo("GET");
            calls.call("{" + url + ",\"method\":\"POST\"}");
            assertThat(provider.requests().getLast().header("content-length")).isEqualTo("0");
        }
    }

    @Test
    void a34AHeaderThatCannotBeSentAsWrittenStopsTheStepBeforeAnythingIsSent() throws IOException {
        try (FaultServer provider = answering(json("200 OK", "{}"))) {
            HttpCalls calls = HttpCalls.to(provider);
            for (String headers : List.of(
                    "{\"Idempotency-Key\":\"a\\r\\nX-Evil: 1\"}", "{\"X\":\"a\\u0000b\"}", "{\"X\":\"a\\tb\"}", "{\"X\":\"a\\u007fb\"}",
                    "{\"X\":\"a\\u0085b\"}", "{\"Idempotency-Key\":null}", "{\"Idempotency-Key\":[\"a\"]}", "{\"X\":{\"a\":1}}",
                    "{\"Host\":\"evil\"}", "{\"content-length\":\"5\"}", "{\"Transfer-Encoding\":\"chunked\"}", "{\"Connection\":\"x\"}",
                    "{\"Proxy-Authorization\":\"x\"}", "{\"Waybill-Effect-Id\":\"x\"}", "{\"Expect\":\"100-continue\"}", "{\"TE\":\"x\"}",
                    "{\"Upgrade\":\"h2c\"}", "{\"A B\":\"x\"}", "{\"\":\"x\"}", "{\"X:\":\"x\"}", "{\"\u00dc\":\"x\"}",
                    "{\"X\":\"1\",\"x\":\"2\"}", "\"none\"", "[]")) {
                Problem problem = calls.refused("{\"url\":\"" + provider.url("/") + "\",\"headers\":" + headers + "}");
                assertThat(problem.code()).as(headers).isEqualTo("PARAM_INVALID");
                assertThat(problem.retryable()).isFalse();
                assertThat(problem.message()).doesNotContain("evil", "Evil");
            }
            assertThat(provider.connections()).isZero();
        }
    }

    @Test
    void a34NumbersAndBooleansAreSentAsTheirText() throws IOException {
        try (FaultServer provider = answering(json("200 OK", "{}"))) {
            HttpCalls calls = HttpCalls.to(provider);
            calls.call("{\"url\":\"" + provider.url("/")
                    + "\",\"headers\":{\"Idempotency-Key\":1001,\"X-Big\":9007199254740993,\"X-Flag\":true,\"X-Uml\":\"\u00fc\"}}");
            FaultServer.Request request = provider.request();
            assertThat(request.header("idempotency-key")).isEqualTo("1001");
            assertThat(request.header("x-big")).isEqualTo("9007199254740993");
            assertThat(request.header("x-flag")).isEqualTo("true");
            assertThat(request.header("x-uml").getBytes(StandardCharsets.ISO_8859_1)).isEqualTo("\u00fc".getBytes(StandardCharsets.UTF_8));
        }
    }

    @Test
    void a34AKeyThatHttpWouldChangeIsRefused() throws IOException {
        try (FaultServer provider = answering(json("200 OK", "{}"))) {
            HttpCalls calls = HttpCalls.to(provider);
            calls.keyHeader = "Idempotency-Key";
            for (String key : List.of("a\r\nX-Evil: 1", "", " a", "a ", "a\u0000", "a\u00a0".repeat(1) + "\u0007")) {
                calls.key = key;
                assertThat(calls.refused(HttpCalls.post(provider.url("/"))).code()).isEqualTo("PARAM_INVALID");
            }
            calls.key = "k1";
            calls.keyHeader = "Host";
            assertThat(calls.refused(HttpCalls.post(provider.url("/"))).code()).isEqualTo("PARAM_INVALID");
            calls.keyHeader = "Idempotency-Key";
            String withHeader = "{\"url\":\"" + provider.url("/") + "\",\"method\":\"POST\",\"headers\":{\"idempotency-key\":\"%s\"}}";
            assertThat(calls.refused(withHeader.formatted("k2")).code()).isEqualTo("PARAM_INVALID");
            assertThat(provider.connections()).isZero();
            assertThat(calls.call(withHeader.formatted("k1"))).isInstanceOf(Outcome.Committed.class);
            assertThat(provider.request().headers().get("idempotency-key")).containsExactly("k1");
        }
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "\"method\":\"CONNECT\"", "\"method\":\"TRACE\"", "\"method\":\"P OST\"", "\"method\":1", "\"method\":\"GET\",\"body\":{}",
                "\"timeout_ms\":0", "\"timeout_ms\":\"5\"", "\"timeout_ms\":1.5", "\"read\":\"false\"", "\"heders\":{}"
            })
    void aParameterThatMakesNoSenseIsRefusedBeforeAnythingIsDialled(String member) {
        HttpCalls calls = new HttpCalls(AddressPolicy.publicOnly(), host -> List.of(InetAddress.ofLiteral("8.8.8.8")));
        assertThat(calls.refused("{\"url\":\"http://pay.test/\"," + member + "}").code()).isEqualTo("PARAM_INVALID");
        assertThat(calls.dialled).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "http://[::ffff:a9fe:a9fe]/", "http://2852039166/", "http://169.254.169.254./", "http://[fd00:ec2::254]/",
                "http://[64:ff9b::a9fe:a9fe]/", "http://[2002:a9fe:a9fe::]/", "http://100.100.100.200/", "http://0.0.0.0/",
                "http://mixed.test/"
            })
    void a35AClosedAddressIsBlockedWithZeroConnects(String url) {
        HttpCalls calls = new HttpCalls(
                AddressPolicy.fromConfig(List.of("false"), AddressPolicy.flag("false")),
                host -> List.of(InetAddress.ofLiteral("8.8.8.8"), InetAddress.ofLiteral("169.254.169.254")));
        Problem problem = calls.refused(HttpCalls.post(url + "?api_key=SECRET123"));
        assertThat(problem.code()).isEqualTo("DESTINATION_BLOCKED");
        assertThat(problem.retryable()).isFalse();
        assertThat(problem.message()).doesNotContain("SECRET123");
        assertThat(calls.dialled).isEmpty();
    }

    @Test
    void a35TheAddressThatWasCheckedIsTheAddressThatIsDialled() throws IOException {
        try (FaultServer provider = answering(json("200 OK", "{}"));
                FaultServer metadata = answering(json("200 OK", "{}"))) {
            AtomicInteger asked = new AtomicInteger();
            HttpCalls calls = new HttpCalls(
                    AddressPolicy.publicOnly().allow("rebind.test:" + provider.port()),
                    host -> List.of(InetAddress.ofLiteral(asked.getAndIncrement() == 0 ? "127.0.0.1" : "169.254.169.254")));
            EffectHandler.Preparation ready = calls.prepare(HttpCalls.post("http://rebind.test:" + provider.port() + "/"));
            assertThat(calls.dialled).isEmpty();
            Outcome outcome = calls.send(((EffectHandler.Preparation.Ready) ready).call());
            assertThat(outcome).isInstanceOf(Outcome.Committed.class);
            assertThat(asked).hasValue(1);
            assertThat(calls.dialled).extracting(a -> a.getAddress().getHostAddress()).containsExactly("127.0.0.1");
            assertThat(metadata.connections()).isZero();
        }
    }

    @Test
    void onlyALiteralAddressNeedsNoLookup() {
        HttpCalls calls = new HttpCalls(AddressPolicy.publicOnly(), host -> List.of());
        JsonNode secret = SecretText.of(List.of(
                new SecretText.Part.Text("http://10.0.0.1:80/charge?key="), new SecretText.Part.Secret("K")));
        JsonNode secretHost = SecretText.of(List.of(new SecretText.Part.Text("http://10.0.0."), new SecretText.Part.Secret("K")));
        assertThat(calls.handler.preparesWithoutIo(Json.parse("{\"url\":\"http://8.8.8.8/x\"}"))).isTrue();
        assertThat(calls.handler.preparesWithoutIo(Json.parse("{\"url\":\"http://[2600::1]/x\"}"))).isTrue();
        assertThat(calls.handler.preparesWithoutIo(Json.NODES.objectNode().set("url", secret))).isTrue();
        assertThat(calls.handler.preparesWithoutIo(Json.NODES.objectNode().set("url", secretHost))).isFalse();
        assertThat(calls.handler.preparesWithoutIo(Json.parse("{\"url\":\"http://pay.test/x\"}"))).isFalse();
        assertThat(calls.handler.preparesWithoutIo(Json.parse("{}"))).isFalse();
    }

    @Test
    void onlyADeclaredReadOfAGetNeedsNoReceipt() {
        HttpCalls calls = new HttpCalls(AddressPolicy.publicOnly(), host -> List.of());
        for (String yes : List.of("{\"read\":true}", "{\"read\":true,\"method\":\"get\"}", "{\"read\":true,\"method\":\"HEAD\"}")) {
            assertThat(calls.handler.readOnly(Json.parse(yes))).as(yes).isTrue();
        }
        for (String no : List.of(
                "{}", "{\"method\":\"GET\"}", "{\"read\":false}", "{\"read\":\"true\"}", "{\"read\":1}", "{\"read\":true,\"method\":\"POST\"}",
                "{\"read\":true,\"body\":{}}", "{\"read\":true,\"method\":null,\"body\":\"x\"}", "{\"read\":true,\"method\":7}")) {
            assertThat(calls.handler.readOnly(Json.parse(no))).as(no).isFalse();
        }
    }

    @Test
    void a36NothingOfASecretComesBackFromAClosedPort() {
        HttpCalls calls = new HttpCalls(AddressPolicy.publicOnly().allow("127.0.0.1:1"), host -> List.of()).secret("K", "tok-4711-xyz");
        Outcome.NotApplied no = (Outcome.NotApplied) calls.call(withBearer("http://127.0.0.1:1/charge?api_key=SECRET123", "{\"amount\":5}"));
        assertThat(no.problem().message()).contains("127.0.0.1:1/charge").doesNotContain("SECRET123", "tok-4711-xyz", "api_key");
    }

    @Test
    void a36ATokenThatTheProviderEchoesIsTakenOut() throws IOException {
        String token = "tok-4711-xyz";
        String basic = Base64.getEncoder().encodeToString(token.getBytes(StandardCharsets.UTF_8));
        String echo = "{\"error\":\"bad token " + token + "\",\"b64\":\"" + basic + "\",\"" + token + "\":1}";
        for (String status : List.of("401 Unauthorized", "200 OK", "503 Busy", "302 Found", "429 Later", "307 Go")) {
            String headers = "Content-Type: application/json\r\nX-Echo: " + token + "\r\nLocation: http://x/" + token + "?k=" + token
                    + "\r\nSet-Cookie: session=" + token + "\r\n";
            try (FaultServer provider = answering(answer(status, headers, echo))) {
                HttpCalls calls = HttpCalls.to(provider).secret("K", token);
                Outcome outcome = calls.call(withBearer(provider.url("/charge/" + token + "?api_key=SECRET123"), "{\"amount\":5}"));
                assertThat(provider.request().header("authorization")).isEqualTo("Bearer " + token);
                Reply reply = outcome.reply();
                assertThat(outcome.toString()).doesNotContain(token, "SECRET123", basic);
                assertThat(new String(reply.body(), StandardCharsets.UTF_8)).contains("bad token").doesNotContain(token, basic);
                assertThat(reply.headers()).doesNotContainKey("set-cookie").containsKey("x-echo");
            }
        }
    }

    @Test
    void a36ASecretOfDigitsDoesNotBreakTheAnswerAroundIt() throws IOException {
        try (FaultServer provider = answering("HTTP/1.1 200 OK\r\n\r\n{\"n\":47114711,\"s\":\"pin 47114711\",\"receipt_id\":\"r\"}")) {
            HttpCalls calls = HttpCalls.to(provider).secret("K", "47114711");
            Outcome.Committed yes = (Outcome.Committed) calls.call(withBearer(provider.url("/"), "1"));
            assertThat(yes.providerReceiptId()).isEqualTo("r");
            assertThat(yes.toString()).doesNotContain("47114711");
        }
    }

    @Test
    void aSecretThatDoesNotExistStopsTheStepBeforeAnythingIsSent() throws IOException {
        try (FaultServer provider = answering(json("200 OK", "{}"))) {
            HttpCalls calls = HttpCalls.to(provider);
            assertThat(((EffectHandler.Preparation.Refused) calls.handler.prepare(
                                    calls.request(Json.parse(withBearer(provider.url("/"), "1")))))
                            .problem()
                            .code())
                    .isEqualTo("SECRET_MISSING");
            calls.secret("K", "a\r\nX: y");
            assertThat(calls.refused(withBearer(provider.url("/"), "1")).code()).isEqualTo("PARAM_INVALID");
            assertThat(provider.connections()).isZero();
        }
    }

    @Test
    void theOutputHasLowerCaseHeadersAndJsonWhereItIsJson() throws IOException {
        try (FaultServer provider = answering(
                answer("201 Created", "X-Many: a\r\nx-many: b\r\nSet-Cookie: s=1\r\n", "{\"request_id\":77}"))) {
            Outcome.Committed yes = HttpCalls.to(provider).charge(provider, Outcome.Committed.class);
            assertThat(yes.output().path("status").intValue()).isEqualTo(201);
            assertThat(yes.output().path("headers").path("x-many").stringValue()).isEqualTo("a, b");
            assertThat(Set.copyOf(yes.output().path("headers").propertyNames())).doesNotContain("set-cookie", "X-Many");
            assertThat(yes.providerReceiptId()).isEqualTo("77");
        }
    }

    @Test
    void aBodyIsReadInTheCharsetItNames() throws IOException {
        assertThat(body("Content-Type: text/plain; charset=ISO-8859-1\r\n", "caf\u00e9")).isEqualTo("caf\u00e9");
        assertThat(body("Content-Type: text/plain; charset=\"utf-8\"\r\n", "caf\u00c3\u00a9")).isEqualTo("caf\u00e9");
        assertThat(body("", "caf\u00c3\u00a9")).isEqualTo("caf\u00e9");
        assertThat(body("", "<html>{")).isEqualTo("<html>{");
        assertThat(body("", "")).isEmpty();
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "Content-Type: text/plain\r\n\r\ncaf\u00e9", "Content-Type: text/plain; charset=x-none\r\n\r\na",
                "Content-Type: application/json\r\n\r\n{\"id\":1,\"\\u0069d\":2}", "X: y\r\n\r\n{\"a\":\"\\ud800\"}",
                "X: y\r\n\r\n{\"a\":1e999999999}", "Content-Encoding: gzip\r\n\r\nabc"
            })
    void anAnswerThatCannotBeKeptAsDataIsCommittedWithItsBytes(String rest) throws IOException {
        String body = rest.substring(rest.indexOf("\r\n\r\n") + 4);
        try (FaultServer provider = answering("HTTP/1.1 200 OK\r\nContent-Length: " + body.length() + "\r\n" + rest)) {
            Outcome.OutputUnusable bad = HttpCalls.to(provider).charge(provider, Outcome.OutputUnusable.class);
            assertThat(bad.problem().code()).isEqualTo("OUTPUT_UNSTORABLE");
            assertThat(bad.reply().body()).isEqualTo(body.getBytes(StandardCharsets.ISO_8859_1));
            assertThat(bad.reply().truncated()).isFalse();
        }
    }

    @Test
    void aKeptReplyCanBecomeTheOutputOfADecline() throws IOException {
        try (FaultServer provider = answering(json("402 No", "{\"why\":\"declined\"}"))) {
            Reply reply = HttpCalls.to(provider).charge(provider, Outcome.NotApplied.class).reply();
            ObjectNode output = (ObjectNode) HttpOutput.of(reply);
            assertThat(output.path("status").intValue()).isEqualTo(402);
            assertThat(output.path("body").path("why").stringValue()).isEqualTo("declined");
        }
    }

    @Test
    void theShorterTimeoutRules() throws IOException {
        try (FaultServer provider = new FaultServer(FaultServer.Connection::stall)) {
            HttpCalls calls = HttpCalls.to(provider);
            calls.timeout = Duration.ofMinutes(5);
            Outcome.Unknown unknown = (Outcome.Unknown)
                    calls.call("{\"url\":\"" + provider.url("/") + "\",\"method\":\"POST\",\"timeout_ms\":200}");
            assertThat(unknown.reason()).isEqualTo("timeout");
        }
    }

    @Test
    void aLateLastLookIsNotAppliedAndMayBeRetried() throws IOException {
        try (FaultServer provider = answering(json("200 OK", "{}"))) {
            HttpCalls calls = HttpCalls.to(provider);
            calls.late = () -> true;
            Outcome.NotApplied no = calls.charge(provider, Outcome.NotApplied.class);
            assertThat(no.problem().code()).isEqualTo("SEND_DEADLINE_PASSED");
            assertThat(no.problem().retryable()).isTrue();
            assertThat(provider.seen()).isZero();
        }
    }

    private static String body(String headers, String latin1) throws IOException {
        String reply = "HTTP/1.1 200 OK\r\nContent-Length: " + latin1.length() + "\r\n" + headers + "\r\n" + latin1;
        try (FaultServer provider = answering(reply)) {
            return HttpCalls.to(provider).charge(provider, Outcome.Committed.class).output().path("body").stringValue();
        }
    }

    private static String withBearer(String url, String body) {
        return "{\"url\":\"" + url + "\",\"method\":\"POST\",\"headers\":{\"Authorization\":"
                + "{\"$secret_text\":[\"Bearer \",{\"secret\":\"K\"}]}},\"body\":" + body + "}";
    }
}
