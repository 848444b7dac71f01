package dev.waybill.engine;

import dev.waybill.store.OutsideAnswer;
import dev.waybill.store.OutsideMove;
import dev.waybill.store.Start;
import dev.waybill.store.StartAnswer;
import dev.waybill.store.Store;
import dev.waybill.store.StoreException;
import dev.waybill.store.UnclearCommitException;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * Submits a verb again while the answer to its COMMIT is unclear: with the same ids it is the same move once, so the second answer tells
 * what became of the first. Gives up after a bounded time; the caller then says that nobody knows yet.
 */
final class Certain {
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(10);
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final long MAX_PAUSE_NANOS = TimeUnit.SECONDS.toNanos(1);

    private Certain() {}

    /**
     * A repeat finds what an unclear try of it has written by its transition id: in the journal for ever, at the instance only until the
     * next move. A conflict of a move without journal rows says nothing, therefore, about the try before it.
     *
     * @throws UnclearCommitException when it is still unclear after 10 s, or for good
     */
    static OutsideAnswer outside(Host host, Store store, OutsideMove move) {
        List<UnclearCommitException> tries = new ArrayList<>(1);
        OutsideAnswer answer = certain(host, () -> {
            try {
                return store.settleFromOutside(move);
            } catch (UnclearCommitException e) {
                tries.add(e);
                throw e;
            }
        });
        if (answer instanceof OutsideAnswer.Conflict && move.journal().isEmpty() && !tries.isEmpty()) {
            throw tries.getFirst();
        }
        return answer;
    }

    /**
     * A start that an earlier try of the same call has made is answered {@link StartAnswer.Existing} with its own id.
     *
     * @throws UnclearCommitException when it is still unclear after 10 s
     */
    static List<StartAnswer> start(Host host, Store store, UUID node, List<Start> batch) {
        return certain(host, () -> store.start(node, batch));
    }

    private static <T> T certain(Host host, Supplier<T> verb) {
        long until = host.nanoTime() + PATIENCE_NANOS;
        long pause = PAUSE_NANOS;
        UnclearCommitException unclear = null;
        while (true) {
            try {
                return verb.get();
            } catch (UnclearCommitException e) {
                unclear = e;
            } catch (StoreException e) {
                // Nothing of this try is durable; of an unclear one before it something may be.
                if (unclear == null) {
                    throw e;
                }
            }
            if (host.nanoTime() - until >= 0) {
                throw still(unclear);
            }
            host.pause(pause);
            pause = Math.min(2 * pause, MAX_PAUSE_NANOS);
        }
    }

    private static UnclearCommitException still(@Nullable UnclearCommitException unclear) {
        if (unclear == null) {
            throw new IllegalStateException("only an unclear commit is waited for");
        }
        return unclear;
    }
}
