/* Generated from EffectState by ReceiptModelTest, which fails when this file is stale. Do not edit. */

mtype = { PLANNED, PREPARED, DISPATCHED, COMMITTED, UNKNOWN, NOT_APPLIED, VERIFIED, COMPENSATED, ABANDONED };

#define UNRESOLVED(state) ((state) == DISPATCHED || (state) == UNKNOWN)
#define APPLIED(state)    ((state) == COMMITTED || (state) == VERIFIED)

/* EffectState.successors() */
#define LEGAL(from, to) ( \
    (from) == PLANNED && ((to) == PREPARED || (to) == ABANDONED) || \
    (from) == PREPARED && ((to) == DISPATCHED || (to) == VERIFIED || (to) == ABANDONED) || \
    (from) == DISPATCHED && ((to) == COMMITTED || (to) == UNKNOWN || (to) == NOT_APPLIED) || \
    (from) == COMMITTED && ((to) == COMPENSATED) || \
    (from) == UNKNOWN && ((to) == COMMITTED || (to) == NOT_APPLIED || (to) == VERIFIED || (to) == COMPENSATED || (to) == ABANDONED) || \
    (from) == VERIFIED && ((to) == COMPENSATED) )

/* A row of the journal: the only way a receipt changes. */
inline MOVE(receipt, to) {
    if
    :: LEGAL(receipt, to) -> receipt = to
    :: else -> assert(S3_only_legal_moves)
    fi
}
