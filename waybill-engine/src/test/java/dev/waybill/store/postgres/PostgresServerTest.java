package dev.waybill.store.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.waybill.model.Claim;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.InstanceState;
import dev.waybill.store.Commit;
import dev.waybill.store.CommitAnswer;
import dev.waybill.store.CommitAnswer.IntentAnswer;
import dev.waybill.store.CommitAnswer.Settled;
import dev.waybill.store.Move;
import dev.waybill.store.StoreLab;
import dev.waybill.store.StoreLab.Owned;
import dev.waybill.store.StoreException;
import dev.waybill.store.UnclearCommitException;
import dev.waybill.test.TestPostgres;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** On servers of their own: what needs the server's log, its settings or its death. */
class PostgresServerTest {
    private static final UUID NODE = StoreLab.nextId();

    /** An instance that {@link #NODE} owns, with {@code charge} dispatched. */
    private static Owned dispatched(PostgresStore store) {
        InstanceKey key = StoreLab.nextKey();
        Claim claim = new Claim(1, StoreLab.nextId());
        store.registerNode(NODE, "n", Duration.ofHours(1));
        store.start(NODE, List.of(StoreLab.start(key, null, null, claim)));
        @SuppressWarnings("resource")
        Owned owned = new Owned(null, key, NODE, claim);
        store.commit(NODE, List.of(owned.move().intent("charge", 0).commit()), false);
        return owned;
    }

    private static PostgresStore open(TestPostgres.Database database) {
        PostgresStore store = PostgresStore.open(PostgresConfig.of(database.jdbcUrl(), database.user(), database.password()));
        store.migrate();
        return store;
    }

    private static String ask(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            return row.next() ? row.getString(1) : "";
        }
    }

    private static void execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    @Test
    void aCommitWhoseWaitForTheStandbyWasCancelledIsUnclearAndItsRepeatWaitsToo() throws Exception {
        try (TestPostgres.Server server = TestPostgres.server(Map.of())) {
            server.start();
            TestPostgres.Database database = server.database();
            try (PostgresStore store = open(database);
                    Connection admin = database.superuser().connect();
                    var threads = Executors.newVirtualThreadPerTaskExecutor()) {
                Owned owned = dispatched(store);
                Commit commit = owned.move().committed("charge", 0, 1).intent("ship", 0).commit();
                execute(admin, "ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
                execute(admin, "SELECT pg_reload_conf()");
                await().until(() -> ask(admin, "SHOW synchronous_standby_names").equals("nobody"));

                Future<List<CommitAnswer>> first = threads.submit(() -> store.commit(NODE, List.of(commit), false));
                awaitStandbyWait(admin);
                execute(admin, "SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'SyncRep'");
                assertThatThrownBy(() -> first.get(30, TimeUnit.SECONDS))
                        .isInstanceOf(ExecutionException.class)
                        .hasCauseInstanceOf(UnclearCommitException.class);

                Future<List<CommitAnswer>> repeat = threads.submit(() -> store.commit(NODE, List.of(commit), true));
                awaitStandbyWait(admin);
                assertThat(repeat.isDone()).isFalse();
                execute(admin, "ALTER SYSTEM RESET synchronous_standby_names");
                execute(admin, "SELECT pg_reload_conf()");
                Settled settled = (Settled) repeat.get(30, TimeUnit.SECONDS).getFirst();
                assertThat(settled.intents()).isEqualTo(IntentAnswer.DISPATCHED);
                assertThat(store.load(owned.key()).orElseThrow().journal()).hasSize(1);
            }
        }
    }

    /** Model failover.pml, mutant FLAG_AFTER: whoever opens a connection may be the first to meet the promoted standby. */
    @Test
    void everyNewConnectionForCommitsIsCheckedBeforeAnythingIsWrittenOverIt() throws Exception {
        try (TestPostgres.Server server = TestPostgres.server(Map.of())) {
            server.start();
            try (PostgresStore store = open(server.database())) {
                Owned owned = dispatched(store);
                List<List<UUID>> seen = new CopyOnWriteArrayList<>();
                UUID receipt = store.load(owned.key()).orElseThrow().receipts().getFirst().id();
                store.onCommitConnection(receipts -> {
                    seen.add(receipts.existing(owned.key().tenant(), List.of(receipt)));
                    if (seen.size() == 1) {
                        throw new StoreException("it may be behind", new SQLException());
                    }
                });
                server.kill();
                server.start();

                Commit settle = owned.move().committed("charge", 0, 1).commit();
                await().ignoreExceptionsMatching(e -> e instanceof StoreException || e instanceof UnclearCommitException)
                        .atMost(Duration.ofSeconds(30))
                        .until(() -> !seen.isEmpty() || store.commit(NODE, List.of(settle), true).getFirst() instanceof Settled);
                assertThat(seen).as("refused by the check").hasSize(1);
                assertThat(store.load(owned.key()).orElseThrow().journal()).isEmpty();

                assertThat(store.commit(NODE, List.of(settle), true).getFirst()).isInstanceOf(Settled.class);
                assertThat(seen).containsExactly(List.of(receipt), List.of(receipt));
            }
        }
    }

    private static void awaitStandbyWait(Connection admin) {
        await().atMost(Duration.ofSeconds(30))
                .until(() -> ask(admin, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'").equals("1"));
    }

    @Test
    void afterStartUpNoSessionStateIsSetAndTheServersDeathIsSurvived() throws Exception {
        try (TestPostgres.Server server = TestPostgres.server(Map.of("log_statement", "all"))) {
            server.start();
            TestPostgres.Database database = server.database();
            try (PostgresStore store = open(database)) {
                Owned owned = dispatched(store);
                store.queries().nodes();
                store.claim(NODE, StoreLab.nextId(), 1);
                int warm = server.log().length();
                store.commit(NODE, List.of(owned.move().committed("charge", 0, 1).intent("ship", 0).commit()), false);
                store.start(NODE, List.of(StoreLab.start(StoreLab.nextKey(), "k", "h", null)));
                store.settleFromOutside(Move.outside(owned.key()).evidence("charge", 0, "note", null).cancel().outside());
                store.claim(NODE, StoreLab.nextId(), 1);
                store.fenceAndFree(10);
                store.heartbeat(NODE, Duration.ofHours(1));
                store.load(owned.key());

                assertThat(server.log()).doesNotContain("advisory");
                assertThat(server.log().substring(warm).lines().filter(line -> line.matches(".*(execute [^:]*|statement): (SET|RESET) (?!LOCAL).*")))
                        .isEmpty();

                Commit unknown = owned.move().unknown("ship", 0, 1).release(InstanceState.WAITING, null, 1).commit();
                server.kill();
                assertThatThrownBy(() -> store.commit(NODE, List.of(unknown), false)).isInstanceOf(UnclearCommitException.class);
                server.start();
                assertThat(store.commit(NODE, List.of(unknown), true).getFirst()).isInstanceOf(Settled.class);
                assertThat(store.load(owned.key()).orElseThrow().instance().state()).isEqualTo(InstanceState.WAITING);
            }
        }
    }

    @Test
    void aStoreWithoutFsyncIsWeak() {
        try (TestPostgres.Server server = TestPostgres.server(Map.of("fsync", "off", "full_page_writes", "off"))) {
            server.start();
            try (PostgresStore store = open(server.database())) {
                assertThat(store.durability().weaknesses()).hasSize(2).anyMatch(it -> it.startsWith("fsync is off"));
            }
        }
    }
}
