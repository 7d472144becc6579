/* holder.h: which reader holds a publication back. The record lies in shared memory that Aeron does
 * not use, at byte 32 of a counter's value record:
 *
 *   receivers                     counter snd-consumed, whose value is the position of the slowest;
 *                                 written by: sender
 *   local subscribers and spies   counter pub-lmt; written by: conductor
 *   whose report the rate follows counter rs-rate; written by: sender, of an IPC publication the
 *                                 conductor
 *
 * There is one writer for each. A reader that meets a change reads again. */
#ifndef RSTI_CONCURRENT_HOLDER_H
#define RSTI_CONCURRENT_HOLDER_H

#include "concurrent/counters.h"
#include "util/netaddr.h"

typedef struct rsti_holder_t {
    int64_t id; /* receiver id; local: registration id of the subscription. 0: none */
    int64_t client_id; /* local: client of the subscription; -1 of receivers */
    int64_t since_ms; /* wall clock: since when it is the slowest */
    int64_t position; /* when this was written last; the counter's value of receivers is newer.
                       * rs-rate: the bytes per second that it asks for */
    int64_t window; /* bytes by which the publisher may be ahead of the holder. rs-rate: the bytes
                     * per second that it takes */
    int64_t
        gap; /* of a receiver: it waits for the data from here on to be sent again; 0: it does not,
                  * or it is one of a group */
    uint8_t address[16]; /* of receivers, network order; IPv4: the first four bytes */
    int64_t port; /* negative for an IPv6 address; 0: no address */
} rsti_holder_t;

/* The address and the port of the record. */
void rsti_holder_set_address(rsti_holder_t *holder, const rsti_packed_address_t *address);
rsti_packed_address_t rsti_holder_address(const rsti_holder_t *holder);

void rsti_holder_write(rsti_counter_value_t *value, const rsti_holder_t *holder);
/* False: there is none, or it changed during every attempt. */
_Bool rsti_holder_read(const rsti_counter_value_t *value, rsti_holder_t *holder);

#endif
