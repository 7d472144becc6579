/* receive_endpoints.h: chooses the receive endpoint of a subscription, and manages its transports
 * (docs/reference/aeron/wire.md 5.1 and 13.2, docs/reference/aeron/driver.md 7). */
#ifndef RSTI_DRIVER_CONDUCTOR_RECEIVE_ENDPOINTS_H
#define RSTI_DRIVER_CONDUCTOR_RECEIVE_ENDPOINTS_H

#include "driver/conductor/conductor_state.h"
#include "driver/conductor/receive_transports.h"
#include "driver/receiver/receive_endpoint.h"
#include "protocol/command.h"

/* Resolves the addresses of a subscription or of one of its destinations. Returns 0,
 * RSTI_LOOKUP_PENDING, or a negative error code with a trail. */
int rsti_receive_channel_resolve(rst_driver_t *driver, const rsti_channel_t *channel,
    rsti_udp_channel_t *udp);
/* Finds or makes the endpoint. Returns 0, or a negative error code with a trail. *is_closing: the
 * endpoint is being closed, or the name look-up is not finished; try again in the next pass. */
int rsti_receive_endpoint_get(rst_driver_t *driver, const rsti_channel_t *channel,
    const rsti_command_t *command, rsti_receive_endpoint_t **endpoint, bool *is_closing);
/* Begins to close the endpoint when neither a subscription nor an image uses it. */
void rsti_receive_endpoint_put(rst_driver_t *driver, rsti_receive_endpoint_t *endpoint);
/* Frees the endpoint and its remaining transports. The receiver must have released them. */
void rsti_receive_endpoint_destroy(rst_driver_t *driver, rsti_receive_endpoint_t *endpoint);
/* Makes a transport and hands it to the receiver. Returns 0, or a negative error code with a
 * trail. */
int rsti_receive_transport_add(rst_driver_t *driver, const rsti_transport_facts_t *facts);
/* Tells the receiver to release the transport. A later sweep frees it. */
void rsti_receive_transport_remove(rst_driver_t *driver, rsti_receive_transport_t *transport);
/* Frees the endpoints and transports that the receiver has released. */
void rsti_receive_endpoints_sweep(rst_driver_t *driver);

#endif
