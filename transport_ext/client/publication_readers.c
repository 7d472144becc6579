/* publication_readers.c: see publication_readers.h, and how far the readers have consumed. */
#include "client/publication_readers.h"

#include "util/int_math.h"

static const rsti_counter_value_t *allocated(const rsti_counters_t *counters, int32_t id,
    int32_t type_id)
{
    const rsti_counter_metadata_t *metadata = &counters->metadata[id];
    return rsti_load_acquire_i32(&metadata->state) == RSTI_COUNTER_ALLOCATED
            && metadata->type_id == type_id
        ? &counters->values[id]
        : NULL;
}

const rsti_counter_value_t *rsti_publication_next_reader(const rst_publication_t *publication,
    int32_t *id)
{
    const rsti_counters_t *counters = &publication->client->counters;
    while (*id <= counters->max_counter_id
        && rsti_load_acquire_i32(&counters->metadata[*id].state) != RSTI_COUNTER_UNUSED) {
        const rsti_counter_value_t *value = allocated(counters, (*id)++,
            RSTI_COUNTER_SUBSCRIBER_POSITION);
        if (value != NULL
            && rsti_load_acquire_i64(&value->reference_id) == publication->registration_id) {
            return value;
        }
    }
    return NULL;
}

static int64_t least_subscriber_position(const rst_publication_t *publication)
{
    int64_t least = INT64_MAX;
    int32_t id = 0;
    const rsti_counter_value_t *value;
    while ((value = rsti_publication_next_reader(publication, &id)) != NULL) {
        least = rsti_min_i64(least, rsti_load_acquire_i64(&value->value));
    }
    return least == INT64_MAX ? RST_NOT_CONNECTED : least;
}

static int64_t acknowledged_position(const rst_publication_t *publication)
{
    const rsti_counters_t *counters = &publication->client->counters;
    int32_t *cache = (int32_t *)&publication->consumed_counter_id;
    int32_t id = rsti_load_relaxed_i32(cache);
    if (id < 0) {
        id = rsti_counters_find(counters, RSTI_COUNTER_SENDER_CONSUMED,
            publication->registration_id);
        if (id < 0) {
            return RST_NOT_CONNECTED; /* Aeron's driver has no such counter */
        }
        rsti_store_relaxed_i32(cache, id);
    }
    const rsti_counter_value_t *value = allocated(counters, id, RSTI_COUNTER_SENDER_CONSUMED);
    if (value == NULL
        || rsti_load_acquire_i64(&value->registration_id) != publication->registration_id) {
        return RST_NOT_CONNECTED;
    }
    return rsti_load_acquire_i64(&value->value);
}

RST_API int64_t rst_publication_consumed_position(const rst_publication_t *publication)
{
    if (!rsti_publication_is_usable(publication)) {
        return rsti_publication_refuse(publication);
    }
    if (!publication->is_ipc) {
        return acknowledged_position(publication);
    }
    if (rsti_publication_is_log_connected(publication)) {
        return least_subscriber_position(publication);
    }
    /* The driver has lowered the limit to where the last reader stopped. */
    return rsti_min_i64(rsti_load_acquire_i64(publication->appender.limit),
        rsti_log_producer_position(&publication->log->file.log));
}
