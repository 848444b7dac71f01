package dev.waybill.store;

import java.util.List;

/**
 * Whether a COMMIT that was answered can be lost.
 *
 * @param weaknesses one sentence each, for example {@code synchronous_commit is off: ...}; empty = durable
 * @param warnings   what weakens the promise without refusing it, for example an asynchronous standby
 */
public record Durability(List<String> weaknesses, List<String> warnings) {
    public boolean weak() {
        return !weaknesses.isEmpty();
    }
}
