/* send_publication.h: one pass of the sender over a network publication
 * (docs/reference/aeron/wire.md 7). The pass sends SETUPs, data and heartbeats; flow control,
 * budgets and the law of rate limit the data. Called by the sender alone. */
#ifndef RSTI_DRIVER_SENDER_SEND_PUBLICATION_H
#define RSTI_DRIVER_SENDER_SEND_PUBLICATION_H

#include "driver/sender/network_publication.h"
#include "driver/sender/sender_state.h"
#include "protocol/frame.h"

/* Runs one pass. Returns how many bytes were sent. */
int64_t rsti_network_publication_send(rsti_sender_t *sender,
    rsti_network_publication_t *publication, int64_t now_ns, int64_t *next_deadline_ns);
/* The publication leaves the sender. If everything was sent, but its end not yet told, it is told
 * now, else its receivers would wait for their liveness timeout. */
void rsti_network_publication_tell_end(rsti_sender_t *sender,
    rsti_network_publication_t *publication);
/* Answers a receiver that measures the round trip. */
void rsti_network_publication_on_rttm(rsti_sender_t *sender,
    rsti_network_publication_t *publication, const rsti_rttm_t *rttm,
    const struct sockaddr_storage *source);
/* A receiver named the session of its response publication: the conductor is told. */
void rsti_network_publication_on_response_setup(rsti_sender_t *sender,
    const rsti_network_publication_t *publication, const rsti_rsp_setup_t *setup);

#endif
