package dev.waybill.engine;

import static dev.waybill.engine.EngineLab.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.waybill.engine.EngineLab.Kind;
import dev.waybill.handler.Handlers;
import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceState;
import dev.waybill.model.Proof;
import dev.waybill.model.WaybillException;
import dev.waybill.operate.EffectCase;
import dev.waybill.operate.RunView;
import dev.waybill.store.EvidenceRow;
import dev.waybill.store.Queries.EffectView;
import dev.waybill.test.Behaviour;
import dev.waybill.test.Delivery;
import dev.waybill.test.FakeProvider;
import dev.waybill.test.Rule;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;
import tools.jackson.databind.JsonNode;

/** Semantics.md section 5, verify: an unknown effect is looked up at the provider, and the run goes on by itself. */
class VerifierTest {
    private static final String ASKED = "'params':{'method':'GET','url':'$P/charges?order={{ data.order | url_encode }}'},'landed':'= body.count > 0',"
            + "'absent':'= body.count = 0','output':'= body.items[0]','receipt_id':'= body.items[0].id'";

    /** A charge with a verifier that is quiet 1.5 s after its dispatch; {@code more} are further members of verify. */
    private static String charge(String more, String step) {
        return "[{'type':'step','id':'charge','handler':'http_request','params':{'method':'POST','url':'$P/charges','body':{'amount':5,"
                + "'order':'{{ data.order }}'}},'timeout':500,'effect':{'settle':0,'verify':{" + ASKED + ",'every':200" + more + "}}" + step + "}]";
    }

    private static EngineLab lab(Kind kind) {
        return quick(new EngineLab(kind));
    }

    private static EngineLab quick(EngineLab lab) {
        return lab.options(o -> o.withSendDeadline(Duration.ofSeconds(1)));
    }

    private static long posts(EngineLab lab) {
        return lab.provider.seen(d -> d.method().equals("POST"));
    }

    private static List<JsonNode> transcript(EngineLab lab, EffectView effect) {
        return lab.engine().effects().get("default", effect.receipt().id().toString()).evidence().stream()
                .filter(row -> row.kind().equals("verifier_read"))
                .map(row -> EngineJson.read(row.body()))
                .toList();
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aDroppedAnswerIsHealedWithoutAPerson(Kind kind) {
        try (EngineLab lab = lab(kind)) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenDrop()));
            lab.sequence("pay", charge("", ""));
            RunView run = lab.run("pay", "{'order':'o 1'}");
            await().atMost(PATIENCE).until(() -> lab.get(run.id()).state() == InstanceState.COMPLETED);
            EffectView effect = lab.effects(run.id()).getFirst();
            assertThat(lab.states(run.id())).containsExactly("charge#0 verified");
            assertThat(effect.last().actor()).isEqualTo("verifier");
            assertThat(effect.last().providerReceiptId()).isEqualTo("ch_01");
            assertThat(lab.get(run.id()).output().get("id").asString()).isEqualTo("ch_01");
            assertThat(posts(lab)).isEqualTo(1);
            assertThat(lab.provider.applied()).isEqualTo(1);
            assertThat(lab.unresolved()).isZero();
            JsonNode asked = transcript(lab, effect).getLast();
            assertThat(asked.get("verdict").asString()).isEqualTo("landed");
            assertThat(asked.get("status").asInt()).isEqualTo(200);
            assertThat(asked.get("question").get("url").asString()).endsWith("/charges?order=o%201");
            assertThat(lab.engine().queries().changes("default", null, 100).stream().map(c -> c.type()).toList())
                    .containsOnlyOnce("effect.unknown")
                    .containsOnlyOnce("effect.resolved");
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void anAbsenceCountsOnlyOnceNothingCanArriveAndIsThenSentAnew(Kind kind) {
        try (EngineLab lab = lab(kind)) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.dropBeforeApply()));
            lab.sequence("pay", charge("", ""));
            UUID id = lab.start("pay", "{'order':'o1'}");
            await().atMost(PATIENCE).until(() -> lab.get(id).state() == InstanceState.COMPLETED);
            assertThat(lab.states(id)).containsExactly("charge#0 not_applied", "charge#1 committed");
            EffectView first = lab.effects(id).getFirst();
            assertThat(first.last().proof()).isEqualTo(Proof.VERIFIED_ABSENT);
            assertThat(first.last().at()).isAfterOrEqualTo(first.receipt().quietAt());
            List<JsonNode> reads = transcript(lab, first);
            assertThat(reads.getFirst().get("negative_reads").asInt()).isZero(); // asked at once, and too early to count
            assertThat(reads.getLast().get("negative_reads").asInt()).isEqualTo(2);
            assertThat(java.time.Instant.parse(reads.getLast().get("asked_at").asString()))
                    .isAfterOrEqualTo(java.time.Instant.parse(reads.get(reads.size() - 2).get("asked_at").asString()).plusMillis(200));
            assertThat(posts(lab)).isEqualTo(2);
            assertThat(lab.provider.applied()).isEqualTo(1);
        }
    }

    @Test
    void aLookUpThatLagsBehindIsAskedAgainUntilItSeesTheCharge() {
        try (EngineLab lab = quick(new EngineLab(
                Kind.MEMORY, FakeProvider.builder().lookUpsLag(Duration.ofMillis(900)).start()))) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenDrop()));
            lab.sequence("pay", charge("", ""));
            UUID id = lab.start("pay", "{'order':'o1'}");
            await().atMost(PATIENCE).until(() -> lab.get(id).state() == InstanceState.COMPLETED);
            assertThat(lab.states(id)).containsExactly("charge#0 verified");
            assertThat(transcript(lab, lab.effects(id).getFirst())).hasSizeGreaterThan(1);
            assertThat(posts(lab)).isEqualTo(1);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {401, 403, 429, 500, 503, 404})
    void aLookUpThatIsRefusedOrBrokenSaysNothing(int status) {
        try (EngineLab lab = lab(Kind.MEMORY)) {
            lab.provider.script(
                    Rule.on("POST", "/charges").then(Behaviour.dropBeforeApply()),
                    Rule.on("GET", "/charges").thenAlways(Behaviour.answer(status, java.util.Map.of(), "{\"count\":0}")));
            lab.sequence("pay", charge(",'max_reads':3", "").replace("= body.count = 0", status == 404 ? "= body.count = 1" : "= body.count = 0"));
            UUID id = lab.start("pay", "{'order':'o1'}");
            await().atMost(PATIENCE).until(() -> lab.get(id).reasons() != null
                    && lab.get(id).reasons().path(0).path("next").asString("").equals("person"));
            assertThat(lab.states(id)).containsExactly("charge#0 unknown");
            assertThat(transcript(lab, lab.effects(id).getFirst())).hasSize(3)
                    .allSatisfy(read -> assertThat(read.get("verdict").asString()).isEqualTo("inconclusive"));
            assertThat(posts(lab)).isEqualTo(1);
            assertThat(lab.engine().queries().changes("default", null, 100).stream().map(c -> c.type()).toList())
                    .containsOnlyOnce("effect.escalated");
        }
    }

    @Test
    void a404IsAbsentWhereTheAuthorSaysSo() {
        try (EngineLab lab = lab(Kind.MEMORY)) {
            lab.provider.script(
                    Rule.on("POST", "/charges").then(Behaviour.dropBeforeApply()),
                    Rule.on("GET", "/charges").thenAlways(Behaviour.answer(404)));
            lab.sequence("pay", charge(",'negative_reads':1", "").replace("= body.count = 0", "= status = 404"));
            UUID id = lab.start("pay", "{'order':'o1'}");
            await().atMost(PATIENCE).until(() -> lab.get(id).state() == InstanceState.COMPLETED);
            assertThat(lab.states(id)).containsExactly("charge#0 not_applied", "charge#1 committed");
        }
    }

    @Test
    void absenceUsesUpTheAttemptsOfTheStepAndThenFailsIt() {
        try (EngineLab lab = lab(Kind.MEMORY)) {
            lab.provider.script(Rule.on("POST", "/charges").thenAlways(Behaviour.dropBeforeApply()));
            lab.sequence("pay", charge(",'negative_reads':1", ",'retry':{'max_attempts':2,'initial_backoff':10}"));
            UUID id = lab.start("pay", "{'order':'o1'}");
            await().atMost(PATIENCE).until(() -> lab.get(id).state() == InstanceState.FAILED);
            assertThat(lab.get(id).error().get("code").asString()).isEqualTo("VERIFIED_ABSENT");
            assertThat(lab.states(id)).containsExactly("charge#0 not_applied", "charge#1 not_applied");
        }
    }

    @Test
    void whatIsVerifiedAbsentForGoodHoldsItsContentNoLonger() {
        try (EngineLab lab = lab(Kind.MEMORY)) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.dropBeforeApply()));
            lab.sequence("pay", charge(",'negative_reads':1", ",'retry':{'max_attempts':1}"),
                    "'invariants':[{'name':'one-order','rule':{'type':'effect_at_most_once','kind':'http','scope':'tenant',"
                            + "'key':'= ~charge-~ & data.order'},'commit_guard':true}],");
            UUID absent = lab.start("pay", "{'order':'o1'}");
            await().atMost(PATIENCE).until(() -> lab.get(absent).state() == InstanceState.FAILED);
            assertThat(lab.get(absent).error().get("code").asString()).isEqualTo("VERIFIED_ABSENT");
            UUID next = lab.start("pay", "{'order':'o1'}");
            await().atMost(PATIENCE).until(() -> lab.get(next).state() == InstanceState.COMPLETED);
        }
    }

    @Test
    void afterTheVerifierTheListGoesOn() {
        try (EngineLab lab = lab(Kind.MEMORY)) {
            lab.provider.script(
                    Rule.on("POST", "/charges").then(Behaviour.applyThenDrop()), Rule.on("GET", "/charges").thenAlways(Behaviour.answer(500)));
            lab.sequence("pay", charge("", ",'on_unknown':[{'verify':{'max_reads':1}},'fail']"));
            UUID id = lab.start("pay", "{'order':'o1'}");
            await().atMost(PATIENCE).until(() -> lab.get(id).state() == InstanceState.FAILED);
            assertThat(lab.get(id).error().get("code").asString()).isEqualTo("EFFECT_BLOCKED");
            assertThat(lab.get(id).residuals()).hasSize(1);
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aPersonMayHaveItAskedNowAlsoWhenTheRunHasEnded(Kind kind) {
        try (EngineLab lab = lab(kind)) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenDrop()));
            lab.sequence("pay", charge("", ",'on_unknown':['fail']"));
            RunView run = lab.run("pay", "{'order':'o1'}");
            assertThat(run.state()).isEqualTo(InstanceState.FAILED);
            UUID effect = lab.effects(run.id()).getFirst().receipt().id();
            EffectCase file = lab.engine().effects().verify("default", effect, "ann");
            assertThat(file.effect().state()).isEqualTo(EffectState.VERIFIED);
            EvidenceRow read = file.evidence().getLast();
            assertThat(read.kind()).isEqualTo("verifier_read");
            assertThat(read.actor()).isEqualTo("operator:ann");
            assertThat(lab.get(run.id()).state()).isEqualTo(InstanceState.FAILED);
            assertThat(lab.engine().queries().audit("default", null, 10).getFirst().row().action()).isEqualTo("effect.verify");
            assertThatThrownBy(() -> lab.engine().effects().verify("default", effect, "ann"))
                    .isInstanceOfSatisfying(WaybillException.class, e -> assertThat(e.code()).isEqualTo("EFFECT_NOT_UNKNOWN"));
        }
    }

    @Test
    void aStepWithoutAVerifierCannotBeAsked() {
        try (EngineLab lab = lab(Kind.MEMORY)) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenDrop()));
            lab.sequence("pay", "[" + EngineLab.charge("/charges", "") + "]");
            RunView run = lab.run("pay", "{}");
            assertThatThrownBy(() -> lab.engine().effects().verify("default", lab.effects(run.id()).getFirst().receipt().id(), "ann"))
                    .isInstanceOfSatisfying(WaybillException.class, e -> assertThat(e.code()).isEqualTo("VERIFIER_MISSING"));
        }
    }

    @Test
    void aHandlerOfTheApplicationCanAnswerToo() {
        AtomicInteger asked = new AtomicInteger();
        try (EngineLab lab = lab(Kind.MEMORY).handler("look", Handlers.pure(JsonNode.class, Object.class, params -> {
            asked.incrementAndGet();
            return java.util.Map.of("found", params.get("key").asString().equals("charge-o1"), "request_id", "r-7");
        }))) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenDrop()));
            lab.sequence("pay", "[{'type':'step','id':'charge','handler':'http_request','params':{'method':'POST','url':'$P/charges'},'timeout':500,"
                    + "'effect':{'settle':0,'idempotency':{'key':'charge-{{ data.order }}'},'verify':{'handler':'look','params':{'key':'{{ key }}'},"
                    + "'landed':'= found','every':200}}}]");
            UUID id = lab.start("pay", "{'order':'o1'}");
            await().atMost(PATIENCE).until(() -> lab.get(id).state() == InstanceState.COMPLETED);
            assertThat(lab.states(id)).containsExactly("charge#0 verified");
            assertThat(lab.effects(id).getFirst().last().providerReceiptId()).isEqualTo("r-7");
            assertThat(asked).hasValue(1);
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void whatIsThereAlreadyIsFoundBeforeTheFirstDispatch(Kind kind) {
        try (EngineLab lab = lab(kind)) {
            lab.sequence("pay", charge(",'before':true", ""));
            lab.assertCompleted(lab.run("pay", "{'order':'o1'}"));
            assertThat(posts(lab)).isEqualTo(1);
            RunView again = lab.run("pay", "{'order':'o1'}");
            lab.assertCompleted(again);
            assertThat(lab.states(again.id())).containsExactly("charge#0 verified");
            EffectView effect = lab.effects(again.id()).getFirst();
            assertThat(effect.receipt().prepared()).isTrue();
            assertThat(effect.last().from()).isEqualTo(EffectState.PREPARED);
            assertThat(effect.last().providerReceiptId()).isEqualTo("ch_01");
            assertThat(again.output().get("id").asString()).isEqualTo("ch_01");
            assertThat(transcript(lab, effect).getLast().get("before").asBoolean()).isTrue();
            assertThat(posts(lab)).isEqualTo(1);
            assertThat(lab.unresolved()).isZero();
        }
    }

    @Test
    void aBeforeReadThatCannotTellSendsNothing() {
        try (EngineLab lab = lab(Kind.MEMORY)) {
            lab.provider.script(Rule.on("GET", "/charges").thenAlways(Behaviour.answer(500)));
            lab.sequence("pay", charge(",'before':true", ""));
            UUID id = lab.start("pay", "{'order':'o1'}");
            await().atMost(PATIENCE).until(() -> lab.get(id).state() == InstanceState.FAILED);
            assertThat(lab.get(id).error().get("code").asString()).isEqualTo("BEFORE_READ_INCONCLUSIVE");
            assertThat(lab.effects(id)).isEmpty();
            assertThat(posts(lab)).isZero();
            assertThat(lab.provider.seen()).isEqualTo(3);
        }
    }

    // --- case A07 --------------------------------------------------------------------------------------------------------------

    private static String conflict(String meaning) {
        return charge("", ",'retry':{'max_attempts':3,'initial_backoff':10}").replace("'effect':{", "'effect':{'on_conflict':'" + meaning + "',")
                .replace("= body.count > 0", "= body.items[0].amount = data.amount");
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void a07bAConflictWhoseLookUpMatchesIsDone(Kind kind) {
        try (EngineLab lab = lab(kind)) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenAnswer(409)));
            lab.sequence("pay", conflict("verify"));
            UUID id = lab.start("pay", "{'order':'o1','amount':5}");
            await().atMost(PATIENCE).until(() -> lab.get(id).state() == InstanceState.COMPLETED);
            assertThat(lab.states(id)).containsExactly("charge#0 verified");
            assertThat(posts(lab)).isEqualTo(1);
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void a07cAConflictWhoseLookUpShowsAnotherAmountFails(Kind kind) {
        try (EngineLab lab = lab(kind)) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenAnswer(409)));
            lab.sequence("pay", conflict("verify"));
            UUID id = lab.start("pay", "{'order':'o1','amount':7}");
            await().atMost(PATIENCE).until(() -> lab.get(id).state() == InstanceState.FAILED);
            assertThat(lab.get(id).error().get("code").asString()).isEqualTo("CONFLICT_MISMATCH");
            assertThat(lab.states(id)).containsExactly("charge#0 not_applied");
            assertThat(posts(lab)).isEqualTo(1);
        }
    }

    @Test
    void a07dAConflictWithNothingDeclaredIsANo() {
        try (EngineLab lab = lab(Kind.MEMORY)) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.answer(409)));
            lab.sequence("pay", charge("", "").replace("'verify'", "'name':'x','verify'"));
            RunView run = lab.run("pay", "{'order':'o1'}");
            assertThat(run.state()).isEqualTo(InstanceState.FAILED);
            assertThat(lab.states(run.id())).containsExactly("charge#0 not_applied");
            assertThat(posts(lab)).isEqualTo(1);
        }
    }

    @Test
    void aConflictMayMeanAppliedAndThenItsAnswerIsTheOutput() {
        try (EngineLab lab = lab(Kind.MEMORY)) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.answer(409, java.util.Map.of(), "{\"existing\":\"ch_9\"}")));
            lab.sequence("pay", conflict("applied"));
            RunView run = lab.run("pay", "{'order':'o1'}");
            lab.assertCompleted(run);
            assertThat(lab.states(run.id())).containsExactly("charge#0 committed");
            assertThat(run.output().get("body").get("existing").asString()).isEqualTo("ch_9");
        }
    }

    // --- secrets, restarts, races ----------------------------------------------------------------------------------------------

    @Test
    void theQuestionCarriesItsSecretAndTheTranscriptDoesNot() {
        try (EngineLab lab = lab(Kind.MEMORY).secret("K", "sk_live_77")) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenDrop()));
            lab.sequence("pay", charge("", "").replace("'method':'GET',", "'method':'GET','headers':{'Authorization':'Bearer {{ secrets.K }}'},"));
            UUID id = lab.start("pay", "{'order':'o1'}");
            await().atMost(PATIENCE).until(() -> lab.get(id).state() == InstanceState.COMPLETED);
            Delivery get = lab.provider.deliveries().stream().filter(d -> d.method().equals("GET")).findFirst().orElseThrow();
            assertThat(get.header("Authorization")).isEqualTo("Bearer sk_live_77");
            EffectCase file = lab.engine().effects().get("default", lab.effects(id).getFirst().receipt().id().toString());
            assertThat(file.evidence()).isNotEmpty().allSatisfy(row -> assertThat(row.body()).doesNotContain("sk_live_77"));
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void theScheduleOutlivesTheEngineThatMadeIt(Kind kind) {
        try (EngineLab lab = lab(kind)) {
            lab.provider.script(
                    Rule.on("POST", "/charges").then(Behaviour.applyThenDrop()),
                    Rule.on("GET", "/charges").then(Behaviour.answer(500), Behaviour.answer(500)));
            lab.sequence("pay", charge(",'every':700", "").replace("'every':200,", ""));
            UUID id = lab.start("pay", "{'order':'o1'}");
            await().atMost(PATIENCE).until(() -> lab.provider.seen(d -> d.method().equals("GET")) >= 1);
            lab.restart();
            await().atMost(PATIENCE).until(() -> lab.get(id).state() == InstanceState.COMPLETED);
            assertThat(lab.states(id)).containsExactly("charge#0 verified");
            assertThat(transcript(lab, lab.effects(id).getFirst()).stream().map(read -> read.get("read").asInt()).toList())
                    .containsExactly(1, 2, 3);
            assertThat(posts(lab)).isEqualTo(1);
        }
    }

    @Test
    void siblingsGoOnWhileTheVerifierIsAsked() {
        try (EngineLab lab = lab(Kind.MEMORY)) {
            lab.provider.script(
                    Rule.on("POST", "/charges").then(Behaviour.applyThenDrop()),
                    Rule.on("GET", "/charges").then(Behaviour.answerAfterArrivalOf(d -> d.path().equals("/shipments"))));
            String blocks = charge("", "");
            lab.sequence("pay", "[{'type':'parallel','id':'p','branches':[" + blocks + ",[{'type':'step','id':'nap','handler':'sleep','params':"
                    + "{'duration':300}},{'type':'step','id':'ship','handler':'http_request','params':{'method':'POST','url':'$P/shipments'}}]]}]");
            UUID id = lab.start("pay", "{'order':'o1'}");
            await().atMost(PATIENCE).until(() -> lab.get(id).state() == InstanceState.COMPLETED);
            assertThat(lab.states(id)).containsExactly("charge#0 verified", "ship#0 committed");
        }
    }
}
