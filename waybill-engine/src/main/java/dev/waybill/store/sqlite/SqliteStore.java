package dev.waybill.store.sqlite;

import dev.waybill.model.InstanceKey;
import dev.waybill.model.WaybillException;
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
import dev.waybill.store.StoreException;
import dev.waybill.store.UnclearCommitException;
import dev.waybill.store.DestinationHolds;
import dev.waybill.store.EscalationStore;
import dev.waybill.store.WebhookStore;
import dev.waybill.store.jdbc.Migrations;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;
import org.sqlite.SQLiteConfig;
import org.sqlite.SQLiteDataSource;
import org.sqlite.SQLiteErrorCode;
import org.sqlite.SQLiteException;

/**
 * The embedded store: one file, one engine, one writer thread. WAL with synchronous=FULL: an answered commit survives a power failure.
 * The engine's clock is the database's clock; it never goes below the newest time that is stored.
 */
public final class SqliteStore implements Store {
    private static final int APPLICATION_ID = 0x57617962; // "Wayb"
    private static final List<String> MIGRATIONS = List.of("001_core.sql", "002_invariants.sql", "003_destinations.sql", "004_desk.sql", "005_webhooks.sql", "006_queue.sql", "007_escalations.sql");
    /** The number of the newest file: files of one release may come from several hands, so numbers can have gaps. */
    private static final int SCHEMA = Integer.parseInt(MIGRATIONS.getLast().substring(0, 3));
    private static final int BUSY_MILLIS = 10_000;
    private static final int CACHE_KIBIBYTES = 65_536;
    /** Larger than the default: a checkpoint syncs the file, and more commits share one. */
    private static final int CHECKPOINT_PAGES = 4_000;

    private final SqliteConfig config;
    private final Path file;
    private final InstantSource clock;
    private final UnaryOperator<Connection> tap;
    private final EngineLock lock;
    private final Lane writer;
    private final Lane readers;
    private final SqliteQueries queries;
    private final SqliteSequences sequences;
    private final SqliteHolds holds;
    private final SqliteDesk desk;
    private final SqliteWebhooks webhooks;
    private final AtomicLong newest = new AtomicLong();
    /** The last node that registered before we had the lock: it and all before it are dead. */
    private final AtomicLong formerNodes = new AtomicLong(-1);

    /** Why nothing is written any more: after a failed sync nobody knows what the disk holds until the file is opened anew. */
    private volatile @Nullable String broken;

    /** With the usual settings; see {@link #SqliteStore(SqliteConfig, InstantSource)}. */
    public static SqliteStore open(Path file, InstantSource clock) {
        return new SqliteStore(SqliteConfig.of(file), clock);
    }

    /**
     * Takes the lock of the file and opens it, creating it when there is none.
     *
     * @param clock database time, read once for each transaction
     * @throws WaybillException STORE_IN_USE when another engine has the file, STORE_NOT_OURS when it is not Waybill's, STORE_NEWER when
     *                          a later release wrote it
     */
    public SqliteStore(SqliteConfig config, InstantSource clock) {
        this(config, clock, UnaryOperator.identity());
    }

    /**
     * As {@link #SqliteStore(SqliteConfig, InstantSource)}.
     *
     * @param tap sees every connection before it is used: for tests that count, cut or stop at a call
     */
    public SqliteStore(SqliteConfig config, InstantSource clock, UnaryOperator<Connection> tap) {
        this.config = config;
        this.clock = clock;
        this.tap = tap;
        this.file = real(config.file());
        EngineLock taken = null;
        Lane opened = null;
        try {
            taken = EngineLock.take(file, clock.instant());
            opened = new Lane("waybill-sqlite-writer", 1, () -> open(false));
            opened.call(db -> {
                refuseForeign(db);
                return true;
            });
            this.readers = new Lane("waybill-sqlite-reader", config.readers(), () -> open(true));
        } catch (IOException | SQLException | RuntimeException e) {
            close(opened, taken);
            throw refusal(e);
        }
        this.lock = taken;
        this.writer = opened;
        this.queries = new SqliteQueries(readers);
        this.sequences = new SqliteSequences(readers, this);
        this.holds = new SqliteHolds(readers, this);
        this.desk = new SqliteDesk(readers, this);
        this.webhooks = new SqliteWebhooks(readers, this);
    }

    private RuntimeException refusal(Exception e) {
        Throwable cause = e instanceof StoreException && e.getCause() != null ? e.getCause() : e;
        return switch (cause) {
            case WaybillException refused -> refused;
            case SQLiteException sqlite when sqlite.getResultCode() == SQLiteErrorCode.SQLITE_NOTADB -> notOurs("is no SQLite database");
            case SQLException sqlite -> new StoreException("cannot open " + file + ": " + sqlite.getMessage(), sqlite);
            case IOException io -> new StoreException("cannot lock " + file + ": " + io.getMessage(), io);
            case RuntimeException bug -> bug;
            default -> new IllegalStateException(cause);
        };
    }

    private static Path real(Path file) {
        try {
            Path parent = file.toAbsolutePath().normalize().getParent();
            if (parent != null) {
                Files.createDirectories(parent);
            }
            // Two names of one file must meet at one lock.
            return Files.exists(file) ? file.toRealPath() : (parent == null ? file : parent.toRealPath().resolve(file.getFileName()));
        } catch (IOException e) {
            throw new UncheckedIOException("cannot reach " + file, e);
        }
    }

    private Db open(boolean readOnly) throws SQLException {
        SQLiteConfig pragmas = new SQLiteConfig();
        pragmas.setBusyTimeout(BUSY_MILLIS);
        // Else the driver prepares and runs one more SELECT behind every INSERT.
        pragmas.setGetGeneratedKeys(false);
        SQLiteDataSource source = new SQLiteDataSource(pragmas);
        source.setUrl("jdbc:sqlite:" + file);
        Connection connection = tap.apply(source.getConnection());
        Db db = new Db(connection);
        try {
            db.execute("PRAGMA foreign_keys = OFF");
            db.execute("PRAGMA cache_size = -" + (readOnly ? CACHE_KIBIBYTES / 8 : CACHE_KIBIBYTES));
            if (readOnly) {
                db.execute("PRAGMA query_only = ON");
            } else {
                db.execute("PRAGMA synchronous = " + (config.syncEveryCommit() ? "FULL" : "NORMAL"));
                // macOS answers fsync before the disk has the bytes; elsewhere this is nothing.
                db.execute("PRAGMA fullfsync = ON");
                db.execute("PRAGMA checkpoint_fullfsync = ON");
                db.execute("PRAGMA wal_autocheckpoint = " + CHECKPOINT_PAGES);
            }
            return db;
        } catch (SQLException | RuntimeException e) {
            db.close();
            throw e;
        }
    }

    private void refuseForeign(Db db) throws SQLException {
        long application = pragma(db, "application_id");
        long version = pragma(db, "user_version");
        // A start that died in the middle of the first migration leaves the list of migrations and nothing else.
        boolean fresh = application == 0
                && version == 0
                && !db.sql("SELECT 1 FROM sqlite_schema WHERE tbl_name <> 'waybill_migrations'").exists();
        if (!fresh && application != APPLICATION_ID) {
            throw notOurs("is another program's SQLite database (application_id " + application + ")");
        }
        if (version > SCHEMA) {
            throw WaybillException.conflict(
                    "STORE_NEWER",
                    file + " was written by a newer release (schema " + version + ", this one knows " + SCHEMA + ")",
                    "start that release or a newer one");
        }
        db.execute("PRAGMA journal_mode = WAL");
    }

    private WaybillException notOurs(String what) {
        return WaybillException.conflict("STORE_NOT_OURS", file + " " + what, "name another file");
    }

    private static long pragma(Db db, String name) throws SQLException {
        return db.sql("PRAGMA " + name).first(row -> row.getLong(1)).orElseThrow();
    }

    @Override
    public void migrate() {
        writer.call(db -> {
            new Migrations(SqliteStore.class, MIGRATIONS, "").run(db.connection());
            // Every table of the list grows at its end: the last row has the newest time. What only touches instances lies between heartbeats.
            Long stored = db.sql("""
                            SELECT max(at) FROM (
                              SELECT at FROM (SELECT at FROM effect_receipts ORDER BY rowid DESC LIMIT 1)
                              UNION ALL SELECT at FROM (SELECT at FROM receipt_journal ORDER BY rowid DESC LIMIT 1)
                              UNION ALL SELECT at FROM (SELECT at FROM block_outputs ORDER BY rowid DESC LIMIT 1)
                              UNION ALL SELECT at FROM (SELECT at FROM effect_evidence ORDER BY seq DESC LIMIT 1)
                              UNION ALL SELECT at FROM (SELECT at FROM audit_log ORDER BY seq DESC LIMIT 1)
                              UNION ALL SELECT at FROM (SELECT at FROM events ORDER BY seq DESC LIMIT 1)
                              UNION ALL SELECT at FROM (SELECT created_at AS at FROM instance_data ORDER BY rowid DESC LIMIT 1)
                              UNION ALL SELECT max(seen_at) FROM nodes)""")
                    .first(row -> row.getLong(1))
                    .orElse(0L);
            newest.accumulateAndGet(stored, Math::max);
            formerNodes.compareAndSet(-1, db.sql("SELECT max(seq) FROM nodes").first(row -> row.getLong(1)).orElse(0L));
            return true;
        });
    }

    @Override
    public Durability durability() {
        return readers.call(db -> {
            List<String> weaknesses = new ArrayList<>();
            if (!config.syncEveryCommit()) {
                weaknesses.add("synchronous is NORMAL: a power failure can lose commits that were answered");
            }
            String mode = db.sql("PRAGMA journal_mode").first(row -> row.getString(1)).orElse("");
            if (!mode.equals("wal")) {
                weaknesses.add("journal_mode is " + mode + " and not wal: the file system has no shared memory");
            }
            return new Durability(weaknesses, List.of());
        });
    }

    @Override
    public String description() {
        return "sqlite:" + file;
    }

    @Override
    public String historyId() {
        return readers.call(db -> db.sql("SELECT value FROM store_meta WHERE name = 'history'").first(row -> row.getString(1)).orElse(""));
    }

    // --- transactions ----------------------------------------------------------------------------------------------------------

    @FunctionalInterface
    interface Transaction<T> {
        T run(Db db, long now) throws SQLException;
    }

    /** One transaction on the writer thread. */
    <T> T write(Transaction<T> transaction) {
        return writer.call(db -> {
            String reason = broken;
            if (reason != null) {
                throw new StoreException(reason, new IllegalStateException(reason));
            }
            db.execute("BEGIN IMMEDIATE");
            T answer;
            try {
                answer = transaction.run(db, now());
            } catch (Throwable e) {
                rollback(db, e);
                throw e;
            }
            commit(db);
            return answer;
        });
    }

    private void commit(Db db) throws SQLException {
        try {
            db.execute("COMMIT");
        } catch (SQLException e) {
            rollback(db, e);
            if (e instanceof SQLiteException sqlite && sqlite.getResultCode().name().startsWith("SQLITE_IOERR")) {
                broken = "the disk refused a commit (" + e.getMessage() + "): restart, and the file tells what is durable";
            }
            throw new UnclearCommitException("COMMIT on " + file + " failed: " + e.getMessage(), e);
        }
    }

    private static void rollback(Db db, Throwable reason) {
        try {
            db.execute("ROLLBACK");
        } catch (SQLException e) {
            // SQLite rolls back by itself after some errors; then there is nothing left to do.
            reason.addSuppressed(e);
        }
    }

    /** A read of one moment. Whatever fails, its end is tried: a connection left in a transaction would refuse every later read. */
    private <T> T read(Transaction<T> transaction) {
        return readers.call(db -> {
            db.execute("BEGIN");
            try {
                T answer = transaction.run(db, now());
                db.execute("COMMIT");
                return answer;
            } catch (Throwable e) {
                rollback(db, e);
                throw e;
            }
        });
    }

    long now() {
        return newest.accumulateAndGet(Db.micros(clock.instant()), Math::max);
    }

    // --- nodes -----------------------------------------------------------------------------------------------------------------

    @Override
    public void registerNode(UUID node, String name, Duration lease) {
        write((db, now) -> {
            db.sql("UPDATE nodes SET fenced = 1 WHERE fenced = 0 AND seq <= ?").number(formerNodes.get()).update();
            Claims.register(db, node, name, Rows.later(now, lease.toMillis()), now);
            return true;
        });
    }

    @Override
    public boolean heartbeat(UUID node, Duration lease) {
        return write((db, now) -> Claims.heartbeat(db, node, Rows.later(now, lease.toMillis()), now));
    }

    @Override
    public void fence(UUID node) {
        write((db, _) -> db.sql("UPDATE nodes SET fenced = 1 WHERE id = ?").uuid(node).update());
    }

    @Override
    public int fenceAndFree(int limit) {
        return write((db, now) -> Claims.free(db, limit, now));
    }

    // --- moves -----------------------------------------------------------------------------------------------------------------

    @Override
    public List<StartAnswer> start(UUID node, List<Start> batch) {
        return write((db, now) -> Starts.run(db, node, batch, Claims.alive(db, node, now), now));
    }

    @Override
    public List<CommitAnswer> commit(UUID node, List<Commit> batch, boolean again) {
        Set<InstanceKey> members = HashSet.newHashSet(batch.size());
        for (Commit commit : batch) {
            if (!members.add(commit.instance())) {
                throw new IllegalArgumentException("two members of the batch move " + commit.instance());
            }
        }
        List<CommitAnswer> answers = write((db, now) -> {
            UUID alive = Claims.alive(db, node, now) ? node : null;
            try {
                db.execute("SAVEPOINT batch");
                List<CommitAnswer> fast = new Commits(db, alive, again, false, now).run(batch);
                db.execute("RELEASE batch");
                return fast;
            } catch (Commits.Clash e) {
                db.execute("ROLLBACK TO batch");
                db.execute("RELEASE batch");
                return careful(db, alive, again, now, batch);
            }
        });
        return answers;
    }

    private static List<CommitAnswer> careful(Db db, @Nullable UUID alive, boolean again, long now, List<Commit> batch) throws SQLException {
        try {
            return new Commits(db, alive, again, true, now).run(batch);
        } catch (Commits.Clash e) {
            throw new IllegalStateException("a careful commit met a clash", e);
        }
    }

    @Override
    public OutsideAnswer settleFromOutside(OutsideMove move) {
        return write((db, now) -> OutsideMoves.run(db, move, now));
    }

    @Override
    public List<InstanceSnapshot> claim(UUID node, UUID nonce, int limit) {
        return write((db, now) ->
                Claims.alive(db, node, now) ? Claims.claim(db, node, nonce, limit, now) : List.<InstanceSnapshot>of());
    }

    @Override
    public long millisUntilNextDue(Duration horizon) {
        return read((db, now) -> {
            Long next = Claims.nextDue(db);
            return next == null ? horizon.toMillis() : Math.clamp(Math.ceilDiv(next - now, 1_000L), 0, horizon.toMillis());
        });
    }

    // --- reads -----------------------------------------------------------------------------------------------------------------

    @Override
    public List<InstanceKey> claimedUnder(UUID node, UUID nonce) {
        return read((db, _) -> db.sql("SELECT tenant_id, id FROM task_instances WHERE claim_node = ? AND claim_nonce = ? ORDER BY tenant_id, id")
                .uuid(node)
                .uuid(nonce)
                .list(row -> new InstanceKey(row.getString(1), Db.uuid(row, 2))));
    }

    @Override
    public Optional<InstanceSnapshot> load(InstanceKey key) {
        return read((db, now) -> Rows.snapshot(db, key, false, now));
    }

    @Override
    public List<UUID> existingReceipts(String tenant, Collection<UUID> ids) {
        return read((db, _) -> {
            List<UUID> existing = new ArrayList<>();
            for (UUID id : ids) {
                if (db.sql(Rows.SEQ_BY_ID + " LIMIT 1").text(tenant).uuid(id).exists()) {
                    existing.add(id);
                }
            }
            return existing;
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
        return Optional.of((effect, threshold, payload) -> write((db, now) -> {
            boolean first = db.sql("""
                            INSERT INTO effect_escalations (tenant_id, effect_id, threshold, at)
                            SELECT tenant_id, id, ?, ? FROM effect_open
                             WHERE tenant_id = ? AND instance_id = ? AND path = ? AND attempt = ? AND state = 'unknown'
                                ON CONFLICT DO NOTHING""")
                            .text(threshold).number(now).text(effect.instance().tenant()).uuid(effect.instance().id()).text(effect.path())
                            .number(effect.attempt())
                            .update()
                    > 0;
            if (first) {
                db.sql("""
                                INSERT INTO events (tenant_id, instance_id, type, subject, at, payload)
                                VALUES (?, ?, 'effect.escalated', ?, ?, ?)""")
                        .text(effect.instance().tenant()).uuid(effect.instance().id()).text(effect.id().toString()).number(now).text(payload)
                        .update();
            }
            return first;
        }));
    }

    @Override
    public DeskStore desk() {
        return desk;
    }

    @Override
    public SequenceStore sequences() {
        return sequences;
    }

    @Override
    public DestinationHolds holds() {
        return holds;
    }

    /** The file is locked while it is open: nobody puts another in its place. */
    @Override
    public void onCommitConnection(ConnectionCheck check) {}

    /** One engine has the file, and it knows what it wrote: there is nobody to hear of. */
    @Override
    public void onNotification(Runnable listener) {}

    @Override
    public void close() {
        readers.close();
        close(writer, lock);
    }

    private static void close(@Nullable Lane writer, @Nullable EngineLock lock) {
        if (writer != null) {
            writer.close();
        }
        if (lock != null) {
            try {
                lock.close();
            } catch (IOException e) {
                throw new UncheckedIOException("cannot give the lock up", e);
            }
        }
    }
}
