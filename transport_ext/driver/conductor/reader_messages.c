/* reader_messages.c: see reader_messages.h. */
#include "driver/conductor/reader_messages.h"

#include "concurrent/counters.h"
#include "concurrent/wake.h"
#include "util/int_math.h"

/* NULL: it tells nothing. */
static const rsti_position_ext_t *told_by(const rsti_subscriber_t *subscriber)
{
    const rsti_counter_value_t *value = (const void *)subscriber->position;
    const rsti_position_ext_t *ext = (const void *)value->spare;
    return rsti_tether_is_working(&subscriber->tether)
            && rsti_load_acquire_i32(&ext->magic) == RSTI_EXT_MAGIC
        ? ext
        : NULL;
}

bool rsti_readers_have_read(const rsti_subscribers_t *subscribers)
{
    for (int32_t i = 0; i < subscribers->count; i++) {
        const rsti_subscriber_t *subscriber = &subscribers->items[i];
        const rsti_position_ext_t *ext = told_by(subscriber);
        if (rsti_tether_is_working(&subscriber->tether)
            && (ext == NULL || rsti_load_relaxed_i32(&ext->has_read) == 0)) {
            return false;
        }
    }
    return true;
}

bool rsti_readers_set_aside(const rsti_subscribers_t *subscribers)
{
    for (int32_t i = 0; i < subscribers->count; i++) {
        const rsti_position_ext_t *ext = told_by(&subscribers->items[i]);
        if (ext != NULL && rsti_load_relaxed_i32(&ext->sets_aside) != 0) {
            return true;
        }
    }
    return false;
}

int64_t rsti_readers_read(const rsti_subscribers_t *subscribers)
{
    int64_t least = INT64_MAX;
    for (int32_t i = 0; i < subscribers->count; i++) {
        const rsti_subscriber_t *subscriber = &subscribers->items[i];
        if (!rsti_tether_is_working(&subscriber->tether) || !subscriber->tether.is_followed) {
            continue;
        }
        const rsti_position_ext_t *ext = told_by(subscriber);
        const int64_t read = ext == NULL ? 0 : rsti_load_acquire_i64(&ext->read_position);
        least = rsti_min_i64(least, rsti_max_i64(subscriber->accepted, read));
    }
    return least;
}

int64_t rsti_readers_message_bytes(const rsti_subscribers_t *subscribers)
{
    int64_t most = 0;
    for (int32_t i = 0; i < subscribers->count; i++) {
        const rsti_position_ext_t *ext = told_by(&subscribers->items[i]);
        if (ext != NULL) {
            most = rsti_max_i64(most, rsti_load_relaxed_i64(&ext->mean_bytes));
        }
    }
    return most;
}
