package dev.waybill.engine;

import static dev.waybill.engine.EngineLab.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.waybill.Waybill;
import dev.waybill.engine.EngineLab.Kind;
import dev.waybill.model.InstanceState;
import dev.waybill.model.WaybillException;
import dev.waybill.operate.HeldDestinations.Destination;
import dev.waybill.operate.StartRequest;
import dev.waybill.test.Behaviour;
import dev.waybill.test.Rule;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A destination that answers nothing is held: new dispatches wait, a probe goes, its clean answer releases. */
class HoldTest {

    private static String step(String path) {
        return "[{'type':'step','id':'charge','handler':'http_request','params':{'method':'POST','url':'$P" + path + "','body':{'n':'{{ data.n }}'}},'timeout':2000}]";
    }

    private static String hold(String probe) {
        return "'destinations':[{'name':'pay','match':{'url':'$P/v1'},'hold':{'unknowns':2,'within':'1h','probe':'" + probe + "'}}],";
    }

    private static UUID start(EngineLab lab, String name) {
        return lab.start(name, "{'n':1}");
    }

    private static void reaches(EngineLab lab, UUID id, InstanceState state) {
        await().atMost(PATIENCE).until(() -> lab.get(id).state() == state);
    }

    private static void waitsFor(EngineLab lab, UUID id, String reason) {
        await().atMost(PATIENCE).until(() -> lab.get(id).reasons() != null && lab.get(id).reasons().path(0).path("reason").asString("").equals(reason));
    }

    private static List<String> told(EngineLab lab) {
        return lab.engine().queries().changes("default", null, 1_000).stream().map(c -> c.type()).filter(t -> t.startsWith("destination.")).toList();
    }

    private static Destination pay(EngineLab lab) {
        return lab.engine().destinations().list("default").stream().filter(d -> d.place().name().equals("pay")).findFirst().orElseThrow();
    }

    /** Two charges become unknown, one after the other. */
    private static List<UUID> brought(EngineLab lab) {
        List<UUID> unknown = new ArrayList<>();
        for (int i = 0; i < 2; i++) {
            UUID id = start(lab, "pay");
            waitsFor(lab, id, "effect_unknown");
            unknown.add(id);
        }
        return unknown;
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void enoughUnknownsHoldTheDestination_onEveryNodeAndAfterARestart_andOthersGoOn(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            lab.provider.script(Rule.on("POST", "/v1/charges").then(Behaviour.applyThenDrop(), Behaviour.applyThenDrop()));
            lab.sequence("pay", step("/v1/charges"), hold("1h"));
            lab.sequence("other", step("/v2/charges"), hold("1h"));
            brought(lab);
            UUID queued = start(lab, "pay");
            waitsFor(lab, queued, "destination_held");
            assertThat(lab.get(queued).reasons().path(0).path("next").asString()).isEqualTo("probe of pay");
            assertThat(lab.effects(queued)).isEmpty();
            UUID elsewhere = start(lab, "other");
            reaches(lab, elsewhere, InstanceState.COMPLETED);
            lab.restart();
            UUID later = start(lab, "pay");
            waitsFor(lab, later, "destination_held");
            if (kind == Kind.POSTGRES) {
                try (Waybill second = lab.another()) {
                    UUID there = second.runs().start(StartRequest.of("pay", EngineLab.json("{'n':1}"))).id();
                    waitsFor(lab, there, "destination_held");
                }
            }
            assertThat(lab.provider.seen(d -> d.path().equals("/v1/charges"))).isEqualTo(2);
            assertThat(told(lab)).containsExactly("destination.held");
            assertThat(pay(lab).held()).isTrue();
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aProbeThatIsAnsweredReleases_andWhatWasQueuedGoesOn(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            // The first probe is lost as well: the destination stays held, and its run waits for a person like the others.
            lab.provider.script(Rule.on("POST", "/v1/charges").then(Behaviour.applyThenDrop(), Behaviour.applyThenDrop(), Behaviour.applyThenDrop()));
            lab.sequence("pay", step("/v1/charges"), hold("500ms"));
            brought(lab);
            List<UUID> queued = new ArrayList<>();
            for (int i = 0; i < 6; i++) {
                queued.add(start(lab, "pay"));
            }
            await().atMost(PATIENCE).until(() -> queued.stream().filter(id -> lab.get(id).state() == InstanceState.COMPLETED).count() == 5);
            assertThat(lab.provider.seen(d -> d.path().equals("/v1/charges"))).isEqualTo(8);
            assertThat(told(lab)).containsExactly("destination.held", "destination.released");
            assertThat(pay(lab).held()).isFalse();
        }
    }

    @Test
    void aProbeThatIsTurnedAwayByAnOverloadedDestinationReleasesNothing() {
        try (EngineLab lab = new EngineLab(Kind.MEMORY)) {
            lab.provider.script(Rule.on("POST", "/v1/charges").then(Behaviour.applyThenDrop(), Behaviour.applyThenDrop(), Behaviour.answer(429), Behaviour.answer(400)));
            lab.sequence("pay", step("/v1/charges"), hold("300ms"));
            brought(lab);
            UUID first = start(lab, "pay");
            reaches(lab, first, InstanceState.FAILED);
            assertThat(pay(lab).held()).isTrue();
            UUID second = start(lab, "pay");
            reaches(lab, second, InstanceState.FAILED);
            assertThat(pay(lab).held()).as("a plain no is an answer").isFalse();
        }
    }

    @Test
    void aPersonHoldsAndReleases_withAReason() {
        try (EngineLab lab = new EngineLab(Kind.MEMORY)) {
            lab.sequence("pay", step("/v1/charges"), hold("200ms"));
            lab.sequence("bare", step("/v3/charges"), "'destinations':[{'name':'bare','match':{'url':'$P/v3'},'settle':0}],");
            var desk = lab.engine().destinations();
            assertThat(desk.list("default")).extracting(d -> d.place().name()).containsExactlyInAnyOrder("pay", "bare");
            assertThat(desk.set("default", "pay", true, "their status page says so", "ann").held()).isTrue();
            UUID id = start(lab, "pay");
            waitsFor(lab, id, "destination_held");
            assertThat(lab.provider.seen()).isZero();
            desk.set("default", lab.provider.url("/v1"), false, "over", "ann");
            reaches(lab, id, InstanceState.COMPLETED);
            assertThat(lab.engine().queries().audit("default", pay(lab).place().destination(), 10)).hasSize(2);
            for (var refused : java.util.Map.of("bare", "HOLD_NOT_DECLARED", "nowhere", "DESTINATION_NOT_FOUND").entrySet()) {
                assertThatThrownBy(() -> desk.set("default", refused.getKey(), true, "r", "ann"))
                        .isInstanceOfSatisfying(WaybillException.class, e -> assertThat(e.code()).isEqualTo(refused.getValue()));
            }
            assertThatThrownBy(() -> desk.set("default", "pay", true, " ", "ann"))
                    .isInstanceOfSatisfying(WaybillException.class, e -> assertThat(e.code()).isEqualTo("EVIDENCE_REQUIRED"));
        }
    }

    @Test
    void whileItIsHeldNobodyAsksBeforeADispatchThatCannotFollow() {
        try (EngineLab lab = new EngineLab(Kind.MEMORY)) {
            lab.provider.script(Rule.on("GET", "/v1/find").thenAlways(Behaviour.answer(404)));
            lab.sequence(
                    "pay", step("/v1/charges").replace("'timeout':2000", "'timeout':2000,'effect':{'verify':{'before':true,'params':{'url':'$P/v1/find'},'landed':'status = 200','absent':'status = 404'}}"),
                    hold("200ms"));
            lab.engine().destinations().set("default", "pay", true, "r", "ann");
            UUID id = start(lab, "pay");
            waitsFor(lab, id, "destination_held");
            assertThat(lab.provider.seen()).isZero();
            lab.engine().destinations().set("default", "pay", false, "r", "ann");
            reaches(lab, id, InstanceState.COMPLETED);
            assertThat(lab.provider.seen()).isEqualTo(2);
        }
    }

    @Test
    void aKeyedResendIsADispatchLikeAnyOther() {
        try (EngineLab lab = new EngineLab(Kind.MEMORY, dev.waybill.test.FakeProvider.builder().honouringKeys().start())) {
            lab.options(o -> o.withSendDeadline(java.time.Duration.ofMillis(300)));
            lab.provider.script(Rule.on("POST", "/v1/charges").then(Behaviour.applyThenDrop()));
            lab.sequence(
                    "pay", step("/v1/charges").replace("'timeout':2000", "'timeout':500,'effect':{'settle':0,'idempotency':{'key':'charge-1','window':'1h'}}"),
                    hold("1h").replace("'unknowns':2", "'unknowns':1"));
            UUID id = start(lab, "pay");
            await().atMost(PATIENCE).until(() -> lab.engine().queries().blockRows(EngineLab.key(id)).stream()
                    .anyMatch(row -> row.path().equals("charge$resend") && row.body() != null && row.body().contains("DESTINATION_HELD")));
            waitsFor(lab, id, "effect_unknown");
            assertThat(lab.provider.seen()).isEqualTo(1);
        }
    }
}
