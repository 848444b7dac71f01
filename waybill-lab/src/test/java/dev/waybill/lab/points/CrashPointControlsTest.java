package dev.waybill.lab.points;

import static org.assertj.core.api.Assertions.assertThat;

import dev.waybill.handler.Dispatch;
import dev.waybill.handler.EffectHandler;
import dev.waybill.handler.HttpRequestHandler;
import dev.waybill.handler.StepRequest;
import dev.waybill.json.Json;
import dev.waybill.lab.points.Trial.Outcome;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.Outcome.Unknown;
import dev.waybill.store.Commit;
import dev.waybill.store.CommitAnswer;
import dev.waybill.store.InstanceSnapshot;
import dev.waybill.store.Store;
import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.sql.SQLException;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.UUID;
import java.util.function.UnaryOperator;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import tools.jackson.databind.JsonNode;

/** Engines with a fault built in, which the enumeration must find, where no run without a crash shows anything. */
class CrashPointControlsTest {
    private static final int WORKERS = 4;
    private static final List<Scenario> ONE = List.of(Scenario.named("one"));

    @BeforeAll
    static void theDeadAreQuiet() {
        PointsCommand.quiet();
    }

    @Test
    void anIntentThatIsAcknowledgedBeforeItIsDurableIsFoundByACrashAndOnlyByOne() throws IOException, SQLException {
        Mutant late = new Mutant(WriteBehind::over, UnaryOperator.identity(), (builder, transport) -> {});
        try (var enumeration = new Enumeration(false, WORKERS, ONE, late, InstantSource.system())) {
            List<Outcome> clean = enumeration.clean(ONE);
            assertThat(clean).allMatch(Outcome::holds);
            assertThat(enumeration.singles(clean))
                    .filteredOn(one -> !one.holds())
                    .extracting(one -> one.faults().getFirst().point())
                    .anyMatch(point -> point.startsWith("wire:charge:sent"))
                    .anyMatch(point -> point.startsWith("at:AFTER_ANSWER"));
        }
    }

    @Test
    void aHandlerThatSendsAgainWhenItHearsNothingIsFoundByALostAnswer() throws IOException, SQLException {
        Mutant eager = new Mutant(UnaryOperator.identity(), CrashPointControlsTest::resending, (builder, transport) -> builder.handler(
                "resending_http", new Resending(new HttpRequestHandler(transport, InstantSource.system()))));
        try (var enumeration = new Enumeration(false, WORKERS, ONE, eager, InstantSource.system())) {
            List<Outcome> clean = enumeration.clean(ONE);
            assertThat(clean).allMatch(Outcome::holds);
            assertThat(enumeration.errors(clean, false))
                    .filteredOn(one -> !one.holds())
                    .isNotEmpty()
                    .allMatch(one -> one.wrong().toString().contains("was delivered 2 times"))
                    .allMatch(one -> one.faults().getFirst().point().startsWith("wire:charge:"));
        }
    }

    @Test
    void outputInATransactionOfItsOwnIsFound() throws IOException, SQLException {
        Mutant split = new Mutant(SplitSettle::over, UnaryOperator.identity(), (builder, transport) -> {});
        try (var enumeration = new Enumeration(false, WORKERS, ONE, split, InstantSource.system())) {
            assertThat(enumeration.clean(ONE)).allMatch(one -> one.wrong().toString().contains("atomic-settle"));
        }
    }

    private static JsonNode resending(JsonNode document) {
        return Json.parseDefinition(Json.write(document).replace("\"http_request\"", "\"resending_http\""));
    }

    /** The one mistake this engine exists to prevent. */
    private record Resending(HttpRequestHandler inner) implements EffectHandler {
        @Override
        public Preparation prepare(StepRequest request) {
            return inner.prepare(request) instanceof Preparation.Ready(EffectCall call)
                    ? new Preparation.Ready(dispatch -> twice(call, dispatch))
                    : inner.prepare(request);
        }

        private static dev.waybill.model.Outcome twice(EffectCall call, Dispatch dispatch) throws InterruptedException {
            dev.waybill.model.Outcome first = call.send(dispatch);
            return first instanceof Unknown ? call.send(dispatch) : first;
        }

        @Override
        public boolean preparesWithoutIo(JsonNode params) {
            return inner.preparesWithoutIo(params);
        }
    }

    /** What stands between the engine and its store and answers some commits itself. */
    private interface Committing {
        List<CommitAnswer> commit(Store store, UUID node, List<Commit> batch, boolean again);
    }

    private static Store decorated(Store store, Committing committing) {
        return (Store) Proxy.newProxyInstance(
                CrashPointControlsTest.class.getClassLoader(), new Class<?>[] {Store.class}, (self, method, args) -> {
                    if (method.getName().equals("commit")) {
                        @SuppressWarnings("unchecked")
                        List<Commit> batch = (List<Commit>) args[1];
                        return committing.commit(store, (UUID) args[0], batch, (boolean) args[2]);
                    }
                    try {
                        return method.invoke(store, args);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    /** Says "dispatched" at once and writes the intent with whatever comes next. */
    private static final class WriteBehind implements Committing {
        private final Map<InstanceKey, Commit> owed = new HashMap<>();

        static Store over(Store store) {
            return decorated(store, new WriteBehind());
        }

        @Override
        public synchronized List<CommitAnswer> commit(Store store, UUID node, List<Commit> batch, boolean again) {
            List<CommitAnswer> answers = new ArrayList<>();
            for (Commit commit : batch) {
                Commit before = owed.remove(commit.instance());
                if (before != null) {
                    store.commit(node, List.of(before), false);
                }
                if (!commit.intents().isEmpty() && commit.settles().isEmpty()) {
                    owed.put(commit.instance(), commit);
                    InstanceSnapshot now = store.load(commit.instance()).orElseThrow();
                    answers.add(new CommitAnswer.Settled(
                            CommitAnswer.IntentAnswer.DISPATCHED, CommitAnswer.ReleaseAnswer.NONE, now.instance().wakeSeq(), false, false,
                            false, now.databaseNow()));
                } else {
                    answers.addAll(store.commit(node, List.of(commit), again));
                }
            }
            return answers;
        }
    }

    /** First that it happened, then what was said. */
    private static final class SplitSettle implements Committing {
        static Store over(Store store) {
            return decorated(store, new SplitSettle());
        }

        @Override
        public List<CommitAnswer> commit(Store store, UUID node, List<Commit> batch, boolean again) {
            List<CommitAnswer> answers = new ArrayList<>();
            for (Commit commit : batch) {
                if (commit.settles().stream().anyMatch(row -> row.output() != null)) {
                    UUID first = UUID.nameUUIDFromBytes(commit.transitionId().toString().getBytes(java.nio.charset.StandardCharsets.UTF_8));
                    store.commit(node, List.of(new Commit(
                            commit.instance(), commit.claim(), first, commit.settles().stream().map(row -> bare(row, first)).toList(), List.of(),
                            List.of(), List.of(), null, false)), again);
                    Commit rest = new Commit(
                            commit.instance(), commit.claim(), commit.transitionId(),
                            commit.settles().stream().map(SplitSettle::second).toList(), commit.rows(), commit.intents(), commit.events(),
                            commit.release(), commit.resetTakeover());
                    answers.addAll(store.commit(node, List.of(rest), again));
                } else {
                    answers.addAll(store.commit(node, List.of(commit), again));
                }
            }
            return answers;
        }

        private static dev.waybill.store.JournalRow bare(dev.waybill.store.JournalRow row, UUID transition) {
            return new dev.waybill.store.JournalRow(
                    row.path(), row.attempt(), row.n(), row.from(), row.to(), row.actor(), row.claim(), transition, row.proof(), row.reason(),
                    row.message(), row.providerReceiptId(), row.retryInMillis(), row.countsAsAttempt(), row.reply(), null,
                    dev.waybill.store.JournalRow.OutputState.NONE, row.problem(), row.at());
        }

        private static dev.waybill.store.JournalRow second(dev.waybill.store.JournalRow row) {
            return new dev.waybill.store.JournalRow(
                    row.path(), row.attempt(), row.n() + 1, row.to(), row.to(), row.actor(), row.claim(), row.transitionId(), row.proof(),
                    row.reason(), row.message(), row.providerReceiptId(), row.retryInMillis(), row.countsAsAttempt(), row.reply(), row.output(),
                    row.outputState(), row.problem(), row.at());
        }
    }
}
