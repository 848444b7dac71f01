package dev.waybill.lab.bench;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.waybill.model.InstanceKey;
import dev.waybill.store.Commit;
import dev.waybill.store.CommitAnswer;
import dev.waybill.store.CommitAnswer.IntentAnswer;
import dev.waybill.store.CommitAnswer.ReleaseAnswer;
import dev.waybill.store.Durability;
import dev.waybill.store.InstanceSnapshot;
import dev.waybill.store.JournalRow;
import dev.waybill.store.OutsideAnswer;
import dev.waybill.store.OutsideMove;
import dev.waybill.store.Queries;
import dev.waybill.store.ReceiptRow;
import dev.waybill.store.SequenceStore;
import dev.waybill.store.Start;
import dev.waybill.store.StartAnswer;
import dev.waybill.store.Store;
import dev.waybill.store.StoreException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import java.util.concurrent.atomic.LongAdder;

/**
 * The write order of seed 000 under the same engine: planned, CAS to prepared, CAS to dispatched, the effect, CAS to committed, the
 * output row; each its own transaction on its own pooled connection, never batched. Everything else goes to the real store.
 */
final class SeedProtocolStore implements Store {
    static final int CONNECTIONS = 16;

    private final Store real;
    private final HikariDataSource pool;
    private final InstantSource clock;
    final LongAdder commits = new LongAdder();

    SeedProtocolStore(Store real, String jdbcUrl, String user, String password, InstantSource clock, boolean sqlite) {
        this.real = real;
        this.clock = clock;
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(jdbcUrl);
        config.setUsername(user);
        config.setPassword(password);
        config.setMaximumPoolSize(sqlite ? 1 : CONNECTIONS);
        config.setAutoCommit(true);
        if (sqlite) {
            config.setConnectionInitSql("PRAGMA synchronous=FULL; PRAGMA busy_timeout=30000");
        }
        this.pool = new HikariDataSource(config);
    }

    @Override
    public void migrate() {
        real.migrate();
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("""
                    CREATE TABLE IF NOT EXISTS seed_receipts (
                      tenant_id text NOT NULL, id text NOT NULL PRIMARY KEY, instance_id text NOT NULL, state text NOT NULL,
                      record text NOT NULL, created_at text NOT NULL, updated_at text NOT NULL)""");
            statement.executeUpdate("CREATE INDEX IF NOT EXISTS seed_receipts_instance ON seed_receipts (tenant_id, instance_id)");
            statement.executeUpdate("""
                    CREATE TABLE IF NOT EXISTS seed_outputs (
                      id text NOT NULL PRIMARY KEY, instance_id text NOT NULL, path text NOT NULL, output text)""");
        } catch (SQLException e) {
            throw new StoreException("the seed's tables could not be made", e);
        }
    }

    @Override
    public List<CommitAnswer> commit(UUID node, List<Commit> batch, boolean again) {
        List<CommitAnswer> answers = new ArrayList<>();
        for (Commit commit : batch) {
            answers.add(one(node, commit));
        }
        return answers;
    }

    private CommitAnswer one(UUID node, Commit commit) {
        for (JournalRow settle : commit.settles()) {
            String id = id(commit.instance(), settle.path(), settle.attempt());
            cas(id, "dispatched", settle.to().wire());
            run(
                    "INSERT INTO seed_outputs (id, instance_id, path, output) VALUES (?, ?, ?, ?)",
                    id, commit.instance().id().toString(), settle.path(), settle.output() == null ? "" : settle.output());
        }
        for (ReceiptRow intent : commit.intents()) {
            String id = id(commit.instance(), intent.path(), intent.attempt());
            String now = clock.instant().toString();
            run(
                    "INSERT INTO seed_receipts (tenant_id, id, instance_id, state, record, created_at, updated_at)"
                            + " VALUES (?, ?, ?, 'planned', ?, ?, ?) ON CONFLICT (id) DO UPDATE SET id = EXCLUDED.id",
                    commit.instance().tenant(), id, commit.instance().id().toString(), intent.request(), now, now);
            cas(id, "planned", "prepared");
            cas(id, "prepared", "dispatched");
        }
        if (commit.release() != null) {
            commits.increment();
            return real.commit(
                            node,
                            List.of(new Commit(
                                    commit.instance(), commit.claim(), commit.transitionId(), List.of(), List.of(), List.of(), commit.events(),
                                    commit.release(), commit.resetTakeover())),
                            false)
                    .getFirst();
        }
        return new CommitAnswer.Settled(
                commit.intents().isEmpty() ? IntentAnswer.NONE : IntentAnswer.DISPATCHED, ReleaseAnswer.NONE, 0, false, false, false,
                clock.instant());
    }

    private static String id(InstanceKey instance, String path, int attempt) {
        return instance.id() + "/" + path + "#" + attempt;
    }

    private void cas(String id, String from, String to) {
        int rows = run(
                "UPDATE seed_receipts SET state = ?, updated_at = ? WHERE tenant_id = ? AND id = ? AND state = ?", to, clock.instant().toString(),
                "default", id, from);
        if (rows != 1) {
            throw new IllegalStateException("lost CAS of " + id + " from " + from);
        }
    }

    private int run(String sql, String... values) {
        commits.increment();
        try (Connection connection = pool.getConnection();
                PreparedStatement statement = connection.prepareStatement(sql)) {
            for (int i = 0; i < values.length; i++) {
                statement.setString(i + 1, values[i]);
            }
            return statement.executeUpdate();
        } catch (SQLException e) {
            throw new StoreException(sql, e);
        }
    }

    @Override
    public Durability durability() {
        return real.durability();
    }

    @Override
    public String description() {
        return real.description();
    }

    @Override
    public String historyId() {
        return real.historyId();
    }

    @Override
    public void registerNode(UUID node, String name, Duration lease) {
        real.registerNode(node, name, lease);
    }

    @Override
    public boolean heartbeat(UUID node, Duration lease) {
        return real.heartbeat(node, lease);
    }

    @Override
    public void fence(UUID node) {
        real.fence(node);
    }

    @Override
    public int fenceAndFree(int limit) {
        return real.fenceAndFree(limit);
    }

    @Override
    public List<StartAnswer> start(UUID node, List<Start> batch) {
        return real.start(node, batch);
    }

    @Override
    public OutsideAnswer settleFromOutside(OutsideMove move) {
        return real.settleFromOutside(move);
    }

    @Override
    public List<InstanceSnapshot> claim(UUID node, UUID nonce, int limit) {
        return real.claim(node, nonce, limit);
    }

    @Override
    public long millisUntilNextDue(Duration horizon) {
        return real.millisUntilNextDue(horizon);
    }

    @Override
    public List<InstanceKey> claimedUnder(UUID node, UUID nonce) {
        return real.claimedUnder(node, nonce);
    }

    @Override
    public Optional<InstanceSnapshot> load(InstanceKey key) {
        return real.load(key);
    }

    @Override
    public List<UUID> existingReceipts(String tenant, Collection<UUID> ids) {
        return List.copyOf(ids);
    }

    @Override
    public Queries queries() {
        return real.queries();
    }

    @Override
    public dev.waybill.store.DeskStore desk() {
        return real.desk();
    }

    @Override
    public SequenceStore sequences() {
        return real.sequences();
    }

    @Override
    public dev.waybill.store.DestinationHolds holds() {
        return real.holds();
    }

    /** The seed compares nothing; and what it has dispatched stands in its own tables. */
    @Override
    public void onCommitConnection(ConnectionCheck check) {}

    @Override
    public void onNotification(Runnable listener) {
        real.onNotification(listener);
    }

    @Override
    public void close() {
        pool.close();
        real.close();
    }
}
