package dev.waybill.server.demo;

import dev.waybill.engine.CrashPoints.Point;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Where the process that charges order D is killed. */
public enum KillAt {
    PREPARED(Point.BEFORE_INTENT, "before its intent was stored"),
    DISPATCHED(Point.AFTER_INTENT, "after its intent was stored, before the first byte left"),
    /** The provider's ledger says when: the process itself knows nothing of it. */
    BOOKED(null, "while Acme Bank was answering"),
    COMMITTED(Point.BEFORE_SETTLE, "with the answer in memory, before it was stored"),
    OUTPUT(Point.AFTER_SETTLE, "after the answer was stored");

    private final @Nullable Point point;
    private final String words;

    KillAt(@Nullable Point point, String words) {
        this.point = point;
        this.words = words;
    }

    /** Where the engine stops and waits for its end; null: it does not, the provider does. */
    @Nullable Point point() {
        return point;
    }

    String words() {
        return words;
    }

    /** Whether an engine that died there leaves a receipt behind that its flight recorder cannot settle either. */
    boolean leavesUnknown() {
        return switch (this) {
            case BOOKED -> true;
            case PREPARED, DISPATCHED, COMMITTED, OUTPUT -> false;
        };
    }

    /** Why the order goes on by itself. */
    String goesOn() {
        return switch (this) {
            case DISPATCHED -> "its flight recorder shows that nothing had left";
            case COMMITTED -> "the answer was in its flight recorder";
            case PREPARED, BOOKED, OUTPUT -> "nothing about it is unclear";
        };
    }

    public String wire() {
        return name().toLowerCase(Locale.ROOT);
    }
}
