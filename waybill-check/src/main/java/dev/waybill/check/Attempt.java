package dev.waybill.check;

import dev.waybill.check.Rows.Move;
import dev.waybill.check.Rows.Receipt;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** One receipt and its moves, by n. */
record Attempt(Receipt receipt, List<Move> moves) {

    @Nullable Move last() {
        return moves.isEmpty() ? null : moves.getLast();
    }

    String state() {
        return moves.isEmpty() ? receipt.state() : moves.getLast().toState();
    }

    /** Nobody can say what became of it. */
    boolean unresolved() {
        return state().equals("dispatched") || state().equals("unknown") || state().equals("prepared");
    }

    boolean applied() {
        return state().equals("committed") || state().equals("verified");
    }

    /** The state that was durable at {@code instant}. */
    String stateAt(java.time.Instant instant) {
        String state = receipt.state();
        for (Move move : moves) {
            state = move.at().isAfter(instant) ? state : move.toState();
        }
        return state;
    }

    /** When it was first known to have happened. */
    @Nullable Move firstApplied() {
        return moves.stream().filter(move -> move.toState().equals("committed") || move.toState().equals("verified")).findFirst().orElse(null);
    }

    @Nullable Move firstTo(String state) {
        return moves.stream().filter(move -> move.toState().equals(state)).findFirst().orElse(null);
    }

    @Override
    public String toString() {
        return receipt.path() + "#" + receipt.attempt();
    }
}
