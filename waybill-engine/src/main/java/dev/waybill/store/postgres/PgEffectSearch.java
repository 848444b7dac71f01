package dev.waybill.store.postgres;

import dev.waybill.model.EffectState;
import dev.waybill.store.Queries.EffectFilter;
import dev.waybill.store.Queries.EffectView;
import dev.waybill.store.jdbc.Sql;
import dev.waybill.store.postgres.PgQueries.Where;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * One search for effects, newest first. What waits for people is found in the queue; everything else by a key, in an instance, in a
 * time range, or, when nothing narrows it, in windows that grow back from the newest. Receipts are never counted or read through.
 */
final class PgEffectSearch {
    /** How far back a search without a bound looks; whoever wants older ones names a time range. */
    private static final List<Duration> WINDOWS =
            List.of(Duration.ofSeconds(2), Duration.ofMinutes(1), Duration.ofMinutes(30), Duration.ofDays(1), Duration.ofDays(30));

    private static final int PAGE = 200;

    private static final String VIEW =
            """
            SELECT %s, %s
              FROM %%s
              LEFT JOIN LATERAL (
                SELECT * FROM receipt_journal j
                 WHERE j.tenant_id = r.tenant_id AND j.instance_id = r.instance_id AND j.path = r.path AND j.attempt = r.attempt
                 ORDER BY j.n DESC LIMIT 1) j ON true
             WHERE %%s
             ORDER BY %%s
             LIMIT ?
            """
                    .formatted(PgReader.RECEIPT, PgReader.journal("j", "j_", false));

    private static final String RECEIPTS = "effect_receipts r";
    private static final String QUEUE = "effect_open o JOIN effect_receipts r USING (tenant_id, instance_id, path, attempt)";

    private static final String BY_PROVIDER =
            """
            (r.tenant_id, r.instance_id, r.path, r.attempt) IN (
              SELECT p.tenant_id, p.instance_id, p.path, p.attempt FROM receipt_journal p
               WHERE p.tenant_id COLLATE "POSIX" = ? AND p.provider_receipt_id = ?)
            """;

    /** A word anywhere: three indexes, one after the other. */
    private static final String BY_NAME =
            """
            (r.tenant_id, r.instance_id, r.path, r.attempt) IN (
              SELECT n.tenant_id, n.instance_id, n.path, n.attempt FROM effect_receipts n WHERE n.tenant_id COLLATE "POSIX" = ? AND n.id = ?::uuid
              UNION
              SELECT n.tenant_id, n.instance_id, n.path, n.attempt FROM effect_receipts n WHERE n.tenant_id COLLATE "POSIX" = ? AND n.idempotency_key = ?
              UNION
              SELECT p.tenant_id, p.instance_id, p.path, p.attempt FROM receipt_journal p
               WHERE p.tenant_id COLLATE "POSIX" = ? AND p.provider_receipt_id = ?)
            """;

    /** A text without escapes holds every value of it as it is. What passes may have the label: the caller looks into it. */
    private static final String MAY_BE_LABELLED = "(strpos(%1$s.labels, ?) > 0 OR strpos(%1$s.labels, '\\') > 0)";

    /** The same word inside a bounded search; in the queue the row itself decides, and a receipt is visited only for a match. */
    private static final String BY_WORD =
            """
            (%1$s.id = ?::uuid OR %1$s.idempotency_key = ? OR %1$s.request_sha256 = ? OR %1$s.destination_fingerprint = ? OR %1$s.path = ?
             OR """
                    + MAY_BE_LABELLED
                    + """

             OR (%1$s.instance_id, %1$s.path, %1$s.attempt) IN (
                SELECT p.instance_id, p.path, p.attempt FROM receipt_journal p
                 WHERE p.tenant_id COLLATE "POSIX" = ? AND p.provider_receipt_id = ?))
            """;

    private final Connection connection;
    private final EffectFilter filter;

    PgEffectSearch(Connection connection, EffectFilter filter) {
        this.connection = connection;
        this.filter = filter;
    }

    static Optional<EffectView> one(Connection connection, String tenant, UUID receiptId) throws SQLException {
        return Sql.first(
                connection,
                VIEW.formatted(RECEIPTS, "r.tenant_id COLLATE \"POSIX\" = ? AND r.id = ?", "r.at"),
                PgQueries::view,
                tenant,
                receiptId,
                1);
    }

    List<EffectView> run() throws SQLException {
        Place after = filter.after() == null ? null : Place.of(filter.after());
        boolean keyed = filter.openOnly() || filter.states().equals(Set.of(EffectState.UNKNOWN)) || filter.instance() != null
                || filter.execution() != null || filter.id() != null || filter.idempotencyKey() != null
                || filter.providerReceiptId() != null || (filter.word() != null && !filter.bounded());
        if (keyed) {
            return pages(after, null);
        }
        // By time alone: what a page needs lies near its end, and a whole day would be sorted for it.
        Instant newest = after != null ? after.at() : filter.to() != null ? filter.to() : databaseNow();
        List<EffectView> found = List.of();
        for (Duration window : WINDOWS) {
            Instant notBefore = newest.minus(window);
            if (filter.from() != null && !notBefore.isAfter(filter.from())) {
                break;
            }
            found = pages(after, notBefore);
            if (found.size() == filter.limit()) {
                return found;
            }
        }
        return filter.from() == null && filter.to() == null ? found : pages(after, null);
    }

    private Instant databaseNow() throws SQLException {
        return Sql.first(connection, "SELECT now() AS at", row -> PgReader.instant(row, "at")).orElseThrow();
    }

    private List<EffectView> pages(@Nullable Place start, @Nullable Instant notBefore) throws SQLException {
        boolean byLabel = filter.label() != null || (filter.word() != null && filter.bounded());
        List<EffectView> result = new ArrayList<>();
        Place after = start;
        while (true) {
            int size = byLabel ? PAGE : filter.limit();
            List<EffectView> page = page(after, notBefore, size);
            for (EffectView view : page) {
                if (result.size() < filter.limit() && (!byLabel || accepted(view))) {
                    result.add(view);
                }
            }
            if (page.size() < size || result.size() == filter.limit()) {
                return result;
            }
            after = Place.of(page.getLast().cursor());
        }
    }

    private List<EffectView> page(@Nullable Place after, @Nullable Instant notBefore, int size) throws SQLException {
        Text text = text(after, notBefore, size);
        return Sql.query(connection, text.sql, PgQueries::view, text.arguments);
    }

    /** How the database would find the first page, a line for each node of the plan. */
    List<String> plan() throws SQLException {
        Text text = text(null, null, filter.limit());
        return Sql.query(connection, "EXPLAIN " + text.sql, row -> row.getString(1), text.arguments);
    }

    private record Text(String sql, @Nullable Object[] arguments) {}

    private Text text(@Nullable Place after, @Nullable Instant notBefore, int size) throws SQLException {
        boolean queue = filter.openOnly() || filter.states().equals(Set.of(EffectState.UNKNOWN));
        Where where = new Where("r.tenant_id = ?", filter.tenant());
        if (queue) {
            where.and("o.tenant_id COLLATE \"POSIX\" = ?", filter.tenant());
        }
        if (!filter.states().isEmpty()) {
            where.and(
                    "coalesce(j.to_state, r.state) = ANY (?)",
                    connection.createArrayOf("text", filter.states().stream().map(EffectState::wire).toArray(String[]::new)));
        }
        if (filter.instance() != null) {
            where.and("r.instance_id = ? AND r.tenant_id = ?", filter.instance().id(), filter.instance().tenant());
        }
        if (filter.execution() != null) {
            where.and(
                    """
                    r.execution_id = ? AND r.instance_id IN (
                      SELECT d.instance_id FROM instance_data d WHERE d.tenant_id COLLATE "POSIX" = ? AND d.execution_id = ?)""",
                    filter.execution(), filter.tenant(), filter.execution());
        }
        if (filter.id() != null || filter.idempotencyKey() != null) {
            where.and("r.tenant_id COLLATE \"POSIX\" = ?", filter.tenant());
        }
        same(where, "r.id", filter.id());
        String alias = queue ? "o" : "r";
        same(where, alias + ".path", filter.block());
        same(where, alias + ".request_sha256", digest(filter.requestSha256()));
        same(where, alias + ".destination_fingerprint", digest(filter.fingerprint()));
        same(where, alias + ".idempotency_key", filter.idempotencyKey());
        same(where, alias + ".claim_epoch", filter.epoch());
        same(where, alias + ".attempt", filter.attempt());
        if (filter.providerReceiptId() != null) {
            where.and(BY_PROVIDER, filter.tenant(), filter.providerReceiptId());
        }
        if (filter.label() != null) {
            where.and(MAY_BE_LABELLED.formatted(alias), filter.label());
        }
        word(where, alias);
        if (filter.from() != null) {
            where.and(alias + ".at >= ?", time(filter.from()));
        }
        if (filter.to() != null) {
            where.and(alias + ".at < ?", time(filter.to()));
        }
        if (notBefore != null) {
            where.and(alias + ".at >= ?", time(notBefore));
        }
        if (after != null) {
            where.and("(" + alias + ".at, " + alias + ".id) < (?, ?)", time(after.at()), after.id());
            where.and(alias + ".at <= ?", time(after.at()));
        }
        return new Text(
                VIEW.formatted(queue ? QUEUE : RECEIPTS, where.sql(), "%1$s.at DESC, %1$s.id DESC".formatted(alias)), where.arguments(size));
    }

    private void word(Where where, String alias) {
        String word = filter.word();
        if (word == null) {
            return;
        }
        UUID id = uuidOrNull(word);
        if (filter.bounded()) {
            where.and(
                    BY_WORD.formatted(alias), id, word, Rows.digest(word), Rows.digest(word), word, word, filter.tenant(), word);
        } else {
            where.and(BY_NAME, filter.tenant(), id, filter.tenant(), word, filter.tenant(), word);
        }
    }

    /** What SQL could not decide: labels. */
    private boolean accepted(EffectView view) throws SQLException {
        var receipt = view.receipt();
        if (filter.label() != null && !PgQueries.labelled(receipt.labels(), filter.label())) {
            return false;
        }
        String word = filter.word();
        return word == null
                || word.equals(receipt.id().toString())
                || word.equals(receipt.idempotencyKey())
                || word.equals(receipt.requestSha256())
                || word.equals(receipt.destinationFingerprint())
                || word.equals(receipt.path())
                || PgQueries.labelled(receipt.labels(), word)
                || hasProviderId(view, word);
    }

    private boolean hasProviderId(EffectView view, String word) throws SQLException {
        return Sql.first(
                        connection,
                        """
                        SELECT 1 FROM receipt_journal
                         WHERE tenant_id = ? AND instance_id = ? AND path = ? AND attempt = ? AND provider_receipt_id = ? LIMIT 1
                        """,
                        row -> true,
                        view.instance().tenant(),
                        view.instance().id(),
                        view.receipt().path(),
                        view.receipt().attempt(),
                        word)
                .isPresent();
    }

    private static void same(Where where, String column, @Nullable Object value) {
        if (value != null) {
            where.and(column + " = ?", value);
        }
    }

    private static byte @Nullable [] digest(@Nullable String text) {
        return text == null ? null : Rows.digest(text);
    }

    private static @Nullable UUID uuidOrNull(String word) {
        try {
            UUID id = UUID.fromString(word);
            return id.toString().equals(word) ? id : null;
        } catch (IllegalArgumentException e) {
            return null;
        }
    }

    private static OffsetDateTime time(Instant instant) {
        return instant.atOffset(ZoneOffset.UTC);
    }

    /** Where a page ended. */
    private record Place(Instant at, UUID id) {
        static Place of(String cursor) {
            int bar = cursor.indexOf('|');
            return new Place(Instant.parse(cursor.substring(0, bar)), UUID.fromString(cursor.substring(bar + 1)));
        }
    }
}
