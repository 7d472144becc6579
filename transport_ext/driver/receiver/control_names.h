/* control_names.h: explicit control addresses that were given as names are looked up again while
 * their publisher is silent, for it may have moved (docs/reference/aeron/wire.md 18). */
#ifndef RSTI_DRIVER_RECEIVER_CONTROL_NAMES_H
#define RSTI_DRIVER_RECEIVER_CONTROL_NAMES_H

#include "driver/receiver/receive_endpoint.h"

/* Asks the conductor to look names up again. */
void rsti_receiver_check_names(rsti_receiver_t *receiver, int64_t now_ns,
    int64_t *next_deadline_ns);
/* The name means another address now. */
void rsti_receiver_set_control(rsti_receiver_t *receiver, rsti_receive_transport_t *transport,
    const struct sockaddr_storage *address, int64_t now_ns);

#endif
