/* (g) A failover to an asynchronous standby that lost the tail: epochs are given out again, and rows that prove a send are gone.
 *
 * One run, one step. A node's claim is (epoch, nonce): on the promoted standby the same epoch can be another claim, so the nonce decides.
 * The engine remembers what it dispatched. A connection opened after trouble is good for a commit only when the ledger was compared over
 * it: what is remembered and missing is put back as unknown, the claim is made void and the run is paused until a person accepts.
 *
 * ENGINES = 1 is one engine with two committers and two turns of the run (the old one and the one the new primary gives the claim to).
 * ENGINES = 2: the second turn is another engine's, which remembers nothing of the first. That is the limit no engine can close on an
 * asynchronous standby, and why the promise printed there is the weaker one: the runner expects this model to fail, by S1. */
#include "common.pml"

#ifndef ENGINES
#define ENGINES 1
#endif
#ifndef FAILOVERS
#define FAILOVERS 1
#endif
#ifndef LAPSES
#define LAPSES 2       /* claims that are taken away from a living turn */
#endif

mtype = { SCHEDULED, RUNNING, WAITING, PAUSED, COMPLETED };

/* the primary; by* = the claim that dispatched */
mtype rc; byte byEpoch; byte byNonce; mtype inst = SCHEDULED; byte epoch; byte nonce; bool held;
byte history = 1;                                     /* system identifier and timeline */
/* the standby's copy */
mtype sRc; byte sByEpoch; byte sByNonce; mtype sInst = SCHEDULED; byte sEpoch; byte sNonce; bool sHeld;

byte failovers = FAILOVERS; byte lapses = LAPSES; byte nonces; byte sends; byte owner;   /* ghost: the turn that really has the claim */ byte sOwner;

/* each engine: what it remembers, and its committer's connection for this run: the history it is connected to, 0 = closed */
bool remembers[ENGINES + 1]; byte connection[ENGINES + 1]; bool compared[ENGINES + 1]; bool suspect[ENGINES + 1];
#define E(turn) (turn <= ENGINES -> turn : ENGINES)

#ifdef NO_NONCE            /* mutant: the claim is the epoch alone */
#define HELD (held && epoch == ep)
#else
#define HELD (held && epoch == ep && nonce == no)
#endif
#define REALLY (held && owner == me)

inline COMPARE(e) {
    if
    :: remembers[e] && rc == 0 ->
        DISPATCH(rc); MOVE(rc, UNKNOWN); epoch++; nonce = 0; held = false; owner = 0; inst = PAUSED
    :: else
    fi;
    compared[e] = true; suspect[e] = false
}

/* Ready to commit: connected to the primary there is, and the ledger compared since. */
#ifdef NO_COMPARE          /* mutant: nobody compares */
#define GOOD(e) true
#else
#ifdef FLAG_AFTER          /* mutant: a flag, raised after a commit has failed, asks for the comparison; idle connections just reopen */
#define GOOD(e) (!suspect[e])
#else
#define GOOD(e) (compared[e])
#endif
#endif

/* One committer thread serves one run: opening, comparing and committing are steps of its own, and nobody else uses its connection. */
#define OPEN_IF_CLOSED(e) if :: connection[e] == 0 -> connection[e] = history; compared[e] = false :: else fi

proctype Turn(byte me) {
    byte ep; byte no; byte e; bool sent;
idle:
    atomic { ep = 0; no = 0; sent = false; e = E(me) };
end_idle:
    atomic { inst == SCHEDULED && !held ->            /* claims go over other connections, which simply reopen */
        epoch++; nonces++; nonce = nonces; held = true; inst = RUNNING; owner = me; ep = epoch; no = nonce };
    if
    :: atomic { rc == 0 -> skip }
    :: atomic { rc == DISPATCHED || rc == UNKNOWN -> goto recover }
    :: atomic { APPLIED(rc) -> goto complete }
    fi;
intent:
    atomic {
        OPEN_IF_CLOSED(e);
        if :: !GOOD(e) -> goto compare_intent :: else fi;
        if
        :: connection[e] != history -> connection[e] = 0; suspect[e] = true; goto intent      /* it broke: nothing was written */
        :: else ->
            if
            :: !HELD -> goto idle
            :: HELD && rc != 0 -> goto idle
            :: else ->
                MUST(S5_a_fenced_owner_changes_nothing, REALLY);
                DISPATCH(rc); byEpoch = ep; byNonce = no;
#ifndef REMEMBER_LATER     /* mutant: remembered by the turn when it hears of it, not by the committer that wrote it */
                remembers[e] = true
#endif
            fi
        fi
    }
#ifdef REMEMBER_LATER
    remembers[e] = true;
#endif
    atomic {
        sends++; sent = true;
        MUST(S1_one_receipt_one_send, sends <= 1)
    }
settle:
    atomic {
        OPEN_IF_CLOSED(e);
        if :: !GOOD(e) -> goto compare_settle :: else fi;
        if
        :: connection[e] != history -> connection[e] = 0; suspect[e] = true; goto settle
        :: else ->
            if
            :: HELD && rc == DISPATCHED ->
                MUST(S5_a_fenced_owner_changes_nothing, REALLY);
                MOVE(rc, COMMITTED); inst = COMPLETED; held = false; owner = 0
            :: else ->                                /* late truth */
                if :: UNRESOLVED(rc) -> MOVE(rc, COMMITTED); if :: inst == WAITING && !held -> inst = SCHEDULED :: else fi :: else fi
            fi;
            goto idle
        fi
    }
recover:
    atomic {
        if
        :: HELD && REALLY -> if :: rc == DISPATCHED -> MOVE(rc, UNKNOWN) :: else fi; inst = WAITING; held = false; owner = 0
        :: else
        fi;
        goto idle
    }
complete:
    atomic { if :: HELD && REALLY -> inst = COMPLETED; held = false; owner = 0 :: else fi; goto idle }
compare_intent:
    atomic { if :: connection[e] == history -> COMPARE(e) :: else -> connection[e] = 0 fi; goto intent }
compare_settle:
    atomic { if :: connection[e] == history -> COMPARE(e) :: else -> connection[e] = 0 fi; goto settle }
}

/* The other committer of engine 1: its connection breaks too, and it closes those that idle beside it. */
active proctype Neighbour() {
    byte mine = 1;
end_neighbour:
    do
    :: atomic { mine != history -> mine = history; connection[1] = 0 };
       atomic { suspect[1] = true };
       atomic { if :: suspect[1] -> COMPARE(1) :: else fi;
#ifndef FLAG_AFTER
           compared[1] = connection[1] == history
#endif
       }
    od
}

active proctype Database() {
end_database:
    do
    :: atomic { failovers > 0 && (sRc != rc || sInst != inst || sEpoch != epoch || sNonce != nonce || sHeld != held) ->
            sRc = rc; sByEpoch = byEpoch; sByNonce = byNonce; sInst = inst; sEpoch = epoch; sNonce = nonce; sHeld = held; sOwner = owner }
    :: atomic { failovers > 0 -> failovers--; history++;
            rc = sRc; byEpoch = sByEpoch; byNonce = sByNonce; inst = sInst; epoch = sEpoch; nonce = sNonce; held = sHeld; owner = sOwner }
    :: atomic { inst == RUNNING && held && lapses > 0 -> lapses--; epoch++; nonce = 0; held = false; owner = 0; inst = SCHEDULED }  /* a lease */
    od
}

init { atomic { connection[1] = 1; compared[1] = true;
#if ENGINES > 1
    connection[2] = 1; compared[2] = true;
#endif
    run Turn(1); run Turn(2) } }
