package dev.waybill.engine;

import static dev.waybill.engine.EngineLab.charge;
import static dev.waybill.engine.EngineLab.json;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.waybill.definition.Sequence.Retry;
import dev.waybill.engine.EngineLab.Kind;
import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceState;
import dev.waybill.model.Problem;
import dev.waybill.model.WaybillException;
import dev.waybill.operate.RunView;
import dev.waybill.operate.StartRequest;
import dev.waybill.store.JournalRow.OutputState;
import dev.waybill.store.Queries.EffectView;
import dev.waybill.test.Behaviour;
import dev.waybill.test.Ports;
import dev.waybill.test.Rule;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.time.Duration;
import java.util.List;
import java.util.Random;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/** Cases from the field through the whole engine, with their exact counts. */
class FieldCasesTest {

    @ParameterizedTest
    @EnumSource(Kind.class)
    void a05AnUnreachableDestinationIsTriedThreeTimesAndNothingIsUnknown(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            int closed = Ports.free();
            lab.allow("127.0.0.1:" + closed).allow("nohost.invalid:80");
            lab.sequence("closed", "[" + charge("", "").replace("$P", "http://127.0.0.1:" + closed + "/") + "]");
            lab.sequence("nohost", "[" + charge("", "").replace("$P", "http://nohost.invalid/") + "]");
            lab.sequence("plain", "[" + charge("", "").replace("'$P'", "'" + lab.provider.url("").replace("http:", "https:") + "'") + "]");
            for (String name : List.of("closed", "nohost", "plain")) {
                RunView run = lab.run(name, "{}");
                assertThat(run.state()).as(name).isEqualTo(InstanceState.FAILED);
                assertThat(run.error().get("code").asString()).as(name).isEqualTo("DESTINATION_UNREACHABLE");
                assertThat(lab.states(run.id()))
                        .as(name)
                        .containsExactly("charge#0 not_applied", "charge#1 not_applied", "charge#2 not_applied");
            }
            assertThat(lab.unresolved()).isZero();
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void a05AProviderThatComesBackIsChargedOnce(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            int port = Ports.free();
            lab.allow("127.0.0.1:" + port);
            lab.sequence("late", "[" + charge("", "").replace("'$P'", "'http://127.0.0.1:" + port + "/charges'")
                    .replace("'initial_backoff':10", "'initial_backoff':300,'backoff_multiplier':1").replace("'max_attempts':3", "'max_attempts':50") + "]");
            UUID id = lab.start("late", "{}");
            org.awaitility.Awaitility.await().atMost(EngineLab.PATIENCE).until(() -> lab.effects(id).size() >= 2);
            try (var provider = dev.waybill.test.FakeProvider.builder().port(port).start()) {
                lab.assertCompleted(lab.await(id));
                assertThat(provider.applied()).isEqualTo(1);
            }
            assertThat(lab.effects(id).getLast().state()).isEqualTo(EffectState.COMMITTED);
            assertThat(lab.unresolved()).isZero();
        }
    }

    @ParameterizedTest
    @CsvSource(nullValues = "absent", value = {
        "30, 30000", "0, 500", "absent, 2000",
    })
    void a09TheNextAttemptIsNeverEarlierThanThePolicysMinimum(Long retryAfterSeconds, long expectedMillis) {
        // The parsing of the header is RetryAfter's; what the policy makes of it is here: minimum 500 ms, backoff 500 x 4^1.
        Retry retry = new Retry(5, Duration.ofMillis(500), Duration.ZERO, 4.0, 0, null, List.of());
        Long next = RetryPolicy.next(
                retry, 2, Problem.retryable("HTTP_RETRY_LATER", "429"),
                retryAfterSeconds == null ? null : Duration.ofSeconds(retryAfterSeconds), name -> null, new Random(1));
        assertThat(next).isEqualTo(expectedMillis);
    }

    @Test
    void a09A429IsTriedAgainAndNeverUnknown() {
        try (EngineLab lab = EngineLab.memory()) {
            lab.provider.script(Rule.on("POST", "/charges").then(
                    Behaviour.retryAfter(429, "-5"), Behaviour.retryAfter(429, "120junk"), Behaviour.retryAfter(425, "0"),
                    Behaviour.retryAfter(429, "Wed, 21 Oct 2015 07:28:00 GMT")));
            lab.sequence("pay", "[" + charge("/charges", "").replace("'max_attempts':3", "'max_attempts':9") + "]");
            RunView run = lab.run("pay", "{}");
            lab.assertCompleted(run);
            assertThat(lab.provider.applied()).isEqualTo(1);
            assertThat(lab.effects(run.id()).getLast().state()).isEqualTo(EffectState.COMMITTED);
            assertThat(lab.unresolved()).isZero();
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {301, 302, 303, 307, 308})
    void a10ARedirectIsNeverFollowed(int status) {
        try (EngineLab lab = EngineLab.memory()) {
            lab.provider.script(Rule.on("POST", "/charges").thenAlways(Behaviour.redirect(status, lab.provider.url("/ok"))));
            lab.sequence("pay", "[" + charge("/charges", "") + "]");
            RunView run = lab.run("pay", "{}");
            assertThat(lab.provider.seen()).isEqualTo(1);
            if (status < 307) {
                lab.assertWaitsUnknown(run);
            } else {
                assertThat(run.error().get("code").asString()).isEqualTo("REDIRECT_NOT_FOLLOWED");
                assertThat(lab.states(run.id())).containsExactly("charge#0 not_applied");
            }
        }
    }

    @Test
    void a11ACutReplyIsUnknownWhereSuccessHasToBeJudged() {
        try (EngineLab lab = EngineLab.memory()) {
            lab.provider.script(Rule.on("POST", "/charges").thenAlways(Behaviour.truncatedBody(100, 13)));
            lab.sequence("pay", "[" + charge("/charges", ",'success_when':'body.ok'") + "]");
            lab.assertWaitsUnknown(lab.run("pay", "{}"));
            assertThat(lab.provider.seen()).isEqualTo(1);
        }
    }

    @Test
    void a11ACompleteAnswerThatEndsWithTheConnectionIsCommittedWithItsId() {
        try (EngineLab lab = EngineLab.memory()) {
            lab.provider.script(Rule.on("POST", "/charges").thenAlways(Behaviour.closeDelimited(Integer.MAX_VALUE)));
            lab.sequence("pay", "[" + charge("/charges", ",'effect':{'receipt_id':'= body.id'}") + "]");
            RunView run = lab.run("pay", "{}");
            lab.assertCompleted(run);
            assertThat(lab.effects(run.id()).getFirst().last().providerReceiptId()).isEqualTo("ch_01");
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void a12ABodyThatStallsEndsWithTheStep(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            lab.provider.script(Rule.on("POST", "/charges").thenAlways(Behaviour.applyThenStall(6)));
            lab.sequence("pay", "[" + charge("/charges", "").replace("'timeout':2000", "'timeout':500") + "]");
            RunView run = lab.run("pay", "{}");
            assertThat(run.reasons().get(0).get("reason").asString()).isEqualTo("output_lost");
            EffectView effect = lab.effects(run.id()).getFirst();
            assertThat(effect.state()).isEqualTo(EffectState.COMMITTED);
            assertThat(effect.last().outputState()).isEqualTo(OutputState.LOST);
            assertThat(effect.last().reply().status()).isBetween(200, 201);
            assertThat(lab.provider.seen()).isEqualTo(1);
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void a13AReplyTooBigToKeepIsCommittedAndNeverSentAgain(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            lab.provider.script(Rule.on("POST", "/charges").thenAlways(Behaviour.bigBody(12L << 20)));
            lab.sequence("pay", "[" + charge("/charges", "").replace("'timeout':2000", "'timeout':20000") + "]");
            RunView run = lab.run("pay", "{}");
            assertThat(run.error().get("code").asString()).isEqualTo("OUTPUT_TOO_LARGE");
            assertThat(run.error().get("retryable").asBoolean()).isFalse();
            EffectView effect = lab.effects(run.id()).getFirst();
            assertThat(effect.state()).isEqualTo(EffectState.COMMITTED);
            assertThat(effect.last().reply().truncated()).isTrue();
            lab.engine().runs().retry("default", run.id(), "ann");
            assertThat(lab.await(run.id()).error().get("code").asString()).isEqualTo("OUTPUT_TOO_LARGE");
            assertThat(lab.provider.seen()).isEqualTo(1);
        }
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '`', value = {
        "{'order':{}} | EXPRESSION_UNDEFINED",
        "{'order':{'id':null}} | EXPRESSION_UNDEFINED",
        "{'order':{'id':''}} | EXPRESSION_UNDEFINED",
        "{'order':[{'id':1},{'id':2}]} | KEY_NOT_SCALAR",
    })
    void a32AMissingFieldNeverMakesOneKeyForEverybody(String data, String code) {
        try (EngineLab lab = EngineLab.memory()) {
            lab.sequence("pay", keyed());
            RunView run = lab.run("pay", data);
            assertThat(run.state()).isEqualTo(InstanceState.FAILED);
            assertThat(run.error().get("code").asString()).isEqualTo(code);
            assertThat(lab.effects(run.id())).isEmpty();
            assertThat(lab.provider.seen()).isZero();
        }
    }

    @Test
    void a32ZeroIsAnId() {
        try (EngineLab lab = EngineLab.memory()) {
            lab.sequence("pay", keyed());
            lab.assertCompleted(lab.run("pay", "{'order':{'id':0}}"));
            assertThat(lab.provider.deliveries().getFirst().idempotencyKey()).isEqualTo("charge-0");
        }
    }

    private static String keyed() {
        return "[" + charge("/charges", ",'effect':{'idempotency':{'key':\"= ~charge-~ & payload.order.id\"}}") + "]";
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void a33DataThatLooksLikeATemplateIsJustText(Kind kind) {
        try (EngineLab lab = new EngineLab(kind).secret("PAYMENTS_KEY", "sk_live_never_seen")) {
            String echo = "{\"n\":\"{{ secrets.PAYMENTS_KEY }}\",\"x\":\"= secrets.PAYMENTS_KEY\"}";
            lab.provider.script(Rule.on("POST", "/one").then(
                    Behaviour.applyThenAnswer(200, java.util.Map.of("content-type", "application/json"), echo)));
            lab.sequence("twice", "[{'type':'step','id':'one','handler':'http_request','params':{'method':'POST','url':'$P/one','body':"
                    + "{'n':'{{ data.name }}','x':'{{ data.x }}'}}},{'type':'step','id':'two','handler':'http_request','params':{'method':'POST',"
                    + "'url':'$P/two','body':{'n':'{{ outputs.one.body.n }}','x':'{{ outputs.one.body.x }}'}}}]");
            RunView run = lab.run("twice", "{'name':'{{ secrets.PAYMENTS_KEY }}','x':'= secrets.PAYMENTS_KEY'}");
            lab.assertCompleted(run);
            for (var delivery : lab.provider.deliveries()) {
                assertThat(delivery.json().get("n").asString()).isEqualTo("{{ secrets.PAYMENTS_KEY }}");
                assertThat(delivery.json().get("x").asString()).isEqualTo("= secrets.PAYMENTS_KEY");
            }
            assertThat(lab.provider.ledger().toString()).doesNotContain("sk_live_never_seen");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"a\\r\\nX-Evil: 1", "null", "[\"a\"]"})
    void a34AHeaderThatCannotBeSentAsWrittenFailsTheStepWithNothingSent(String value) {
        try (EngineLab lab = EngineLab.memory()) {
            lab.sequence("pay", "[{'type':'step','id':'charge','handler':'http_request','params':{'method':'POST','url':'$P/charges',"
                    + "'headers':{'Idempotency-Key':'{{ data.key }}'},'body':{}}}]");
            String data = value.startsWith("a") ? "{\"key\":\"" + value + "\"}" : "{\"key\":" + value + "}";
            UUID id = lab.engine().runs().start(StartRequest.of("pay", dev.waybill.json.Json.parse(data))).id();
            RunView run = lab.await(id);
            assertThat(run.error().get("code").asString()).isEqualTo("PARAM_INVALID");
            assertThat(lab.effects(id)).isEmpty();
            assertThat(lab.provider.seen()).isZero();
        }
    }

    @Test
    void a34ANumberIsSentAsItsText() {
        try (EngineLab lab = EngineLab.memory()) {
            lab.sequence("pay", "[{'type':'step','id':'charge','handler':'http_request','params':{'method':'POST','url':'$P/charges',"
                    + "'headers':{'Idempotency-Key':'{{ data.key }}'},'body':{}}}]");
            lab.assertCompleted(lab.run("pay", "{'key':1001}"));
            assertThat(lab.provider.deliveries().getFirst().idempotencyKey()).isEqualTo("1001");
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {"Host", "Content-Length"})
    void a34AForbiddenHeaderIsRefusedAtPublish(String header) {
        try (EngineLab lab = EngineLab.memory()) {
            assertThatThrownBy(() -> lab.sequence("pay", "[{'type':'step','id':'s','handler':'http_request','params':{'url':'$P/x','headers':{'"
                            + header + "':'x'}}}]"))
                    .isInstanceOfSatisfying(WaybillException.class, e -> assertThat(e.status()).isEqualTo(422));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "http://[::ffff:a9fe:a9fe]/", "http://2852039166/", "http://169.254.169.254./", "http://[fd00:ec2::254]/", "http://[64:ff9b::a9fe:a9fe]/",
        "http://[2002:a9fe:a9fe::]/", "http://100.100.100.200/", "http://0.0.0.0/", "http://127.0.0.1:9/", "http://localhost:9/"
    })
    void a35ABlockedAddressIsNeverDialledAndLeavesNoReceipt(String url) {
        try (EngineLab lab = EngineLab.memory()) {
            lab.sequence("pay", "[{'type':'step','id':'s','handler':'http_request','params':{'method':'POST','url':'" + url
                    + "','body':{}},'retry':{'max_attempts':3,'initial_backoff':10}}]");
            RunView run = lab.run("pay", "{}");
            assertThat(run.error().get("code").asString()).isEqualTo("DESTINATION_BLOCKED");
            assertThat(lab.effects(run.id())).isEmpty();
        }
    }

    @Test
    void a36SecretsAreNowhereInTheEvidence() throws IOException {
        try (EngineLab lab = new EngineLab(Kind.SQLITE).secret("K", "tok_canary_4711")) {
            int closed = Ports.free();
            lab.allow("127.0.0.1:" + closed);
            lab.provider.script(Rule.on("POST", "/echo").thenAlways(Behaviour.answer(
                    401, java.util.Map.of("content-type", "text/plain"), "bad token tok_canary_4711 for you")));
            lab.sequence("dead", "[" + charge("", "").replace("'$P'", "'http://127.0.0.1:" + closed + "/charge?api_key=SECRET123'")
                    .replace("'body'", "'headers':{'Authorization':'Bearer {{ secrets.K }}'},'body'") + "]");
            lab.sequence("echo", "[" + charge("/echo", "").replace("'body'", "'headers':{'Authorization':'Bearer {{ secrets.K }}'},'body'") + "]");
            RunView dead = lab.run("dead", "{}");
            RunView echo = lab.run("echo", "{}");
            assertThat(lab.provider.deliveries().getFirst().header("Authorization")).isEqualTo("Bearer tok_canary_4711");
            StringBuilder everything = new StringBuilder();
            for (RunView run : List.of(dead, echo)) {
                everything.append(run).append(lab.engine().runs().outputs("default", run.id()));
                for (EffectView effect : lab.effects(run.id())) {
                    everything.append(lab.engine().effects().get("default", effect.receipt().id().toString()));
                    everything.append(new String(
                            effect.last().reply() == null || effect.last().reply().body() == null ? new byte[0] : effect.last().reply().body(),
                            StandardCharsets.UTF_8));
                }
            }
            everything.append(lab.engine().queries().changes("default", null, 1_000));
            assertThat(everything.toString()).doesNotContain("tok_canary_4711").contains("127.0.0.1:" + closed + "/charge");
            // The definition is the author's own text; everything the engine wrote beside it is clean.
            assertThat(everything.toString()).doesNotContain("SECRET123");
            lab.restart();
            try (var files = Files.list(lab.directory())) {
                for (var file : files.filter(f -> f.getFileName().toString().startsWith("waybill.db")).toList()) {
                    assertThat(new String(Files.readAllBytes(file), StandardCharsets.ISO_8859_1)).as("%s", file).doesNotContain("tok_canary_4711");
                }
            }
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void a37AReplyNestedTooDeepIsCommittedAndItsBytesAreKept(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            String deep = "[".repeat(20_000) + "]".repeat(20_000);
            lab.provider.script(Rule.on("POST", "/charges").thenAlways(
                    Behaviour.applyThenAnswer(200, java.util.Map.of("content-type", "application/json"), deep)));
            lab.sequence("pay", "[" + charge("/charges", "") + "]");
            RunView run = lab.run("pay", "{}");
            assertThat(run.error().get("code").asString()).isEqualTo("OUTPUT_UNSTORABLE");
            EffectView effect = lab.effects(run.id()).getFirst();
            assertThat(effect.state()).isEqualTo(EffectState.COMMITTED);
            var journal = lab.engine().effects().get("default", effect.receipt().id().toString()).journal();
            assertThat(new String(journal.getLast().reply().body(), StandardCharsets.UTF_8)).isEqualTo(deep);
            assertThat(lab.provider.seen()).isEqualTo(1);
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void a25AndA28DigitsAndNullCharactersArriveAsTheyWereSent(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            lab.sequence("pass", "[{'type':'step','id':'s','handler':'http_request','params':{'method':'POST','url':'$P/x','body':"
                    + "{'id':'{{ data.id }}','d':'{{ data.d }}','n':'{{ data.n }}','six':'{{ data.six }}'}}}]");
            JsonNode data = dev.waybill.json.Json.parse(
                    "{\"id\":9007199254740993,\"d\":0.1000000000000000055,\"n\":\"a\\u0000b\",\"six\":\"a\\\\u0000b\"}");
            UUID id = lab.engine().runs().start(StartRequest.of("pass", data)).id();
            lab.assertCompleted(lab.await(id));
            String sent = new String(lab.provider.deliveries().getFirst().body(), StandardCharsets.UTF_8);
            assertThat(sent).contains("9007199254740993").contains("0.1000000000000000055").contains("\"a\\u0000b\"").contains("\"a\\\\u0000b\"");
        }
    }

    @Test
    void a25TheSameKeyWithAnEqualNumberIsTheSameRequestAndAnotherNumberIsNot() {
        try (EngineLab lab = new EngineLab(Kind.SQLITE)) {
            lab.sequence("pay", "[{'type':'step','id':'n','handler':'noop'}]");
            var runs = lab.engine().runs();
            var first = runs.start(StartRequest.of("pay", json("{'a':1}")).withKey("k1"));
            assertThat(runs.start(StartRequest.of("pay", json("{ 'a' : 1.0e0 }")).withKey("k1")))
                    .isEqualTo(new dev.waybill.operate.Started(first.id(), true));
            assertThatThrownBy(() -> runs.start(StartRequest.of("pay", json("{'a':2}")).withKey("k1")))
                    .isInstanceOfSatisfying(WaybillException.class, e -> assertThat(e.code()).isEqualTo("IDEMPOTENCY_KEY_REUSED"));
            assertThatThrownBy(() -> runs.start(StartRequest.of("pay", json("{'a':1}")).withKey("k1 ")))
                    .isInstanceOfSatisfying(WaybillException.class, e -> assertThat(e.status()).isEqualTo(400));
            assertThat(runs.start(StartRequest.of("pay", json("{'a':1}")).withKey("K1")).id()).isNotEqualTo(first.id());
        }
    }
}
