/* subscribers.c: the list of a log's readers, and the range of their positions. */
#include "driver/base/subscribers.h"

#include "driver/base/tether.h"
#include "logbuffer/descriptor.h"
#include "util/alloc.h"
#include "util/error.h"

int rsti_subscribers_add(rsti_subscribers_t *subscribers, const rsti_subscriber_t *subscriber)
{
    if (subscribers->count == subscribers->capacity) {
        const int32_t capacity = subscribers->capacity == 0 ? 4 : subscribers->capacity * 2;
        rsti_subscriber_t *items = rsti_realloc(subscribers->items,
            (size_t)subscribers->capacity * sizeof *items, (size_t)capacity * sizeof *items);
        if (items == NULL) {
            return -RST_ENOMEM;
        }
        subscribers->items = items;
        subscribers->capacity = capacity;
    }
    rsti_subscriber_t *added = &subscribers->items[subscribers->count++];
    *added = *subscriber;
    added->is_refused = false;
    added->is_told = false;
    return 0;
}

void rsti_subscribers_remove_at(rsti_subscribers_t *subscribers, int32_t index)
{
    RST_ASSERT(index >= 0 && index < subscribers->count);
    subscribers->items[index] = subscribers->items[--subscribers->count];
}

void rsti_subscribers_fini(rsti_subscribers_t *subscribers)
{
    rsti_free(subscribers->items);
    memset(subscribers, 0, sizeof *subscribers);
}

bool rsti_subscribers_are_working(const rsti_subscribers_t *subscribers)
{
    for (int32_t i = 0; i < subscribers->count; i++) {
        if (rsti_tether_is_working(&subscribers->items[i].tether)) {
            return true;
        }
    }
    return false;
}

bool rsti_position_is_in_log(int64_t position, int64_t clean_position, int32_t term_length)
{
    return position >= clean_position
        && position <= clean_position + RSTI_PARTITIONS * (int64_t)term_length
        && (position & (RSTI_FRAME_ALIGNMENT - 1)) == 0;
}

bool rsti_subscribers_range(const rsti_subscribers_t *subscribers, int64_t clean_position,
    int32_t term_length, int64_t *least, int64_t *highest)
{
    *least = INT64_MAX;
    *highest = INT64_MIN;
    for (int32_t i = 0; i < subscribers->count; i++) {
        rsti_subscriber_t *subscriber = &subscribers->items[i];
        if (!rsti_tether_is_working(&subscriber->tether)) {
            continue;
        }
        const int64_t position = rsti_load_acquire_i64(subscriber->position);
        subscriber->is_refused = !rsti_position_is_in_log(position, clean_position, term_length);
        if (!subscriber->is_refused) {
            subscriber->accepted = position;
        }
        *least = rsti_min_i64(*least, subscriber->accepted);
        *highest = rsti_max_i64(*highest, subscriber->accepted);
    }
    return *least != INT64_MAX;
}
