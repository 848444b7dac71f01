package dev.waybill.lab.crash;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.engine.CrashPoints.Point;
import dev.waybill.lab.crash.CrashLab.Kind;
import dev.waybill.test.Behaviour;
import dev.waybill.test.Rule;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import org.awaitility.Awaitility;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * {@code kill -9} while an effect heals: between a verifier's answer and its verdict (W18), between the intent of a resend and its send
 * (W19), and between the question before a dispatch and the dispatch. The schedule is in rows, so the next engine goes on with it.
 */
class HealingKillTest {
    private static final Duration HEALED = Duration.ofSeconds(40);

    private static String effect(CrashLab lab, String more) {
        return ",'timeout':2000,'effect':{'settle':0,'idempotency':{'key':'charge-{{ data.order }}','window':'24h'},'resend':{'max':3,'backoff':100},"
                + "'verify':{'params':{'url':'" + lab.provider.url("/charges?order={{ data.order }}") + "'},'landed':'= body.count > 0',"
                + "'absent':'= body.count = 0','output':'= body.items[0]','every':300" + more + "}}";
    }

    private static String charge(CrashLab lab, String id, String more, String step) {
        return "[" + lab.post(id, "/charges", ",'amount':5", effect(lab, more) + step).replace(",'timeout':60000", "") + "]";
    }

    private static void completes(EngineProcess engine, UUID run) {
        Awaitility.await().atMost(HEALED).until(() -> engine.run(run).path("state").asString().equals("completed"));
    }

    @ParameterizedTest
    @EnumSource(Kind.class)
    void whatWasUnderWayWhenTheEngineWasKilledHealsInTheNextOne(Kind kind) {
        try (CrashLab lab = CrashLab.on(kind)) {
            lab.provider.script(
                    Rule.on("POST", "/charges").bodyContaining("landed").then(Behaviour.applyThenDrop()),
                    Rule.on("POST", "/charges").bodyContaining("absent").then(Behaviour.dropBeforeApply()),
                    Rule.on("POST", "/charges").bodyContaining("resent").then(Behaviour.applyThenDrop()));
            EngineProcess engine = lab.engine("a", CrashLab.LONG_LEASE);
            engine.publish("landed", charge(lab, "landed", "", ""));
            engine.publish("absent", charge(lab, "absent", "", ""));
            engine.publish("resent", charge(lab, "resent", "", ",'on_unknown':['resend','wait']"));
            engine.publish("before", charge(lab, "before", ",'before':true", ""));
            engine.publish("warm", charge(lab, "warm", "", ""));
            completes(engine, engine.start("warm", "{'order':'warm'}")); // a cold engine may miss a send deadline, and that is another story
            engine.stopAt(Point.AFTER_QUESTION + ":landed").stopAt(Point.AFTER_QUESTION + ":absent:3");
            engine.stopAt(Point.AFTER_RESEND_INTENT + ":resent").stopAt(Point.AFTER_QUESTION + ":before");
            List<String> names = List.of("landed", "absent", "resent", "before");
            List<UUID> runs = names.stream().map(name -> engine.start(name, "{'order':'" + name + "'}")).toList();
            engine.awaitAt(Point.AFTER_QUESTION, "landed");
            engine.awaitAt(Point.AFTER_QUESTION, "absent");
            engine.awaitAt(Point.AFTER_RESEND_INTENT, "resent");
            engine.awaitAt(Point.AFTER_QUESTION, "before");

            engine.kill();
            EngineProcess next = lab.engine("a", CrashLab.LONG_LEASE);
            runs.forEach(run -> completes(next, run));

            assertThat(next.states(runs.get(0))).as("%s", next.effects(runs.get(0))).containsExactly("landed#0 verified");
            assertThat(next.states(runs.get(1))).containsExactly("absent#0 not_applied", "absent#1 committed");
            assertThat(next.states(runs.get(2))).containsExactly("resent#0 verified", "resent#1 not_applied", "resent#2 committed");
            assertThat(next.states(runs.get(3))).containsExactly("before#0 committed");
            assertThat(names.stream().map(name -> lab.counts("/charges", name)).toList()).containsExactly("1/1", "2/1", "2/1", "1/1");
            assertThat(lab.provider.seen(d -> d.method().equals("GET") && "before".equals(d.query("order")))).isEqualTo(2);
            lab.assertEachReceiptSentAtMostOnce();
            assertThat(next.unresolved()).isZero();
        }
    }
}
