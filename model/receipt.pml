/* (a) The effect receipt: one guarded step, NODES nodes, one database, one provider, and people.
 *
 * A pause of a process is an interleaving; a crash is a choice before and after every database or network action. Commits are certain
 * here: what happens while they are not is commit.pml. Time is abstract: a send deadline may pass, and a lease may run out, at any
 * moment; only their order counts ("safety never depends on clocks").
 *
 * Budgets bound the model; -D sets others. */
#include "common.pml"

#ifndef NODES
#define NODES 2
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 2
#endif
#ifndef CRASHES
#define CRASHES 1
#endif
#ifndef LAPSES
#define LAPSES 1       /* leases that run out under a living node */
#endif
#ifndef ASKS
#define ASKS 0         /* questions of a verifier */
#endif
#ifndef RESOLVES
#define RESOLVES 0     /* resolutions by a person; each abandoned one may also be retried */
#endif
#ifndef CANCELS
#define CANCELS 0
#endif

mtype = { SCHEDULED, RUNNING, WAITING, COMPLETED, FAILED, CANCELLED };   /* run */
mtype = { OK, NO, NOT_SENT, AMBIGUOUS };                                 /* what a call came to */
mtype = { NOTHING, RESEND, FAIL };                                       /* what a person wants next */
mtype = { ALIVE, EXPIRED, FENCED };                                      /* a node's lease */

/* --- durable -------------------------------------------------------------------------------------------------------------------- */
mtype rc[ATTEMPTS];      /* the state of each attempt's receipt; 0 = there is none */
byte n[ATTEMPTS];        /* rows in its journal: who inserts row n + 1 must have seen n */
byte by[ATTEMPTS];       /* epoch of the claim that dispatched it */
byte attempts;           /* receipts there are */
bool output;
mtype wanted = NOTHING;    /* what the last resolution asked for */
mtype inst = SCHEDULED;
byte epoch; byte nonce; byte holder;   /* the claim; holder 0 = unclaimed. Nonces of two nodes differ: a node draws its own number */
bool news;               /* wake_seq has moved since the owner read it */
bool cancel;             /* the flag; it is acknowledged once it is set */
mtype lease[NODES + 2] = ALIVE;
#define GONE (NODES + 1)               /* an incarnation that no process runs any longer */

/* --- the world ------------------------------------------------------------------------------------------------------------------ */
byte sends[ATTEMPTS];    /* requests that left, per receipt */
bool applied[ATTEMPTS];  /* the provider's own ledger */
bool travels[ATTEMPTS];  /* a request that arrives after the sender gave up */
bool late[ATTEMPTS];     /* the send deadline has passed */
bool dispatchedAfterCancel;

byte crashes = CRASHES; byte lapses = LAPSES; byte asks = ASKS; byte resolves = RESOLVES; byte retries = RESOLVES;
byte cancels = CANCELS;

#if ATTEMPTS == 2
#define APPLICATIONS (applied[0] + applied[1])
#define SENT_IS_DURABLE ((sends[0] == 0 || INTENDED(rc[0])) && (sends[1] == 0 || INTENDED(rc[1])))
#define NONE_DISPATCHED (rc[0] != DISPATCHED && rc[1] != DISPATCHED)
#else
#define APPLICATIONS (applied[0] + applied[1] + applied[2])
#define SENT_IS_DURABLE ((sends[0] == 0 || INTENDED(rc[0])) && (sends[1] == 0 || INTENDED(rc[1])) && (sends[2] == 0 || INTENDED(rc[2])))
#define NONE_DISPATCHED (rc[0] != DISPATCHED && rc[1] != DISPATCHED && rc[2] != DISPATCHED)
#endif
#define TERMINAL (inst == COMPLETED || inst == FAILED || inst == CANCELLED)
#define LAST (attempts - 1)
#if ATTEMPTS == 2
#define LAST_IS(state) ((attempts == 1 && rc[0] == state) || (attempts == 2 && rc[1] == state))
#else
#define LAST_IS(state) ((attempts == 1 && rc[0] == state) || (attempts == 2 && rc[1] == state) || (attempts == 3 && rc[2] == state))
#endif
#define REST (TERMINAL || (inst == WAITING && holder == 0 && (LAST_IS(UNKNOWN) || (LAST_IS(ABANDONED) && wanted == NOTHING))))
#define MAY_RETRY(early) (retries > 0 && attempts > 0 && rc[LAST] == ABANDONED && wanted == NOTHING && APPLICATIONS == 0 \
                          && inst == WAITING && (early || QUIET(LAST)))

#define CURRENT (epoch == ep && nonce == me && holder != 0)
#ifdef NO_FENCE            /* mutant: an owner writes without looking at the claim under the row lock */
#define OWNS true
#else
#define OWNS CURRENT
#endif

/* No sender and no packet of this receipt can still arrive (quiet_at). */
#ifdef VERIFY_EARLY        /* mutant: "absent" counts at once */
#define QUIET(a) true
#else
#ifdef VERIFY_PACKET       /* mutant: the sender is through, but its packet may still travel */
#define QUIET(a) (late[a])
#else
#define QUIET(a) (late[a] && !travels[a])
#endif
#endif

inline APPLY(a) {
    applied[a] = true;
    MUST(S4_applied_at_most_once, APPLICATIONS <= 1);
    RULE(S8_no_false_certainty, rc[a] != NOT_APPLIED)
}

/* One row of the journal and what belongs to it, in the transaction of whoever calls. */
inline RECORD(a, to) {
    n[a]++;
    MOVE(rc[a], to);
    if
    :: APPLIED(rc[a]) -> output = true; RULE(S8_no_false_certainty, APPLICATIONS == 1)
    :: rc[a] == NOT_APPLIED -> RULE(S8_no_false_certainty, !applied[a])
    :: else
    fi
}

#ifdef NO_CAS              /* mutant: the journal has no key (.., n): whoever comes adds a row */
#define UNCHANGED(a, seen) true
#else
#define UNCHANGED(a, seen) (n[a] == seen)
#endif

/* Whoever is not the owner: news for the owner; a waiting run is scheduled. Never position, never claim. */
inline NEWS() {
    news = true;
#ifndef NO_WAKE            /* mutant: an outside writer leaves a waiting run asleep */
    if :: inst == WAITING && holder == 0 -> inst = SCHEDULED :: else fi
#endif
}

inline RELEASE(to) {
    RULE(S5_a_fenced_owner_changes_nothing, CURRENT);
    inst = to;
    holder = 0;
    if :: TERMINAL -> RULE(S20_nothing_ends_while_dispatched, NONE_DISPATCHED) :: else fi;
    if :: inst == COMPLETED -> RULE(S6_outcome_and_output_commit_together, output && APPLIED(rc[LAST])) :: else fi
}

#define CRASH \
    :: atomic { crashes > 0 -> crashes--; if :: holder == me -> holder = GONE :: else fi; lease[me] = ALIVE; goto idle }
#define MAYBE_CRASH if CRASH :: true fi

proctype Node(byte me) {
    byte ep; byte a; byte k; mtype saw; mtype answer; bool cancelling;
idle:
    atomic { ep = 0; a = 0; k = 0; saw = 0; answer = 0; cancelling = false }
end_idle:
    atomic {                                   /* claim: a new epoch, a new nonce, and a snapshot */
        inst == SCHEDULED && lease[me] == ALIVE ->
        epoch++; nonce = me; holder = me; inst = RUNNING; news = false; ep = epoch; cancelling = cancel
    }
read:
    atomic {                                   /* the snapshot of the last attempt */
        if
        :: attempts == 0 -> a = 0; k = 0; saw = 0
        :: else -> a = LAST; k = n[a]; saw = rc[a]
        fi;
#ifdef EPOCH_IN_ID         /* mutant: the epoch is part of the identity, so a takeover does not find the receipt */
        if :: attempts > 0 && by[a] != ep -> saw = 0; a = attempts :: else fi;
#endif
    }
decide:
    MAYBE_CRASH;
    if
    :: cancelling && saw != DISPATCHED && !APPLIED(saw) -> goto cancelled
    :: saw == 0 && !cancelling && a < ATTEMPTS -> goto intent
    :: saw == 0 && !cancelling && a == ATTEMPTS -> goto failed
    :: (saw == NOT_APPLIED || (saw == ABANDONED && wanted == RESEND)) && !cancelling ->
        atomic { if :: attempts < ATTEMPTS -> a = attempts; k = 0; saw = 0; goto intent :: else -> goto failed fi }
    :: saw == ABANDONED && wanted == FAIL && !cancelling -> goto failed
    :: saw == ABANDONED && wanted == NOTHING && !cancelling -> goto waiting
    :: saw == UNKNOWN && !cancelling -> goto waiting
    :: APPLIED(saw) -> goto completed
    :: saw == DISPATCHED -> goto recover        /* of a dead claim: this turn has sent nothing yet */
    fi;

recover:
    atomic {                                   /* dispatched under a dead claim: unknown; and the run waits, in one commit */
        if
        :: !OWNS -> goto idle
        :: OWNS && !UNCHANGED(a, k) -> goto reload
        :: OWNS && UNCHANGED(a, k) ->
            RULE(S5_a_fenced_owner_changes_nothing, CURRENT);
            RECORD(a, UNKNOWN);
            goto reload
        fi
    }
waiting:
    atomic { if :: OWNS && !news -> RELEASE(WAITING); goto idle :: OWNS && news -> goto reload :: !OWNS -> goto idle fi }
failed:
    atomic { if :: OWNS && !news -> RELEASE(FAILED); goto idle :: OWNS && news -> goto reload :: !OWNS -> goto idle fi }
completed:
    atomic { if :: OWNS && !news -> RELEASE(COMPLETED); goto idle :: OWNS && news -> goto reload :: !OWNS -> goto idle fi }
cancelled:
    atomic { if :: OWNS && !news -> RELEASE(CANCELLED); goto idle :: OWNS && news -> goto reload :: !OWNS -> goto idle fi }
later:
    atomic { if :: OWNS && !news -> RELEASE(SCHEDULED); goto idle :: OWNS && news -> goto reload :: !OWNS -> goto idle fi }
reload:
    atomic { if :: CURRENT -> news = false; cancelling = cancel; goto read :: else -> goto idle fi };

intent:
#ifdef SEND_FIRST          /* mutant: the request leaves while its intent is being committed */
    goto send;
#endif
commit_intent:
    atomic {                                   /* the claim, the lease and the flag, all under the row lock */
        if
        :: !OWNS -> goto idle
        :: OWNS && lease[me] != ALIVE -> goto later
#ifndef CANCEL_IGNORED     /* mutant: the flag is not read in the intent's transaction */
        :: OWNS && lease[me] == ALIVE && cancel -> goto reload
        :: OWNS && lease[me] == ALIVE && !cancel ->
#else
        :: OWNS && lease[me] == ALIVE ->
#endif
            RULE(S5_a_fenced_owner_changes_nothing, CURRENT);
            if :: cancel -> dispatchedAfterCancel = true :: else fi;
            RULE(S14_no_dispatch_after_an_acknowledged_cancel, !dispatchedAfterCancel);
            DISPATCH(rc[a]);
            by[a] = ep; attempts = a + 1; wanted = NOTHING
        fi
    }
    MAYBE_CRASH;                               /* dispatched, and not a byte has left */
send:
    atomic {                                   /* the last look and the request */
        if
#ifndef NO_LAST_LOOK       /* mutant: a sender that was paused does not look at its deadline */
        :: late[a] -> answer = NOT_SENT
        :: !late[a] ->
#else
        :: true ->
#endif
            RULE(S2_no_send_without_a_durable_intent, INTENDED(rc[a]));
            sends[a]++;
            MUST(S1_one_receipt_one_send, sends[a] <= 1);
            if
            :: answer = NO
            :: APPLY(a); answer = OK
            :: APPLY(a); answer = AMBIGUOUS    /* applied, and the answer was lost or a 5xx */
            :: answer = AMBIGUOUS              /* not applied, and the answer was lost or a 5xx */
            :: travels[a] = true; answer = AMBIGUOUS
            fi
        fi
    }
#ifdef FIVE_HUNDRED_IS_NO  /* mutant: a 503 counts as "not applied" */
    if :: answer == AMBIGUOUS -> answer = NO :: else fi;
#endif
#ifdef SEED_RETRY          /* mutant: a timeout is a clean error; the step is tried again under a new receipt */
    if
    :: answer == AMBIGUOUS -> atomic {
        if
        :: OWNS && attempts < ATTEMPTS -> RECORD(a, UNKNOWN); a = attempts; answer = 0; goto intent
        :: else
        fi }
    :: else
    fi;
#endif
#ifdef NONATOMIC           /* mutant: the receipt in one transaction, output and next move in another */
    if
    :: answer == OK -> atomic { if :: OWNS && rc[a] == DISPATCHED -> n[a]++; MOVE(rc[a], COMMITTED) :: else -> goto idle fi };
        MAYBE_CRASH;
        atomic { if :: OWNS -> output = true; goto completed :: else -> goto idle fi }
    :: else
    fi;
#endif
    MAYBE_CRASH;                               /* the answer is here and nobody else knows it */
settle:
    atomic {                                   /* outcome, output and the next move in one transaction */
        if
        :: OWNS ->
            RULE(S5_a_fenced_owner_changes_nothing, CURRENT);
            if
            :: answer == OK -> RECORD(a, COMMITTED); if :: news -> goto reload :: else -> RELEASE(COMPLETED); goto idle fi
            :: answer == NO || answer == NOT_SENT -> RECORD(a, NOT_APPLIED); goto reload
            :: answer == AMBIGUOUS -> RECORD(a, UNKNOWN); if :: news || cancel -> goto reload :: else -> RELEASE(WAITING); goto idle fi
            fi
        :: !OWNS
        fi
    }
late_truth:                                    /* the claim is lost; the answer is not thrown away */
#ifdef NO_LATE_TRUTH       /* a variant, not a mutant: safe without, only more stays unknown */
    goto idle;
#endif
    atomic { k = n[a]; saw = rc[a] };
    MAYBE_CRASH;
    atomic {
        if
        :: !UNCHANGED(a, k) -> goto late_truth
        :: UNCHANGED(a, k) && a == LAST && UNRESOLVED(saw) && answer == OK ->
#ifdef REACH_DISPATCHED    /* no mutants: they show that the model comes by here */
            MUST(REACHED, saw != DISPATCHED);
#endif
#ifdef REACH_UNKNOWN
            MUST(REACHED, saw != UNKNOWN);
#endif
            RECORD(a, COMMITTED); NEWS()
        :: UNCHANGED(a, k) && a == LAST && UNRESOLVED(saw) && (answer == NO || answer == NOT_SENT) -> RECORD(a, NOT_APPLIED); NEWS()
        :: UNCHANGED(a, k) && a == LAST && saw == DISPATCHED && answer == AMBIGUOUS -> RECORD(a, UNKNOWN); NEWS()
        :: else -> news = true                 /* evidence: the ledger does not move */
        fi;
        goto idle
    }
}

/* Leases, and the sweep that frees what dead nodes hold. */
active proctype Sweep() {
    byte i;
end_sweep:
    do
    :: atomic { lapses > 0 -> lapses--; select(i : 1 .. NODES); lease[i] = EXPIRED; i = 0 }
    :: atomic { lease[1] == EXPIRED -> if :: lease[1] = ALIVE :: lease[1] = FENCED fi }       /* a heartbeat, or a peer's fence */
    :: atomic { lease[2] == EXPIRED -> if :: lease[2] = ALIVE :: lease[2] = FENCED fi }
    :: atomic { lease[1] == FENCED -> lease[1] = ALIVE; if :: holder == 1 -> holder = GONE :: else fi }   /* a new incarnation */
    :: atomic { lease[2] == FENCED -> lease[2] = ALIVE; if :: holder == 2 -> holder = GONE :: else fi }
#if NODES > 2
    :: atomic { lease[3] == EXPIRED -> if :: lease[3] = ALIVE :: lease[3] = FENCED fi }
    :: atomic { lease[3] == FENCED -> lease[3] = ALIVE; if :: holder == 3 -> holder = GONE :: else fi }
#endif
#ifndef NO_SWEEP           /* mutant: nobody frees the claims of dead nodes */
    :: atomic { holder != 0 && (holder == GONE || lease[holder] == FENCED) -> epoch++; nonce = 0; holder = 0; inst = SCHEDULED }
#endif
    od
}

/* Time, and the network's late packets. */
active proctype World() {
end_world:
    do
    :: atomic { attempts > 0 && !late[0] -> late[0] = true }
    :: atomic { attempts > 1 && !late[1] -> late[1] = true }
    :: atomic { travels[0] -> travels[0] = false; APPLY(0) }
    :: atomic { travels[1] -> travels[1] = false; APPLY(1) }
#if ATTEMPTS > 2
    :: atomic { attempts > 2 && !late[2] -> late[2] = true }
    :: atomic { travels[2] -> travels[2] = false; APPLY(2) }
#endif
    od
}

#if ASKS > 0
/* Asks the provider, then writes its verdict: landed always counts, absent only once it is quiet. */
active proctype Verifier() {
    byte a; byte k; bool landed;
end_verifier:
    do
    :: atomic { asks > 0 && attempts > 0 && rc[LAST] == UNKNOWN && (APPLICATIONS > 0 || QUIET(LAST)) ->
            asks--; a = LAST; k = n[a]; landed = APPLICATIONS > 0 };
       atomic {
            if
            :: UNCHANGED(a, k) -> if :: landed -> RECORD(a, VERIFIED) :: else -> RECORD(a, NOT_APPLIED) fi; NEWS()
            :: else
            fi;
            a = 0; k = 0; landed = false }
    od
}
#endif

#if RESOLVES > 0
/* A person looks at the provider's record, then resolves. Honest, but as early as the product lets them. */
active proctype Person() {
    byte a; byte k; mtype want; bool landed;
end_person:
    do
    :: atomic { resolves > 0 && attempts > 0 && rc[LAST] == UNKNOWN ->
            resolves--; a = LAST; k = n[a]; landed = APPLICATIONS > 0;
            if :: want = NOTHING :: want = FAIL :: (!landed && QUIET(a)) -> want = RESEND fi };
       atomic {
            if
            :: UNCHANGED(a, k) && landed ->
                RECORD(a, COMMITTED);
#ifdef SPLIT_RESOLVE       /* mutant: the resolution and the wake-up are two transactions, and the first may be the last */
                if :: NEWS() :: crashes > 0 -> crashes-- fi
#else
                NEWS()
#endif
            :: UNCHANGED(a, k) && !landed -> RECORD(a, ABANDONED); wanted = want; NEWS()
            :: else
            fi;
            a = 0; k = 0; landed = false; want = 0 }
       /* Retry of an abandoned effect: a new attempt, so it must be quiet like a resend. */
#ifdef RETRY_EARLY         /* mutant: abandoned, then retry, goes round the rule that binds resend */
    :: atomic { MAY_RETRY(true) ->
#else
    :: atomic { MAY_RETRY(false) ->
#endif
            retries--; wanted = RESEND; NEWS() }
#ifdef WIPE                /* mutant: resume deletes the receipts of the step */
    :: atomic { retries > 0 && attempts > 0 && inst == WAITING && rc[LAST] == UNKNOWN ->
            retries--; attempts = 0; rc[0] = 0; n[0] = 0; sends[0] = 0; late[0] = false; rc[1] = 0; n[1] = 0; sends[1] = 0; late[1] = false; NEWS() }
#endif
    od
}
#endif

#if CANCELS > 0
active proctype Canceller() {
end_canceller:
    atomic { cancels > 0 && !TERMINAL -> cancels--; cancel = true;
#ifdef CANCEL_AT_ONCE      /* mutant: cancel ends the run there and then */
        inst = CANCELLED; holder = 0; epoch++; RULE(S20_nothing_ends_while_dispatched, NONE_DISPATCHED)
#else
        NEWS()
#endif
    }
}
#endif

/* When nothing can happen any more the run has ended, or waits and says for what. */
active proctype Rest() {
end_rest:
    timeout -> RULE(L1_comes_to_rest, REST)
}

init { atomic { byte i; for (i : 1 .. NODES) { run Node(i) } } }

#ifdef LTL
STUTTER
ltl comes_to_rest { <> [] REST }
ltl sent_is_durable { [] SENT_IS_DURABLE }
ltl cancel_is_final { [] (cancel -> [] !dispatchedAfterCancel) }
ltl ended_stays_ended { [] (TERMINAL -> [] TERMINAL) }
#endif
