/* conductor.h: the client's one thread. It reads the driver's answers, keeps the client's heartbeat
 * and watches the driver. */
#ifndef RSTI_CLIENT_CONDUCTOR_H
#define RSTI_CLIENT_CONDUCTOR_H

#include "client/client_state.h"

/* Greets the driver and starts the thread. 0, or negative with a trail. */
int rsti_client_conductor_init(rst_client_t *client);
/* One duty cycle. Returns the work count. Takes client->lock. */
int64_t rsti_client_do_work(void *arg, int64_t now_ns, int64_t *next_deadline_ns);

#endif
