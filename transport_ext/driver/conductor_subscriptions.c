/* conductor_subscriptions.c: subscriptions, and what links them to logs (driver reference 6, memory
 * reference 15). */
#include "driver/internal.h"

#include "util/alloc.h"
#include "util/error.h"

#include <inttypes.h>
#include <stdio.h>

bool rsti_subscription_wants(const rsti_subscription_t *subscription, int32_t stream_id,
    int32_t session_id)
{
    return subscription->stream_id == stream_id
        && (!subscription->has_session || subscription->session_id == session_id);
}

/* Subscriber position counter of subscription on a log; *subscriber is filled. */
static int allocate_position(rst_driver_t *driver, rsti_subscription_t *subscription,
    int64_t image_id, int32_t session_id, int64_t join_position, rsti_subscriber_t *subscriber)
{
    const rsti_stream_counter_t counter = {
        .type_id = RSTI_COUNTER_SUBSCRIBER_POSITION,
        .name = "sub-pos",
        .registration_id = subscription->registration_id,
        .client_id = subscription->client_id,
        .reference_id = image_id,
        .session_id = session_id,
        .stream_id = subscription->stream_id,
        .uri = subscription->uri,
        .has_join_position = true,
        .value = join_position,
    };
    subscriber->subscription = subscription;
    subscriber->accepted = join_position;
    subscriber->counter_id =
        rsti_stream_counter_allocate(driver, &counter, &subscriber->position);
    return subscriber->counter_id < 0 ? -rst_last_error_code() : 0;
}

static int link_log(rst_driver_t *driver, rsti_subscribers_t *subscribers,
    rsti_subscription_t *subscription, int64_t image_id, int32_t session_id,
    int64_t join_position, const char *path, const char *source)
{
    rsti_subscriber_t subscriber;
    if (allocate_position(driver, subscription, image_id, session_id, join_position, &subscriber)
        < 0) {
        return -rst_last_error_code();
    }
    if (rsti_subscribers_add(subscribers, &subscriber) < 0) {
        rsti_counter_release(driver, &subscriber.counter_id);
        return -RST_ENOMEM;
    }
    rsti_respond_available(driver, image_id, session_id, subscription->stream_id, &subscriber,
        path, source);
    return 0;
}

int rsti_link_ipc(rst_driver_t *driver, rsti_ipc_publication_t *publication,
    rsti_subscription_t *subscription)
{
    rsti_publication_t *base = &publication->base;
    const int result = link_log(driver, &base->subscribers, subscription, base->registration_id,
        base->session_id, rsti_ipc_publication_join_position(publication), base->file.path,
        "aeron:ipc");
    rsti_ipc_publication_on_subscribers_changed(driver, publication);
    return result;
}

int rsti_link_image(rst_driver_t *driver, rsti_image_t *image, rsti_subscription_t *subscription)
{
    return link_log(driver, &image->subscribers, subscription, image->correlation_id,
        image->session_id, rsti_image_join_position(image), image->file.path, image->source);
}

void rsti_link_ipc_subscribers(rst_driver_t *driver, rsti_ipc_publication_t *publication)
{
    const rsti_ptr_array_t *subscriptions = &driver->conductor.subscriptions;
    for (size_t i = 0; i < subscriptions->count; i++) {
        rsti_subscription_t *subscription = subscriptions->items[i];
        if (subscription->is_ipc
            && rsti_subscription_wants(subscription, publication->base.stream_id,
                publication->base.session_id)
            && rsti_link_ipc(driver, publication, subscription) < 0) {
            rsti_driver_log_trail(driver, "conductor");
        }
    }
}

void rsti_subscribers_unlink(rst_driver_t *driver, rsti_subscribers_t *subscribers,
    const rsti_subscription_t *subscription)
{
    for (int32_t i = subscribers->count; i > 0; i--) {
        if (subscribers->items[i - 1].subscription == subscription) {
            rsti_counter_release(driver, &subscribers->items[i - 1].counter_id);
            rsti_subscribers_remove_at(subscribers, i - 1);
        }
    }
}

void rsti_subscribers_tell_unavailable(rst_driver_t *driver,
    const rsti_subscribers_t *subscribers, int64_t image_id)
{
    for (int32_t i = 0; i < subscribers->count; i++) {
        rsti_respond_unavailable(driver, image_id, subscribers->items[i].subscription);
    }
}

void rsti_subscribers_clear(rst_driver_t *driver, rsti_subscribers_t *subscribers)
{
    for (int32_t i = 0; i < subscribers->count; i++) {
        rsti_counter_release(driver, &subscribers->items[i].counter_id);
    }
    rsti_subscribers_fini(subscribers);
}

void rsti_subscribers_tell_refused(rst_driver_t *driver, const rsti_subscribers_t *subscribers)
{
    for (int32_t i = 0; i < subscribers->count; i++) {
        rsti_subscriber_t *subscriber = &subscribers->items[i];
        if (subscriber->is_refused && !subscriber->is_told) {
            const rsti_subscription_t *subscription = subscriber->subscription;
            (void)RST_SET_ERR(RST_ECORRUPT, "%s stream %" PRId32 ": counter %" PRId32
                " holds an impossible position, %" PRId64 " is taken instead", subscription->uri,
                subscription->stream_id, subscriber->counter_id, subscriber->accepted);
            rsti_driver_log_trail(driver, "conductor");
            subscriber->is_told = true;
        }
    }
}

static void free_subscription(rsti_subscription_t *subscription)
{
    rsti_free(subscription->uri);
    rsti_free(subscription->name);
    rsti_free(subscription);
}

static rsti_subscription_t *make_subscription(rst_driver_t *driver,
    const rsti_channel_t *channel, const rsti_command_t *command)
{
    const rst_driver_params_t *params = &driver->params;
    rsti_subscription_t *made = rsti_alloc(sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    made->registration_id = command->correlation_id;
    made->client_id = command->client_id;
    made->stream_id = command->stream_id;
    made->is_ipc = channel->media == RSTI_MEDIA_IPC;
    made->has_session = channel->session_id != RSTI_CHANNEL_UNSET;
    made->session_id = made->has_session ? (int32_t)channel->session_id : 0;
    made->is_reliable = channel->is_reliable_set ? channel->reliable : params->reliable != 0;
    made->is_rejoin = channel->rejoin;
    made->is_sparse = channel->is_sparse_set ? channel->sparse : params->sparse != 0;
    made->group = channel->group;
    made->nak_delay_ns = channel->nak_delay_ns == RSTI_CHANNEL_UNSET
        ? params->nak_delay_ns
        : rsti_max_i64(channel->nak_delay_ns, 1);
    made->window = (int32_t)(channel->receiver_window == RSTI_CHANNEL_UNSET
            ? params->initial_window
            : channel->receiver_window);
    snprintf(made->cc, sizeof made->cc, "%s", channel->cc);
    made->uri = rsti_strndup(channel->uri, channel->uri_length);
    made->uri_length = channel->uri_length;
    made->name = rsti_strndup(channel->name, strlen(channel->name));
    if (made->uri == NULL || made->name == NULL
        || rsti_ptr_array_add(&driver->conductor.subscriptions, made) < 0) {
        free_subscription(made);
        return NULL;
    }
    return made;
}

static int check_conflict(rst_driver_t *driver, const rsti_subscription_t *made,
    const rsti_receive_endpoint_t *endpoint)
{
    const rsti_ptr_array_t *subscriptions = &driver->conductor.subscriptions;
    for (size_t i = 0; i < subscriptions->count; i++) {
        const rsti_subscription_t *other = subscriptions->items[i];
        if (other == made || other->endpoint != endpoint || other->stream_id != made->stream_id
            || other->has_session != made->has_session
            || other->session_id != made->session_id) {
            continue;
        }
        if (other->is_reliable != made->is_reliable || other->is_rejoin != made->is_rejoin) {
            return RST_SET_ERR(RST_ECHANNEL, "channel %s: %s= differs from that of %s, which is on "
                "the same socket and stream id %" PRId32, made->uri,
                other->is_reliable != made->is_reliable ? "reliable" : "rejoin", other->uri,
                made->stream_id);
        }
    }
    return 0;
}

static int add_interest(rst_driver_t *driver, rsti_subscription_t *subscription,
    rsti_receive_endpoint_t *endpoint)
{
    rsti_interest_t *interest = rsti_alloc(sizeof *interest);
    if (interest == NULL) {
        return -RST_ENOMEM;
    }
    interest->registration_id = subscription->registration_id;
    interest->stream_id = subscription->stream_id;
    interest->has_session = subscription->has_session;
    interest->session_id = subscription->session_id;
    subscription->endpoint = endpoint;
    endpoint->subscription_count++;
    const rsti_agent_command_t command = {.endpoint = endpoint, .object = interest};
    rsti_tell_receiver(driver, RSTI_AGENT_ADD_INTEREST, &command);
    return 0;
}

static void respond_ready(rst_driver_t *driver, const rsti_command_t *command,
    int32_t channel_status_id)
{
    const rsti_response_t response = {
        .type = RSTI_RSP_SUBSCRIPTION_READY,
        .correlation_id = command->correlation_id,
        .channel_status_id = channel_status_id,
    };
    rsti_respond(driver, &response);
}

static void link_existing(rst_driver_t *driver, rsti_subscription_t *subscription)
{
    const rsti_conductor_t *conductor = &driver->conductor;
    for (size_t i = 0; subscription->is_ipc && i < conductor->ipc_publications.count; i++) {
        rsti_ipc_publication_t *publication = conductor->ipc_publications.items[i];
        if (rsti_subscription_wants(subscription, publication->base.stream_id,
                publication->base.session_id)
            && rsti_ipc_publication_accepts(publication)
            && rsti_link_ipc(driver, publication, subscription) < 0) {
            rsti_driver_log_trail(driver, "conductor");
        }
    }
    for (size_t i = 0; !subscription->is_ipc && i < conductor->images.count; i++) {
        rsti_image_t *image = conductor->images.items[i];
        if (image->endpoint == subscription->endpoint
            && rsti_subscription_wants(subscription, image->stream_id, image->session_id)
            && rsti_image_accepts(image)
            && rsti_link_image(driver, image, subscription) < 0) {
            rsti_driver_log_trail(driver, "conductor");
        }
    }
}

/* 1 added, 0 try again, negative with a trail. */
static int add_subscription(rst_driver_t *driver, const rsti_command_t *command)
{
    rsti_channel_t *channel = &driver->conductor.channel;
    rsti_receive_endpoint_t *endpoint = NULL;
    if (rsti_client_get(driver, command->client_id) == NULL
        || rsti_channel_parse(channel, command->channel.text, (size_t)command->channel.length) < 0
        || rsti_channel_check_supported(channel, false) < 0) {
        return -rst_last_error_code();
    }
    if (channel->media == RSTI_MEDIA_UDP) {
        bool is_closing = false;
        if (rsti_receive_endpoint_get(driver, channel, command, &endpoint, &is_closing) < 0) {
            return -rst_last_error_code();
        }
        if (is_closing) {
            return 0;
        }
    } else if (rsti_channel_check_name(driver, channel, command->stream_id) < 0) {
        return -rst_last_error_code();
    }
    rsti_subscription_t *subscription = make_subscription(driver, channel, command);
    if (subscription == NULL
        || (endpoint != NULL
            && (check_conflict(driver, subscription, endpoint) < 0
                || add_interest(driver, subscription, endpoint) < 0))) {
        const int result = -rst_last_error_code();
        if (subscription != NULL) {
            rsti_ptr_array_remove(&driver->conductor.subscriptions, subscription);
            free_subscription(subscription);
        }
        if (endpoint != NULL) {
            rsti_receive_endpoint_put(driver, endpoint);
        }
        return result;
    }
    respond_ready(driver, command,
        endpoint == NULL ? RSTI_NULL_COUNTER : endpoint->channel_status_id);
    link_existing(driver, subscription);
    return 1;
}

bool rsti_on_add_subscription(rst_driver_t *driver, const rsti_command_t *command)
{
    const int result = add_subscription(driver, command);
    if (result < 0) {
        rsti_respond_trail(driver, command->correlation_id);
    }
    return result == 0;
}

void rsti_subscription_remove(rst_driver_t *driver, rsti_subscription_t *subscription)
{
    rsti_conductor_t *conductor = &driver->conductor;
    for (size_t i = 0; i < conductor->ipc_publications.count; i++) {
        rsti_ipc_publication_t *publication = conductor->ipc_publications.items[i];
        /* What it has consumed up to now is where the next reader begins. */
        rsti_ipc_publication_update(driver, publication, conductor->now_ns);
        rsti_subscribers_unlink(driver, &publication->base.subscribers, subscription);
        rsti_ipc_publication_on_subscribers_changed(driver, publication);
    }
    for (size_t i = 0; i < conductor->images.count; i++) {
        rsti_image_t *image = conductor->images.items[i];
        rsti_image_note_consumed(driver, image);
        rsti_subscribers_unlink(driver, &image->subscribers, subscription);
    }
    rsti_ptr_array_remove(&conductor->subscriptions, subscription);
    rsti_receive_endpoint_t *endpoint = subscription->endpoint;
    if (endpoint != NULL) {
        const rsti_agent_command_t command = {
            .endpoint = endpoint,
            .registration_id = subscription->registration_id,
        };
        rsti_tell_receiver(driver, RSTI_AGENT_REMOVE_INTEREST, &command);
        endpoint->subscription_count--;
        rsti_receive_endpoint_put(driver, endpoint);
    }
    free_subscription(subscription);
}

void rsti_on_remove_subscription(rst_driver_t *driver, const rsti_command_t *command)
{
    const rsti_ptr_array_t *subscriptions = &driver->conductor.subscriptions;
    for (size_t i = 0; i < subscriptions->count; i++) {
        rsti_subscription_t *subscription = subscriptions->items[i];
        if (subscription->registration_id == command->registration_id
            && subscription->client_id == command->client_id) {
            rsti_subscription_remove(driver, subscription);
            rsti_respond_ok(driver, command->correlation_id);
            return;
        }
    }
    char text[96];
    snprintf(text, sizeof text, "unknown subscription, registration id %" PRId64,
        command->registration_id);
    rsti_respond_error(driver, command->correlation_id, RSTI_DRIVER_UNKNOWN_SUBSCRIPTION, text);
}
