/* images.c: see images.h. */
#include "driver/conductor/images.h"

#include "driver/base/driver_state.h"
#include "driver/base/proxies.h"
#include "driver/base/reader_left.h"
#include "driver/conductor/image.h"
#include "driver/conductor/image_congestion.h"
#include "driver/conductor/image_create.h"
#include "driver/conductor/image_limits.h"
#include "driver/conductor/image_overrun.h"
#include "driver/conductor/ipc_publication.h"
#include "driver/conductor/links.h"
#include "driver/conductor/responses.h"
#include "driver/conductor/subscription.h"
#include "util/alloc.h"
#include "util/error.h"

#include <inttypes.h>
#include <stdio.h>

#define IMAGE_ERROR_INTERVAL_NS RSTI_NS_PER_S

static bool is_match(const rsti_subscription_t *subscription, const rsti_agent_command_t *command)
{
    return subscription->endpoint == command->endpoint && !rsti_is_evicted(subscription)
        && rsti_subscription_wants(subscription, command->stream_id, command->session_id);
}

static rsti_subscription_t *first_match(const rst_driver_t *driver,
    const rsti_agent_command_t *command)
{
    const rsti_ptr_array_t *subscriptions = &driver->conductor->subscriptions;
    for (size_t i = 0; i < subscriptions->count; i++) {
        if (is_match(subscriptions->items[i], command)) {
            return subscriptions->items[i];
        }
    }
    return NULL;
}

/* The sender's datagrams and the receiver window must fit into the buffer of the socket
 * (docs/reference/aeron/wire.md 4.2). */
static int check_fit(const rsti_receive_transport_t *transport, const rsti_setup_t *setup,
    const rsti_subscription_t *subscription)
{
    const int32_t buffer = transport->granted_rcvbuf;
    if (setup->mtu <= RSTI_DATA_HEADER_LENGTH) {
        return RST_SET_ERR(RST_ECHANNEL,
            "session %" PRId32 " stream %" PRId32 ": the sender's mtu=%" PRId32
            " leaves no room for data after the header",
            setup->session_id, setup->stream_id, setup->mtu);
    }
    if (setup->mtu > subscription->window) {
        return RST_SET_ERR(RST_ECHANNEL,
            "session %" PRId32 " stream %" PRId32 " of %s: rcv-wnd=%" PRId32
            " cannot be less than mtu=%" PRId32 " of the sender",
            setup->session_id, setup->stream_id, subscription->uri, subscription->window,
            setup->mtu);
    }
    const bool is_window_too_long = subscription->window > buffer
        && !rsti_subscription_bounds_window(subscription);
    if (buffer > 0 && (setup->mtu > buffer || is_window_too_long)) {
        return RST_SET_ERR(RST_ECHANNEL,
            "session %" PRId32 " stream %" PRId32 ": mtu=%" PRId32 " and rcv-wnd=%" PRId32
            " of %s must not be longer than the socket's receive buffer of"
            " %" PRId32 " bytes: raise so-rcvbuf and net.core.rmem_max",
            setup->session_id, setup->stream_id, setup->mtu, subscription->window,
            subscription->uri, buffer);
    }
    return 0;
}

/* old: the image that it replaces, which has proved its source and gives its place up; or NULL.
 * Returns 1: made, 0: no subscription wants it any more, or a negative error code with a trail. */
static int make_image(rst_driver_t *driver, const rsti_agent_command_t *command,
    const rsti_image_t *old, rsti_image_t **image)
{
    rsti_conductor_t *conductor = driver->conductor;
    rsti_receive_endpoint_t *endpoint = command->endpoint;
    rsti_receive_transport_t *transport = command->object;
    rsti_subscription_t *subscription = first_match(driver, command);
    if (endpoint->is_closing || transport->is_closing || subscription == NULL) {
        return 0; /* no subscription matches any more */
    }
    const rsti_image_facts_t facts = {
        .endpoint = endpoint,
        .setup = &command->setup,
        .transport = transport,
        .source = &command->address,
        .is_proven = command->is_proven,
        .subscription = subscription,
        .is_resumed = old != NULL,
    };
    rsti_image_widen_rcvbuf(driver, &facts);
    if (check_fit(transport, &command->setup, subscription) < 0
        || (old == NULL && rsti_image_check_limits(driver, &facts) < 0)
        || rsti_publication_image_create(driver, image, &facts, conductor->now_ns) < 0) {
        return -rst_last_error_code();
    }
    if (rsti_ptr_array_add(&conductor->images, *image) < 0) {
        rsti_publication_image_destroy(driver, *image);
        return -RST_ENOMEM;
    }
    endpoint->image_count++;
    rsti_image_tell_bound(driver, &facts);
    return 1;
}

/* Gives the image its subscribers, and to the receiver. */
static void hand_over(rst_driver_t *driver, const rsti_agent_command_t *command,
    rsti_image_t *image)
{
    const rsti_conductor_t *conductor = driver->conductor;
    for (size_t i = 0; i < conductor->subscriptions.count; i++) {
        if (is_match(conductor->subscriptions.items[i], command)
            && rsti_link_image(driver, image, conductor->subscriptions.items[i]) < 0) {
            rsti_driver_log_trail(driver, "conductor");
        }
    }
    const rsti_agent_command_t add = {.endpoint = command->endpoint, .object = image};
    rsti_tell_receiver(driver, RSTI_AGENT_ADD_IMAGE, &add);
}

/* Any host can send SETUPs with new sessions, and each would make a new entry in the error log. An
 * honest publisher repeats its SETUP. */
static void log_failure(rst_driver_t *driver, const rsti_agent_command_t *command, int result)
{
    rsti_conductor_t *conductor = driver->conductor;
    if (result < 0 && conductor->now_ns >= conductor->image_error_due_ns) {
        if (result != -RST_EFULL) { /* a limit: one entry for all sessions is enough */
            RST_APPEND_ERR("cannot create the image of session %" PRId32 " stream %" PRId32,
                command->session_id, command->stream_id);
        }
        rsti_driver_log_trail(driver, "conductor");
        conductor->image_error_due_ns = conductor->now_ns + IMAGE_ERROR_INTERVAL_NS;
    }
    rsti_error_clear();
}

static rsti_image_t *find_overrun(const rst_driver_t *driver, int64_t correlation_id)
{
    const rsti_ptr_array_t *images = &driver->conductor->images;
    for (size_t i = 0; i < images->count; i++) {
        rsti_image_t *image = images->items[i];
        if (image->correlation_id == correlation_id) {
            const bool may_go_on = image->life == RSTI_LIFE_ACTIVE && rsti_image_is_drained(image)
                && !rsti_load_acquire_i32(&image->is_rejected)
                && !rsti_load_acquire_i32(&image->is_revoked);
            return may_go_on ? image : NULL;
        }
    }
    return NULL;
}

void rsti_on_resume_image(rst_driver_t *driver, const rsti_agent_command_t *command)
{
    const rsti_setup_t *setup = &command->setup;
    rsti_image_t *old = find_overrun(driver, command->registration_id);
    const int64_t position = rsti_position(setup->active_term_id, setup->term_offset,
        rsti_log2((uint32_t)setup->term_length), setup->initial_term_id);
    if (old == NULL || position <= old->received) {
        return; /* it has gone, or data came after all */
    }
    rsti_image_t *image = NULL;
    const int result = make_image(driver, command, old, &image);
    if (result < 1) {
        log_failure(driver, command, result);
        return;
    }
    rsti_image_overrun_inherit(image, old);
    rsti_image_retire(driver, old, position, driver->conductor->now_ns);
    hand_over(driver, command, image);
}

void rsti_on_create_image(rst_driver_t *driver, const rsti_agent_command_t *command)
{
    rsti_image_t *image = NULL;
    const int result = make_image(driver, command, NULL, &image);
    if (result == 1) {
        hand_over(driver, command, image);
        return;
    }
    log_failure(driver, command, result);
    /* A closing endpoint has already got its last command, and may be freed before this one is
     * read. */
    const rsti_receive_endpoint_t *endpoint = command->endpoint;
    if (!endpoint->is_closing) {
        rsti_tell_receiver(driver, RSTI_AGENT_REMOVE_INIT, command);
    }
}

/* The rejected image does not exist, or is the log that a spy reads. */
static void respond_no_image(rst_driver_t *driver, const rsti_command_t *command)
{
    const rsti_ptr_array_t *publications = &driver->conductor->publications;
    char text[128];
    snprintf(text, sizeof text, "no image %" PRId64 " to reject", command->registration_id);
    for (size_t i = 0; i < publications->count; i++) {
        const rsti_network_publication_t *publication = publications->items[i];
        if (publication->base.registration_id == command->registration_id) {
            snprintf(text, sizeof text,
                "image %" PRId64 " of stream %" PRId32 ": spies cannot reject the image they read",
                command->registration_id, publication->base.stream_id);
        }
    }
    rsti_respond_error(driver, command->correlation_id, RSTI_DRIVER_GENERIC_ERROR, text);
}

static bool check_reason(rst_driver_t *driver, const rsti_command_t *command)
{
    if (command->channel.length <= RSTI_ERR_TEXT_MAX) {
        return true;
    }
    char text[128];
    snprintf(text, sizeof text,
        "rejection of image %" PRId64 ": the reason has %" PRId32
        " bytes, an error frame carries at most %d",
        command->registration_id, command->channel.length, RSTI_ERR_TEXT_MAX);
    rsti_respond_error(driver, command->correlation_id, RSTI_DRIVER_GENERIC_ERROR, text);
    return false;
}

void rsti_on_reject_image(rst_driver_t *driver, const rsti_command_t *command)
{
    const rsti_conductor_t *conductor = driver->conductor;
    if (!check_reason(driver, command)) {
        return;
    }
    for (size_t i = 0; i < conductor->images.count; i++) {
        rsti_image_t *image = conductor->images.items[i];
        if (image->correlation_id != command->registration_id || image->reject_reason != NULL
            || image->life != RSTI_LIFE_ACTIVE) {
            continue;
        }
        image->reject_reason = rsti_strndup(command->channel.text, (size_t)command->channel.length);
        if (image->reject_reason == NULL) {
            rsti_respond_trail(driver, command->correlation_id);
            return;
        }
        rsti_store_release_i32(&image->is_rejected, 1);
        rsti_driver_count(driver, RSTI_SYSTEM_IMAGES_REJECTED, 1);
        rsti_driver_wake_agent(driver, RSTI_AGENT_RECEIVER);
        rsti_respond_ok(driver, command->correlation_id);
        return;
    }
    for (size_t i = 0; i < conductor->ipc_publications.count; i++) {
        rsti_ipc_publication_t *publication = conductor->ipc_publications.items[i];
        if (publication->base.registration_id == command->registration_id
            && rsti_ipc_publication_accepts(publication)) {
            rsti_ipc_publication_reject(driver, publication, command->channel.text,
                command->channel.length);
            rsti_driver_count(driver, RSTI_SYSTEM_IMAGES_REJECTED, 1);
            rsti_respond_ok(driver, command->correlation_id);
            return;
        }
    }
    respond_no_image(driver, command);
}

/* The publisher's driver is told when the image drains, which it does without readers. */
static void keep_reason(const rst_driver_t *driver, const rsti_command_t *command)
{
    const rsti_ptr_array_t *images = &driver->conductor->images;
    for (size_t i = 0; i < images->count; i++) {
        rsti_image_t *image = images->items[i];
        if (image->correlation_id == command->registration_id && image->life == RSTI_LIFE_ACTIVE
            && image->subscribers.count == 1) {
            rsti_free(image->leave_reason); /* NULL without memory: then it says none */
            image->leave_reason = rsti_strndup(command->channel.text,
                (size_t)command->channel.length);
        }
    }
}

/* Of one reader among several it says nothing: the publisher has others. */
void rsti_on_say_why(rst_driver_t *driver, const rsti_command_t *command)
{
    keep_reason(driver, command);
    const rsti_ptr_array_t *publications = &driver->conductor->ipc_publications;
    for (size_t i = 0; i < publications->count; i++) {
        rsti_ipc_publication_t *publication = publications->items[i];
        if (publication->base.registration_id == command->registration_id
            && publication->base.subscribers.count == 1) {
            rsti_reader_left_why(&publication->base, command->channel.text,
                command->channel.length);
        }
    }
    rsti_respond_ok(driver, command->correlation_id);
}

void rsti_images_rebuild(rst_driver_t *driver, int64_t now_ns, int64_t *next_deadline_ns)
{
    const rsti_conductor_t *conductor = driver->conductor;
    for (size_t i = 0; i < conductor->images.count; i++) {
        rsti_publication_image_show(driver, conductor->images.items[i]);
        rsti_lower_deadline(next_deadline_ns,
            rsti_image_rebuild(driver, conductor->images.items[i], now_ns));
    }
}

void rsti_images_check(rst_driver_t *driver, int64_t now_ns, int64_t *next_deadline_ns)
{
    rsti_conductor_t *conductor = driver->conductor;
    for (size_t i = conductor->images.count; i > 0; i--) {
        rsti_image_t *image = conductor->images.items[i - 1];
        if (rsti_image_on_life(driver, image, now_ns, next_deadline_ns)) {
            rsti_ptr_array_remove_at(&conductor->images, i - 1);
            rsti_publication_image_destroy(driver, image);
        }
    }
}
