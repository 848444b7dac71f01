package dev.waybill.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

class PostgresPairTest {

    @Test
    void whatASynchronousPairAcknowledgedIsThereAfterThePrimaryDied() throws SQLException {
        try (var pair = PostgresPair.start(true, 0)) {
            var database = pair.primary().database();
            execute(database, "CREATE TABLE t (n int)");
            for (int i = 0; i < 20; i++) {
                execute(database, "INSERT INTO t VALUES (" + i + ")");
            }
            var promoted = pair.failOver();
            var there = database.through(promoted.port());
            assertThat(text(there, "SELECT count(*) FROM t")).isEqualTo("20");

            // Alone, the new primary acknowledges nothing; with a standby of its own it goes on.
            var waiting = CompletableFuture.runAsync(() -> execute(there, "INSERT INTO t VALUES (20)"));
            assertThatThrownBy(() -> waiting.get(300, TimeUnit.MILLISECONDS)).isInstanceOf(java.util.concurrent.TimeoutException.class);
            pair.attach();
            assertThat(waiting).succeedsWithin(java.time.Duration.ofSeconds(30));
            assertThat(text(database.through(pair.failOver().port()), "SELECT count(*) FROM t")).isEqualTo("21");
        }
    }

    @Test
    void aPrimaryThatComesBackFromAFreezeAfterThePromotionAcknowledgesNoWrite() throws SQLException {
        try (var pair = PostgresPair.start(true, 0)) {
            var database = pair.primary().database();
            execute(database, "CREATE TABLE t (n int)", "INSERT INTO t VALUES (1)");
            try (Connection straggler = database.connect();
                    Statement statement = straggler.createStatement()) {
                var zombie = pair.failOverFrozen();
                var late = CompletableFuture.supplyAsync(() -> updated(statement, "INSERT INTO t VALUES (2)"));
                zombie.thaw();
                pair.attach();
                execute(database.through(pair.primary().port()), "INSERT INTO t VALUES (3)");

                assertThat(zombie.isRunning()).isTrue();
                assertThat(text(zombie.maintenance(), "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'")).isEqualTo("1");
                assertThat(late).isNotDone();
                zombie.close();
                assertThatThrownBy(late::join).hasCauseInstanceOf(IllegalStateException.class);
                assertThat(text(database.through(pair.primary().port()), "SELECT string_agg(n::text, ' ' ORDER BY n) FROM t")).isEqualTo("1 3");
            }
        }
    }

    private static int updated(Statement statement, String sql) {
        try {
            return statement.executeUpdate(sql);
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void anAsynchronousPairLosesWhatItAcknowledgedWhileTheLinkWasCut() throws SQLException {
        try (var pair = PostgresPair.start(false, 0)) {
            var database = pair.primary().database();
            execute(database, "CREATE TABLE t (n int)");
            Awaitility.await().until(() -> text(pair.primary().maintenance(),
                    "SELECT pg_current_wal_lsn() <= coalesce(max(flush_lsn), '0/0') FROM pg_stat_replication").equals("t"));
            pair.replication().stall(FaultProxy.Direction.ANSWER);
            execute(database, "INSERT INTO t VALUES (1)");
            assertThat(text(database.through(pair.failOver().port()), "SELECT count(*) FROM t")).isEqualTo("0");
        }
    }

    @Test
    void aServerOnAFullDiskRefusesToWriteAndGoesOnWhenThereIsRoom() throws SQLException {
        assumeTrue(SmallDisk.possible(), "only root may mount a small disk");
        try (var server = TestPostgres.serverOnSmallDisk(Map.of("max_wal_size", "64MB"), 160)) {
            server.start();
            var database = server.database();
            execute(database, "CREATE TABLE t (n int, filler text)", "INSERT INTO t VALUES (1, '')");
            var disk = server.disk();
            assertThat(disk).isNotNull();
            disk.fill();
            assertThatThrownBy(() -> execute(database,
                    "INSERT INTO t SELECT n, repeat(md5(n::text), 200) FROM generate_series(1, 100000) n")).isInstanceOf(IllegalStateException.class);
            disk.free();
            Awaitility.await().atMost(60, TimeUnit.SECONDS).untilAsserted(() -> {
                server.start();
                assertThat(text(database, "SELECT count(*) FROM t")).isEqualTo("1");
            });
        }
    }

    private static void execute(TestPostgres.Database database, String... statements) {
        try (Connection connection = database.connect();
                Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    private static String text(TestPostgres.Database database, String sql) throws SQLException {
        try (Connection connection = database.connect();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            row.next();
            return row.getString(1);
        }
    }
}
