package dev.waybill.engine;

import dev.waybill.definition.Sequence.Step;
import dev.waybill.model.Problem;
import dev.waybill.store.JournalRow;
import dev.waybill.store.ReceiptRow;
import java.util.ArrayList;
import java.util.List;
import java.util.UUID;
import org.jspecify.annotations.Nullable;

/** What the evaluator found: what may run now, what waits for what, and how the whole stands. */
final class Decision {

    /** How a block, or the whole run, stands. */
    sealed interface Status {
        record Done() implements Status {}

        /** Some branch runs, can run, or waits. */
        record Pending() implements Status {}

        record Failed(List<Failure> failures) implements Status {}
    }

    /**
     * @param path where it failed
     */
    record Failure(String path, Problem problem) {}

    static final Status DONE = new Status.Done();
    static final Status PENDING = new Status.Pending();

    /**
     * A step that may run now.
     *
     * @param copyOf the receipt whose frozen request an automatic attempt repeats; null = resolve params anew
     * @param resend an earlier receipt of the effect is unknown: the copy goes out under its key
     */
    record Ready(Step step, String path, RunScope scope, int attempt, @Nullable ReceiptRow copyOf, boolean resend) {}

    /**
     * A branch that is blocked.
     *
     * @param reason      timer, retry, effect_unknown, effect_abandoned, output_lost ..
     * @param receipt     the receipt it waits for, or null
     * @param dueInMillis when it is worth looking again; null = only news helps
     * @param next        of an unknown effect: verify, resend or person; null otherwise
     */
    record Waiting(String reason, String path, @Nullable UUID receipt, @Nullable Long dueInMillis, @Nullable String next) {
        Waiting(String reason, String path, @Nullable UUID receipt, @Nullable Long dueInMillis) {
            this(reason, path, receipt, dueInMillis, null);
        }
    }

    final List<Ready> ready = new ArrayList<>();
    final List<Waiting> waiting = new ArrayList<>();
    /** Every effect that is unknown, with what comes next. */
    final List<Healing.Unknown> unknowns = new ArrayList<>();
    /** Moves that write unknown receipts off whose author accepts repeats; made only by a turn that goes on. */
    final List<JournalRow> repeats = new ArrayList<>();
    /** Those whose verifier is to be asked now. */
    final List<Healing.Unknown> asks = new ArrayList<>();
    /**
     * What fails the run past every catch: effects that are unknown and whose policy is to fail it (semantics.md section 5, fail), and
     * violations of an invariant.
     */
    final List<Failure> blocked = new ArrayList<>();
    /** Where a compensation failed for good or waits for a person. */
    final List<String> notUndone = new ArrayList<>();
    /** Sagas that are being undone. */
    int undoing;
    /** An uncaught failure beside branches that still run: nothing new may start. */
    boolean failing;

    Status status = PENDING;
}
