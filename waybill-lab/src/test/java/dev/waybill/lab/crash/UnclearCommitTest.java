package dev.waybill.lab.crash;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.lab.crash.CrashLab.Kind;
import dev.waybill.test.Delivery;
import dev.waybill.test.PostgresCommitCut;
import dev.waybill.test.Rule;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.function.BiConsumer;
import java.util.function.Predicate;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/**
 * Case A18: the answer to COMMIT is lost, or COMMIT itself, 50 times each. The provider looks every arriving effect up over a connection
 * of its own before it does anything: a request whose receipt is not durably dispatched is the one thing that must never be seen.
 */
class UnclearCommitTest {
    private static final int RUNS = 50;
    private static final Predicate<String> INTENT =
            sql -> sql.contains("INSERT INTO effect_receipts") && !sql.contains("INSERT INTO receipt_journal");
    private static final Predicate<String> SETTLE = sql -> sql.contains("INSERT INTO receipt_journal");

    /** One transaction: the outcome of a step and the next step's intent. */
    private static final Predicate<String> FUSED =
            sql -> sql.contains("INSERT INTO effect_receipts") && sql.contains("INSERT INTO receipt_journal");
    private static final int FUSED_RUNS = 20;
    private static final int FEW = 3;

    private static CrashLab lab;
    private static PostgresCommitCut cut;
    private static Connection direct;
    private static EngineProcess engine;
    private static final List<String> NOT_DURABLE = new CopyOnWriteArrayList<>();

    @BeforeAll
    static void anEngineBehindTheProxy() throws SQLException {
        lab = CrashLab.on(Kind.POSTGRES);
        cut = PostgresCommitCut.before(lab.database());
        direct = lab.superuser();
        lab.provider.script(Rule.on(UnclearCommitTest::look));
        engine = lab.launch(cut.database().waybillUrl(), "a", CrashLab.LONG_LEASE).ready();
        engine.publish("pay", "[" + lab.post("charge", "/charges", ",'amount':5", "") + "]");
        engine.publish("both", lab.chargeThenShip(""));
        engine.publish("nap", "[{'type':'step','id':'nap','handler':'sleep','params':{'duration':1000}},"
                + lab.post("charge", "/charges", ",'amount':5", "") + "]");
    }

    /** Never matches: it only looks. */
    private static boolean look(Delivery delivery) {
        try (PreparedStatement statement = direct.prepareStatement("SELECT state FROM effect_receipts WHERE id = ?::uuid")) {
            statement.setString(1, delivery.effectId());
            try (ResultSet row = statement.executeQuery()) {
                if (!row.next() || !row.getString(1).equals("dispatched")) {
                    NOT_DURABLE.add(delivery.toString());
                }
            }
        } catch (SQLException e) {
            NOT_DURABLE.add(delivery + " could not be looked up: " + e.getMessage());
        }
        return false;
    }

    @AfterAll
    static void close() throws SQLException {
        direct.close();
        engine.close();
        cut.close();
        lab.close();
    }

    @Test
    void a18TheReplyToTheIntentsCommitIsLost() {
        strike("intent-reply", cut::loseReply, INTENT, "charge#0 committed 1/1, completed", NOT_SENT_THEN_COMMITTED);
    }

    @Test
    void a18TheIntentsCommitIsLost() {
        strike("intent-commit", cut::loseCommit, INTENT, "charge#0 committed 1/1, completed", NOT_SENT_THEN_COMMITTED);
    }

    @Test
    void a18TheReplyToTheSettlesCommitIsLost() {
        strike("settle-reply", cut::loseReply, SETTLE, "charge#0 committed 1/1, completed", "");
    }

    @Test
    void a18TheSettlesCommitIsLost() {
        strike("settle-commit", cut::loseCommit, SETTLE, "charge#0 committed 1/1, completed", "");
    }

    @Test
    void a18TheReplyToTheCommitOfOneStepsAnswerAndTheNextStepsIntentIsLost() {
        strikeBoth("fused-reply", cut::loseReply);
    }

    @Test
    void a18TheCommitOfOneStepsAnswerAndTheNextStepsIntentIsLost() {
        strikeBoth("fused-commit", cut::loseCommit);
    }

    private static void strikeBoth(String name, BiConsumer<Predicate<String>, Integer> fault) {
        int before = cut.cuts();
        for (int i = 0; i < FUSED_RUNS; i++) {
            String order = name + "-" + i;
            fault.accept(FUSED, 1);
            UUID run = engine.start("both", "{'order':'" + order + "'}");
            engine.await(run);
            assertThat(lab.story(engine, run, order))
                    .matches("charge#0 committed 1/1, ship#0 (not_applied 1/1, ship#1 )?committed 1/1, completed");
        }
        assertThat(cut.cuts() - before).as("commits struck").isEqualTo(FUSED_RUNS);
        cut.disarm();
        assertThat(NOT_DURABLE).isEmpty();
        lab.assertEachReceiptSentAtMostOnce();
    }

    @Test
    void aStartWhoseAnswerWasLostIsFoundByItsKeyAndRuns() {
        for (int i = 0; i < FEW; i++) {
            String order = "start-" + i;
            cut.loseReply(sql -> sql.contains("INSERT INTO instance_data"), 1);
            int before = cut.cuts();
            JsonNode first = engine.askToStart("pay", "{'order':'" + order + "'}", order);
            JsonNode second = first.has("ok") ? first : engine.askToStart("pay", "{'order':'" + order + "'}", order);
            assertThat(cut.cuts() - before).as("commits struck").isEqualTo(1);
            UUID run = UUID.fromString(second.path("ok").asString());
            assertThat(CrashLab.ending(engine.await(run))).isEqualTo("completed");
            assertThat(lab.story(engine, run, order)).isEqualTo("charge#0 committed 1/1, completed");
        }
    }

    @Test
    void aRunWhoseClaimsAnswerWasLostGoesOn() {
        for (int i = 0; i < FEW; i++) {
            String order = "claim-" + i;
            UUID run = engine.start("nap", "{'order':'" + order + "'}");
            // Every claim from now on, until one has taken the run: what it took is durable, and nobody was told.
            cut.loseReply(sql -> sql.contains("claimed AS ("), Integer.MAX_VALUE);
            Awaitility.await().atMost(EngineProcess.PATIENCE).until(() -> engine.run(run).path("claim_epoch").asLong() == 2);
            cut.disarm();
            assertThat(CrashLab.ending(engine.await(run))).isEqualTo("completed");
            assertThat(lab.story(engine, run, order)).isEqualTo("charge#0 committed 1/1, completed");
        }
    }

    /** On a machine so slow that the send deadline passed meanwhile: provably not sent, and sent under the next receipt. */
    private static final String NOT_SENT_THEN_COMMITTED = "charge#0 not_applied 1/1, charge#1 committed 1/1, completed";

    private static void strike(String name, BiConsumer<Predicate<String>, Integer> fault, Predicate<String> sql, String usual, String slow) {
        int before = cut.cuts();
        for (int i = 0; i < RUNS; i++) {
            String order = name + "-" + i;
            fault.accept(sql, 1);
            UUID run = engine.start("pay", "{'order':'" + order + "'}");
            engine.await(run);
            assertThat(lab.story(engine, run, order)).isIn(usual, slow);
            assertThat(cut.cuts() - before).as("commits struck").isEqualTo(i + 1);
        }
        cut.disarm();
        assertThat(NOT_DURABLE).isEmpty();
        lab.assertEachReceiptSentAtMostOnce();
    }
}
