/* response_channels.c: see response_channels.h. */
#include "driver/conductor/response_channels.h"

#include "driver/base/driver_state.h"
#include "driver/base/proxies.h"
#include "driver/conductor/channels.h"
#include "driver/conductor/links.h"
#include "driver/conductor/subscriptions.h"
#include "util/error.h"

#include <inttypes.h>

static rsti_subscription_t *find_subscription(rst_driver_t *driver, int64_t registration_id,
    bool is_ipc)
{
    const rsti_ptr_array_t *subscriptions = &driver->conductor->subscriptions;
    for (size_t i = 0; i < subscriptions->count; i++) {
        rsti_subscription_t *subscription = subscriptions->items[i];
        if (subscription->registration_id == registration_id && subscription->is_response
            && !subscription->is_spy && subscription->is_ipc == is_ipc) {
            return subscription;
        }
    }
    return NULL;
}

static bool is_image(const rst_driver_t *driver, int64_t correlation_id)
{
    const rsti_ptr_array_t *images = &driver->conductor->images;
    for (size_t i = 0; i < images->count; i++) {
        if (((const rsti_image_t *)images->items[i])->correlation_id == correlation_id) {
            return true;
        }
    }
    return false;
}

static rsti_image_t *find_image(rst_driver_t *driver, int64_t correlation_id)
{
    const rsti_ptr_array_t *images = &driver->conductor->images;
    for (size_t i = 0; i < images->count; i++) {
        rsti_image_t *image = images->items[i];
        if (image->correlation_id == correlation_id && image->wants_responses) {
            return image;
        }
    }
    return NULL;
}

/* The subscription for the responses to an IPC publication of requests. */
static rsti_subscription_t *find_ipc_asker(rst_driver_t *driver, int64_t registration_id)
{
    const rsti_ptr_array_t *publications = &driver->conductor->ipc_publications;
    for (size_t i = 0; i < publications->count; i++) {
        const rsti_publication_t *publication = publications->items[i];
        if (publication->registration_id == registration_id && !publication->is_response) {
            return find_subscription(driver, publication->response_correlation_id, true);
        }
    }
    return NULL;
}

int rsti_response_check_publication(rst_driver_t *driver, const rsti_channel_t *channel)
{
    const int64_t id = rsti_response_id_of(channel);
    const bool is_response = channel->control_mode == RSTI_CONTROL_RESPONSE;
    const bool is_ipc = channel->media == RSTI_MEDIA_IPC;
    if (is_response && id == RSTI_NO_RESPONSE_ID) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel \"%s\": control-mode=response was specified, but no response-correlation-id "
            "set: it is the id of the image of the requests",
            channel->uri);
    }
    if (is_response && !is_ipc && channel->control[0] == '\0') {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel \"%s\": control-mode=response needs"
            " control=host:port",
            channel->uri);
    }
    if (id < 0) {
        return 0;
    }
    const bool is_there = !is_response ? find_subscription(driver, id, is_ipc) != NULL
        : is_ipc                       ? find_ipc_asker(driver, id) != NULL
                                       : find_image(driver, id) != NULL;
    if (is_there) {
        return 0;
    }
    if (!is_response) {
        return RST_SET_ERR(RST_ECHANNEL,
            "unable to find response subscription for response-correlation-id=%" PRId64
            ": there is no subscription with control-mode=response and that id",
            id);
    }
    return RST_SET_ERR(RST_ECHANNEL,
        "channel parameter response-correlation-id=%" PRId64 ": image.correlationId=%" PRId64 " %s",
        id, id,
        !is_ipc && is_image(driver, id)
            ? "did not request a response channel: its publisher has no response-correlation-id"
            : "not found: there is no image whose publisher waits for responses with that id");
}

void rsti_response_on_publication(rst_driver_t *driver, rsti_publication_t *publication)
{
    if (!publication->is_response || publication->response_correlation_id < 0) {
        return;
    }
    if (!publication->is_network) {
        rsti_subscription_t *asker = find_ipc_asker(driver, publication->response_correlation_id);
        if (asker != NULL) {
            asker->has_session = true;
            asker->session_id = publication->session_id;
        }
        return;
    }
    rsti_image_t *image = find_image(driver, publication->response_correlation_id);
    if (image != NULL) {
        rsti_network_publication_t *network = (rsti_network_publication_t *)(void *)publication;
        network->answered_image_id = image->correlation_id;
        rsti_store_release_i64(&image->response_session, publication->session_id);
        rsti_driver_wake_agent(driver, RSTI_AGENT_RECEIVER);
    }
}

void rsti_response_settle(rst_driver_t *driver, rsti_network_publication_t *publication)
{
    rsti_image_t *image = find_image(driver, publication->answered_image_id);
    publication->answered_image_id = RSTI_NO_RESPONSE_ID;
    if (image != NULL
        && rsti_load_relaxed_i64(&image->response_session) == publication->base.session_id) {
        rsti_store_release_i64(&image->response_session, RSTI_NO_SESSION);
    }
}

/* Any host can send response set-ups, so a subscription that has an active image ignores them. */
static bool has_image(const rst_driver_t *driver, const rsti_subscription_t *subscription)
{
    const rsti_ptr_array_t *images = &driver->conductor->images;
    for (size_t i = 0; i < images->count; i++) {
        const rsti_image_t *image = images->items[i];
        for (int32_t k = 0; image->life == RSTI_LIFE_ACTIVE && k < image->subscribers.count; k++) {
            if (image->subscribers.items[k].subscription == subscription) {
                return true;
            }
        }
    }
    return false;
}

void rsti_on_response_setup(rst_driver_t *driver, const rsti_agent_command_t *command)
{
    rsti_subscription_t *subscription = find_subscription(driver, command->registration_id, false);
    if (subscription == NULL || (subscription->has_session && has_image(driver, subscription))) {
        return;
    }
    if (subscription->has_session && subscription->session_id == command->session_id) {
        /* The session was sent again, so the responder has not heard from us: our request for a
         * SETUP was lost. */
        const rsti_agent_command_t elicit = {
            .endpoint = subscription->endpoint,
            .stream_id = subscription->stream_id,
            .session_id = subscription->session_id,
        };
        rsti_tell_receiver(driver, RSTI_AGENT_ELICIT, &elicit);
        return;
    }
    if (subscription->has_session) {
        const rsti_agent_command_t remove = {
            .endpoint = subscription->endpoint,
            .registration_id = subscription->registration_id,
        };
        rsti_tell_receiver(driver, RSTI_AGENT_REMOVE_INTEREST, &remove);
    }
    subscription->has_session = true;
    subscription->session_id = command->session_id;
    if (rsti_subscription_add_interest(driver, subscription) < 0) {
        rsti_driver_log_trail(driver, "conductor");
        subscription->has_session = false;
        return;
    }
    rsti_link_existing(driver, subscription);
}
