/* receivers.h: the sender's state of a publication's receivers: the list of live receivers, the
 * connection state of the publication, and the limit of flow control
 * (docs/reference/aeron/wire.md 7.3, 10, 12.4). Called by the sender alone. */
#ifndef RSTI_DRIVER_SENDER_RECEIVERS_H
#define RSTI_DRIVER_SENDER_RECEIVERS_H

#include "driver/sender/network_publication.h"
#include "driver/sender/sender_state.h"
#include "protocol/frame.h"

typedef enum rsti_sm_result_t {
    RSTI_SM_REJECTED, /* it changed nothing */
    RSTI_SM_LATE, /* it changed nothing, but a receiver of the group sent it: it is far behind */
    RSTI_SM_ACCEPTED
} rsti_sm_result_t;

/* Handles a valid status message that does not ask for a SETUP. */
rsti_sm_result_t rsti_network_publication_on_sm(rsti_sender_t *sender,
    rsti_network_publication_t *publication, const rsti_sm_t *sm,
    const struct sockaddr_storage *source, int64_t now_ns);
/* Whether its sender has seen our SETUP (proven.h). */
bool rsti_network_publication_is_seen_by(const rsti_network_publication_t *publication,
    const rsti_sm_t *sm);
/* Handles a status message that asks for a SETUP: the next pass sends one to all receivers. */
void rsti_network_publication_on_setup_asked(rsti_network_publication_t *publication,
    const rsti_sm_t *sm, int64_t now_ns);
/* Called in a pass that sent nothing: updates the limit and drops silent receivers. */
void rsti_network_publication_on_idle(rsti_sender_t *sender,
    rsti_network_publication_t *publication, int64_t snd_pos, int64_t now_ns);
/* Handles an error frame of a receiver: the receiver rejected the stream. */
void rsti_network_publication_on_err(rsti_sender_t *sender, rsti_network_publication_t *publication,
    const rsti_err_t *err, const struct sockaddr_storage *source, int64_t now_ns);
/* Drops the receiver that err names, and reports the cause to the publisher. */
void rsti_network_publication_drop(rsti_sender_t *sender, rsti_network_publication_t *publication,
    const rsti_err_t *err, const char *text, const struct sockaddr_storage *source, int64_t now_ns);

#endif
