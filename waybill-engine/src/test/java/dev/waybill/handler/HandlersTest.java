package dev.waybill.handler;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.waybill.json.Json;
import dev.waybill.json.SecretSource;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.Outcome;
import dev.waybill.model.Problem;
import dev.waybill.model.Proof;
import java.math.BigDecimal;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

class HandlersTest {
    private static final UUID RECEIPT = new UUID(0x8000L, 7);

    record Charge(String order, BigDecimal amount, int times) {}

    record Charged(String receipt_id, BigDecimal amount) {}

    private final Handlers handlers = new Handlers();
    private final Map<String, JsonNode> state = new HashMap<>();

    @Test
    void aLambdaThatReturnsIsCommitted() throws Exception {
        EffectHandler handler = Handlers.effect(Charge.class, Charged.class, (charge, context) -> {
            assertThat(context.receiptId()).isEqualTo(RECEIPT);
            assertThat(context.idempotencyKey()).isEqualTo("k");
            assertThat(context.attempt()).isEqualTo(2);
            assertThat(context.late()).isFalse();
            return new Charged("ch-" + charge.order(), charge.amount().multiply(BigDecimal.valueOf(charge.times())));
        });
        Outcome.Committed yes = (Outcome.Committed) send(handler, "{\"order\":\"o1\",\"amount\":1.10,\"times\":3}", false);
        assertThat(Json.write(yes.output())).isEqualTo("{\"receipt_id\":\"ch-o1\",\"amount\":3.30}");
        assertThat(yes.providerReceiptId()).isEqualTo("ch-o1");
    }

    @Test
    void aLambdaThatKnowsItDidNothingIsNotApplied() throws Exception {
        Outcome.NotApplied declined = (Outcome.NotApplied) send(Handlers.effect(JsonNode.class, Void.class, (in, context) -> {
            throw EffectRefusedException.rejected("CARD_DECLINED", "no money");
        }), "{}", false);
        assertThat(declined.proof()).isEqualTo(Proof.REJECTED);
        assertThat(declined.problem()).isEqualTo(Problem.of("CARD_DECLINED", "no money"));
    }

    @Test
    void anyOtherThrowableOfALambdaIsUnknown() throws Exception {
        for (Throwable thrown : new Throwable[] {new IllegalStateException("boom tok-4711"), new java.io.IOException("x"), new StackOverflowError()}) {
            Outcome.Unknown unknown = (Outcome.Unknown) send(Handlers.effect(JsonNode.class, Void.class, (in, context) -> {
                if (thrown instanceof Exception e) throw e;
                throw (Error) thrown;
            }), "{\"t\":{\"$secret_text\":[{\"secret\":\"K\"}]}}", false);
            assertThat(unknown.reason()).isEqualTo("handler_exception");
            assertThat(unknown.message()).contains(thrown.getClass().getName()).doesNotContain("tok-4711");
        }
    }

    @Test
    void anInterruptGoesThroughToTheEngine() {
        EffectHandler handler = Handlers.effect(JsonNode.class, Void.class, (in, context) -> {
            throw new InterruptedException();
        });
        assertThatThrownBy(() -> send(handler, "{}", false)).isInstanceOf(InterruptedException.class);
    }

    @Test
    void aLateLastLookNeverEntersTheLambda() throws Exception {
        AtomicInteger entered = new AtomicInteger();
        Outcome.NotApplied no = (Outcome.NotApplied)
                send(Handlers.effect(JsonNode.class, Integer.class, (in, context) -> entered.incrementAndGet()), "{}", true);
        assertThat(no.proof()).isEqualTo(Proof.NOT_SENT);
        assertThat(no.problem().code()).isEqualTo("SEND_DEADLINE_PASSED");
        assertThat(entered).hasValue(0);
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "{\"order\":\"o\",\"amount\":1}", "{\"order\":\"o\",\"amount\":1,\"times\":null}", "{\"order\":\"o\",\"amount\":\"x\",\"times\":1}",
                "{\"order\":\"o\",\"amount\":1,\"times\":1,\"tip\":5}", "[]", "null"
            })
    void paramsThatDoNotFitAreRefusedBeforeAnythingIsDone(String params) {
        EffectHandler handler = Handlers.effect(Charge.class, Void.class, (in, context) -> {
            throw new AssertionError("entered");
        });
        EffectHandler.Preparation.Refused refused = (EffectHandler.Preparation.Refused) handler.prepare(request(params));
        assertThat(refused.problem().code()).isEqualTo("PARAM_INVALID");
    }

    @Test
    void whatALambdaReturnsMustBeJsonAndCarriesNoSecret() throws Exception {
        Outcome.OutputUnusable bad = (Outcome.OutputUnusable)
                send(Handlers.effect(JsonNode.class, String.class, (in, context) -> "a\ud800"), "{}", false);
        assertThat(bad.problem().code()).isEqualTo("OUTPUT_UNSTORABLE");
        Outcome.Committed echo = (Outcome.Committed) send(
                Handlers.effect(JsonNode.class, JsonNode.class, (in, context) -> in), "{\"t\":{\"$secret_text\":[\"x \",{\"secret\":\"K\"}]}}", false);
        assertThat(Json.write(echo.output())).doesNotContain("tok-4711").contains("x ");
        assertThat(((Outcome.Committed) send(Handlers.effect(JsonNode.class, Void.class, (in, context) -> null), "{}", false)).output().isNull())
                .isTrue();
    }

    @Test
    void aPureLambdaComputesWithoutSecrets() throws Exception {
        PureHandler sum = Handlers.pure(Charge.class, Charged.class, in -> new Charged(in.order(), in.amount()));
        assertThat(Json.write(sum.apply(call("{\"order\":\"o\",\"amount\":2.50,\"times\":1}")).output()))
                .isEqualTo("{\"receipt_id\":\"o\",\"amount\":2.50}");
        PureHandler echo = Handlers.pure(JsonNode.class, JsonNode.class, in -> in);
        assertThat(Json.write(echo.apply(call("{\"t\":{\"$secret_text\":[{\"secret\":\"K\"}]}}")).output())).contains("{{ secrets.K }}");
        assertThatThrownBy(() -> sum.apply(call("{\"ordr\":1}"))).isInstanceOf(StepFailure.class);
    }

    @Test
    void aBuiltInNameCannotBeTaken() {
        for (String name : new String[] {"http_request", "llm_call", "noop", " ", "", "a "}) {
            assertThatThrownBy(() -> handlers.register(name, Handlers.pure(JsonNode.class, JsonNode.class, in -> in)))
                    .isInstanceOf(IllegalArgumentException.class);
        }
        handlers.register("ship", Handlers.effect(JsonNode.class, Void.class, (in, context) -> null));
        assertThatThrownBy(() -> handlers.register("ship", Handlers.pure(JsonNode.class, JsonNode.class, in -> in)))
                .isInstanceOf(IllegalArgumentException.class);
        assertThat(handlers.find("ship")).containsInstanceOf(EffectHandler.class);
        assertThat(handlers.find("elsewhere")).isEmpty();
        assertThat(handlers.names()).contains("ship", "noop").doesNotContain("http_request");
    }

    @ParameterizedTest
    @CsvSource({"1500,PT1.5S", "'\"500ms\"',PT0.5S", "'\"30s\"',PT30S", "'\"3h\"',PT3H", "'\"2d\"',PT48H", "'\"PT30S\"',PT30S", "0,PT0S"})
    void sleepReadsDurations(String json, Duration expected) throws Exception {
        assertThat(pure("sleep", "{\"duration\":" + json + "}").sleepFor()).isEqualTo(expected);
    }

    @ParameterizedTest
    @ValueSource(strings = {"-1", "\"-PT1S\"", "\"soon\"", "\"\"", "null", "1.5", "\"99999999d\"", "99999999999999999999"})
    void sleepRefusesWhatIsNoDuration(String json) {
        assertThat(failure("sleep", "{\"duration\":" + json + "}").code()).isEqualTo("PARAM_INVALID");
    }

    @Test
    void failFailsAsItWasTold() {
        Problem problem = failure("fail", "{\"message\":\"m\",\"code\":\"MY_CODE\",\"retryable\":true}");
        assertThat(problem).isEqualTo(Problem.retryable("MY_CODE", "m"));
        assertThat(failure("fail", "{}").retryable()).isFalse();
    }

    @ParameterizedTest
    @ValueSource(strings = {"false", "null", "\"true\"", "1", "{}"})
    void assertHoldsForTrueAlone(String value) throws Exception {
        assertThat(failure("assert", "{\"condition\":" + value + ",\"message\":\"m\"}")).isEqualTo(Problem.of("ASSERTION_FAILED", "m"));
        assertThat(failure("assert", "{}").code()).isEqualTo("ASSERTION_FAILED");
        assertThat(pure("assert", "{\"condition\":true}").output().path("passed").booleanValue()).isTrue();
    }

    @Test
    void stateIsSetReadMergedAndDeleted() throws Exception {
        assertThat(pure("get_state", "{\"key\":\"a\",\"default\":7}").output().path("value").intValue()).isEqualTo(7);
        run("set_state", "{\"key\":\"a\",\"value\":{\"x\":1,\"y\":2}}");
        run("merge_state", "{\"key\":\"a\",\"value\":{\"y\":3,\"z\":4}}");
        assertThat(Json.write(pure("get_state", "{\"key\":\"a\"}").output().path("value"))).isEqualTo("{\"x\":1,\"y\":3,\"z\":4}");
        run("delete_state", "{\"key\":\"a\"}");
        assertThat(pure("get_state", "{\"key\":\"a\",\"default\":7}").output().path("value").intValue()).isEqualTo(7);
        run("merge_state", "{\"key\":\"a\",\"value\":{\"z\":5}}");
        assertThat(Json.write(pure("get_state", "{\"key\":\"a\"}").output().path("value"))).isEqualTo("{\"z\":5}");
        run("set_state", "{\"key\":\"a\",\"value\":1}");
        assertThat(failure("merge_state", "{\"key\":\"a\",\"value\":{}}").code()).isEqualTo("PARAM_INVALID");
        assertThat(failure("set_state", "{\"value\":1}").code()).isEqualTo("PARAM_INVALID");
    }

    @Test
    void transformReturnsItsParamsAndLogItsLine() throws Exception {
        assertThat(Json.write(pure("transform", "{\"a\":1.10,\"s\":{\"$secret_text\":[{\"secret\":\"K\"}]}}").output()))
                .isEqualTo("{\"a\":1.10,\"s\":\"{{ secrets.K }}\"}");
        assertThat(pure("log", "{\"message\":\"hello\",\"level\":\"debug\"}").output().path("message").stringValue()).isEqualTo("hello");
        assertThat(failure("log", "{\"message\":\"m\",\"level\":\"loud\"}").code()).isEqualTo("PARAM_INVALID");
        assertThat(pure("noop", "{\"a\":1}").output().isEmpty()).isTrue();
    }

    private void run(String name, String params) throws Exception {
        state.putAll(pure(name, params).stateWrites());
    }

    private PureHandler.Result pure(String name, String params) throws Exception {
        return ((PureHandler) handlers.find(name).orElseThrow()).apply(call(params));
    }

    private Problem failure(String name, String params) {
        try {
            pure(name, params);
        } catch (StepFailure e) {
            return e.problem();
        } catch (Exception e) {
            throw new AssertionError(e);
        }
        throw new AssertionError(name + " did not fail");
    }

    private PureHandler.Call call(String params) {
        return new PureHandler.Call(Json.parse(params), "p", 0, state::get);
    }

    private static StepRequest request(String params) {
        SecretSource secrets = (tenant, name) -> name.equals("K") ? Optional.of("tok-4711") : Optional.empty();
        return new StepRequest(Json.parse(params), "k", "Idempotency-Key", Map.of(), "t", secrets, Duration.ofSeconds(5), 1_000);
    }

    private static Outcome send(EffectHandler handler, String params, boolean late) throws InterruptedException {
        EffectHandler.Preparation.Ready ready = (EffectHandler.Preparation.Ready) handler.prepare(request(params));
        return ready.call().send(new Dispatch(RECEIPT, new InstanceKey("t", new UUID(0, 1)), "p", 2, "k", false, () -> late));
    }
}
