/* send_endpoints.h: chooses the send endpoint of a publication, and opens and closes its sockets
 * (docs/reference/aeron/driver.md 7). */
#ifndef RSTI_DRIVER_CONDUCTOR_SEND_ENDPOINTS_H
#define RSTI_DRIVER_CONDUCTOR_SEND_ENDPOINTS_H

#include "driver/conductor/conductor_state.h"
#include "driver/sender/send_endpoint.h"
#include "protocol/command.h"

/* Finds or makes the endpoint. Returns 0, or a negative error code with a trail. *is_closing: the
 * endpoint is being closed, or the name look-up is not finished; try again in the next pass. The
 * caller counts the references. */
int rsti_send_endpoint_get(rst_driver_t *driver, const rsti_channel_t *channel,
    const rsti_command_t *command, rsti_send_endpoint_t **endpoint, bool *is_closing);
/* Begins to close the endpoint when no publication uses it. */
void rsti_send_endpoint_put(rst_driver_t *driver, rsti_send_endpoint_t *endpoint);
/* Frees the endpoints that the sender has released. */
void rsti_send_endpoints_sweep(rst_driver_t *driver);
/* Closes the sockets and frees the endpoint. The sender must have released it. */
void rsti_send_endpoint_destroy(rst_driver_t *driver, rsti_send_endpoint_t *endpoint);

#endif
