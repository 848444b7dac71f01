package dev.waybill.store;

import java.time.Instant;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * An invariant that was declared for a published version afterwards.
 *
 * @param definition the invariant as JSON text, in the form it has in a document
 * @param createdAt  null before it is written
 */
public record InvariantDeclaration(String tenant, UUID sequence, String name, String definition, @Nullable Instant createdAt) {}
