/* receive_endpoints.h: which receive endpoint a subscription uses, and its transports
 * (docs/reference/aeron/wire.md 5.1 and 13.2, docs/reference/aeron/driver.md 7). */
#ifndef RSTI_DRIVER_CONDUCTOR_RECEIVE_ENDPOINTS_H
#define RSTI_DRIVER_CONDUCTOR_RECEIVE_ENDPOINTS_H

#include "driver/conductor/conductor_state.h"
#include "driver/conductor/receive_transports.h"
#include "driver/receiver/receive_endpoint.h"
#include "protocol/command.h"

/* The addresses of a subscription or of one of its destinations. 0, RSTI_LOOKUP_PENDING, or
 * negative with a trail. */
int rsti_receive_channel_resolve(rst_driver_t *driver, const rsti_channel_t *channel,
    rsti_udp_channel_t *udp);
/* Found or made. *is_closing: it is just being closed, try again. */
int rsti_receive_endpoint_get(rst_driver_t *driver, const rsti_channel_t *channel,
    const rsti_command_t *command, rsti_receive_endpoint_t **endpoint, bool *is_closing);
/* Closes it when neither a subscription nor an image uses it. */
void rsti_receive_endpoint_put(rst_driver_t *driver, rsti_receive_endpoint_t *endpoint);
/* With the transports that it has left. */
void rsti_receive_endpoint_destroy(rst_driver_t *driver, rsti_receive_endpoint_t *endpoint);
/* Makes it and hands it to the receiver. */
int rsti_receive_transport_add(rst_driver_t *driver, const rsti_transport_facts_t *facts);
/* The receiver is to let it go. */
void rsti_receive_transport_remove(rst_driver_t *driver, rsti_receive_transport_t *transport);
/* Closes what the receiver has released. */
void rsti_receive_endpoints_sweep(rst_driver_t *driver);

#endif
