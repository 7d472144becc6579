/* slowest_receiver.h: publishes the slowest receiver of a publication in a counter, with every
 * status message. Sending data does no work for it. Called by the sender alone. */
#ifndef RSTI_DRIVER_SENDER_SLOWEST_RECEIVER_H
#define RSTI_DRIVER_SENDER_SLOWEST_RECEIVER_H

#include "driver/sender/network_publication.h"
#include "driver/sender/sender_state.h"

/* A status message was accepted, or the set of receivers changed. */
void rsti_slowest_on_receivers(rsti_sender_t *sender, rsti_network_publication_t *publication,
    int64_t now_ns);

/* A NAK asks for the data at position. */
void rsti_slowest_on_nak(rsti_network_publication_t *publication, int64_t position, int64_t now_ns);
/* A fill NAK was believed: publishes whose report the rate follows, beside the counter rs-rate. */
void rsti_slowest_on_report(rsti_sender_t *sender, rsti_network_publication_t *publication,
    int64_t now_ns);
/* The law was changed: its rate follows nobody yet. */
void rsti_slowest_forget_report(rsti_network_publication_t *publication);

#endif
