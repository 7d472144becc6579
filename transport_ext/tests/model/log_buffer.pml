/* log_buffer.pml: the log buffer as a model for spin: claim, commit, padding, rotation, cleaning,
 * limit, and unblocking after a producer died. It follows logbuffer/appender.c, cleaner.c,
 * unblocker.c and the conductor's limit of an IPC publication. Each access to shared memory is one
 * step.
 *
 * A slot stands for 32 bytes. TERM slots make a term, three terms the log. A message takes two
 * slots, so a term of three slots ends with one slot of padding. The initial term id is 3.
 *
 * Memory: a plain store waits in its writer's buffer and becomes visible at any later moment. A
 * release store first empties the buffer, and so does a read-modify-write. Loads are acquire loads,
 * in order. (The body of a frame is one store: the order of its bytes does not matter.)
 *
 * These properties must hold, and are asserted where they could break:
 *   1. the consumer reads only bytes that were committed at that very position: never old, foreign
 *      or half-written ones
 *   2. a producer claims only memory that is zero
 *   3. every message whose producer got its position arrives once, in the order of positions
 *   4. no run is stuck: everything claimed is passed in the end (spin's check of end states)
 *
 * Deliberate faults; the model must find each of them:
 *   -DFAULT=1 commit without release
 *           2 rotation without compare
 *           3 limit raised before cleaning
 *           4 cleaner goes one frame too far
 *           5 padding never committed
 *           6 unblocking does not wait for living producers */

#ifndef FAULT
#define FAULT 0
#endif
#ifndef PRODUCERS
#define PRODUCERS 2
#endif
#ifndef MESSAGES
#define MESSAGES 2 /* of each producer */
#endif
#ifndef DEATHS
#define DEATHS 1   /* producer 0 may die */
#endif
#define TERM 3
#define SLOTS 9
#define LENGTH 2
#define WINDOW 4
#define FIRST 3    /* initial term id */

#define INDEX(position) ((position) % SLOTS)
#define COUNT(position) ((position) / TERM)
#define CLAMPED(offset) ((offset) > TERM -> TERM : (offset))
#define PRODUCER_POSITION (active_count * TERM + CLAMPED(tail_offset[active_count % 3]))

/* Shared memory. frame: 0 free, negative claimed, positive committed. body: position + 1 of the
 * frame that was written there, 0 when zeroed. A tail is one 64-bit word: its two halves change in
 * one step. */
short frame[SLOTS];
byte body[SLOTS];
bit is_pad[SLOTS];
byte tail_term[3];
byte tail_offset[3];
byte active_count;            /* active_count term count */
byte limit = WINDOW;
byte consumed;          /* subscriber position */

/* The buffer of plain stores of each producer. */
bool has_pending[PRODUCERS];
byte pending_at[PRODUCERS];
bit pending_pad[PRODUCERS];

/* State for the assertions only, not in the real memory. */
byte owner[SLOTS];
byte told[PRODUCERS];
byte got[PRODUCERS];
bool is_dead[PRODUCERS];
bool is_between[PRODUCERS]; /* claimed, not yet written */
byte running = PRODUCERS;

inline flush(me)
{
    if
    :: has_pending[me] ->
        body[INDEX(pending_at[me])] = pending_at[me] + 1;
        is_pad[INDEX(pending_at[me])] = pending_pad[me];
        has_pending[me] = false
    :: else
    fi
}

/* Claimed length, body and type, committed length; death may come before each. */
inline write_frame(me, at, length, pad)
{
    atomic {
        if
        :: is_dead[me] -> goto died
        :: else ->
            assert(frame[INDEX(at)] == 0);
            frame[INDEX(at)] = -(length);
            is_between[me] = false
        fi
    };
    atomic {
        if
        :: is_dead[me] -> goto died
        :: else ->
            assert(body[INDEX(at)] == 0);
            has_pending[me] = true; pending_at[me] = at; pending_pad[me] = pad
        fi
    };
    atomic {
        if
        :: is_dead[me] -> goto died
        :: else ->
            if
            :: FAULT == 5 && pad -> flush(me)
            :: FAULT == 1 && !pad -> frame[INDEX(at)] = length
            :: else -> flush(me); frame[INDEX(at)] = length
            fi
        fi
    }
}

/* The next tail from the term three before, then the active term count: one compare-and-swap each.
 */
inline rotate(count)
{
    atomic {
        if
        :: FAULT == 2 || tail_term[(count + 1) % 3] == count + 1 + FIRST - 3 ->
            tail_term[(count + 1) % 3] = count + 1 + FIRST; tail_offset[(count + 1) % 3] = 0
        :: else
        fi
    };
    atomic {
        if
        :: active_count == count -> active_count = count + 1
        :: else
        fi
    }
}

proctype producer(byte me)
{
    byte left = MESSAGES;
    byte count, offset, at;
    do
    :: left == 0 -> break
    :: left > 0 ->
        count = active_count;
        atomic {
            if
            :: tail_term[count % 3] == count + FIRST -> offset = CLAMPED(tail_offset[count % 3])
            :: else -> goto again /* a rotation is under way: admin action */
            fi
        };
        (limit > count * TERM + offset || is_dead[me]); /* back pressure */
        atomic { /* fetch-and-add: term and offset are those of the value found */
            if
            :: is_dead[me] -> goto died
            :: else
            fi;
            offset = tail_offset[count % 3];
            tail_offset[count % 3] = offset + LENGTH;
            count = tail_term[count % 3] - FIRST;
            at = count * TERM + offset;
            is_between[me] = offset < TERM;
            if
            :: offset < TERM -> owner[INDEX(at)] = me
            :: else
            fi
        };
        if
        :: offset + LENGTH <= TERM ->
            write_frame(me, at, LENGTH, 0);
            told[me]++;
            left--
        :: else ->
            if
            :: offset < TERM -> write_frame(me, at, TERM - offset, 1)
            :: else
            fi;
            if
            :: is_dead[me] -> goto died
            :: else -> rotate(count)
            fi
        fi;
again:
        if
        :: is_dead[me] -> goto died
        :: else
        fi
    od;
died:
    atomic { is_between[me] = false; running--; count = 0; offset = 0; at = 0 }
}

/* A store becomes visible at some time, also when its producer has died. */
proctype memory(byte me)
{
    do
    :: atomic { has_pending[me] -> flush(me) }
    :: atomic { running == 0 && !has_pending[me] -> break }
    od
}

proctype reaper()
{
    if
    :: DEATHS -> is_dead[0] = true
    :: true
    fi
}

proctype consumer()
{
    do
    :: atomic { frame[INDEX(consumed)] > 0 ->
        assert(body[INDEX(consumed)] == consumed + 1);
        if
        :: is_pad[INDEX(consumed)]
        :: else -> got[owner[INDEX(consumed)]]++
        fi;
        consumed = consumed + frame[INDEX(consumed)]
        }
    :: atomic { running == 0 && frame[INDEX(consumed)] == 0 && consumed == PRODUCER_POSITION ->
        break }
    od;
    assert(is_dead[0] || got[0] == told[0]);
    assert(got[0] == told[0] || got[0] == told[0] + 1);
    assert(PRODUCERS == 1 || got[PRODUCERS - 1] == told[PRODUCERS - 1])
}

/* A producer died long ago, and no living one is between claim and first store: the time-out is
 * longer than that. */
#define IS_TIMED_OUT (is_dead[0] && !has_pending[0] && \
    (FAULT == 6 || is_dead[PRODUCERS - 1] || !is_between[PRODUCERS - 1]))

/* Cleans what was consumed, then raises the limit; unblocks. */
proctype conductor()
{
    byte clean, to, gap, end, at;
    do
    :: clean < consumed ->
        to = consumed;
        if
        :: FAULT == 3 -> limit = to + WINDOW
        :: else
        fi;
        at = to + (FAULT == 4 -> 1 : 0);
        do
        :: clean < at ->
            atomic { body[INDEX(clean)] = 0; is_pad[INDEX(clean)] = 0 };
            frame[INDEX(clean)] = 0; /* a release store: the rest of the slot is zero before it */
            clean++
        :: else -> break
        od;
        clean = to;
        limit = to + WINDOW
    :: atomic { IS_TIMED_OUT && clean == consumed && consumed % TERM == 0 &&
            active_count + 1 == COUNT(consumed) ->
        at = active_count };
        rotate(at) /* it had filled the term and died before it rotated */
    :: atomic { IS_TIMED_OUT && clean == consumed && frame[INDEX(consumed)] < 0 &&
            owner[INDEX(consumed)] == 0 ->
        at = consumed; gap = -frame[INDEX(at)]; body[INDEX(at)] = at + 1; is_pad[INDEX(at)] = 1 };
        frame[INDEX(at)] = gap
    :: atomic { IS_TIMED_OUT && clean == consumed && frame[INDEX(consumed)] == 0 &&
            tail_term[COUNT(consumed) % 3] == COUNT(consumed) + FIRST &&
            consumed % TERM < CLAMPED(tail_offset[COUNT(consumed) % 3]) ->
        /* scan: zero up to the next frame, or to the end of the term when the tail is there */
        at = consumed;
        end = CLAMPED(tail_offset[COUNT(at) % 3]);
        gap = 1;
        do
        :: at % TERM + gap < end && frame[INDEX(at + gap)] == 0 -> gap++
        :: else -> break
        od;
        if
        :: at % TERM + gap == end && end < TERM -> gap = 0
        :: else -> body[INDEX(at)] = at + 1; is_pad[INDEX(at)] = 1; frame[INDEX(at)] = gap
        fi };
        if
        :: gap > 0 && at % TERM + gap == TERM -> at = COUNT(at); rotate(at)
        :: else
        fi
    :: atomic { running == 0 && clean == consumed && frame[INDEX(consumed)] == 0 &&
            consumed == PRODUCER_POSITION -> break }
    od
}

init
{
    byte i;
    atomic {
        tail_term[0] = FIRST;
        tail_term[1] = FIRST - 2;
        tail_term[2] = FIRST - 1;
        do
        :: i < PRODUCERS -> run producer(i); run memory(i); i++
        :: else -> break
        od;
        run reaper();
        run consumer();
        run conductor()
    }
}
