package dev.waybill.engine;

import static dev.waybill.engine.EngineLab.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.waybill.definition.Guarantee;
import dev.waybill.engine.EngineLab.Kind;
import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceState;
import dev.waybill.operate.EffectCase;
import dev.waybill.store.ReceiptRow;
import dev.waybill.test.Behaviour;
import dev.waybill.test.Delivery;
import dev.waybill.test.FakeProvider;
import dev.waybill.test.Rule;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What is known of a destination once, at work: language.md, destination profile. */
class DestinationTest {

    private static EngineLab lab(Kind kind) {
        return new EngineLab(kind, FakeProvider.builder().honouringKeys().start()).options(o -> o.withSendDeadline(Duration.ofSeconds(1)));
    }

    private static String charge(String url, String more) {
        return "[{'type':'step','id':'charge','handler':'http_request','params':{'method':'POST','url':'" + url
                + "','body':{'amount':5}},'timeout':500,'effect':{'idempotency':{'key':'charge-{{ data.order }}'}" + more + "}}]";
    }

    private static String profile(String more) {
        return "{'name':'pay','match':{'url':'$P/v1'},'settle':0,'resend':{'backoff':50}," + more + "}";
    }

    private static UUID reaches(EngineLab lab, UUID id, InstanceState state) {
        await().atMost(PATIENCE).until(() -> lab.get(id).state() == state);
        return id;
    }

    private static UUID unknown(EngineLab lab) {
        UUID id = lab.start("pay", "{'order':'o1'}");
        await().atMost(PATIENCE).until(() -> lab.states(id).contains("charge#0 unknown"));
        return id;
    }

    private static EffectCase file(EngineLab lab, UUID id) {
        return lab.engine().effects().get("default", lab.effects(id).getFirst().receipt().id().toString());
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void a02bTheProfilesKeyContractHealsAServerErrorOfAStepThatOnlyNamesItsKey(Kind kind) {
        try (EngineLab lab = lab(kind)) {
            lab.provider.script(Rule.on("POST", "/v1/charges").then(Behaviour.applyThenAnswer(503)));
            lab.sequence(
                    "pay", charge("{{ data.base }}/v1/charges", ""),
                    "'destinations':[" + profile("'idempotency':{'window':'24h'},'search':'https://d.example/s?q={{ key }}&o={{ effect_id }}'") + "],");
            UUID id = reaches(lab, lab.start("pay", "{'order':'o 1','base':'" + lab.provider.url("") + "'}"), InstanceState.COMPLETED);
            assertThat(lab.states(id)).containsExactly("charge#0 verified", "charge#1 committed");
            assertThat(lab.provider.applied()).isEqualTo(1);
            assertThat(lab.provider.deliveries()).extracting(Delivery::idempotencyKey).containsExactly("charge-o 1", "charge-o 1");
            EffectContract contract = Objects.requireNonNull(file(lab, id).contract());
            assertThat(contract.guarantee()).isEqualTo(Guarantee.ONCE_BY_KEY);
            assertThat(contract.profile()).isEqualTo("pay");
            assertThat(contract.search()).isEqualTo("https://d.example/s?q=charge-o%201&o=" + lab.effects(id).getFirst().receipt().id());
        }
    }

    @Test
    void aProfileOfTheNodeHoldsForEverySequence_andOnlyBelowItsAddress() {
        try (EngineLab lab = lab(Kind.MEMORY)) {
            lab.destinations("[" + profile("'status':{'503':'not_applied'}") + "]");
            lab.provider.script(Rule.on("POST", "/v1/charges").then(Behaviour.answer(503)), Rule.on("POST", "/v10/charges").then(Behaviour.answer(503)));
            lab.sequence("pay", charge("$P/v1/charges", "").replace("'timeout'", "'retry':{'initial_backoff':10},'timeout'"));
            lab.sequence("other", charge("$P/v10/charges", ""));
            assertThat(lab.states(reaches(lab, lab.start("pay", "{'order':'o1'}"), InstanceState.COMPLETED)))
                    .containsExactly("charge#0 not_applied", "charge#1 committed");
            lab.assertWaitsUnknown(lab.run("other", "{'order':'o2'}"));
        }
    }

    @Test
    void aKeyThatTheDestinationDoesNotTakeIsRefusedBeforeAByteIsSent() {
        try (EngineLab lab = lab(Kind.MEMORY)) {
            lab.sequence("pay", charge("$P/v1/charges", ""), "'destinations':[" + profile("'idempotency':{'max_length':10,'charset':'url_safe'}") + "],");
            for (String order : new String[] {"1234", "a/b"}) {
                UUID id = reaches(lab, lab.start("pay", "{'order':'" + order + "'}"), InstanceState.FAILED);
                assertThat(lab.get(id).error().get("code").asString()).isEqualTo("KEY_NOT_ACCEPTED");
                assertThat(lab.effects(id)).isEmpty();
            }
            assertThat(lab.provider.seen()).isZero();
            reaches(lab, lab.start("pay", "{'order':'123'}"), InstanceState.COMPLETED);
        }
    }

    @Test
    void aQuotedKeyIsOnTheReceiptAsItIsSent() {
        try (EngineLab lab = lab(Kind.MEMORY)) {
            lab.provider.script(Rule.on("POST", "/v1/charges").then(Behaviour.applyThenDrop()));
            lab.sequence("pay", charge("$P/v1/charges", ""), "'destinations':[" + profile("'preset':'ietf-key','idempotency':{'window':'1h'}") + "],");
            UUID id = reaches(lab, lab.start("pay", "{'order':'o1'}"), InstanceState.COMPLETED);
            assertThat(lab.provider.deliveries()).extracting(Delivery::idempotencyKey).containsOnly("\"charge-o1\"").hasSize(2);
            assertThat(lab.effects(id)).extracting(e -> e.receipt().idempotencyKey()).containsOnly("\"charge-o1\"");
            assertThat(lab.provider.applied()).isEqualTo(1);
        }
    }

    @Test
    void theVerifierOfTheProfileAsksForTheKey() {
        try (EngineLab lab = lab(Kind.MEMORY)) {
            lab.provider.script(
                    Rule.on("POST", "/v1/charges").then(Behaviour.applyThenDrop()),
                    Rule.on("GET", "/v1/find").then(Behaviour.answer(200, Map.of("Content-Type", "application/json"), "{\"count\":1,\"id\":\"ch_7\"}")));
            lab.sequence("pay", charge("$P/v1/charges", ""), "'destinations':[" + profile(
                    "'verify':{'params':{'url':'$P/v1/find?key={{ key | url_encode }}'},'landed':'body.count > 0','absent':'body.count = 0','output':'body','receipt_id':'body.id'}") + "],");
            UUID id = reaches(lab, lab.start("pay", "{'order':'o1'}"), InstanceState.COMPLETED);
            assertThat(lab.states(id)).containsExactly("charge#0 verified");
            assertThat(lab.effects(id).getFirst().last().providerReceiptId()).isEqualTo("ch_7");
            assertThat(lab.provider.deliveries().getLast().path()).contains("find");
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void anotherProfileTomorrowChangesNothingOfWhatWasDispatchedUnderThisOne(Kind kind) {
        try (EngineLab lab = lab(kind)) {
            lab.destinations("[" + profile("'idempotency':{'header':'X-Pay-Key','window':'2h'}").replace("'settle':0", "'settle':'1s'") + "]");
            lab.provider.script(Rule.on("POST", "/v1/charges").then(Behaviour.applyThenDrop()));
            lab.sequence("pay", charge("$P/v1/charges", ""));
            UUID id = unknown(lab);
            ReceiptRow first = lab.effects(id).getFirst().receipt();
            lab.destinations("[" + profile("'idempotency':{'header':'Other-Key','window':'10m'}").replace("'settle':0", "'settle':'1h'") + "]");
            lab.restart();
            await().atMost(PATIENCE).until(() -> lab.effects(id).size() == 2);
            ReceiptRow again = lab.effects(id).getLast().receipt();
            assertThat(lab.effects(id).getFirst().receipt()).isEqualTo(first);
            assertThat(first.keyWindowMillis()).isEqualTo(Duration.ofHours(2).toMillis());
            assertThat(again.keyWindowMillis()).isBetween(Duration.ofMinutes(110).toMillis(), Duration.ofHours(2).toMillis());
            await().atMost(PATIENCE).until(() -> lab.provider.deliveries().size() == 2);
            assertThat(lab.provider.deliveries()).allSatisfy(sent -> assertThat(sent.headers().toString().toLowerCase()).contains("x-pay-key").doesNotContain("other-key"));
            assertThat(Objects.requireNonNull(file(lab, id).contract()).guarantee()).isEqualTo(Guarantee.ONCE_BY_KEY);
        }
    }

    @Test
    void aProfileThatIsLearntLaterSaysNothingOfWhatWasSentBefore() {
        try (EngineLab lab = lab(Kind.MEMORY)) {
            lab.provider.script(Rule.on("POST", "/v1/charges").then(Behaviour.applyThenDrop()));
            lab.sequence("pay", charge("$P/v1/charges", ""));
            UUID id = unknown(lab);
            lab.destinations("[" + profile("'idempotency':{'window':'24h'}") + "]");
            lab.restart();
            UUID other = reaches(lab, lab.start("pay", "{'order':'o2'}"), InstanceState.COMPLETED);
            assertThat(Objects.requireNonNull(file(lab, other).contract()).guarantee()).isEqualTo(Guarantee.ONCE_BY_KEY);
            assertThat(Objects.requireNonNull(file(lab, id).contract()).guarantee()).isEqualTo(Guarantee.AT_MOST_ONCE);
            lab.assertWaitsUnknown(lab.get(id));
            assertThat(lab.effects(id)).extracting(e -> e.state()).containsExactly(EffectState.UNKNOWN);
        }
    }
}
