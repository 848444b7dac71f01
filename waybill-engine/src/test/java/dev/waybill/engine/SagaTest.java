package dev.waybill.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.waybill.engine.EngineLab.Kind;
import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceState;
import dev.waybill.model.WaybillException;
import dev.waybill.operate.Resolution;
import dev.waybill.operate.RunView;
import dev.waybill.store.Queries.EffectView;
import dev.waybill.test.Behaviour;
import dev.waybill.test.Delivery;
import dev.waybill.test.Rule;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicBoolean;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Undo only what is proven: case A20 and what is around it, against a real provider. */
class SagaTest {
    private static final String ORDER = saga("order", pair("reserve", "release"), pair("charge", "refund"), pair("ship", "recall"));

    private static String post(String id, String more) {
        return "{'type':'step','id':'" + id + "','handler':'http_request','params':{'method':'POST','url':'$P/" + id
                + "','body':{'for':'{{ data.order }}'}},'retry':{'max_attempts':1},'timeout':5000" + more + "}";
    }

    private static String pair(String action, String compensation) {
        return "{'id':'" + action + "','action':" + post(action, "") + ",'compensation':" + post(compensation, "") + "}";
    }

    private static String saga(String id, String... steps) {
        return "{'type':'saga','id':'" + id + "','steps':[" + String.join(",", steps) + "]}";
    }

    private static List<String> paths(EngineLab lab) {
        return lab.provider.deliveries().stream().map(Delivery::path).toList();
    }

    private static EffectView effect(EngineLab lab, UUID run, String path) {
        return lab.effects(run).stream().filter(it -> it.receipt().path().equals(path)).findFirst().orElseThrow();
    }

    private static List<String> residuals(RunView run) {
        return run.residuals().valueStream().map(it -> it.get("path").asString() + " " + it.get("state").asString()).toList();
    }

    private static RunView cancel(EngineLab lab, UUID id) {
        lab.engine().runs().cancel("default", id, "ann");
        return lab.await(id);
    }

    private static RunView compensate(EngineLab lab, UUID id) {
        lab.engine().runs().compensate("default", id, "ann", null);
        return lab.await(id);
    }

    private static void resolve(EngineLab lab, EffectView effect, EffectState to, String providerId) {
        lab.engine().effects().resolve(
                "default", effect.receipt().id(), new Resolution(to, "as the provider's ledger says", null, providerId, null, null, "ann"));
    }

    private static void assertCode(org.assertj.core.api.ThrowableAssert.ThrowingCallable call, String code) {
        assertThatThrownBy(call).isInstanceOfSatisfying(WaybillException.class, e -> {
            assertThat(e.code()).isEqualTo(code);
            assertThat(e.status()).isEqualTo(409);
        });
    }

    /** Case A20. */
    @ParameterizedTest
    @EnumSource(Kind.class)
    void onlyWhatIsProvenIsUndone(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            lab.provider.script(Rule.on("POST", "/charge").then(Behaviour.applyThenDrop()));
            lab.sequence("order", "[" + ORDER + "]");
            RunView waiting = lab.run("order", "{'order':7}");
            assertThat(waiting.state()).isEqualTo(InstanceState.WAITING);
            assertThat(paths(lab)).containsExactly("/reserve", "/charge"); // unknown undoes nothing
            UUID id = waiting.id();
            EffectView reserve = effect(lab, id, "reserve");
            EffectView charge = effect(lab, id, "charge");

            RunView cancelled = cancel(lab, id);

            assertThat(cancelled.state()).as("%s", cancelled).isEqualTo(InstanceState.CANCELLED);
            assertThat(lab.provider.applied(d -> d.path().equals("/release"))).isEqualTo(1);
            assertThat(lab.provider.seen(d -> d.path().equals("/refund"))).isZero();
            assertThat(cancelled.residuals()).hasSize(1);
            assertThat(cancelled.residuals().get(0).get("effect_id").asString()).isEqualTo(charge.receipt().id().toString());
            assertThat(cancelled.residuals().get(0).get("state").asString()).isEqualTo("unknown");
            assertThat(lab.states(id)).containsExactly("charge#0 unknown", "release#0 committed", "reserve#0 compensated");
            assertCode(() -> compensate(lab, id), "NOTHING_TO_COMPENSATE");

            resolve(lab, charge, EffectState.COMMITTED, "ch_1");
            assertThat(lab.get(id).state()).isEqualTo(InstanceState.CANCELLED);
            RunView again = compensate(lab, id);

            assertThat(again.state()).as("%s", again).isEqualTo(InstanceState.CANCELLED);
            assertThat(again.residuals()).isEmpty();
            assertThat(lab.provider.applied(d -> d.path().equals("/refund"))).isEqualTo(1);
            assertThat(lab.provider.applied(d -> d.path().equals("/release"))).isEqualTo(1);
            assertThat(lab.provider.seen()).isEqualTo(4);
            assertThat(lab.provider.deliveries().get(2).header("Idempotency-Key")).isEqualTo("compensate:" + reserve.receipt().id());
            assertThat(lab.provider.deliveries().get(3).header("Idempotency-Key")).isEqualTo("compensate:" + charge.receipt().id());
            assertThat(effect(lab, id, "charge").last().providerReceiptId()).isEqualTo("ch_1");
            assertThat(lab.states(id))
                    .containsExactly("charge#0 compensated", "refund#0 committed", "release#0 committed", "reserve#0 compensated");
            assertCode(() -> compensate(lab, id), "NOTHING_TO_COMPENSATE");
            assertThat(lab.unresolved()).isZero();
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aDefiniteFailureUndoesInReverseAndThenFailsWithIt(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            lab.provider.script(Rule.on("POST", "/ship").then(Behaviour.answer(422)));
            lab.sequence("order", "[" + ORDER + "]");
            RunView failed = lab.run("order", "{'order':7}");
            assertThat(failed.state()).as("%s", failed).isEqualTo(InstanceState.FAILED);
            assertThat(failed.error().get("path").asString()).isEqualTo("ship");
            assertThat(paths(lab)).containsExactly("/reserve", "/charge", "/ship", "/refund", "/release");
            assertThat(failed.residuals()).isEmpty();
            assertThat(lab.states(failed.id()))
                    .containsExactly(
                            "charge#0 compensated", "refund#0 committed", "release#0 committed", "reserve#0 compensated", "ship#0 not_applied");
            assertCode(() -> lab.engine().runs().retry("default", failed.id(), "ann"), "RUN_UNDONE");
            assertCode(() -> compensate(lab, failed.id()), "NOTHING_TO_COMPENSATE");
        }
    }

    @Test
    void aCatchAroundASagaTakesItsFailureAfterTheUndo() {
        try (EngineLab lab = EngineLab.memory()) {
            lab.provider.script(Rule.on("POST", "/ship").then(Behaviour.answer(422)));
            lab.sequence("order", "[{'type':'try_catch','id':'t','try_block':[" + ORDER + "],'catch_block':[" + post("tell", "") + "]}," + post("after", "") + "]");
            RunView run = lab.run("order", "{'order':7}");
            lab.assertCompleted(run);
            assertThat(paths(lab)).containsExactly("/reserve", "/charge", "/ship", "/refund", "/release", "/tell", "/after");
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aCompensationThatFailsLeavesAResidualAndTheOthersAreUndone(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            lab.provider.script(
                    Rule.on("POST", "/ship").then(Behaviour.answer(422)),
                    Rule.on("POST", "/refund").then(Behaviour.answer(403)));
            lab.sequence("order", "[" + ORDER + "]");
            RunView failed = lab.run("order", "{'order':7}");
            assertThat(failed.state()).isEqualTo(InstanceState.FAILED);
            assertThat(residuals(failed)).containsExactly("charge committed");
            assertThat(failed.error().get("path").asString()).isEqualTo("ship");
            assertThat(paths(lab)).containsExactly("/reserve", "/charge", "/ship", "/refund", "/release");

            RunView again = compensate(lab, failed.id());

            assertThat(again.state()).isEqualTo(InstanceState.FAILED);
            assertThat(again.error()).isEqualTo(failed.error());
            assertThat(again.residuals()).isEmpty();
            assertThat(paths(lab)).containsExactly("/reserve", "/charge", "/ship", "/refund", "/release", "/refund");
            assertThat(lab.states(failed.id())).contains("charge#0 compensated", "refund#0 not_applied", "refund#1 committed");
        }
    }

    @Test
    void anUnknownCompensationIsNeverSentAgainAndTheRestIsUndone() {
        try (EngineLab lab = EngineLab.memory()) {
            lab.provider.script(
                    Rule.on("POST", "/ship").then(Behaviour.applyThenDrop()), Rule.on("POST", "/refund").then(Behaviour.applyThenDrop()));
            lab.sequence("order", "[" + ORDER + "]");
            UUID id = lab.run("order", "{'order':7}").id();
            RunView cancelled = cancel(lab, id);
            assertThat(cancelled.state()).isEqualTo(InstanceState.CANCELLED);
            assertThat(paths(lab)).containsExactly("/reserve", "/charge", "/ship", "/refund", "/release");
            assertThat(residuals(cancelled)).containsExactlyInAnyOrder("charge committed", "ship unknown", "refund unknown");
            assertCode(() -> compensate(lab, id), "NOTHING_TO_COMPENSATE");

            resolve(lab, effect(lab, id, "refund"), EffectState.COMMITTED, "re_1");
            RunView again = compensate(lab, id);

            assertThat(residuals(again)).containsExactly("ship unknown");
            assertThat(lab.provider.seen()).isEqualTo(5);
            assertThat(lab.states(id)).contains("charge#0 compensated");
        }
    }

    /** Without a cancel the saga waits with its unknown compensation; no catch sees it before it is known. */
    @Test
    void aSagaDoesNotFailWhileACompensationIsUnknown() {
        try (EngineLab lab = EngineLab.memory()) {
            lab.provider.script(Rule.on("POST", "/ship").then(Behaviour.answer(422)), Rule.on("POST", "/refund").then(Behaviour.applyThenDrop()));
            lab.sequence("order", "[{'type':'try_catch','id':'t','try_block':[" + ORDER + "],'catch_block':[" + post("tell", "") + "]}]");
            RunView waiting = lab.run("order", "{'order':7}");
            assertThat(waiting.state()).as("%s", waiting).isEqualTo(InstanceState.WAITING);
            assertThat(paths(lab)).containsExactly("/reserve", "/charge", "/ship", "/refund", "/release");
            resolve(lab, effect(lab, waiting.id(), "refund"), EffectState.COMMITTED, "re_1");
            lab.assertCompleted(lab.await(waiting.id()));
            assertThat(paths(lab)).endsWith("/release", "/tell");
            assertThat(lab.states(waiting.id())).contains("charge#0 compensated", "reserve#0 compensated");
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void theItemsOfALoopAreUndoneEachForItself(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            lab.provider.script(Rule.on("POST", "/charge").bodyContaining("b").then(Behaviour.answer(402)));
            String body = saga("one", pair("reserve", "release"), pair("charge", "refund")).replace("data.order", "item");
            lab.sequence("orders", "[{'type':'for_each','id':'all','collection':'{{ data.orders }}','body':["
                    + "{'type':'try_catch','id':'t','try_block':[" + body + "],'catch_block':[]}]}," + post("after", "") + "]");
            RunView run = lab.run("orders", "{'orders':['a','b','c']}");
            lab.assertCompleted(run);
            assertThat(paths(lab))
                    .containsExactly("/reserve", "/charge", "/reserve", "/charge", "/release", "/reserve", "/charge", "/after");
            assertThat(lab.provider.deliveries().get(4).text()).contains("b");
            assertThat(lab.provider.deliveries().get(4).header("Idempotency-Key"))
                    .isEqualTo("compensate:" + effect(lab, run.id(), "all[1]/reserve").receipt().id());
            assertThat(lab.states(run.id())).contains("all[0]/reserve#0 committed", "all[1]/reserve#0 compensated", "all[2]/reserve#0 committed");
        }
    }

    @Test
    void aCancelUndoesTheItemThatIsUnderWayAndNoneThatEnded() {
        try (EngineLab lab = EngineLab.memory()) {
            lab.provider.script(Rule.on("POST", "/charge").bodyContaining("b").then(Behaviour.applyThenDrop()));
            String body = saga("one", pair("reserve", "release"), pair("charge", "refund")).replace("data.order", "item");
            lab.sequence("orders", "[{'type':'for_each','id':'all','collection':'{{ data.orders }}','body':[" + body + "]}]");
            UUID id = lab.run("orders", "{'orders':['a','b','c']}").id();
            RunView cancelled = cancel(lab, id);
            assertThat(paths(lab)).containsExactly("/reserve", "/charge", "/reserve", "/charge", "/release");
            assertThat(lab.provider.deliveries().getLast().text()).contains("b");
            assertThat(residuals(cancelled)).containsExactly("all[1]/charge unknown");
        }
    }

    @Test
    void anInnerSagaIsUndoneBeforeTheOuter() {
        try (EngineLab lab = EngineLab.memory()) {
            lab.provider.script(Rule.on("POST", "/ship").then(Behaviour.applyThenDrop()));
            String inner = saga("inner", pair("charge", "refund"), pair("ship", "recall"));
            lab.sequence("order", "[" + saga("outer", pair("reserve", "release"), "{'id':'rest','action':" + inner + ",'compensation':" + post("undo", "") + "}") + "]");
            UUID id = lab.run("order", "{'order':7}").id();
            RunView cancelled = cancel(lab, id);
            assertThat(paths(lab)).containsExactly("/reserve", "/charge", "/ship", "/refund", "/release");
            assertThat(residuals(cancelled)).containsExactly("ship unknown");
        }
    }

    @Test
    void stepsOfALargerCompensationHaveAKeyEach() {
        try (EngineLab lab = EngineLab.memory()) {
            lab.provider.script(Rule.on("POST", "/ship").then(Behaviour.answer(422)));
            String both = "{'type':'parallel','id':'both','branches':[[" + post("refund", "") + "],["
                    + post("tell", ",'effect':{'idempotency':{'key':'mine-1'}}") + "]]}";
            lab.sequence("order", "[" + saga("order", "{'id':'charge','action':" + post("charge", "") + ",'compensation':" + both + "}", pair("ship", "recall")) + "]");
            RunView failed = lab.run("order", "{'order':7}");
            UUID charge = effect(lab, failed.id(), "charge").receipt().id();
            assertThat(lab.provider.deliveries().stream().skip(2).map(d -> d.header("Idempotency-Key")).toList())
                    .containsExactlyInAnyOrder("compensate:" + charge + ":refund", "mine-1");
            assertThat(lab.states(failed.id())).contains("charge#0 compensated");
        }
    }

    @Test
    void aSagaThatEndedIsNotUndoneByALaterCancel() {
        try (EngineLab lab = EngineLab.memory()) {
            lab.provider.script(Rule.on("POST", "/after").then(Behaviour.applyThenDrop()));
            lab.sequence("order", "[" + ORDER + "," + post("after", "") + "]");
            UUID id = lab.run("order", "{'order':7}").id();
            RunView cancelled = cancel(lab, id);
            assertThat(paths(lab)).containsExactly("/reserve", "/charge", "/ship", "/after");
            assertThat(residuals(cancelled)).containsExactly("after unknown");
        }
    }

    @Test
    void anUndoThatHasBegunGoesOnBesideAFailureThatNothingCatches() {
        try (EngineLab lab = EngineLab.memory()) {
            lab.provider.script(
                    Rule.on("POST", "/charge").then(Behaviour.answer(402)), Rule.on("POST", "/release").then(Behaviour.pauseAfterBooking()),
                    Rule.on("POST", "/other").then(Behaviour.answerAfterArrivalOf(d -> d.path().equals("/release"))));
            lab.sequence("order", "[{'type':'parallel','id':'p','branches':[["
                    + saga("one", pair("book", "unbook"), pair("reserve", "release"), pair("charge", "refund")) + "],["
                    + post("other", ",'success_when':'body.for = 6'") + "]]}]");
            UUID id = lab.start("order", "{'order':7}");
            Delivery release = lab.provider.awaitDelivery(d -> d.path().equals("/release"), EngineLab.PATIENCE);
            org.awaitility.Awaitility.await().atMost(EngineLab.PATIENCE).until(() -> lab.states(id).contains("other#0 not_applied"));
            lab.provider.release(release.number());
            RunView failed = lab.await(id);
            assertThat(failed.state()).isEqualTo(InstanceState.FAILED);
            assertThat(lab.provider.applied(d -> d.path().equals("/unbook"))).isEqualTo(1);
            assertThat(lab.states(id)).contains("book#0 compensated", "reserve#0 compensated");
        }
    }

    /** A drain in the middle of the undo: what is in flight ends, the rest is undone by the next engine. */
    @ParameterizedTest
    @EnumSource(Kind.class)
    void anEngineThatIsClosedWhileItUndoesGoesOnLater(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            lab.provider.script(Rule.on("POST", "/ship").then(Behaviour.answer(422)), Rule.on("POST", "/refund").then(Behaviour.pauseAfterBooking()));
            lab.sequence("order", "[" + ORDER + "]");
            UUID id = lab.start("order", "{'order':7}");
            Delivery refund = lab.provider.awaitDelivery(d -> d.path().equals("/refund"), EngineLab.PATIENCE);
            Thread closing = Thread.ofVirtual().start(lab::restart);
            lab.provider.release(refund.number());
            join(closing);
            RunView failed = lab.await(id);
            assertThat(failed.state()).as("%s", failed).isEqualTo(InstanceState.FAILED);
            assertThat(lab.provider.seen(d -> d.path().equals("/refund"))).isEqualTo(1);
            assertThat(lab.provider.seen(d -> d.path().equals("/release"))).isEqualTo(1);
            assertThat(lab.states(id)).contains("charge#0 compensated", "reserve#0 compensated");
        }
    }

    private static void join(Thread thread) {
        try {
            assertThat(thread.join(EngineLab.PATIENCE)).isTrue();
        } catch (InterruptedException e) {
            throw new IllegalStateException(e);
        }
    }

    /** The turn dies with the answer to a compensation in its hands: it is unknown from then on, and a residual, and is not sent again. */
    @ParameterizedTest
    @EnumSource(Kind.class)
    void aTurnThatDiesWhileItUndoesSendsNothingTwice(Kind kind) {
        AtomicBoolean once = new AtomicBoolean();
        CrashPoints points = (point, instance, path) -> {
            if (point == CrashPoints.Point.BEFORE_SETTLE && path.equals("refund") && once.compareAndSet(false, true)) {
                throw new IllegalStateException("dies here");
            }
        };
        try (EngineLab lab = new EngineLab(kind).points(points)) {
            lab.provider.script(Rule.on("POST", "/ship").then(Behaviour.applyThenDrop()));
            lab.sequence("order", "[" + ORDER + "]");
            UUID id = lab.run("order", "{'order':7}").id();
            RunView cancelled = cancel(lab, id);
            assertThat(cancelled.state()).isEqualTo(InstanceState.CANCELLED);
            assertThat(once).isTrue();
            assertThat(lab.provider.seen(d -> d.path().equals("/refund"))).isEqualTo(1);
            assertThat(lab.provider.seen(d -> d.path().equals("/release"))).isEqualTo(1);
            assertThat(lab.states(id)).contains("reserve#0 compensated");
            String refund = effect(lab, id, "refund").state().wire();
            String charge = effect(lab, id, "charge").state().wire();
            assertThat(refund + " " + charge).isIn("unknown committed", "committed compensated");
            assertThat(residuals(cancelled).contains("charge committed")).isEqualTo(charge.equals("committed"));
        }
    }

    @Test
    void aPauseHoldsTheUndoUntilResume() {
        try (EngineLab lab = EngineLab.memory()) {
            lab.provider.script(Rule.on("POST", "/ship").then(Behaviour.applyThenDrop()), Rule.on("POST", "/refund").then(Behaviour.pauseAfterBooking()));
            lab.sequence("order", "[" + ORDER + "]");
            UUID id = lab.run("order", "{'order':7}").id();
            lab.engine().runs().cancel("default", id, "ann");
            Delivery refund = lab.provider.awaitDelivery(d -> d.path().equals("/refund"), EngineLab.PATIENCE);
            lab.engine().runs().pause("default", id, "ann");
            lab.provider.release(refund.number());
            assertThat(lab.await(id).state()).isEqualTo(InstanceState.PAUSED);
            assertThat(lab.provider.seen(d -> d.path().equals("/release"))).isZero();
            lab.engine().runs().resume("default", id, "ann");
            assertThat(lab.await(id).state()).isEqualTo(InstanceState.CANCELLED);
            assertThat(lab.provider.applied(d -> d.path().equals("/release"))).isEqualTo(1);
        }
    }

    @Test
    void theSameKeyCompensatesOnce() {
        try (EngineLab lab = EngineLab.memory()) {
            lab.provider.script(
                    Rule.on("POST", "/ship").then(Behaviour.answer(422)), Rule.on("POST", "/refund").thenAlways(Behaviour.answer(403)));
            lab.sequence("order", "[" + ORDER + "]");
            UUID id = lab.run("order", "{'order':7}").id();
            lab.engine().runs().compensate("default", id, "ann", "k1");
            lab.await(id);
            lab.engine().runs().compensate("default", id, "ann", "k1");
            assertThat(lab.await(id).state()).isEqualTo(InstanceState.FAILED);
            assertThat(lab.provider.seen(d -> d.path().equals("/refund"))).isEqualTo(2);
        }
    }

    @Test
    void aFailedRunWhoseEffectIsUnknownIsUndoneWhenAPersonAsks() {
        try (EngineLab lab = EngineLab.memory()) {
            lab.provider.script(Rule.on("POST", "/charge").then(Behaviour.applyThenDrop()));
            lab.sequence("order", "[" + ORDER + "]", "'on_unknown':'fail',");
            RunView failed = lab.run("order", "{'order':7}");
            assertThat(failed.state()).isEqualTo(InstanceState.FAILED);
            assertThat(paths(lab)).containsExactly("/reserve", "/charge");
            RunView undone = compensate(lab, failed.id());
            assertThat(undone.state()).isEqualTo(InstanceState.FAILED);
            assertThat(undone.error().get("code").asString()).isEqualTo("EFFECT_BLOCKED");
            assertThat(residuals(undone)).containsExactly("charge unknown");
            assertThat(paths(lab)).containsExactly("/reserve", "/charge", "/release");
            assertThat(lab.engine().runs().tree("default", failed.id())).hasSize(1);
        }
    }
}
