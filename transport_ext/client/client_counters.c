/* client_counters.c: see client_counters.h, and reading any counter of the driver. */
#include "client/client_counters.h"

#include "client/user_counter.h"
#include "util/error.h"

#include <inttypes.h>
#include <string.h>

/* ---- events ---- */

void rsti_client_on_counter(rst_client_t *client, int kind, int64_t registration_id,
    int32_t counter_id)
{
    const rst_counter_event_t event = {
        .kind = kind, .counter_id = counter_id, .registration_id = registration_id};
    rsti_counter_events_push(&client->counter_events, &event);
    rst_user_counter_t *ours = kind == RST_COUNTER_UNAVAILABLE
        ? rsti_hash_map_get(&client->user_counters, registration_id)
        : NULL;
    if (ours != NULL && ours->counter_id == counter_id) {
        rsti_user_counter_kill(ours);
    }
}

RST_API int rst_client_next_counter_event(rst_client_t *client, rst_counter_event_t *event)
{
    if (client == NULL || event == NULL) {
        return RST_SET_ERR(RST_EINVAL, "client or event is NULL");
    }
    if (rsti_is_forked(client->generation)) {
        return rsti_set_forked_error("client");
    }
    pthread_mutex_lock(&client->lock);
    const bool found = rsti_counter_events_pop(&client->counter_events, event);
    pthread_mutex_unlock(&client->lock);
    return found ? 1 : 0;
}

RST_API int64_t rst_client_counter_events_lost(const rst_client_t *client)
{
    if (client == NULL || rsti_is_forked(client->generation)) {
        return 0;
    }
    pthread_mutex_t *lock = (pthread_mutex_t *)&client->lock;
    pthread_mutex_lock(lock);
    const int64_t lost = client->counter_events.lost;
    pthread_mutex_unlock(lock);
    return lost;
}

/* ---- values ---- */

RST_API int32_t rst_client_find_counter(const rst_client_t *client, int32_t type_id,
    int64_t registration_id)
{
    return client != NULL && !rsti_is_forked(client->generation)
        ? rsti_counters_find(&client->counters, type_id, registration_id)
        : RSTI_NULL_COUNTER;
}

RST_API int rst_client_read_counter(const rst_client_t *client, int32_t counter_id,
    rst_counter_t *counter)
{
    if (client == NULL || counter == NULL) {
        return RST_SET_ERR(RST_EINVAL, "client or counter is NULL");
    }
    if (rsti_is_forked(client->generation)) {
        return rsti_set_forked_error("client");
    }
    if (counter_id < 0 || counter_id > client->counters.max_counter_id) {
        return RST_SET_ERR(RST_EINVAL, "counter %" PRId32 ": there are 0 to %" PRId32, counter_id,
            client->counters.max_counter_id);
    }
    rsti_counter_view_t view;
    if (!rsti_counters_view(&client->counters, counter_id, &view)) {
        return 0;
    }
    *counter = (rst_counter_t){
        .id = view.counter_id,
        .type_id = view.type_id,
        .value = view.value,
        .registration_id = view.registration_id,
        .owner_id = view.owner_id,
        .reference_id = view.reference_id,
    };
    memcpy(counter->label, view.label, sizeof counter->label);
    return 1;
}
