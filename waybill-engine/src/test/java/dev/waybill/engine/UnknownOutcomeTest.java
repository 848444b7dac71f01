package dev.waybill.engine;

import static dev.waybill.engine.EngineLab.charge;
import static dev.waybill.engine.EngineLab.json;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.waybill.engine.EngineLab.Kind;
import dev.waybill.handler.Handlers;
import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceState;
import dev.waybill.model.WaybillException;
import dev.waybill.operate.Resolution;
import dev.waybill.operate.RunView;
import dev.waybill.store.Queries.EffectView;
import dev.waybill.test.Behaviour;
import dev.waybill.test.Rule;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What happens when nobody can say what happened: cases A01, A02, A06, A10, A11 through the whole engine, and the road back. */
class UnknownOutcomeTest {
    private static final String WAIT = "";
    private static final String FAIL = ",'on_unknown':['fail']";

    @ParameterizedTest
    @EnumSource(Kind.class)
    void a01AnAppliedRequestWithoutAnAnswerIsUnknownAndSentOnce(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            lab.provider.script(Rule.on("POST", "/charges").thenAlways(Behaviour.applyThenSwallow()));
            lab.sequence("pay", "[" + charge("/charges", ",'timeout':500").replace("'timeout':2000,", "") + "]");
            RunView run = lab.run("pay", "{}");
            lab.assertWaitsUnknown(run);
            lab.restart();
            lab.restart();
            assertThat(lab.get(run.id()).state()).isEqualTo(InstanceState.WAITING);
            assertThat(lab.states(run.id())).containsExactly("charge#0 unknown");
            assertThat(lab.effects(run.id()).getFirst().last().reason()).isEqualTo("timeout");
            assertThat(lab.unresolved()).isEqualTo(1);
            assertThat(lab.provider.seen()).isEqualTo(1);
            assertThat(lab.provider.applied()).isEqualTo(1);
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void a01UnderFailTheRunFailsBlockedWithOneEventAndNothingIsSentAgain(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            lab.provider.script(Rule.on("POST", "/charges").thenAlways(Behaviour.applyThenDrop()));
            lab.sequence("pay", "[" + charge("/charges", FAIL) + "]");
            RunView run = lab.run("pay", "{}");
            assertThat(run.state()).isEqualTo(InstanceState.FAILED);
            assertThat(run.error().get("code").asString()).isEqualTo("EFFECT_BLOCKED");
            assertThat(run.error().get("retryable").asBoolean()).isFalse();
            assertThat(run.residuals()).hasSize(1);
            assertThatThrownBy(() -> lab.engine().runs().retry("default", run.id(), "t"))
                    .isInstanceOfSatisfying(WaybillException.class, e -> assertThat(e.code()).isEqualTo("EFFECT_UNRESOLVED"));
            lab.restart();
            assertThat(lab.engine().queries().changes("default", null, 100).stream().map(c -> c.type()).toList())
                    .containsOnlyOnce("instance.failed")
                    .containsOnlyOnce("effect.unknown");
            assertThat(lab.provider.seen()).isEqualTo(1);
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {500, 502, 503, 504})
    void a02AServerErrorAfterActingIsUnknown(int status) {
        try (EngineLab lab = EngineLab.memory()) {
            lab.provider.script(Rule.on("POST", "/charges").thenAlways(Behaviour.applyThenAnswer(status)));
            lab.sequence("pay", "[" + charge("/charges", WAIT) + "]").sequence("payf", "[" + charge("/charges", FAIL) + "]");
            lab.assertWaitsUnknown(lab.run("pay", "{}"));
            assertThat(lab.provider.seen()).isEqualTo(1);
            assertThat(lab.provider.applied()).isEqualTo(1);
            RunView failed = lab.run("payf", "{}");
            assertThat(failed.state()).isEqualTo(InstanceState.FAILED);
            assertThat(lab.provider.seen()).isEqualTo(2);
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void a02AStatusThatTheContractCallsNotAppliedIsTriedAgain(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.answer(503)));
            lab.sequence("pay", "[" + charge("/charges", ",'effect':{'status':{'503':'not_applied'}}") + "]");
            RunView run = lab.run("pay", "{}");
            lab.assertCompleted(run);
            assertThat(lab.provider.seen()).isEqualTo(2);
            assertThat(lab.provider.applied()).isEqualTo(1);
            assertThat(lab.states(run.id())).containsExactly("charge#0 not_applied", "charge#1 committed");
        }
    }

    @ParameterizedTest
    @ValueSource(ints = {402, 404, 410, 422})
    void a06ADeclineIsAnAnswer(int status) {
        try (EngineLab lab = EngineLab.memory()) {
            lab.provider.script(Rule.on("POST", "/charges").thenAlways(Behaviour.answer(status)));
            lab.sequence("pay", "[" + charge("/charges", WAIT) + "]");
            RunView run = lab.run("pay", "{}");
            assertThat(run.state()).isEqualTo(InstanceState.FAILED);
            assertThat(run.error().get("code").asString()).isNotEqualTo("EFFECT_BLOCKED");
            EffectView effect = lab.effects(run.id()).getFirst();
            assertThat(effect.state()).isEqualTo(EffectState.NOT_APPLIED);
            assertThat(effect.last().proof().wire()).isEqualTo("rejected");
            assertThat(effect.last().reason()).isEqualTo("status_" + status);
            assertThat(lab.unresolved()).isZero();
            assertThat(lab.provider.seen()).isEqualTo(1);
            assertThat(lab.provider.applied()).isZero();
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aPersonResolvesItCommittedAndTheRunGoesOnWithTheOutput(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenDrop()));
            lab.sequence("ship", "[" + charge("/charges", WAIT)
                    + ",{'type':'step','id':'ship','handler':'http_request','params':{'method':'POST','url':'$P/shipments',"
                    + "'body':{'charge':'{{ outputs.charge.provider_receipt_id }}'}}}]");
            RunView run = lab.run("ship", "{}");
            lab.assertWaitsUnknown(run);
            UUID receipt = lab.effects(run.id()).getFirst().receipt().id();
            lab.engine().effects().resolve("default", receipt, new Resolution(
                    EffectState.COMMITTED, "seen in the provider's ledger", null, "ch_01", null, null, "ann"));
            RunView done = lab.await(run.id());
            lab.assertCompleted(done);
            assertThat(lab.provider.deliveries().getLast().json().get("charge").asString()).isEqualTo("ch_01");
            assertThat(lab.states(run.id())).containsExactly("charge#0 committed", "ship#0 committed");
            assertThat(lab.provider.seen(d -> d.path().equals("/charges"))).isEqualTo(1);
            assertThatThrownBy(() -> lab.engine().effects().resolve("default", receipt, new Resolution(
                            EffectState.ABANDONED, "second thoughts", null, null, null, null, "bob")))
                    .isInstanceOfSatisfying(WaybillException.class, e -> assertThat(e.code()).isEqualTo("EFFECT_NOT_UNKNOWN"));
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void abandonedWithResendSendsOnceMoreAfterItIsQuiet(Kind kind) {
        try (EngineLab lab = new EngineLab(kind).options(o -> o.withSendDeadline(java.time.Duration.ofMillis(100)))) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.dropBeforeApply()));
            lab.sequence("pay", "[" + charge("/charges", ",'effect':{'settle':0}").replace("'timeout':2000", "'timeout':200") + "]");
            RunView run = lab.run("pay", "{}");
            lab.assertWaitsUnknown(run);
            UUID receipt = lab.effects(run.id()).getFirst().receipt().id();
            Resolution resend = new Resolution(
                    EffectState.ABANDONED, "searched by key, nothing there", null, null, null, Resolution.Then.RESEND, "ann");
            org.awaitility.Awaitility.await().atMost(EngineLab.PATIENCE).until(() -> lab.engine().effects().get("default", receipt.toString()).quiet());
            lab.engine().effects().resolve("default", receipt, resend);
            lab.assertCompleted(lab.await(run.id()));
            assertThat(lab.states(run.id())).containsExactly("charge#0 abandoned", "charge#1 committed");
            assertThat(lab.provider.seen()).isEqualTo(2);
            assertThat(lab.provider.applied()).isEqualTo(1);
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void resendBeforeQuietIsRefused(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.dropBeforeApply()));
            lab.sequence("pay", "[" + charge("/charges", WAIT) + "]");
            RunView run = lab.run("pay", "{}");
            UUID receipt = lab.effects(run.id()).getFirst().receipt().id();
            assertThatThrownBy(() -> lab.engine().effects().resolve("default", receipt, new Resolution(
                            EffectState.ABANDONED, "nothing there", null, null, null, Resolution.Then.RESEND, "ann")))
                    .isInstanceOfSatisfying(WaybillException.class, e -> assertThat(e.code()).isEqualTo("EFFECT_NOT_QUIET"));
            assertThat(lab.states(run.id())).containsExactly("charge#0 unknown");
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void abandonedAloneWaitsUntilAPersonRetries(Kind kind) {
        try (EngineLab lab = new EngineLab(kind).options(o -> o.withSendDeadline(java.time.Duration.ofSeconds(2)))) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.dropBeforeApply()));
            lab.sequence("pay", "[" + charge("/charges", ",'effect':{'settle':0}").replace("'timeout':2000", "'timeout':6000") + "]");
            RunView run = lab.run("pay", "{}");
            UUID receipt = lab.effects(run.id()).getFirst().receipt().id();
            lab.engine().effects().resolve("default", receipt,
                    new Resolution(EffectState.ABANDONED, "nothing there", null, null, null, null, "ann"));
            org.awaitility.Awaitility.await().atMost(EngineLab.PATIENCE)
                    .until(() -> lab.await(run.id()).reasons().get(0).get("reason").asString().equals("effect_abandoned"));
            assertThatThrownBy(() -> lab.engine().runs().retry("default", run.id(), "ann"))
                    .isInstanceOfSatisfying(WaybillException.class, e -> assertThat(e.code()).isEqualTo("EFFECT_NOT_QUIET"));
            org.awaitility.Awaitility.await().atMost(EngineLab.PATIENCE).until(() -> lab.engine().effects().get("default", receipt.toString()).quiet());
            lab.engine().runs().retry("default", run.id(), "ann");
            lab.assertCompleted(lab.await(run.id()));
            assertThat(lab.states(run.id())).containsExactly("charge#0 abandoned", "charge#1 committed");
            assertThat(lab.provider.applied()).isEqualTo(1);
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aLostOutputWaitsAndIsSuppliedOnce(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.truncatedBody(100, 13)));
            lab.sequence("pay", "[" + charge("/charges", WAIT) + "]");
            RunView run = lab.run("pay", "{}");
            assertThat(run.state()).isEqualTo(InstanceState.WAITING);
            assertThat(run.reasons().get(0).get("reason").asString()).isEqualTo("output_lost");
            EffectView effect = lab.effects(run.id()).getFirst();
            assertThat(effect.state()).isEqualTo(EffectState.COMMITTED);
            lab.engine().effects().supplyOutput("default", effect.receipt().id(), json("{'id':'ch_01'}"), "from the portal", null, "ann");
            RunView done = lab.await(run.id());
            lab.assertCompleted(done);
            assertThat(done.output().get("id").asString()).isEqualTo("ch_01");
            assertThatThrownBy(() -> lab.engine().effects()
                            .supplyOutput("default", effect.receipt().id(), json("{}"), "again", null, "ann"))
                    .isInstanceOfSatisfying(WaybillException.class, e -> assertThat(e.code()).isEqualTo("OUTPUT_NOT_LOST"));
            assertThat(lab.provider.seen()).isEqualTo(1);
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void unknownNeverEntersCatch(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenDrop()));
            lab.sequence("pay", "[{'type':'try_catch','id':'t','try_block':[" + charge("/charges", WAIT)
                    + "],'catch_block':[{'type':'step','id':'refund','handler':'http_request','params':{'method':'POST','url':'$P/refunds'}}]}]");
            RunView run = lab.run("pay", "{}");
            lab.assertWaitsUnknown(run);
            assertThat(lab.provider.deliveries().stream().map(d -> d.path()).toList()).isEqualTo(List.of("/charges"));
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void anEffectThatIsUndoneLaterDoesNotHoldTheRunThatWentOn(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            lab.provider.script(Rule.on("POST", "/ship").then(Behaviour.applyThenDrop()));
            lab.sequence("order", "[" + charge("/charges", WAIT) + ",{'type':'step','id':'ship','handler':'http_request','params':{'method':'POST',"
                    + "'url':'$P/ship'}}]");
            RunView run = lab.run("order", "{}");
            lab.assertWaitsUnknown(run);
            UUID charge = lab.effects(run.id()).getFirst().receipt().id();
            lab.engine().effects().resolve("default", charge,
                    new Resolution(EffectState.COMPENSATED, "refunded by hand", null, null, null, null, "ann"));
            assertThat(lab.engine().runs().outputs("default", run.id())).containsKey("charge");
            UUID ship = lab.effects(run.id()).getLast().receipt().id();
            lab.engine().effects().resolve("default", ship,
                    new Resolution(EffectState.COMMITTED, "in the ledger", null, "op_01", null, null, "ann"));
            lab.assertCompleted(lab.await(run.id()));
            assertThat(lab.states(run.id())).containsExactly("charge#0 compensated", "ship#0 committed");
            assertThat(lab.provider.seen()).isEqualTo(2);
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void ofTwoPeopleOneResolvesAndTheOtherIsToldItIsDone(Kind kind) throws InterruptedException {
        try (EngineLab lab = new EngineLab(kind)) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenDrop()));
            lab.sequence("pay", "[" + charge("/charges", WAIT) + "]");
            RunView run = lab.run("pay", "{}");
            UUID receipt = lab.effects(run.id()).getFirst().receipt().id();
            java.util.concurrent.ConcurrentLinkedQueue<String> answers = new java.util.concurrent.ConcurrentLinkedQueue<>();
            List<Thread> people = List.of("ann", "bob", "cyd", "dan").stream()
                    .map(who -> Thread.ofVirtual().start(() -> {
                        try {
                            lab.engine().effects().resolve("default", receipt,
                                    new Resolution(EffectState.COMMITTED, "seen by " + who, null, "ch_" + who, null, null, who));
                            answers.add("done");
                        } catch (WaybillException e) {
                            answers.add(e.code());
                        }
                    }))
                    .toList();
            for (Thread person : people) {
                person.join();
            }
            assertThat(answers).containsExactlyInAnyOrder("done", "EFFECT_NOT_UNKNOWN", "EFFECT_NOT_UNKNOWN", "EFFECT_NOT_UNKNOWN");
            lab.assertCompleted(lab.await(run.id()));
        }
    }

    @Test
    void anAnswerThatMakesAnEffectUnknownAfterItsOwnerLostTheClaimIsAnnouncedOnce() throws InterruptedException {
        java.util.concurrent.CountDownLatch called = new java.util.concurrent.CountDownLatch(1);
        java.util.concurrent.CountDownLatch go = new java.util.concurrent.CountDownLatch(1);
        try (EngineLab lab = EngineLab.memory().handler("slow", Handlers.effect(Object.class, Object.class, (in, call) -> {
            called.countDown();
            go.await();
            throw new IllegalStateException("nobody knows");
        }))) {
            lab.sequence("pay", "[{'type':'step','id':'s','handler':'slow','timeout':20000}]");
            UUID id = lab.start("pay", "{}");
            called.await();
            // The node is fenced and its claims are freed while the call is under way; the answer comes before anybody took over.
            lab.openStore().fence(lab.engine().node());
            assertThat(lab.openStore().fenceAndFree(10)).isEqualTo(1);
            go.countDown();
            lab.assertWaitsUnknown(lab.await(id));
            assertThat(lab.engine().queries().changes("default", null, 100).stream().map(c -> c.type()).toList())
                    .containsOnlyOnce("effect.unknown");
        }
    }

    @ParameterizedTest
    @EnumSource(names = {"SQLITE", "POSTGRES"})
    void aCallThatWasInterruptedStillStoresItsLateAnswer(Kind kind) {
        java.util.concurrent.CountDownLatch interrupted = new java.util.concurrent.CountDownLatch(1);
        java.util.concurrent.CountDownLatch go = new java.util.concurrent.CountDownLatch(1);
        java.util.concurrent.CompletableFuture<Boolean> flag = new java.util.concurrent.CompletableFuture<>();
        CrashPoints points = (point, instance, path) -> {
            if (point == CrashPoints.Point.AFTER_ANSWER) {
                flag.complete(Thread.currentThread().isInterrupted());
            }
        };
        try (EngineLab lab = new EngineLab(kind).points(points).handler("deaf", Handlers.effect(Object.class, Object.class, (in, call) -> {
            boolean again = true;
            while (again) {
                try {
                    go.await();
                    again = false;
                } catch (InterruptedException e) {
                    interrupted.countDown();
                }
            }
            Thread.currentThread().interrupt(); // as a library does that has swallowed it
            return java.util.Map.of("charged", 5);
        }))) {
            lab.sequence("pay", "[{'type':'step','id':'s','handler':'deaf','timeout':50}]");
            UUID id = lab.start("pay", "{}");
            lab.assertWaitsUnknown(lab.await(id));
            assertThat(interrupted.getCount()).isZero();
            go.countDown();
            org.awaitility.Awaitility.await().atMost(EngineLab.PATIENCE)
                    .untilAsserted(() -> assertThat(lab.get(id).state()).isEqualTo(InstanceState.COMPLETED));
            assertThat(lab.effects(id)).extracting(EffectView::state).containsExactly(EffectState.COMMITTED);
            assertThat(flag.join()).as("interrupted still when its answer is stored: its connections would be closed under it").isFalse();
        }
    }

    @Test
    void whoClosesAnEngineThatIsClosingWaitsForItsCallsToo() throws InterruptedException {
        java.util.concurrent.CountDownLatch called = new java.util.concurrent.CountDownLatch(1);
        java.util.concurrent.CountDownLatch go = new java.util.concurrent.CountDownLatch(1);
        try (EngineLab lab = EngineLab.memory().handler("slow", Handlers.effect(Object.class, Object.class, (in, call) -> {
            called.countDown();
            go.await();
            return java.util.Map.of();
        }))) {
            lab.sequence("pay", "[{'type':'step','id':'s','handler':'slow','timeout':20000}]");
            UUID id = lab.start("pay", "{}");
            called.await();
            Thread first = Thread.ofPlatform().start(lab.engine()::close);
            org.awaitility.Awaitility.await().until(() -> !lab.engine().ready());
            Thread second = Thread.ofPlatform().start(lab.engine()::close);
            org.awaitility.Awaitility.await().until(() -> second.getState() != Thread.State.RUNNABLE);
            assertThat(second.getState()).isNotEqualTo(Thread.State.TERMINATED);
            go.countDown();
            second.join();
            first.join();
            assertThat(lab.restart().runs().await("default", id, EngineLab.PATIENCE).state()).isEqualTo(InstanceState.COMPLETED);
            assertThat(lab.states(id)).containsExactly("s#0 committed");
        }
    }
}
