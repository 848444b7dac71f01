package dev.waybill.trigger;

/**
 * What becomes of a fixed time of day that a change of the clocks removes or repeats. A schedule whose minute or hour is a wildcard
 * ({@code *}, {@code *}{@code /n}) is an interval: it follows elapsed time, and this does not concern it.
 */
public record DstPolicy(Gap gap, Overlap overlap) {
    /** As Vixie's cron: once at the end of the gap, once in the overlap. */
    public static final DstPolicy DEFAULT = new DstPolicy(Gap.SHIFT, Overlap.FIRST);

    /** The time does not exist that day. */
    public enum Gap {
        /** No fire. */
        SKIP,
        /** At the end of the gap, once for all times that fell into it. */
        SHIFT
    }

    /** The time exists twice that day. */
    public enum Overlap {
        FIRST,
        LAST,
        BOTH
    }
}
