/* (h) Drain: SIGTERM leaves nothing of ours dispatched (semantics.md, 8; L7).
 *
 * One node, RUNS runs of two steps each. After the signal it claims nothing and starts no step; calls in flight may end until the drain time is
 * over, then they are interrupted, and what does not answer is recorded as unknown. The process ends after the last turn's last commit is
 * acknowledged. An answer that comes after it was given up, but before the process ends, is late truth. */
#include "common.pml"

#ifndef RUNS
#define RUNS 3
#endif
#define R(i, s) ((i) * 2 + (s))

mtype = { SCHEDULED, RUNNING, WAITING, COMPLETED };

mtype rc[RUNS * 2]; mtype inst[RUNS] = SCHEDULED;
bool draining; bool overdue; bool exited;
byte turns;                                           /* turns that have not ended */
bool answered[RUNS * 2];

proctype Turn(byte i) {
    byte step;
idle:
end_idle:
    if
#ifdef CLAIMS_ON           /* mutant: claiming goes on after the signal */
    :: atomic { inst[i] == SCHEDULED && !exited -> inst[i] = RUNNING; turns++ }
#else
    :: atomic { inst[i] == SCHEDULED && !draining && !exited -> inst[i] = RUNNING; turns++ }
#endif
    fi;
decide:
    atomic {
        if
        :: exited -> goto dead
        :: !exited && rc[R(i, 0)] == 0 -> step = 0
        :: !exited && APPLIED(rc[R(i, 0)]) && rc[R(i, 1)] == 0 -> step = 1
        :: !exited && APPLIED(rc[R(i, 1)]) -> inst[i] = COMPLETED; turns--; goto idle
        :: !exited && (rc[R(i, 0)] == UNKNOWN || rc[R(i, 1)] == UNKNOWN) -> inst[i] = WAITING; turns--; goto idle
        fi
    }
    atomic {
        if
        :: exited -> goto dead
        :: !exited && draining -> inst[i] = SCHEDULED; turns--; goto idle
        :: !exited && !draining -> DISPATCH(rc[R(i, step)])
        fi
    }
    if
    :: atomic { answered[R(i, step)] && !exited -> MOVE(rc[R(i, step)], COMMITTED); goto decide }
#ifndef NO_VERDICT         /* mutant: calls that do not answer in time are left as they are */
    :: atomic { overdue && !answered[R(i, step)] && !exited -> MOVE(rc[R(i, step)], UNKNOWN); goto decide }
#endif
    :: exited -> goto dead
    fi;
dead:
    skip
}

/* The calls; one that was given up may still answer. */
proctype Call(byte r) {
end_call:
    atomic { rc[r] == DISPATCHED && !exited -> if :: answered[r] = true :: true fi };    /* some never answer */
end_late:
    atomic { rc[r] == UNKNOWN && !exited -> MOVE(rc[r], COMMITTED);
        if :: inst[r / 2] == WAITING -> inst[r / 2] = SCHEDULED :: else fi }
}

active proctype Main() {
    byte r;
end_running:
    draining = true;
    overdue = true;                                   /* whenever the drain time is over */
#ifndef EXITS_EARLY        /* mutant: ends when the drain time is over, not when the turns have */
    turns == 0;
#endif
    atomic {
        exited = true;
        for (r : 0 .. RUNS * 2 - 1) { MUST(L7_a_drain_leaves_nothing_dispatched, rc[r] != DISPATCHED) };
        for (r : 0 .. RUNS - 1) { MUST(L7_a_drain_leaves_nothing_dispatched, inst[r] != RUNNING) }
    }
}

active proctype Rest() {
end_rest:
    timeout -> MUST(L1_comes_to_rest, exited)
}

init { atomic { byte i; for (i : 0 .. RUNS - 1) { run Turn(i); run Call(R(i, 0)); run Call(R(i, 1)) } } }
