/* socket_poll.h: the choice of the sockets that an agent reads in a pass. A thread with a few
 * sockets reads each of them. A thread with many sockets, or one that blocks, asks its poller.
 * Called by sender and receiver. */
#ifndef RSTI_DRIVER_BASE_SOCKET_POLL_H
#define RSTI_DRIVER_BASE_SOCKET_POLL_H

#include "driver/base/driver_state.h"

/* Adds a socket to the poller of the agent's thread. *is_readable belongs to the endpoint of the
 * socket; the thread sets it when the poller reports the socket. */
int64_t rsti_driver_poll_add(rst_driver_t *driver, int32_t agent_id, rsti_socket_t *socket,
    bool *is_readable);
/* Whether the agent should read the socket now. Threads that ask their poller skip the others. */
bool rsti_driver_should_poll(const rst_driver_t *driver, int32_t agent_id, rsti_socket_t *socket,
    bool is_readable, int64_t now_ns);
/* Removes a socket from the poller. Called before the socket is closed. */
void rsti_driver_poll_remove(rst_driver_t *driver, int32_t agent_id, rsti_socket_t *socket);

#endif
