package dev.waybill.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.junit.jupiter.api.Test;

class TestPostgresTest {

    @Test
    void aFreshDatabaseIsOwnedByARoleThatCanLosePrivileges() throws SQLException {
        var database = TestPostgres.database();
        try (Connection connection = database.connect();
                var statement = connection.createStatement()) {
            statement.execute("CREATE TABLE journal (n int)");
            statement.execute("INSERT INTO journal VALUES (1)");
            statement.execute("REVOKE UPDATE, DELETE ON journal FROM CURRENT_USER");
            assertThatThrownBy(() -> statement.execute("DELETE FROM journal")).hasMessageContaining("permission denied");
        }
        assertThat(text(database.superuser(), "SELECT rolsuper::text FROM pg_roles WHERE rolname = '" + database.user() + "'")).isEqualTo("false");
        assertThat(text(database.superuser(), "DELETE FROM journal RETURNING n::text")).isEqualTo("1");
        database.drop();
        assertThatThrownBy(database::connect).isInstanceOf(SQLException.class);
    }

    @Test
    void commitsAreDurableUnlessATestAsksOtherwise() throws SQLException {
        var admin = TestPostgres.database().superuser();
        assertThat(text(admin, "SHOW fsync")).isEqualTo("on");
        assertThat(text(admin, "SHOW synchronous_commit")).isEqualTo("on");
        assertThat(text(admin, "SHOW server_version")).startsWith("18.");
        try (var server = TestPostgres.server(Map.of("fsync", "off"))) {
            server.start();
            assertThat(text(server.database(), "SHOW fsync")).isEqualTo("off");
        }
    }

    @Test
    void databasesOfParallelTestsDoNotMeet() throws Exception {
        try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<TestPostgres.Database>> asked = new ArrayList<>();
            for (int i = 0; i < 6; i++) {
                asked.add(threads.submit(TestPostgres::database));
            }
            List<String> names = new ArrayList<>();
            for (var answer : asked) {
                execute(answer.get(), "CREATE TABLE same_name (n int)");
                names.add(answer.get().waybillUrl());
            }
            assertThat(names).doesNotHaveDuplicates().allMatch(url -> url.startsWith("postgresql://waybill_"));
        }
    }

    @Test
    void aKilledServerComesBackOnItsPortWithEveryCommittedRow() throws SQLException {
        try (var server = TestPostgres.server()) {
            server.start();
            var database = server.database();
            execute(database, "CREATE TABLE t (n int)", "INSERT INTO t VALUES (7)");
            try (Connection open = database.connect()) {
                server.kill();
                assertThat(server.isRunning()).isFalse();
                assertThatThrownBy(() -> open.createStatement().execute("SELECT 1")).isInstanceOf(SQLException.class);
            }
            assertThatThrownBy(database::connect).isInstanceOf(SQLException.class);
            server.start();
            assertThat(text(database, "SELECT n::text FROM t")).isEqualTo("7");
            assertThat(server.log()).contains("database system was not properly shut down");
        }
    }

    @Test
    void aRestoredSnapshotForgetsWhatCameAfterIt() throws SQLException {
        try (var server = TestPostgres.server()) {
            server.start();
            var database = server.database();
            execute(database, "CREATE TABLE t (n int)", "INSERT INTO t VALUES (1)");
            assertThatThrownBy(server::snapshot).hasMessageContaining("stop()");
            server.stop();
            var snapshot = server.snapshot();
            server.start();
            execute(database, "INSERT INTO t VALUES (2)");
            server.stop();
            server.restore(snapshot);
            server.start();
            assertThat(text(database, "SELECT string_agg(n::text, ',') FROM t")).isEqualTo("1");
        }
    }

    @Test
    void aClosedServerLeavesNoFiles() {
        var server = TestPostgres.server();
        server.start();
        server.stop();
        var copy = server.snapshot().directory();
        assertThat(copy).exists();
        server.close();
        assertThat(Files.exists(copy.getParent())).isFalse();
    }

    /** Starts a server, says where, and waits to be killed. */
    public static final class Owner {
        public static void main(String[] arguments) throws IOException {
            var server = TestPostgres.server();
            server.start();
            System.out.println("home " + server.home() + " postmaster " + server.pid());
            System.in.transferTo(java.io.OutputStream.nullOutputStream());
        }
    }

    /** Asks for a server as any JVM would, which removes what the dead have left. */
    public static final class Sweeper {
        public static void main(String[] arguments) {
            TestPostgres.server().close();
        }
    }

    @Test
    void theServerOfALivingJvmIsLeftAloneAndThatOfADeadOneRemoved() {
        var soon = Duration.ofSeconds(60);
        try (var owner = Processes.java(Owner.class)) {
            String[] said = owner.awaitLine(line -> line.startsWith("home "), soon).split(" ");
            Path home = Path.of(said[1]);
            ProcessHandle postmaster = ProcessHandle.of(Long.parseLong(said[3])).orElseThrow();
            try (var sweeper = Processes.java(Sweeper.class)) {
                assertThat(sweeper.waitFor(soon)).isZero();
            }
            assertThat(home).exists();
            assertThat(postmaster.isAlive()).isTrue();
            owner.kill();
            try (var sweeper = Processes.java(Sweeper.class)) {
                assertThat(sweeper.waitFor(soon)).isZero();
            }
            assertThat(home).doesNotExist();
            await().until(() -> !PostgresFiles.isRunning(postmaster));
        }
    }

    private static String text(TestPostgres.Database database, String sql) throws SQLException {
        try (Connection connection = database.connect();
                var statement = connection.createStatement();
                var rows = statement.executeQuery(sql)) {
            assertThat(rows.next()).isTrue();
            return rows.getString(1);
        }
    }

    private static void execute(TestPostgres.Database database, String... statements) throws SQLException {
        try (Connection connection = database.connect();
                var statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }
}
