/* (e) The hand-out to external workers: prepared -> offered -> start -> complete, with a token (semantics.md, 8).
 *
 * While a task is queued or offered its receipt is prepared, so a lost hand-out is safely offered again. `start` moves it to dispatched and
 * carries the worker's own random token: the same token again is 200, another 409. After start nothing is ever offered again: expiry means
 * unknown. A report with the token that started is first-hand even after expiry; any other changes nothing. The answer to start may be
 * lost: the worker asks again with the same token, and executes only after a yes. Offers expire at any time, as often as they like. */
#include "common.pml"

#ifndef WORKERS
#define WORKERS 3
#endif
#ifndef CRASHES
#define CRASHES 1      /* workers that die with a task in hand */
#endif
#define ATTEMPTS 2

mtype = { QUEUED, OFFERED, STARTED, ENDED };
mtype = { DONE, NO };

mtype rc[ATTEMPTS]; byte attempt; mtype task = QUEUED;
byte token[ATTEMPTS];                                 /* whose start was accepted */
bool cancel;
byte executions[ATTEMPTS]; bool applied[ATTEMPTS];
byte crashes = CRASHES;

#ifdef OFFER_STARTED       /* mutant: an expired task goes back to the queue although it was started */
#define STARTABLE (rc[a] == PREPARED || rc[a] == DISPATCHED)
#else
#ifdef START_BLIND         /* mutant: start looks at the task in the worker's hand, not at the receipt */
#define STARTABLE true
#else
#define STARTABLE (rc[a] == PREPARED)
#endif
#endif
#ifdef ANY_TOKEN           /* mutant: start says yes to whoever asks once the task runs */
#define MINE(a) true
#else
#define MINE(a) (token[a] == me)
#endif
#ifdef ANY_REPORT          /* mutant: a report settles whatever token it carries */
#define FIRST_HAND(a) true
#else
#define FIRST_HAND(a) (token[a] == me)
#endif

inline CERTAIN(a) {
    if
    :: rc[a] == NOT_APPLIED -> MUST(S8_no_false_certainty, !applied[a])
    :: APPLIED(rc[a]) -> MUST(S8_no_false_certainty, applied[a])
    :: else
    fi
}

/* Receipt, output and task in one transaction; a definite no puts the next attempt into the queue. */
inline REPORT(a, said) {
    if
    :: FIRST_HAND(a) && UNRESOLVED(rc[a]) && said == DONE -> MOVE(rc[a], COMMITTED); CERTAIN(a); task = ENDED
    :: FIRST_HAND(a) && UNRESOLVED(rc[a]) && said == NO ->
        MOVE(rc[a], NOT_APPLIED); CERTAIN(a);
        if
        :: attempt + 1 < ATTEMPTS && !cancel -> attempt++; rc[attempt] = PLANNED; MOVE(rc[attempt], PREPARED); task = QUEUED
        :: else -> task = ENDED
        fi
    :: else                                           /* 202 evidence, or 409 */
    fi
}

proctype Worker(byte me) {                            /* its token is its number: workers never draw the same one */
    byte a; mtype said;
idle:
    atomic { a = 0; said = 0 };
end_idle:
    atomic { task == QUEUED -> task = OFFERED; a = attempt };
    if :: atomic { crashes > 0 -> crashes--; goto idle } :: true fi;
#ifdef EXECUTE_ON_OFFER    /* mutant: the worker runs what it was handed before its start is durable */
    goto execute;
#endif
start:
    atomic {
        if
        :: task == OFFERED && attempt == a && STARTABLE ->
            if :: rc[a] != DISPATCHED -> MOVE(rc[a], DISPATCHED) :: else fi;
            token[a] = me; task = STARTED;
            if :: skip :: goto start fi               /* the answer may be lost: the same token asks again */
        :: task == STARTED && attempt == a && MINE(a) -> skip       /* 200 again */
        :: else -> said = NO; REPORT(a, said); goto idle            /* 409: "then I have not done it", says the worker */
        fi
    }
    if :: atomic { crashes > 0 -> crashes--; goto idle } :: true fi;
execute:
    atomic {
        MUST(S2_no_send_without_a_durable_intent, INTENDED(rc[a]));
        executions[a]++;
        MUST(S1_one_receipt_one_send, executions[a] <= 1);
        if
        :: said = NO
        :: said = DONE; applied[a] = true;
           MUST(S4_applied_at_most_once, applied[0] + applied[1] <= 1);
           MUST(S8_no_false_certainty, rc[a] != NOT_APPLIED)
        fi
    }
    if :: atomic { crashes > 0 -> crashes--; goto idle } :: true fi;
    atomic { REPORT(a, said); goto idle }
}

/* Offers and started tasks run out. */
active proctype Sweep() {
end_sweep:
    do
    :: atomic { task == OFFERED -> task = QUEUED }
#ifdef OFFER_STARTED
    :: atomic { task == STARTED -> task = QUEUED }
#else
    :: atomic { task == STARTED -> task = ENDED; MOVE(rc[attempt], UNKNOWN) }
#endif
    od
}

active proctype Canceller() {
end_canceller:
    atomic { task != ENDED -> cancel = true;
        if
        :: rc[attempt] == PREPARED -> MOVE(rc[attempt], ABANDONED);
#ifndef START_BLIND
            task = ENDED
#endif
        :: else
        fi }
}

/* Terminal, or unknown and waiting for a person. */
active proctype Rest() {
end_rest:
    timeout -> MUST(L1_comes_to_rest, task == ENDED && rc[attempt] != PREPARED && rc[attempt] != DISPATCHED)
}

init { atomic { rc[0] = PLANNED; MOVE(rc[0], PREPARED); byte i; for (i : 1 .. WORKERS) { run Worker(i) } } }
