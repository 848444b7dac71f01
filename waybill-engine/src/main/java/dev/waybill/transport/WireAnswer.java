package dev.waybill.transport;

import java.util.List;
import java.util.Map;

/**
 * What was observed of one send: the phase it reached and what came back (semantics.md section 4). No judgement; see
 * {@link HttpOutcome}.
 *
 * @param status  0 unless {@link Phase#ANSWERED}
 * @param headers lower-case names; values in the order they came
 * @param body    what was read of the body, at most the cap; of one that is too large {@link #KEPT_OF_TOO_LARGE} bytes and a few more
 * @param stop    why the send ended without a complete answer: short and stable; empty when the answer is complete
 * @param cause   for people: what the network said when nothing was sent, else empty
 */
public record WireAnswer(
        Phase phase, int status, Map<String, List<String>> headers, byte[] body, Completeness completeness, String stop, String cause) {

    /** How much of an answer beyond the cap is kept as evidence, in bytes. */
    public static final int KEPT_OF_TOO_LARGE = 64 * 1024;

    public static final String STOP_UNSENDABLE = "unsendable";
    public static final String STOP_LATE = "late";
    public static final String STOP_INTERRUPTED = "interrupted";
    public static final String STOP_TIMEOUT = "timeout";
    public static final String STOP_UNREACHABLE = "unreachable";
    public static final String STOP_GARBLED = "garbled_answer";
    public static final String STOP_CLOSED = "closed_without_answer";
    public static final String STOP_RESET = "reset_after_send";
    public static final String STOP_CUT = "cut";

    /** How far the request got. */
    public enum Phase {
        /** Zero bytes of the request were given to the network. */
        NOT_SENT,
        /** Some bytes left, and no complete status line came. */
        MAYBE_SENT,
        /** A complete status line came. */
        ANSWERED
    }

    /** How much of the body is known to have come. */
    public enum Completeness {
        /** Its own framing says so: Content-Length, chunked, or a status that has no body. */
        COMPLETE,
        /** Ended by the connection's end: only the content can show that nothing is missing (case A11). */
        UNPROVEN,
        /** The connection, the deadline or broken framing ended it. */
        CUT,
        /** Longer than the cap. */
        TOO_LARGE
    }

    public static WireAnswer notSent(String stop, String cause) {
        return new WireAnswer(Phase.NOT_SENT, 0, Map.of(), new byte[0], Completeness.CUT, stop, cause);
    }
}
