/* port_manager.h: ports for addresses with port 0, out of a configured range, for instance the one
 * that a firewall lets through. Without a range the system chooses. Called by the conductor alone.
 */
#ifndef RSTI_DRIVER_BASE_PORT_MANAGER_H
#define RSTI_DRIVER_BASE_PORT_MANAGER_H

#include "media/media.h"

#include <stdint.h>

typedef struct rsti_port_manager_t {
    int32_t low, high; /* 0: the system chooses */
    int32_t next;      /* the search begins here, so a freed port is reused as late as possible */
    uint16_t *users;   /* number of users of each port of the range */
} rsti_port_manager_t;

/* range: "low high", or "" or "0 0" for the system's choice. 0, -RST_ENOMEM or -RST_EINVAL naming
 * the option. A manager of zeros leaves the choice to the system. */
int rsti_port_manager_init(rsti_port_manager_t *manager, const char *option, const char *range);
void rsti_port_manager_fini(rsti_port_manager_t *manager);
/* Replaces port 0 by a free port of the range; any other port stays and is marked as used.
 * -RST_EINUSE when the range has no free port. Each take needs one give. */
int rsti_port_manager_take(rsti_port_manager_t *manager, struct sockaddr_storage *address);
void rsti_port_manager_give(rsti_port_manager_t *manager, uint16_t port);
/* Opens a socket with a port of this manager, and skips ports that other programs use. *port: to be
 * given back when the socket is closed. */
int rsti_port_manager_open(rsti_port_manager_t *manager, const rsti_media_t *media,
    rsti_socket_params_t *params, rsti_socket_t **socket, uint16_t *port);

#endif
