/* hostile.h: a hostile host. It hears which streams there are, and sends forged frames to their
 * drivers at random times, from addresses of its own: control frames to senders; SETUPs, data and
 * ends of streams to receivers. It never answers what it is asked.
 *
 * It knows session, stream and term ids of unicast streams and of those with dynamic destinations.
 * In a multicast group, and with manual destinations, who knows them is a receiver like any other:
 * there it knows the session only.
 *
 * Invariants: it gets at most three times its bytes (here), and all others of the run hold as
 * without it: in a gentle run every stream is complete. */
#ifndef RSTI_SIM_HOSTILE_H
#define RSTI_SIM_HOSTILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

/* Some of the runs have a hostile host. */
void sim_generate_hostile(void);
/* A driver sent a datagram; from is a socket of that host, to_host -1: a group of hosts. */
void sim_hostile_hear(int32_t host, const struct sockaddr_storage *from, int32_t to_host,
    const struct sockaddr_storage *to, const uint8_t *data, size_t length);
/* Whether the source of an image, "ip:port", is the hostile host. */
bool sim_hostile_is(const char *source);
/* A datagram was sent to the hostile host. */
void sim_hostile_got(const uint8_t *data, size_t length);

#endif
