package dev.waybill.lab.crash;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.waybill.Waybill;
import dev.waybill.engine.CrashPoints.Point;
import dev.waybill.model.WaybillException;
import dev.waybill.store.sqlite.SqliteConfig;
import dev.waybill.store.sqlite.SqliteStore;
import dev.waybill.test.Behaviour;
import dev.waybill.test.Delivery;
import dev.waybill.test.Match;
import dev.waybill.test.Rule;
import dev.waybill.test.TestPostgres;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import tools.jackson.databind.JsonNode;

/** Cases A17 and A19, and a database that dies under running engines; on a server of its own, which logs every statement. */
class DatabaseFaultsTest {
    private static final int RUNS = 20;
    private static TestPostgres.Server server;

    @BeforeAll
    static void start() {
        server = TestPostgres.server(Map.of("log_statement", "all", "log_line_prefix", "%p@%d> "));
        server.start();
    }

    @AfterAll
    static void stop() {
        server.close();
    }

    // --- A17 -------------------------------------------------------------------------------------------------------------------

    @Test
    void a17NothingIsHeldDuringACallAndATransactionThatFailsIsRepeatedWithoutTheCall() throws SQLException {
        try (CrashLab lab = CrashLab.on(server.database());
                Connection admin = lab.superuser();
                Statement sql = admin.createStatement()) {
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.pauseAfterBooking()));
            EngineProcess engine = lab.engine("a", CrashLab.LONG_LEASE);
            engine.publish("pay", lab.chargeThenShip(""));
            UUID run = engine.start("pay", "{'order':'stall'}");
            Delivery held = lab.provider.awaitDelivery(d -> CrashLab.isOf(d, "/charges", "stall"), EngineProcess.PATIENCE);
            // Other transactions go on meanwhile (heartbeats, claims): held means longer than any of those lasts.
            Awaitility.await().during(Duration.ofSeconds(3)).atMost(EngineProcess.PATIENCE).untilAsserted(() -> {
                assertThat(count(sql, "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND usename = '"
                                + lab.database().user() + "' AND state LIKE 'idle in transaction%'"
                                + " AND clock_timestamp() - state_change > interval '250 milliseconds'"))
                        .as("sessions idle in transaction").isZero();
                assertThat(count(sql, "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")).as("advisory locks").isZero();
            });
            // The transaction that records the reply fails with a serialization failure, then with a deadlock, then it may pass.
            sql.execute(
                    """
                    CREATE SEQUENCE faults;
                    CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
                    BEGIN
                      CASE nextval('faults')
                        WHEN 1 THEN RAISE EXCEPTION 'could not serialize access' USING ERRCODE = '40001';
                        WHEN 2 THEN RAISE EXCEPTION 'deadlock detected' USING ERRCODE = '40P01';
                        ELSE RETURN NULL;
                      END CASE;
                    END $$;
                    CREATE TRIGGER fault AFTER INSERT ON receipt_journal FOR EACH STATEMENT EXECUTE FUNCTION fault();
                    """);
            lab.provider.release(held.number());
            engine.await(run);
            assertThat(lab.story(engine, run, "stall")).isEqualTo("charge#0 committed 1/1, ship#0 committed 1/1, completed");
            assertThat(count(sql, "SELECT last_value FROM faults")).as("both faults struck, then the rest passed").isGreaterThanOrEqualTo(3);
            lab.assertEachReceiptSentAtMostOnce();
            engine.terminate();
            engine.exit();
            assertNoSessionState(lab.database().name());
        }
    }

    /** By the server's own log: no session-level advisory lock, and no SET without LOCAL once a connection has begun to work. */
    private static void assertNoSessionState(String database) {
        Pattern statement = Pattern.compile("(\\d+)@" + database + "> LOG: +(?:statement|execute [^:]*): (.*)");
        Set<String> working = new HashSet<>();
        List<String> offences = new ArrayList<>();
        int seen = 0;
        for (String line : server.log().lines().toList()) {
            Matcher matcher = statement.matcher(line);
            if (!matcher.matches()) {
                continue;
            }
            seen++;
            String text = matcher.group(2).strip();
            boolean sets = text.startsWith("SET ") && !text.startsWith("SET LOCAL ") || text.startsWith("SELECT set_config(");
            if (sets && working.contains(matcher.group(1))) {
                offences.add(line);
            } else if (!sets) {
                working.add(matcher.group(1));
            }
            if (text.matches("(?i).*pg_(try_)?advisory_lock(_shared)?\\(.*")) {
                offences.add(line);
            }
        }
        assertThat(seen).as("statements in the log").isGreaterThan(50);
        assertThat(offences).isEmpty();
    }

    // --- A19 a -----------------------------------------------------------------------------------------------------------------

    @Test
    void a19ReceiptsAreWrittenDurablyWhateverTheRoleSays() throws SQLException {
        try (CrashLab lab = CrashLab.on(server.database());
                Connection admin = lab.superuser();
                Statement sql = admin.createStatement()) {
            sql.execute("ALTER ROLE " + lab.database().user() + " SET synchronous_commit = off");
            EngineProcess engine = lab.engine("a", CrashLab.LONG_LEASE);
            sql.execute(
                    """
                    CREATE TABLE durability (setting text);
                    CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
                    BEGIN INSERT INTO durability VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$;
                    CREATE TRIGGER note AFTER INSERT ON effect_receipts FOR EACH STATEMENT EXECUTE FUNCTION note();
                    CREATE TRIGGER note AFTER INSERT ON receipt_journal FOR EACH STATEMENT EXECUTE FUNCTION note();
                    """);
            engine.publish("pay", lab.chargeThenShip(""));
            UUID run = engine.start("pay", "{'order':'weak'}");
            engine.await(run);
            assertThat(lab.story(engine, run, "weak")).isEqualTo("charge#0 committed 1/1, ship#0 committed 1/1, completed");
            assertThat(count(sql, "SELECT count(*) FROM durability WHERE setting = 'on'")).isGreaterThanOrEqualTo(3);
            assertThat(count(sql, "SELECT count(*) FROM durability WHERE setting <> 'on'")).isZero();
        }
    }

    @Test
    void a19AResolveIsWrittenDurablyToo() throws SQLException {
        try (CrashLab lab = CrashLab.on(server.database());
                Connection admin = lab.superuser();
                Statement sql = admin.createStatement()) {
            sql.execute("ALTER ROLE " + lab.database().user() + " SET synchronous_commit = off");
            lab.provider.script(Rule.on("POST", "/charges").then(Behaviour.applyThenDrop()));
            EngineProcess engine = lab.engine("a", CrashLab.LONG_LEASE);
            engine.publish("pay", lab.chargeThenShip(""));
            UUID run = engine.start("pay", "{'order':'resolved'}");
            engine.await(run);
            sql.execute(
                    """
                    CREATE TABLE durability (setting text);
                    CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
                    BEGIN INSERT INTO durability VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$;
                    CREATE TRIGGER note AFTER INSERT ON effect_evidence FOR EACH STATEMENT EXECUTE FUNCTION note();
                    """);
            engine.resolveCommitted(engine.effects(run).getFirst(), "ch_1");
            assertThat(count(sql, "SELECT count(*) FROM durability WHERE setting = 'on'")).isEqualTo(1);
            assertThat(count(sql, "SELECT count(*) FROM durability WHERE setting <> 'on'")).isZero();
        }
    }

    @Test
    void a19AServerThatDoesNotSyncIsRefused() throws SQLException {
        try (CrashLab lab = CrashLab.on(server.database());
                Connection admin = lab.superuser();
                Statement sql = admin.createStatement()) {
            sql.execute("ALTER SYSTEM SET fsync = off");
            sql.execute("SELECT pg_reload_conf()");
            try {
                Awaitility.await().atMost(EngineProcess.PATIENCE).until(() -> setting(sql, "fsync").equals("off"));
                assertThat(lab.launch(lab.storeUrl(), "a", List.of()).refusal()).startsWith("DURABILITY_WEAK");
            } finally {
                sql.execute("ALTER SYSTEM RESET fsync");
                sql.execute("SELECT pg_reload_conf()");
                Awaitility.await().atMost(EngineProcess.PATIENCE).until(() -> setting(sql, "fsync").equals("on"));
            }
        }
    }

    @Test
    void a19ASqliteFileBelowFullIsRefused(@TempDir Path directory) {
        SqliteStore store = new SqliteStore(new SqliteConfig(directory.resolve("weak.db"), false, 1), InstantSource.system());
        assertThatThrownBy(() -> Waybill.store(store).open())
                .isInstanceOfSatisfying(WaybillException.class, e -> assertThat(e.code()).isEqualTo("DURABILITY_WEAK"));
    }

    // --- A19 b -----------------------------------------------------------------------------------------------------------------

    @Test
    void a19ADatabaseThatLostADispatchedReceiptSendsNothingASecondTime() {
        try (CrashLab lab = CrashLab.on(server.database())) {
            lab.provider.script(
                    Rule.on(Match.of("POST", "/charges").bodyContaining("lost")).then(Behaviour.pauseAfterBooking()),
                    Rule.on(Match.of("POST", "/charges").bodyContaining("bystander")).then(Behaviour.applyThenDrop()));
            EngineProcess live = lab.engine("a", CrashLab.LONG_LEASE);
            live.publish("pay", lab.chargeThenShip(""));
            UUID bystander = live.start("pay", "{'order':'bystander'}");
            live.await(bystander);
            live.stopAt(Point.BEFORE_INTENT + ":charge");
            UUID run = live.start("pay", "{'order':'lost'}");
            live.awaitAt(Point.BEFORE_INTENT, "charge");
            server.kill();
            TestPostgres.Snapshot before = server.snapshot();
            server.start();
            live.open();
            Delivery charge = lab.provider.awaitDelivery(d -> CrashLab.isOf(d, "/charges", "lost"), EngineProcess.PATIENCE);
            Awaitility.await().atMost(EngineProcess.PATIENCE).until(() -> lab.counts("/charges", "lost").equals("1/1"));

            // A failover to a database that never heard of the receipt, under the engine that sent it.
            server.kill();
            server.restore(before);
            server.start();
            lab.provider.release(charge.number());
            awaitStory(lab, live, run, "lost", "charge#0 committed 1/1, paused ledger_may_be_behind at -");
            JsonNode receipt = live.effects(run).getFirst();
            assertThat(receipt.path("journal").path(0).path("reason").asString()).isEqualTo("ledger_may_be_behind");
            assertThat(receipt.path("journal").path(1).path("actor").asString()).isEqualTo("engine-late");
            assertThat(live.run(run).path("claim_epoch").asLong()).isGreaterThan(1);
            awaitStory(lab, live, bystander, "bystander", "charge#0 unknown 1/1, paused ledger_may_be_behind at -");
            assertThat(live.acceptLedger()).isEqualTo(2);
            awaitStory(lab, live, run, "lost", "charge#0 committed 1/1, ship#0 committed 1/1, completed");
            awaitStory(lab, live, bystander, "bystander", "charge#0 unknown 1/1, waiting effect_unknown at charge");

            // The same loss again, and this time nobody remembers: a new process, told that the store was restored.
            live.kill();
            server.stop();
            server.restore(before);
            server.start();
            List<String> restored = new ArrayList<>(CrashLab.LONG_LEASE);
            restored.add("--restored");
            EngineProcess told = lab.engine("a", restored);
            assertThat(lab.story(told, run, "lost")).isEqualTo("paused ledger_may_be_behind at -");
            assertThat(told.run(run).path("claim_epoch").asLong()).isGreaterThan(1);
            assertThat(lab.story(told, bystander, "bystander")).isEqualTo("charge#0 unknown 1/1, paused ledger_may_be_behind at -");
            // The provider's record has the charge: the person ends that run, and lets the others go on.
            told.cancel(run);
            awaitStory(lab, told, run, "lost", "cancelled");
            assertThat(told.acceptLedger()).isEqualTo(1);
            awaitStory(lab, told, bystander, "bystander", "charge#0 unknown 1/1, waiting effect_unknown at charge");
            told.resolveCommitted(told.effects(bystander).getFirst(), "ch_b");
            awaitStory(lab, told, bystander, "bystander", "charge#0 committed 1/1, ship#0 committed 1/1, completed");
            assertThat(lab.counts("/charges", "lost")).isEqualTo("1/1");
            lab.assertEachReceiptSentAtMostOnce();
        }
    }

    // --- the database dies -----------------------------------------------------------------------------------------------------

    @Test
    void aDatabaseKilledUnderRunningRunsCostsNoRunAndNoSecondSend() {
        try (CrashLab lab = CrashLab.on(server.database())) {
            lab.provider.script(Rule.onAny().thenAlways(Behaviour.normal().answeredAfter(Duration.ofMillis(100))));
            EngineProcess engine = lab.engine("a", CrashLab.LONG_LEASE);
            engine.publish("pay", lab.chargeThenShip(""));
            List<UUID> runs = new ArrayList<>();
            for (int i = 0; i < RUNS; i++) {
                runs.add(engine.start("pay", "{'order':'k" + i + "'}"));
            }
            Awaitility.await().atMost(EngineProcess.PATIENCE).until(() -> lab.provider.seen() >= RUNS / 2);
            server.kill();
            server.start();
            for (int i = 0; i < RUNS; i++) {
                String order = "k" + i;
                // A live engine holds its answers until the database is back: nothing is ambiguous, at worst the deadline of a send passed.
                awaitStory(lab, engine, runs.get(i), order,
                        "charge#0 (not_applied 1/1, charge#1 )?committed 1/1, ship#0 (not_applied 1/1, ship#1 )?committed 1/1, completed");
            }
            lab.assertEachReceiptSentAtMostOnce();
        }
    }

    @Test
    void aDatabaseAwayForLongerThanTheLeaseCostsNoRunAndNoSecondSend() {
        try (CrashLab lab = CrashLab.on(server.database())) {
            lab.provider.script(Rule.on("POST", "/charges").thenAlways(Behaviour.pauseAfterBooking()));
            EngineProcess engine = lab.engine("a", CrashLab.SHORT_LEASE);
            engine.publish("pay", lab.chargeThenShip(""));
            List<UUID> runs = new ArrayList<>();
            for (int i = 0; i < RUNS; i++) {
                runs.add(engine.start("pay", "{'order':'away" + i + "'}"));
            }
            Awaitility.await().atMost(EngineProcess.PATIENCE).until(() -> lab.provider.applied() == RUNS);
            server.kill();
            lab.provider.releaseAll(); // the answers come while nothing can be written
            // Heartbeats come every half second: with so many lost in a row, the lease of three seconds has run out.
            Awaitility.await().atMost(EngineProcess.PATIENCE).until(
                    () -> engine.log().stream().filter(line -> line.contains("could not be extended")).count() >= 8);
            server.start();
            for (int i = 0; i < RUNS; i++) {
                awaitStory(lab, engine, runs.get(i), "away" + i,
                        "charge#0 committed 1/1, ship#0 (not_applied 1/1, ship#1 )?committed 1/1, completed");
            }
            lab.assertEachReceiptSentAtMostOnce();
        }
    }

    private static void awaitStory(CrashLab lab, EngineProcess engine, UUID run, String order, String story) {
        Awaitility.await().atMost(EngineProcess.PATIENCE).untilAsserted(() -> assertThat(lab.story(engine, run, order)).matches(story));
    }

    private static long count(Statement sql, String query) throws SQLException {
        try (ResultSet row = sql.executeQuery(query)) {
            row.next();
            return row.getLong(1);
        }
    }

    private static String setting(Statement sql, String name) throws SQLException {
        try (ResultSet row = sql.executeQuery("SHOW " + name)) {
            row.next();
            return row.getString(1);
        }
    }
}
