package dev.waybill.lab.crash;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.engine.CrashPoints.Point;
import dev.waybill.lab.crash.CrashLab.Kind;
import dev.waybill.test.Behaviour;
import dev.waybill.test.Match;
import dev.waybill.test.Rule;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tools.jackson.databind.JsonNode;

/** What the flight recorder of a killed engine settles beyond {@link KillNineTest}, and where it must keep silent. */
class FlightRecorderTest {
    private static final String HOLD = "[{'type':'step','id':'hold','handler':'hold','params':{},'timeout':60000}]";

    private static List<String> with(List<String> arguments, String... more) {
        List<String> all = new ArrayList<>(arguments);
        all.addAll(List.of(more));
        return all;
    }

    private static UUID heldAt(CrashLab lab, EngineProcess engine, Point point, String order) {
        engine.publish(order, "[" + lab.post("charge_" + order, "/charges", ",'amount':5", "") + "]");
        engine.stopAt(point + ":charge_" + order);
        UUID run = engine.start(order, "{'order':'" + order + "'}");
        engine.awaitAt(point, "charge_" + order);
        return run;
    }

    /** The file is on the machine that died; whoever takes over elsewhere has nothing but the store. */
    @ParameterizedTest
    @EnumSource(Kind.class)
    void withoutTheFileWhatWasInFlightIsUnknown(Kind kind) {
        List<String> lease = kind == Kind.SQLITE ? CrashLab.LONG_LEASE : CrashLab.SHORT_LEASE;
        try (CrashLab lab = CrashLab.on(kind)) {
            EngineProcess engine = lab.engine("a", lease);
            UUID unsent = heldAt(lab, engine, Point.AFTER_INTENT, "unsent");
            UUID answered = heldAt(lab, engine, Point.AFTER_ANSWER, "answered");
            engine.kill();

            EngineProcess elsewhere = lab.engine("b", with(lease, "--no-recorder"));
            elsewhere.await(unsent);
            elsewhere.await(answered);
            assertThat(elsewhere.states(unsent)).containsExactly("charge_unsent#0 unknown");
            assertThat(elsewhere.states(answered)).containsExactly("charge_answered#0 unknown");
            assertThat(lab.counts("/charges", "unsent")).isEqualTo("0/0");
        }
    }

    /** Another machine was faster and had to say unknown; when the dead one is started again its file still heals that. */
    @Test
    void aFileThatIsHeardAfterTheTakeoverHealsWhatWasUnknown() {
        try (CrashLab lab = CrashLab.on(Kind.POSTGRES)) {
            EngineProcess engine = lab.engine("a", CrashLab.SHORT_LEASE);
            UUID unsent = heldAt(lab, engine, Point.AFTER_INTENT, "unsent");
            UUID answered = heldAt(lab, engine, Point.BEFORE_SETTLE, "answered");
            engine.kill();
            EngineProcess elsewhere = lab.engine("b", CrashLab.SHORT_LEASE);
            for (UUID run : List.of(unsent, answered)) {
                assertThat(CrashLab.ending(elsewhere.await(run))).startsWith("waiting effect_unknown");
            }

            EngineProcess back = lab.engine("a", CrashLab.SHORT_LEASE);
            org.awaitility.Awaitility.await().atMost(EngineProcess.PATIENCE).until(() -> List.of(unsent, answered).stream()
                    .allMatch(run -> CrashLab.ending(back.run(run)).equals("completed")));
            assertThat(back.states(unsent)).containsExactly("charge_unsent#0 not_applied", "charge_unsent#1 committed");
            assertThat(back.states(answered)).containsExactly("charge_answered#0 committed");
            assertThat(moves(back, answered)).containsExactly("unknown by recovery", "committed by recorder");
            assertThat(lab.counts("/charges", "unsent")).isEqualTo("1/1");
            assertThat(lab.counts("/charges", "answered")).isEqualTo("1/1");
            lab.assertEachReceiptSentAtMostOnce();
        }
    }

    /** Somebody wrote off elsewhere what had happened: the file changes nothing of that, and says so. */
    @Test
    void anAnswerThatContradictsADecisionIsEvidence() {
        try (CrashLab lab = CrashLab.on(Kind.POSTGRES)) {
            EngineProcess engine = lab.engine("a", CrashLab.SHORT_LEASE);
            UUID run = heldAt(lab, engine, Point.AFTER_ANSWER, "denied");
            engine.kill();
            EngineProcess elsewhere = lab.engine("b", CrashLab.SHORT_LEASE);
            assertThat(CrashLab.ending(elsewhere.await(run))).startsWith("waiting effect_unknown");
            String effect = elsewhere.effects(run).getFirst().path("id").asString();
            assertThat(elsewhere.ask("resolve", it -> it.put("effect", effect).put("state", "abandoned")).answer().has("ok")).isTrue();

            EngineProcess back = lab.engine("a", CrashLab.SHORT_LEASE);
            JsonNode known = back.effects(run).getFirst();
            assertThat(known.path("state").asString()).isEqualTo("abandoned");
            assertThat(known.path("evidence").valueStream().map(JsonNode::asString)).contains("contradiction");
        }
    }

    private static List<String> moves(EngineProcess engine, UUID run) {
        return engine.effects(run).getFirst().path("journal").valueStream()
                .map(move -> move.path("to").asString() + " by " + move.path("actor").asString())
                .toList();
    }

    /** Two engines of one machine: the one that lives finds the other's file in its sweep and waits for no lease. */
    @Test
    void aNeighbourHearsTheDeadWithinItsSweepAndNotAfterALease() {
        try (CrashLab lab = CrashLab.on(Kind.POSTGRES)) {
            EngineProcess engine = lab.engine("machine", CrashLab.LONG_LEASE);
            EngineProcess neighbour = lab.engine("machine", CrashLab.LONG_LEASE);
            UUID unsent = heldAt(lab, engine, Point.AFTER_INTENT, "unsent");
            engine.kill();

            assertThat(CrashLab.ending(neighbour.await(unsent))).isEqualTo("completed");
            assertThat(neighbour.states(unsent)).containsExactly("charge_unsent#0 not_applied", "charge_unsent#1 committed");
            assertThat(lab.counts("/charges", "unsent")).isEqualTo("1/1");
        }
    }

    /** An attempt that the engine ended does not use max_attempts up: one is enough, however often the engine dies before it. */
    @Test
    void anAttemptThatWasNeverSentDoesNotCount() {
        try (CrashLab lab = CrashLab.on(Kind.SQLITE)) {
            EngineProcess engine = lab.engine("a", CrashLab.LONG_LEASE);
            engine.publish("once", "[" + lab.post("charge", "/charges", ",'amount':5", "").replace("'max_attempts':3", "'max_attempts':1") + "]");
            engine.stopAt("AFTER_INTENT:charge");
            UUID run = engine.start("once", "{'order':'once'}");
            for (int i = 0; i < 3; i++) {
                engine.awaitAt(Point.AFTER_INTENT, "charge");
                engine.kill();
                engine = lab.engine("a", i < 2 ? with(CrashLab.LONG_LEASE, "--stop-at", "AFTER_INTENT:charge") : CrashLab.LONG_LEASE);
            }
            assertThat(CrashLab.ending(engine.await(run))).isEqualTo("completed");
            assertThat(engine.states(run)).containsExactly(
                    "charge#0 not_applied", "charge#1 not_applied", "charge#2 not_applied", "charge#3 committed");
            assertThat(lab.counts("/charges", "once")).isEqualTo("1/1");
        }
    }

    /** Of a handler that does not tell its first byte: before it begins nothing has happened, from then on anything may have. */
    @Test
    void aHandlerOfTheApplicationIsCoveredUntilItBegins() {
        try (CrashLab lab = CrashLab.on(Kind.SQLITE)) {
            EngineProcess engine = lab.engine("a", CrashLab.LONG_LEASE);
            engine.publish("hold", HOLD);
            engine.stopAt("AFTER_INTENT:hold");
            UUID run = engine.start("hold", "{}");
            engine.awaitAt(Point.AFTER_INTENT, "hold");
            engine.kill();

            EngineProcess second = lab.engine("a", CrashLab.LONG_LEASE);
            second.awaitLine("HOLDING hold#1");
            second.kill();

            EngineProcess third = lab.engine("a", CrashLab.LONG_LEASE);
            assertThat(CrashLab.ending(third.await(run))).isEqualTo("waiting effect_unknown at hold");
            assertThat(third.states(run)).containsExactly("hold#0 not_applied", "hold#1 unknown");
        }
    }

    /** A decline is classified as it would have been by the engine that got it; an answer inside a loop finds its iteration again. */
    @Test
    void anAnswerIsClassifiedAsTheLiveOneWouldHaveBeen() {
        try (CrashLab lab = CrashLab.on(Kind.SQLITE)) {
            lab.provider.addRules(List.of(Rule.on(Match.of("POST", "/charges").bodyContaining("\"declined\"")).then(Behaviour.answer(402))));
            EngineProcess engine = lab.engine("a", CrashLab.LONG_LEASE);
            engine.publish("declined", "[" + lab.post("charge", "/charges", ",'amount':5", "") + "]");
            engine.publish("loop", "[{'type':'for_each','id':'each','collection':'{{ data.amounts }}','body':["
                    + lab.post("pay", "/charges", ",'amount':'{{ item }}'", ",'effect':{'receipt_id':'= $string(item)'}") + "]}]");
            engine.stopAt("AFTER_ANSWER:charge").stopAt("AFTER_ANSWER:each[1]/pay");
            UUID declined = engine.start("declined", "{'order':'declined'}");
            UUID loop = engine.start("loop", "{'order':'loop','amounts':[5,6,7]}");
            engine.awaitAt(Point.AFTER_ANSWER, "charge");
            engine.awaitAt(Point.AFTER_ANSWER, "each[1]/pay");
            engine.kill();

            EngineProcess again = lab.engine("a", CrashLab.LONG_LEASE);
            assertThat(CrashLab.ending(again.await(declined))).isEqualTo("failed HTTP_REJECTED");
            assertThat(again.states(declined)).containsExactly("charge#0 not_applied");
            assertThat(CrashLab.ending(again.await(loop))).isEqualTo("completed");
            JsonNode second = again.effects(loop).get(1).path("journal").path(0);
            assertThat(second.path("actor").asString()).isEqualTo("recorder");
            assertThat(second.path("provider_receipt_id").asString()).isEqualTo("6");
            assertThat(lab.counts("/charges", "loop")).isEqualTo("3/3");
        }
    }
}
