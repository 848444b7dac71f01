/* (i) One intent, one run: the dedup of starts (semantics.md, 7).
 *
 * CLIENTS clients start the same thing with the same key, on any node; the last of them with another payload. Key and run are one
 * transaction, and a unique constraint decides. Answers may be lost: a client asks again until it has one. The server may die between any
 * two transactions. */
#include "common.pml"

#ifndef CLIENTS
#define CLIENTS 4
#endif
#ifndef LOSSES
#define LOSSES 2       /* answers that do not arrive */
#endif
#ifndef CRASHES
#define CRASHES 1
#endif

#define PAYLOAD(client) (client == CLIENTS && CLIENTS > 2 -> 2 : 1)

/* durable: the dedup row (0 = none), and the runs */
byte key; byte keyPayload; byte runs; byte runPayload[CLIENTS + 1];

byte answer[CLIENTS + 1];                             /* the run each was told; REFUSED = 422 */
#define REFUSED 255
byte losses = LOSSES; byte crashes = CRASHES;

inline CREATE() {
    runs++; runPayload[runs] = PAYLOAD(me);
    MUST(S7_one_key_one_run, runs <= 1)
}

proctype Client(byte me) {
    byte seen; byte told;
again:
    atomic { seen = 0; told = 0 };
#ifdef READ_THEN_WRITE     /* mutant: looks the key up, then creates, in two transactions */
    seen = key;
    atomic { if :: seen == 0 -> CREATE(); key = runs; keyPayload = PAYLOAD(me); told = runs :: else -> told = seen fi };
#else
#ifdef KEY_FIRST           /* mutant: the key in a transaction of its own, before the run */
    atomic { seen = key; if :: seen == 0 -> key = 1; keyPayload = PAYLOAD(me) :: else -> told = seen; goto reply fi };
    if :: atomic { crashes > 0 -> crashes--; goto again } :: true fi;
    atomic { CREATE(); told = runs };
#else
#ifdef KEY_LAST            /* mutant: the run first, its key in a transaction of its own */
    atomic { seen = key; if :: seen == 0 -> CREATE(); told = runs :: else -> told = seen; goto reply fi };
    if :: atomic { crashes > 0 -> crashes--; goto again } :: true fi;
    atomic { if :: key == 0 -> key = told; keyPayload = PAYLOAD(me) :: else fi };
#else
    atomic {                                          /* INSERT .. ON CONFLICT DO NOTHING, and the run: one transaction */
        if
        :: key == 0 -> CREATE(); key = runs; keyPayload = PAYLOAD(me); told = runs
#ifdef ANY_PAYLOAD         /* mutant: whoever has the key gets the first result, whatever it sent */
        :: key != 0 -> told = key
#else
        :: key != 0 && keyPayload == PAYLOAD(me) -> told = key
        :: key != 0 && keyPayload != PAYLOAD(me) -> told = REFUSED
#endif
        fi
    };
#endif
#endif
#endif
    if :: atomic { crashes > 0 -> crashes--; goto again } :: true fi;
reply:
    if
    :: atomic { losses > 0 -> losses--; goto again }
    :: atomic {
        answer[me] = told;
        if
        :: told == REFUSED -> MUST(S7_one_key_one_run, runs == 1)
        :: told != REFUSED ->
            MUST(L3_nothing_acknowledged_is_lost, told <= runs);
            MUST(S7_one_key_one_run, runPayload[told] == PAYLOAD(me))
        fi }
    fi
}

/* Everybody has an answer, and all who were told a run were told the same. */
active proctype Rest() {
    byte i; byte one;
end_rest:
    timeout ->
    for (i : 1 .. CLIENTS) {
        MUST(L1_comes_to_rest, answer[i] != 0);
        if
        :: answer[i] != REFUSED && one == 0 -> one = answer[i]
        :: answer[i] != REFUSED && one != 0 -> MUST(S7_one_key_one_run, answer[i] == one)
        :: else
        fi
    }
}

init { atomic { byte i; for (i : 1 .. CLIENTS) { run Client(i) } } }
