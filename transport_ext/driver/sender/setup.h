/* setup.h: the SETUP of a network publication, and the answers to strangers that ask for one. A
 * stranger is a host that is not proven (proven.h). Called by the sender alone.
 *
 * Law: a stranger gets at most RSTI_STRANGER_SETUPS SETUPs for a status message, which are 80 bytes
 * for 36, and nothing else. The sender keeps no state of strangers. */
#ifndef RSTI_DRIVER_SENDER_SETUP_H
#define RSTI_DRIVER_SENDER_SETUP_H

#include "driver/sender/network_publication.h"
#include "driver/sender/sender_state.h"
#include "protocol/frame.h"

#define RSTI_STRANGER_SETUPS 2

/* False at the end of the stream: a new receiver could not read anything. */
bool rsti_network_publication_has_setup(const rsti_network_publication_t *publication);
/* Returns the SETUP for a receiver that joins at the sent position. */
rsti_setup_t rsti_network_publication_setup(const rsti_network_publication_t *publication);
/* Sends the publication's SETUP to source. */
void rsti_network_publication_answer(rsti_sender_t *sender, rsti_network_publication_t *publication,
    const struct sockaddr_storage *source);
/* A stranger asked for the SETUPs of an endpoint with dynamic destinations. It gets two of them;
 * its next status message gets the next two, so that it sees all in turn. */
void rsti_send_endpoint_answer(rsti_sender_t *sender, rsti_send_endpoint_t *endpoint,
    const struct sockaddr_storage *source);

#endif
