package dev.waybill.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class PostgresCommitCutTest {
    private static final String WITH_INSERT = "WITH own AS (SELECT ?::int AS n) INSERT INTO effect_receipts SELECT n FROM own";

    private TestPostgres.Database database;
    private PostgresCommitCut cut;

    @BeforeEach
    void setUp() throws SQLException {
        database = TestPostgres.database();
        try (Connection connection = database.connect()) {
            connection.createStatement().execute("CREATE TABLE effect_receipts (n int)");
        }
        cut = PostgresCommitCut.before(database);
    }

    @AfterEach
    void tearDown() {
        cut.close();
        database.drop();
    }

    @Test
    void withoutAPlanNothingIsCut() throws SQLException {
        try (Connection connection = cut.database().connect();
                PreparedStatement insert = connection.prepareStatement(WITH_INSERT)) {
            for (int n = 1; n <= 10; n++) {
                insert.setInt(1, n);
                assertThat(insert.executeUpdate()).isEqualTo(1);
            }
            connection.setAutoCommit(false);
            insert.executeUpdate();
            connection.rollback();
        }
        assertThat(rows()).isEqualTo(10);
        assertThat(cut.cuts()).isZero();
    }

    @Test
    void theReplyOfAnAutocommitStatementIsLostAndItsRowIsThere() throws SQLException {
        try (Connection connection = cut.database().connect()) {
            cut.loseReply(sql -> sql.contains("INTO effect_receipts"), 1);
            assertThat(connection.createStatement().executeQuery("SELECT 1").next()).isTrue();
            assertThatThrownBy(() -> insert(connection, 7)).isInstanceOf(SQLException.class).satisfies(PostgresCommitCutTest::isLostConnection);
            assertThat(rows()).isEqualTo(1);
            assertThat(cut.cuts()).isEqualTo(1);
        }
        try (Connection next = cut.database().connect()) {
            insert(next, 8);
        }
        assertThat(rows()).isEqualTo(2);
    }

    @Test
    void aLostAutocommitStatementLeavesNoRow() throws SQLException {
        try (Connection connection = cut.database().connect()) {
            cut.loseCommit(sql -> sql.contains("INTO effect_receipts"), 1);
            assertThatThrownBy(() -> insert(connection, 7)).isInstanceOf(SQLException.class).satisfies(PostgresCommitCutTest::isLostConnection);
        }
        assertThat(rowsWhenBackendsAreGone()).isZero();
    }

    @Test
    void aNamedPreparedStatementIsKnownByItsText() throws SQLException {
        for (boolean reply : new boolean[] {true, false}) {
            try (Connection connection = DriverManager.getConnection(
                            cut.database().jdbcUrl() + "?prepareThreshold=1", database.user(), database.password());
                    PreparedStatement insert = connection.prepareStatement(WITH_INSERT)) {
                for (int n = 1; n <= 4; n++) {
                    insert.setInt(1, n);
                    insert.executeUpdate();
                }
                if (reply) {
                    cut.loseReply(WITH_INSERT.replace("?", "$1")::equals, 1);
                } else {
                    cut.loseCommit(WITH_INSERT.replace("?", "$1")::equals, 1);
                }
                assertThatThrownBy(insert::executeUpdate).isInstanceOf(SQLException.class);
            }
        }
        assertThat(rowsWhenBackendsAreGone()).isEqualTo(4 + 1 + 4);
        assertThat(cut.cuts()).isEqualTo(2);
    }

    @Test
    void anExplicitCommitIsStruckAtTheCommitAndNotBefore() throws SQLException {
        for (boolean reply : new boolean[] {true, false}) {
            try (Connection connection = cut.database().connect()) {
                connection.setAutoCommit(false);
                if (reply) {
                    cut.loseReply(sql -> sql.contains("INTO effect_receipts"), 1);
                } else {
                    cut.loseCommit(sql -> sql.contains("INTO effect_receipts"), 1);
                }
                insert(connection, 1);
                insert(connection, 2);
                assertThatThrownBy(connection::commit).isInstanceOf(SQLException.class);
            }
        }
        assertThat(rowsWhenBackendsAreGone()).isEqualTo(2);
    }

    @Test
    void aRolledBackTransactionIsLeftAlone() throws SQLException {
        cut.loseReply(sql -> sql.contains("INTO effect_receipts"), 1);
        try (Connection connection = cut.database().connect()) {
            connection.setAutoCommit(false);
            insert(connection, 1);
            connection.rollback();
            connection.createStatement().executeQuery("SELECT 1");
            connection.commit();
        }
        assertThat(cut.cuts()).isZero();
    }

    @Test
    void theSimpleProtocolIsUnderstoodToo() throws SQLException {
        String url = cut.database().jdbcUrl() + "?preferQueryMode=simple";
        try (Connection connection = DriverManager.getConnection(url, database.user(), database.password())) {
            connection.setAutoCommit(false);
            cut.loseReply(sql -> sql.contains("INTO effect_receipts"), 2);
            insert(connection, 1);
            assertThatThrownBy(connection::commit).isInstanceOf(SQLException.class);
        }
        try (Connection connection = DriverManager.getConnection(url, database.user(), database.password())) {
            assertThatThrownBy(() -> insert(connection, 2)).isInstanceOf(SQLException.class);
        }
        assertThat(rows()).isEqualTo(2);
    }

    @Test
    void aBatchIsOneUnit() throws SQLException {
        try (Connection connection = cut.database().connect();
                PreparedStatement insert = connection.prepareStatement(WITH_INSERT)) {
            cut.loseReply(sql -> sql.contains("INTO effect_receipts"), 1);
            for (int n = 1; n <= 50; n++) {
                insert.setInt(1, n);
                insert.addBatch();
            }
            assertThatThrownBy(insert::executeBatch).isInstanceOf(SQLException.class);
        }
        assertThat(rows()).isEqualTo(50);
    }

    @Test
    void onlySoManyTransactionsAreStruckAndDisarmEndsIt() throws SQLException {
        cut.loseReply(sql -> sql.contains("INTO effect_receipts"), 3);
        for (int n = 1; n <= 3; n++) {
            try (Connection connection = cut.database().connect()) {
                assertThatThrownBy(() -> insert(connection, 1)).isInstanceOf(SQLException.class);
            }
        }
        try (Connection connection = cut.database().connect()) {
            insert(connection, 4);
            cut.loseCommit(sql -> true, 1);
            cut.disarm();
            insert(connection, 5);
        }
        assertThat(rows()).isEqualTo(5);
        assertThat(cut.cuts()).isEqualTo(3);
    }

    private static void isLostConnection(Throwable error) {
        assertThat(((SQLException) error).getSQLState()).startsWith("08");
    }

    private static void insert(Connection connection, int n) throws SQLException {
        try (PreparedStatement insert = connection.prepareStatement(WITH_INSERT)) {
            insert.setInt(1, n);
            insert.executeUpdate();
        }
    }

    private int rows() throws SQLException {
        return number("SELECT count(*) FROM effect_receipts");
    }

    private int rowsWhenBackendsAreGone() throws SQLException {
        await().until(() -> number("SELECT count(*) FROM pg_stat_activity WHERE usename = '" + database.user() + "'") == 0);
        return rows();
    }

    private int number(String sql) throws SQLException {
        try (Connection connection = database.superuser().connect();
                var rows = connection.createStatement().executeQuery(sql)) {
            rows.next();
            return rows.getInt(1);
        }
    }
}
