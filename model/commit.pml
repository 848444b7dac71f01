/* (c) An unclear COMMIT: submitted again with the same transition id, with a takeover in between.
 *
 * Two steps: intent(1), then settle(1) + intent(2), then settle(2) + release. A COMMIT may be answered; durable and its answer lost; rolled
 * back and its answer lost; or hang: the client gives up while the old session holds the row lock until it commits or dies. Whoever submits
 * again waits for that lock. A plain read sees only what is committed, so "row absent" proves nothing.
 *
 * Every row carries the transition id of its commit. A repeat that finds its rows answers what is durable; else the claim decides. */
#include "common.pml"

#ifndef UNCLEAR
#define UNCLEAR 2      /* COMMITs whose answer is lost */
#endif
#ifndef LAPSES
#define LAPSES 1       /* claims that are taken away from a living node */
#endif
#ifndef CRASHES
#define CRASHES 1
#endif

mtype = { SCHEDULED, RUNNING, WAITING, COMPLETED, FAILED };
mtype = { NO_ANSWER, WRITTEN, NOT_RELEASED, CLAIM_LOST, CONFLICT };

/* durable: steps are 1 and 2, 0 means none */
mtype rc[3]; byte by[3]; byte intentId[3]; byte settleId[3]; byte lastId;
mtype inst = SCHEDULED; byte epoch; bool held; bool gone; bool news;

/* the session whose COMMIT hangs */
bool locked; byte hId; byte hClaim; byte hSettle; mtype hTo; byte hIntent; mtype hRelease; bool hAgain;

byte sends[3]; bool late[3]; bool applied[3];
byte ids; byte unclear = UNCLEAR; byte lapses = LAPSES; byte crashes = CRASHES;

#define HELD(claim) (held && epoch == claim)
#ifdef REPEAT_UNFENCED     /* mutant: a repeat that does not find its rows writes them without looking at the claim again */
#define MAY_WRITE(claim, again) (HELD(claim) || again)
#else
#define MAY_WRITE(claim, again) HELD(claim)
#endif
#define FOUND(id, settle, intent) (lastId == id || (settle != 0 && settleId[settle] == id) || (intent != 0 && intentId[intent] == id))
#define TERMINAL (inst == COMPLETED || inst == FAILED)

inline CERTAIN(step) {
    if
    :: rc[step] == NOT_APPLIED -> MUST(S8_no_false_certainty, !applied[step])
    :: APPLIED(rc[step]) -> MUST(S8_no_false_certainty, applied[step])
    :: else
    fi
}

/* One transaction under the row lock: finds itself, or is refused, or writes. */
inline WRITE(id, claim, settle, to, intent, release, again, reply) {
    if
    :: FOUND(id, settle, intent) ->
        if :: release != 0 && HELD(claim) -> reply = NOT_RELEASED :: else -> reply = WRITTEN fi
    :: !FOUND(id, settle, intent) && !MAY_WRITE(claim, again) -> reply = CLAIM_LOST
    :: else ->
        if
        :: (settle != 0 && rc[settle] != DISPATCHED) || (intent != 0 && rc[intent] != 0) -> reply = CONFLICT
        :: else ->
            MUST(S5_a_fenced_owner_changes_nothing, HELD(claim));
            reply = WRITTEN; lastId = id;
            if :: settle != 0 -> MOVE(rc[settle], to); settleId[settle] = id; CERTAIN(settle) :: else fi;
            if :: intent != 0 -> DISPATCH(rc[intent]); intentId[intent] = id; by[intent] = claim :: else fi;
            if
            :: release != 0 && !news ->
                inst = release; held = false;
                if :: TERMINAL -> MUST(S20_nothing_ends_while_dispatched, rc[1] != DISPATCHED && rc[2] != DISPATCHED) :: else fi
            :: release != 0 && news -> reply = NOT_RELEASED
            :: else
            fi
        fi
    fi
}

inline NEWS() { news = true; if :: inst == WAITING && !held -> inst = SCHEDULED :: else fi }

proctype Node() {
    byte my; mtype v1; mtype v2; byte id; byte settle; mtype to; byte intent; mtype release; mtype reply; bool again; bool answer;
idle:
    atomic { my = 0; v1 = 0; v2 = 0; id = 0; settle = 0; to = 0; intent = 0; release = 0; reply = 0; again = false; answer = false }
end_idle:
    atomic { inst == SCHEDULED && !held && !locked -> epoch++; my = epoch; held = true; inst = RUNNING };
read:
    atomic {                                          /* a plain read, no lock: only what is committed */
        if :: HELD(my) -> news = false :: else -> goto idle fi;
        v1 = rc[1]; v2 = rc[2]; settle = 0; to = 0; intent = 0; release = 0; answer = false; again = false; reply = 0;
        if
        :: v1 == 0 -> intent = 1
        :: v1 == DISPATCHED && by[1] != my -> settle = 1; to = UNKNOWN; release = WAITING
        :: v2 == DISPATCHED && by[2] != my -> settle = 2; to = UNKNOWN; release = WAITING
        :: (v1 == DISPATCHED && by[1] == my) || (v2 == DISPATCHED && by[2] == my) -> goto in_flight
        :: v1 == UNKNOWN || v2 == UNKNOWN -> release = WAITING
        :: v1 == NOT_APPLIED || v2 == NOT_APPLIED -> release = FAILED
        :: APPLIED(v1) && v2 == 0 -> intent = 2
        :: APPLIED(v2) -> release = COMPLETED
        fi
    }
submit:
    atomic { ids++; id = ids };
commit:
    if
    :: atomic { crashes > 0 -> crashes--; if :: HELD(my) -> gone = true :: else fi; goto idle }
    :: atomic {                                       /* waits for whoever holds the row lock */
        !locked ->
        if
        :: true -> WRITE(id, my, settle, to, intent, release, again, reply)
        :: unclear > 0 -> unclear--; WRITE(id, my, settle, to, intent, release, again, reply); reply = NO_ANSWER
        :: unclear > 0 -> unclear--; reply = NO_ANSWER
        :: unclear > 0 -> unclear--; reply = NO_ANSWER; locked = true;
            hId = id; hClaim = my; hSettle = settle; hTo = to; hIntent = intent; hRelease = release; hAgain = again
        fi }
    fi;
    if
#ifdef UNCLEAR_IS_NO       /* mutant: nobody said yes, so it is no: look again, decide again */
    :: reply == NO_ANSWER -> goto read
#else
#ifdef UNCLEAR_IS_YES      /* mutant: it will have worked */
    :: reply == NO_ANSWER && intent != 0 -> goto send
    :: reply == NO_ANSWER && intent == 0 -> again = true; goto commit
#else
#ifdef NEW_ID              /* mutant: submitted again, under a new transition id */
    :: reply == NO_ANSWER -> again = true; goto submit
#else
    :: reply == NO_ANSWER -> again = true; goto commit
#endif
#endif
#endif
    :: reply == WRITTEN && intent != 0 -> goto send
    :: reply == WRITTEN && intent == 0 -> goto idle      /* released */
    :: reply == NOT_RELEASED -> goto read
    :: reply == CLAIM_LOST || reply == CONFLICT -> goto lost
    fi;
send:
    atomic {                                          /* the send deadline was taken before the intent was handed over */
        again = false; reply = 0; answer = true; settle = intent;
        if
        :: late[intent] -> to = NOT_APPLIED
        :: !late[intent] ->
            MUST(S2_no_send_without_a_durable_intent, INTENDED(rc[intent]));
            sends[intent]++; applied[intent] = true; to = COMMITTED;
            MUST(S1_one_receipt_one_send, sends[intent] <= 1);
            CERTAIN(intent)
        fi;
        if
        :: to == COMMITTED && settle == 1 -> intent = 2; release = 0
        :: to == COMMITTED && settle == 2 -> intent = 0; release = COMPLETED
        :: else -> intent = 0; release = FAILED
        fi;
        goto submit
    }
lost:                                                 /* the answer in hand goes on as late truth */
    atomic {
        if
        :: answer && UNRESOLVED(rc[settle]) && !locked -> MOVE(rc[settle], to); settleId[settle] = 255; CERTAIN(settle); NEWS()
        :: answer && !UNRESOLVED(rc[settle]) -> skip
        :: !answer -> skip
        fi;
        if :: reply == CONFLICT -> goto read :: else -> goto idle fi
    }
in_flight:                                            /* "in flight under this claim": believed, and nobody sends */
end_in_flight:
    atomic { !HELD(my) -> goto idle }
}

active proctype World() {
    mtype ignored;
end_world:
    do
    :: atomic { locked -> locked = false;
           if
           :: true -> WRITE(hId, hClaim, hSettle, hTo, hIntent, hRelease, hAgain, ignored)
           :: true
           fi;
           ignored = 0; hId = 0; hClaim = 0; hSettle = 0; hTo = 0; hIntent = 0; hRelease = 0; hAgain = false }
    :: atomic { rc[1] != 0 && !late[1] -> late[1] = true }
    :: atomic { rc[2] != 0 && !late[2] -> late[2] = true }
    :: atomic { lapses > 0 && held && !locked -> lapses--; epoch++; held = false; inst = SCHEDULED }
    :: atomic { gone && held && !locked -> gone = false; epoch++; held = false; inst = SCHEDULED }
    od
}

/* A person, or a verifier: after the send deadline the provider's record is the truth. */
active proctype Person() {
end_person:
    do
    :: atomic { rc[1] == UNKNOWN && late[1] && !locked ->
           if :: applied[1] -> MOVE(rc[1], VERIFIED) :: else -> MOVE(rc[1], NOT_APPLIED) fi; CERTAIN(1); NEWS() }
    :: atomic { rc[2] == UNKNOWN && late[2] && !locked ->
           if :: applied[2] -> MOVE(rc[2], VERIFIED) :: else -> MOVE(rc[2], NOT_APPLIED) fi; CERTAIN(2); NEWS() }
    od
}

active proctype Rest() {
end_rest:
    timeout -> MUST(L1_comes_to_rest, TERMINAL)
}

init { atomic { run Node(); run Node() } }
