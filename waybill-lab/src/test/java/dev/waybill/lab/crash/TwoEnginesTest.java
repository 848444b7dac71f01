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
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** Cases A15 (c) and A16, and the frozen owner: several engine processes on one PostgreSQL. */
class TwoEnginesTest {
    private static final int RUNS = 8;

    /** Where the owner is frozen for longer than its lease, what the other engine sees meanwhile, and what becomes of it after the thaw. */
    enum Frozen {
        BEFORE_INTENT(Point.BEFORE_INTENT, "charge", "charge#0 committed 1/1, ship#0 committed 1/1, completed",
                "charge#0 committed 1/1, ship#0 committed 1/1, completed"),
        AFTER_INTENT(Point.AFTER_INTENT, "charge", "charge#0 unknown 0/0, waiting effect_unknown at charge",
                "charge#0 not_applied 1/1, charge#1 committed 1/1, ship#0 committed 1/1, completed"),
        IN_FLIGHT(null, "charge", "charge#0 unknown 1/1, waiting effect_unknown at charge",
                "charge#0 committed 1/1, ship#0 committed 1/1, completed"),
        BEFORE_SETTLE(Point.BEFORE_SETTLE, "charge", "charge#0 unknown 1/1, waiting effect_unknown at charge",
                "charge#0 committed 1/1, ship#0 committed 1/1, completed"),
        /** The next intent was durable and nothing of it had left. */
        AFTER_SETTLE(Point.AFTER_SETTLE, "charge", "charge#0 committed 1/1, ship#0 unknown 0/0, waiting effect_unknown at ship",
                "charge#0 committed 1/1, ship#0 not_applied 1/1, ship#1 committed 1/1, completed");

        private final Point point;
        private final String step;
        private final String takenOver;
        private final String thawed;

        Frozen(Point point, String step, String takenOver, String thawed) {
            this.point = point;
            this.step = step;
            this.takenOver = takenOver;
            this.thawed = thawed;
        }

        String order() {
            return name().toLowerCase(Locale.ROOT);
        }

        String step() {
            return step + "_" + order();
        }
    }

    @Test
    void aFrozenOwnersLateAnswerSettlesAndWhatItHadNotSentItDoesNotSendAnyMore() {
        try (CrashLab lab = CrashLab.on(Kind.POSTGRES)) {
            lab.provider.script(Rule.on(Match.of("POST", "/charges").bodyContaining("in_flight")).then(Behaviour.pauseAfterBooking()));
            EngineProcess owner = lab.engine("a", CrashLab.SHORT_LEASE);
            Map<Frozen, UUID> runs = new EnumMap<>(Frozen.class);
            for (Frozen frozen : Frozen.values()) {
                String charge = "charge_" + frozen.order();
                owner.publish(frozen.order(), "[" + lab.post(charge, "/charges", "", "") + ","
                        + lab.post("ship_" + frozen.order(), "/shipments", ",'charge':'{{ outputs." + charge + ".body.id }}'", "") + "]");
                if (frozen.point != null) {
                    owner.stopAt(frozen.point + ":" + frozen.step());
                }
                runs.put(frozen, owner.start(frozen.order(), "{'order':'" + frozen.order() + "'}"));
                if (frozen.point != null) {
                    owner.awaitAt(frozen.point, frozen.step());
                }
            }
            Delivery held = lab.provider.awaitDelivery(d -> CrashLab.isOf(d, "/charges", "in_flight"), EngineProcess.PATIENCE);
            owner.freeze();

            EngineProcess other = lab.engine("b", CrashLab.SHORT_LEASE);
            runs.forEach((frozen, run) -> awaitStory(lab, other, run, frozen.order(), frozen.takenOver));

            lab.provider.release(held.number()); // answers into the frozen process's socket
            owner.thaw();
            owner.open();
            runs.forEach((frozen, run) -> awaitStory(lab, other, run, frozen.order(), frozen.thawed));

            assertThat(moves(other.effects(runs.get(Frozen.IN_FLIGHT)).getFirst()))
                    .containsExactly("unknown by recovery", "committed by engine-late");
            assertThat(moves(other.effects(runs.get(Frozen.BEFORE_SETTLE)).getFirst()))
                    .containsExactly("unknown by recovery", "committed by engine-late");
            for (JsonNode unsent : List.of(
                    other.effects(runs.get(Frozen.AFTER_INTENT)).getFirst(), other.effects(runs.get(Frozen.AFTER_SETTLE)).get(1))) {
                assertThat(moves(unsent)).containsExactly("unknown by recovery", "not_applied by engine-late");
                assertThat(unsent.path("journal").path(1).path("proof").asString()).isEqualTo("not_sent");
                assertThat(lab.provider.deliveries().stream().filter(d -> unsent.path("id").asString().equals(d.effectId()))).isEmpty();
            }
            lab.assertEachReceiptSentAtMostOnce();
        }
    }

    private static void awaitStory(CrashLab lab, EngineProcess engine, UUID run, String order, String story) {
        Awaitility.await().atMost(EngineProcess.PATIENCE).untilAsserted(
                () -> assertThat(lab.story(engine, run, order).replace("_" + order, "")).isEqualTo(story));
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
