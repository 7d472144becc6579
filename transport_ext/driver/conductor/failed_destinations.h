/* failed_destinations.h: counters that name the destinations to which the system refuses to send
 * (docs/reference/wire.md, "snd-dest-failed"). The sender tells each failure, at most once a second
 * for each destination. */
#ifndef RSTI_DRIVER_CONDUCTOR_FAILED_DESTINATIONS_H
#define RSTI_DRIVER_CONDUCTOR_FAILED_DESTINATIONS_H

#include "driver/base/proxies.h"
#include "driver/conductor/conductor_state.h"

/* At most so many destinations have a counter at once. The error log names the others too. */
#define RSTI_FAILED_DESTINATIONS_MAX 256
#define RSTI_FAILED_DESTINATION_NS (5 * RSTI_NS_PER_S)

/* The sender told a failure: its destination gets a counter, or the counter a new value. */
void rsti_on_destination_failed(rst_driver_t *driver, const rsti_agent_command_t *command);
/* Frees the counters of destinations that have not failed for 5 s. Called once a second. */
void rsti_failed_destinations_expire(rst_driver_t *driver, int64_t now_ns);
/* Frees the counters of an endpoint that is destroyed. */
void rsti_failed_destinations_forget(rst_driver_t *driver, const void *endpoint);

#endif
