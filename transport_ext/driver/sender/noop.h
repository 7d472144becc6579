/* noop.h: the sender asks the only receiver of a unicast publication whether its readers are alive
 * (flow/noop.h). It drops a receiver that does not answer in time, and accepts it again when it
 * answers. Meanwhile the publisher is not connected and gets an error that names the cause. The
 * position of the stream does not move, so nothing is lost when the receiver comes back. A closed
 * publication waits for it as long as it would linger. */
#ifndef RSTI_DRIVER_SENDER_NOOP_H
#define RSTI_DRIVER_SENDER_NOOP_H

#include "driver/sender/network_publication.h"
#include "driver/sender/sender_state.h"

/* Sends a NOOP or drops the receiver when that is due. Called by the sender in each pass; answers
 * arrive in receivers.c. */
void rsti_network_publication_check_noop(rsti_sender_t *sender,
    rsti_network_publication_t *publication, int64_t snd_pos, int64_t now_ns,
    int64_t *next_deadline_ns);

#endif
