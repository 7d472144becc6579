/* send_endpoints.h: which send endpoint a publication uses; its sockets opened and closed
 * (docs/reference/aeron/driver.md 7). */
#ifndef RSTI_DRIVER_CONDUCTOR_SEND_ENDPOINTS_H
#define RSTI_DRIVER_CONDUCTOR_SEND_ENDPOINTS_H

#include "driver/conductor/conductor_state.h"
#include "driver/sender/send_endpoint.h"
#include "protocol/command.h"

/* Found or made. *is_closing: it is just being closed, try again. References are counted by the
 * caller. */
int rsti_send_endpoint_get(rst_driver_t *driver, const rsti_channel_t *channel,
    const rsti_command_t *command, rsti_send_endpoint_t **endpoint, bool *is_closing);
/* Closes it when no publication uses it. */
void rsti_send_endpoint_put(rst_driver_t *driver, rsti_send_endpoint_t *endpoint);
/* Frees what the sender has released. */
void rsti_send_endpoints_sweep(rst_driver_t *driver);
void rsti_send_endpoint_destroy(rst_driver_t *driver, rsti_send_endpoint_t *endpoint);

#endif
