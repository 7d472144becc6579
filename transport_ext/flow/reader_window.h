/* reader_window.h: how far a publisher may be ahead of a reader that takes few or small items. The
 * laws of rate steer a queue of two datagrams or more; a reader of five small items a second would
 * wait minutes for the last of them.
 *
 *     window = clamp(opened, 2 M, W)        opened is F at first
 *     turn     begins with a taking, and lasts L or a little longer, or until 8 windows were taken
 *     left     what stands at its end
 *     left < turn:     opened = max(opened, 2 turn); if nothing is left, at least opened + turn
 *     left >= turn:    opened = 2 x the usual turn: this one and the next. That rises at once, and
 *                      falls by half in such a turn, because the host may not have run the reader
 *     of a turn no more counts than the window, or two of them where L is longer than
 *     RSTI_READER_TURN_NS, which is the least: so the window doubles, or grows to four times
 *
 *     32 turns in a row that left nothing:  opened = max(opened, S)
 *
 *     stop     data waits, and nothing was taken for T = max(250 ms, 4 x the usual wait before a
 *              taking, which rises at once and falls by an eighth)
 *     after T, if the window holds the publisher:
 *              opened = S, if the reader was given nothing yet
 *              else max(2 x window, F) up to S, again after each further T
 *
 *   W   the window of the publication       M   largest recent message
 *   L   target delay of the law of rate     turn   what was taken in it
 *   F   in shared memory a datagram, over UDP two
 *   S   what a reader that has stopped gets: the configured window
 *
 * The time before a taking does not count, because the reader may have been asleep. So a reader
 * that takes all that is there, however rarely, gets twice as much; one that leaves the rest gets
 * what it takes in L or at once, and as much again. A fast reader takes many windows in L, so its
 * window is open after a few short turns. A chain of readers, each of which waits for the next one,
 * does not fill before the slowest of them is known: a reader hands on few windows until then.
 *
 * A reader that has stopped for far longer than usual may wait for its program: one that is to read
 * after another one has sent all. Such a publisher must not wait for ever. A slow reader does not
 * stop: it takes before four of its usual waits have passed.
 *
 * has_read: what a reader was given counts as taken when it asks for more, so one that is at work
 * on its first item looks like one that has not begun. Its first stop is 4 T.
 *
 * is_blocked: the reader's program waits for readers of its own. A reader in the middle of a chain
 * takes nothing for long while the windows behind it shrink. So a stop is 20 T there, and not for
 * ever: two programs may wait for each other's readers.
 *
 * may_fill: until something was taken, and 250 ms after the last taking, the window is W. So it is
 * for a reader of the client that publishes, because one thread may send and then read; and for one
 * that is let go when its whole window waits for it (driver/base/tether.h).
 *
 * Over UDP, W is half a term and L at least two round trips: a reader that keeps up opens four
 * times rate x round trip, which is what a path needs that loses 2 %.
 *
 * Looks: each L while something moves, then at the next taking, and when a reader that holds the
 * publisher has stopped. A publisher that is refused makes the driver look, too. A reader that has
 * left nothing and has S is looked at each second: of many slow streams each taking would cost a
 * look at all of them.
 *
 * Pure; all input is clamped. Owner: conductor. */
#ifndef RSTI_FLOW_READER_WINDOW_H
#define RSTI_FLOW_READER_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#define RSTI_READER_TURN_NS INT64_C(10000000)
#define RSTI_READER_TURN_MOST_NS INT64_C(1000000000)
#define RSTI_READER_WAITS 8
#define RSTI_READER_MANY 8 /* windows in a turn */
#define RSTI_READER_KEPT 32 /* turns */
#define RSTI_READER_QUIET_NS INT64_C(1000000000)
#define RSTI_READER_STOP_NS INT64_C(250000000) /* as the release of flow/fill.h */
#define RSTI_READER_STOP_GAPS 4
#define RSTI_READER_BLOCKED 20 /* T of a reader whose program waits for others */

typedef struct rsti_reader_window_t {
    int64_t opened; /* bytes */
    bool has_begun;
    bool has_turn; /* one is running */
    bool has_taken; /* anything, ever */
    bool holds; /* the publisher has hardly any room, and a stop would give it some */
    int64_t now_ns, produced, consumed;
    int64_t due_ns; /* of the next look; RSTI_NO_DEADLINE: at the next taking */
    int64_t waits_since_ns; /* data is there since then, or it last took some */
    int64_t gap_ns; /* its usual wait, with data there */
    int64_t stop_ns, opens_ns; /* T; when it is over */
    int64_t turn_ends_ns, turn_at; /* its end; where it began */
    int64_t turn; /* usual bytes of one; 0: not known */
    int32_t kept; /* turns in a row that left nothing; at most RSTI_READER_KEPT */
} rsti_reader_window_t;

typedef struct rsti_reader_window_facts_t {
    int64_t now_ns;
    int64_t produced, consumed; /* positions; consumed may go back when another reader counts */
    int64_t window;             /* W */
    int64_t stopped;            /* S */
    int64_t largest;            /* M; 0: unknown */
    int64_t first;              /* F */
    int64_t frame;              /* that is sent only where all of it fits; 0: where it begins */
    int64_t turn_ns;            /* L */
    bool may_fill;              /* see above */
    bool is_blocked;            /* see above */
    bool has_read;              /* it was given something, and may be at work on that */
} rsti_reader_window_facts_t;

void rsti_reader_window_init(rsti_reader_window_t *reader);
/* Each look. Returns the window, at most W. */
int64_t rsti_reader_window_update(rsti_reader_window_t *reader,
    const rsti_reader_window_facts_t *facts);
/* Before a look: whether is_blocked counts in it. Else it need not be found out. */
bool rsti_reader_window_may_open(const rsti_reader_window_t *reader, int64_t now_ns);
/* The position of the reader from which on the next look is wanted; INT64_MAX: not by that. */
int64_t rsti_reader_window_wake_position(const rsti_reader_window_t *reader);
/* When the next look is wanted; RSTI_NO_DEADLINE: not by time. */
int64_t rsti_reader_window_due_ns(const rsti_reader_window_t *reader);

#endif
