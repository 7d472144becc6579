/* slowest_receiver.h: publishes the slowest receiver of a publication in a counter, with every
 * status message. Sending data does no work for it. Called by the sender alone. */
#ifndef RSTI_DRIVER_SENDER_SLOWEST_RECEIVER_H
#define RSTI_DRIVER_SENDER_SLOWEST_RECEIVER_H

#include "driver/sender/network_publication.h"
#include "driver/sender/sender_state.h"

/* A status message was accepted, or the set of receivers changed. */
void rsti_slowest_on_receivers(rsti_sender_t *sender, rsti_network_publication_t *publication,
    int64_t now_ns);

#endif
