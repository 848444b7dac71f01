package dev.waybill.lab.sim;

import org.jspecify.annotations.Nullable;

/**
 * One thing that goes wrong: at the n-th time that something comes by a site. A run is its seed and the list of these, so that some
 * can be taken away and the run repeated.
 *
 * @param occurrence from 1
 * @param nanos      how long or how late, where that has a meaning
 */
record Fault(String site, int occurrence, Kind kind, long nanos) {

    private static final long MS = 1_000_000;
    private static final long S = 1_000 * MS;

    /** What can go wrong; rates are per 10,000 times that a site is passed, lengths are drawn between the two bounds. */
    enum Kind {
        // Between an engine and its store.
        STORE_REFUSES(80),
        STORE_SLOW(60, 10 * MS, 8 * S),
        /** The answer is lost; it was not done. */
        UNCLEAR_UNDONE(100),
        /** The answer is lost; it was done. */
        UNCLEAR_DONE(120),
        /** The answer is lost; it lands later. */
        UNCLEAR_LATE(80, MS, 5 * S),

        // A process, wherever it stands.
        CRASH(40),
        PAUSE(30, 100 * MS, 40 * S),
        /** At a named point of the step protocol. */
        DIE(150),
        STAND(100, 100 * MS, 40 * S),

        // Between an engine and the provider.
        NO_ROUTE(60),
        CONNECT_SLOW(30, 100 * MS, 4 * S),
        PACKET_LATE(60, 10 * MS, 3 * S),
        PACKET_LOST(60),
        ANSWER_LOST(60),
        ANSWER_LATE(40, 100 * MS, 5 * S),
        ANSWER_CUT(60),
        ANSWER_GARBLED(15),

        // The provider.
        APPLY_500(60),
        APPLY_503(20),
        APPLY_HANG_UP(80),
        APPLY_LATE(60, 10 * MS, 3 * S),
        APPLY_REDIRECT(15),
        HANG_UP(80),
        SAY_500(30),
        SAY_503(40),
        SAY_429(60),
        SAY_402(20),
        SAY_409(20),

        // The nemesis, at each of its moments.
        KILL(900),
        FREEZE(600, 500 * MS, 45 * S),
        DRAIN(300),
        CUT_STORE(500, 50 * MS, 20 * S),
        STORE_DOWN(200, 50 * MS, 20 * S),
        DISK_FULL(200, 50 * MS, 20 * S),
        CLOCK_JUMP(300, S, 3_600 * S),
        FAILOVER(200, 50 * MS, 5 * S),
        /** The promoted standby lacks the last commits. */
        FAILOVER_BEHIND(2_500, 50 * MS, 5 * S),

        // The provider's look-up, where steps declare a verifier: rates of their own, so that the other worlds stay as they are.
        /** It shows what was so long ago. */
        LOOK_LAGS(2_500, 100 * MS, 3 * S),
        LOOK_DOWN(800),
        LOOK_503(800),
        /** Nobody is there who knows this address, for now. */
        LOOK_404(500);

        final int rate;
        final long least;
        final long most;

        Kind(int rate) {
            this(rate, 0, 0);
        }

        Kind(int rate, long least, long most) {
            this.rate = rate;
            this.least = least;
            this.most = most;
        }
    }

    /** @return null when the text names no fault; the form of {@link #toString} */
    static @Nullable Fault parse(String text) {
        String[] parts = text.strip().split("\\s*[#=+]\\s*");
        return parts.length != 4
                ? null
                : new Fault(parts[0], Integer.parseInt(parts[1]), Kind.valueOf(parts[2]), Long.parseLong(parts[3].replace("ns", "")));
    }

    @Override
    public String toString() {
        return site + "#" + occurrence + "=" + kind + "+" + nanos + "ns";
    }
}
