package dev.waybill.store;

import java.time.Instant;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/**
 * One row of {@code block_outputs}: the output of a pure block, a frame of a container, a timer, an error or an instance variable.
 * Inserted once, never updated; the state of a path is its row with the highest n, and the key (tenant, instance, path, n) is the
 * compare-and-swap.
 *
 * @param body        JSON text, or null
 * @param dueInMillis from {@link #at}: when a timer or a retry is due; null when it has none
 * @param at          database time; null until it was read back
 */
public record BlockRow(
        String path, int n, Kind kind, @Nullable String body, @Nullable Long dueInMillis, UUID transitionId, @Nullable Instant at) {

    public enum Kind {
        /** The block ended well; body is its output. */
        OUTPUT,
        /** The block ended in error; body is the {@link dev.waybill.model.Problem}. */
        ERROR,
        /** A pure block failed and may run again at due; body holds the attempt and the problem. */
        RETRY,
        /** A delay or a sleep that ends at due. */
        TIMER,
        /** What a container decided: the chosen route, the collection of a for_each, a loop verdict. Never evaluated again. */
        FRAME,
        /** A person asked for the block to run again: what came before does not count. */
        CLEARED,
        /** An instance variable (set_state); the path is {@code $state/KEY}. */
        STATE
    }
}
