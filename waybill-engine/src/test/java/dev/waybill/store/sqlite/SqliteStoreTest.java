package dev.waybill.store.sqlite;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import dev.waybill.model.InstanceKey;
import dev.waybill.model.WaybillException;
import dev.waybill.store.CommitAnswer;
import dev.waybill.store.Move;
import dev.waybill.store.StoreException;
import dev.waybill.store.StoreLab;
import dev.waybill.store.StoreLab.Owned;
import dev.waybill.store.TickingClock;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What only a file has: its lock, its owner, its clock and the crash of its engine. */
class SqliteStoreTest {
    @TempDir
    Path directory;

    private SqliteStore open(Path file) {
        SqliteStore store = new SqliteStore(SqliteConfig.of(file), InstantSource.system());
        store.migrate();
        return store;
    }

    private static void assertRefused(String code, String part, org.assertj.core.api.ThrowableAssert.ThrowingCallable opening) {
        assertThatThrownBy(opening).isInstanceOfSatisfying(WaybillException.class, e -> {
            assertThat(e.code()).isEqualTo(code);
            assertThat(e.getMessage()).contains(part);
            assertThat(e.next()).isNotBlank();
        });
    }

    @Test
    void aReadThatFailsAtItsEndLeavesItsConnectionFitForTheNext() {
        AtomicInteger commitsToFail = new AtomicInteger();
        SqliteConfig oneReader = new SqliteConfig(directory.resolve("w.db"), true, 1);
        try (SqliteStore store = new SqliteStore(oneReader, InstantSource.system(), raw -> failing(raw, commitsToFail))) {
            store.migrate();
            InstanceKey nobody = new InstanceKey("t", UUID.randomUUID());
            commitsToFail.set(1);
            assertThatThrownBy(() -> store.load(nobody)).isInstanceOf(StoreException.class);
            assertThat(store.load(nobody)).isEmpty();
        }
    }

    /** A connection whose next COMMITs fail without having been tried. */
    private static Connection failing(Connection raw, AtomicInteger commits) {
        return through(Connection.class, raw, (method, arguments) -> {
            Object answer = method.invoke(raw, arguments);
            return method.getName().equals("prepareStatement") && arguments[0].equals("COMMIT")
                    ? through(PreparedStatement.class, (PreparedStatement) answer, (inner, with) -> {
                        if (inner.getName().equals("execute") && commits.getAndUpdate(left -> Math.max(0, left - 1)) > 0) {
                            throw new SQLException("no memory");
                        }
                        return inner.invoke(answer, with);
                    })
                    : answer;
        });
    }

    private interface Through {
        Object call(Method method, Object[] arguments) throws Exception;
    }

    private static <T> T through(Class<T> type, T raw, Through through) {
        return type.cast(Proxy.newProxyInstance(
                SqliteStoreTest.class.getClassLoader(), new Class<?>[] {type}, (self, method, arguments) -> {
                    try {
                        return through.call(method, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                }));
    }

    @Test
    void aSecondEngineInThisProcessIsRefusedByName() throws Exception {
        Path file = directory.resolve("w.db");
        Files.createDirectories(directory.resolve("real"));
        String pid = Long.toString(ProcessHandle.current().pid());
        try (SqliteStore first = open(file)) {
            assertRefused("STORE_IN_USE", pid, () -> open(file));
            assertRefused("STORE_IN_USE", pid, () -> open(directory.resolve("real/../w.db")));
            Path link = Files.createSymbolicLink(directory.resolve("link.db"), file);
            assertRefused("STORE_IN_USE", pid, () -> open(link));
            first.registerNode(UUID.randomUUID(), "n", Duration.ofMinutes(1));
        }
        open(file).close();
    }

    @Test
    @Timeout(60)
    void anotherProcessIsRefusedByPidAndItsKillFreesTheFileWithEveryAnsweredCommit() throws Exception {
        Path file = directory.resolve("w.db");
        Process child = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(), "--enable-native-access=ALL-UNNAMED",
                        "-XX:+UseSerialGC", "-cp", System.getProperty("java.class.path"), Holder.class.getName(), file.toString())
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
        List<String> answered = new ArrayList<>();
        try (BufferedReader out = new BufferedReader(new InputStreamReader(child.getInputStream(), StandardCharsets.UTF_8))) {
            for (String line = out.readLine(); line != null && answered.size() < 50; line = out.readLine()) {
                if (line.startsWith("committed ")) {
                    answered.add(line.substring("committed ".length()));
                }
            }
            assertThat(answered).hasSize(50);
            assertRefused("STORE_IN_USE", Long.toString(child.pid()), () -> open(file));
        } finally {
            child.destroyForcibly().waitFor();
        }

        try (SqliteStore store = open(file)) {
            assertThat(store.existingReceipts(StoreLab.TENANT, answered.stream().map(UUID::fromString).toList())).hasSize(50);
            UUID node = UUID.randomUUID();
            store.registerNode(node, "next", Duration.ofMinutes(1));
            // The lease of the dead engine is an hour long: the lock proves its death at once.
            assertThat(store.fenceAndFree(100)).isEqualTo(1);
            assertThat(store.claim(node, UUID.randomUUID(), 10)).hasSize(1);
        }
    }

    /** An engine in a process of its own, which is killed in the middle of its work. */
    static final class Holder {
        public static void main(String[] arguments) {
            SqliteLab lab = new SqliteLab(Path.of(arguments[0]), new TickingClock(Duration.ofMillis(1)));
            Owned owned = lab.owned(lab.node());
            for (int i = 0; ; i++) {
                Move move = owned.move().intent("step" + i, 0);
                if (owned.commit(move) instanceof CommitAnswer.Settled) {
                    System.out.println("committed " + move.commit().intents().getFirst().id());
                }
            }
        }
    }

    @Test
    void aNewEngineFencesWhoeverRegisteredBeforeAndNobodyElse() {
        try (SqliteLab lab = new SqliteLab(directory)) {
            UUID former = lab.node();
            Owned owned = lab.owned(former).dispatched("charge");
            lab.reopen();

            UUID first = lab.node();
            UUID second = lab.node();
            assertThat(lab.store().heartbeat(former, Duration.ofHours(1))).isFalse();
            assertThat(lab.store().heartbeat(first, Duration.ofHours(1))).isTrue();
            assertThat(lab.store().heartbeat(second, Duration.ofHours(1))).isTrue();
            assertThat(lab.store().fenceAndFree(10)).isEqualTo(1);
            assertThat(owned.commit(owned.move().committed("charge", 0, 1))).isEqualTo(new CommitAnswer.ClaimLost());
        }
    }

    @Test
    void whatWasCommittedIsThereAfterReopening() {
        try (SqliteLab lab = new SqliteLab(directory)) {
            Owned owned = lab.owned(lab.node()).unknown("charge");
            String history = lab.store().historyId();
            lab.reopen();

            assertThat(owned.load().receipts()).hasSize(1);
            assertThat(lab.store().queries().openDepth()).hasSize(1);
            assertThat(lab.store().historyId()).isEqualTo(history).hasSize(32);
            assertThat(lab.store().durability().weak()).isFalse();
            assertThat(lab.store().description()).startsWith("sqlite:").endsWith("waybill.db");
        }
    }

    @Test
    void aWeakerSyncIsSaid() {
        try (SqliteStore store =
                new SqliteStore(new SqliteConfig(directory.resolve("w.db"), false, 1), InstantSource.system())) {
            assertThat(store.durability().weaknesses()).singleElement().asString().contains("synchronous is NORMAL");
        }
    }

    @Test
    void timeNeverGoesBelowWhatIsStored() {
        Path file = directory.resolve("w.db");
        AtomicReference<Instant> now = new AtomicReference<>(Instant.parse("2026-11-30T12:00:00.123456789Z"));
        InstanceKey key = StoreLab.nextKey();
        try (SqliteStore store = new SqliteStore(SqliteConfig.of(file), now::get)) {
            store.migrate();
            store.start(UUID.randomUUID(), List.of(StoreLab.start(key)));
            now.set(Instant.parse("2026-11-30T11:00:00Z"));
            assertThat(store.load(key).orElseThrow().databaseNow()).isEqualTo(Instant.parse("2026-11-30T12:00:00.123456Z"));
        }
        try (SqliteStore store = new SqliteStore(SqliteConfig.of(file), now::get)) {
            store.migrate();
            assertThat(store.load(key).orElseThrow().databaseNow()).isEqualTo(Instant.parse("2026-11-30T12:00:00.123456Z"));
        }
    }

    @Test
    void aFileThatIsNotOursIsLeftAlone() throws Exception {
        Path text = Files.writeString(directory.resolve("notes.txt"), "buy milk ".repeat(200));
        assertRefused("STORE_NOT_OURS", "notes.txt", () -> open(text));
        assertThat(Files.readString(text)).startsWith("buy milk");

        Path foreign = directory.resolve("foreign.db");
        sql(foreign, "CREATE TABLE milk (litres INT)");
        assertRefused("STORE_NOT_OURS", "another program", () -> open(foreign));

        Path marked = directory.resolve("marked.db");
        sql(marked, "PRAGMA application_id = 252006674");
        assertRefused("STORE_NOT_OURS", "252006674", () -> open(marked));

        // A refusal gives the lock up.
        assertRefused("STORE_NOT_OURS", "another program", () -> open(foreign));
    }

    @Test
    void aFileOfANewerReleaseIsRefused() throws Exception {
        Path file = directory.resolve("w.db");
        open(file).close();
        sql(file, "PRAGMA user_version = 99");

        assertRefused("STORE_NEWER", "schema 99", () -> open(file));
    }

    @Test
    void migratingAgainChangesNothing() throws Exception {
        Path file = directory.resolve("w.db");
        open(file).close();
        String applied = one(file, "SELECT group_concat(name) FROM waybill_migrations");
        try (SqliteStore store = open(file)) {
            store.migrate();
        }
        assertThat(one(file, "SELECT group_concat(name) FROM waybill_migrations")).isEqualTo(applied).contains("001_core.sql");
        assertThat(one(file, "PRAGMA application_id")).isEqualTo(Integer.toString(0x57617962));
        assertThat(one(file, "PRAGMA journal_mode")).isEqualTo("wal");
        assertThat(one(file, "PRAGMA integrity_check")).isEqualTo("ok");
    }

    @Test
    void theViewShowsAReceiptWithItsCurrentState() throws Exception {
        try (SqliteLab lab = new SqliteLab(directory)) {
            Owned owned = lab.owned(lab.node()).unknown("charge");
            owned.commit(owned.move().intent("ship", 0));
            UUID id = owned.load().receipts().getFirst().id();

            assertThat(one(lab.file, "SELECT state || ' ' || id || ' ' || reason FROM effects_view WHERE block_path = 'charge'"))
                    .isEqualTo("unknown " + id + " timeout");
            assertThat(one(lab.file, "SELECT state || ' ' || instance_id || ' ' || substr(created_at, 1, 16) FROM effects_view"
                            + " WHERE block_path = 'ship'"))
                    .isEqualTo("dispatched " + owned.key().id() + " 2026-11-30T12:00");
        }
    }

    @Test
    void aSearchByNameHopsThroughItsIndexAndReadsNoReceiptBeside() throws Exception {
        Path file = directory.resolve("w.db");
        open(file).close();
        for (String search : List.of(Rows.SEQ_BY_ID, Rows.SEQ_BY_KEY, Rows.SEQ_BY_PROVIDER_ID)) {
            String plan = plan(file, search);
            assertThat(plan).containsPattern("SEARCH e USING (COVERING )?INDEX (effect_receipts_|receipt_journal_)");
            assertThat(plan).containsPattern("<expr>=\\? AND tenant_id=\\? AND \\w+=\\?").doesNotContain("SCAN e");
        }
    }

    private static String plan(Path file, String query) throws Exception {
        StringBuilder plan = new StringBuilder();
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file);
                Statement jdbc = connection.createStatement();
                ResultSet row = jdbc.executeQuery("EXPLAIN QUERY PLAN " + query)) {
            while (row.next()) {
                plan.append(row.getString("detail")).append('\n');
            }
        }
        return plan.toString();
    }

    @Test
    void statesOutsideTheEnumsAreRefusedByTheDatabase() {
        try (SqliteLab lab = new SqliteLab(directory)) {
            lab.owned(lab.node()).waiting();

            assertThatThrownBy(() -> sql(lab.file, "UPDATE task_instances SET state = 'asleep'")).hasMessageContaining("CHECK");
            assertThatThrownBy(() -> sql(lab.file, "UPDATE task_instances SET claim_node = x'00'")).hasMessageContaining("CHECK");
        }
    }

    @Test
    void aClosedStoreRefusesInsteadOfWaiting() {
        SqliteStore store = open(directory.resolve("w.db"));
        store.close();
        store.close();

        assertThatThrownBy(() -> store.load(StoreLab.nextKey())).isInstanceOf(StoreException.class).hasMessageContaining("closed");
        assertThatThrownBy(() -> store.fence(UUID.randomUUID())).isInstanceOf(StoreException.class);
    }

    @Test
    void anInterruptDoesNotHideWhatACommitCameTo() {
        try (SqliteLab lab = new SqliteLab(directory)) {
            Owned owned = lab.owned(lab.node());
            Thread.currentThread().interrupt();
            CommitAnswer answer = owned.commit(owned.move().intent("charge", 0));

            assertThat(Thread.interrupted()).isTrue();
            assertThat(answer).isInstanceOf(CommitAnswer.Settled.class);
        }
    }

    @Test
    void anErrorInTheMiddleOfAVerbLeavesNothing() {
        try (SqliteLab lab = new SqliteLab(directory)) {
            InstanceKey good = StoreLab.nextKey();
            InstanceKey bad = StoreLab.nextKey();

            assertThatThrownBy(() -> lab.store().start(StoreLab.nextId(), List.of(
                            StoreLab.start(good), StoreLab.start(bad, 9, 0, "{}", null))))
                    .isInstanceOf(StoreException.class)
                    .hasMessageContaining("CHECK");
            assertThat(lab.store().load(good)).isEmpty();
            assertThat(lab.scheduled()).isNotNull();
        }
    }

    private static void sql(Path file, String statement) throws Exception {
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file);
                Statement jdbc = connection.createStatement()) {
            jdbc.execute(statement);
        }
    }

    private static String one(Path file, String query) throws Exception {
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite:" + file);
                Statement jdbc = connection.createStatement();
                ResultSet row = jdbc.executeQuery(query)) {
            return row.next() ? row.getString(1) : "nothing";
        }
    }
}
