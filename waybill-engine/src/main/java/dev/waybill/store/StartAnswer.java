package dev.waybill.store;

import java.time.Instant;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** What the database said to one {@link Start}. */
public sealed interface StartAnswer {
    /**
     * @param claimed false when the claim was asked for and the node is fenced or expired: another node will take it
     */
    record Created(boolean claimed, Instant databaseNow) implements StartAnswer {}

    /** The key was used before. */
    record Existing(UUID instance, @Nullable String payloadSha256) implements StartAnswer {}
}
