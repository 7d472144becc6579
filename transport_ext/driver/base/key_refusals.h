/* key_refusals.h: how an agent reports a peer with another key to the conductor, which names the
 * peer in a counter and in the error log. Sender and receiver, each for its endpoints. */
#ifndef RSTI_DRIVER_BASE_KEY_REFUSALS_H
#define RSTI_DRIVER_BASE_KEY_REFUSALS_H

#include "driver/base/driver_state.h"
#include "driver/base/group_keys_state.h"
#include "util/source_list.h"

#define RSTI_KEY_REFUSAL_INTERVAL_NS RSTI_NS_PER_S /* of one endpoint */

/* The endpoint that a refused datagram came to. */
typedef struct rsti_refusing_t {
    void *endpoint;
    const rsti_group_keys_t *keys; /* NULL: plain */
    const char *canonical; /* name of its socket */
    int32_t channel_status_id;
    int64_t *due_ns; /* of the endpoint: no report before */
} rsti_refusing_t;

/* Of a send endpoint or a receive endpoint: both have these fields. */
#define RSTI_REFUSING(e)                                                                           \
    ((rsti_refusing_t){                                                                            \
        .endpoint = (e),                                                                           \
        .keys = (e)->keys,                                                                         \
        .canonical = (e)->udp.canonical,                                                           \
        .channel_status_id = (e)->channel_status_id,                                               \
        .due_ns = &(e)->refusal_due_ns,                                                            \
    })

/* Reports the refusal of a datagram that was received, if it has one and a report is due. */
void rsti_key_refusal_report(rst_driver_t *driver, const rsti_refusing_t *by,
    const rsti_datagram_t *datagram, int64_t now_ns);
/* Empties the datagrams of sources that the list does not take, and says so in their refusal. */
void rsti_refuse_sources(const rsti_source_list_t *list, rsti_datagram_t *datagrams, int count);

#endif
