/* destination_tracker.h: where a multi-destination publication's datagrams go
 * (docs/reference/aeron/wire.md 13.1). Dynamic: receivers that sent a status message in the last 5
 * s. Manual: what clients added; a destination learns its receiver's id from the first status
 * message of its address. Pure: addresses and time are arguments. Written by the sender alone. */
#ifndef RSTI_DRIVER_SENDER_DESTINATION_TRACKER_H
#define RSTI_DRIVER_SENDER_DESTINATION_TRACKER_H

#include "util/clock.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* Of one channel. A receiver that comes when all are taken is not served, and counted. */
#define RSTI_DESTINATIONS_MAX 256
#define RSTI_DESTINATION_TIMEOUT_NS (5 * RSTI_NS_PER_S)

typedef struct rsti_destination_t {
    struct sockaddr_storage address; /* ss_family 0: not resolved yet, skipped */
    int64_t registration_id;         /* of the add command; dynamic: -1 */
    int64_t receiver_id;
    int64_t last_activity_ns;
    bool has_receiver_id;
    bool has_name;    /* manual: may come to mean another address */
    bool is_repeated; /* an earlier one has the same address: one datagram is enough */
} rsti_destination_t;

typedef struct rsti_destination_tracker_t {
    bool is_manual;
    int32_t count;
    int32_t start;         /* which one is first at the next send */
    int64_t expiry_due_ns; /* no dynamic destination is due before */
    rsti_destination_t items[RSTI_DESTINATIONS_MAX];
} rsti_destination_tracker_t;

void rsti_destinations_init(rsti_destination_tracker_t *tracker, bool is_manual);
/* An accepted status message. False when it would be one destination too many. */
bool rsti_destinations_on_sm(rsti_destination_tracker_t *tracker, int64_t receiver_id,
    const struct sockaddr_storage *source, int64_t now_ns);
/* Dynamic ones without a status message since 5 s go. */
void rsti_destinations_expire(rsti_destination_tracker_t *tracker, int64_t now_ns);
/* Manual ones. False when there is no room, or none with that id. */
bool rsti_destinations_add(rsti_destination_tracker_t *tracker, int64_t registration_id,
    const struct sockaddr_storage *address, bool has_name, int64_t now_ns);
bool rsti_destinations_remove(rsti_destination_tracker_t *tracker, int64_t registration_id);
/* Its name means another address now: the receiver there has to be learnt anew. */
bool rsti_destinations_move(rsti_destination_tracker_t *tracker, int64_t registration_id,
    const struct sockaddr_storage *address);
/* The index of the first to send to; each call begins with the next one. */
int32_t rsti_destinations_rotate(rsti_destination_tracker_t *tracker);

#endif
