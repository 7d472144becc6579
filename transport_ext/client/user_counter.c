/* user_counter.c: counters of applications, events about the counters of everybody, and reading any
 * of them. */
#include "client/internal.h"

#include "util/alloc.h"
#include "util/error.h"

#include <inttypes.h>

struct rst_user_counter_t {
    int32_t refs; /* atomic */
    int32_t is_closed; /* atomic */
    int32_t generation;
    bool is_static;
    rst_client_t *client;
    int64_t correlation_id;
    int64_t registration_id;
    int32_t counter_id;
    rsti_counter_value_t *value;
};

/* ---- life ---- */

rst_user_counter_t *rsti_user_counter_create(rst_client_t *client, const rsti_pending_t *pending,
    int32_t counter_id)
{
    if (counter_id < 0 || counter_id > client->counters.max_counter_id) {
        (void)RST_SET_ERR(RST_ECORRUPT,
            "the driver names counter %" PRId32 ", there are 0 to %" PRId32, counter_id,
            client->counters.max_counter_id);
        return NULL;
    }
    rst_user_counter_t *counter = rsti_alloc(sizeof *counter);
    if (counter == NULL) {
        return NULL;
    }
    *counter = (rst_user_counter_t){
        .refs = 1,
        .generation = client->generation,
        .is_static = pending->is_static,
        .client = client,
        .correlation_id = pending->correlation_id,
        .registration_id = pending->is_static ? pending->counter_registration_id
                                              : pending->correlation_id,
        .counter_id = counter_id,
        .value = &client->counters.values[counter_id],
    };
    if (rsti_hash_map_put(&client->user_counters, counter->correlation_id, counter) < 0) {
        rsti_free(counter);
        return NULL;
    }
    rsti_client_ref(client);
    return counter;
}

void rsti_user_counter_unref(rst_user_counter_t *counter)
{
    if (rsti_fetch_add_i32(&counter->refs, -1) == 1) {
        rst_client_t *client = counter->client;
        rsti_free(counter);
        rsti_client_unref(client);
    }
}

void rsti_user_counter_kill(rst_user_counter_t *counter)
{
    rsti_store_release_i32(&counter->is_closed, 1);
}

RST_API void rst_user_counter_close(rst_user_counter_t *counter)
{
    if (counter == NULL) {
        return;
    }
    if (rsti_is_forked(counter->generation)) {
        rsti_free(counter);
        return;
    }
    rst_client_t *client = counter->client;
    pthread_mutex_lock(&client->lock);
    rsti_user_counter_kill(counter);
    (void)rsti_hash_map_remove(&client->user_counters, counter->correlation_id);
    if (!counter->is_static) {
        rsti_client_send_remove(client, RSTI_CMD_REMOVE_COUNTER, counter->registration_id, 0);
    }
    pthread_mutex_unlock(&client->lock);
    rsti_user_counter_unref(counter);
}

/* ---- asking ---- */

static int64_t ask_counter(rst_client_t *client, rsti_command_t *command, const void *key,
    size_t key_length, const char *label)
{
    const int checked = rsti_client_check(client);
    if (checked < 0) {
        return checked;
    }
    const size_t label_length = label != NULL ? strlen(label) : 0;
    if (key_length > RSTI_COUNTER_KEY_MAX || (key == NULL && key_length > 0)) {
        return RST_SET_ERR(RST_EINVAL, "counter key of %zu bytes: at most %d", key_length,
            RSTI_COUNTER_KEY_MAX);
    }
    if (label_length > RSTI_COUNTER_LABEL_MAX) {
        return RST_SET_ERR(RST_EINVAL, "counter label of %zu bytes: at most %d", label_length,
            RSTI_COUNTER_LABEL_MAX);
    }
    rsti_pending_t *pending = rsti_pending_create(client, RSTI_PENDING_COUNTER,
        label != NULL ? label : "", label_length, 0);
    if (pending == NULL) {
        return -RST_ENOMEM;
    }
    pending->is_static = command->type == RSTI_CMD_ADD_STATIC_COUNTER;
    pending->counter_registration_id = command->registration_id;
    command->key = (rsti_text_t){.text = key, .length = (int32_t)key_length};
    command->label = (rsti_text_t){.text = pending->channel, .length = (int32_t)label_length};
    return rsti_client_ask(client, pending, command);
}

RST_API int64_t rst_client_add_counter(rst_client_t *client, int32_t type_id, const void *key,
    size_t key_length, const char *label)
{
    rsti_command_t command = {.type = RSTI_CMD_ADD_COUNTER, .counter_type_id = type_id};
    return ask_counter(client, &command, key, key_length, label);
}

RST_API int64_t rst_client_add_static_counter(rst_client_t *client, int32_t type_id,
    int64_t registration_id, const void *key, size_t key_length, const char *label)
{
    rsti_command_t command = {.type = RSTI_CMD_ADD_STATIC_COUNTER,
        .counter_type_id = type_id,
        .registration_id = registration_id};
    return ask_counter(client, &command, key, key_length, label);
}

RST_API rst_user_counter_t *rst_client_take_counter(rst_client_t *client, int64_t correlation_id)
{
    rsti_pending_t *pending = rsti_client_take(client, correlation_id, RSTI_PENDING_COUNTER);
    if (pending == NULL) {
        return NULL;
    }
    rst_user_counter_t *counter = pending->counter;
    pending->counter = NULL;
    rsti_pending_free(pending);
    return counter;
}

/* ---- value ---- */

/* NULL when it is not ours (any more): the driver may have given its place to somebody else. */
static int64_t *value_of(const rst_user_counter_t *counter)
{
    if (counter == NULL || rsti_is_forked(counter->generation)
        || rsti_load_acquire_i32(&counter->is_closed) != 0
        || rsti_load_acquire_i64(&counter->value->registration_id) != counter->registration_id) {
        return NULL;
    }
    return &counter->value->value;
}

RST_API int32_t rst_user_counter_id(const rst_user_counter_t *counter)
{
    return counter != NULL ? counter->counter_id : RSTI_NULL_COUNTER;
}

RST_API int64_t rst_user_counter_registration_id(const rst_user_counter_t *counter)
{
    return counter != NULL ? counter->registration_id : 0;
}

RST_API int64_t rst_user_counter_get(const rst_user_counter_t *counter)
{
    const int64_t *value = value_of(counter);
    return value != NULL ? rsti_load_acquire_i64(value) : 0;
}

RST_API void rst_user_counter_set(rst_user_counter_t *counter, int64_t value)
{
    int64_t *at = value_of(counter);
    if (at != NULL) {
        rsti_store_release_i64(at, value);
    }
}

RST_API int64_t rst_user_counter_add(rst_user_counter_t *counter, int64_t delta)
{
    int64_t *at = value_of(counter);
    return at != NULL ? rsti_fetch_add_i64(at, delta) : 0;
}

RST_API bool rst_user_counter_propose_max(rst_user_counter_t *counter, int64_t value)
{
    int64_t *at = value_of(counter);
    const bool is_higher = at != NULL && rsti_load_acquire_i64(at) < value;
    if (is_higher) {
        rsti_store_release_i64(at, value);
    }
    return is_higher;
}

RST_API bool rst_user_counter_is_closed(const rst_user_counter_t *counter)
{
    return value_of(counter) == NULL;
}

/* ---- events ---- */

static void push_event(rst_client_t *client, const rst_counter_event_t *event)
{
    rsti_counter_events_t *ring = &client->counter_events;
    if (ring->events == NULL) {
        ring->events = rsti_alloc(RSTI_COUNTER_EVENTS_MAX * sizeof *ring->events);
        if (ring->events == NULL) {
            ring->lost++;
            return;
        }
    }
    if (ring->tail - ring->head == RSTI_COUNTER_EVENTS_MAX) {
        ring->head++;
        ring->lost++;
    }
    ring->events[ring->tail++ % RSTI_COUNTER_EVENTS_MAX] = *event;
}

void rsti_client_on_counter(rst_client_t *client, int kind, int64_t registration_id,
    int32_t counter_id)
{
    const rst_counter_event_t event = {
        .kind = kind, .counter_id = counter_id, .registration_id = registration_id};
    push_event(client, &event);
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
    rsti_counter_events_t *ring = &client->counter_events;
    pthread_mutex_lock(&client->lock);
    const bool found = ring->head != ring->tail;
    if (found) {
        *event = ring->events[ring->head++ % RSTI_COUNTER_EVENTS_MAX];
    }
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

/* ---- any counter ---- */

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
