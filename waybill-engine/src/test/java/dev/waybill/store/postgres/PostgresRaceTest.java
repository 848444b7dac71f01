package dev.waybill.store.postgres;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.waybill.model.InstanceKey;
import dev.waybill.model.InstanceState;
import dev.waybill.store.Commit;
import dev.waybill.store.CommitAnswer;
import dev.waybill.store.CommitAnswer.IntentAnswer;
import dev.waybill.store.CommitAnswer.ReleaseAnswer;
import dev.waybill.store.CommitAnswer.Settled;
import dev.waybill.store.Move;
import dev.waybill.store.OutsideAnswer;
import dev.waybill.store.Start;
import dev.waybill.store.StartAnswer;
import dev.waybill.store.StoreLab;
import dev.waybill.store.StoreLab.Owned;
import dev.waybill.store.UnclearCommitException;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What happens when two transactions meet: one stands still with its locks while the other runs into it. */
class PostgresRaceTest {
    private final PostgresLab lab = new PostgresLab();
    private final ExecutorService threads = Executors.newVirtualThreadPerTaskExecutor();
    private final UUID node = lab.node();
    private Connection paused;

    @BeforeEach
    void openPausedTransaction() throws SQLException {
        paused = lab.database.connect();
        paused.setAutoCommit(false);
    }

    @AfterEach
    void close() throws SQLException {
        paused.close();
        threads.shutdownNow();
        lab.close();
    }

    private void inPaused(String sql) throws SQLException {
        try (Statement statement = paused.createStatement()) {
            statement.execute(sql);
        }
    }

    private void pausedUpdate(InstanceKey key, String set) throws SQLException {
        inPaused("UPDATE task_instances SET " + set + " WHERE tenant_id = '" + key.tenant() + "' AND id = '" + key.id() + "'");
    }

    /** Runs {@code work} until it waits for the paused transaction. */
    private <T> Future<T> blocked(Callable<T> work) {
        Future<T> future = threads.submit(work);
        awaitBlocked(1);
        return future;
    }

    private void awaitBlocked(int sessions) {
        await().atMost(Duration.ofSeconds(30))
                .until(() -> Integer.parseInt(lab.ask(
                                "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"))
                        >= sessions);
    }

    private static <T> T result(Future<T> future) throws Exception {
        return future.get(60, TimeUnit.SECONDS);
    }

    private static Settled settled(CommitAnswer answer) {
        assertThat(answer).isInstanceOf(Settled.class);
        return (Settled) answer;
    }

    @Test
    void aCommitThatWaitedForATakeoverIsLost() throws Exception {
        Owned owned = lab.owned(node).dispatched("charge");
        pausedUpdate(owned.key(), "claim_epoch = claim_epoch + 1, claim_nonce = gen_random_uuid()");
        Future<CommitAnswer> commit = blocked(() -> owned.commit(owned.move().committed("charge", 0, 1).intent("ship", 0)));

        paused.commit();

        assertThat(result(commit)).isEqualTo(new CommitAnswer.ClaimLost());
        assertThat(owned.load().journal()).isEmpty();
        assertThat(owned.load().receipts()).hasSize(1);
    }

    @Test
    void aTakeoverThatIsRolledBackTakesNothing() throws Exception {
        Owned owned = lab.owned(node).dispatched("charge");
        pausedUpdate(owned.key(), "claim_epoch = claim_epoch + 1");
        Future<CommitAnswer> commit = blocked(() -> owned.commit(owned.move().committed("charge", 0, 1).intent("ship", 0)));

        paused.rollback();

        assertThat(settled(result(commit)).intents()).isEqualTo(IntentAnswer.DISPATCHED);
    }

    @Test
    void aReleaseThatWaitedForNewsDoesNotHappenAndTheRestDoes() throws Exception {
        Owned owned = lab.owned(node).dispatched("charge");
        pausedUpdate(owned.key(), "wake_seq = wake_seq + 1");
        Future<CommitAnswer> commit = blocked(() -> owned.commit(
                owned.move().committed("charge", 0, 1).releaseEvent("instance.completed").release(InstanceState.COMPLETED, null, 0)));

        paused.commit();

        Settled answer = settled(result(commit));
        assertThat(answer.release()).isEqualTo(ReleaseAnswer.NEWS);
        assertThat(answer.wakeSeq()).isEqualTo(1);
        assertThat(owned.load().journal()).hasSize(1);
        assertThat(lab.record(owned.key()).state()).isEqualTo(InstanceState.RUNNING);
        assertThat(lab.record(owned.key()).claimNode()).isEqualTo(node);
        assertThat(lab.store().queries().changes(null, null, 10)).isEmpty();
    }

    @Test
    void aReleaseThatWaitedMeetsTheNewestVersionOfTheRow() throws Exception {
        Owned owned = lab.owned(node);
        pausedUpdate(owned.key(), "priority = 3, takeovers = 2");
        Future<CommitAnswer> commit = blocked(() -> owned.commit(owned.move().release(InstanceState.WAITING, 0L, 0)));

        paused.commit();

        assertThat(settled(result(commit)).release()).isEqualTo(ReleaseAnswer.RELEASED);
        assertThat(lab.record(owned.key()).state()).isEqualTo(InstanceState.WAITING);
        assertThat(lab.record(owned.key()).priority()).isEqualTo(3);
        assertThat(lab.record(owned.key()).takeovers()).isEqualTo(2);
        assertThat(lab.record(owned.key()).claimNode()).isNull();
    }

    @Test
    void anIntentThatWaitedForACancelIsHeldAndItsSettleHolds() throws Exception {
        Owned owned = lab.owned(node).dispatched("charge");
        pausedUpdate(owned.key(), "cancel_requested = true, wake_seq = wake_seq + 1");
        Future<CommitAnswer> commit = blocked(() -> owned.commit(owned.move().committed("charge", 0, 1).intent("ship", 0)));

        paused.commit();

        assertThat(settled(result(commit)).intents()).isEqualTo(IntentAnswer.HELD_BY_FLAG);
        assertThat(owned.load().journal()).hasSize(1);
        assertThat(owned.load().receipts()).hasSize(1);
    }

    @Test
    void aLeaseThatRanOutWhileTheCommitWaitedHoldsTheIntent() throws Exception {
        UUID shortLived = StoreLab.nextId();
        lab.store().registerNode(shortLived, "short", Duration.ofHours(1));
        Owned owned = lab.owned(shortLived).dispatched("charge");
        pausedUpdate(owned.key(), "updated_at = now()");
        lab.store().heartbeat(shortLived, Duration.ofSeconds(2));
        Future<CommitAnswer> commit = blocked(() -> owned.commit(owned.move().committed("charge", 0, 1).intent("ship", 0)));
        await().atMost(Duration.ofSeconds(30))
                .until(() -> lab.ask("SELECT bool_and(expires_at < now()) FROM nodes WHERE id = '" + shortLived + "'").equals("t"));

        paused.commit();

        assertThat(settled(result(commit)).intents()).isEqualTo(IntentAnswer.HELD_BY_NODE);
        assertThat(owned.load().journal()).hasSize(1);
    }

    @Test
    void lateTruthAndTheOwnersSettleMeetAndOneOfThemWins() throws Exception {
        Owned owned = lab.owned(node).dispatched("charge");
        pausedUpdate(owned.key(), "updated_at = now()");
        Future<CommitAnswer> commit = threads.submit(() -> owned.commit(owned.move().committed("charge", 0, 1)));
        Future<OutsideAnswer> late =
                threads.submit(() -> lab.store().settleFromOutside(Move.outside(owned.key()).unknown("charge", 0, 1).outside()));
        awaitBlocked(2);

        paused.commit();

        boolean ownerWon = result(commit) instanceof Settled;
        assertThat(result(late) instanceof OutsideAnswer.Applied).isEqualTo(!ownerWon);
        assertThat(ownerWon ? result(late) : result(commit)).isInstanceOfAny(CommitAnswer.Conflict.class, OutsideAnswer.Conflict.class);
        assertThat(owned.load().journal()).hasSize(1);
        assertThat(lab.ask("SELECT count(*) FROM effect_open")).isEqualTo(ownerWon ? "0" : "1");
    }

    // --- the answer to COMMIT is lost (A18) ------------------------------------------------------------------------------------

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void theRepeatWaitsForTheFirstTransactionAndThenFindsItselfOrWrites(boolean firstCommits) throws Exception {
        Owned owned = lab.owned(node).dispatched("charge");
        Commit commit = owned.move().committed("charge", 0, 1).intent("ship", 0).commit();
        CommitStatement.run(paused, node, List.of(new CommitStatement.Member(0, commit, commit)));
        Future<CommitAnswer> repeat = blocked(() -> lab.store().commit(node, List.of(commit), true).getFirst());

        if (firstCommits) {
            paused.commit();
        } else {
            paused.rollback();
        }

        assertThat(settled(result(repeat)).intents()).isEqualTo(IntentAnswer.DISPATCHED);
        assertThat(owned.load().journal()).hasSize(1);
        assertThat(owned.load().receipts()).hasSize(2);
    }

    @Test
    void aCommitWhoseConnectionDiesIsUnclearAndItsRepeatSettlesIt() throws Exception {
        Owned owned = lab.owned(node).dispatched("charge");
        Move move = owned.move().committed("charge", 0, 1).intent("ship", 0);
        pausedUpdate(owned.key(), "updated_at = now()");
        Future<CommitAnswer> commit = blocked(() -> owned.commit(move));

        lab.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'");

        assertThatThrownBy(() -> result(commit)).isInstanceOf(ExecutionException.class).hasCauseInstanceOf(UnclearCommitException.class);
        paused.commit();
        assertThat(settled(owned.again(move)).intents()).isEqualTo(IntentAnswer.DISPATCHED);
        assertThat(owned.load().journal()).hasSize(1);
    }

    // --- 40001 and 40P01 are repeated inside (A17) -----------------------------------------------------------------------------

    @ParameterizedTest
    @ValueSource(strings = {"40001", "40P01"})
    void aCommitThatTheServerRolledBackRunsAgain(String sqlState) {
        Owned owned = lab.owned(node).dispatched("charge");
        failOnce("receipt_journal", sqlState);

        assertThat(settled(owned.commit(owned.move().committed("charge", 0, 1).intent("ship", 0))).intents())
                .isEqualTo(IntentAnswer.DISPATCHED);
        assertThat(owned.load().journal()).hasSize(1);
    }

    @Test
    void aMemberThatTheDatabaseRefusesKeepsItsOutcomeAndItsNeighboursEverything() {
        List<Owned> members = new ArrayList<>();
        List<Commit> batch = new ArrayList<>();
        for (int i = 0; i < 5; i++) {
            Owned member = lab.owned(node).dispatched("charge");
            members.add(member);
            batch.add(member.move().committed("charge", 0, 1).intent("ship", 0).commit());
        }
        String culprit = members.get(3).key().id().toString();
        lab.execute("ALTER TABLE receipt_journal ADD CHECK (instance_id <> '" + culprit + "' OR output IS NULL)");

        List<CommitAnswer> answers = lab.store().commit(node, batch, false);

        for (int i = 0; i < 5; i++) {
            assertThat(settled(answers.get(i)).unstorable()).isEqualTo(i == 3);
            assertThat(settled(answers.get(i)).intents()).isEqualTo(i == 3 ? IntentAnswer.HELD_BY_FLAG : IntentAnswer.DISPATCHED);
            assertThat(members.get(i).load().journal()).hasSize(1);
        }
        assertThat(settled(lab.store().commit(node, batch.subList(3, 4), true).getFirst()).unstorable()).isTrue();
    }

    // --- twenty at once (A21) --------------------------------------------------------------------------------------------------

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void ofTwentyStartsBehindATransactionOneWinsWhenItRollsBackAndNoneWhenItCommits(boolean rolledBack) throws Exception {
        UUID first = StoreLab.nextId();
        inPaused("INSERT INTO dedup_keys (tenant_id, scope, key, instance_id) VALUES ('acme', 'orders', 'k1', '" + first + "')");
        List<Future<StartAnswer>> starts = new ArrayList<>();
        for (int i = 0; i < 20; i++) {
            Start start = StoreLab.start(StoreLab.nextKey(), "k1", null, null);
            starts.add(threads.submit(() -> lab.store().start(node, List.of(start)).getFirst()));
        }
        awaitBlocked(1);

        if (rolledBack) {
            paused.rollback();
        } else {
            paused.commit();
        }

        List<StartAnswer> answers = new ArrayList<>();
        for (Future<StartAnswer> start : starts) {
            answers.add(result(start));
        }
        assertThat(answers).filteredOn(StartAnswer.Created.class::isInstance).hasSize(rolledBack ? 1 : 0);
        assertThat(answers.stream().filter(StartAnswer.Existing.class::isInstance).distinct()).hasSize(1);
        assertThat(lab.ask("SELECT count(*) FROM task_instances")).isEqualTo(rolledBack ? "1" : "0");
    }

    // --- claims ----------------------------------------------------------------------------------------------------------------

    @Test
    void aClaimStepsOverWhatAnotherTransactionHolds() throws Exception {
        InstanceKey held = lab.scheduled();
        InstanceKey free = lab.scheduled();
        pausedUpdate(held, "updated_at = now()");

        assertThat(lab.store().claim(node, StoreLab.nextId(), 10)).extracting(it -> it.instance().key()).containsExactly(free);
    }

    @Test
    void aTakeoverStepsOverACommitThatRunsAndTheNextOneFindsTheInstance() throws Exception {
        Owned owned = lab.owned(node).dispatched("charge");
        Commit commit = owned.move().committed("charge", 0, 1).commit();
        CommitStatement.run(paused, node, List.of(new CommitStatement.Member(0, commit, commit)));
        lab.store().fence(node);
        assertThat(lab.store().fenceAndFree(10)).isZero();

        paused.commit();

        assertThat(lab.store().fenceAndFree(10)).isEqualTo(1);
        assertThat(lab.claim(lab.node(), owned.key()).load().journal()).hasSize(1);
    }

    private void failOnce(String table, String sqlState) {
        lab.execute("CREATE SEQUENCE faults");
        lab.execute(
                """
                CREATE FUNCTION fail_once() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                  IF nextval('faults') = 1 THEN RAISE EXCEPTION 'injected' USING ERRCODE = '%s'; END IF;
                  RETURN NEW;
                END $$"""
                        .formatted(sqlState));
        lab.execute("CREATE TRIGGER fail_once BEFORE INSERT ON " + table + " FOR EACH ROW EXECUTE FUNCTION fail_once()");
    }
}
