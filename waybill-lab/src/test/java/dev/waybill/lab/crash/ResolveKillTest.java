package dev.waybill.lab.crash;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.engine.CrashPoints.Point;
import dev.waybill.lab.crash.CrashLab.Kind;
import dev.waybill.test.Behaviour;
import dev.waybill.test.Rule;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tools.jackson.databind.JsonNode;

/** A kill between "resolved" and "goes on" leaves no run resolved and stuck: receipt, output and wake-up are one transaction. */
class ResolveKillTest {
    private static final int RUNS = 24;

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aKillAroundResolveNeverLeavesARunResolvedAndStuck(Kind kind) {
        try (CrashLab lab = CrashLab.on(kind)) {
            lab.provider.script(Rule.on("POST", "/charges").thenAlways(Behaviour.applyThenDrop()));
            EngineProcess engine = lab.engine("a", CrashLab.LONG_LEASE);
            engine.publish("pay", lab.chargeThenShip(""));
            List<UUID> runs = new ArrayList<>();
            List<JsonNode> charges = new ArrayList<>();
            for (int i = 0; i < RUNS; i++) {
                UUID run = engine.start("pay", "{'order':'r" + i + "'}");
                assertThat(CrashLab.ending(engine.await(run))).isEqualTo("waiting effect_unknown at charge");
                runs.add(run);
                charges.add(engine.effects(run).getFirst());
            }
            // The first is resolved, has gone on, and is held right before its next intent.
            engine.stopAt(Point.BEFORE_INTENT + ":ship");
            engine.resolveCommitted(charges.getFirst(), "ch_r0");
            engine.awaitAt(Point.BEFORE_INTENT, "ship");
            // The rest is being resolved when the kill comes: some acknowledged, some not, some not even begun.
            List<EngineProcess.Asked> asked = new ArrayList<>();
            for (int i = 1; i < RUNS; i++) {
                asked.add(engine.askToResolve(charges.get(i), "ch_r" + i));
            }
            asked.get(RUNS / 4).answer();
            engine.kill();
            List<Boolean> acknowledged = asked.stream().map(EngineProcess.Asked::answered).toList();
            assertThat(acknowledged).contains(true);

            EngineProcess restarted = lab.engine("a", CrashLab.LONG_LEASE);
            restarted.await(runs.getFirst());
            assertThat(lab.story(restarted, runs.getFirst(), "r0")).isEqualTo("charge#0 committed 1/1, ship#0 committed 1/1, completed");
            for (int i = 1; i < RUNS; i++) {
                restarted.await(runs.get(i));
                String story = lab.story(restarted, runs.get(i), "r" + i);
                String stillUnknown = "charge#0 unknown 1/1, waiting effect_unknown at charge";
                String wentOn = "charge#0 committed 1/1, ship#0 committed 1/1, completed"
                        + "|charge#0 committed 1/1, ship#0 not_applied 1/1, ship#1 committed 1/1, completed" // the flight recorder: not sent
                        + "|charge#0 committed 1/1, ship#0 unknown [01]/[01], waiting effect_unknown at ship";
                assertThat(story).matches(acknowledged.get(i - 1) ? wentOn : stillUnknown + "|" + wentOn);
            }
            lab.assertEachReceiptSentAtMostOnce();
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aResolveThatWasAcknowledgedRightBeforeTheKillGoesOnWithWhatThePersonGave(Kind kind) {
        try (CrashLab lab = CrashLab.on(kind)) {
            lab.provider.script(Rule.on("POST", "/charges").thenAlways(Behaviour.applyThenDrop()));
            EngineProcess engine = lab.engine("a", CrashLab.LONG_LEASE);
            engine.publish("pay", lab.chargeThenShip(""));
            UUID run = engine.start("pay", "{'order':'one'}");
            engine.await(run);
            engine.stopAt(Point.BEFORE_INTENT + ":ship"); // so that the kill comes before it has gone on, however fast it is
            engine.resolveCommitted(engine.effects(run).getFirst(), "ch_person");
            engine.kill();
            EngineProcess restarted = lab.engine("a", CrashLab.LONG_LEASE);
            restarted.await(run);
            assertThat(lab.story(restarted, run, "one")).isEqualTo("charge#0 committed 1/1, ship#0 committed 1/1, completed");
            assertThat(lab.provider.deliveries().getLast().json().path("charge").asString()).isEqualTo("ch_person");
        }
    }
}
