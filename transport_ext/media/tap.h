/* tap.h: a function that is told of every datagram that sockets have sent and received, by the
 * agents' threads: media/udp.c tells what the system took or delivered, media/sealing.c the plain
 * frames of sockets with keys. */
#ifndef RSTI_MEDIA_TAP_H
#define RSTI_MEDIA_TAP_H

#include "media/media.h"

/* tell NULL: nothing is told. */
void rsti_tap_tell(const rsti_tap_t *tap, const rsti_media_t *media, rsti_socket_t *socket,
    const rsti_datagram_t *datagrams, int count, bool is_sent);

#endif
