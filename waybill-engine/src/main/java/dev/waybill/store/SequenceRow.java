package dev.waybill.store;

import java.time.Instant;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * A published sequence version; immutable but for {@code deprecated}.
 *
 * @param definition the document as JSON text
 */
public record SequenceRow(
        UUID id, String tenant, String namespace, String name, int version, boolean deprecated, String definition, @Nullable Instant createdAt) {}
