package dev.waybill.store;

import java.time.Instant;
import java.util.Map;

/** What the database said to one {@link Commit}. */
public sealed interface CommitAnswer {
    /**
     * The claim held: settles, rows and events are durable.
     *
     * @param intents         what became of the intents; never influences the rest
     * @param wakeSeq         the instance's wake_seq after this commit; more than the owner has seen means there is news to read
     * @param unstorable      true when the database refused the text of an output: it was kept as bytes and the step must fail
     *                        OUTPUT_UNSTORABLE; other rows, intents and release were held back (see {@link TextRule#kept})
     * @param databaseNow     the transaction's time
     * @param duplicates      path of each intent that was not written because another effect holds its content, and that effect; the
     *                        other intents are as {@code intents} says. Nothing else of the commit depends on it
     */
    record Settled(
            IntentAnswer intents,
            ReleaseAnswer release,
            long wakeSeq,
            boolean cancelRequested,
            boolean pauseRequested,
            boolean unstorable,
            Instant databaseNow,
            Map<String, InvariantRows.Holder> duplicates)
            implements CommitAnswer {

        /** Without duplicates. */
        public Settled(
                IntentAnswer intents,
                ReleaseAnswer release,
                long wakeSeq,
                boolean cancelRequested,
                boolean pauseRequested,
                boolean unstorable,
                Instant databaseNow) {
            this(intents, release, wakeSeq, cancelRequested, pauseRequested, unstorable, databaseNow, Map.of());
        }

        /** The same with these intents left out. */
        public Settled with(Map<String, InvariantRows.Holder> duplicates) {
            return new Settled(intents, release, wakeSeq, cancelRequested, pauseRequested, unstorable, databaseNow, duplicates);
        }
    }

    /** The claim is another's, given up or void (or there is no such instance): nothing was written. An answer held by the caller goes on as late truth. */
    record ClaimLost() implements CommitAnswer {}

    /**
     * The claim held, but a row of this commit exists already and is not ours: nothing was written; read the instance again. Held
     * intents are not looked at.
     */
    record Conflict(String what) implements CommitAnswer {}

    enum IntentAnswer {
        /** The commit carried none. */
        NONE,
        /** Durable, all but the duplicates: send now, unless the send deadline has passed. */
        DISPATCHED,
        /** Nothing may be sent: the instance is being cancelled or paused, or {@code unstorable} is true. */
        HELD_BY_FLAG,
        /** Somebody from outside has moved the instance since the intents were decided, and they were to hold only if not. */
        HELD_BY_NEWS,
        /** The node is fenced or its lease has run out: nothing may be sent. Said before the others when several are so. */
        HELD_BY_NODE;

        /** Why intents are held that were neither dispatched nor none. */
        public static IntentAnswer held(boolean live, boolean flagged, boolean overtaken) {
            return !live ? HELD_BY_NODE : overtaken && !flagged ? HELD_BY_NEWS : HELD_BY_FLAG;
        }
    }

    enum ReleaseAnswer {
        NONE,
        RELEASED,
        /** wake_seq moved: the claim is still ours. */
        NEWS
    }
}
