/* channel_status.h: the state of a channel's endpoint, as the driver's counters tell it. Any
 * thread; no locks. */
#ifndef RSTI_CLIENT_CHANNEL_STATUS_H
#define RSTI_CLIENT_CHANNEL_STATUS_H

#include "client/client_state.h"

/* RST_CHANNEL_…. A negative id means shared memory, which is always active. */
int64_t rsti_client_channel_status(const rst_client_t *client, int32_t channel_status_id);
/* Writes the bound address of that index as text. 1: written; 0: there are not so many. */
int rsti_client_local_address(const rst_client_t *client, int32_t channel_status_id, int index,
    char *text, size_t size);

#endif
