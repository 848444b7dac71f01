/* (b) A fused commit, two parallel branches, an outside writer and the owner's release: no wake-up may be lost.
 *
 * Branch A: effect 0, then effect 1. Branch B: waits for a signal, then effect 2. Both join, then the run is complete. A turn is one actor:
 * it takes its mail, decides from what is acknowledged, and commits outcomes, the next intents and perhaps the release as one transaction
 * (settle(k) + intent(k+1)). Signal, resolution, pause and late truth come from outside: they lock the row, write their own rows, move
 * wake_seq, and schedule the run if it waits unclaimed. Nobody relies on a notification: a turn sees news only in a commit's answer.
 *
 * The state graph of a receipt has no cycle, so comparing the state is comparing n. `news` is "wake_seq is not what the owner has read":
 * only one owner at a time can use it, all others fail on the claim. */
#include "common.pml"

#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef LAPSES
#define LAPSES 1       /* claims that are taken away from a living node */
#endif
#ifndef PAUSES
#define PAUSES 0
#endif

mtype = { SCHEDULED, RUNNING, WAITING, PAUSED, COMPLETED };

/* durable */
mtype rc[3]; byte by[3];
bool signalled; bool pause; bool news; bool held; byte epoch;
mtype inst = SCHEDULED;

/* calls, on the node that made them; an answer is in the mailbox, then in the draft of a commit, or late truth */
mtype = { FLYING, ANSWERED, DRAFTED, LATE, OVER };
mtype call[3]; byte sends[3];
bool living[24];       /* turns that read their mailbox, by epoch */

byte crashes = CRASHES; byte lapses = LAPSES; byte pauses = PAUSES;

#define DONE (APPLIED(rc[0]) && APPLIED(rc[1]) && APPLIED(rc[2]))
#define OWNS (held && epoch == my)

inline NEWS(from) {
#ifndef SILENT_WRITER      /* mutant: an outside writer does not move wake_seq */
    news = true;
#endif
    if :: inst == from && !held -> inst = SCHEDULED :: else fi
}

inline READ() {
    v[0] = rc[0]; v[1] = rc[1]; v[2] = rc[2]; vsignal = signalled; vpause = pause; news = false
}

#define NOW_APPLIED(r) (APPLIED(v[r]) || d[r] == COMMITTED)
#define INFLIGHT(r) (v[r] == DISPATCHED && d[r] == 0)

inline TAKE(r) {
    if
    :: call[r] == ANSWERED && by[r] == my -> call[r] = DRAFTED; d[r] = COMMITTED
    :: !(call[r] == ANSWERED && by[r] == my) && v[r] == DISPATCHED && by[r] != my -> d[r] = UNKNOWN    /* of a dead claim */
    :: else
    fi
}
inline DROP(r, to) { if :: call[r] == DRAFTED && by[r] == my -> call[r] = to :: else fi; d[r] = 0 }
inline DIE(r) { if :: call[r] != 0 && by[r] == my -> call[r] = OVER :: else fi; d[r] = 0 }
inline SETTLE(r) { if :: d[r] != 0 -> MOVE(rc[r], d[r]) :: else fi; DROP(r, OVER) }
inline INTEND(r) { DISPATCH(rc[r]); by[r] = my; call[r] = FLYING }

proctype Turn() {
    byte my; mtype v[3]; mtype d[3]; bool vsignal; bool vpause; bool i0; bool i1; bool i2; bool going; bool joined;
idle:
    atomic { my = 0; v[0] = 0; v[1] = 0; v[2] = 0; vsignal = false; vpause = false; i0 = false; i1 = false; i2 = false; going = false; joined = false }
end_idle:
    atomic { inst == SCHEDULED && !held -> held = true; epoch++; my = epoch; living[my] = true; inst = RUNNING; READ() };
step:
    if
    :: atomic { crashes > 0 -> crashes--; living[my] = false;      /* the process is gone, and with it its calls and its mail */
           DIE(0); DIE(1); DIE(2); goto idle }
    :: true
    fi;
    atomic {                                          /* the mail, then the decision: from acknowledged state and the draft */
        TAKE(0); TAKE(1); TAKE(2);
        i0 = !vpause && v[0] == 0;
        i1 = !vpause && v[1] == 0 && NOW_APPLIED(0);
        i2 = !vpause && v[2] == 0 && vsignal;
        going = i0 || i1 || i2 || INFLIGHT(0) || INFLIGHT(1) || INFLIGHT(2);
        if
        :: going && !i0 && !i1 && !i2 && d[0] == 0 && d[1] == 0 && d[2] == 0 -> goto await
        :: else
        fi
    }
    atomic {                                          /* one transaction under the row lock */
        if
        :: !OWNS -> goto lost
        :: OWNS && (d[0] != 0 && rc[0] != v[0] || d[1] != 0 && rc[1] != v[1] || d[2] != 0 && rc[2] != v[2]) ->
            DROP(0, LATE); DROP(1, LATE); DROP(2, LATE);   /* Conflict: read again; answers go on as late truth */
            READ(); goto step
        :: else
        fi;
#ifdef COUPLED             /* mutant: intents that the flag holds back take the settles they ride with along */
        if
        :: pause && (i0 || i1 || i2) -> DROP(0, OVER); DROP(1, OVER); DROP(2, OVER); READ(); goto step
        :: else
        fi;
#endif
#ifdef JOIN_ANY            /* mutant: the first branch to end passes the join */
        joined = NOW_APPLIED(1) || NOW_APPLIED(2);
#else
        joined = NOW_APPLIED(0) && NOW_APPLIED(1) && NOW_APPLIED(2);
#endif
        SETTLE(0); SETTLE(1); SETTLE(2);
        if
        :: going && !pause ->                         /* two answers: the intents may be held without the rest */
            if :: i0 -> INTEND(0) :: else fi;
            if :: i1 -> INTEND(1) :: else fi;
            if :: i2 -> INTEND(2) :: else fi
        :: else
        fi;
        if
        :: going -> READ(); goto step                 /* reads again whenever the answer shows news; reading more often is no help */
#ifdef BLIND_RELEASE       /* mutant: the release does not compare wake_seq */
        :: !going ->
#else
        :: !going && news -> READ(); goto step
        :: !going && !news ->
#endif
            if
            :: joined -> inst = COMPLETED; MUST(S11_a_join_waits_for_every_branch, DONE)
            :: else -> if :: vpause -> inst = PAUSED :: else -> inst = WAITING fi
            fi;
            held = false; living[my] = false;
            goto idle
        fi
    }
await:                                                /* mail, or a deadline whose commit says that the claim is lost */
    if
    :: (call[0] == ANSWERED && by[0] == my) || (call[1] == ANSWERED && by[1] == my) || (call[2] == ANSWERED && by[2] == my) -> goto step
    :: !OWNS -> goto lost
    fi;
lost:
    atomic { DROP(0, LATE); DROP(1, LATE); DROP(2, LATE); living[my] = false; goto idle }
}

inline LAND(r) {
    if
    :: UNRESOLVED(rc[r]) -> MOVE(rc[r], COMMITTED); NEWS(WAITING)
    :: else -> NEWS(WAITING)                          /* evidence */
    fi;
    call[r] = OVER
}

inline SEND() {
    MUST(S2_no_send_without_a_durable_intent, INTENDED(rc[r]));
    sends[r]++;
    MUST(S1_one_receipt_one_send, sends[r] <= 1);
    call[r] = ANSWERED; r = 0
}

/* The wire, and late truth: an answer whose turn no longer reads its mail settles from outside. */
active proctype Calls() {
    byte r;
end_calls:
    do
    :: atomic { call[0] == FLYING -> r = 0; SEND() }
    :: atomic { call[1] == FLYING -> r = 1; SEND() }
    :: atomic { call[2] == FLYING -> r = 2; SEND() }
    :: atomic { call[0] == LATE || (call[0] == ANSWERED && !living[by[0]]) -> LAND(0) }
    :: atomic { call[1] == LATE || (call[1] == ANSWERED && !living[by[1]]) -> LAND(1) }
    :: atomic { call[2] == LATE || (call[2] == ANSWERED && !living[by[2]]) -> LAND(2) }
    od
}
active proctype Sweep() {
end_sweep:
    do
    :: atomic { held && !living[epoch] -> epoch++; held = false; inst = SCHEDULED }                  /* of a dead process */
    :: atomic { lapses > 0 && held -> lapses--; epoch++; held = false; inst = SCHEDULED }            /* of a living one */
    od
}

/* The signal of branch B. */
active proctype Signal() {
#ifdef UNLOCKED_WRITER     /* mutant: looks whether it must wake the run, then writes, without the row lock in between */
    bool asleep;
end_signal:
    atomic { asleep = (inst == WAITING && !held) };
    atomic { signalled = true; news = true; if :: asleep && inst == WAITING -> inst = SCHEDULED :: else fi }
#else
end_signal:
    atomic { !signalled -> signalled = true; NEWS(WAITING) }
#endif
}

/* A person resolves what a crash left unknown; the honest answer is "landed" or a new run, and here it is "landed". */
active proctype Person() {
end_person:
    do
    :: atomic { rc[0] == UNKNOWN -> MOVE(rc[0], VERIFIED); NEWS(WAITING) }
    :: atomic { rc[1] == UNKNOWN -> MOVE(rc[1], VERIFIED); NEWS(WAITING) }
    :: atomic { rc[2] == UNKNOWN -> MOVE(rc[2], VERIFIED); NEWS(WAITING) }
    :: atomic { pauses > 0 && inst != COMPLETED -> pauses--; pause = true; NEWS(WAITING) }
    :: atomic { pause -> pause = false; NEWS(PAUSED) }
    od
}

/* Everything that was waited for has come: the run must be complete. */
active proctype Rest() {
end_rest:
    timeout -> RULE(L1_comes_to_rest, inst == COMPLETED)
}

init { atomic { run Turn(); run Turn() } }

#ifdef LTL
STUTTER
ltl comes_to_rest { <> (inst == COMPLETED) }
#endif
