package dev.waybill.lab.program;

import org.jspecify.annotations.Nullable;

/**
 * What random programs may hold.
 *
 * @param maxBlocks  blocks in the document
 * @param maxDepth   containers inside each other
 * @param maxEffects positions that can have a receipt, every iteration counted
 * @param handler    {@code http_request}, or the name of a handler that takes the same {@code {method, url, body}}
 * @param url        where effects go; the position is in the body ({@code run}, {@code at})
 * @param unanswered the provider may leave an outcome unknown or a body cut: a person decides as the script says
 * @param left       some of these nobody decides: such a run rests
 * @param calm       there will be no faults: {@code on_unknown: fail}, retries that are used up and answers against their schema
 *                   belong to the program
 * @param refused    connections may be refused (not for providers that are real servers)
 * @param timers     delays, sleeps and poll intervals of a few milliseconds
 * @param timeoutMillis of every effect
 * @param settleMillis  of every effect
 */
public record Options(
        int maxBlocks,
        int maxDepth,
        int maxEffects,
        String handler,
        @Nullable String url,
        boolean unanswered,
        boolean left,
        boolean calm,
        boolean refused,
        boolean timers,
        int timeoutMillis,
        int settleMillis) {

    /** Everything there is. */
    public static Options of(String handler, @Nullable String url) {
        boolean http = handler.equals("http_request");
        return new Options(18, 4, 40, handler, url, true, true, true, !http, true, 5_000, 0);
    }

    /** What stays computable whatever is killed, cut or lost while it runs. */
    public Options underFaults() {
        return new Options(maxBlocks, maxDepth, maxEffects, handler, url, unanswered, left, false, refused, timers, timeoutMillis, settleMillis);
    }

    /** Nobody rests for ever: every run ends. */
    public Options ending() {
        return new Options(maxBlocks, maxDepth, maxEffects, handler, url, unanswered, false, calm, refused, timers, timeoutMillis, settleMillis);
    }

    public Options timed(int timeout, int settle) {
        return new Options(maxBlocks, maxDepth, maxEffects, handler, url, unanswered, left, calm, refused, timers, timeout, settle);
    }

    public Options sized(int blocks, int depth, int effects) {
        return new Options(blocks, depth, effects, handler, url, unanswered, left, calm, refused, timers, timeoutMillis, settleMillis);
    }
}
