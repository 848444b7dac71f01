/* (f) Resend with a key, inside its window (semantics.md, 5).
 *
 * A resend is a new receipt with the same key while an earlier one is unknown. The provider remembers a key for WINDOW ticks from when it
 * first saw it; the engine counts from the first dispatch in database time and stops a margin earlier, because a request dispatched now
 * may be sent one tick and arrive two ticks later. An applied answer settles the whole chain in one transaction; a no settles the resend
 * alone. Time is counted in ticks, and a packet does not outlive its receipt's quiet_at. */
#include "common.pml"

#ifndef ATTEMPTS
#define ATTEMPTS 3
#endif
#define WINDOW 4
#define TRAVEL 2       /* send deadline and the longest journey: dispatch to arrival */
#ifdef NO_MARGIN           /* mutant: the window is used to its last tick */
#define MARGIN 0
#else
#define MARGIN TRAVEL
#endif
#define TICKS 8
#ifndef CRASHES
#define CRASHES 1
#endif

mtype = { OK, NO, AMBIGUOUS };
mtype = { OPEN, WAITING, COMPLETED };

mtype rc[ATTEMPTS]; byte at[ATTEMPTS]; byte attempts; mtype run_ = OPEN;
byte now;
bool travels[ATTEMPTS]; bool applied[ATTEMPTS]; byte sends[ATTEMPTS];
byte crashes = CRASHES;

/* the provider's memory of keys: one key for the effect, or in a mutant one for each attempt */
bool known[ATTEMPTS]; byte seenAt[ATTEMPTS]; byte applications;
#ifdef KEY_WITH_ATTEMPT    /* mutant: the attempt is part of the key */
#define KEY(a) (a)
#else
#define KEY(a) 0
#endif
#define REMEMBERED(k) (known[k] && now <= seenAt[k] + WINDOW)

#ifdef NO_WINDOW           /* mutant: the window is not looked at */
#define IN_WINDOW true
#else
#ifdef WINDOW_FROM_LAST    /* mutant: counted from the last resend */
#define IN_WINDOW (now + MARGIN <= at[attempts - 1] + WINDOW)
#else
#define IN_WINDOW (now + MARGIN <= at[0] + WINDOW)
#endif
#endif

#define DUE(a) (travels[a] && now >= at[a] + TRAVEL)   /* it arrives before time goes on */

inline ARRIVES(a) {
    if
    :: REMEMBERED(KEY(a)) -> skip                     /* the stored answer is replayed */
    :: else ->
        known[KEY(a)] = true; seenAt[KEY(a)] = now; applied[a] = true; applications++;
        MUST(S4_applied_at_most_once, applications <= 1);
        MUST(S8_no_false_certainty, rc[a] != NOT_APPLIED)
    fi
}

inline UNKNOWN_BECOMES(a, to) {
    if
    :: a < attempts && rc[a] == UNKNOWN -> MOVE(rc[a], to);
        if :: to == VERIFIED -> MUST(S8_no_false_certainty, applications == 1) :: else -> MUST(S8_no_false_certainty, !applied[a]) fi
    :: else
    fi
}

active proctype Engine() {
    mtype answer; byte a;
    do
    :: atomic { run_ == OPEN && attempts < ATTEMPTS && (attempts == 0 || IN_WINDOW) ->      /* the window is read in the intent's transaction */
            a = attempts; at[a] = now; DISPATCH(rc[a]); attempts++ };
       if
       :: atomic { crashes > 0 -> crashes--; MOVE(rc[a], UNKNOWN) }                         /* between insert and send */
       :: atomic {                                                                          /* the last look, then the request */
            if
            :: now > at[a] + 1 -> answer = NO
            :: now <= at[a] + 1 ->
                MUST(S2_no_send_without_a_durable_intent, INTENDED(rc[a]));
                sends[a]++; MUST(S1_one_receipt_one_send, sends[a] <= 1);
                if
                :: true -> ARRIVES(a); answer = OK
                :: true -> ARRIVES(a); answer = AMBIGUOUS
                :: travels[a] = true; answer = AMBIGUOUS
                :: answer = AMBIGUOUS
                :: answer = NO                                                              /* 429, a limit: it speaks of this request alone */
                fi
            fi };
          atomic {
            if
            :: answer == OK ->
                MOVE(rc[a], COMMITTED); MUST(S8_no_false_certainty, applications == 1);
#ifdef SPLIT_CHAIN         /* mutant: the earlier members are settled in a transaction of their own */
                if
                :: crashes > 0 -> crashes--; run_ = COMPLETED
                :: true -> run_ = COMPLETED; UNKNOWN_BECOMES(0, VERIFIED); UNKNOWN_BECOMES(1, VERIFIED)
                fi;
#else
                UNKNOWN_BECOMES(0, VERIFIED); UNKNOWN_BECOMES(1, VERIFIED);
                run_ = COMPLETED;
#endif
                MUST(S6_outcome_and_output_commit_together, rc[0] != UNKNOWN && rc[1] != UNKNOWN)
            :: answer == NO ->
                MOVE(rc[a], NOT_APPLIED); MUST(S8_no_false_certainty, !applied[a]);
#ifdef NO_ENDS_CHAIN       /* mutant: a no to the resend is taken as a no to the earlier members */
                UNKNOWN_BECOMES(0, NOT_APPLIED); UNKNOWN_BECOMES(1, NOT_APPLIED)
#endif
            :: answer == AMBIGUOUS -> MOVE(rc[a], UNKNOWN)
            fi;
            answer = 0; a = 0 }
       fi
    :: atomic { run_ == OPEN && attempts > 0 && (attempts == ATTEMPTS || !IN_WINDOW) -> run_ = WAITING }   /* for a verifier or a person */
    :: run_ != OPEN -> break
    od
}

active proctype World() {
end_world:
    do
    :: atomic { travels[0] -> travels[0] = false; ARRIVES(0) }
    :: atomic { travels[1] -> travels[1] = false; ARRIVES(1) }
    :: atomic { travels[2] -> travels[2] = false; ARRIVES(2) }
    :: atomic { now < TICKS && !DUE(0) && !DUE(1) && !DUE(2) -> now++ }
    od
}

active proctype Rest() {
end_rest:
    timeout -> MUST(L1_comes_to_rest, run_ != OPEN)
}
