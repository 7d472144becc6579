/* transmit.h: collects frames of a network publication from the log into datagrams, and sends
 * datagrams and control frames. Called by the sender alone. */
#ifndef RSTI_DRIVER_SENDER_TRANSMIT_H
#define RSTI_DRIVER_SENDER_TRANSMIT_H

#include "driver/sender/network_publication.h"
#include "driver/sender/sender_state.h"

/* True for a response publication that no address has asked for a SETUP yet: nothing is sent. */
bool rsti_network_publication_is_waiting(const rsti_network_publication_t *publication);
/* Sends datagrams and returns how many the system accepted. */
int32_t rsti_network_publication_transmit(rsti_sender_t *sender,
    rsti_network_publication_t *publication, rsti_datagram_t *datagrams, int32_t count);
/* Fills sender->datagrams from position on, as many as limit, most, burst and mtu allow, and
 * returns their number. *is_blocked: a frame does not fit below limit; *is_corrupt: a frame is
 * invalid. */
int32_t rsti_network_publication_collect(rsti_sender_t *sender,
    const rsti_network_publication_t *publication, int64_t position, int64_t limit, int32_t most,
    bool *is_blocked, bool *is_corrupt);
/* Sends a control frame to the destinations of the data. False: the system did not accept it. */
bool rsti_network_publication_send_frame(rsti_sender_t *sender,
    rsti_network_publication_t *publication, const void *frame, size_t length);
/* Sends a heartbeat with the newest NOOP number. False: the system did not accept it. */
bool rsti_network_publication_send_heartbeat(rsti_sender_t *sender,
    rsti_network_publication_t *publication, int64_t snd_pos, uint8_t flags);

#endif
