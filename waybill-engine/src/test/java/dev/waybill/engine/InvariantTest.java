package dev.waybill.engine;

import static dev.waybill.engine.EngineLab.charge;
import static dev.waybill.engine.EngineLab.json;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.waybill.Waybill;
import dev.waybill.engine.EngineLab.Kind;
import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceState;
import dev.waybill.model.WaybillException;
import dev.waybill.operate.Resolution;
import dev.waybill.operate.RunView;
import dev.waybill.operate.StartRequest;
import dev.waybill.test.Behaviour;
import dev.waybill.test.Rule;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Content invariants through the whole engine (semantics.md section 6; cases A07, A37). */
class InvariantTest {
    private static final String ONCE =
            "'invariants':[{'name':'one-charge','rule':{'type':'effect_at_most_once','kind':'http'},'commit_guard':true}],";
    private static final String ORDER = "'invariants':[{'name':'one-order','rule':{'type':'effect_at_most_once','kind':'http','scope':'tenant',"
            + "'key':'= ~charge-~ & data.order','window':'24h'},'commit_guard':true}],";

    private static String post(String id, String body, String more) {
        return "{'type':'step','id':'" + id + "','handler':'http_request','params':{'method':'POST','url':'$P/charges','body':" + body + more
                + "},'timeout':2000}";
    }

    private static List<String> results(EngineLab lab, RunView run) {
        UUID execution = lab.effects(run.id()).isEmpty() ? run.id() : lab.effects(run.id()).getFirst().receipt().execution();
        return lab.engine().queries().invariantResults("default", execution).stream()
                .map(it -> it.result().invariant() + " " + it.result().path() + " " + (it.result().held() ? "held" : "violated"))
                .toList();
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aSecondStepWithTheSameContentIsAViolationThatNoCatchAndNoRetrySees(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            lab.sequence("pay", "[" + post("first", "{'amount':5}", "") + ",{'type':'try_catch','id':'t','try_block':["
                    + post("second", "{'amount':5.0}", "") + "],'catch_block':[" + post("fallback", "{'amount':1}", "") + "]}]", ONCE);
            RunView run = lab.run("pay", "{}");
            assertThat(run.state()).isEqualTo(InstanceState.FAILED);
            assertThat(run.error().path("code").asString()).isEqualTo("INVARIANT_VIOLATION");
            assertThat(run.error().path("retryable").asBoolean()).isFalse();
            assertThat(run.error().path("details").path("invariant").asString()).isEqualTo("one-charge");
            assertThat(run.error().path("details").path("block").asString()).isEqualTo("second");
            assertThat(run.error().path("details").path("holder").path("effect_id").asString())
                    .isEqualTo(lab.effects(run.id()).getFirst().receipt().id().toString());
            assertThat(lab.states(run.id())).containsExactly("first#0 committed");
            assertThat(lab.provider.seen()).isEqualTo(1);
            assertThat(results(lab, run)).containsExactly("one-charge second violated", "one-charge  violated");
        }
    }

    @Test
    void a37ALoopWithEqualItemsChargesOnce() {
        try (EngineLab lab = EngineLab.memory()) {
            lab.sequence("all", "[{'type':'for_each','id':'each','collection':'{{ data.amounts }}','item_var':'amount','body':["
                    + post("charge", "{'amount':'{{ amount }}'}", "") + "]}]", ONCE);
            RunView run = lab.run("all", "{'amounts':[5,5,5]}");
            assertThat(run.error().path("code").asString()).isEqualTo("INVARIANT_VIOLATION");
            assertThat(run.error().path("details").path("block").asString()).isEqualTo("each[1]/charge");
            assertThat(lab.provider.applied()).isEqualTo(1);
            lab.assertCompleted(lab.run("all", "{'amounts':[5,6,7]}"));
        }
    }

    @Test
    void anotherTokenOrTraceDoesNotDisarmIt() {
        try (EngineLab lab = EngineLab.memory().secret("OLD", "t-1").secret("NEW", "t-2")) {
            lab.sequence("pay", "[" + post("first", "{'amount':5}", ",'headers':{'Authorization':'Bearer literal-1','traceparent':'{{ data.trace.0 }}'}")
                    + "," + post("second", "{'amount':5}", ",'headers':{'authorization':'Bearer literal-2','traceparent':'{{ data.trace.1 }}'}") + "]", ONCE);
            RunView run = lab.run("pay", "{'trace':['00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',"
                    + "'00-4bf92f3577b34da6a3ce929d0e0e4737-00f067aa0ba902b7-01']}");
            assertThat(run.error().path("code").asString()).isEqualTo("INVARIANT_VIOLATION");
            assertThat(lab.provider.seen()).isEqualTo(1);
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aBusinessKeyHoldsAmongAllRunsOfTheTenantWhoeverIsFirst(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            lab.sequence("pay", "[" + charge("/charges", "") + "]", ORDER);
            lab.sequence("pay-too", "[" + charge("/charges", "").replace("'amount':5", "'amount':5,'note':'{{ data.note }}'") + "]", ORDER);
            List<UUID> runs = new ArrayList<>();
            for (int i = 0; i < 8; i++) {
                runs.add(lab.engine().runs().start(StartRequest.of(i % 2 == 0 ? "pay" : "pay-too", json("{'order':'7','note':" + i + "}"))).id());
            }
            List<RunView> ended = runs.stream().map(lab::await).toList();
            assertThat(ended).filteredOn(it -> it.state() == InstanceState.COMPLETED).hasSize(1);
            assertThat(ended).filteredOn(it -> it.state() == InstanceState.FAILED).hasSize(7)
                    .allSatisfy(it -> assertThat(it.error().path("code").asString()).isEqualTo("INVARIANT_VIOLATION"));
            assertThat(lab.provider.seen()).isEqualTo(1);
            lab.assertCompleted(lab.run("pay", "{'order':'8','note':1}"));
        }
    }

    @Test
    void theSameEffectMayTryAgainAfterANoAndItsContentIsFreeWhenItEndsWithoutApplication() {
        try (EngineLab lab = EngineLab.memory()) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.answer(429)).then(Behaviour.answer(402)));
            lab.sequence("pay", "[" + charge("/charges", "") + "]", ORDER);
            RunView declined = lab.run("pay", "{'order':'7'}");
            assertThat(lab.states(declined.id())).containsExactly("charge#0 not_applied", "charge#1 not_applied");
            lab.assertCompleted(lab.run("pay", "{'order':'7'}"));
            assertThat(lab.provider.applied()).isEqualTo(1);
            RunView again = lab.await(lab.engine().runs().retry("default", declined.id(), "t").id());
            assertThat(again.error().path("code").asString()).isEqualTo("INVARIANT_VIOLATION");
        }
    }

    @Test
    void anUnknownHoldsItsContentUntilItIsAbandoned() {
        try (EngineLab lab = EngineLab.memory()) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.swallow()));
            lab.sequence("pay", "[" + charge("/charges", ",'effect':{'settle':'1ms'}").replace("'timeout':2000", "'timeout':300") + "]", ORDER);
            RunView unknown = lab.run("pay", "{'order':'7'}");
            lab.assertWaitsUnknown(unknown);
            assertThat(lab.run("pay", "{'order':'7'}").error().path("code").asString()).isEqualTo("INVARIANT_VIOLATION");
            UUID receipt = lab.effects(unknown.id()).getFirst().receipt().id();
            lab.engine().effects().resolve("default", receipt, new Resolution(
                    EffectState.ABANDONED, "not in their books", null, null, null, null, "ada"));
            lab.assertCompleted(lab.run("pay", "{'order':'7'}"));
        }
    }

    @Test
    void withoutACommitGuardTheRunIsJudgedAtItsEnd() {
        try (EngineLab lab = EngineLab.memory()) {
            lab.sequence("pay", "[" + post("first", "{'amount':5}", "") + "," + post("second", "{'amount':5}", "") + "]",
                    "'invariants':[{'name':'watch','rule':{'type':'effect_at_most_once','kind':'http'}},"
                            + "{'name':'ends-well','rule':{'type':'terminal_state_in','states':['completed']}},"
                            + "{'name':'no-mystery','rule':{'type':'no_unknown_effects'}},"
                            + "{'name':'booked','rule':{'type':'output_path_present','path':'outputs.second.body.id'}},"
                            + "{'name':'tracked','rule':{'type':'output_path_present','path':'outputs.second.body.tracking'}}],");
            RunView run = lab.run("pay", "{}");
            lab.assertCompleted(run);
            assertThat(results(lab, run)).containsExactlyInAnyOrder(
                    "watch  violated", "ends-well  held", "no-mystery  held", "booked  held", "tracked  violated");
        }
    }

    @Test
    void anUnknownResidualViolatesNoUnknownEffects() {
        try (EngineLab lab = EngineLab.memory()) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenDrop()));
            lab.sequence("pay", "[" + charge("/charges", ",'on_unknown':['fail']") + "]",
                    "'invariants':[{'name':'no-mystery','rule':{'type':'no_unknown_effects'}}],");
            assertThat(results(lab, lab.run("pay", "{}"))).containsExactly("no-mystery  violated");
        }
    }

    @Test
    void anInvariantDeclaredForAPublishedVersionHolds() {
        try (EngineLab lab = EngineLab.memory()) {
            lab.sequence("pay", "[" + post("first", "{'amount':5}", "") + "," + post("second", "{'amount':5}", "") + "]");
            UUID id = lab.engine().sequences().byName("default", "default", "pay", null).id();
            String invariant = "{'name':'one','rule':{'type':'effect_at_most_once','kind':'http'},'commit_guard':true}";
            lab.engine().sequences().addInvariant("default", id, json(invariant));
            assertThat(lab.run("pay", "{}").error().path("code").asString()).isEqualTo("INVARIANT_VIOLATION");
            assertThat(lab.engine().sequences().invariants("default", id)).containsExactly(json(invariant));
            assertThatThrownBy(() -> lab.engine().sequences().addInvariant("default", id, json(invariant)))
                    .isInstanceOfSatisfying(WaybillException.class, e -> assertThat(e.code()).isEqualTo("INVARIANT_EXISTS"));
            assertThatThrownBy(() -> lab.engine().sequences().addInvariant("default", UUID.randomUUID(), json(invariant)))
                    .isInstanceOfSatisfying(WaybillException.class, e -> assertThat(e.code()).isEqualTo("SEQUENCE_NOT_FOUND"));
        }
    }

    @Test
    void aFaultyInvariantIsRefusedWithAPointerToTheFault() {
        try (EngineLab lab = EngineLab.memory()) {
            assertFault(lab, "{'name':'x','rule':{'type':'no_unknown_effects'},'commit_guard':true}", "/invariants/0/commit_guard");
            assertFault(lab, "{'name':'x','rule':{'type':'effect_at_most_once','kind':'smtp'}}", "/invariants/0/rule/kind");
            assertFault(lab, "{'name':'x','rule':{'type':'effect_at_most_once','kind':'http','scope':'tenant'},'commit_guard':true}", "/invariants/0/rule/key");
            assertFault(lab, "{'name':'x','rule':{'type':'effect_at_most_once','kind':'http','window':'1h'},'commit_guard':true}", "/invariants/0/rule/window");
            assertFault(lab, "{'name':'x','rule':{'type':'terminal_state_in','states':['running']}}", "/invariants/0/rule/states");
            assertFault(lab, "{'name':'x','rule':{'type':'output_path_present'}}", "/invariants/0/rule");
            assertFault(lab, "{'name':'x','rule':{'type':'budget_within_limits'}}", "/invariants/0/rule/type");
            assertFault(lab, "{'name':'x','rule':{'type':'maybe'}}", "/invariants/0/rule/type");
            assertFault(lab, "{'name':'x','rule':{'type':'no_unknown_effects'},'guard':1}", "/invariants/0/guard");
            assertFault(lab, "{'name':'','rule':{'type':'no_unknown_effects'}}", "/invariants/0/name");
        }
    }

    private static void assertFault(EngineLab lab, String invariant, String pointer) {
        assertThat(lab.engine().sequences().validate("default", json("{'name':'s','blocks':[],'invariants':[" + invariant + "]}")).faults())
                .extracting(it -> it.pointer())
                .contains(pointer);
    }

    @Test
    void twoEnginesWithOneBusinessKeySendOnce() {
        try (EngineLab lab = new EngineLab(Kind.POSTGRES)) {
            lab.sequence("pay", "[" + charge("/charges", "") + "]", ORDER);
            try (Waybill other = lab.another()) {
                List<UUID> runs = new ArrayList<>();
                for (int i = 0; i < 20; i++) {
                    Waybill engine = i % 2 == 0 ? lab.engine() : other;
                    runs.add(engine.runs().start(StartRequest.of("pay", json("{'order':'7'}"))).id());
                }
                List<RunView> ended = runs.stream().map(lab::await).toList();
                assertThat(ended).filteredOn(it -> it.state() == InstanceState.COMPLETED).hasSize(1);
                assertThat(lab.provider.seen()).isEqualTo(1);
                assertThat(ended.stream().flatMap(it -> lab.effects(it.id()).stream()).map(it -> it.state())).containsExactly(EffectState.COMMITTED);
            }
        }
    }
}
