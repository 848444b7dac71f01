package dev.waybill.check;

import dev.waybill.check.Rows.Move;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** S3, the table of semantics.md section 3, and who may make which move. */
final class LegalMoves implements Property {
    private static final Map<String, Set<String>> SUCCESSORS = Map.of(
            "planned", Set.of("prepared", "abandoned"),
            "prepared", Set.of("dispatched", "abandoned", "verified"),
            "dispatched", Set.of("committed", "unknown", "not_applied"),
            "unknown", Set.of("verified", "committed", "compensated", "abandoned", "not_applied"),
            "committed", Set.of("compensated"),
            "verified", Set.of("compensated"));

    private static final Set<String> BY_A_PERSON = Set.of("committed", "verified", "compensated", "abandoned");
    private static final Set<String> PROOFS = Set.of("not_sent", "refused_by_protocol", "rejected", "verified_absent");

    @Override
    public String name() {
        return "legal-moves";
    }

    @Override
    public String promise() {
        return "a receipt makes only legal moves; nothing leads back to dispatched";
    }

    @Override
    public void check(History history, Findings findings) {
        for (Attempt attempt : history.attempts()) {
            List<Move> moves = attempt.moves();
            for (int i = 0; i < moves.size(); i++) {
                String fault = fault(moves.get(i), i == 0 ? null : moves.get(i - 1));
                findings.expect(fault == null, Subject.of(attempt), attempt + " n=" + moves.get(i).n() + ": " + fault);
            }
        }
    }

    private static @Nullable String fault(Move move, @Nullable Move before) {
        String from = move.fromState();
        String to = move.toState();
        if (from.equals(to)) {
            // The one move that stands still: a person supplies the output that was lost.
            boolean supplies = Set.of("committed", "verified").contains(to)
                    && move.byPerson()
                    && before != null
                    && before.outputState().equals("lost")
                    && move.outputState().equals("saved");
            return supplies ? null : from + " -> " + to + " is no move";
        }
        if (!SUCCESSORS.getOrDefault(from, Set.of()).contains(to)) {
            return from + " -> " + to + " is not legal";
        }
        if (to.equals("not_applied") != (move.proof() != null && PROOFS.contains(move.proof()))) {
            return to.equals("not_applied") ? "not_applied without a proof" : to + " with the proof " + move.proof();
        }
        if (move.byPerson() && !BY_A_PERSON.contains(to)) {
            return "a person moved it to " + to;
        }
        if (move.actor().equals("recovery") && !to.equals("unknown")) {
            return "recovery knows nothing, but moved it to " + to;
        }
        if (move.actor().equals("engine") && from.equals("unknown")) {
            return "the owner moved it out of unknown";
        }
        return null;
    }
}
