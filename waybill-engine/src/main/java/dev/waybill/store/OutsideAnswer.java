package dev.waybill.store;

import dev.waybill.model.InstanceState;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** What the database said to one {@link OutsideMove}. */
public sealed interface OutsideAnswer {
    /**
     * @param claimNode incarnation of the node that owns the instance and should be told, or null when unclaimed
     */
    record Applied(InstanceState state, long wakeSeq, @Nullable UUID claimNode) implements OutsideAnswer {}

    /** Something expected was not so; nothing was written. Read again and decide again. */
    record Conflict(InstanceState state, long wakeSeq, String what) implements OutsideAnswer {}

    record NotFound() implements OutsideAnswer {}
}
