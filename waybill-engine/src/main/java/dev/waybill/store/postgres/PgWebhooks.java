package dev.waybill.store.postgres;

import dev.waybill.store.WebhookStore;
import dev.waybill.store.jdbc.Sql;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

final class PgWebhooks implements WebhookStore {
    private static final String LATER = "now() + ?::bigint * interval '1 millisecond'";
    private static final String HELD = " WHERE tenant_id = ? AND id = ? AND sender = ?";
    private static final String SELECT = "SELECT * FROM webhook_endpoints WHERE ";

    private final PostgresStore.Reads reads;

    PgWebhooks(PostgresStore.Reads reads) {
        this.reads = reads;
    }

    @Override
    public void add(String tenant, UUID id, String url, Set<String> types, String secret, @Nullable String cursor) {
        update("INSERT INTO webhook_endpoints (tenant_id, id, url, types, secret, cursor) VALUES (?, ?, ?, ?, ?, ?)",
                tenant, id, url, String.join(",", types), secret, cursor);
    }

    @Override
    public Optional<WebhookEndpoint> get(String tenant, UUID id) {
        return select(SELECT + "tenant_id = ? AND id = ?", tenant, id).stream().findFirst();
    }

    @Override
    public List<WebhookEndpoint> list(String tenant) {
        return select(SELECT + "tenant_id = ? ORDER BY created_at, id", tenant);
    }

    @Override
    public boolean remove(String tenant, UUID id) {
        return update("DELETE FROM webhook_endpoints WHERE tenant_id = ? AND id = ?", tenant, id);
    }

    @Override
    public boolean rotate(String tenant, UUID id, String secret, Duration grace) {
        return update(
                "UPDATE webhook_endpoints SET previous_secret = secret, previous_until = " + LATER + ", secret = ? WHERE tenant_id = ? AND id = ?",
                grace.toMillis(), secret, tenant, id);
    }

    @Override
    public boolean restart(String tenant, UUID id, @Nullable String cursor) {
        return update(
                """
                UPDATE webhook_endpoints
                   SET cursor = ?, parked = false, failures = 0, failing_since = NULL, due_at = now(), sender = NULL, sender_until = NULL
                 WHERE tenant_id = ? AND id = ?
                """,
                cursor, tenant, id);
    }

    @Override
    public List<WebhookEndpoint> due() {
        return select(SELECT + "NOT parked AND due_at <= now() AND (sender IS NULL OR sender_until <= now()) ORDER BY due_at, id");
    }

    @Override
    public Optional<WebhookEndpoint> claim(String tenant, UUID id, UUID sender, Duration lease) {
        return write("UPDATE webhook_endpoints SET sender = ?, sender_until = " + LATER + """

                         WHERE tenant_id = ? AND id = ? AND NOT parked AND due_at <= now()
                           AND (sender IS NULL OR sender = ? OR sender_until <= now())
                        RETURNING *
                        """,
                        sender, lease.toMillis(), tenant, id, sender)
                .stream()
                .findFirst();
    }

    @Override
    public boolean advance(String tenant, UUID id, UUID sender, String cursor, boolean delivered) {
        String set = delivered
                ? "cursor = ?, failures = 0, failing_since = NULL, last_error = NULL, last_status = NULL, succeeded_at = now()"
                : "cursor = ?";
        return update("UPDATE webhook_endpoints SET " + set + HELD, cursor, tenant, id, sender);
    }

    @Override
    public boolean fail(String tenant, UUID id, UUID sender, @Nullable Integer status, String error, @Nullable Duration delay) {
        return update(
                """
                UPDATE webhook_endpoints
                   SET failures = failures + 1, failing_since = coalesce(failing_since, now()), last_status = ?::int, last_error = ?, parked = ?,
                       due_at = now() + ?::bigint * interval '1 millisecond', sender = NULL, sender_until = NULL"""
                        + HELD,
                status, error, delay == null, delay == null ? 0L : delay.toMillis(), tenant, id, sender);
    }

    @Override
    public void release(String tenant, UUID id, UUID sender) {
        update("UPDATE webhook_endpoints SET sender = NULL, sender_until = NULL" + HELD, tenant, id, sender);
    }

    @Override
    public List<Parked> counts() {
        return reads.with("count webhooks", connection -> Sql.query(
                connection,
                """
                SELECT tenant_id, count(*), count(*) FILTER (WHERE failures > 0 AND NOT parked), count(*) FILTER (WHERE parked)
                  FROM webhook_endpoints GROUP BY tenant_id ORDER BY tenant_id
                """,
                row -> new Parked(row.getString(1), row.getLong(2), row.getLong(3), row.getLong(4))));
    }

    private boolean update(String sql, @Nullable Object... arguments) {
        return reads.write("write a webhook", connection -> Sql.update(connection, sql, arguments) > 0);
    }

    private List<WebhookEndpoint> write(String sql, @Nullable Object... arguments) {
        return reads.write("claim a webhook", connection -> Sql.query(connection, sql, PgWebhooks::row, arguments));
    }

    private List<WebhookEndpoint> select(String sql, @Nullable Object... arguments) {
        return reads.with("read webhooks", connection -> Sql.query(connection, sql, PgWebhooks::row, arguments));
    }

    private static WebhookEndpoint row(ResultSet row) throws SQLException {
        return new WebhookEndpoint(
                row.getString("tenant_id"), PgReader.uuid(row, "id"), row.getString("url"), Set.of(row.getString("types").split(",")),
                row.getString("secret"), row.getString("previous_secret"), time(row, "previous_until"), row.getString("cursor"),
                PgReader.instant(row, "created_at"), PgReader.instant(row, "due_at"), row.getInt("failures"), time(row, "failing_since"),
                time(row, "succeeded_at"), row.getObject("last_status", Integer.class), row.getString("last_error"), row.getBoolean("parked"));
    }

    private static @Nullable Instant time(ResultSet row, String column) throws SQLException {
        OffsetDateTime time = row.getObject(column, OffsetDateTime.class);
        return time == null ? null : time.toInstant();
    }
}
