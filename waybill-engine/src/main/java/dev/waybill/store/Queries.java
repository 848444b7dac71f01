package dev.waybill.store;

import dev.waybill.model.EffectState;
import dev.waybill.model.InstanceKey;
import dev.waybill.model.InstanceState;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** What people, the API and the gauges read. No decision of the engine is made from here. */
public interface Queries {

    /** Newest first. */
    List<InstanceRecord> instances(InstanceFilter filter);

    /** An effect as the seed's table has it: the receipt with its current state. */
    record EffectView(
            InstanceKey instance,
            ReceiptRow receipt,
            EffectState state,
            @Nullable JournalRow last,
            Instant since) {}

    /**
     * Effects, newest first. With no state filter, or one outside unknown/output_lost, hash, fingerprint, epoch, attempt and label
     * are searched within an instance or a time range only; id, key and provider id everywhere.
     */
    List<EffectView> effects(EffectFilter filter);

    Optional<EffectView> effect(String tenant, UUID receiptId);

    /** The case file: every move, with replies' bodies. */
    List<JournalRow> journal(InstanceKey instance, String path, int attempt);

    List<EvidenceRow> evidence(InstanceKey instance, String path, int attempt);

    /** Every row of every path, for a person who wants to see how it came to this. */
    List<BlockRow> blockRows(InstanceKey instance);

    /** Depth and age of the queue by kind and destination. */
    List<OpenDepth> openDepth();

    record OpenDepth(String tenant, String kind, String destination, String state, long depth, Instant oldest) {}

    /**
     * Outbox rows after a cursor in commit order: no row that commits later sorts before one already handed out.
     *
     * @param after an opaque cursor from an earlier answer, or null for the beginning
     */
    List<Change> changes(@Nullable String tenant, @Nullable String after, int limit);

    /** The cursor behind the newest change. */
    @Nullable String newestChange();

    record Change(String cursor, InstanceKey instance, String type, String payload, @Nullable String subject, Instant at) {}

    List<AuditEntry> audit(String tenant, @Nullable String subject, int limit);

    record AuditEntry(Instant at, AuditRow row) {}

    List<NodeView> nodes();

    record NodeView(UUID node, String name, Instant startedAt, Instant expiresAt, boolean fenced) {}

    /**
     * @param tenant a tenant, or {@link #ALL_TENANTS}
     * @param after  id of the last one seen; ids grow with time
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
    }

    /**
     * @param word       matched exactly against id, key, provider receipt id, request hash, fingerprint, block, and any label value
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
            int limit) {}
}
