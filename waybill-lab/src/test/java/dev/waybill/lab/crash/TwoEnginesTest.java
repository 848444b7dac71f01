package dev.waybill.lab.crash;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.engine.CrashPoints.Point;
import dev.waybill.lab.crash.CrashLab.Kind;
import dev.waybill.test.Behaviour;
import dev.waybill.test.Delivery;
import dev.waybill.test.Match;
import dev.waybill.test.Rule;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** Cases A15 (c) and A16, and the frozen owner: several engine processes on one PostgreSQL. */
class TwoEnginesTest {
    private static final int RUNS = 8;

    @Test
    void aFrozenOwnersLateAnswerSettlesAndWhatItHadNotSentItDoesNotSendAnyMore() {
        try (CrashLab lab = CrashLab.on(Kind.POSTGRES)) {
            lab.provider.script(Rule.on(Match.of("POST", "/charges").bodyContaining("inflight")).then(Behaviour.pauseAfterBooking()));
            EngineProcess first = lab.engine("a", CrashLab.SHORT_LEASE);
            first.publish("pay", lab.chargeThenShip("")).publish("pay2", lab.chargeThenShip("").replace("'charge'", "'charge2'").replace("outputs.charge.", "outputs.charge2."));
            UUID inFlight = first.start("pay", "{'order':'inflight'}");
            Delivery held = lab.provider.awaitDelivery(d -> CrashLab.isOf(d, "/charges", "inflight"), EngineProcess.PATIENCE);
            first.stopAt(Point.AFTER_INTENT + ":charge2");
            UUID unsent = first.start("pay2", "{'order':'unsent'}");
            first.awaitAt(Point.AFTER_INTENT, "charge2");
            first.freeze();

            EngineProcess second = lab.engine("b", CrashLab.SHORT_LEASE);
            awaitEnding(second, inFlight, "waiting effect_unknown at charge");
            awaitEnding(second, unsent, "waiting effect_unknown at charge2");
            assertThat(second.effects(inFlight).getFirst().path("journal").path(0).path("actor").asString()).isEqualTo("recovery");

            lab.provider.release(held.number()); // answers into the frozen process's socket
            first.thaw();
            first.open();
            awaitEnding(second, inFlight, "completed");
            awaitEnding(second, unsent, "completed");

            assertThat(lab.story(second, inFlight, "inflight")).isEqualTo("charge#0 committed 1/1, ship#0 committed 1/1, completed");
            assertThat(moves(second.effects(inFlight).getFirst())).containsExactly("unknown by recovery", "committed by engine-late");
            assertThat(lab.story(second, unsent, "unsent"))
                    .isEqualTo("charge2#0 not_applied 1/1, charge2#1 committed 1/1, ship#0 committed 1/1, completed");
            JsonNode late = second.effects(unsent).getFirst();
            assertThat(moves(late)).containsExactly("unknown by recovery", "not_applied by engine-late");
            assertThat(late.path("journal").path(1).path("proof").asString()).isEqualTo("not_sent");
            assertThat(lab.provider.deliveries().stream().filter(d -> late.path("id").asString().equals(d.effectId()))).isEmpty();
            lab.assertEachReceiptSentAtMostOnce();
        }
    }

    @Test
    void a15ACallLongerThanTheLeaseStaysWithItsLiveOwner() {
        try (CrashLab lab = CrashLab.on(Kind.POSTGRES)) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.normal().answeredAfter(Duration.ofSeconds(6))));
            EngineProcess first = lab.engine("a", CrashLab.SHORT_LEASE);
            first.publish("pay", lab.chargeThenShip(""));
            EngineProcess second = lab.engine("b", CrashLab.SHORT_LEASE);
            UUID run = first.start("pay", "{'order':'long'}");
            awaitEnding(second, run, "completed");
            assertThat(lab.story(second, run, "long")).isEqualTo("charge#0 committed 1/1, ship#0 committed 1/1, completed");
            JsonNode charge = second.effects(run).getFirst();
            assertThat(moves(charge)).containsExactly("committed by engine");
            assertThat(second.run(run).path("claim_epoch").asLong()).as("nobody took over").isEqualTo(1);
        }
    }

    @Test
    void a16WallClocksFiveMinutesOffNeitherHastenNorDelayATakeover() throws SQLException {
        try (CrashLab lab = CrashLab.on(Kind.POSTGRES)) {
            lab.provider.script(Rule.on("POST", "/charges").thenAlways(Behaviour.pauseAfterBooking()));
            EngineProcess owner = lab.engine("a", CrashLab.SHORT_LEASE);
            owner.publish("pay", lab.chargeThenShip(""));
            EngineProcess ahead = lab.engine("b", clock("300000"));
            EngineProcess behind = lab.engine("c", clock("-300000"));
            List<UUID> runs = new ArrayList<>();
            for (int i = 0; i < RUNS; i++) {
                runs.add(owner.start("pay", "{'order':'c" + i + "'}"));
            }
            Awaitility.await().atMost(EngineProcess.PATIENCE).until(() -> lab.provider.applied() == RUNS);
            // Two leases of the owner pass in database time, with its heartbeats in them; the others look for dead nodes all the while.
            Instant begun = databaseNow(lab);
            Awaitility.await().atMost(EngineProcess.PATIENCE).until(() -> databaseNow(lab).isAfter(begun.plusSeconds(6)));
            for (UUID run : runs) {
                assertThat(ahead.run(run).path("claim_epoch").asLong()).as("taken over early").isEqualTo(1);
                assertThat(ahead.states(run)).containsExactly("charge#0 dispatched");
            }
            owner.kill();
            for (UUID run : runs) {
                awaitEnding(behind, run, "waiting effect_unknown at charge");
                Instant takenOver = Instant.parse(behind.effects(run).getFirst().path("journal").path(0).path("at").asString());
                Instant leaseEnd = leaseEnd(lab, owner.node());
                assertThat(takenOver).as("a takeover before the lease ran out on the database's clock").isAfterOrEqualTo(leaseEnd);
                assertThat(takenOver).isBefore(leaseEnd.plusSeconds(40));
            }
            for (int i = 0; i < RUNS; i++) {
                assertThat(lab.counts("/charges", "c" + i)).isEqualTo("1/1");
            }
        }
    }

    private static List<String> clock(String offsetMillis) {
        List<String> arguments = new ArrayList<>(CrashLab.SHORT_LEASE);
        arguments.addAll(List.of("--clock-offset-ms", offsetMillis));
        return arguments;
    }

    private static Instant databaseNow(CrashLab lab) throws SQLException {
        return one(lab, "SELECT now()");
    }

    private static Instant leaseEnd(CrashLab lab, UUID node) throws SQLException {
        return one(lab, "SELECT expires_at FROM nodes WHERE id = '" + node + "'");
    }

    private static Instant one(CrashLab lab, String sql) throws SQLException {
        try (Connection connection = lab.superuser();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getTimestamp(1).toInstant();
        }
    }

    private static void awaitEnding(EngineProcess engine, UUID run, String ending) {
        Awaitility.await().atMost(EngineProcess.PATIENCE).untilAsserted(() -> assertThat(CrashLab.ending(engine.run(run))).isEqualTo(ending));
    }

    private static List<String> moves(JsonNode effect) {
        return effect.path("journal").valueStream().map(move -> move.path("to").asString() + " by " + move.path("actor").asString()).toList();
    }
}
