/* port_manager.h: ports for addresses that ask for any (port 0), out of a range that somebody
 * opened in a firewall. Without a range the system chooses. Written by the conductor alone. */
#ifndef RSTI_DRIVER_BASE_PORT_MANAGER_H
#define RSTI_DRIVER_BASE_PORT_MANAGER_H

#include "media/media.h"

#include <stdint.h>

typedef struct rsti_port_manager_t {
    int32_t low, high; /* 0: the system chooses */
    int32_t next;      /* where the search begins: a port rests as long as others are free */
    uint16_t *users;   /* of each port of the range */
} rsti_port_manager_t;

/* range: "low high", or "" or "0 0" for the system's choice. 0, -RST_ENOMEM or -RST_EINVAL naming
 * the option. A manager of zeros is one of the system's choice. */
int rsti_port_manager_init(rsti_port_manager_t *manager, const char *option, const char *range);
void rsti_port_manager_fini(rsti_port_manager_t *manager);
/* Port 0 becomes a free one of the range; another port stays and is noted as used. -RST_EINUSE when
 * the range has none left. Each take is given back once. */
int rsti_port_manager_take(rsti_port_manager_t *manager, struct sockaddr_storage *address);
void rsti_port_manager_give(rsti_port_manager_t *manager, uint16_t port);
/* A socket bound to an address with a taken port; ports that somebody else has are passed over.
 * *port: what is to be given back when the socket is closed. */
int rsti_port_manager_open(rsti_port_manager_t *manager, const rsti_media_t *media,
    rsti_socket_params_t *params, rsti_socket_t **socket, uint16_t *port);

#endif
