package dev.waybill.store.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.waybill.model.InstanceState;
import dev.waybill.store.Commit;
import dev.waybill.store.CommitAnswer;
import dev.waybill.store.Move;
import dev.waybill.store.Queries.Change;
import dev.waybill.store.StoreException;
import dev.waybill.store.StoreLab;
import dev.waybill.store.StoreLab.Owned;
import dev.waybill.test.TestPostgres;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What is special to PostgreSQL and no race. */
class PostgresStoreTest {
    private final PostgresLab lab = new PostgresLab();

    @AfterEach
    void close() {
        lab.close();
    }

    @ParameterizedTest
    @ValueSource(strings = {"effect_receipts", "receipt_journal", "block_outputs", "effect_evidence", "audit_log", "events"})
    void whatHasHappenedCannotBeRewrittenByTheSchemasOwner(String table) {
        for (String statement : List.of("UPDATE " + table + " SET at = now()", "DELETE FROM " + table, "TRUNCATE " + table)) {
            assertThatThrownBy(() -> lab.run(statement))
                    .isInstanceOfSatisfying(SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("42501"));
        }
    }

    @Test
    void manyProcessesMayMigrateAtOnce() throws Exception {
        TestPostgres.Database fresh = TestPostgres.database();
        CountDownLatch together = new CountDownLatch(4);
        try (var threads = Executors.newVirtualThreadPerTaskExecutor()) {
            List<Future<?>> runs = new ArrayList<>();
            for (int i = 0; i < 4; i++) {
                runs.add(threads.submit(() -> {
                    try (PostgresStore store = PostgresStore.over(fresh.dataSource())) {
                        together.countDown();
                        together.await();
                        store.migrate();
                        return store.queries().nodes();
                    }
                }));
            }
            for (Future<?> run : runs) {
                assertThat((List<?>) run.get(60, TimeUnit.SECONDS)).isEmpty();
            }
        } finally {
            fresh.drop();
        }
    }

    @Test
    void aSchemaFromANewerReleaseIsRefused() {
        lab.execute("INSERT INTO waybill_migrations (version, name, checksum) VALUES (999, '999_future.sql', 'x')");

        assertThatThrownBy(() -> lab.store().migrate()).hasMessageContaining("999_future.sql");
    }

    @Test
    void synchronousCommitIsSwitchedOnForEveryWriteOfOurs() {
        lab.execute("ALTER ROLE " + lab.database.user() + " SET synchronous_commit = off");
        lab.execute("CREATE TABLE seen (setting text)");
        lab.execute(
                """
                CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN INSERT INTO seen VALUES (current_setting('synchronous_commit')); RETURN NEW; END $$""");
        for (String table : List.of("receipt_journal", "effect_receipts", "effect_evidence", "task_instances")) {
            lab.execute("CREATE TRIGGER see BEFORE INSERT OR UPDATE ON " + table + " FOR EACH ROW EXECUTE FUNCTION see()");
        }
        try (PostgresStore store = PostgresStore.open(lab.config())) {
            assertThat(store.durability().weak()).isFalse();
            assertThat(store.durability().warnings()).anyMatch(it -> it.startsWith("synchronous_commit is off"));
            UUID node = StoreLab.nextId();
            store.registerNode(node, "n", Duration.ofHours(1));
            var key = StoreLab.nextKey();
            var claim = new dev.waybill.model.Claim(1, StoreLab.nextId());
            store.start(node, List.of(StoreLab.start(key, null, null, claim)));
            Owned owned = new Owned(lab, key, node, claim);
            store.commit(node, List.of(owned.move().intent("charge", 0).commit()), false);
            store.commit(node, List.of(owned.move().unknown("charge", 0, 1).release(InstanceState.WAITING, null, 0).commit()), false);
            store.settleFromOutside(Move.outside(key).evidence("charge", 0, "note", null).wakeFrom(InstanceState.WAITING).outside());
            store.claim(node, StoreLab.nextId(), 10);
        }
        assertThat(lab.ask("SELECT string_agg(DISTINCT setting, ',') FROM seen")).isEqualTo("on");
        assertThat(lab.ask("SELECT count(*) >= 6 FROM seen")).isEqualTo("t");
    }

    @Test
    void aBatchStatementThatWasPlannedOnEmptyTablesNeverReadsAWholeTable() {
        Owned first = lab.owned(lab.node());
        Owned second = lab.owned(first.node());
        drive(first, 1);
        drive(second, 1);
        lab.execute(
                """
                INSERT INTO task_instances (tenant_id, id, state, priority)
                SELECT 'acme', gen_random_uuid(), 'completed', 1 FROM generate_series(1, 20000)""");
        lab.execute(
                """
                INSERT INTO effect_receipts (tenant_id, instance_id, path, attempt, ordinal, id, execution_id, state, kind, handler, destination,
                       destination_fingerprint, request_sha256, request, claim_epoch, claim_nonce, node_id, transition_id, quiet_at)
                SELECT 'acme', gen_random_uuid(), 'charge', 0, 0, gen_random_uuid(), gen_random_uuid(), 'dispatched', 'http', 'h', 'd', 'f', 's',
                       '{}', 1, gen_random_uuid(), gen_random_uuid(), gen_random_uuid(), now()
                  FROM generate_series(1, 20000)""");
        String before = "SELECT coalesce(sum(seq_tup_read + coalesce(idx_tup_fetch, 0)), 0)::bigint FROM pg_stat_user_tables";
        await().atMost(Duration.ofSeconds(30)).until(() -> lab.ask("SELECT n_tup_ins > 0 FROM pg_stat_user_tables WHERE relname = 'effect_receipts'").equals("t"));
        long read = Long.parseLong(lab.ask(before));

        drive(first, 2);
        drive(second, 2);
        first.commit(first.move().release(InstanceState.WAITING, 0L, 0));
        lab.claim(first.node(), first.key());
        // Sessions report when they end.
        lab.store().close();

        await().atMost(Duration.ofSeconds(30))
                .until(() -> lab.ask("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()").equals("1"));
        assertThat(Long.parseLong(lab.ask(before)) - read).isLessThan(2_000);
    }

    /** A step of every shape: fused, unknown and resolved by its owner, with rows and events. */
    private void drive(Owned owned, int round) {
        String path = "charge" + round;
        owned.commit(owned.move().intent(path, 0));
        owned.commit(owned.move().unknown(path, 0, 1).intent(path + "b", 0).event("effect.unknown"));
        Commit commit = owned.move().committed(path, 0, 2).block("out" + round, 0, dev.waybill.store.BlockRow.Kind.OUTPUT, "1").resetTakeover().commit();
        assertThat(lab.store().commit(owned.node(), List.of(commit), false).getFirst()).isInstanceOf(CommitAnswer.Settled.class);
    }

    @Test
    void changesStopBeforeATransactionThatStillRunsAndNoneIsEverSteppedOver() throws SQLException {
        Owned owned = lab.owned(lab.node());
        try (Connection slow = lab.database.connect();
                Statement statement = slow.createStatement()) {
            slow.setAutoCommit(false);
            statement.execute("INSERT INTO events (tenant_id, instance_id, type, payload) VALUES ('acme', '" + owned.key().id() + "', 'slow', '{}')");
            owned.commit(owned.move().event("fast").intent("charge", 0));
            assertThat(lab.store().queries().changes(null, null, 10)).isEmpty();

            slow.commit();
        }
        List<Change> all = lab.store().queries().changes(null, null, 10);
        assertThat(all).extracting(Change::type).containsExactly("slow", "fast");
        assertThat(lab.store().queries().changes("acme", all.getFirst().cursor(), 10)).containsExactly(all.getLast());
        assertThat(lab.store().queries().newestChange()).isEqualTo(all.getLast().cursor());
    }

    @Test
    void aNodeHearsOfWhatBecomesDueElsewhere() throws InterruptedException {
        CountDownLatch listening = new CountDownLatch(1);
        CountDownLatch heard = new CountDownLatch(2);
        lab.other().onNotification(() -> {
            listening.countDown();
            heard.countDown();
        });
        assertThat(listening.await(30, TimeUnit.SECONDS)).isTrue();

        lab.scheduled();

        assertThat(heard.await(30, TimeUnit.SECONDS)).isTrue();
    }

    @Test
    void theViewShowsEachReceiptWithItsCurrentState() {
        lab.owned(lab.node()).unknown("charge").dispatched("ship");

        assertThat(lab.ask("SELECT string_agg(block_path || ' ' || state, ', ' ORDER BY block_path) FROM effects_view"))
                .isEqualTo("charge unknown, ship dispatched");
    }

    @Test
    void aDatabaseThatIsNotThereIsAStoreExceptionAndNotAnUnclearCommit() {
        try (PostgresStore nowhere = PostgresStore.open(PostgresConfig.of("jdbc:postgresql://127.0.0.1:1/none", "nobody", "x"))) {
            Commit commit = Move.outside(StoreLab.nextKey()).commit();
            assertThatThrownBy(() -> nowhere.commit(StoreLab.nextId(), List.of(commit), false)).isInstanceOf(StoreException.class);
            assertThatThrownBy(nowhere::migrate).isInstanceOf(StoreException.class);
        }
    }

    @Test
    void theHistoryIsNamedBySystemAndTimeline() {
        assertThat(lab.store().historyId()).matches("[0-9]*/[0-9]*").isEqualTo(lab.other().historyId());
        assertThat(lab.store().description()).isEqualTo("postgresql://127.0.0.1:" + lab.database.port() + "/" + lab.database.name());
    }
}
