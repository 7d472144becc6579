/* holder.h: who holds a publication back, told in shared memory where Aeron reads nothing: at byte
 * 32 of a counter's value record. Of receivers in the record of snd-consumed, whose value is the
 * position of the slowest (written by: sender); of local subscribers and spies in that of pub-lmt
 * (written by: conductor). One writer each; a reader that meets a change reads again. */
#ifndef RSTI_CONCURRENT_HOLDER_H
#define RSTI_CONCURRENT_HOLDER_H

#include "concurrent/counters.h"
#include "util/netaddr.h"

typedef struct rsti_holder_t {
    int64_t id;        /* receiver id; local: registration id of the subscription. 0: nobody */
    int64_t client_id; /* local: who subscribed; -1 of receivers */
    int64_t since_ms;  /* wall clock: since when it is the slowest */
    int64_t position;  /* when that was written last; of receivers the counter's value is newer */
    int64_t window;    /* bytes by which the publisher may be ahead of it */
    uint8_t address[16]; /* of receivers, network order; IPv4: the first four bytes */
    int64_t port;        /* of an IPv6 address below zero; 0: no address */
} rsti_holder_t;

/* The address and the port of the record. */
void rsti_holder_set_address(rsti_holder_t *holder, const rsti_packed_address_t *address);
rsti_packed_address_t rsti_holder_address(const rsti_holder_t *holder);

void rsti_holder_write(rsti_counter_value_t *value, const rsti_holder_t *holder);
/* False: there is none, or it changed during every attempt. */
_Bool rsti_holder_read(const rsti_counter_value_t *value, rsti_holder_t *holder);

#endif
