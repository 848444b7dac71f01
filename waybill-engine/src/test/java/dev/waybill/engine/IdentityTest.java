package dev.waybill.engine;

import static dev.waybill.engine.EngineLab.charge;
import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.engine.EngineLab.Kind;
import dev.waybill.model.EffectState;
import dev.waybill.model.ReceiptId;
import dev.waybill.operate.Resolution;
import dev.waybill.operate.RunView;
import dev.waybill.store.Queries.EffectView;
import dev.waybill.store.ReceiptRow;
import dev.waybill.test.Behaviour;
import dev.waybill.test.Delivery;
import dev.waybill.test.Rule;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.Map;
import java.util.UUID;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** What an effect is known by, whoever sends it and when: its id, its key, the hash of its request (semantics.md section 3). */
class IdentityTest {
    private static final String KEY = ",'effect':{'idempotency':{'key':'= data.order','window':'24h'}}";

    @ParameterizedTest
    @EnumSource(Kind.class)
    void aReceiptsIdIsThatOfItsPlaceWhateverTheEpoch(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenDrop()));
            lab.sequence("ship", "[" + charge("/charges", "") + "," + charge("/shipments", "").replace("'id':'charge'", "'id':'ship'") + "]");
            RunView run = lab.run("ship", "{}");
            lab.assertWaitsUnknown(run);
            UUID charge = lab.effects(run.id()).getFirst().receipt().id();
            lab.engine().effects().resolve(
                    "default", charge, new Resolution(EffectState.COMMITTED, "seen there", null, "ch_01", null, null, "ann"));
            lab.assertCompleted(lab.await(run.id()));

            assertThat(lab.effects(run.id())).extracting(it -> it.receipt().claim().epoch()).doesNotHaveDuplicates();
            assertThat(lab.effects(run.id())).extracting(EffectView::receipt).allSatisfy(receipt ->
                    assertThat(receipt.id()).isEqualTo(ReceiptId.of(run.executionId(), run.id(), receipt.path(), receipt.attempt())));
        }
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void everyAttemptCarriesTheSameKey(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.answer(429)));
            lab.sequence("pay", "[" + charge("/charges", KEY) + "]");
            RunView run = lab.run("pay", "{'order':'o-1'}");
            lab.assertCompleted(run);
            assertThat(lab.states(run.id())).containsExactly("charge#0 not_applied", "charge#1 committed");
            assertThat(lab.provider.deliveries()).extracting(Delivery::idempotencyKey).containsExactly("o-1", "o-1");
            assertThat(lab.effects(run.id())).extracting(it -> it.receipt().idempotencyKey()).containsExactly("o-1", "o-1");
        }
    }

    @Test
    void aRotatedSecretIsTheSameRequest() {
        try (EngineLab lab = EngineLab.memory().secret("TOKEN", "before")) {
            lab.sequence("pay", "[" + charge("/charges", "").replace("'body'", "'headers':{'X-Account':'{{ secrets.TOKEN }}'},'body'") + "]");
            ReceiptRow before = lab.effects(lab.run("pay", "{}").id()).getFirst().receipt();
            lab.secret("TOKEN", "after");
            ReceiptRow after = lab.effects(lab.run("pay", "{}").id()).getFirst().receipt();
            assertThat(lab.provider.deliveries()).extracting(it -> it.header("X-Account")).containsExactly("before", "after");
            assertThat(after.requestSha256()).isEqualTo(before.requestSha256());
        }
    }

    /** The node's wall clock is an hour ahead, and a branch that runs keeps the turn awake: by that clock the delay would be over at once. */
    @Test
    void aDelayIsTheDatabasesWhateverThisNodesClockSays() {
        try (EngineLab lab = EngineLab.memory().clock(InstantSource.offset(InstantSource.system(), Duration.ofHours(1)))) {
            lab.provider.script(Rule.on("POST", "/slow").thenAlways(Behaviour.normal().answeredAfter(Duration.ofMillis(1_500))));
            lab.sequence("later", "[{'type':'parallel','id':'p','branches':[[" + charge("/slow", "").replace("'timeout':2000", "'timeout':60000") + "],["
                    + charge("/later", ",'delay':1000").replace("'id':'charge'", "'id':'later'") + "]]}]");
            RunView run = lab.run("later", "{}");
            lab.assertCompleted(run);
            Map<String, Instant> sent = lab.effects(run.id()).stream()
                    .collect(Collectors.toMap(it -> it.receipt().path(), it -> it.receipt().at()));
            assertThat(Duration.between(sent.get("charge"), sent.get("later"))).isGreaterThanOrEqualTo(Duration.ofMillis(1_000));
        }
    }
}
