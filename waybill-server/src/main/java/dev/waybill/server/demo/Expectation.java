package dev.waybill.server.demo;

import dev.waybill.server.demo.Order.Fate;
import dev.waybill.server.demo.Tally.Count;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Map;

/** What each strategy must come to when nothing but its own rules decides. */
final class Expectation {
    private static final Count ONCE = new Count(1, 1, 1, false);

    private Expectation() {}

    static Tally of(Strategy strategy, KillAt killAt) {
        Map<Fate, Count> counts = new EnumMap<>(Fate.class);
        for (Fate fate : Fate.values()) {
            counts.put(fate, of(strategy, fate, killAt));
        }
        return new Tally(counts);
    }

    private static Count of(Strategy strategy, Fate fate, KillAt killAt) {
        return switch (fate) {
            case NORMAL -> ONCE;
            case DECLINED -> new Count(0, 1, 0, true);
            case ANSWER_LOST -> switch (strategy) {
                case NO_RETRY -> new Count(1, 1, 0, false);
                case RETRY -> new Count(2, 2, 1, false);
                case RETRY_KEY -> new Count(1, 2, 1, false);
                case WAYBILL -> ONCE;
            };
            case SWALLOWED -> switch (strategy) {
                case NO_RETRY -> new Count(0, 1, 0, false);
                case RETRY, RETRY_KEY, WAYBILL -> new Count(1, 2, 1, false);
            };
            case KILLED -> switch (strategy) {
                case NO_RETRY -> switch (killAt) {
                    case PREPARED -> ONCE;
                    case DISPATCHED -> new Count(0, 0, 0, false);
                    case BOOKED, COMMITTED, OUTPUT -> new Count(1, 1, 0, false);
                };
                case RETRY, RETRY_KEY -> switch (killAt) { // Acme Bank knows no keys
                    case PREPARED, DISPATCHED, OUTPUT -> ONCE;
                    case BOOKED, COMMITTED -> new Count(2, 2, 1, false);
                };
                case WAYBILL -> ONCE;
            };
        };
    }

    /** The orders that need a person: what a look-up can answer heals by itself. */
    static List<Fate> forAPerson(KillAt killAt) {
        return killAt.leavesUnknown() ? List.of(Fate.KILLED) : List.of();
    }

    /** Charge requests that may have arrived when the engine is back: a restart sends nothing again. C may have been looked for in vain by then. */
    static int mostSends(Fate fate) {
        return fate == Fate.SWALLOWED ? 2 : 1;
    }

    /** @return empty when the ledger is as expected */
    static List<String> differences(Strategy strategy, Tally expected, Tally counted) {
        List<String> differences = new ArrayList<>();
        for (Fate fate : Fate.values()) {
            Count want = expected.get(fate);
            Count have = counted.get(fate);
            if (!want.equals(have)) {
                differences.add(strategy.title() + ", order-" + fate.letter() + ": expected " + words(want) + ", the ledger has " + words(have));
            }
        }
        return differences;
    }

    private static String words(Count count) {
        return count.charges() + " charge(s), " + count.sends() + " send(s), " + count.shipments() + " shipment(s)"
                + (count.refused() ? ", refused" : "");
    }
}
