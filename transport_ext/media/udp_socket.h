/* udp_socket.h: making, configuring, binding and connecting a UDP socket
 * (docs/reference/aeron/wire.md 5.2). */
#ifndef RSTI_MEDIA_UDP_SOCKET_H
#define RSTI_MEDIA_UDP_SOCKET_H

#include "media/media.h"

/* Non-blocking and close-on-exec; a negative code with a trail that names the address. */
int rsti_udp_open_fd(const rsti_socket_params_t *params);

#endif
