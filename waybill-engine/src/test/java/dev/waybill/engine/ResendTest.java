package dev.waybill.engine;

import static dev.waybill.engine.EngineLab.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.waybill.engine.EngineLab.Kind;
import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceState;
import dev.waybill.model.WaybillException;
import dev.waybill.operate.Resolution;
import dev.waybill.store.Queries.EffectView;
import dev.waybill.test.Behaviour;
import dev.waybill.test.Delivery;
import dev.waybill.test.FakeProvider;
import dev.waybill.test.Rule;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Semantics.md section 5, resend: with a key contract the frozen request goes out again, inside the window, as one effect. */
class ResendTest {

    private static EngineLab lab(Kind kind) {
        return new EngineLab(kind, FakeProvider.builder().honouringKeys().start()).options(o -> o.withSendDeadline(Duration.ofSeconds(1)));
    }

    /** A keyed charge that is quiet 1.5 s after its dispatch. */
    private static String charge(String window, String effect, String step) {
        return "[{'type':'step','id':'charge','handler':'http_request','params':{'method':'POST','url':'$P/charges','body':{'amount':5,"
                + "'order':'{{ data.order }}','try':'{{ attempt }}'}},'timeout':500,'effect':{'settle':0,'idempotency':{'key':'charge-{{ data.order }}',"
                + "'window':'" + window + "'},'resend':{'max':2,'backoff':50}" + effect + "}" + step + "}]";
    }

    private static UUID completed(EngineLab lab) {
        return ends(lab, InstanceState.COMPLETED);
    }

    private static UUID ends(EngineLab lab, InstanceState state) {
        UUID id = lab.start("pay", "{'order':'o1'}");
        await().atMost(PATIENCE).until(() -> lab.get(id).state() == state);
        return id;
    }

    private static UUID waitsForAPerson(EngineLab lab) {
        UUID id = lab.start("pay", "{'order':'o1'}");
        await().atMost(PATIENCE).until(() -> lab.get(id).reasons() != null
                && lab.get(id).reasons().path(0).path("next").asString("").equals("person"));
        return id;
    }

    private static String why(EngineLab lab, UUID id) {
        EffectView unknown = lab.effects(id).stream().filter(e -> e.state() == EffectState.UNKNOWN).findFirst().orElseThrow();
        return lab.engine().effects().get("default", unknown.receipt().id().toString()).next().why();
    }

    private static void assertSameBytes(EngineLab lab, int posts) {
        List<Delivery> sent = lab.provider.deliveries();
        assertThat(sent).hasSize(posts);
        assertThat(sent.stream().map(Delivery::text).distinct()).hasSize(1);
        assertThat(sent.stream().map(Delivery::idempotencyKey).distinct()).containsExactly("charge-o1");
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void a02bAKeyedChargeBehindAServerErrorIsSentAgainAndAppliedOnce(Kind kind) {
        try (EngineLab lab = lab(kind)) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenAnswer(503)));
            lab.sequence("pay", charge("24h", "", ""));
            UUID id = completed(lab);
            assertThat(lab.states(id)).containsExactly("charge#0 verified", "charge#1 committed");
            List<EffectView> chain = lab.effects(id);
            assertThat(chain.getLast().receipt().resendOf()).isEqualTo(chain.getFirst().receipt().id());
            assertThat(chain.getLast().receipt().at()).isAfterOrEqualTo(chain.getFirst().receipt().quietAt());
            assertThat(chain.getLast().receipt().keyWindowMillis()).isLessThan(Duration.ofHours(24).toMillis());
            assertSameBytes(lab, 2);
            assertThat(lab.provider.applied()).isEqualTo(1);
            assertThat(lab.get(id).output().get("body").get("id").asString()).isEqualTo("ch_01");
            assertThat(lab.unresolved()).isZero();
            assertThat(lab.engine().queries().changes("default", null, 100).stream().map(c -> c.type()).toList())
                    .containsOnlyOnce("effect.resolved");
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {500, 502, 504})
    void a02bTheSameBehindOtherServerErrors(int status) {
        try (EngineLab lab = lab(Kind.MEMORY)) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenAnswer(status)));
            lab.sequence("pay", charge("24h", "", ""));
            completed(lab);
            assertThat(lab.provider.seen()).isEqualTo(2);
            assertThat(lab.provider.applied()).isEqualTo(1);
        }
    }

    @Test
    void a07aAKeyThatIsInFlightIsAskedForAgain() {
        try (EngineLab lab = lab(Kind.MEMORY)) {
            Behaviour inFlight = Behaviour.answer(409, Map.of(), "{\"error\":{\"code\":\"in_progress\"}}");
            lab.provider.script(Rule.on("POST", "/charges").then(inFlight, inFlight));
            lab.sequence("pay", charge("24h", "", ",'retry':{'max_attempts':3,'initial_backoff':10}"));
            UUID id = completed(lab);
            assertThat(lab.states(id)).containsExactly("charge#0 not_applied", "charge#1 not_applied", "charge#2 committed");
            assertSameBytes(lab, 3);
        }
    }

    @Test
    void aKeyThatIsInFlightBehindAnUnknownOneLeavesItUnknownAndIsAskedForAgain() {
        try (EngineLab lab = lab(Kind.MEMORY)) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenDrop(), Behaviour.answer(409)));
            lab.sequence("pay", charge("24h", "", ""));
            UUID id = completed(lab);
            assertThat(lab.states(id)).containsExactly("charge#0 verified", "charge#1 not_applied", "charge#2 committed");
            assertSameBytes(lab, 3);
            assertThat(lab.provider.applied()).isEqualTo(1);
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void a08ARefusedResendLeavesTheFirstUnknownAndNoNewKeyIsMade(Kind kind) {
        try (EngineLab lab = lab(kind)) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenDrop(), Behaviour.answer(400)));
            lab.sequence("pay", "[{'type':'try_catch','id':'t','try_block':" + charge("24h", "", ",'client_error_mode':'complete'")
                    + ",'catch_block':[{'type':'step','id':'refund','handler':'http_request','params':{'method':'POST','url':'$P/refunds'}}]}]");
            UUID id = waitsForAPerson(lab);
            assertThat(lab.states(id)).containsExactly("charge#0 unknown", "charge#1 not_applied");
            assertThat(why(lab, id)).contains("refused the resend");
            assertSameBytes(lab, 2);
            assertThat(lab.unresolved()).isEqualTo(1);
            assertThat(lab.engine().queries().changes("default", null, 100).stream().map(c -> c.type()).toList())
                    .containsOnlyOnce("effect.escalated");
        }
    }

    @Test
    void aDeclineThatIsRepeatedSpeaksAboutTheFirstRequestToo() {
        try (EngineLab lab = lab(Kind.MEMORY)) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.dropBeforeApply(), Behaviour.answer(402)));
            lab.sequence("pay", charge("24h", "", ""));
            UUID id = ends(lab, InstanceState.FAILED);
            assertThat(lab.get(id).error().get("code").asString()).isEqualTo("HTTP_REJECTED");
            assertThat(lab.states(id)).containsExactly("charge#0 not_applied", "charge#1 not_applied");
            assertThat(lab.unresolved()).isZero();
        }
    }

    @Test
    void aLimitSpeaksAboutItselfAlone() {
        try (EngineLab lab = lab(Kind.MEMORY)) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenDrop(), Behaviour.retryAfter(429, "0")));
            lab.sequence("pay", charge("24h", "", ""));
            UUID id = completed(lab);
            assertThat(lab.states(id)).containsExactly("charge#0 verified", "charge#1 not_applied", "charge#2 committed");
            assertThat(lab.provider.applied()).isEqualTo(1);
        }
    }

    @Test
    void notFoundBehindAnUnknownOneMayMeanDoneAlreadyAndIsUnknown() {
        try (EngineLab lab = lab(Kind.MEMORY)) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenDrop(), Behaviour.answer(404), Behaviour.answer(422)));
            lab.sequence("pay", charge("24h", "", ""));
            UUID id = waitsForAPerson(lab);
            assertThat(lab.states(id)).containsExactly("charge#0 unknown", "charge#1 unknown", "charge#2 unknown");
            assertThat(why(lab, id)).contains("sent again 2 times");
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aPersonResolvesTheWholeChainAtOnce(Kind kind) {
        try (EngineLab lab = lab(kind)) {
            lab.provider.script(Rule.on("POST", "/charges").thenAlways(Behaviour.applyThenDrop()));
            lab.sequence("pay", charge("24h", "", ""));
            UUID id = waitsForAPerson(lab);
            assertThat(lab.provider.seen()).isEqualTo(3);
            UUID second = lab.effects(id).get(1).receipt().id();
            lab.engine().effects().resolve("default", second,
                    new Resolution(EffectState.COMMITTED, "in the ledger", null, "ch_01", EngineLab.json("{'n':1}"), null, "ann"));
            await().atMost(PATIENCE).until(() -> lab.get(id).state() == InstanceState.COMPLETED);
            assertThat(lab.states(id)).containsExactly("charge#0 verified", "charge#1 committed", "charge#2 verified");
            assertThat(lab.get(id).output().get("n").asInt()).isEqualTo(1);
            assertThat(lab.unresolved()).isZero();
            assertThat(lab.provider.applied()).isEqualTo(1);
        }
    }

    @Test
    void abandoningAChainIsRefusedUntilAllOfItIsQuiet() {
        try (EngineLab lab = lab(Kind.MEMORY)) {
            lab.provider.script(Rule.on("POST", "/charges").thenAlways(Behaviour.dropBeforeApply()));
            lab.sequence("pay", charge("24h", "", "").replace("'max':2", "'max':1"));
            UUID id = waitsForAPerson(lab);
            UUID first = lab.effects(id).getFirst().receipt().id();
            Resolution again = new Resolution(EffectState.ABANDONED, "nothing there", null, null, null, Resolution.Then.RESEND, "ann");
            assertThatThrownBy(() -> lab.engine().effects().resolve("default", first, again))
                    .isInstanceOfSatisfying(WaybillException.class, e -> assertThat(e.code()).isEqualTo("EFFECT_NOT_QUIET"));
            await().atMost(PATIENCE).until(() -> lab.engine().effects().get("default", lab.effects(id).getLast().receipt().id().toString()).quiet());
            lab.provider.script();
            lab.engine().effects().resolve("default", first, again);
            await().atMost(PATIENCE).until(() -> lab.get(id).state() == InstanceState.COMPLETED);
            assertThat(lab.states(id)).containsExactly("charge#0 abandoned", "charge#1 abandoned", "charge#2 committed");
        }
    }

    @Test
    void nothingIsSentAgainOnceTheKeyMayBeForgotten() {
        try (EngineLab lab = new EngineLab(Kind.MEMORY, FakeProvider.builder().honouringKeys(Duration.ofSeconds(2)).start())
                .options(o -> o.withSendDeadline(Duration.ofSeconds(1)))) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenDrop()));
            lab.sequence("pay", charge("2s", "", ""));
            UUID id = waitsForAPerson(lab);
            assertThat(why(lab, id)).contains("window");
            assertThat(lab.provider.seen()).isEqualTo(1);
            assertThat(lab.states(id)).containsExactly("charge#0 unknown");
        }
    }

    @Test
    void theWindowCountsFromTheFirstDispatchAndEndsAMarginEarlier() {
        assertThat(Healing.usable(Duration.ofHours(24).toMillis())).isEqualTo(Duration.ofHours(24).minus(Duration.ofMinutes(144)).toMillis());
        assertThat(Healing.usable(Duration.ofMinutes(15).toMillis())).isEqualTo(Duration.ofMinutes(10).toMillis());
        assertThat(Healing.usable(Duration.ofMinutes(2).toMillis())).isEqualTo(Duration.ofMinutes(1).toMillis());
        assertThat(Healing.usable(0)).isZero();
    }

    @Test
    void aSecretInAHeaderIsResolvedAnewAndOneInTheBodyForbidsTheResend() {
        Map<String, String> secrets = new ConcurrentHashMap<>(Map.of("K", "one"));
        try (EngineLab lab = lab(Kind.MEMORY).secrets((tenant, name) -> java.util.Optional.ofNullable(secrets.get(name)))) {
            lab.provider.onBooked(delivery -> secrets.put("K", "two"));
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenDrop()));
            lab.sequence("pay", charge("24h", "", "").replace("'method':'POST',", "'method':'POST','headers':{'Authorization':'Bearer {{ secrets.K }}'},"));
            completed(lab);
            assertThat(lab.provider.deliveries().stream().map(d -> d.header("Authorization")).toList()).containsExactly("Bearer one", "Bearer two");
            assertThat(lab.provider.applied()).isEqualTo(1);

            lab.provider.reset();
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenDrop()));
            lab.sequence("pay", charge("24h", "", "").replace("'amount':5,", "'amount':5,'token':'{{ secrets.K }}',"), "'version':2,");
            UUID id = waitsForAPerson(lab);
            assertThat(why(lab, id)).contains("secret");
            assertThat(lab.provider.seen()).isEqualTo(1);
        }
    }

    @Test
    void aResendThatCannotBePreparedIsNoFailureOfTheStep() {
        Map<String, String> secrets = new ConcurrentHashMap<>(Map.of("K", "one"));
        try (EngineLab lab = lab(Kind.MEMORY).secrets((tenant, name) -> java.util.Optional.ofNullable(secrets.get(name)))) {
            lab.provider.onBooked(delivery -> secrets.clear());
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenDrop()));
            lab.sequence("pay", charge("24h", "", "").replace("'method':'POST',", "'method':'POST','headers':{'Authorization':'Bearer {{ secrets.K }}'},"));
            UUID id = waitsForAPerson(lab);
            assertThat(lab.states(id)).containsExactly("charge#0 unknown");
            assertThat(why(lab, id)).contains("SECRET_MISSING");
            assertThat(lab.provider.seen()).isEqualTo(1);
        }
    }

    @Test
    void theVerifierSpeaksForTheWholeChain() {
        try (EngineLab lab = lab(Kind.MEMORY)) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenDrop(), Behaviour.answer(503)),
                    Rule.on("GET", "/charges").then(Behaviour.answer(500)));
            lab.sequence("pay", charge("24h", ",'verify':{'params':{'url':'$P/charges?key={{ key }}'},'landed':'= body.count > 0','every':100}",
                    ",'on_unknown':[{'verify':{'max_reads':1}},'resend','wait']"));
            UUID id = completed(lab);
            assertThat(lab.states(id)).containsExactly("charge#0 verified", "charge#1 verified");
            assertThat(lab.provider.applied()).isEqualTo(1);
        }
    }

    @Test
    void withoutAnEntryForItNothingIsSentAgain() {
        try (EngineLab lab = lab(Kind.MEMORY)) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenDrop()));
            lab.sequence("pay", charge("24h", "", ",'on_unknown':['wait']"));
            UUID id = waitsForAPerson(lab);
            assertThat(lab.states(id)).containsExactly("charge#0 unknown");
            assertThat(lab.provider.seen()).isEqualTo(1);
        }
    }

    /** Found by the simulator: the resend was refused, its next attempt was due, and a person had shown meanwhile that the first one had happened. */
    @ParameterizedTest
    @EnumSource(Kind.class)
    void whatAPersonShowsToHaveHappenedIsNotSentAgainForTheResendThatWasRefused(Kind kind) {
        try (EngineLab lab = lab(kind)) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenAnswer(503), Behaviour.answer(429)));
            lab.sequence("pay", charge("1h", "", ",'retry':{'max_attempts':5,'initial_backoff':1},'on_unknown':['resend','wait']").replace("'max':2", "'max':1"));
            UUID id = waitsForAPerson(lab);
            assertThat(lab.states(id)).containsExactly("charge#0 unknown", "charge#1 not_applied");

            UUID first = lab.effects(id).stream().filter(e -> e.receipt().attempt() == 0).findFirst().orElseThrow().receipt().id();
            lab.engine().effects().resolve(
                    "default", first, new Resolution(EffectState.COMMITTED, "the provider's record", null, "ch_01", EngineLab.json("{'id':'ch_01'}"), null, "op"));

            await().atMost(PATIENCE).until(() -> lab.get(id).state() == InstanceState.COMPLETED);
            assertThat(lab.states(id)).containsExactly("charge#0 committed", "charge#1 not_applied");
            assertThat(lab.provider.deliveries()).hasSize(2);
            assertThat(lab.provider.applied()).isEqualTo(1);
        }
    }
}
