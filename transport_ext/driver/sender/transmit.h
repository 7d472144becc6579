/* transmit.h: frames of a network publication from the log into datagrams, and out. */
#ifndef RSTI_DRIVER_SENDER_TRANSMIT_H
#define RSTI_DRIVER_SENDER_TRANSMIT_H

#include "driver/sender/network_publication.h"
#include "driver/sender/sender_state.h"

/* Responses go to the address that asked for the set-up: until one did, nothing is sent. */
bool rsti_network_publication_is_waiting(const rsti_network_publication_t *publication);
/* How many datagrams were taken. */
int32_t rsti_network_publication_transmit(rsti_sender_t *sender,
    rsti_network_publication_t *publication, rsti_datagram_t *datagrams, int32_t count);
/* Datagrams that start at position, as many as limit, most, burst and mtu allow, into those of the
 * sender. *is_blocked: a frame does not fit below limit; *is_corrupt: one is there that no producer
 * makes. */
int32_t rsti_network_publication_collect(rsti_sender_t *sender,
    const rsti_network_publication_t *publication, int64_t position, int64_t limit, int32_t most,
    bool *is_blocked, bool *is_corrupt);
/* A control frame, sent to where the data goes; false: it was not taken. */
bool rsti_network_publication_send_frame(rsti_sender_t *sender,
    rsti_network_publication_t *publication, const void *frame, size_t length);
/* A heartbeat, which carries the newest NOOP; false: it was not taken. */
bool rsti_network_publication_send_heartbeat(rsti_sender_t *sender,
    rsti_network_publication_t *publication, int64_t snd_pos, uint8_t flags);

#endif
