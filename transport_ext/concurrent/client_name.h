/* client_name.h: what a client of this host says of itself for people: its name in the label of its
 * heartbeat counter, and its process. */
#ifndef RSTI_CONCURRENT_CLIENT_NAME_H
#define RSTI_CONCURRENT_CLIENT_NAME_H

#include "concurrent/counters.h"

/* Finds the name in the label of a heartbeat counter and copies it; "": it has none. */
void rsti_client_name_of(const char *label, char *name, size_t size);
/* The process of the client that owns this heartbeat counter; 0: not known (an Aeron client). */
int64_t rsti_client_pid_of(const rsti_counters_t *counters, int32_t heartbeat_id);

#endif
