/* receive_endpoints.h: which receive endpoint a subscription uses, and its transports (wire
 * reference 5.1 and 13.2, driver reference 7). */
#ifndef RSTI_DRIVER_CONDUCTOR_RECEIVE_ENDPOINTS_H
#define RSTI_DRIVER_CONDUCTOR_RECEIVE_ENDPOINTS_H

#include "driver/conductor/conductor_state.h"
#include "driver/conductor/receive_transports.h"
#include "driver/receiver/receive_endpoint.h"
#include "protocol/command.h"

/* 0, RSTI_LOOKUP_PENDING, or negative with a trail. */
int rsti_receive_channel_resolve(rst_driver_t *driver, const rsti_channel_t *channel,
    rsti_udp_channel_t *udp);
int rsti_receive_endpoint_get(rst_driver_t *driver, const rsti_channel_t *channel,
    const rsti_command_t *command, rsti_receive_endpoint_t **endpoint, bool *is_closing);
void rsti_receive_endpoint_put(rst_driver_t *driver, rsti_receive_endpoint_t *endpoint);
/* With the transports that it has left. */
void rsti_receive_endpoint_destroy(rst_driver_t *driver, rsti_receive_endpoint_t *endpoint);
/* Makes it and hands it to the receiver. */
int rsti_receive_transport_add(rst_driver_t *driver, const rsti_transport_facts_t *facts);
/* conductor_receive_endpoints.c: the addresses of a subscription or one of its destinations, and
 * the transports of receive endpoints. */
void rsti_receive_transport_remove(rst_driver_t *driver, rsti_receive_transport_t *transport);
/* Closes what the receiver has released. */
void rsti_receive_endpoints_sweep(rst_driver_t *driver);

#endif
