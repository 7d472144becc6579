/* slowest_receiver.h: publishes the slowest receiver of a publication in a counter, with every
 * status message. Sending data does no work for it. Called by the sender alone. */
#ifndef RSTI_DRIVER_SENDER_SLOWEST_RECEIVER_H
#define RSTI_DRIVER_SENDER_SLOWEST_RECEIVER_H

#include "driver/sender/network_publication.h"
#include "driver/sender/sender_state.h"

#include <sys/socket.h>

/* An accepted status message came from source. */
void rsti_slowest_on_sm(rsti_sender_t *sender, rsti_network_publication_t *publication,
    int64_t receiver_id, const struct sockaddr_storage *source, int64_t now_ns);
/* The set of receivers changed. */
void rsti_slowest_on_receivers(rsti_sender_t *sender, rsti_network_publication_t *publication,
    int64_t now_ns);

#endif
