/* responses.h: the driver's answers and announcements. */
#ifndef RSTI_CLIENT_RESPONSES_H
#define RSTI_CLIENT_RESPONSES_H

#include "client/client_state.h"

/* Handles up to 64 records. Returns their number; -1: the driver overtook this client, records are
 * lost. Called by the conductor under client->lock. */
int64_t rsti_client_receive(rst_client_t *client);

#endif
