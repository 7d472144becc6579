/* control_names.h: repeated look-up of explicit control addresses that were given as names
 * (docs/reference/aeron/wire.md 18). A name is looked up again while its publisher is silent,
 * because the publisher may have moved. Called by the receiver alone. */
#ifndef RSTI_DRIVER_RECEIVER_CONTROL_NAMES_H
#define RSTI_DRIVER_RECEIVER_CONTROL_NAMES_H

#include "driver/receiver/receive_endpoint.h"

/* Asks the conductor to look up the names of silent publishers, once per interval. */
void rsti_receiver_check_names(rsti_receiver_t *receiver, int64_t now_ns,
    int64_t *next_deadline_ns);
/* Sets the new address of a control name, and asks it for a SETUP at once. */
void rsti_receiver_set_control(rsti_receiver_t *receiver, rsti_receive_transport_t *transport,
    const struct sockaddr_storage *address, int64_t now_ns);

#endif
