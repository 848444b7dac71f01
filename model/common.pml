/* What every model shares: the receipt's moves, and the properties by name.
 *
 * A broken property stops the run with "assertion violated NAME": each name is a constant false that no model ever writes, so the
 * runner can check by which property a mutant fails. Numbers are those of the property list that the checker of torture runs uses. */
#include "generated/receipt_states.pml"

hidden byte S1_one_receipt_one_send;
hidden byte S2_no_send_without_a_durable_intent;
hidden byte S3_only_legal_moves;
hidden byte S4_applied_at_most_once;
hidden byte S5_a_fenced_owner_changes_nothing;
hidden byte S6_outcome_and_output_commit_together;
hidden byte S7_one_key_one_run;
hidden byte S8_no_false_certainty;
hidden byte S11_a_join_waits_for_every_branch;
hidden byte S14_no_dispatch_after_an_acknowledged_cancel;
hidden byte S20_nothing_ends_while_dispatched;
hidden byte L1_comes_to_rest;
hidden byte L3_nothing_acknowledged_is_lost;
hidden byte L7_a_drain_leaves_nothing_dispatched;
hidden byte REACHED;

#define MUST(property, condition) if :: (condition) -> skip :: else -> assert(property) fi

/* LOOK_ON runs a mutant past the rules it breaks on the way, to see the harm: a second send or application, or a run that never rests. */
#ifdef LOOK_ON
#define RULE(property, condition) skip
#else
#define RULE(property, condition) MUST(property, condition)
#endif

/* A durable intent: the request may have left. */
#define INTENDED(state) ((state) != 0 && (state) != PLANNED && (state) != PREPARED)

/* The intent of one step is one write, stamped planned, prepared and dispatched (semantics.md, 4.3). */
inline DISPATCH(receipt) {
    assert(receipt == 0);
    receipt = PLANNED;
    MOVE(receipt, PREPARED);
    MOVE(receipt, DISPATCHED)
}

/* For LTL: a clock that always ticks, so that a run that is stuck is an infinite one. Spin's own stuttering of end states does not find
 * a broken `<>[]` under weak fairness: without this the mutant NO_SWEEP passes. */
#define STUTTER bit stopped; active proctype Clock() { do :: !stopped od }
