package dev.waybill.store;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * One row of {@code effect_evidence}: append-only.
 *
 * @param kind  note, link, provider_reply, late_answer, contradiction ..
 * @param body  JSON text
 * @param bytes raw bytes (a reply, a file), or null
 * @param at    database time; null until it was read back
 */
public record EvidenceRow(
        String path, int attempt, String kind, String actor, String body, byte @Nullable [] bytes, @Nullable Instant at) {}
