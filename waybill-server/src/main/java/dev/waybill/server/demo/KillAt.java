package dev.waybill.server.demo;

import dev.waybill.engine.CrashPoints.Point;
import java.util.Locale;
import org.jspecify.annotations.Nullable;

/** Where the process that charges order D is killed. */
public enum KillAt {
    PREPARED(Point.BEFORE_INTENT, "before its intent was stored"),
    DISPATCHED(Point.AFTER_INTENT, "after its intent was stored, before the first byte left"),
    /** The provider's ledger says when: the process itself knows nothing of it. */
    BOOKED(null, "while Acme Pay was answering"),
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

    /** Whether an engine that died there leaves a receipt behind that nobody can settle from the ledger alone. */
    boolean leavesUnknown() {
        return switch (this) {
            case DISPATCHED, BOOKED, COMMITTED -> true;
            case PREPARED, OUTPUT -> false;
        };
    }

    public String wire() {
        return name().toLowerCase(Locale.ROOT);
    }
}
