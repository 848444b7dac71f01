package dev.waybill.store.postgres;

import static dev.waybill.store.postgres.Columns.Type.BOOL;
import static dev.waybill.store.postgres.Columns.Type.BYTEA;
import static dev.waybill.store.postgres.Columns.Type.INT4;
import static dev.waybill.store.postgres.Columns.Type.INT8;
import static dev.waybill.store.postgres.Columns.Type.TEXT;
import static dev.waybill.store.postgres.Columns.Type.UUID;

import dev.waybill.model.Claim;
import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.Proof;
import dev.waybill.model.Reply;
import dev.waybill.store.BlockRow;
import dev.waybill.store.Event;
import dev.waybill.store.JournalRow;
import dev.waybill.store.ReceiptRow;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import tools.jackson.core.type.TypeReference;
import tools.jackson.databind.json.JsonMapper;

/**
 * The rows that a move writes, in one shape for every writer: an owner's commit puts them under its guard, an outside move without
 * one. {@code ord} is the member of the batch that a row belongs to.
 */
final class Rows {
    private static final JsonMapper JSON = new JsonMapper();
    private static final TypeReference<Map<String, List<String>>> HEADERS = new TypeReference<>() {};
    /** A hundred years: what is later than that would overflow an interval and means never. */
    private static final long MAX_MILLIS = 100L * 366 * 24 * 3600 * 1000;

    static final Columns.Shape JOURNAL = new Columns.Shape()
            .with(INT4, "ord")
            .with(TEXT, "tenant_id")
            .with(UUID, "instance_id")
            .with(TEXT, "path")
            .with(INT4, "attempt", "n")
            .with(TEXT, "from_state", "to_state", "actor")
            .with(INT8, "claim_epoch")
            .with(UUID, "claim_nonce", "transition_id")
            .with(TEXT, "proof", "reason", "message", "provider_receipt_id")
            .with(INT8, "retry_in_millis")
            .with(BOOL, "counts_as_attempt")
            .with(INT4, "reply_status")
            .with(TEXT, "reply_headers")
            .with(BYTEA, "reply_body")
            .with(BOOL, "reply_truncated")
            .with(TEXT, "output", "output_state", "problem");

    /** No ON CONFLICT: a key that exists is news, and the statement must fail. */
    static String insertJournal(String guard) {
        return """
                INSERT INTO receipt_journal (tenant_id, instance_id, path, attempt, n, from_state, to_state, actor, claim_epoch, claim_nonce,
                       transition_id, proof, reason, message, provider_receipt_id, retry_in_millis, counts_as_attempt, reply_status,
                       reply_headers, reply_body, reply_truncated, output, output_state, problem)
                SELECT tenant_id, instance_id, path, attempt, n, from_state, to_state, actor, claim_epoch, claim_nonce,
                       transition_id, proof, reason, message, provider_receipt_id, retry_in_millis, counts_as_attempt, reply_status,
                       reply_headers, reply_body, reply_truncated, output, output_state, problem
                  FROM %s
                 WHERE %s
                """
                .formatted(JOURNAL.from("x"), guard);
    }

    static void addJournal(Columns columns, int ord, InstanceKey key, JournalRow row) {
        Claim claim = row.claim();
        Proof proof = row.proof();
        Reply reply = row.reply();
        columns.add(
                ord, key.tenant(), key.id(), row.path(), row.attempt(), row.n(), row.from().wire(), row.to().wire(), row.actor(),
                claim == null ? null : claim.epoch(), claim == null ? null : claim.nonce(), row.transitionId(),
                proof == null ? null : proof.wire(), row.reason(), row.message(), row.providerReceiptId(), row.retryInMillis(),
                row.countsAsAttempt(), reply == null ? null : reply.status(),
                reply == null || reply.headers().isEmpty() ? null : JSON.writeValueAsString(reply.headers()),
                reply == null ? null : reply.body(), reply == null ? null : reply.truncated(), row.output(), lower(row.outputState()),
                row.problem());
    }

    static Map<String, List<String>> headers(@Nullable String json) {
        return json == null ? Map.of() : JSON.readValue(json, HEADERS);
    }

    static final Columns.Shape RECEIPTS = new Columns.Shape()
            .with(INT4, "ord")
            .with(TEXT, "tenant_id")
            .with(UUID, "instance_id")
            .with(TEXT, "path")
            .with(INT4, "attempt", "ordinal")
            .with(UUID, "id", "execution_id")
            .with(TEXT, "state", "kind", "handler", "destination")
            .with(BYTEA, "destination_fingerprint")
            .with(TEXT, "idempotency_key")
            .with(BYTEA, "request_sha256")
            .with(TEXT, "request")
            .with(INT8, "claim_epoch")
            .with(UUID, "claim_nonce", "node_id", "transition_id")
            .with(INT8, "quiet_in_millis", "key_window_millis")
            .with(UUID, "resend_of")
            .with(TEXT, "labels");

    static String insertReceipts(String guard) {
        return """
                INSERT INTO effect_receipts (tenant_id, instance_id, path, attempt, ordinal, id, execution_id, state, kind, handler, destination,
                       destination_fingerprint, idempotency_key, request_sha256, request, claim_epoch, claim_nonce, node_id, transition_id,
                       quiet_at, key_window_millis, resend_of, labels)
                SELECT tenant_id, instance_id, path, attempt, ordinal, id, execution_id, state, kind, handler, destination,
                       destination_fingerprint, idempotency_key, request_sha256, request, claim_epoch, claim_nonce, node_id, transition_id,
                       now() + quiet_in_millis * interval '1 millisecond', key_window_millis, resend_of, labels
                  FROM %s
                 WHERE %s
                """
                .formatted(RECEIPTS.from("x"), guard);
    }

    static void addReceipt(Columns columns, int ord, InstanceKey key, int ordinal, ReceiptRow row) {
        columns.add(
                ord, key.tenant(), key.id(), row.path(), row.attempt(), ordinal, row.id(), row.execution(),
                (row.prepared() ? EffectState.PREPARED : EffectState.DISPATCHED).wire(), row.kind().wire(), row.handler(),
                row.destination(), digest(row.destinationFingerprint()), row.idempotencyKey(), digest(row.requestSha256()), row.request(),
                row.claim().epoch(), row.claim().nonce(), row.node(), row.transitionId(), bounded(row.quietInMillis()),
                row.keyWindowMillis(), row.resendOf(), row.labels());
    }

    static final Columns.Shape BLOCKS = new Columns.Shape()
            .with(INT4, "ord")
            .with(TEXT, "tenant_id")
            .with(UUID, "instance_id")
            .with(TEXT, "path")
            .with(INT4, "n")
            .with(TEXT, "kind", "body")
            .with(INT8, "due_in_millis")
            .with(UUID, "transition_id");

    static String insertBlocks(String guard) {
        return """
                INSERT INTO block_outputs (tenant_id, instance_id, path, n, kind, body, due_in_millis, transition_id)
                SELECT tenant_id, instance_id, path, n, kind, body, due_in_millis, transition_id
                  FROM %s
                 WHERE %s
                """
                .formatted(BLOCKS.from("x"), guard);
    }

    static void addBlock(Columns columns, int ord, InstanceKey key, BlockRow row) {
        columns.add(ord, key.tenant(), key.id(), row.path(), row.n(), lower(row.kind()), row.body(), row.dueInMillis(), row.transitionId());
    }

    static final Columns.Shape EVENTS = new Columns.Shape()
            .with(INT4, "ord")
            .with(BOOL, "on_release")
            .with(TEXT, "tenant_id")
            .with(UUID, "instance_id")
            .with(TEXT, "type", "payload", "subject");

    static String insertEvents(String guard) {
        return """
                INSERT INTO events (tenant_id, instance_id, type, payload, subject)
                SELECT tenant_id, instance_id, type, payload, subject
                  FROM %s
                 WHERE %s
                """
                .formatted(EVENTS.from("x"), guard);
    }

    static void addEvent(Columns columns, int ord, boolean onRelease, InstanceKey key, Event event) {
        columns.add(ord, onRelease, key.tenant(), key.id(), event.type(), event.payload(), event.subject());
    }

    // --- the queue: what a receipt's newest row of this move says about it -----------------------------------------------------

    static final Columns.Shape OPENS = new Columns.Shape()
            .with(INT4, "ord")
            .with(TEXT, "tenant_id")
            .with(UUID, "instance_id")
            .with(TEXT, "path")
            .with(INT4, "attempt")
            .with(TEXT, "state", "reason", "provider_receipt_id");

    static String insertOpens(String guard) {
        return """
                INSERT INTO effect_open (tenant_id, instance_id, path, attempt, id, at, claim_epoch, state, kind, destination,
                       destination_fingerprint, request_sha256, idempotency_key, labels, reason, provider_receipt_id)
                SELECT r.tenant_id, r.instance_id, r.path, r.attempt, r.id, r.at, r.claim_epoch, x.state, r.kind, r.destination,
                       r.destination_fingerprint, r.request_sha256, r.idempotency_key, r.labels, x.reason, x.provider_receipt_id
                  FROM %s
                  JOIN effect_receipts r USING (tenant_id, instance_id, path, attempt)
                 WHERE %s
                    ON CONFLICT (tenant_id, instance_id, path, attempt) DO UPDATE
                   SET state = EXCLUDED.state, since = now(), reason = EXCLUDED.reason, provider_receipt_id = EXCLUDED.provider_receipt_id
                """
                .formatted(OPENS.from("x"), guard);
    }

    static final Columns.Shape CLOSES = new Columns.Shape()
            .with(INT4, "ord")
            .with(TEXT, "tenant_id")
            .with(UUID, "instance_id")
            .with(TEXT, "path")
            .with(INT4, "attempt");

    static String deleteOpens(String guard) {
        return """
                DELETE FROM effect_open o
                 USING %s
                 WHERE (o.tenant_id, o.instance_id, o.path, o.attempt) = (x.tenant_id, x.instance_id, x.path, x.attempt)
                   AND %s
                """
                .formatted(CLOSES.from("x"), guard);
    }

    /** One row for each receipt that the journal rows move, by its last move; a receipt that was only dispatched is in no queue. */
    static void addQueue(Columns opens, Columns closes, int ord, InstanceKey key, List<JournalRow> journal) {
        if (journal.size() == 1) {
            addQueue(opens, closes, ord, key, journal.getFirst());
            return;
        }
        Map<String, JournalRow> last = HashMap.newHashMap(journal.size());
        for (JournalRow row : journal) {
            last.merge(row.path() + "#" + row.attempt(), row, (a, b) -> a.n() > b.n() ? a : b);
        }
        last.values().forEach(row -> addQueue(opens, closes, ord, key, row));
    }

    private static void addQueue(Columns opens, Columns closes, int ord, InstanceKey key, JournalRow row) {
        if (row.opens()) {
            opens.add(
                    ord, key.tenant(), key.id(), row.path(), row.attempt(),
                    row.to() == EffectState.UNKNOWN ? "unknown" : "output_lost", row.reason(), row.providerReceiptId());
        } else if (row.from() != EffectState.DISPATCHED || row.n() > 1) {
            closes.add(ord, key.tenant(), key.id(), row.path(), row.attempt());
        }
    }

    /** A hex digest as its 32 bytes; anything else as UTF-8 behind one or two bytes that UTF-8 never has, so that it is not 32 long. */
    static byte[] digest(String text) {
        byte[] digest = new byte[32];
        if (text.length() == 64) {
            boolean hex = true;
            for (int i = 0; hex && i < 64; i += 2) {
                int high = hexDigit(text.charAt(i));
                int low = hexDigit(text.charAt(i + 1));
                hex = high >= 0 && low >= 0;
                digest[i / 2] = (byte) (high << 4 | low);
            }
            if (hex) {
                return digest;
            }
        }
        byte[] utf8 = text.getBytes(StandardCharsets.UTF_8);
        int mark = utf8.length == 31 ? 2 : 1;
        byte[] marked = new byte[mark + utf8.length];
        Arrays.fill(marked, 0, mark, (byte) 0xFF);
        System.arraycopy(utf8, 0, marked, mark, utf8.length);
        return marked;
    }

    /** Lower case only: what comes back must be what went in. */
    private static int hexDigit(char c) {
        return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
    }

    static String digestText(byte[] stored) {
        if (stored.length == 32) {
            return HexFormat.of().formatHex(stored);
        }
        int mark = stored.length > 1 && stored[1] == (byte) 0xFF ? 2 : 1;
        return new String(stored, mark, stored.length - mark, StandardCharsets.UTF_8);
    }

    static long bounded(long millis) {
        return Math.clamp(millis, 0, MAX_MILLIS);
    }

    static String lower(Enum<?> value) {
        return value.name().toLowerCase(Locale.ROOT);
    }

    private Rows() {}
}
