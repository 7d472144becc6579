/* pending.c: see pending.h. */
#include "client/pending.h"

#include "client/publication.h"
#include "client/send.h"
#include "client/subscription.h"
#include "client/user_counter.h"
#include "util/alloc.h"
#include "util/error.h"

#include <inttypes.h>
#include <string.h>

/* ---- life ---- */

rsti_pending_t *rsti_pending_create(const rst_client_t *client, rsti_pending_kind_t kind,
    const char *text, size_t text_length, int32_t stream_id)
{
    rsti_pending_t *pending = rsti_alloc(sizeof *pending);
    if (pending == NULL) {
        return NULL;
    }
    pending->channel = rsti_strndup(text, text_length);
    if (pending->channel == NULL) {
        rsti_free(pending);
        return NULL;
    }
    pending->kind = kind;
    pending->stream_id = stream_id;
    pending->deadline_ns = rsti_saturating_add_i64(rsti_client_now_ns(),
        rsti_max_i64(client->driver_timeout_ns, RSTI_NS_PER_S));
    return pending;
}

void rsti_pending_free(rsti_pending_t *pending)
{
    if (pending->publication != NULL) {
        rsti_publication_unref(pending->publication);
    }
    if (pending->subscription != NULL) {
        rsti_subscription_unref(pending->subscription);
    }
    if (pending->counter != NULL) {
        rsti_user_counter_unref(pending->counter);
    }
    rsti_free(pending->channel);
    rsti_free(pending);
}

/* ---- asking ---- */

int64_t rsti_pending_register(rst_client_t *client, rsti_pending_t *pending)
{
    const int64_t id = rsti_mpsc_rb_next_correlation_id(&client->to_driver);
    /* Every process with access to the directory can write this counter. */
    if (id <= 0 || rsti_hash_map_get(&client->pending, id) != NULL) {
        return RST_SET_ERR(RST_ECORRUPT,
            "media driver in %s: the counter of correlation ids in cnc.dat has the value %" PRId64
            ", which is %s; another process wrote it: start the driver anew",
            client->dir, id, id <= 0 ? "not positive" : "in use");
    }
    const int result = rsti_hash_map_put(&client->pending, id, pending);
    pending->correlation_id = id;
    return result < 0 ? result : id;
}

static int64_t ask_locked(rst_client_t *client, rsti_pending_t *pending,
    const rsti_command_t *command)
{
    const int32_t state = rsti_client_state_now(client);
    if (state != RST_CLIENT_OPEN) {
        return rsti_client_state_error(client, state);
    }
    const int64_t id = rsti_pending_register(client, pending);
    if (id < 0) {
        return id;
    }
    rsti_command_t sent = *command;
    sent.correlation_id = id;
    const int result = rsti_client_send(client, &sent);
    if (result < 0) {
        (void)rsti_hash_map_remove(&client->pending, id);
        return result;
    }
    const int32_t count = rsti_load_relaxed_i32(&client->pending_count);
    rsti_store_release_i32(&client->pending_count, count + 1);
    if (count == 0 || client->outbox.count > 0) {
        /* the conductor looks more often while an answer is awaited */
        rsti_client_kick_conductor(client);
    }
    return id;
}

int64_t rsti_client_ask(rst_client_t *client, rsti_pending_t *pending,
    const rsti_command_t *command)
{
    pthread_mutex_lock(&client->lock);
    const int64_t result = ask_locked(client, pending, command);
    pthread_mutex_unlock(&client->lock);
    if (result < 0) {
        rsti_pending_free(pending);
    }
    return result;
}

/* ---- the answer ---- */

void rsti_pending_finish(rst_client_t *client, rsti_pending_t *pending, rsti_pending_state_t state)
{
    pending->state = state;
    rsti_store_release_i32(&client->pending_count,
        rsti_load_relaxed_i32(&client->pending_count) - 1);
    (void)pthread_cond_broadcast(&client->answered);
}

void rsti_pending_fail(rst_client_t *client, rsti_pending_t *pending, int code, int detail,
    const char *text, size_t length)
{
    pending->error_code = code;
    pending->error_detail = detail;
    if (length >= sizeof pending->error_text) {
        length = sizeof pending->error_text - 1;
    }
    memcpy(pending->error_text, text, length);
    pending->error_text[length] = '\0';
    rsti_pending_finish(client, pending, RSTI_PENDING_FAILED);
}

static rsti_pending_t *take_ready(rst_client_t *client, int64_t correlation_id,
    rsti_pending_kind_t kind)
{
    rsti_pending_t *pending = rsti_hash_map_get(&client->pending, correlation_id);
    if (pending == NULL || pending->state != RSTI_PENDING_READY || pending->kind != kind) {
        return NULL;
    }
    (void)rsti_hash_map_remove(&client->pending, correlation_id);
    return pending;
}

rsti_pending_t *rsti_client_take(rst_client_t *client, int64_t correlation_id,
    rsti_pending_kind_t kind)
{
    if (rsti_client_check(client) < 0) {
        return NULL;
    }
    pthread_mutex_lock(&client->lock);
    rsti_pending_t *pending = take_ready(client, correlation_id, kind);
    pthread_mutex_unlock(&client->lock);
    if (pending == NULL) {
        (void)RST_SET_ERR(RST_EINVAL, "nothing is ready under correlation id %" PRId64,
            correlation_id);
    }
    return pending;
}
