/* (d) Content at most once: a guard row decides, by its primary key, in the transaction of the intent (semantics.md, 6).
 *
 * EFFECTS effects want to do the same thing (same kind, destination and request) from different runs on different nodes. The first to insert
 * the row wins; the same effect passes (its retry); another one is a Duplicate: no receipt, nothing sent. The row is freed in the
 * transaction that ends its effect without application. Node crashes lose everything that is not a row. */
#include "common.pml"

#ifndef EFFECTS
#define EFFECTS 3
#endif
#define ATTEMPTS 2
#ifndef CRASHES
#define CRASHES 2
#endif
#define R(e, a) ((e) * ATTEMPTS + (a))

mtype = { OK, NO, AMBIGUOUS };
mtype = { OPEN, DONE, FAILED, DUPLICATE };

mtype rc[EFFECTS * ATTEMPTS]; byte sends[EFFECTS * ATTEMPTS];
mtype step[EFFECTS] = OPEN;                           /* how the step ended */
byte attempt[EFFECTS];
byte guard;                                           /* the row of this content: the effect that holds it + 1; 0 = no row */
bool travels[EFFECTS * ATTEMPTS]; bool applied[EFFECTS * ATTEMPTS];
byte applications; byte crashes = CRASHES;

inline APPLY(r) {
    applications++; applied[r] = true;
    MUST(S4_applied_at_most_once, applications <= 1);
    MUST(S8_no_false_certainty, rc[r] != NOT_APPLIED)
}

#define FREE(e) if :: guard == e + 1 -> guard = 0 :: else fi

/* A definite no: the next attempt of the same effect, or its end; the end frees the row in the same transaction. */
inline REFUSED(e) {
    MOVE(rc[R(e, attempt[e])], NOT_APPLIED);
    if
    :: attempt[e] + 1 < ATTEMPTS -> attempt[e]++
    :: else -> step[e] = FAILED; FREE(e)
    fi
}

proctype Effect(byte e) {
    mtype answer; byte seen;
again:
    atomic { answer = 0; seen = 0 };
end_again:
    if
    :: atomic { step[e] == OPEN && rc[R(e, attempt[e])] == 0 }
    :: step[e] != OPEN -> goto ended
    fi;
#ifdef READ_THEN_WRITE     /* mutant: looks whether anybody holds the content, then writes in a second transaction */
    seen = guard;
    atomic {
        if
        :: seen != 0 && seen != e + 1 -> step[e] = DUPLICATE; goto ended
        :: else -> guard = e + 1; DISPATCH(rc[R(e, attempt[e])])
        fi
    }
#else
    atomic {                                          /* INSERT .. ON CONFLICT DO NOTHING and the receipt: one transaction */
        if
        :: guard != 0 && guard != e + 1 -> step[e] = DUPLICATE; goto ended
        :: else -> guard = e + 1; DISPATCH(rc[R(e, attempt[e])])
        fi
    }
#endif
    if
    :: atomic { crashes > 0 -> crashes--;
#ifdef LOCK_ONLY           /* mutant: the guard is a lock of the session, or of the process, and dies with it */
            FREE(e);
#endif
            goto crashed }
    :: true
    fi;
    atomic {
        MUST(S2_no_send_without_a_durable_intent, INTENDED(rc[R(e, attempt[e])]));
        sends[R(e, attempt[e])]++;
        MUST(S1_one_receipt_one_send, sends[R(e, attempt[e])] <= 1);
        if
        :: answer = NO
        :: APPLY(R(e, attempt[e])); answer = OK
        :: APPLY(R(e, attempt[e])); answer = AMBIGUOUS
        :: travels[R(e, attempt[e])] = true; answer = AMBIGUOUS
        :: answer = AMBIGUOUS
        fi
    }
    if
    :: atomic { crashes > 0 -> crashes--;
#ifdef LOCK_ONLY
            FREE(e);
#endif
            goto crashed }
    :: true
    fi;
    atomic {
        if
        :: answer == OK -> MOVE(rc[R(e, attempt[e])], COMMITTED); step[e] = DONE
        :: answer == NO -> REFUSED(e)
        :: answer == AMBIGUOUS -> MOVE(rc[R(e, attempt[e])], UNKNOWN);
#ifdef FREE_UNKNOWN        /* mutant: whatever ends the call frees the row */
            FREE(e)
#endif
        fi;
        goto again
    }
crashed:
    atomic { MOVE(rc[R(e, attempt[e])], UNKNOWN); goto again };
ended:
    skip
}

/* A packet that arrives after its sender gave up. */
proctype Network(byte r) {
end_network:
    do
    :: atomic { travels[r] -> travels[r] = false; APPLY(r) }
    od
}

/* Resolves what is unknown, once it is quiet. */
proctype Verifier(byte e) {
end_verifier:
    do
    :: atomic { step[e] == OPEN && rc[R(e, attempt[e])] == UNKNOWN && !travels[R(e, attempt[e])] ->
           if
           :: applied[R(e, attempt[e])] -> MOVE(rc[R(e, attempt[e])], VERIFIED); step[e] = DONE
           :: else -> REFUSED(e)
           fi }
    od
}

active proctype Rest() {
    byte e;
end_rest:
    timeout ->
    for (e : 0 .. EFFECTS - 1) { MUST(L1_comes_to_rest, step[e] != OPEN) }
}

init { atomic { byte i;
    for (i : 0 .. EFFECTS - 1) { run Effect(i); run Verifier(i); run Network(R(i, 0)); run Network(R(i, 1)) } } }
