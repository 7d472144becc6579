/* commands.c: asking the driver for publications and subscriptions, and waiting for the answer. */
#include "client/channel_check.h"
#include "client/pending.h"
#include "util/error.h"
#include "util/int_math.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

/* ---- asking ---- */

static int64_t add(rst_client_t *client, const char *channel, int32_t stream_id,
    int32_t command_type, bool is_on_demand)
{
    int checked = rsti_client_check(client);
    if (checked == 0) {
        checked = rsti_client_check_channel(client, channel);
    }
    if (checked < 0) {
        return checked;
    }
    const size_t length = strlen(channel);
    rsti_pending_t *pending = rsti_pending_create(client,
        command_type == RSTI_CMD_ADD_SUBSCRIPTION ? RSTI_PENDING_SUBSCRIPTION
                                                  : RSTI_PENDING_PUBLICATION,
        channel, length, stream_id);
    if (pending == NULL) {
        return -RST_ENOMEM;
    }
    pending->is_on_demand = is_on_demand;
    const rsti_command_t command = {
        .type = command_type,
        .registration_id = -1,
        .stream_id = stream_id,
        .channel = {.text = pending->channel, .length = (int32_t)length},
    };
    return rsti_client_ask(client, pending, &command);
}

RST_API int64_t rst_client_add_publication(rst_client_t *client, const char *channel,
    int32_t stream_id, bool is_exclusive)
{
    return add(client, channel, stream_id,
        is_exclusive ? RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION : RSTI_CMD_ADD_PUBLICATION, false);
}

RST_API int64_t rst_client_add_subscription(rst_client_t *client, const char *channel,
    int32_t stream_id)
{
    return add(client, channel, stream_id, RSTI_CMD_ADD_SUBSCRIPTION, false);
}

RST_API int64_t rst_client_add_subscription_on_demand(rst_client_t *client, const char *channel,
    int32_t stream_id)
{
    return add(client, channel, stream_id, RSTI_CMD_ADD_SUBSCRIPTION, true);
}

/* ---- waiting for the answer ---- */

static void wait_answered(rst_client_t *client, int64_t until_ns)
{
    const struct timespec until = {
        .tv_sec = until_ns / RSTI_NS_PER_S, .tv_nsec = until_ns % RSTI_NS_PER_S};
    (void)pthread_cond_timedwait(&client->answered, &client->lock, &until);
}

/* Length of the driver's text without the channel at its end, with which the error begins. */
static int length_without_channel(const rsti_pending_t *pending)
{
    static const char marker[] = "; channel=";
    const char *text = pending->error_text;
    const char *end = strstr(text, marker);
    if (end != NULL) {
        const char *channel = end + strlen(marker); /* the text may be cut */
        if (strncmp(channel, pending->channel, strlen(channel)) == 0) {
            return (int)(end - text);
        }
    }
    return (int)strlen(text);
}

/* The driver refused or did not answer: report it once, then forget it. */
static int fail_once(rst_client_t *client, rsti_pending_t *pending)
{
    const int code = rsti_error_set(pending->error_code, pending->error_detail,
        "channel %s, stream %" PRId32 ": %.*s", pending->channel, pending->stream_id,
        length_without_channel(pending), pending->error_text);
    (void)rsti_hash_map_remove(&client->pending, pending->correlation_id);
    rsti_pending_free(pending);
    return code;
}

/* An operation makes no object, so nothing takes it out later. */
static void forget_operation(rst_client_t *client, rsti_pending_t *pending)
{
    if (pending->kind == RSTI_PENDING_OPERATION) {
        (void)rsti_hash_map_remove(&client->pending, pending->correlation_id);
        rsti_pending_free(pending);
    }
}

static int await_locked(rst_client_t *client, int64_t correlation_id, int64_t timeout_ns)
{
    int64_t now_ns = rsti_client_now_ns();
    const int64_t until_ns = rsti_saturating_add_i64(now_ns, rsti_max_i64(timeout_ns, 0));
    for (;;) {
        const int32_t state = rsti_client_state_now(client);
        if (state != RST_CLIENT_OPEN) {
            return rsti_client_state_error(client, state);
        }
        rsti_pending_t *pending = rsti_hash_map_get(&client->pending, correlation_id);
        if (pending == NULL || pending->state == RSTI_PENDING_CANCELLED) {
            return RST_SET_ERR(RST_EINVAL, "nothing is awaited under correlation id %" PRId64,
                correlation_id);
        }
        if (pending->state == RSTI_PENDING_READY) {
            forget_operation(client, pending);
            return 1;
        }
        if (pending->state == RSTI_PENDING_FAILED) {
            return fail_once(client, pending);
        }
        if (now_ns >= pending->deadline_ns) {
            const int code = RST_SET_ERR(RST_ETIMEDOUT,
                "channel %s, stream %" PRId32
                ": the media driver in %s did not answer within %" PRId64 " ms",
                pending->channel, pending->stream_id, client->dir,
                client->driver_timeout_ns / RSTI_NS_PER_MS);
            pending->state = RSTI_PENDING_CANCELLED; /* an answer that still comes is undone */
            return code;
        }
        if (now_ns >= until_ns) {
            return 0;
        }
        wait_answered(client, rsti_min_i64(until_ns, pending->deadline_ns));
        now_ns = rsti_client_now_ns();
    }
}

RST_API int rst_client_await(rst_client_t *client, int64_t correlation_id, int64_t timeout_ns)
{
    const int checked = rsti_client_check(client);
    if (checked < 0) {
        return checked;
    }
    pthread_mutex_lock(&client->lock);
    const int result = await_locked(client, correlation_id, timeout_ns);
    pthread_mutex_unlock(&client->lock);
    return result;
}

/* ---- taking what was made ---- */

RST_API rst_publication_t *rst_client_take_publication(rst_client_t *client, int64_t correlation_id)
{
    rsti_pending_t *pending = rsti_client_take(client, correlation_id, RSTI_PENDING_PUBLICATION);
    if (pending == NULL) {
        return NULL;
    }
    rst_publication_t *publication = pending->publication;
    pending->publication = NULL;
    rsti_pending_free(pending);
    return publication;
}

RST_API rst_subscription_t *rst_client_take_subscription(rst_client_t *client,
    int64_t correlation_id)
{
    rsti_pending_t *pending = rsti_client_take(client, correlation_id, RSTI_PENDING_SUBSCRIPTION);
    if (pending == NULL) {
        return NULL;
    }
    rst_subscription_t *subscription = pending->subscription;
    pending->subscription = NULL;
    rsti_pending_free(pending);
    return subscription;
}

RST_API void rst_client_cancel(rst_client_t *client, int64_t correlation_id)
{
    if (rsti_client_check(client) < 0) {
        return;
    }
    rst_publication_t *publication = NULL;
    rst_subscription_t *subscription = NULL;
    rst_user_counter_t *counter = NULL;
    pthread_mutex_lock(&client->lock);
    rsti_pending_t *pending = rsti_hash_map_get(&client->pending, correlation_id);
    if (pending != NULL && pending->state == RSTI_PENDING_SENT) {
        pending->state = RSTI_PENDING_CANCELLED;
    } else if (pending != NULL && pending->state != RSTI_PENDING_CANCELLED) {
        publication = pending->publication;
        subscription = pending->subscription;
        counter = pending->counter;
        pending->publication = NULL;
        pending->subscription = NULL;
        pending->counter = NULL;
        (void)rsti_hash_map_remove(&client->pending, correlation_id);
        rsti_pending_free(pending);
    }
    pthread_mutex_unlock(&client->lock);
    rst_publication_close(publication);
    rst_subscription_close(subscription);
    rst_user_counter_close(counter);
}
