package dev.waybill.engine;

import static dev.waybill.engine.EngineLab.charge;
import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.engine.EngineLab.Kind;
import dev.waybill.model.InstanceState;
import dev.waybill.operate.RunView;
import dev.waybill.test.Behaviour;
import dev.waybill.test.Match;
import dev.waybill.test.Rule;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Blocks: what runs when, and what is durable when. */
class ControlFlowTest {
    @Test
    void aPreparationThatHangsIsTriedAgainAndTheEffectHappensOnce() {
        java.util.concurrent.atomic.AtomicInteger prepared = new java.util.concurrent.atomic.AtomicInteger();
        java.util.concurrent.CountDownLatch never = new java.util.concurrent.CountDownLatch(1);
        dev.waybill.handler.EffectHandler slow = new dev.waybill.handler.EffectHandler() {
            @Override
            public boolean preparesWithoutIo(tools.jackson.databind.JsonNode params) {
                return false;
            }

            @Override
            public Preparation prepare(dev.waybill.handler.StepRequest request) {
                if (prepared.incrementAndGet() == 1) {
                    while (never.getCount() > 0) { // as a look-up in native code: it knows no interrupt
                        try {
                            never.await();
                        } catch (InterruptedException e) {
                            continue;
                        }
                    }
                }
                return new Preparation.Ready(dispatch -> new dev.waybill.model.Outcome.Committed(request.params(), "r-1", null));
            }
        };
        try (EngineLab lab = EngineLab.memory().handler("slow", slow)) {
            lab.sequence("pay", "[{'type':'step','id':'s','handler':'slow','timeout':200,'retry':{'max_attempts':3,'initial_backoff':10}},"
                    + "{'type':'step','id':'t','handler':'noop'}]");
            RunView run = lab.run("pay", "{}");
            lab.assertCompleted(run);
            assertThat(lab.states(run.id())).containsExactly("s#0 committed");
        } finally {
            never.countDown();
        }
    }

    private static String post(String id, String path, String body) {
        return "{'type':'step','id':'" + id + "','handler':'http_request','params':{'method':'POST','url':'$P" + path + "','body':" + body
                + "}}";
    }

    private static String transform(String id, String params) {
        return "{'type':'step','id':'" + id + "','handler':'transform','params':" + params + "}";
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void parallelBranchesReallyRunSideBySide(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            // A is answered only after B's request has arrived: a one-at-a-time engine would never end.
            lab.provider.script(Rule.on("POST", "/a").then(Behaviour.answerAfterArrivalOf(Match.of("POST", "/b"))));
            lab.sequence("both", "[{'type':'parallel','id':'p','branches':[[" + post("a", "/a", "{}") + "],[" + post("b", "/b", "{}")
                    + "]]}," + post("c", "/c", "{}") + "]");
            RunView run = lab.run("both", "{}");
            lab.assertCompleted(run);
            assertThat(lab.provider.deliveries().getLast().path()).isEqualTo("/c");
            assertThat(lab.provider.applied()).isEqualTo(3);
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void anUnknownBranchDoesNotStopItsSiblings(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            lab.provider.script(Rule.on("POST", "/a").then(Behaviour.applyThenDrop()));
            lab.sequence("both", "[{'type':'parallel','id':'p','branches':[[" + post("a", "/a", "{}") + "],[" + post("b", "/b", "{}") + ","
                    + post("b2", "/b2", "{}") + "]]}]");
            RunView run = lab.run("both", "{}");
            assertThat(run.state()).isEqualTo(InstanceState.WAITING);
            assertThat(lab.states(run.id())).containsExactly("a#0 unknown", "b#0 committed", "b2#0 committed");
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aFailedBranchEndsTheRunOnlyAfterWhatIsInFlightWasAwaited(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            // The slow branch is answered only after the failing one has arrived and failed; its next step must not start.
            lab.provider.script(
                    Rule.on("POST", "/bad").then(Behaviour.answer(400)),
                    Rule.on("POST", "/slow").then(Behaviour.normal().answeredAfter(Duration.ofMillis(300))));
            lab.sequence("both", "[{'type':'parallel','id':'p','branches':[[" + post("slow", "/slow", "{}") + "," + post("next", "/next", "{}")
                    + "],[" + post("bad", "/bad", "{}") + "]]}]");
            RunView run = lab.run("both", "{}");
            assertThat(run.state()).isEqualTo(InstanceState.FAILED);
            assertThat(run.error().get("path").asString()).isEqualTo("bad");
            assertThat(lab.states(run.id())).containsExactly("bad#0 not_applied", "slow#0 committed");
            assertThat(lab.provider.seen(d -> d.path().equals("/next"))).isZero();
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void forEachSendsEveryItemUnderItsOwnReceipt(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            lab.sequence("all", "[{'type':'for_each','id':'each','collection':'{{ data.amounts }}','item_var':'amount','body':["
                    + post("charge", "/charges", "{'amount':'{{ amount }}','index':'{{ index }}'}") + "]}]");
            RunView run = lab.run("all", "{'amounts':[5,5,5]}");
            lab.assertCompleted(run);
            assertThat(lab.states(run.id()))
                    .containsExactly("each[0]/charge#0 committed", "each[1]/charge#0 committed", "each[2]/charge#0 committed");
            assertThat(lab.provider.deliveries().stream().map(d -> d.json().get("index").asInt()).toList()).isEqualTo(List.of(0, 1, 2));
            assertThat(lab.engine().runs().outputs("default", run.id())).containsKeys("each", "each[1]/charge");
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void forEachWithConcurrencyRunsItemsSideBySide(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            lab.provider.script(Rule.on("POST", "/charges").bodyContaining("\"amount\":1").then(
                    Behaviour.answerAfterArrivalOf(Match.of("POST", "/charges").bodyContaining("\"amount\":2"))));
            lab.sequence("all", "[{'type':'for_each','id':'each','collection':'{{ data.amounts }}','concurrency':2,'body':["
                    + post("charge", "/charges", "{'amount':'{{ item }}'}") + "]}]");
            RunView run = lab.run("all", "{'amounts':[1,2,3,4]}");
            lab.assertCompleted(run);
            assertThat(lab.provider.applied()).isEqualTo(4);
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void anUnknownItemStopsALoopWhereItIs(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.normal(), Behaviour.applyThenDrop()));
            lab.sequence("all", "[{'type':'for_each','id':'each','collection':'{{ data.amounts }}','body':["
                    + post("charge", "/charges", "{'amount':'{{ item }}'}") + "]}]");
            RunView run = lab.run("all", "{'amounts':[5,5,5]}");
            assertThat(lab.states(run.id())).containsExactly("each[0]/charge#0 committed", "each[1]/charge#0 unknown");
            assertThat(lab.provider.applied()).isEqualTo(2);
            UUID receipt = lab.effects(run.id()).getLast().receipt().id();
            lab.engine().effects().resolve("default", receipt, new dev.waybill.operate.Resolution(
                    dev.waybill.model.EffectState.COMMITTED, "in the ledger", null, "ch_02", null, null, "ann"));
            lab.assertCompleted(lab.await(run.id()));
            assertThat(lab.provider.applied()).isEqualTo(3);
            assertThat(lab.states(run.id())).hasSize(3).allMatch(state -> state.endsWith("committed"));
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aLoopRunsWhileItsConditionHolds(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            lab.sequence("loop", "[" + "{'type':'step','id':'init','handler':'set_state','params':{'key':'n','value':0}},"
                    + "{'type':'loop','id':'l','condition':'state.n < 3','body':[" + post("tick", "/tick", "{'n':'{{ state.n }}'}")
                    + ",{'type':'step','id':'inc','handler':'set_state','params':{'key':'n','value':'= state.n + 1'}}]}]");
            RunView run = lab.run("loop", "{}");
            lab.assertCompleted(run);
            assertThat(lab.provider.deliveries().stream().map(d -> d.json().get("n").asInt()).toList()).isEqualTo(List.of(0, 1, 2));
            assertThat(lab.engine().runs().outputs("default", run.id()).get("l").get("iterations").asInt()).isEqualTo(3);
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void breakOnEndsALoopAndPollIntervalIsATimer(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            lab.sequence("poll", "[{'type':'loop','id':'l','condition':'true','poll_interval':20,'break_on':'outputs.look.body.number = 3',"
                    + "'body':[" + post("look", "/jobs", "{'number':'= index + 1'}") + "]}]");
            lab.provider.script(Rule.on("POST", "/jobs").then(
                    Behaviour.applyThenAnswer(200, java.util.Map.of("content-type", "application/json"), "{\"number\":1}"),
                    Behaviour.applyThenAnswer(200, java.util.Map.of("content-type", "application/json"), "{\"number\":2}"),
                    Behaviour.applyThenAnswer(200, java.util.Map.of("content-type", "application/json"), "{\"number\":3}")));
            RunView run = lab.run("poll", "{}");
            lab.assertCompleted(run);
            assertThat(lab.provider.seen()).isEqualTo(3);
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aRouterTakesTheFirstRouteThatHolds(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            lab.sequence("route", "[{'type':'router','id':'r','routes':[{'condition':'data.amount > 100','blocks':[" + post("big", "/big", "{}")
                    + "]},{'condition':'data.amount > 10','blocks':[" + post("mid", "/mid", "{}") + "]}],'default':[" + post("small", "/small", "{}")
                    + "]}]");
            lab.assertCompleted(lab.run("route", "{'amount':500}"));
            lab.assertCompleted(lab.run("route", "{'amount':50}"));
            lab.assertCompleted(lab.run("route", "{'amount':5}"));
            assertThat(lab.provider.deliveries().stream().map(d -> d.path()).toList()).isEqualTo(List.of("/big", "/mid", "/small"));
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aCaughtFailureGoesOnAndFinallyRunsEitherWay(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            lab.provider.script(Rule.on("POST", "/a").thenAlways(Behaviour.answer(402)));
            lab.sequence("t", "[{'type':'try_catch','id':'t','try_block':[" + post("a", "/a", "{}") + "],'catch_block':["
                    + post("b", "/b", "{'why':'{{ error.code }}'}") + "],'finally_block':[" + post("f", "/f", "{}") + "]}," + post("z", "/z", "{}")
                    + "]");
            lab.assertCompleted(lab.run("t", "{}"));
            assertThat(lab.provider.deliveries().stream().map(d -> d.path()).toList()).isEqualTo(List.of("/a", "/b", "/f", "/z"));
            assertThat(lab.provider.deliveries().get(1).json().get("why").asString()).isEqualTo("HTTP_REJECTED");
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aFailedRunIsRetriedFromTheFailedStepAndWhatWasDoneIsReused(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            lab.provider.script(Rule.on("POST", "/ship").then(Behaviour.answer(400)));
            lab.sequence("order", "[" + charge("/charges", "") + "," + post("ship", "/ship", "{'charge':'{{ outputs.charge.body.id }}'}") + "]");
            RunView failed = lab.run("order", "{}");
            assertThat(failed.state()).isEqualTo(InstanceState.FAILED);
            lab.engine().runs().retry("default", failed.id(), "ann");
            lab.assertCompleted(lab.await(failed.id()));
            assertThat(lab.states(failed.id())).containsExactly("charge#0 committed", "ship#0 not_applied", "ship#1 committed");
            assertThat(lab.provider.seen(d -> d.path().equals("/charges"))).isEqualTo(1);
            assertThat(lab.provider.deliveries().getLast().json().get("charge").asString()).isEqualTo("ch_01");
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void cancelDuringACallAwaitsItAndSendsNothingMore(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.pauseAfterBooking()));
            lab.sequence("order", "[" + charge("/charges", ",'timeout':20000").replace("'timeout':2000,", "") + "," + post("ship", "/ship", "{}") + "]");
            UUID id = lab.start("order", "{}");
            var delivery = lab.provider.awaitDelivery(d -> d.path().equals("/charges"), EngineLab.PATIENCE);
            lab.engine().runs().cancel("default", id, "ann");
            assertThat(lab.get(id).state()).isEqualTo(InstanceState.RUNNING);
            lab.provider.release(delivery.number());
            assertThat(lab.await(id).state()).isEqualTo(InstanceState.CANCELLED);
            assertThat(lab.states(id)).containsExactly("charge#0 committed");
            assertThat(lab.provider.seen()).isEqualTo(1);
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aCancelledRunNamesWhatStayedUnknown(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenDrop()));
            lab.sequence("order", "[" + charge("/charges", "") + "]");
            RunView run = lab.run("order", "{}");
            lab.engine().runs().cancel("default", run.id(), "ann");
            RunView ended = lab.await(run.id());
            assertThat(ended.state()).isEqualTo(InstanceState.CANCELLED);
            assertThat(ended.residuals()).hasSize(1);
            assertThat(lab.unresolved()).isEqualTo(1);
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void pauseHoldsTheNextStepUntilResume(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.pauseAfterBooking()));
            lab.sequence("order", "[" + charge("/charges", ",'timeout':20000").replace("'timeout':2000,", "") + "," + post("ship", "/ship", "{}") + "]");
            UUID id = lab.start("order", "{}");
            var delivery = lab.provider.awaitDelivery(d -> d.path().equals("/charges"), EngineLab.PATIENCE);
            lab.engine().runs().pause("default", id, "ann");
            lab.provider.release(delivery.number());
            assertThat(lab.await(id).state()).isEqualTo(InstanceState.PAUSED);
            assertThat(lab.provider.seen()).isEqualTo(1);
            lab.engine().runs().resume("default", id, "ann");
            lab.assertCompleted(lab.await(id));
            assertThat(lab.provider.seen()).isEqualTo(2);
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aDelayIsDurableAndNeverEarly(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            lab.sequence("late", "[" + transform("a", "{'x':1}") + ",{'type':'step','id':'s','handler':'sleep','params':{'duration':300}},"
                    + post("b", "/b", "{}") + "]");
            UUID id = lab.start("late", "{}");
            RunView waiting = lab.get(id);
            lab.restart();
            RunView done = lab.await(id);
            lab.assertCompleted(done);
            assertThat(Duration.between(waiting.createdAt(), done.updatedAt())).isGreaterThanOrEqualTo(Duration.ofMillis(300));
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void clientErrorModeCompleteTurnsADeclineIntoData(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.answer(402)));
            lab.sequence("order", "[" + charge("/charges", ",'client_error_mode':'complete'") + ","
                    + transform("t", "{'status':'{{ outputs.charge.status }}'}") + "]");
            RunView run = lab.run("order", "{}");
            lab.assertCompleted(run);
            assertThat(run.output().get("status").asInt()).isEqualTo(402);
            assertThat(lab.states(run.id())).containsExactly("charge#0 not_applied");
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void successWhenJudgesA2xx(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            lab.sequence("yes", "[" + charge("/charges", ",'success_when':'body.amount = 5'") + "]");
            lab.sequence("no", "[" + charge("/charges", ",'success_when':'body.amount = 6'") + "]");
            lab.sequence("what", "[" + charge("/charges", ",'success_when':'body.amount'") + "]");
            lab.assertCompleted(lab.run("yes", "{}"));
            RunView no = lab.run("no", "{}");
            assertThat(no.error().get("code").asString()).isEqualTo("SUCCESS_WHEN_FALSE");
            assertThat(lab.states(no.id())).containsExactly("charge#0 not_applied");
            lab.assertWaitsUnknown(lab.run("what", "{}"));
        }
    }

    @Test
    void aStepOnlyOnThisNodeUnknownHandlerIsRefusedAtPublish() {
        try (EngineLab lab = EngineLab.memory()) {
            org.assertj.core.api.Assertions.assertThatThrownBy(() -> lab.sequence("x", "[{'type':'step','id':'s','handler':'nobody'}]"))
                    .isInstanceOfSatisfying(dev.waybill.model.WaybillException.class, e -> assertThat(e.status()).isEqualTo(422));
        }
    }

    @Test
    void anItemWhoseCallIsOutEndsBeforeTheFailureOfAnotherIsCaught() {
        java.util.concurrent.CountDownLatch begun = new java.util.concurrent.CountDownLatch(1);
        try (EngineLab lab = EngineLab.memory()) {
            java.util.concurrent.atomic.AtomicReference<UUID> run = new java.util.concurrent.atomic.AtomicReference<>();
            java.util.concurrent.atomic.AtomicBoolean caughtEarly = new java.util.concurrent.atomic.AtomicBoolean();
            lab.handler("item", dev.waybill.handler.Handlers.pure(Map.class, Object.class, in -> {
                if (in.get("i").equals(0)) {
                    begun.await();
                    throw new IllegalStateException("no such item");
                }
                begun.countDown();
                // Neither row nor receipt says that this item has begun; it goes on until the other one's failure is durable.
                Awaitility.await().atMost(EngineLab.PATIENCE).until(() -> run.get() != null && lab.rows(run.get()).contains("e[0]/s ERROR"));
                caughtEarly.set(lab.rows(run.get()).stream().anyMatch(row -> row.startsWith("caught")));
                return Map.of();
            }));
            lab.sequence("each", "[{'type':'try_catch','id':'t','try_block':[{'type':'for_each','id':'e','collection':'= [0,1]','concurrency':2,"
                    + "'body':[{'type':'step','id':'s','handler':'item','params':{'i':'{{ item }}'}}]}],"
                    + "'catch_block':[{'type':'step','id':'caught','handler':'noop'}]}]");
            run.set(lab.start("each", "{}"));
            assertThat(lab.await(run.get()).state()).isEqualTo(InstanceState.COMPLETED);
            assertThat(lab.rows(run.get())).contains("e[1]/s OUTPUT", "caught OUTPUT");
            assertThat(caughtEarly).isFalse();
        }
    }
}
