/* receive_transports.h: opens and closes receiving sockets (docs/reference/aeron/wire.md 5). */
#ifndef RSTI_DRIVER_CONDUCTOR_RECEIVE_TRANSPORTS_H
#define RSTI_DRIVER_CONDUCTOR_RECEIVE_TRANSPORTS_H

#include "driver/conductor/conductor_state.h"
#include "driver/receiver/receive_endpoint.h"

typedef struct rsti_transport_facts_t {
    rsti_receive_endpoint_t *endpoint;
    const rsti_channel_t *channel;
    const rsti_udp_channel_t *udp;
    int64_t registration_id;
    int64_t client_id;
} rsti_transport_facts_t;

/* Opens the socket and takes a slot of the endpoint. Returns 0, -RST_EFULL when all slots are
 * taken, or another negative error code with a trail. */
int rsti_receive_transport_create(rst_driver_t *driver, rsti_receive_transport_t **transport,
    const rsti_transport_facts_t *facts);
/* Closes the socket and gives the slot back. */
void rsti_receive_transport_destroy(rst_driver_t *driver, rsti_receive_transport_t *transport);

#endif
