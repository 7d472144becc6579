/* sealing.h: a media table that wraps another. What a socket with keys sends is sealed, and what it
 * receives is opened (seal/): its owner sees plain frames. Sockets without keys pass through.
 *
 * Each datagram is RSTI_SEALED_OVERHEAD bytes longer on the wire. The wrapped table gets runs of
 * equal datagrams, as before, so segmentation and coalescing work. What cannot be opened has length
 * 0, as a datagram that was cut; in a run it is left out. Either way the reason stands beside it
 * (seal/refusal.h), and its source gets an answer. So do sealed datagrams to a socket without keys.
 * The address of what was opened notes its sealer, and whether it or another one of its run was
 * overtaken (util/netaddr.h). A datagram that the wrapped
 * table does not take is sealed anew the next time, with another counter. */
#ifndef RSTI_MEDIA_SEALING_H
#define RSTI_MEDIA_SEALING_H

#include "media/media.h"
#include "seal/opener.h"

/* Owns inner from now on and destroys it. A socket belongs to one agent. */
int rsti_media_sealing_create(rsti_media_t *media, const rsti_media_t *inner,
    const rsti_clock_t *clock);
void rsti_media_sealing_destroy(rsti_media_t *media);
/* Sets the function that is told of the plain frames of sockets with keys; as
 * rsti_media_udp_tap. */
void rsti_media_sealing_tap(const rsti_media_t *media, const rsti_tap_t *tap);
/* Datagrams that sockets with keys have received, by what became of them, since creation. */
void rsti_media_sealing_counts(const rsti_media_t *media, int64_t counts[RSTI_OPENED_COUNT]);

#endif
