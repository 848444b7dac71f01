package dev.waybill.engine;

import static dev.waybill.engine.EngineLab.PATIENCE;
import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import dev.waybill.definition.Guarantee;
import dev.waybill.engine.EngineLab.Kind;
import dev.waybill.model.InstanceState;
import dev.waybill.store.JournalRow;
import dev.waybill.store.Queries.EffectView;
import dev.waybill.test.Behaviour;
import dev.waybill.test.Rule;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** {@code repeats: accepted}: at least once, and said so. */
class RepeatsTest {

    private static String notify(String effect, String step) {
        return "[{'type':'step','id':'notify','handler':'http_request','params':{'method':'POST','url':'$P/notify','body':{'to':'{{ data.to }}'}},'timeout':2000,"
                + "'retry':{'max_attempts':3,'initial_backoff':10},'effect':{'repeats':'accepted'" + effect + "}" + step + "}]";
    }

    private static UUID reaches(EngineLab lab, InstanceState state) {
        UUID id = lab.start("n", "{'to':'a'}");
        await().atMost(PATIENCE).until(() -> lab.get(id).state() == state);
        return id;
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void anUnknownOutcomeIsWrittenOffAndSentAnewAsAnAttemptOfItsOwn(Kind kind) {
        try (EngineLab lab = new EngineLab(kind)) {
            lab.provider.script(Rule.on("POST", "/notify").then(Behaviour.applyThenDrop(), Behaviour.applyThenAnswer(503)));
            lab.sequence("n", notify("", ""));
            UUID id = reaches(lab, InstanceState.COMPLETED);
            assertThat(lab.states(id)).containsExactly("notify#0 abandoned", "notify#1 abandoned", "notify#2 committed");
            assertThat(lab.provider.applied()).isEqualTo(3);
            assertThat(lab.unresolved()).isZero();
            EffectView first = lab.effects(id).getFirst();
            List<JournalRow> journal = lab.engine().queries().journal(first.instance(), "notify", 0);
            assertThat(journal).extracting(row -> row.from().wire() + " " + row.to().wire() + " " + row.actor())
                    .containsExactly("dispatched unknown engine", "unknown abandoned repeats");
            assertThat(lab.engine().effects().get("default", first.receipt().id().toString()).contract().guarantee()).isEqualTo(Guarantee.AT_LEAST_ONCE);
            assertThat(lab.effects(id)).extracting(e -> e.receipt().requestSha256()).containsOnly(first.receipt().requestSha256());
        }
    }

    @Test
    void whereTheRetryPolicyEndsAPersonIsAsked() {
        try (EngineLab lab = new EngineLab(Kind.MEMORY)) {
            lab.provider.script(Rule.on("POST", "/notify").then(Behaviour.applyThenDrop(), Behaviour.applyThenDrop(), Behaviour.applyThenDrop()));
            lab.sequence("n", notify("", ""));
            UUID id = lab.start("n", "{'to':'a'}");
            await().atMost(PATIENCE).until(() -> lab.get(id).reasons().path(0).path("next").asString("").equals("person"));
            assertThat(lab.states(id)).containsExactly("notify#0 abandoned", "notify#1 abandoned", "notify#2 unknown");
            assertThat(lab.provider.seen()).isEqualTo(3);
        }
    }

    @Test
    void whatWasWrittenOffMayHaveHappened_soItsContentStaysGuarded() {
        try (EngineLab lab = new EngineLab(Kind.MEMORY)) {
            lab.provider.script(Rule.on("POST", "/notify").then(Behaviour.applyThenDrop(), Behaviour.answer(400)));
            String first = notify("", "");
            String second = first.replace("'id':'notify'", "'id':'again'");
            lab.sequence(
                    "n", "[{'type':'try_catch','id':'t','try_block':" + first + ",'catch_block':" + second + "}]",
                    "'invariants':[{'name':'once','rule':{'type':'effect_at_most_once','kind':'http'},'commit_guard':true}],");
            UUID id = reaches(lab, InstanceState.FAILED);
            assertThat(lab.get(id).error().get("code").asString()).isEqualTo("INVARIANT_VIOLATION");
            assertThat(lab.states(id)).containsExactly("notify#0 abandoned", "notify#1 not_applied");
            assertThat(lab.provider.seen()).isEqualTo(2);
        }
    }

    @Test
    void aVerifierIsAskedBeforeAnythingIsRepeated_andFailMeansFail() {
        try (EngineLab lab = new EngineLab(Kind.MEMORY)) {
            lab.provider.script(Rule.on("POST", "/notify").then(Behaviour.applyThenDrop(), Behaviour.applyThenDrop()), Rule.on("GET", "/seen").then(Behaviour.answer(200)));
            lab.sequence("n", notify(",'verify':{'params':{'url':'$P/seen'},'landed':'status = 200','absent':'false'}", ""));
            UUID id = reaches(lab, InstanceState.COMPLETED);
            assertThat(lab.states(id)).containsExactly("notify#0 verified");
            lab.sequence("n", notify("", ",'on_unknown':'fail'"));
            assertThat(lab.states(reaches(lab, InstanceState.FAILED))).containsExactly("notify#0 unknown");
        }
    }
}
