package dev.waybill.lab.crash;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.engine.CrashPoints.Point;
import dev.waybill.lab.crash.CrashLab.Kind;
import dev.waybill.test.Behaviour;
import dev.waybill.test.Delivery;
import dev.waybill.test.Match;
import dev.waybill.test.Rule;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.AfterParameterizedClassInvocation;
import org.junit.jupiter.params.BeforeParameterizedClassInvocation;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import tools.jackson.databind.JsonNode;

/**
 * Cases A14 and A37 (loop). One engine process for each store with a run held at every named place of the step protocol, and a few that
 * merely run; one {@code kill -9} hits them all. A second process on the same store and machine goes on, and every run is held against
 * the provider's ledger. The lease is longer than the test: nothing here waits for one to run out.
 */
@ParameterizedClass
@EnumSource(Kind.class)
class KillNineTest {
    private static final String FAIL = ",'on_unknown':['fail']";
    /** The release promise: whatever is ambiguous is visible this soon, and by then everything else has gone on. */
    private static final Duration VISIBLE = Duration.ofSeconds(40);
    private static final int JUST_STARTED = 5;

    @Parameter
    Kind kind;

    private static CrashLab lab;
    private static final Map<Place, UUID> RUNS = new EnumMap<>(Place.class);
    private static final List<UUID> BYSTANDERS = new ArrayList<>();
    private static final List<UUID> ACKNOWLEDGED = new ArrayList<>();
    private static UUID loop;
    private static EngineProcess restarted;
    private static Duration goneOnAfter;

    /** Where a run of charge and ship stands when it is killed, and what must have become of it after the restart. */
    enum Place {
        BEFORE_INTENT(stop(Point.BEFORE_INTENT, "charge"), "charge#0 committed 1/1, ship#0 committed 1/1, completed"),
        /** Nothing had left, and the flight recorder shows it: the next attempt goes by itself. */
        AFTER_INTENT(stop(Point.AFTER_INTENT, "charge"),
                "charge#0 not_applied 1/1, charge#1 committed 1/1, ship#0 committed 1/1, completed"),
        AFTER_INTENT_UNDER_FAIL(stop(Point.AFTER_INTENT, "charge"),
                "charge#0 not_applied 1/1, charge#1 committed 1/1, ship#0 committed 1/1, completed"),
        REQUEST_READ(provider(Behaviour.normal().bookedOnlyAfter(new Behaviour.Hold.Released())),
                "charge#0 unknown 1/0, waiting effect_unknown at charge"),
        BOOKED(provider(Behaviour.pauseAfterBooking()), "charge#0 unknown 1/1, waiting effect_unknown at charge"),
        BOOKED_UNDER_FAIL(provider(Behaviour.pauseAfterBooking()), "charge#0 unknown 1/1, failed EFFECT_BLOCKED"),
        STATUS_LINE(provider(Behaviour.applyThenStall(5)), "charge#0 unknown 1/1, waiting effect_unknown at charge"),
        /** The answer is nowhere but in the flight recorder. */
        AFTER_ANSWER(stop(Point.AFTER_ANSWER, "charge"), "charge#0 committed 1/1, ship#0 committed 1/1, completed"),
        BEFORE_SETTLE(stop(Point.BEFORE_SETTLE, "charge"), "charge#0 committed 1/1, ship#0 committed 1/1, completed"),
        /** The settle carried the next intent: that one was dispatched, and nothing of it has left. */
        AFTER_SETTLE(stop(Point.AFTER_SETTLE, "charge"),
                "charge#0 committed 1/1, ship#0 not_applied 1/1, ship#1 committed 1/1, completed"),
        AFTER_SETTLE_ALONE(stop(Point.AFTER_SETTLE, "charge"), "charge#0 committed 1/1, ship#0 committed 1/1, completed"),
        BEFORE_NEXT_INTENT(stop(Point.BEFORE_INTENT, "ship"), "charge#0 committed 1/1, ship#0 committed 1/1, completed"),
        NEXT_BOOKED(new Held(null, Behaviour.pauseAfterBooking(), "/shipments"),
                "charge#0 committed 1/1, ship#0 unknown 1/1, waiting effect_unknown at ship"),
        BEFORE_LAST_SETTLE(stop(Point.BEFORE_SETTLE, "ship"), "charge#0 committed 1/1, ship#0 committed 1/1, completed"),
        AFTER_LAST_SETTLE(stop(Point.AFTER_SETTLE, "ship"), "charge#0 committed 1/1, ship#0 committed 1/1, completed"),
        AFTER_RELEASE(stop(Point.AFTER_RELEASE, ""), "charge#0 committed 1/1, ship#0 committed 1/1, completed");

        final Held held;
        final String story;

        Place(Held held, String story) {
            this.held = held;
            this.story = story;
        }

        /** Path of a step of this place's own sequence: stops go by path. */
        String step(String step) {
            return step + "_" + order();
        }

        /** {@code POINT:path} for the engine; a release has no path. */
        String stopRule() {
            int colon = held.stop.indexOf(':');
            String step = held.stop.substring(colon + 1);
            return step.isEmpty() ? held.stop.substring(0, colon) : held.stop.substring(0, colon + 1) + step(step);
        }

        String order() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    /** What holds it: a point of the engine, or the provider. */
    record Held(@Nullable String stop, @Nullable Behaviour behaviour, String path) {}

    private static Held stop(Point point, String step) {
        return new Held(point + ":" + step, null, "");
    }

    private static Held provider(Behaviour behaviour) {
        return new Held(null, behaviour, "/charges");
    }

    // --- the scene -------------------------------------------------------------------------------------------------------------

    @BeforeParameterizedClassInvocation
    static void killAnEngineWithARunAtEveryPlace(Kind kind) {
        RUNS.clear();
        BYSTANDERS.clear();
        ACKNOWLEDGED.clear();
        lab = CrashLab.on(kind);
        EngineProcess engine = lab.engine("a", CrashLab.LONG_LEASE);
        for (Place place : Place.values()) {
            holdAt(place, engine);
        }
        holdTheLoop(engine);
        holdBystanders(engine);
        engine.publish("started", lab.chargeThenShip(""));
        for (int i = 0; i < JUST_STARTED; i++) {
            ACKNOWLEDGED.add(engine.start("started", "{'order':'started-" + i + "'}"));
        }
        engine.kill();
        long killed = System.nanoTime();
        restarted = lab.engine("a", CrashLab.LONG_LEASE);
        List<UUID> all = new ArrayList<>(RUNS.values());
        all.addAll(BYSTANDERS);
        all.addAll(ACKNOWLEDGED);
        all.add(loop);
        for (UUID run : all) {
            long left = VISIBLE.toNanos() - (System.nanoTime() - killed);
            restarted.await(run, Duration.ofNanos(Math.max(0, left)));
        }
        goneOnAfter = Duration.ofNanos(System.nanoTime() - killed);
        lab.provider.releaseAll(); // what was under way lands now, long after its sender died
        lab.provider.awaitDelivery(d -> CrashLab.isOf(d, "/charges", Place.REQUEST_READ.order()), VISIBLE);
    }

    private static void holdAt(Place place, EngineProcess engine) {
        String more = place.story.contains("failed") ? FAIL : "";
        String shipHost = place == Place.AFTER_SETTLE_ALONE || place == Place.BEFORE_NEXT_INTENT ? "localhost" : "127.0.0.1";
        engine.publish(place.order(), "["
                + lab.post(place.step("charge"), "/charges", ",'amount':5", more) + ","
                + lab.postTo(shipHost, place.step("ship"), "/shipments",
                        ",'charge':'{{ outputs." + place.step("charge") + ".body.id }}'", more) + "]");
        Held held = place.held;
        Match mine = Match.of("POST", held.path).bodyContaining("\"" + place.order() + "\"");
        if (held.behaviour != null) {
            lab.provider.addRules(List.of(Rule.on(mine).then(held.behaviour)));
        } else {
            engine.stopAt(place.stopRule());
        }
        RUNS.put(place, engine.start(place.order(), "{'order':'" + place.order() + "'}"));
        if (held.behaviour != null) {
            lab.provider.awaitDelivery(d -> CrashLab.isOf(d, held.path, place.order()), EngineProcess.PATIENCE);
            if (held.behaviour.beforeBooking() == null) {
                awaitApplied(held.path, place.order());
            }
        } else {
            String[] stop = place.stopRule().split(":");
            engine.awaitAt(Point.valueOf(stop[0]), stop.length > 1 ? stop[1] : "");
        }
    }

    private static void awaitApplied(String path, String order) {
        org.awaitility.Awaitility.await().atMost(EngineProcess.PATIENCE).until(() -> lab.counts(path, order).equals("1/1"));
    }

    private static void holdTheLoop(EngineProcess engine) {
        engine.publish("loop", "[{'type':'for_each','id':'each','collection':'{{ data.amounts }}','body':["
                + lab.post("pay", "/charges", ",'amount':'{{ item }}'", "") + "]}]");
        lab.provider.addRules(List.of(Rule.on(Match.of("POST", "/charges").bodyContaining("\"loop\"")).onNth(2, Behaviour.pauseAfterBooking())));
        loop = engine.start("loop", "{'order':'loop','amounts':[5,5,5]}");
        org.awaitility.Awaitility.await().atMost(EngineProcess.PATIENCE).until(() -> lab.counts("/charges", "loop").equals("2/2"));
    }

    /** One in a read-only call, one in a timer: neither has anything ambiguous about it. */
    private static void holdBystanders(EngineProcess engine) {
        lab.provider.addRules(List.of(Rule.on("GET", "/health").then(Behaviour.pauseAfterBooking())));
        engine.publish("reader", "[{'type':'step','id':'look','handler':'http_request','params':{'method':'GET','read':true,'url':'"
                + lab.provider.url("/health") + "'},'timeout':60000}," + lab.post("ship", "/shipments", "", "") + "]");
        engine.publish("sleeper", "[{'type':'step','id':'nap','handler':'sleep','params':{'duration':3000}},"
                + lab.post("ship", "/shipments", "", "") + "]");
        BYSTANDERS.add(engine.start("reader", "{'order':'reader'}"));
        lab.provider.awaitDelivery(d -> d.path().equals("/health"), EngineProcess.PATIENCE);
        BYSTANDERS.add(engine.start("sleeper", "{'order':'sleeper'}"));
    }

    @AfterParameterizedClassInvocation
    static void close() {
        lab.close();
    }

    // --- what must hold --------------------------------------------------------------------------------------------------------

    @ParameterizedTest
    @EnumSource(Place.class)
    void a14ARunKilledHereIsNeverAppliedTwiceAndNeverStuck(Place place) {
        String story = lab.story(restarted, RUNS.get(place), place.order()).replace("_" + place.order(), "");
        assertThat(story).isEqualTo(landed(place));
        assertThat(lab.provider.applied(d -> CrashLab.isOf(d, "/charges", place.order()))).isLessThanOrEqualTo(1);
    }

    /** The request that was read and not yet booked has landed by now, which changes nothing but the provider's count. */
    private static String landed(Place place) {
        return place == Place.REQUEST_READ ? place.story.replace("1/0", "1/1") : place.story;
    }

    @ParameterizedTest
    @EnumSource(Place.class)
    void a14WhatTheNextStepSendsEqualsTheStoredReply(Place place) {
        List<Delivery> shipments = lab.provider.deliveries().stream()
                .filter(d -> CrashLab.isOf(d, "/shipments", place.order()))
                .toList();
        assertThat(shipments).hasSize(place.story.contains("ship") ? 1 : 0);
        for (Delivery shipment : shipments) {
            assertThat(shipment.json().path("charge")).isEqualTo(lab.booked("/charges", place.order()).path("id"));
            JsonNode charge = restarted.effects(RUNS.get(place)).stream()
                    .filter(effect -> effect.path("path").asString().startsWith("charge") && effect.path("state").asString().equals("committed"))
                    .findFirst()
                    .orElseThrow();
            assertThat(charge.path("journal").path(0).path("output").path("body")).isEqualTo(lab.booked("/charges", place.order()));
        }
    }

    @Test
    void anAcknowledgedStartIsNeverLost() {
        for (int i = 0; i < JUST_STARTED; i++) {
            String order = "started-" + i;
            String story = lab.story(restarted, ACKNOWLEDGED.get(i), order);
            String charged = "(charge#0 not_applied 1/1, charge#1 committed 1/1, |charge#0 committed 1/1, )";
            assertThat(story).matches(charged + "(ship#0 not_applied 1/1, ship#1 committed 1/1, |ship#0 committed 1/1, )completed"
                    + "|charge#0 unknown [01]/[01], waiting effect_unknown at charge"
                    + "|" + charged + "ship#0 unknown [01]/[01], waiting effect_unknown at ship");
        }
    }

    /** What the recorder settled, nobody had to call unknown first. */
    @Test
    void whereTheRecorderSpeaksNothingIsEverUnknown() {
        for (Place place : List.of(Place.AFTER_INTENT, Place.AFTER_INTENT_UNDER_FAIL, Place.AFTER_ANSWER, Place.BEFORE_SETTLE)) {
            JsonNode journal = restarted.effects(RUNS.get(place)).getFirst().path("journal");
            assertThat(journal.size()).as("%s: %s", place, journal).isEqualTo(1);
            assertThat(journal.path(0).path("actor").asString()).isEqualTo("recorder");
        }
        assertThat(restarted.effects(RUNS.get(Place.AFTER_INTENT)).getFirst().path("journal").path(0).path("proof").asString())
                .isEqualTo("not_sent");
    }

    @Test
    void runsWithNothingAmbiguousComplete() {
        assertThat(BYSTANDERS.stream().map(run -> CrashLab.ending(restarted.run(run)))).containsOnly("completed");
        assertThat(lab.counts("/shipments", "reader")).isEqualTo("1/1");
        assertThat(lab.counts("/shipments", "sleeper")).isEqualTo("1/1");
    }

    @Test
    void aRestartGoesOnAtOnceAndEveryAmbiguousEffectIsVisible() {
        assertThat(goneOnAfter).isLessThan(VISIBLE);
        long unknown = RUNS.values().stream().flatMap(run -> restarted.states(run).stream()).filter(s -> s.endsWith("unknown")).count()
                + ACKNOWLEDGED.stream().flatMap(run -> restarted.states(run).stream()).filter(s -> s.endsWith("unknown")).count()
                + restarted.states(loop).stream().filter(s -> s.endsWith("unknown")).count();
        assertThat(restarted.unresolved()).isEqualTo(unknown);
        lab.assertEachReceiptSentAtMostOnce();
    }

    @Test
    void a37TheLoopStopsAtTheItemNobodyKnowsAndGoesOnWhenItIsResolved() {
        assertThat(restarted.states(loop)).containsExactly("each[0]/pay#0 committed", "each[1]/pay#0 unknown");
        assertThat(lab.counts("/charges", "loop")).isEqualTo("2/2");
        restarted.resolveCommitted(restarted.effects(loop).getLast(), "ch_from_the_ledger");
        assertThat(CrashLab.ending(restarted.await(loop))).isEqualTo("completed");
        assertThat(restarted.states(loop))
                .containsExactly("each[0]/pay#0 committed", "each[1]/pay#0 committed", "each[2]/pay#0 committed");
        assertThat(lab.counts("/charges", "loop")).isEqualTo("3/3");
    }
}
