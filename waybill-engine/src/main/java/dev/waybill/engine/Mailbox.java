package dev.waybill.engine;

import dev.waybill.engine.Calls.Done;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import org.jspecify.annotations.Nullable;

/** What a turn hears from outside its thread: calls that have ended, and that there is news. */
final class Mailbox {

    sealed interface Mail {
        record Ended(Done done) implements Mail {}

        /** Somebody wrote news, or the drain began. */
        record Nudge() implements Mail {}
    }

    private final Host host;
    private final LinkedBlockingQueue<Mail> queue = new LinkedBlockingQueue<>();
    private boolean closed;

    Mailbox(Host host) {
        this.host = host;
    }

    void nudge() {
        queue.add(new Mail.Nudge());
    }

    /** @return false when nobody reads here any longer */
    boolean post(Done done) {
        synchronized (queue) {
            return !closed && queue.add(new Mail.Ended(done));
        }
    }

    @Nullable Mail poll() {
        return queue.poll();
    }

    /** The next mail, or null when none came in that time. */
    @Nullable Mail await(long nanos) {
        try {
            return host.poll(queue, nanos);
        } catch (InterruptedException e) {
            throw new IllegalStateException("a turn is never interrupted", e);
        }
    }

    /** Nobody reads here any longer; answers the calls whose end was not read. */
    List<Done> close() {
        List<Mail> rest = new ArrayList<>();
        synchronized (queue) {
            closed = true;
            queue.drainTo(rest);
        }
        List<Done> unread = new ArrayList<>();
        for (Mail mail : rest) {
            if (mail instanceof Mail.Ended(Done done)) {
                unread.add(done);
            }
        }
        return unread;
    }
}
