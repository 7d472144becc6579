/* destination_tracker.c: see the header. */
#include "driver/sender/destination_tracker.h"

#include "util/int_math.h"
#include "util/netaddr.h"

void rsti_destinations_init(rsti_destination_tracker_t *tracker, bool is_manual)
{
    tracker->is_manual = is_manual;
    tracker->count = 0;
    tracker->start = 0;
    tracker->expiry_due_ns = RSTI_NO_DEADLINE;
}

static void mark_repeated(rsti_destination_tracker_t *tracker)
{
    for (int32_t i = 0; i < tracker->count; i++) {
        bool is_repeated = false;
        for (int32_t k = 0; k < i && !is_repeated; k++) {
            is_repeated = rsti_netaddr_equal(&tracker->items[k].address,
                &tracker->items[i].address);
        }
        tracker->items[i].is_repeated = is_repeated;
    }
}

static void remove_at(rsti_destination_tracker_t *tracker, int32_t index)
{
    tracker->count--;
    for (int32_t i = index; i < tracker->count; i++) {
        tracker->items[i] = tracker->items[i + 1];
    }
    if (tracker->start > index) {
        tracker->start--; /* so that no destination is skipped */
    }
    mark_repeated(tracker);
}

static bool append(rsti_destination_tracker_t *tracker, const rsti_destination_t *destination)
{
    if (tracker->count == RSTI_DESTINATIONS_MAX) {
        return false;
    }
    tracker->items[tracker->count++] = *destination;
    mark_repeated(tracker);
    return true;
}

/* Id and port together identify a receiver: several receivers may share an address. */
static bool is_same_receiver(const rsti_destination_t *destination, int64_t receiver_id,
    const struct sockaddr_storage *source)
{
    return destination->has_receiver_id && destination->receiver_id == receiver_id
        && rsti_netaddr_port(&destination->address) == rsti_netaddr_port(source);
}

bool rsti_destinations_on_sm(rsti_destination_tracker_t *tracker, int64_t receiver_id,
    const struct sockaddr_storage *source, int64_t now_ns)
{
    bool is_known = false;
    for (int32_t i = 0; i < tracker->count; i++) {
        rsti_destination_t *destination = &tracker->items[i];
        if (is_same_receiver(destination, receiver_id, source)) {
            destination->last_activity_ns = now_ns;
            is_known = true;
        } else if (!destination->has_receiver_id
            && rsti_netaddr_equal(&destination->address, source)) {
            destination->has_receiver_id = true;
            destination->receiver_id = receiver_id;
            destination->last_activity_ns = now_ns;
        }
    }
    if (is_known || tracker->is_manual) {
        return true; /* a receiver that no client added gets no data */
    }
    const rsti_destination_t destination = {
        .address = *source,
        .registration_id = -1,
        .receiver_id = receiver_id,
        .has_receiver_id = true,
        .last_activity_ns = now_ns,
    };
    if (tracker->count == 0) {
        tracker->expiry_due_ns = now_ns + RSTI_DESTINATION_TIMEOUT_NS + 1;
    }
    return append(tracker, &destination);
}

bool rsti_destinations_have(const rsti_destination_tracker_t *tracker,
    const struct sockaddr_storage *address)
{
    for (int32_t i = 0; i < tracker->count; i++) {
        if (rsti_netaddr_equal(&tracker->items[i].address, address)) {
            return true;
        }
    }
    return false;
}

void rsti_destinations_expire(rsti_destination_tracker_t *tracker, int64_t now_ns)
{
    if (tracker->is_manual || now_ns < tracker->expiry_due_ns) {
        return;
    }
    int64_t oldest_ns = INT64_MAX;
    for (int32_t i = tracker->count; i > 0; i--) {
        const int64_t last_ns = tracker->items[i - 1].last_activity_ns;
        if (now_ns > last_ns + RSTI_DESTINATION_TIMEOUT_NS) {
            remove_at(tracker, i - 1);
        } else if (last_ns < oldest_ns) {
            oldest_ns = last_ns;
        }
    }
    tracker->expiry_due_ns = oldest_ns == INT64_MAX ? RSTI_NO_DEADLINE
                                                    : oldest_ns + RSTI_DESTINATION_TIMEOUT_NS + 1;
}

static rsti_destination_t *find(rsti_destination_tracker_t *tracker, int64_t registration_id)
{
    for (int32_t i = 0; i < tracker->count; i++) {
        if (tracker->items[i].registration_id == registration_id) {
            return &tracker->items[i];
        }
    }
    return NULL;
}

bool rsti_destinations_add(rsti_destination_tracker_t *tracker, int64_t registration_id,
    const struct sockaddr_storage *address, bool has_name, int64_t now_ns)
{
    const rsti_destination_t destination = {
        .address = *address,
        .registration_id = registration_id,
        .has_name = has_name,
        .last_activity_ns = now_ns,
    };
    return append(tracker, &destination);
}

bool rsti_destinations_remove(rsti_destination_tracker_t *tracker, int64_t registration_id)
{
    const rsti_destination_t *destination = find(tracker, registration_id);
    if (destination == NULL) {
        return false;
    }
    remove_at(tracker, (int32_t)(destination - tracker->items));
    return true;
}

bool rsti_destinations_move(rsti_destination_tracker_t *tracker, int64_t registration_id,
    const struct sockaddr_storage *address)
{
    rsti_destination_t *destination = find(tracker, registration_id);
    if (destination == NULL) {
        return false;
    }
    destination->address = *address;
    destination->has_receiver_id = false;
    rsti_destination_on_sent(destination); /* nothing failed at the new address */
    mark_repeated(tracker);
    return true;
}

int64_t rsti_destinations_find(const rsti_destination_tracker_t *tracker, int64_t receiver_id,
    const struct sockaddr_storage *source)
{
    for (int32_t i = 0; i < tracker->count; i++) {
        const rsti_destination_t *destination = &tracker->items[i];
        if (is_same_receiver(destination, receiver_id, source)
            || (!destination->has_receiver_id
                && rsti_netaddr_equal(&destination->address, source))) {
            return destination->registration_id;
        }
    }
    return -1;
}

bool rsti_destination_takes(rsti_destination_t *destination, int32_t datagrams, int64_t now_ns)
{
    if (destination->missed_count == 0 || now_ns >= destination->retry_due_ns) {
        return true;
    }
    destination->missed_count += datagrams;
    return false;
}

void rsti_destination_on_sent(rsti_destination_t *destination)
{
    destination->missed_count = 0;
    destination->retry_ns = 0;
}

bool rsti_destination_on_failed(rsti_destination_t *destination, int32_t datagrams, int64_t now_ns)
{
    const bool is_first = destination->missed_count == 0;
    destination->missed_count += datagrams;
    destination->retry_ns = is_first
        ? RSTI_DESTINATION_RETRY_MIN_NS
        : rsti_min_i64(2 * destination->retry_ns, RSTI_DESTINATION_RETRY_MAX_NS);
    destination->retry_due_ns = now_ns + destination->retry_ns;
    return is_first;
}

int32_t rsti_destinations_rotate(rsti_destination_tracker_t *tracker)
{
    const int32_t first = tracker->start < tracker->count ? tracker->start : 0;
    tracker->start = first + 1;
    return first;
}
