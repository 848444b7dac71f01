package dev.waybill.store.postgres;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import dev.waybill.model.InstanceKey;
import dev.waybill.store.Commit;
import dev.waybill.store.CommitAnswer;
import dev.waybill.store.DeskStore;
import dev.waybill.store.Durability;
import dev.waybill.store.InstanceSnapshot;
import dev.waybill.store.OutsideAnswer;
import dev.waybill.store.OutsideMove;
import dev.waybill.store.Queries;
import dev.waybill.store.SequenceStore;
import dev.waybill.store.Start;
import dev.waybill.store.StartAnswer;
import dev.waybill.store.Store;
import dev.waybill.store.DestinationHolds;
import dev.waybill.store.EscalationStore;
import dev.waybill.store.WebhookStore;
import dev.waybill.store.jdbc.Migrations;
import dev.waybill.store.jdbc.Sql;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import java.util.UUID;
import javax.sql.DataSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A cell on PostgreSQL 14 or newer: one schema, unqualified SQL on the connection's search path. READ COMMITTED and compare-and-swap
 * everywhere; no advisory locks, no triggers, no state in sessions but plan settings made when a dedicated connection starts (store.md).
 *
 * <p>The role should own the schema and be no superuser: the append-only tables are protected by revoked privileges, which do not bind
 * a superuser.
 */
public final class PostgresStore implements Store {
    static final Logger LOG = LoggerFactory.getLogger(PostgresStore.class);
    /** Notifications are per database: cells that share one hear each other's hints, which costs a look. */
    static final String CHANNEL = "waybill";

    private static final int COMMITTERS = 4;
    private static final int CLAIMERS = 2;
    private static final int STARTERS = 4;
    private static final Duration WAIT = Duration.ofSeconds(30);
    private static final Migrations MIGRATIONS = new Migrations(
            PostgresStore.class, List.of("001_core.sql", "002_invariants.sql", "003_destinations.sql", "004_desk.sql", "005_webhooks.sql", "006_queue.sql", "007_escalations.sql"), "LOCK TABLE waybill_migrations IN SHARE ROW EXCLUSIVE MODE");

    private final String description;
    private final AutoCloseable pool;
    private final Links committers;
    private final Links claimers;
    private final Links starters;
    private final Links heartbeats;
    private final Reads reads;
    private final PgCommitter committer;
    private final PgStarts starts;
    private final PgOutside outside;
    private final PgNotifications notifications;
    private final Queries queries;
    private final SequenceStore sequences;
    private final PgHolds holds;
    private final WebhookStore webhooks;
    private volatile ConnectionCheck commitConnectionCheck = receipts -> {};

    private PostgresStore(String description, AutoCloseable pool, Links.Source dedicated, Links.Source pooled) {
        this.description = description;
        this.pool = pool;
        this.committers = new Links(dedicated, COMMITTERS, WAIT, this::commitConnectionOpened);
        this.claimers = new Links(dedicated, CLAIMERS, WAIT);
        this.starters = new Links(dedicated, STARTERS, WAIT);
        this.heartbeats = new Links(dedicated, 1, WAIT);
        this.reads = new Reads(pooled);
        this.committer = new PgCommitter(committers);
        this.starts = new PgStarts(starters);
        this.outside = new PgOutside(pooled);
        this.notifications = new PgNotifications(dedicated);
        this.queries = new PgQueries(reads);
        this.sequences = new PgSequences(reads);
        this.holds = new PgHolds(reads);
        this.webhooks = new PgWebhooks(reads);
    }

    /** @throws dev.waybill.model.WaybillException 400 STORE_URL_INVALID; see {@link PostgresConfig#ofStoreUrl} */
    public static PostgresStore open(String storeUrl) {
        return open(PostgresConfig.ofStoreUrl(storeUrl));
    }

    /** Direct connections for what the engine commits, and a small pool of its own for the rest. Connects when first used. */
    public static PostgresStore open(PostgresConfig config) {
        Properties properties = new Properties();
        properties.setProperty("ApplicationName", "waybill");
        properties.setProperty("tcpKeepAlive", "true");
        properties.setProperty("connectTimeout", Long.toString(seconds(config.connectTimeout())));
        properties.setProperty("loginTimeout", Long.toString(seconds(config.connectTimeout())));
        properties.setProperty("socketTimeout", Long.toString(seconds(config.socketTimeout())));
        if (config.user() != null) {
            properties.setProperty("user", config.user());
        }
        if (config.password() != null) {
            properties.setProperty("password", config.password());
        }
        HikariConfig hikari = new HikariConfig();
        hikari.setPoolName("waybill-reads");
        hikari.setJdbcUrl(config.url());
        hikari.setDataSourceProperties(properties);
        hikari.setMaximumPoolSize(config.poolSize());
        hikari.setMinimumIdle(0);
        hikari.setConnectionTimeout(config.connectTimeout().toMillis());
        hikari.setInitializationFailTimeout(-1);
        HikariDataSource pool = new HikariDataSource(hikari);
        String url = config.url();
        return new PostgresStore(describe(url), pool, () -> DriverManager.getConnection(url, properties), pool::getConnection);
    }

    /**
     * On the embedder's connections. About eight of them are kept while the store is open; give a data source that can spare them, and
     * that reaches PostgreSQL directly: behind a pooler in transaction mode set {@code prepareThreshold=0}, and expect no hints.
     */
    public static PostgresStore over(DataSource source) {
        return new PostgresStore("postgresql (data source)", () -> {}, source::getConnection, source::getConnection);
    }

    private static long seconds(Duration duration) {
        return Math.max(1, duration.toSeconds());
    }

    private static String describe(String url) {
        String plain = url.startsWith("jdbc:") ? url.substring("jdbc:".length()) : url;
        int question = plain.indexOf('?');
        String withoutParameters = question < 0 ? plain : plain.substring(0, question);
        int at = withoutParameters.indexOf('@');
        return at < 0 ? withoutParameters : "postgresql://" + withoutParameters.substring(at + 1);
    }

    /** Work on a connection of the pool. */
    record Reads(Links.Source pool) {
        @FunctionalInterface
        interface Work<T> {
            T on(Connection connection) throws SQLException;
        }

        /** One statement that writes, or several in a transaction of their own. */
        <T> T write(String what, Work<T> work) {
            try (Connection connection = pool.open()) {
                return work.on(connection);
            } catch (SQLException e) {
                throw PgErrors.store(what, e);
            }
        }

        /** A read. A connection that died in the pool (the server was restarted) costs a second try, not an error. */
        <T> T with(String what, Work<T> work) {
            try (Connection connection = pool.open()) {
                return work.on(connection);
            } catch (SQLException e) {
                if (!PgErrors.connectionLost(e)) {
                    throw PgErrors.store(what, e);
                }
            }
            return write(what, work);
        }
    }

    private static <T> T with(Links links, String what, Reads.Work<T> work) {
        Connection connection;
        try {
            connection = links.take();
        } catch (SQLException e) {
            throw PgErrors.store(what, e);
        }
        boolean keep = false;
        try {
            T result = work.on(connection);
            keep = true;
            return result;
        } catch (SQLException e) {
            keep = !PgErrors.connectionLost(e);
            throw PgErrors.store(what, e);
        } finally {
            if (keep) {
                links.give(connection);
            } else {
                links.drop(connection);
            }
        }
    }

    @Override
    public void migrate() {
        reads.write("migrate the schema", connection -> {
            MIGRATIONS.run(connection);
            return true;
        });
    }

    @Override
    public Durability durability() {
        return with(committers, "check durability", PgDurability::read);
    }

    @Override
    public String description() {
        return description;
    }

    @Override
    public String historyId() {
        return reads.with("read the system identifier", PgDurability::historyId);
    }

    @Override
    public void registerNode(UUID node, String name, Duration lease) {
        with(heartbeats, "register node " + node, connection -> {
            PgClaims.register(connection, node, name, lease);
            return true;
        });
    }

    @Override
    public boolean heartbeat(UUID node, Duration lease) {
        return with(heartbeats, "heartbeat of node " + node, connection -> PgClaims.heartbeat(connection, node, lease));
    }

    @Override
    public void fence(UUID node) {
        with(heartbeats, "fence node " + node, connection -> {
            PgClaims.fence(connection, node);
            return true;
        });
    }

    @Override
    public int fenceAndFree(int limit) {
        return with(claimers, "take over from dead nodes", connection -> PgClaims.fenceAndFree(connection, limit));
    }

    @Override
    public List<StartAnswer> start(UUID node, List<Start> batch) {
        return starts.start(node, batch);
    }

    @Override
    public List<CommitAnswer> commit(UUID node, List<Commit> batch, boolean again) {
        return committer.commit(node, batch, again);
    }

    @Override
    public OutsideAnswer settleFromOutside(OutsideMove move) {
        return outside.settle(move);
    }

    @Override
    public List<InstanceSnapshot> claim(UUID node, UUID nonce, int limit) {
        return limit <= 0
                ? List.of()
                : with(claimers, "claim for node " + node, connection -> PgClaims.claim(connection, node, nonce, limit));
    }

    @Override
    public long millisUntilNextDue(Duration horizon) {
        return with(claimers, "look for what is due next", connection -> PgClaims.millisUntilNextDue(connection, horizon));
    }

    @Override
    public List<InstanceKey> claimedUnder(UUID node, UUID nonce) {
        return reads.with("look for a lost claim", connection -> Sql.query(
                connection,
                "SELECT tenant_id, id FROM task_instances WHERE claim_node = ? AND claim_nonce = ? ORDER BY tenant_id, id",
                row -> new InstanceKey(row.getString(1), PgReader.uuid(row, "id")),
                node,
                nonce));
    }

    @Override
    public Optional<InstanceSnapshot> load(InstanceKey key) {
        return reads.with("load " + key, connection -> PgClaims.load(connection, key)).stream().findFirst();
    }

    @Override
    public List<UUID> existingReceipts(String tenant, Collection<UUID> ids) {
        return reads.with("look for receipts", connection -> existingReceipts(connection, tenant, ids));
    }

    private static List<UUID> existingReceipts(Connection connection, String tenant, Collection<UUID> ids) throws SQLException {
        return Sql.query(
                connection,
                "SELECT id FROM effect_receipts WHERE tenant_id COLLATE \"POSIX\" = ? AND id = ANY (?)",
                row -> PgReader.uuid(row, "id"),
                tenant,
                connection.createArrayOf("uuid", ids.toArray()));
    }

    @Override
    public void onCommitConnection(ConnectionCheck check) {
        commitConnectionCheck = check;
    }

    private void commitConnectionOpened(Connection connection) {
        commitConnectionCheck.opened((tenant, ids) -> {
            try {
                return existingReceipts(connection, tenant, ids);
            } catch (SQLException e) {
                throw PgErrors.store("look for receipts on a new connection", e);
            }
        });
    }

    @Override
    public Queries queries() {
        return queries;
    }

    @Override
    public Optional<WebhookStore> webhooks() {
        return Optional.of(webhooks);
    }

    @Override
    public Optional<EscalationStore> escalations() {
        return Optional.of((effect, threshold, payload) -> reads.write("escalate", connection -> Sql.update(
                        connection,
                        """
                        WITH told AS (
                          INSERT INTO effect_escalations (tenant_id, effect_id, threshold)
                          SELECT tenant_id, id, ? FROM effect_open
                           WHERE tenant_id = ? AND instance_id = ? AND path = ? AND attempt = ? AND state = 'unknown'
                              ON CONFLICT DO NOTHING
                          RETURNING tenant_id, effect_id)
                        INSERT INTO events (tenant_id, instance_id, type, subject, payload)
                        SELECT tenant_id, ?, 'effect.escalated', effect_id::text, ? FROM told
                        """,
                        threshold, effect.instance().tenant(), effect.instance().id(), effect.path(), effect.attempt(),
                        effect.instance().id(), payload)
                > 0));
    }

    @Override
    public DeskStore desk() {
        return new PgDesk(reads);
    }

    @Override
    public SequenceStore sequences() {
        return sequences;
    }

    @Override
    public DestinationHolds holds() {
        return holds;
    }

    @Override
    public void onNotification(Runnable listener) {
        notifications.add(listener);
    }

    @Override
    public void close() {
        notifications.close();
        for (AutoCloseable part : List.of(committers, claimers, starters, heartbeats, pool)) {
            try {
                part.close();
            } catch (RuntimeException e) {
                throw e;
            } catch (Exception e) {
                throw new IllegalStateException("closing the store", e);
            }
        }
    }
}
