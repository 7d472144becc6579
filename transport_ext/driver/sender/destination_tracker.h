/* destination_tracker.h: the destinations of a multi-destination publication
 * (docs/reference/aeron/wire.md 13.1). Dynamic destinations are the receivers that proved
 * themselves (proven.h) in the last 5 s. Manual destinations are added by clients; each learns the
 * id of its receiver from the first status message that comes from its address. Pure: addresses and
 * time are arguments. Called by the sender alone. */
#ifndef RSTI_DRIVER_SENDER_DESTINATION_TRACKER_H
#define RSTI_DRIVER_SENDER_DESTINATION_TRACKER_H

#include "util/clock.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

/* Destinations of one channel. When all are in use, a further receiver gets no data and is counted.
 */
#define RSTI_DESTINATIONS_MAX 256
#define RSTI_DESTINATION_TIMEOUT_NS (5 * RSTI_NS_PER_S)
/* A destination that the system refuses to send to is left out for the first time, then for twice
 * that, and so on up to the second. */
#define RSTI_DESTINATION_RETRY_MIN_NS (10 * RSTI_NS_PER_MS)
#define RSTI_DESTINATION_RETRY_MAX_NS RSTI_NS_PER_S

typedef struct rsti_destination_t {
    struct sockaddr_storage address; /* ss_family 0: not resolved yet, skipped */
    int64_t registration_id;         /* of the add command; dynamic: -1 */
    int64_t receiver_id;
    int64_t last_activity_ns;
    bool has_receiver_id;
    bool has_name;    /* manual, given by a name, so its address may change */
    bool is_repeated;     /* an earlier entry has the same address and gets the datagrams */
    int64_t missed_count; /* datagrams that were not sent to it since its first failure; 0: works */
    int64_t retry_ns; /* how long the last failure keeps it out */
    int64_t retry_due_ns; /* nothing is sent to it before that time */
} rsti_destination_t;

typedef struct rsti_destination_tracker_t {
    bool is_manual;
    int32_t count;
    int32_t start; /* index of the first destination of the next send */
    int64_t expiry_due_ns; /* no dynamic destination expires before this time */
    rsti_destination_t items[RSTI_DESTINATIONS_MAX];
} rsti_destination_tracker_t;

void rsti_destinations_init(rsti_destination_tracker_t *tracker, bool is_manual);
/* Records the sender of a status message that proves it. False when there is no room for it. */
bool rsti_destinations_on_sm(rsti_destination_tracker_t *tracker, int64_t receiver_id,
    const struct sockaddr_storage *source, int64_t now_ns);
/* Whether one of them has this address. */
bool rsti_destinations_have(const rsti_destination_tracker_t *tracker,
    const struct sockaddr_storage *address);
/* Removes the dynamic destinations that sent no status message for 5 s. */
void rsti_destinations_expire(rsti_destination_tracker_t *tracker, int64_t now_ns);
/* Add and remove a manual destination. False when there is no room, or no destination with that
 * id. */
bool rsti_destinations_add(rsti_destination_tracker_t *tracker, int64_t registration_id,
    const struct sockaddr_storage *address, bool has_name, int64_t now_ns);
bool rsti_destinations_remove(rsti_destination_tracker_t *tracker, int64_t registration_id);
/* The name of a manual destination has a new address. The receiver id there is not known yet. */
bool rsti_destinations_move(rsti_destination_tracker_t *tracker, int64_t registration_id,
    const struct sockaddr_storage *address);
/* Returns the registration id of the manual destination where the receiver is; -1: there is
 * none. */
int64_t rsti_destinations_find(const rsti_destination_tracker_t *tracker, int64_t receiver_id,
    const struct sockaddr_storage *source);
/* Whether datagrams may be sent to the destination now. If not, they count as missed. */
bool rsti_destination_takes(rsti_destination_t *destination, int32_t datagrams, int64_t now_ns);
/* The system took datagrams for the destination. */
void rsti_destination_on_sent(rsti_destination_t *destination);
/* The system refused datagrams for the destination, which is left out for a while. True at the
 * first failure since it worked. */
bool rsti_destination_on_failed(rsti_destination_t *destination, int32_t datagrams, int64_t now_ns);
/* Returns the index of the destination to send to first. Each call moves it on by one. */
int32_t rsti_destinations_rotate(rsti_destination_tracker_t *tracker);

#endif
