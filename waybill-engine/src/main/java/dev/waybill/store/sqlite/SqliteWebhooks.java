package dev.waybill.store.sqlite;

import dev.waybill.store.WebhookStore;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

final class SqliteWebhooks implements WebhookStore {
    private static final String SELECT =
            """
            SELECT tenant_id, id, url, types, secret, previous_secret, previous_until, cursor, created_at, due_at, failures, failing_since,
                   succeeded_at, last_status, last_error, parked, sender, sender_until
              FROM webhook_endpoints""";

    private static final String HELD = " WHERE tenant_id = ? AND id = ? AND sender = ?";

    private final Lane readers;
    private final SqliteStore store;

    SqliteWebhooks(Lane readers, SqliteStore store) {
        this.readers = readers;
        this.store = store;
    }

    @Override
    public void add(String tenant, UUID id, String url, Set<String> types, String secret, @Nullable String cursor) {
        store.write((db, now) -> db.sql("""
                        INSERT INTO webhook_endpoints (tenant_id, id, url, types, secret, cursor, created_at, due_at)
                        VALUES (?, ?, ?, ?, ?, ?, ?, ?)""")
                .text(tenant).uuid(id).text(url).text(String.join(",", types)).text(secret).text(cursor).number(now).number(now)
                .update());
    }

    @Override
    public Optional<WebhookEndpoint> get(String tenant, UUID id) {
        return readers.call(db -> db.sql(SELECT + " WHERE tenant_id = ? AND id = ?").text(tenant).uuid(id).first(SqliteWebhooks::row));
    }

    @Override
    public List<WebhookEndpoint> list(String tenant) {
        return readers.call(db -> db.sql(SELECT + " WHERE tenant_id = ? ORDER BY created_at, id").text(tenant).list(SqliteWebhooks::row));
    }

    @Override
    public boolean remove(String tenant, UUID id) {
        return store.write((db, _) ->
                db.sql("DELETE FROM webhook_endpoints WHERE tenant_id = ? AND id = ?").text(tenant).uuid(id).update() > 0);
    }

    @Override
    public boolean rotate(String tenant, UUID id, String secret, Duration grace) {
        return store.write((db, now) -> db.sql("""
                        UPDATE webhook_endpoints SET previous_secret = secret, previous_until = ?, secret = ?
                         WHERE tenant_id = ? AND id = ?""")
                        .number(Rows.later(now, grace.toMillis())).text(secret).text(tenant).uuid(id)
                        .update()
                > 0);
    }

    @Override
    public boolean restart(String tenant, UUID id, @Nullable String cursor) {
        return store.write((db, now) -> db.sql("""
                        UPDATE webhook_endpoints
                           SET cursor = ?, parked = 0, failures = 0, failing_since = NULL, due_at = ?, sender = NULL, sender_until = NULL
                         WHERE tenant_id = ? AND id = ?""")
                        .text(cursor).number(now).text(tenant).uuid(id)
                        .update()
                > 0);
    }

    @Override
    public List<WebhookEndpoint> due() {
        long now = store.now();
        return readers.call(db -> db.sql(SELECT + """

                         WHERE parked = 0 AND due_at <= ? AND (sender IS NULL OR sender_until <= ?) ORDER BY due_at, id""")
                .number(now).number(now)
                .list(SqliteWebhooks::row));
    }

    @Override
    public Optional<WebhookEndpoint> claim(String tenant, UUID id, UUID sender, Duration lease) {
        return store.write((db, now) -> db.sql("""
                        UPDATE webhook_endpoints SET sender = ?, sender_until = ?
                         WHERE tenant_id = ? AND id = ? AND parked = 0 AND due_at <= ?
                           AND (sender IS NULL OR sender = ? OR sender_until <= ?)""")
                                .uuid(sender).number(Rows.later(now, lease.toMillis())).text(tenant).uuid(id).number(now).uuid(sender).number(now)
                                .update()
                        > 0
                ? db.sql(SELECT + HELD).text(tenant).uuid(id).uuid(sender).first(SqliteWebhooks::row)
                : Optional.empty());
    }

    @Override
    public boolean advance(String tenant, UUID id, UUID sender, String cursor, boolean delivered) {
        return store.write((db, now) -> (delivered
                        ? db.sql("""
                                UPDATE webhook_endpoints
                                   SET cursor = ?, failures = 0, failing_since = NULL, last_error = NULL, last_status = NULL, succeeded_at = ?"""
                                + HELD)
                                .text(cursor).number(now)
                        : db.sql("UPDATE webhook_endpoints SET cursor = ?" + HELD).text(cursor))
                        .text(tenant).uuid(id).uuid(sender)
                        .update()
                > 0);
    }

    @Override
    public boolean fail(String tenant, UUID id, UUID sender, @Nullable Integer status, String error, @Nullable Duration delay) {
        return store.write((db, now) -> db.sql("""
                        UPDATE webhook_endpoints
                           SET failures = failures + 1, failing_since = coalesce(failing_since, ?), last_status = ?, last_error = ?, parked = ?,
                               due_at = ?, sender = NULL, sender_until = NULL""" + HELD)
                        .number(now).number(status).text(error).flag(delay == null)
                        .number(delay == null ? now : Rows.later(now, delay.toMillis()))
                        .text(tenant).uuid(id).uuid(sender)
                        .update()
                > 0);
    }

    @Override
    public void release(String tenant, UUID id, UUID sender) {
        store.write((db, _) -> db.sql("UPDATE webhook_endpoints SET sender = NULL, sender_until = NULL" + HELD)
                .text(tenant).uuid(id).uuid(sender)
                .update());
    }

    @Override
    public List<Parked> counts() {
        return readers.call(db -> db.sql("""
                        SELECT tenant_id, count(*), sum(failures > 0 AND parked = 0), sum(parked) FROM webhook_endpoints
                         GROUP BY tenant_id ORDER BY tenant_id""")
                .list(row -> new Parked(row.getString(1), row.getLong(2), row.getLong(3), row.getLong(4))));
    }

    private static WebhookEndpoint row(ResultSet row) throws SQLException {
        int status = row.getInt(14);
        Integer lastStatus = row.wasNull() ? null : status;
        return new WebhookEndpoint(
                row.getString(1), Db.uuid(row, 2), row.getString(3), Set.of(row.getString(4).split(",")), row.getString(5), row.getString(6),
                time(row, 7), row.getString(8), Db.time(row.getLong(9)), Db.time(row.getLong(10)), row.getInt(11), time(row, 12), time(row, 13),
                lastStatus, row.getString(15), row.getInt(16) == 1);
    }

    private static @Nullable Instant time(ResultSet row, int column) throws SQLException {
        long micros = row.getLong(column);
        return row.wasNull() ? null : Db.time(micros);
    }
}
