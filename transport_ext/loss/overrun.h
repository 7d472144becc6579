/* overrun.h: where a reader goes on that its group has left behind. Pure.
 *
 * Under fc=max a sender goes with its fastest receiver. It keeps the last `history` bytes that it
 * has sent: a term when it is rstream, half a term when it is Aeron. What a receiver lacks is lost
 * for good when
 *
 *     received < sent - history                                                       (law 1)
 *
 *   received    end of the contiguous data
 *   sent        end of the newest data that came and found no room
 *
 * The reader then goes on at the oldest message that begins at or behind
 *
 *     sent - history + history / 8 * 2^tries,   at most sent                          (law 2)
 *
 * The second part is time: for the NAK, and for the reader to catch up. tries counts the returns
 * before that did not last: the receiver took less than two terms behind what had been sent when it
 * began. After RSTI_OVERRUN_TRIES_MAX of them it goes on with the newest message. So a reader that
 * paused loses as little as possible, and one that is slower than its group for good does not have
 * everything sent twice.
 *
 * Only datagrams that follow each other count as sent: the last RSTI_OVERRUN_PROOF in a row, each
 * beginning at the end of the one before or an eighth of a term behind it at most. So single forged
 * datagrams move nobody. */
#ifndef RSTI_LOSS_OVERRUN_H
#define RSTI_LOSS_OVERRUN_H

#include <stdbool.h>
#include <stdint.h>

#define RSTI_OVERRUN_MARKS 32
#define RSTI_OVERRUN_PROOF 16
#define RSTI_OVERRUN_TRIES_MAX 3

typedef struct rsti_overrun_t {
    int64_t marks[RSTI_OVERRUN_MARKS]; /* where messages begin, a ring; a 32nd of a term apart */
    int64_t mark_count;
    int64_t end;                       /* of the newest datagram */
    int32_t in_row;
} rsti_overrun_t;

/* A datagram found no room. begins_message: its first frame begins a message. Returns `sent`, or -1
 * while too few datagrams followed each other. */
int64_t rsti_overrun_on_data(rsti_overrun_t *overrun, int64_t begin, int64_t end,
    bool begins_message, int32_t term_length);
/* Law 1. sent < 0: false. */
bool rsti_overrun_is_lost(int64_t received, int64_t sent, int32_t history);
/* Law 2: the position, or -1 while none is known. */
int64_t rsti_overrun_goes_on_at(const rsti_overrun_t *overrun, int32_t history, int32_t tries);
/* The tries of the next return. tries, began_sent: of this one, and what had been sent when it
 * began (INT64_MIN: the reader was never left behind); high_water: what it took. */
int32_t rsti_overrun_next_tries(int32_t tries, int64_t began_sent, int64_t high_water,
    int32_t term_length);

#endif
