/* fair_share.h: what each of several senders of one consumer may send: max-min fair shares.
 *
 *     share = the level with   sum over the senders of min(rate, share) = capacity,
 *             where a sender whose queue stands (is_limited) counts with an endless rate
 *
 * A sender that sends less than the share keeps what it sends, and the others share the rest in
 * equal parts. The capacity is what the consumer takes from all of them. So shares are fair from
 * the first report on, whatever they were. Pure. Owner: conductor. */
#ifndef RSTI_FLOW_FAIR_SHARE_H
#define RSTI_FLOW_FAIR_SHARE_H

#include <stdbool.h>
#include <stdint.h>

/* More senders of one consumer than that are not counted. */
#define RSTI_FAIR_SENDERS_MAX 64

typedef struct rsti_fair_sender_t {
    double rate;     /* bytes per second that the consumer takes from it */
    bool is_limited; /* it would send more */
} rsti_fair_sender_t;

/* Bytes per second; the capacity when there is one sender. */
double rsti_fair_share(const rsti_fair_sender_t *senders, int32_t count);

#endif
