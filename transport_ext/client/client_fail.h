/* client_fail.h: the end of a client's work. */
#ifndef RSTI_CLIENT_CLIENT_FAIL_H
#define RSTI_CLIENT_CLIENT_FAIL_H

#include "client/client_state.h"

/* Sets the state and closes everything that the client made; wakes all waiters. Tells the driver
 * that this client is closed. `text` is the
 * reason. The first reason stays. The caller holds client->lock. */
void rsti_client_fail(rst_client_t *client, int32_t state, const char *text);

#endif
