/* noop.h: the sender asks the one receiver of a unicast publication whether the whole path to its
 * readers is alive (flow/noop.h), gives it up when nobody answers, and takes it back when somebody
 * does. A publisher sees itself not connected meanwhile, and hears why; its stream stays where it
 * was, so nothing is lost when the receiver comes back. */
#ifndef RSTI_DRIVER_SENDER_NOOP_H
#define RSTI_DRIVER_SENDER_NOOP_H

#include "driver/sender/network_publication.h"
#include "driver/sender/sender_state.h"

/* Each pass; receivers.c hears the answers. */
void rsti_network_publication_check_noop(rsti_sender_t *sender,
    rsti_network_publication_t *publication, int64_t snd_pos, int64_t now_ns,
    int64_t *next_deadline_ns);

#endif
