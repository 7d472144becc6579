/* user_counter.c: see user_counter.h. */
#include "client/user_counter.h"

#include "client/send.h"
#include "util/alloc.h"
#include "util/error.h"

#include <inttypes.h>

/* ---- life ---- */

rst_user_counter_t *rsti_user_counter_create(rst_client_t *client,
    const rsti_user_counter_params_t *params)
{
    const int32_t counter_id = params->counter_id;
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
        .is_static = params->is_static,
        .client = client,
        .correlation_id = params->correlation_id,
        .registration_id = params->registration_id,
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

/* ---- value ---- */

/* NULL once the counter is not ours any more: the driver may have given it to another owner. */
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
