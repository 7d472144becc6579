/* receivers.h: what the sender knows of a publication's receivers: which of them live, whether the
 * publication is connected, and how far flow control lets it go (docs/reference/aeron/wire.md 7.3,
 * 10, 12.4). */
#ifndef RSTI_DRIVER_SENDER_RECEIVERS_H
#define RSTI_DRIVER_SENDER_RECEIVERS_H

#include "driver/sender/network_publication.h"
#include "driver/sender/sender_state.h"
#include "protocol/frame.h"

/* Whether it was accepted. */
bool rsti_network_publication_on_sm(rsti_sender_t *sender, rsti_network_publication_t *publication,
    const rsti_sm_t *sm, int64_t now_ns);
/* A pass in which nothing was sent: limit at idle, and receivers that went silent. */
void rsti_network_publication_on_idle(rsti_sender_t *sender,
    rsti_network_publication_t *publication, int64_t snd_pos, int64_t now_ns);
void rsti_network_publication_on_err(rsti_sender_t *sender, rsti_network_publication_t *publication,
    const rsti_err_t *err, const struct sockaddr_storage *source, int64_t now_ns);
/* The receiver that err names is given up, and the publisher hears why. */
void rsti_network_publication_drop(rsti_sender_t *sender, rsti_network_publication_t *publication,
    const rsti_err_t *err, const char *text, const struct sockaddr_storage *source, int64_t now_ns);

#endif
