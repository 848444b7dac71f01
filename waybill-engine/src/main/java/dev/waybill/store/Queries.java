package dev.waybill.store;

import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.InstanceState;
import dev.waybill.model.WaybillException;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** What people, the API and the gauges read. No decision of the engine is made from here. */
public interface Queries {

    /** Newest first: by id, descending. */
    List<InstanceRecord> instances(InstanceFilter filter);

    /**
     * An effect as the seed's table has it: the receipt with its current state.
     *
     * @param last  without the reply's body
     * @param since of {@code last}, or of the receipt
     */
    record EffectView(
            InstanceKey instance,
            ReceiptRow receipt,
            EffectState state,
            @Nullable JournalRow last,
            Instant since) {
        /** A cursor for {@link EffectFilter#after}. */
        public String cursor() {
            return receipt.at() + "|" + receipt.id();
        }
    }

    /**
     * Effects, newest first: by (time of insert, id), descending. With no state filter, or one outside unknown/output_lost, hash, fingerprint, epoch, attempt and label
     * are searched within an instance or a time range only; id, key and provider id everywhere.
     *
     * @throws dev.waybill.model.WaybillException FILTER_TOO_WIDE when the filter asks for more ({@link EffectFilter#requireBounded})
     */
    List<EffectView> effects(EffectFilter filter);

    Optional<EffectView> effect(String tenant, UUID receiptId);

    /** The case file: every move, with replies' bodies. */
    List<JournalRow> journal(InstanceKey instance, String path, int attempt);

    /** In order of insertion. */
    List<EvidenceRow> evidence(InstanceKey instance, String path, int attempt);

    /** What invariants came to, of every instance of the execution, in order of insertion within each. */
    List<InvariantResult> invariantResults(String tenant, UUID execution);

    record InvariantResult(InstanceKey instance, InvariantRows.Result result, Instant at) {}

    /** Every row of every path, ordered by (path as UTF-8 bytes, n), for a person who wants to see how it came to this. */
    List<BlockRow> blockRows(InstanceKey instance);

    /** Depth and age of the queue by (tenant, kind, destination, state), in that order; state is prepared, unknown or output_lost. */
    List<OpenDepth> openDepth();

    record OpenDepth(String tenant, String kind, String destination, String state, long depth, Instant oldest) {}

    /** Every unknown effect of every tenant, by (since, id): read from the queue, never from the receipts. */
    List<OpenEffect> unknownEffects();

    /**
     * @param since  when it became unknown
     * @param labels JSON object text, or null
     */
    record OpenEffect(
            InstanceKey instance, UUID id, String path, int attempt, String kind, String destination, Instant since, @Nullable String labels) {}

    /**
     * Outbox rows after a cursor in commit order: no row that commits later sorts before one already handed out.
     *
     * @param after an opaque cursor from an earlier answer, or null for the beginning
     */
    List<Change> changes(@Nullable String tenant, @Nullable String after, int limit);

    /** The cursor behind the newest change, or null when there is none yet. */
    @Nullable String newestChange();

    record Change(String cursor, InstanceKey instance, String type, String payload, @Nullable String subject, Instant at) {}

    /** Newest first. */
    List<AuditEntry> audit(String tenant, @Nullable String subject, int limit);

    record AuditEntry(Instant at, AuditRow row) {}

    /** In order of start. */
    List<NodeView> nodes();

    record NodeView(UUID node, String name, Instant startedAt, Instant expiresAt, boolean fenced) {}

    /**
     * @param tenant   a tenant, or {@link #ALL_TENANTS}
     * @param metadata every member must be there, as that string or as a number or boolean whose JSON text it is
     * @param after    id of the last one seen; ids grow with time
     */
    record InstanceFilter(
            String tenant,
            Set<InstanceState> states,
            @Nullable UUID sequenceId,
            Map<String, String> metadata,
            @Nullable UUID after,
            int limit,
            int offset) {
        /** Only for the engine's own sweeps; never handed to a caller. */
        public static final String ALL_TENANTS = "*";

        public boolean allTenants() {
            return tenant.equals(ALL_TENANTS);
        }
    }

    /**
     * @param word       matched exactly against id, key, provider receipt id, request hash, fingerprint, block, and any label value; in a
     *                   search that is not {@link #bounded} against id, key and provider receipt id only
     * @param block      the block path
     * @param label      any label's value
     * @param from       receipts inserted at or after
     * @param to         receipts inserted before
     * @param openOnly   only what waits for a person or a verifier (the queue): unknown, output_lost, prepared
     * @param after      cursor of the last one seen ({@code Instant.toString() + "|" + id}), or null
     */
    record EffectFilter(
            String tenant,
            boolean openOnly,
            Set<EffectState> states,
            @Nullable InstanceKey instance,
            @Nullable UUID execution,
            @Nullable String word,
            @Nullable UUID id,
            @Nullable String block,
            @Nullable String requestSha256,
            @Nullable String fingerprint,
            @Nullable String idempotencyKey,
            @Nullable String providerReceiptId,
            @Nullable Long epoch,
            @Nullable Integer attempt,
            @Nullable String label,
            @Nullable Instant from,
            @Nullable Instant to,
            @Nullable String after,
            int limit) {

        /** True when an index bounds the search: the queue, an instance, an execution or a time range. */
        public boolean bounded() {
            return openOnly || states.equals(Set.of(EffectState.UNKNOWN)) || instance != null || execution != null || from != null || to != null;
        }

        /**
         * @throws WaybillException FILTER_TOO_WIDE when the search would have to read every receipt there is
         */
        public void requireBounded() {
            boolean wide = block != null || requestSha256 != null || fingerprint != null || epoch != null || attempt != null || label != null;
            if (wide && !bounded()) {
                throw WaybillException.badRequest(
                        "FILTER_TOO_WIDE",
                        "Block, request hash, fingerprint, epoch, attempt and label are searched in the queue, in an instance, in an"
                                + " execution or in a time range: add one of these",
                        null);
            }
        }
    }
}
