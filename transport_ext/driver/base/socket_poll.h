/* socket_poll.h: which sockets the thread of an agent reads. A thread with a few sockets tries each
 * of them; one with many, or one that blocks, asks its poller. */
#ifndef RSTI_DRIVER_BASE_SOCKET_POLL_H
#define RSTI_DRIVER_BASE_SOCKET_POLL_H

#include "driver/base/driver_state.h"

/* *is_readable belongs to the endpoint of the socket. The agent's thread sets it when the poller
 * says so. */
int64_t rsti_driver_poll_add(rst_driver_t *driver, int32_t agent_id, rsti_socket_t *socket,
    bool *is_readable);
/* Whether reading the socket can give anything now: hinted threads skip the others. */
bool rsti_driver_should_poll(const rst_driver_t *driver, int32_t agent_id, rsti_socket_t *socket,
    bool is_readable, int64_t now_ns);
void rsti_driver_poll_remove(rst_driver_t *driver, int32_t agent_id, rsti_socket_t *socket);

#endif
