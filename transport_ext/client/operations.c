/* operations.c: commands that make no handle: destinations, rates, rejecting an image, session ids.
 * Each carries a client id and a correlation id, so the driver answers each. */
#include "client/channel_check.h"
#include "client/image.h"
#include "client/pending.h"
#include "client/publication.h"
#include "client/subscription.h"
#include "util/error.h"
#include "util/rng.h"

#include <inttypes.h>

#define REASON_LENGTH_MAX 1023
#define RATE_LENGTH_MAX 255
#define SESSION_ID_PROTOCOL_VERSION 65536 /* 1.0.0: the first version with the command */

/* ---- destinations ---- */

static int64_t ask_destination(rst_client_t *client, int32_t type, int64_t registration_id,
    int32_t stream_id, const char *uri)
{
    const int checked = rsti_client_check_channel(client, uri);
    if (checked < 0) {
        return checked;
    }
    const size_t length = strlen(uri);
    rsti_pending_t *pending = rsti_pending_create(client, RSTI_PENDING_OPERATION, uri, length,
        stream_id);
    if (pending == NULL) {
        return -RST_ENOMEM;
    }
    const rsti_command_t command = {
        .type = type,
        .registration_id = registration_id,
        .channel = {.text = pending->channel, .length = (int32_t)length},
    };
    return rsti_client_ask(client, pending, &command);
}

static int check_publication(const rst_publication_t *publication)
{
    if (publication == NULL) {
        return RST_SET_ERR(RST_EINVAL, "publication is NULL");
    }
    const int checked = rsti_client_check(publication->client);
    if (checked < 0) {
        return checked;
    }
    return rsti_load_acquire_i32(&publication->is_closed) == 0
        ? 0
        : RST_SET_ERR(RST_ECLOSED, "publication to channel %s, stream %" PRId32 " is closed",
              publication->channel, publication->appender.stream_id);
}

static int check_subscription(const rst_subscription_t *subscription)
{
    if (subscription == NULL) {
        return RST_SET_ERR(RST_EINVAL, "subscription is NULL");
    }
    const int checked = rsti_client_check(subscription->client);
    if (checked < 0) {
        return checked;
    }
    return rsti_load_acquire_i32(&subscription->is_closed) == 0
        ? 0
        : RST_SET_ERR(RST_ECLOSED, "subscription to channel %s, stream %" PRId32 " is closed",
              subscription->channel, subscription->stream_id);
}

static int64_t ask_of_publication(rst_publication_t *publication, int32_t type, const char *uri)
{
    const int checked = check_publication(publication);
    /* The driver knows the publication by its own id, not by the ids of the handles that share
     * it. */
    return checked < 0 ? checked
                       : ask_destination(publication->client, type, publication->registration_id,
                             publication->appender.stream_id, uri);
}

RST_API int64_t rst_publication_add_destination(rst_publication_t *publication, const char *uri)
{
    return ask_of_publication(publication, RSTI_CMD_ADD_DESTINATION, uri);
}

RST_API int64_t rst_publication_remove_destination(rst_publication_t *publication, const char *uri)
{
    return ask_of_publication(publication, RSTI_CMD_REMOVE_DESTINATION, uri);
}

/* ---- rate ---- */

RST_API int64_t rst_publication_set_rate(rst_publication_t *publication, const char *rate)
{
    const int checked = check_publication(publication);
    const size_t length = rate != NULL ? strlen(rate) : 0;
    if (checked < 0) {
        return checked;
    }
    if (length == 0 || length > RATE_LENGTH_MAX) {
        return RST_SET_ERR(RST_EINVAL, "rate of %zu bytes: must be 1 to %d bytes long", length,
            RATE_LENGTH_MAX);
    }
    if (!publication->is_rstream) {
        return RST_SET_ERR(RST_ENOTSUP,
            "rate=%s of channel %s, stream %" PRId32 ": an Aeron driver"
            " has no rates, use rstream's own",
            rate, publication->channel, publication->appender.stream_id);
    }
    rsti_pending_t *pending = rsti_pending_create(publication->client, RSTI_PENDING_OPERATION, rate,
        length, publication->appender.stream_id);
    if (pending == NULL) {
        return -RST_ENOMEM;
    }
    const rsti_command_t command = {
        .type = RSTI_CMD_SET_RATE,
        .registration_id = publication->registration_id,
        .channel = {.text = pending->channel, .length = (int32_t)length},
    };
    return rsti_client_ask(publication->client, pending, &command);
}

static int64_t ask_by_id(rst_client_t *client, int64_t registration_id, int64_t destination_id,
    const char *channel, int32_t stream_id)
{
    rsti_pending_t *pending = rsti_pending_create(client, RSTI_PENDING_OPERATION, channel,
        strlen(channel), stream_id);
    if (pending == NULL) {
        return -RST_ENOMEM;
    }
    const rsti_command_t command = {
        .type = RSTI_CMD_REMOVE_DESTINATION_BY_ID,
        .registration_id = registration_id,
        .destination_id = destination_id,
    };
    return rsti_client_ask(client, pending, &command);
}

RST_API int64_t rst_publication_remove_destination_by_id(rst_publication_t *publication,
    int64_t destination_id)
{
    const int checked = check_publication(publication);
    return checked < 0 ? checked
                       : ask_by_id(publication->client, publication->registration_id,
                             destination_id, publication->channel, publication->appender.stream_id);
}

RST_API int64_t rst_subscription_remove_destination_by_id(rst_subscription_t *subscription,
    int64_t destination_id)
{
    const int checked = check_subscription(subscription);
    return checked < 0 ? checked
                       : ask_by_id(subscription->client, subscription->registration_id,
                             destination_id, subscription->channel, subscription->stream_id);
}

static int64_t ask_of_subscription(rst_subscription_t *subscription, int32_t type, const char *uri)
{
    const int checked = check_subscription(subscription);
    return checked < 0 ? checked
                       : ask_destination(subscription->client, type, subscription->registration_id,
                             subscription->stream_id, uri);
}

RST_API int64_t rst_subscription_add_destination(rst_subscription_t *subscription, const char *uri)
{
    return ask_of_subscription(subscription, RSTI_CMD_ADD_RCV_DESTINATION, uri);
}

RST_API int64_t rst_subscription_remove_destination(rst_subscription_t *subscription,
    const char *uri)
{
    return ask_of_subscription(subscription, RSTI_CMD_REMOVE_RCV_DESTINATION, uri);
}

/* ---- rejecting ---- */

/* The position up to which the image is consumed. -1: there is no such image. */
static int64_t image_position(rst_subscription_t *subscription, int64_t correlation_id)
{
    int64_t position = -1;
    pthread_mutex_lock(&subscription->lock);
    for (size_t i = 0; i < subscription->images.count; i++) {
        const rst_image_t *image = subscription->images.items[i];
        if (image->correlation_id == correlation_id) {
            position = image->released_position;
        }
    }
    pthread_mutex_unlock(&subscription->lock);
    return position;
}

static int64_t tell(rst_subscription_t *subscription, int32_t type, int64_t image_correlation_id,
    const char *reason)
{
    const int checked = check_subscription(subscription);
    if (checked < 0) {
        return checked;
    }
    const size_t length = reason != NULL ? strlen(reason) : 0;
    if (length > REASON_LENGTH_MAX) {
        return RST_SET_ERR(RST_ETOOLARGE, "reason of %zu bytes: at most %d are sent", length,
            REASON_LENGTH_MAX);
    }
    const int64_t position = image_position(subscription, image_correlation_id);
    if (position < 0) {
        return RST_SET_ERR(RST_EINVAL,
            "image %" PRId64 " is not one of channel %s, stream %" PRId32, image_correlation_id,
            subscription->channel, subscription->stream_id);
    }
    rsti_pending_t *pending = rsti_pending_create(subscription->client, RSTI_PENDING_OPERATION,
        subscription->channel, strlen(subscription->channel), subscription->stream_id);
    if (pending == NULL) {
        return -RST_ENOMEM;
    }
    const rsti_command_t command = {
        .type = type,
        .registration_id = image_correlation_id,
        .position = position,
        .channel = {.text = reason, .length = (int32_t)length},
    };
    return rsti_client_ask(subscription->client, pending, &command);
}

RST_API int64_t rst_subscription_reject_image(rst_subscription_t *subscription,
    int64_t image_correlation_id, const char *reason)
{
    return tell(subscription, RSTI_CMD_REJECT_IMAGE, image_correlation_id, reason);
}

RST_API int64_t rst_subscription_say_why(rst_subscription_t *subscription,
    int64_t image_correlation_id, const char *reason)
{
    return tell(subscription, RSTI_CMD_SAY_WHY, image_correlation_id, reason);
}

/* ---- session ids ---- */

static bool knows_session_ids(const rst_client_t *client)
{
    rst_counter_t counter;
    return rst_client_read_counter(client, RSTI_SYSTEM_CONTROL_PROTOCOL_VERSION, &counter) == 1
        && counter.type_id == RSTI_COUNTER_SYSTEM && counter.value >= SESSION_ID_PROTOCOL_VERSION;
}

static int64_t choose_session_id(rst_client_t *client, rsti_pending_t *pending)
{
    pending->session_id = (int32_t)(uint32_t)rsti_rng_entropy();
    pending->state = RSTI_PENDING_READY;
    pthread_mutex_lock(&client->lock);
    const int32_t state = rsti_client_state_now(client);
    int64_t result = rsti_client_state_error(client, state);
    if (state == RST_CLIENT_OPEN) {
        result = rsti_pending_register(client, pending);
    }
    pthread_mutex_unlock(&client->lock);
    if (result < 0) {
        rsti_pending_free(pending);
    }
    return result;
}

RST_API int64_t rst_client_next_session_id(rst_client_t *client, int32_t stream_id)
{
    const int checked = rsti_client_check(client);
    if (checked < 0) {
        return checked;
    }
    rsti_pending_t *pending = rsti_pending_create(client, RSTI_PENDING_SESSION_ID, "any", 3,
        stream_id);
    if (pending == NULL) {
        return -RST_ENOMEM;
    }
    if (!knows_session_ids(client)) {
        return choose_session_id(client, pending);
    }
    const rsti_command_t command = {.type = RSTI_CMD_NEXT_SESSION_ID, .stream_id = stream_id};
    return rsti_client_ask(client, pending, &command);
}

RST_API int rst_client_take_session_id(rst_client_t *client, int64_t correlation_id,
    int32_t *session_id)
{
    if (session_id == NULL) {
        return RST_SET_ERR(RST_EINVAL, "session_id is NULL");
    }
    rsti_pending_t *pending = rsti_client_take(client, correlation_id, RSTI_PENDING_SESSION_ID);
    if (pending == NULL) {
        return -rst_last_error_code();
    }
    *session_id = pending->session_id;
    rsti_pending_free(pending);
    return 0;
}
