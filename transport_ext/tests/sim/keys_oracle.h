/* keys_oracle.h: what must hold in a world with keys, whoever is on the path.
 *
 * Invariants: what leaves a socket with a key is sealed, no salt is of two sockets, no counter
 * comes twice with a salt; a socket opens only what another one has sealed, and as often as that
 * was; and the source of an image has answered a challenge of its endpoint after that was made, so
 * a recorded session makes no image. */
#ifndef RSTI_SIM_KEYS_ORACLE_H
#define RSTI_SIM_KEYS_ORACLE_H

#include "media/media.h"

typedef struct rsti_image_t rsti_image_t;

void sim_oracle_init(void);
/* The driver opened a socket. number: of no other one of the run. */
void sim_oracle_note_socket(const rsti_socket_t *socket, int32_t number);
/* A socket with a key sends a datagram, with this frame in it; both are the same where it is plain.
 */
void sim_oracle_on_send(int32_t socket_number, const rsti_datagram_t *sent,
    const rsti_datagram_t *frame);
/* A socket with a key has opened a datagram. */
void sim_oracle_on_open(const rsti_socket_t *socket, const rsti_datagram_t *datagram);
/* An image is new, or has another source. */
void sim_oracle_on_image(const rsti_image_t *image);

#endif
