/* name_agent.h: the socket, the counters and the bootstrap neighbors of the name gossip
 * (driver/base/name_gossip.h). It is asked before the other resolvers. Called by the conductor. */
#ifndef RSTI_DRIVER_CONDUCTOR_NAME_AGENT_H
#define RSTI_DRIVER_CONDUCTOR_NAME_AGENT_H

#include "driver/base/driver_state.h"

/* Opens the socket and puts itself before driver->resolver. 0, or a negative error code with a
 * trail that names the option. */
int rsti_name_agent_open(rst_driver_t *driver);
void rsti_name_agent_close(rst_driver_t *driver);
/* Each pass: reads what others tell, and tells them what is due. */
void rsti_name_agent_poll(rst_driver_t *driver, int64_t now_ns, int64_t *next_deadline_ns);

#endif
