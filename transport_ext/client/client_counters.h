/* client_counters.h: announcements about the counters of all clients. */
#ifndef RSTI_CLIENT_CLIENT_COUNTERS_H
#define RSTI_CLIENT_CLIENT_COUNTERS_H

#include "client/client_state.h"

/* A counter of any client came or went: makes an event, and closes the counter if it is one of
 * ours. kind: RST_COUNTER_AVAILABLE or RST_COUNTER_UNAVAILABLE. The caller holds client->lock. */
void rsti_client_on_counter(rst_client_t *client, int kind, int64_t registration_id,
    int32_t counter_id);

#endif
