package dev.waybill.server.api;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.test.Delivery;
import dev.waybill.test.TestPostgres;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Cases A25 to A28 as a caller meets them: bodies over HTTP, rows in the store, bytes at the provider. Two bodies are one identity when
 * the second under the first one's key is the first one's repeat, and two when it is refused as another request.
 */
class IdentityCasesTest {
    private static final String INSTANCES = "/api/v1/instances";

    private enum Store {
        SQLITE,
        POSTGRES
    }

    @TempDir
    Path directory;

    @ParameterizedTest
    @EnumSource(Store.class)
    void a25NumbersAreOneIdentityWhenTheirValuesAreEqualAndOnlyThen(Store store) {
        on(store, lab -> {
            two(lab, "{\"id\":9007199254740993}", "{\"id\":9007199254740992}");
            one(lab, "{\"a\":1}", "{\"a\":1.0}", "{\"a\":1e0}", "{\"a\":10e-1}");
            two(lab, "{\"a\":0.1}", "{\"a\":0.1000000000000000055}");
            one(lab, "{\"a\":0}", "{\"a\":-0}");
            two(lab, "{\"a\":1}", "{\"a\":\"1\"}");
            two(lab, "{\"a\":1e400}", "{\"a\":1e401}");
            one(lab, "{\"\ufb33\":1,\"\ud83d\ude00\":2,\"a\":3}", "{\"a\":3,\"\\ud83d\\ude00\":2,\"\\ufb33\":1}", "{\"\ud83d\ude00\":2,\"a\":3,\"\ufb33\":1}");
            int before = count(lab);
            for (String number : List.of("1e131072", "1e1000000000", "-1e131072", "1e-1000000000")) {
                start(lab, "number " + number, "{\"a\":" + number + "}").refused(400, "NUMBER_OUT_OF_RANGE");
            }
            assertThat(count(lab)).isEqualTo(before);
        });
    }

    @ParameterizedTest
    @EnumSource(Store.class)
    void a26HalfASurrogatePairIsRefusedAndNeverBecomesAQuestionMark(Store store) {
        on(store, lab -> {
            start(lab, "high", "{\"id\":\"A\\ud800\"}").refused(400, "INVALID_UNICODE");
            start(lab, "low", "{\"id\":\"A\\udc00\"}").refused(400, "INVALID_UNICODE");
            assertThat(count(lab)).isZero();
            String question = started(lab, "question", "{\"id\":\"A?\"}");
            String face = started(lab, "face", "{\"id\":\"A\\ud83d\\ude00\"}");
            assertThat(face).isNotEqualTo(question);
            assertThat(repeated(lab, "face", "{\"id\":\"A\ud83d\ude00\"}")).isEqualTo(face);
            start(lab, "question", "{\"id\":\"A\ud83d\ude00\"}").refused(422, "IDEMPOTENCY_KEY_REUSED");
            // A refused body has taken no key either.
            started(lab, "high", "{\"id\":\"B\"}");
            assertThat(count(lab)).isEqualTo(3);
            lab.await(question, "completed");
            lab.await(face, "completed");
            assertThat(sent(lab)).contains("{\"n\":\"A?\"}", "{\"n\":\"A\ud83d\ude00\"}");
        });
    }

    @ParameterizedTest
    @EnumSource(Store.class)
    void a27AMemberThatIsThereTwiceIsRefusedAndLeavesNoRowAndNoKey(Store store) {
        on(store, lab -> {
            List<String> bodies = List.of("{\"order\":{\"id\":1},\"order\":{\"id\":2}}", "{\"id\":1,\"\\u0069d\":2}");
            for (String body : bodies) {
                Http.Answer answer = start(lab, "twice", body).refused(400, "DUPLICATE_MEMBER");
                assertThat(answer.json().path("pointer").asString()).startsWith("/context/data");
            }
            assertThat(count(lab)).isZero();
            started(lab, "twice", "{\"id\":1}");
            int published = lab.get("/api/v1/sequences").json().path("items").size();
            for (String twice : List.of("\"name\":\"b\",\"name\":\"c\"", "\"name\":\"b\",\"n\\u0061me\":\"c\"")) {
                lab.http()
                        .post("/api/v1/sequences", "{" + twice + ",\"blocks\":[{\"type\":\"step\",\"id\":\"s\",\"handler\":\"noop\"}]}")
                        .refused(400, "DUPLICATE_MEMBER");
            }
            assertThat(lab.get("/api/v1/sequences").json().path("items").size()).isEqualTo(published);
        });
    }

    @ParameterizedTest
    @EnumSource(Store.class)
    void a28ANullCharacterIsKeptAndItsLookAlikesAreOtherRequests(Store store) {
        on(store, lab -> {
            String nul = "{\"id\":\"a\\u0000b\"}";
            String plain = "{\"id\":\"ab\"}";
            String six = "{\"id\":\"a\\\\u0000b\"}";
            two(lab, nul, plain);
            two(lab, nul, six);
            two(lab, plain, six);
            for (String body : List.of(nul, plain, six)) {
                String run = started(lab, "kept " + body.length(), body);
                lab.await(run, "completed");
                assertThat(lab.get(INSTANCES + "/" + run + "/context").json().path("data")).isEqualTo(dev.waybill.json.Json.parse(body));
            }
            assertThat(sent(lab)).contains("{\"n\":\"a\\u0000b\"}", "{\"n\":\"ab\"}", "{\"n\":\"a\\\\u0000b\"}");
        });
    }

    private static void one(ServerLab lab, String first, String... others) {
        String run = started(lab, "one " + first, first);
        for (String other : others) {
            assertThat(repeated(lab, "one " + first, other)).as(other).isEqualTo(run);
        }
    }

    private static void two(ServerLab lab, String first, String other) {
        String key = "two " + first + other;
        started(lab, key, first);
        start(lab, key, other).refused(422, "IDEMPOTENCY_KEY_REUSED");
    }

    private static Http.Answer start(ServerLab lab, String key, String data) {
        String escaped = dev.waybill.json.Json.write(dev.waybill.json.Json.NODES.stringNode(key));
        return lab.http().post(INSTANCES, "{\"sequence_name\":\"pass\",\"idempotency_key\":" + escaped + ",\"context\":{\"data\":" + data + "}}");
    }

    private static String started(ServerLab lab, String key, String data) {
        return accepted(start(lab, key, data), 201, false);
    }

    private static String repeated(ServerLab lab, String key, String data) {
        return accepted(start(lab, key, data), 200, true);
    }

    private static String accepted(Http.Answer answer, int status, boolean deduplicated) {
        assertThat(answer.status()).as(answer.text()).isEqualTo(status);
        assertThat(answer.json().path("deduplicated").asBoolean()).isEqualTo(deduplicated);
        return answer.json().path("id").asString();
    }

    private static int count(ServerLab lab) {
        return lab.get(INSTANCES + "?limit=200").json().path("items").size();
    }

    private static List<String> sent(ServerLab lab) {
        return lab.provider.deliveries().stream()
                .map(Delivery::body)
                .map(body -> new String(body, StandardCharsets.UTF_8))
                .toList();
    }

    private void on(Store store, Consumer<ServerLab> test) {
        if (store == Store.SQLITE) {
            run(Map.of(), test);
            return;
        }
        TestPostgres.Database database = TestPostgres.database();
        try {
            run(Map.of("WAYBILL_STORE", database.waybillUrl(), "WAYBILL_POOL", "4"), test);
        } finally {
            database.drop();
        }
    }

    private void run(Map<String, String> environment, Consumer<ServerLab> test) {
        try (ServerLab lab = new ServerLab(directory, environment)) {
            lab.sequence("pass", "{'type':'step','id':'s','handler':'http_request','params':{'method':'POST','url':'$P/x','body':{'n':'{{ data.id | none }}'}}}");
            test.accept(lab);
        }
    }
}
