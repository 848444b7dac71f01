package dev.waybill.lab.crash;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.engine.CrashPoints.Point;
import dev.waybill.lab.crash.CrashLab.Kind;
import dev.waybill.test.Behaviour;
import dev.waybill.test.Delivery;
import dev.waybill.test.Match;
import dev.waybill.test.Rule;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** SIGTERM (semantics.md section 8): what can end is settled, the rest is recorded, and nothing of ours stays dispatched. */
class DrainTest {

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aDrainSettlesWhatEndsInTimeRecordsTheRestAndGivesEveryClaimUp(Kind kind) {
        try (CrashLab lab = CrashLab.on(kind)) {
            lab.provider.script(
                    Rule.on(Match.of("POST", "/charges").bodyContaining("slow")).then(Behaviour.pauseAfterBooking()),
                    Rule.on(Match.of("POST", "/charges").bodyContaining("stuck")).then(Behaviour.pauseAfterBooking()));
            List<String> arguments = new ArrayList<>(CrashLab.LONG_LEASE);
            arguments.addAll(List.of("--drain-ms", "3000"));
            EngineProcess engine = lab.engine("a", arguments);
            engine.publish("pay", lab.chargeThenShip(""));
            UUID slow = engine.start("pay", "{'order':'slow'}");
            UUID stuck = engine.start("pay", "{'order':'stuck'}");
            Delivery slowCall = lab.provider.awaitDelivery(d -> CrashLab.isOf(d, "/charges", "slow"), EngineProcess.PATIENCE);
            lab.provider.awaitDelivery(d -> CrashLab.isOf(d, "/charges", "stuck"), EngineProcess.PATIENCE);
            // Held between its durable intent and the first byte: what a drain finds there was provably not sent, or is unknown.
            engine.stopAt(Point.AFTER_INTENT + ":charge");
            UUID unsent = engine.start("pay", "{'order':'unsent'}");
            engine.awaitAt(Point.AFTER_INTENT, "charge");

            engine.terminate();
            lab.provider.release(slowCall.number());
            assertThat(engine.exit()).isZero();

            // Another machine: the claims were given up, not left to a lease of two minutes; the flight recorder is not there.
            List<String> elsewhere = new ArrayList<>(CrashLab.LONG_LEASE);
            elsewhere.add("--no-recorder");
            EngineProcess other = lab.engine("b", elsewhere);
            other.await(slow);
            assertThat(lab.story(other, slow, "slow")).isEqualTo("charge#0 committed 1/1, ship#0 committed 1/1, completed");
            assertThat(other.effects(slow).getFirst().path("journal").path(0).path("actor").asString()).isEqualTo("engine");
            other.await(stuck);
            assertThat(lab.story(other, stuck, "stuck")).isEqualTo("charge#0 unknown 1/1, waiting effect_unknown at charge");
            assertThat(other.effects(stuck).getFirst().path("journal").path(0).path("reason").asString()).isIn("drain", "interrupted");
            other.await(unsent);
            assertThat(lab.story(other, unsent, "unsent")).isEqualTo("charge#0 unknown 0/0, waiting effect_unknown at charge");
            lab.assertEachReceiptSentAtMostOnce();
        }
    }
}
