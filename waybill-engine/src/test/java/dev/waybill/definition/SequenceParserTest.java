package dev.waybill.definition;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import dev.waybill.definition.Sequence.OnUnknown;
import dev.waybill.definition.Sequence.Remedy;
import dev.waybill.definition.Sequence.Step;
import dev.waybill.json.Json;
import dev.waybill.model.WaybillException;
import java.time.Duration;
import java.util.List;
import java.util.Set;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

@Timeout(60)
class SequenceParserTest {
    private static final UUID ID = UUID.fromString("00000000-0000-4000-8000-000000000001");

    private static Sequence parse(String document) {
        return SequenceParser.parse(Json.parseDefinition(document), "acme", () -> ID);
    }

    private static Sequence sequence(String... blocks) {
        return parse("{\"name\":\"s\",\"blocks\":[" + String.join(",", blocks) + "]}");
    }

    private static Step step(String fields) {
        return (Step) sequence("{\"id\":\"a\",\"type\":\"step\",\"handler\":\"noop\"" + (fields.isEmpty() ? "" : "," + fields) + "}").blocks().getFirst();
    }

    private static String http(String params) {
        return "{\"id\":\"a\",\"type\":\"step\",\"handler\":\"http_request\",\"params\":{\"url\":\"http://h/\"," + params + "}}";
    }

    private static Validation validation(String... blocks) {
        return SequenceParser.validate(Json.parseDefinition("{\"name\":\"s\",\"blocks\":[" + String.join(",", blocks) + "]}"));
    }

    private static Fault only(String block) {
        List<Fault> faults = validation(block).faults();
        assertThat(faults).as(block).hasSize(1);
        return faults.getFirst();
    }

    private static Fault stepFault(String fields) {
        return only("{\"id\":\"a\",\"type\":\"step\",\"handler\":\"noop\"," + fields + "}");
    }

    @Test
    void aMinimalSequenceHasTheDefaults() {
        Sequence sequence = sequence("{\"id\":\"a\",\"type\":\"step\",\"handler\":\"noop\"}");
        assertThat(sequence.id()).isEqualTo(ID);
        assertThat(sequence.tenant()).isEqualTo("acme");
        assertThat(sequence.namespace()).isEqualTo("default");
        assertThat(sequence.version()).isEqualTo(1);
        assertThat(sequence.onUnknown()).extracting(Remedy::what).containsExactly(OnUnknown.VERIFY, OnUnknown.RESEND, OnUnknown.WAIT);
        Step step = (Step) sequence.blocks().getFirst();
        assertThat(step.retry().maxAttempts()).isEqualTo(1);
        assertThat(step.effect()).isNull();
        assertThat(step.delay()).isNull();
        assertThat(step.onUnknown()).isNull();
        assertThat(step.clientErrorComplete()).isFalse();
    }

    @Test
    void aFullStepIsReadAsWritten() throws Exception {
        Step step = step(
                """
                "params":{"a":"{{ data.n }}"},"delay":{"duration":"2s"},"timeout":"PT10S","when":"data.n == 5 && true",
                "retry":{"max_attempts":5,"initial_backoff":"100ms","max_backoff":"5m","backoff_multiplier":3,"jitter":0.5,
                         "retry_if":"_error.code = 'X'","non_retryable_codes":["Y"]},
                "effect":{"name":"payment.charge","idempotency":{"key":"= 'charge-' & data.n","header":"X-Key","window":"24h","replayed":[402,422]},
                          "verify":{"params":{"method":"GET","url":"http://p/charges?key={{ key }}"},"landed":"= body.count > 0","absent":"body.count = 0",
                                    "output":"= body.items[0]","receipt_id":"= body.items[0].id","every":"30s","negative_reads":3,"max_reads":50,
                                    "give_up":"48h","timeout":"3s","before":true},"resend":{"max":4,"backoff":"7s"},
                          "receipt_id":"= body.id","labels":{"order":"= data.n"},"status":{"503":"not_applied"},"settle":"90s",
                          "on_conflict":"verify","repeats":"refused"},
                "on_unknown":[{"verify":{"max_reads":40,"give_up":"2h"}},{"resend":{"max":2,"backoff":"20s"}},{"wait":{"for":"1h"}},"fail"],"clientErrorMode":"complete","success_when":"body.ok","output_schema":{"type":"object"},
                "cancellable":true
                """);
        Scope scope = Scopes.of("{\"data\":{\"n\":5},\"body\":{\"id\":\"r1\",\"ok\":true}}");
        assertThat(step.params().resolve(scope)).isEqualTo(Json.parse("{\"a\":5}"));
        assertThat(step.delay().resolve(scope).intValue()).isEqualTo(2_000);
        assertThat(step.timeout()).isEqualTo(Duration.ofSeconds(10));
        assertThat(step.when().evaluate(scope).booleanValue()).isTrue();
        assertThat(step.retry().initialBackoff()).isEqualTo(Duration.ofMillis(100));
        assertThat(step.retry().maxBackoff()).isEqualTo(Duration.ofMinutes(5));
        assertThat(step.retry().nonRetryableCodes()).containsExactly("Y");
        assertThat(Keys.resolve(step.effect().key(), scope)).isEqualTo("charge-5");
        assertThat(step.effect().keyHeader()).isEqualTo("X-Key");
        assertThat(step.effect().keyWindow()).isEqualTo(Duration.ofHours(24));
        assertThat(step.effect().receiptId().evaluate(scope).stringValue()).isEqualTo("r1");
        assertThat(step.effect().labels().get("order").resolve(scope).intValue()).isEqualTo(5);
        assertThat(step.effect().statusMap()).containsEntry(503, "not_applied");
        assertThat(step.effect().settle()).isEqualTo(Duration.ofSeconds(90));
        assertThat(step.onUnknown()).containsExactly(
                new Remedy(OnUnknown.VERIFY, 40, Duration.ofHours(2)),
                new Remedy(OnUnknown.RESEND, 2, Duration.ofSeconds(20)),
                new Remedy(OnUnknown.WAIT, null, Duration.ofHours(1)),
                Remedy.of(OnUnknown.FAIL));
        Sequence.Verifier verify = step.effect().verify();
        assertThat(verify.handler()).isEqualTo("http_request");
        assertThat(verify.params().resolve(Scopes.of("{\"key\":\"charge-5\"}")))
                .isEqualTo(Json.parse("{\"method\":\"GET\",\"url\":\"http://p/charges?key=charge-5\",\"read\":true}"));
        assertThat(verify.landed().evaluate(Scopes.of("{\"body\":{\"count\":1}}")).booleanValue()).isTrue();
        assertThat(List.of(verify.every(), verify.maxEvery(), verify.giveUp(), verify.timeout())).containsExactly(
                Duration.ofSeconds(30), Duration.ofMinutes(15), Duration.ofHours(48), Duration.ofSeconds(3));
        assertThat(verify.negativeReads()).isEqualTo(3);
        assertThat(verify.maxReads()).isEqualTo(50);
        assertThat(verify.before()).isTrue();
        assertThat(step.effect().onConflict()).isEqualTo(Sequence.OnConflict.VERIFY);
        assertThat(step.effect().replayed()).containsExactlyInAnyOrder(402, 422);
        assertThat(step.effect().resend()).isEqualTo(new Sequence.Resend(4, Duration.ofSeconds(7)));
        assertThat(step.clientErrorComplete()).isTrue();
        assertThat(step.successWhen().evaluate(scope).booleanValue()).isTrue();
    }

    @Test
    void everyKindOfBlockIsRead() throws Exception {
        Sequence sequence = parse(
                """
                {"id":"6f1c1e36-6f3f-4a4e-9d5e-0d3a5e2f8a11","tenant_id":"acme","namespace":"pay","name":"s","version":3,"on_unknown":"fail",
                 "status":"published","deprecated":false,"created_at":"2026-11-30T00:00:00Z","sla":null,"invariants":[],
                 "input_schema":{"type":"object"},
                 "blocks":[
                  {"id":"p","type":"parallel","branches":[[{"id":"p1","type":"step","handler":"noop"}],[]]},
                  {"id":"r","type":"router","routes":[{"condition":"= data.x > 1","blocks":[]}],"default":[{"id":"r1","type":"step","handler":"noop"}]},
                  {"id":"t","type":"try_catch","try_block":[],"catch_block":[],"finally_block":[]},
                  {"id":"f","type":"for_each","collection":"data.items","item_var":"order","concurrency":4,
                   "body":[{"id":"f1","type":"step","handler":"noop","params":{"x":"{{ order.id }}"}}]},
                  {"id":"l","type":"loop","condition":"true","max_iterations":7,"break_on":"= data.x = 1","poll_interval":"1s","continue_on_error":true,
                   "retain_iterations":2,"body":[]}]}
                """);
        assertThat(sequence.id()).isEqualTo(UUID.fromString("6f1c1e36-6f3f-4a4e-9d5e-0d3a5e2f8a11"));
        assertThat(sequence.onUnknown()).containsExactly(Remedy.of(OnUnknown.FAIL));
        assertThat(((Sequence.Parallel) sequence.blocks().get(0)).branches()).hasSize(2);
        assertThat(((Sequence.Router) sequence.blocks().get(1)).otherwise()).hasSize(1);
        Sequence.ForEach forEach = (Sequence.ForEach) sequence.blocks().get(3);
        assertThat(forEach.collection().resolve(Scopes.of("{\"data\":{\"items\":[5,5,5]}}"))).isEqualTo(Json.parse("[5,5,5]"));
        assertThat(forEach.itemVar()).isEqualTo("order");
        assertThat(forEach.concurrency()).isEqualTo(4);
        assertThat(forEach.maxIterations()).isEqualTo(1_000);
        Sequence.Loop loop = (Sequence.Loop) sequence.blocks().get(4);
        assertThat(loop.maxIterations()).isEqualTo(7);
        assertThat(loop.pollInterval()).isEqualTo(Duration.ofSeconds(1));
        assertThat(loop.retainIterations()).isEqualTo(2);
    }

    @Test
    void everyFaultIsReportedAtOnceWithItsPointer() {
        WaybillException e = catchThrowableOfType(
                WaybillException.class,
                () -> parse(
                        """
                        {"nmae":"x","version":0,"blocks":[
                          {"id":"a","type":"step","handlr":"noop"},
                          {"id":"a","type":"step","handler":"noop","timeout":"soon"},
                          {"id":"b","type":"rooter"},
                          {"id":"c","type":"loop","condition":"data.x ==","body":[{"id":"d e","type":"step","handler":"noop"}]}]}
                        """));
        assertThat(e.status()).isEqualTo(422);
        assertThat(e.code()).isEqualTo("INVALID_SEQUENCE");
        assertThat(e.details()).isNotNull();
        assertThat(e.details().valueStream().map(fault -> fault.get("code").asString() + " " + fault.get("pointer").asString()))
                .containsExactlyInAnyOrder(
                        "MISSING_FIELD ", "WRONG_TYPE /version", "MISSING_FIELD /blocks/0", "UNKNOWN_FIELD /blocks/0/handlr",
                        "DUPLICATE_ID /blocks/1/id", "INVALID_DURATION /blocks/1/timeout", "UNKNOWN_BLOCK_TYPE /blocks/2/type",
                        "EXPRESSION_INVALID /blocks/3/condition", "INVALID_VALUE /blocks/3/body/0/id", "UNKNOWN_FIELD /nmae");
        assertThat(e.getMessage()).contains("did you mean name?", "did you mean handler?", "did you mean router?");
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "\"rate_limit_key\":\"x\"", "\"send_window\":{\"start_hour\":1}", "\"context_access\":{\"data\":true}", "\"wait_for_input\":{\"prompt\":\"x\"}",
        "\"queue_name\":\"q\"", "\"deadline\":\"1h\"", "\"on_deadline_breach\":{\"handler\":\"x\"}", "\"fallback_handler\":\"x\"", "\"cache_key\":\"x\"",
        "\"compensation\":{\"handler\":\"x\"}", "\"cancellable\":false",
        "\"delay\":{\"duration\":1,\"timezone\":\"UTC\"}", "\"delay\":{\"duration\":1,\"jitter\":5}"
    })
    void whatIsNotBuiltYetIsRefusedAndNeverIgnored(String field) {
        Fault fault = stepFault(field);
        assertThat(fault.code()).isEqualTo("UNSUPPORTED");
        assertThat(fault.pointer()).startsWith("/blocks/0/");
        assertThat(fault.message()).contains("not supported yet");
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '~', value = {
        "'on_unknown':['verify'] | VERIFIER_MISSING /blocks/0/on_unknown/0",
        "'on_unknown':'resend' | KEY_CONTRACT_MISSING /blocks/0/on_unknown",
        "'on_unknown':['wait','fail'] | INVALID_VALUE /blocks/0/on_unknown/1",
        "'on_unknown':['wait','wait'] | INVALID_VALUE /blocks/0/on_unknown/1",
        "'on_unknown':['hope'] | INVALID_VALUE /blocks/0/on_unknown/0",
        "'on_unknown':[{'wait':{'fro':'1h'}}] | UNKNOWN_FIELD /blocks/0/on_unknown/0/wait/fro",
        "'on_unknown':[{'wait':{'for':'1x'}}] | INVALID_DURATION /blocks/0/on_unknown/0/wait/for",
        "'effect':{'resend':{'max':5}} | KEY_CONTRACT_MISSING /blocks/0/effect/resend",
        "'effect':{'idempotency':{'key':'a-{{ data.n }}'},'resend':{'max':5}} | KEY_CONTRACT_MISSING /blocks/0/effect/resend",
        "'effect':{'idempotency':{'key':'a-{{ data.n }}','replayed':[429]}} | INVALID_VALUE /blocks/0/effect/idempotency/replayed",
        "'effect':{'on_conflict':'verify'} | VERIFIER_MISSING /blocks/0/effect/on_conflict",
        "'effect':{'on_conflict':'aplied'} | INVALID_VALUE /blocks/0/effect/on_conflict",
        "'effect':{'on_conflict':'applied','status':{'409':'rejected'}} | INVALID_VALUE /blocks/0/effect/on_conflict",
        "'effect':{'verify':{'params':{'url':'http://p/'},'absent':'true'}} | MISSING_FIELD /blocks/0/effect/verify",
        "'effect':{'verify':{'params':{'url':'http://p/','method':'POST'},'landed':'true'}} | VERIFIER_NOT_READ_ONLY /blocks/0/effect/verify/params",
        "'effect':{'verify':{'params':{'url':'http://p/','body':{}},'landed':'true'}} | VERIFIER_NOT_READ_ONLY /blocks/0/effect/verify/params",
        "'effect':{'verify':{'params':{'url':'http://p/','read':false},'landed':'true'}} | VERIFIER_NOT_READ_ONLY /blocks/0/effect/verify/params",
        "'effect':{'verify':{'params':{'url':'http://p/'},'landed':'body.count >'}} | EXPRESSION_INVALID /blocks/0/effect/verify/landed",
        "'effect':{'verify':{'params':{'url':'http://p/'},'landed':'true','absent':'true','max_reads':1}} | INVALID_VALUE /blocks/0/effect/verify/max_reads",
        "'effect':{'settle':1,'verify':{'params':{'url':'http://p/'},'landed':'true','settle':2}} | INVALID_VALUE /blocks/0/effect/verify/settle",
    })
    void whatCannotHealIsRefusedWhereItStands(String field, String expected) {
        Fault fault = stepFault(field.replace('\'', '"'));
        assertThat(fault.code() + " " + fault.pointer()).isEqualTo(expected);
    }

    @ParameterizedTest
    @CsvSource(delimiter = '|', quoteCharacter = '~', value = {
        "{'id':'x','action':A} | ",
        "{'id':'a','action':A,'compensation':B} | ",
        "{'action':A} | MISSING_FIELD /blocks/0/steps/0",
        "{'id':'x'} | MISSING_FIELD /blocks/0/steps/0",
        "{'id':'x','action':[A]} | WRONG_TYPE /blocks/0/steps/0/action",
        "{'id':'x','action':A,'undo':B} | UNKNOWN_FIELD /blocks/0/steps/0/undo",
        "{'id':'x','action':A,'compensation':A} | DUPLICATE_ID /blocks/0/steps/0/compensation/id",
        "{'id':'x','action':A},{'id':'x','action':B} | DUPLICATE_ID /blocks/0/steps/1/id",
        "{'id':'x y','action':A} | INVALID_VALUE /blocks/0/steps/0/id",
        "7 | WRONG_TYPE /blocks/0/steps/0",
    })
    void aSagaIsReadAndItsFaultsSayWhere(String steps, String expected) {
        String block = "{'id':'s','type':'saga','steps':[" + steps + "]}";
        String document = "{'name':'s','blocks':[" + block.replace("A", "{'id':'a','type':'step','handler':'noop'}").replace("B", "{'id':'b','type':'step','handler':'noop'}")
                + "]}";
        assertThat(SequenceParser.validate(Json.parse(document.replace('\'', '"'))).faults().stream().map(fault -> fault.code() + " " + fault.pointer()).toList())
                .isEqualTo(expected == null ? java.util.List.of() : java.util.List.of(expected));
    }

    @ParameterizedTest
    @ValueSource(strings = {"race", "sub_sequence", "ab_split", "a_b_split", "cancellation_scope"})
    void blocksThatAreNotBuiltYetAreRefused(String type) {
        assertThat(only("{\"id\":\"a\",\"type\":\"" + type + "\",\"branches\":[]}").code()).isEqualTo("UNSUPPORTED");
    }

    @ParameterizedTest
    @ValueSource(strings = {"sla", "on_failure", "on_cancel", "interceptors"})
    void sequenceFieldsThatAreNotBuiltYetAreRefused(String field) {
        Validation validation = SequenceParser.validate(Json.parse("{\"name\":\"s\",\"blocks\":[],\"" + field + "\":[{\"x\":1}]}"));
        assertThat(validation.faults()).singleElement().satisfies(fault -> {
            assertThat(fault.code()).isEqualTo("UNSUPPORTED");
            assertThat(fault.pointer()).isEqualTo("/" + field);
        });
    }

    @Test
    void anUnknownHandlerIsRefusedWhenTheHandlersAreKnown() {
        JsonNode document = Json.parse("{\"name\":\"s\",\"blocks\":[{\"id\":\"a\",\"type\":\"step\",\"handler\":\"chrge\"}]}");
        assertThat(SequenceParser.validate(document).faults()).isEmpty();
        assertThat(SequenceParser.validate(document, Set.of("charge")::contains).faults()).extracting(Fault::code).containsExactly("UNKNOWN_HANDLER");
        assertThat(catchThrowableOfType(WaybillException.class, () -> SequenceParser.parse(document, "t", () -> ID, Set.of("charge")::contains)).code())
                .isEqualTo("INVALID_SEQUENCE");
    }

    @ParameterizedTest
    @CsvSource({
        "Host,HEADER_FORBIDDEN", "content-length,HEADER_FORBIDDEN", "Transfer-Encoding,HEADER_FORBIDDEN", "Connection,HEADER_FORBIDDEN", "TE,HEADER_FORBIDDEN",
        "Upgrade,HEADER_FORBIDDEN", "Expect,HEADER_FORBIDDEN", "Trailer,HEADER_FORBIDDEN", "Keep-Alive,HEADER_FORBIDDEN", "Proxy-Authorization,HEADER_FORBIDDEN",
        "Waybill-Effect,HEADER_FORBIDDEN", "X Y,HEADER_INVALID", "X:Y,HEADER_INVALID", "ü,HEADER_INVALID", "'',HEADER_INVALID"
    })
    void aHeaderThatCannotBeSentAsWrittenIsRefusedAtPublish(String name, String code) {
        assertThat(only(http("\"headers\":{\"" + name + "\":\"x\"}")).code()).isEqualTo(code);
    }

    @ParameterizedTest
    @ValueSource(strings = {"\"a\\r\\nX-Evil: 1\"", "null", "[\"a\"]", "{\"a\":1}", "\"\\u0000\""})
    void aLiteralHeaderValueThatCannotBeSentIsRefusedAtPublish(String value) {
        assertThat(only(http("\"headers\":{\"X-A\":" + value + "}")).code()).isEqualTo("HEADER_INVALID");
    }

    @Test
    void aHeaderGivenTwiceOrAKeyInTwoPlacesIsRefused() {
        assertThat(only(http("\"headers\":{\"X-A\":\"1\",\"x-a\":\"2\"}")).code()).isEqualTo("HEADER_INVALID");
        assertThat(only("{\"id\":\"a\",\"type\":\"step\",\"handler\":\"http_request\",\"effect\":{\"idempotency\":{\"key\":\"= 'c-' & data.x\"}},"
                        + "\"params\":{\"url\":\"http://h/\",\"headers\":{\"idempotency-key\":\"= 'c-' & data.x\"}}}"))
                .extracting(Fault::code)
                .isEqualTo("HEADER_FORBIDDEN");
        assertThat(stepFault("\"effect\":{\"idempotency\":{\"key\":\"= 'c-' & data.x\",\"header\":\"Host\"}}").code()).isEqualTo("HEADER_FORBIDDEN");
    }

    @Test
    void theSeedsKeyHeaderIsAsStrictAsADeclaredKey() throws Exception {
        Step step = (Step) sequence(http("\"headers\":{\"Idempotency-Key\":\"= 'charge-' & payload.order.id\",\"Authorization\":\"Bearer {{ secrets.K }}\"}"))
                .blocks()
                .getFirst();
        assertThat(step.params().resolve(Scopes.of("{\"payload\":{\"order\":{\"id\":0}}}")).at("/headers/Idempotency-Key").stringValue()).isEqualTo("charge-0");
        for (String order : List.of("{}", "{\"id\":null}", "{\"id\":\"\"}", "[{\"id\":1},{\"id\":2}]")) {
            Scope scope = Scopes.of("{\"payload\":{\"order\":" + order + "}}");
            assertThat(catchThrowableOfType(EvaluationException.class, () -> step.params().resolve(scope)).problem().code())
                    .isIn("EXPRESSION_UNDEFINED", "KEY_NOT_SCALAR");
        }
    }

    @Test
    void aWholeKeyHeaderKeepsItsTypeForTheTransportToJudge() throws Exception {
        Step step = (Step) sequence(http("\"headers\":{\"Idempotency-Key\":\"{{ payload.k }}\"}")).blocks().getFirst();
        for (String k : List.of("1001", "null", "[\"a\"]", "\"a\\r\\nX-Evil: 1\"")) {
            assertThat(step.params().resolve(Scopes.of("{\"payload\":{\"k\":" + k + "}}")).at("/headers/Idempotency-Key")).isEqualTo(Json.parse(k));
        }
    }

    @ParameterizedTest
    @ValueSource(strings = {
        "= 'c-' & $now()", "= 'c-' & $millis()", "= $string($random())", "= 'c-' & $uuid()", "= 'c-' & runtime.attempt", "= 'c-' & context.runtime.instance_id",
        "c-{{ runtime.attempt }}", "c-{{ context.runtime.instance_id }}", "c-{{ now() }}", "c-{{ uuid() }}"
    })
    void aKeyMustNotChangeBetweenAttempts(String key) {
        assertThat(stepFault("\"effect\":{\"idempotency\":{\"key\":\"" + key + "\"}}"))
                .returns("KEY_NOT_STABLE", Fault::code)
                .returns("/blocks/0/effect/idempotency/key", Fault::pointer);
        assertThat(only(http("\"headers\":{\"Idempotency-Key\":\"" + key + "\"}")).code()).isEqualTo("KEY_NOT_STABLE");
    }

    @Test
    void aKeyIsAScalarWithoutSecrets() {
        assertThat(stepFault("\"effect\":{\"idempotency\":{\"key\":{\"a\":1}}}").code()).isEqualTo("KEY_NOT_SCALAR");
        assertThat(stepFault("\"effect\":{\"idempotency\":{\"key\":\"c-{{ secrets.K }}\"}}").code()).isEqualTo("KEY_NOT_SCALAR");
        assertThat(stepFault("\"effect\":{\"idempotency\":{\"key\":\"  \"}}").code()).isEqualTo("KEY_NOT_SCALAR");
    }

    @Test
    void lintWarnsAndDoesNotRefuse() {
        Validation validation = validation(
                "{\"id\":\"a\",\"type\":\"step\",\"handler\":\"charge\",\"timeout\":\"16s\",\"params\":{\"x\":\"{{ dta.x }}\"}}",
                "{\"id\":\"b\",\"type\":\"step\",\"handler\":\"charge\",\"effect\":{\"idempotency\":{\"key\":\"= data.id\"}}}",
                "{\"id\":\"c\",\"type\":\"step\",\"handler\":\"charge\",\"effect\":{\"idempotency\":{\"key\":\"fixed\"}}}",
                "{\"id\":\"d\",\"type\":\"step\",\"handler\":\"charge\",\"effect\":{\"idempotency\":{\"key\":\"c-{{ data.id }}\"}}}",
                "{\"id\":\"e\",\"type\":\"step\",\"handler\":\"http_request\",\"params\":{\"url\":\"http://h/\",\"read\":true}}",
                "{\"id\":\"f\",\"type\":\"step\",\"handler\":\"noop\",\"timeout\":\"1h\"}");
        assertThat(validation.valid()).isTrue();
        assertThat(validation.warnings()).extracting(fault -> fault.code() + " " + fault.pointer())
                .filteredOn(text -> !text.startsWith("WB"))
                .containsExactlyInAnyOrder(
                        "UNKNOWN_ROOT /blocks/0/params/x", "TIMEOUT_OVER_LEASE /blocks/0/timeout",
                        "KEY_WITHOUT_PREFIX /blocks/1/effect/idempotency/key", "KEY_CONSTANT /blocks/2/effect/idempotency/key");
    }

    @ParameterizedTest
    @CsvSource({"250,250", "'\"250ms\"',250", "'\"30s\"',30000", "'\"5m\"',300000", "'\"2h\"',7200000", "'\"3d\"',259200000", "'\"PT30S\"',30000", "'\"P1DT1S\"',86401000", "0,0"})
    void durationsAreMillisecondsOrTextWithAUnit(String text, long millis) {
        assertThat(Durations.of(Json.parse(text))).contains(Duration.ofMillis(millis));
    }

    @ParameterizedTest
    @ValueSource(strings = {"-1", "1.5", "\"30\"", "\"1.5s\"", "\"-5s\"", "\"PT-5S\"", "\"30 sec\"", "\"\"", "true", "\"P9999Y\"", "99999999999999999999", "\"999999999999d\"", "\"pt5s\""})
    void whatIsNoDurationIsRefused(String text) {
        assertThat(Durations.of(Json.parse(text))).isEmpty();
    }

    @Test
    void theLimitsOfTheLanguageHold() {
        String deep = "{\"id\":\"s\",\"type\":\"step\",\"handler\":\"noop\"}";
        for (int i = 0; i < 63; i++) {
            deep = "{\"id\":\"b" + i + "\",\"type\":\"router\",\"routes\":[{\"condition\":\"true\",\"blocks\":[" + deep + "]}]}";
        }
        assertThat(validation(deep).faults()).isEmpty();
        assertThat(only("{\"id\":\"x\",\"type\":\"try_catch\",\"try_block\":[" + deep + "]}").code()).isEqualTo("LIMIT_EXCEEDED");

        String branches = "[]" + ",[]".repeat(256);
        assertThat(only("{\"id\":\"x\",\"type\":\"parallel\",\"branches\":[" + branches + "]}").code()).isEqualTo("LIMIT_EXCEEDED");

        StringBuilder many = new StringBuilder();
        for (int i = 0; i <= 5_000; i++) {
            many.append(i == 0 ? "" : ",").append("{\"id\":\"s").append(i).append("\",\"type\":\"step\",\"handler\":\"noop\"}");
        }
        assertThat(validation(many.toString()).faults()).extracting(Fault::code).containsExactly("LIMIT_EXCEEDED");

        assertThat(only("{\"id\":\"x\",\"type\":\"loop\",\"condition\":\"true\",\"body\":[],\"max_iterations\":100001}").code()).isEqualTo("WRONG_TYPE");
        assertThat(only("{\"id\":\"x\",\"type\":\"for_each\",\"collection\":[],\"body\":[],\"max_iterations\":0}").code()).isEqualTo("WRONG_TYPE");
        assertThat(stepFault("\"retry\":{\"jitter\":1e400}").code()).isEqualTo("WRONG_TYPE");
    }

    @Test
    void anotherTenantsDocumentIsRefused() {
        JsonNode document = Json.parse("{\"name\":\"s\",\"tenant_id\":\"other\",\"blocks\":[]}");
        assertThat(catchThrowableOfType(WaybillException.class, () -> SequenceParser.parse(document, "acme", () -> ID)).getMessage()).contains("TENANT_MISMATCH");
    }

    @Test
    void aBrokenSchemaIsAFaultAndNeverReachesOutside() {
        assertThat(validation("{\"id\":\"a\",\"type\":\"step\",\"handler\":\"noop\",\"output_schema\":{\"type\":\"objekt\"}}").faults())
                .isNotEmpty()
                .allSatisfy(fault -> assertThat(fault.code()).isEqualTo("INVALID_SCHEMA"));
        assertThat(stepFault("\"output_schema\":{\"$ref\":\"#/$defs/nope\"}").code()).isEqualTo("INVALID_SCHEMA");
        assertThat(stepFault("\"output_schema\":{\"$ref\":\"http://127.0.0.1:1/schema\"}").code()).isEqualTo("INVALID_SCHEMA");
        assertThat(stepFault("\"output_schema\":{\"$ref\":\"file:///etc/hostname\"}").code()).isEqualTo("INVALID_SCHEMA");
        assertThat(stepFault("\"output_schema\":7").code()).isEqualTo("INVALID_SCHEMA");
    }

    @Test
    void everySchemaViolationIsListedWithItsPointer() {
        JsonNode schema = Json.parse(
                """
                {"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","required":["id"],"unevaluatedProperties":false,
                 "properties":{"id":{"type":"integer","maximum":9007199254740992},"a":{"type":"array","items":{"$ref":"#/$defs/t"}}},
                 "$defs":{"t":{"type":"string"}}}
                """);
        assertThat(Schemas.faults(schema)).isEmpty();
        assertThat(Schemas.violations(schema, Json.parse("{\"id\":9007199254740992,\"a\":[\"x\"]}"))).isEmpty();
        assertThat(Schemas.violations(schema, Json.parse("{\"id\":9007199254740993,\"a\":[\"x\",1]}")))
                .extracting(Schemas.Violation::pointer)
                .containsExactlyInAnyOrder("/id", "/a/1");
        assertThat(Schemas.violations(schema, Json.parse("{\"b\":1}"))).hasSize(2);
    }

    @Test
    void whatTheTransportRefusesIsRefusedAtPublish() {
        assertThat(only(http("\"headers\":{\"Accept-Encoding\":\"gzip\"}")).code()).isEqualTo("HEADER_FORBIDDEN");
        assertThat(only(http("\"headers\":{\"X\":\"a\\tb\"}")).code()).isEqualTo("HEADER_INVALID");
        assertThat(only(http("\"headers\":{\"X\":\"a\\u00a0\"}")).code()).isEqualTo("HEADER_INVALID");
        assertThat(only(http("\"method\":\"TRACE\"")).pointer()).isEqualTo("/blocks/0/params/method");
    }

    @Test
    void paramsThatAreMissingAreAFaultOfTheStep() {
        assertThat(only("{\"id\":\"a\",\"type\":\"step\",\"handler\":\"http_request\"}").pointer()).isEqualTo("/blocks/0");
    }
}
