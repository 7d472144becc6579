/* subscriptions.c: see subscriptions.h. */
#include "driver/conductor/subscriptions.h"

#include "driver/base/counters.h"
#include "driver/base/proxies.h"
#include "driver/conductor/channels.h"
#include "driver/conductor/clients.h"
#include "driver/conductor/eviction.h"
#include "driver/conductor/links.h"
#include "driver/conductor/receive_endpoints.h"
#include "driver/conductor/responses.h"
#include "util/alloc.h"
#include "util/error.h"

#include <inttypes.h>
#include <stdio.h>

void rsti_subscription_free(rsti_subscription_t *subscription)
{
    rsti_free(subscription->uri);
    rsti_free(subscription->name);
    rsti_free(subscription->canonical);
    rsti_free(subscription);
}

static void set_tether(const rst_driver_params_t *params, const rsti_channel_t *channel,
    rsti_subscription_t *made)
{
    made->is_tethered = channel->is_tether_set ? channel->tether : params->tether != 0;
    made->is_rejoin = channel->is_rejoin_set ? channel->rejoin : params->rejoin != 0;
    made->tether_times = rsti_tether_times_of(params, channel);
}

static rsti_subscription_t *make_subscription(rst_driver_t *driver, const rsti_channel_t *channel,
    const rsti_command_t *command, const char *canonical)
{
    const rst_driver_params_t *params = &driver->params;
    rsti_subscription_t *made = rsti_alloc(sizeof *made);
    if (made == NULL) {
        return NULL;
    }
    made->registration_id = command->correlation_id;
    made->client_id = command->client_id;
    made->stream_id = command->stream_id;
    made->counter_id = RSTI_NULL_COUNTER;
    made->bound_id = RSTI_NULL_COUNTER;
    made->is_ipc = channel->media == RSTI_MEDIA_IPC;
    made->is_spy = channel->is_spy;
    made->is_response = channel->control_mode == RSTI_CONTROL_RESPONSE;
    made->channel_tag = channel->channel_tag;
    made->has_session = channel->session_id != RSTI_CHANNEL_UNSET;
    made->session_id = made->has_session ? (int32_t)channel->session_id : 0;
    made->is_reliable = channel->is_reliable_set ? channel->reliable : params->reliable != 0;
    set_tether(params, channel, made);
    rsti_eviction_watch(driver, made,
        channel->evict_ns == RSTI_CHANNEL_UNSET ? 0 : channel->evict_ns);
    made->is_sparse = channel->is_sparse_set ? channel->sparse : params->sparse != 0;
    made->group = channel->group == RSTI_INFER ? (rsti_tristate_t)params->receiver_group
                                               : channel->group;
    made->nak_delay_ns = channel->nak_delay_ns == RSTI_CHANNEL_UNSET
        ? params->nak_delay_ns
        : rsti_max_i64(channel->nak_delay_ns, 1);
    made->is_window_given = channel->receiver_window != RSTI_CHANNEL_UNSET;
    made->window = (int32_t)(channel->receiver_window == RSTI_CHANNEL_UNSET
            ? params->initial_window
            : channel->receiver_window);
    made->budget_bytes = channel->budget_bytes == RSTI_CHANNEL_UNSET ? params->stream_budget
                                                                     : channel->budget_bytes;
    made->is_fill_window = channel->is_fill_window_set ? channel->fill_window
                                                       : params->fill_window != 0;
    snprintf(made->cc, sizeof made->cc, "%s", channel->cc);
    made->uri = rsti_strndup(channel->uri, channel->uri_length);
    made->uri_length = channel->uri_length;
    made->name = rsti_strndup(channel->name, strlen(channel->name));
    made->canonical = rsti_strndup(canonical, strlen(canonical));
    if (made->uri == NULL || made->name == NULL || made->canonical == NULL
        || rsti_ptr_array_add(&driver->conductor->subscriptions, made) < 0) {
        rsti_subscription_free(made);
        return NULL;
    }
    return made;
}

static int check_conflict(rst_driver_t *driver, const rsti_subscription_t *made,
    const rsti_receive_endpoint_t *endpoint)
{
    const rsti_ptr_array_t *subscriptions = &driver->conductor->subscriptions;
    for (size_t i = 0; i < subscriptions->count; i++) {
        const rsti_subscription_t *other = subscriptions->items[i];
        if (other == made || other->endpoint != endpoint || other->stream_id != made->stream_id
            || other->has_session != made->has_session || other->session_id != made->session_id) {
            continue;
        }
        const struct {
            const char *name;
            bool asked;
            bool existing;
        } options[] = {
            {"reliable", made->is_reliable, other->is_reliable},
            {"rejoin", made->is_rejoin, other->is_rejoin},
            {"isResponse", made->is_response, other->is_response},
        };
        for (size_t k = 0; k < sizeof options / sizeof options[0]; k++) {
            if (options[k].asked != options[k].existing) {
                return RST_SET_ERR(RST_ECHANNEL,
                    "option conflicts with existing subscription: %s=%s existingChannel=%s "
                    "channel=%s: both are on the same socket and stream id %" PRId32,
                    options[k].name, options[k].asked ? "true" : "false", other->uri, made->uri,
                    made->stream_id);
            }
        }
    }
    return 0;
}

static int check_window(const rst_driver_t *driver, const rsti_channel_t *channel,
    const rsti_subscription_t *made, const rsti_receive_endpoint_t *endpoint)
{
    if (rsti_subscription_bounds_window(made)) {
        return 0;
    }
    const rsti_room_t room = {
        "rcv-wnd", made->window, "so-rcvbuf", endpoint->so_rcvbuf, driver->probe.rcvbuf};
    return rsti_channel_check_room(channel, &room);
}

int rsti_subscription_add_interest(rst_driver_t *driver, const rsti_subscription_t *subscription)
{
    rsti_interest_t *interest = rsti_alloc(sizeof *interest);
    if (interest == NULL) {
        return -RST_ENOMEM;
    }
    interest->registration_id = subscription->registration_id;
    interest->stream_id = subscription->stream_id;
    interest->has_session = subscription->has_session;
    interest->session_id = subscription->session_id;
    const rsti_agent_command_t command = {
        .endpoint = subscription->endpoint,
        .object = interest,
    };
    rsti_tell_receiver(driver, RSTI_AGENT_ADD_INTEREST, &command);
    return 0;
}

static int use_endpoint(rst_driver_t *driver, rsti_subscription_t *subscription,
    rsti_receive_endpoint_t *endpoint)
{
    subscription->endpoint = endpoint;
    const bool is_waiting = subscription->is_response && !subscription->has_session;
    if (!is_waiting && rsti_subscription_add_interest(driver, subscription) < 0) {
        return -RST_ENOMEM;
    }
    endpoint->subscription_count++;
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

/* The canonical form by which a spy finds its publications. A tag alone has no address. */
static int spied_canonical(const rsti_channel_t *channel, rsti_udp_channel_t *udp)
{
    udp->canonical[0] = '\0';
    if (channel->media != RSTI_MEDIA_UDP) {
        return RST_SET_ERR(RST_ECHANNEL,
            "channel \"%s\": only aeron:udp publications can be spied on", channel->uri);
    }
    if (channel->endpoint[0] == '\0' && channel->control[0] == '\0') {
        return 0;
    }
    return rsti_udp_channel_resolve(udp, channel);
}

rsti_subscription_t *rsti_subscription_make_destination(rst_driver_t *driver,
    const rsti_subscription_t *parent, const rsti_channel_t *channel, int64_t destination_id)
{
    rsti_udp_channel_t spied = {0};
    if (channel->is_spy && spied_canonical(channel, &spied) < 0) {
        return NULL;
    }
    const rsti_command_t command = {
        .correlation_id = parent->registration_id,
        .client_id = parent->client_id,
        .stream_id = parent->stream_id,
    };
    rsti_subscription_t *made = make_subscription(driver, channel, &command, spied.canonical);
    if (made != NULL) {
        made->destination_id = destination_id;
        made->is_tethered = parent->is_tethered;
        made->is_rejoin = parent->is_rejoin;
        made->tether_times = parent->tether_times;
        made->evict_ns = parent->evict_ns;
        made->evicted_ns = parent->evicted_ns;
        made->budget_bytes = parent->budget_bytes;
        made->is_fill_window = parent->is_fill_window;
        made->has_session = parent->has_session;
        made->session_id = parent->session_id;
    }
    return made;
}

/* Shows the subscription to tools, which else see it only when it has an image. Without a free
 * counter it works all the same. */
static void show(rst_driver_t *driver, rsti_subscription_t *subscription)
{
    const rsti_stream_counter_t counter = {
        .type_id = RSTI_COUNTER_SUBSCRIPTION,
        .name = "rs-subscription",
        .registration_id = subscription->registration_id,
        .client_id = subscription->client_id,
        .stream_id = subscription->stream_id,
        .uri = subscription->uri,
        .value = driver->epoch.now_ms,
    };
    int64_t *address;
    subscription->counter_id = rsti_stream_counter_allocate(driver, &counter, &address);
    if (subscription->counter_id < 0) {
        subscription->counter_id = RSTI_NULL_COUNTER;
    }
}

/* Returns 1: added, 0: try again, or a negative error code with a trail. */
static int add_subscription(rst_driver_t *driver, const rsti_command_t *command)
{
    rsti_channel_t *channel = &driver->conductor->channel;
    rsti_receive_endpoint_t *endpoint = NULL;
    rsti_udp_channel_t spied = {0};
    if (rsti_client_get(driver, command->client_id) == NULL
        || rsti_channel_parse(channel, command->channel.text, (size_t)command->channel.length) < 0
        || rsti_channel_check_supported(channel, false) < 0) {
        return -rst_last_error_code();
    }
    if (channel->is_spy) {
        if (spied_canonical(channel, &spied) < 0) {
            return -rst_last_error_code();
        }
    } else if (channel->media == RSTI_MEDIA_UDP) {
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
    rsti_subscription_t *subscription = make_subscription(driver, channel, command,
        spied.canonical);
    if (subscription == NULL
        || (endpoint != NULL
            && (check_conflict(driver, subscription, endpoint) < 0
                || check_window(driver, channel, subscription, endpoint) < 0
                || use_endpoint(driver, subscription, endpoint) < 0))) {
        const int result = -rst_last_error_code();
        if (subscription != NULL) {
            rsti_ptr_array_remove(&driver->conductor->subscriptions, subscription);
            rsti_subscription_free(subscription);
        }
        if (endpoint != NULL) {
            rsti_receive_endpoint_put(driver, endpoint);
        }
        return result;
    }
    respond_ready(driver, command,
        endpoint == NULL ? RSTI_NULL_COUNTER : endpoint->channel_status_id);
    rsti_link_existing(driver, subscription);
    show(driver, subscription);
    return 1;
}

bool rsti_on_add_subscription(rst_driver_t *driver, const rsti_command_t *command)
{
    const int result = add_subscription(driver, command);
    if (result < 0) {
        rsti_respond_channel_trail(driver, command);
    }
    return result == 0;
}

void rsti_subscription_remove(rst_driver_t *driver, rsti_subscription_t *subscription)
{
    rsti_conductor_t *conductor = driver->conductor;
    rsti_unlink_subscription(driver, subscription);
    rsti_counter_release(driver, &subscription->counter_id);
    rsti_counter_release(driver, &subscription->bound_id);
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
    rsti_subscription_free(subscription);
}

void rsti_on_remove_subscription(rst_driver_t *driver, const rsti_command_t *command)
{
    const rsti_ptr_array_t *subscriptions = &driver->conductor->subscriptions;
    bool is_found = false;
    /* An rstream client closes its images before it sends the command. */
    driver->is_writer_gone = rsti_client_is_rstream(driver, command->client_id);
    /* the subscription and its local destinations */
    for (size_t i = subscriptions->count; i > 0; i--) {
        rsti_subscription_t *subscription = subscriptions->items[i - 1];
        if (subscription->registration_id == command->registration_id
            && subscription->client_id == command->client_id) {
            rsti_subscription_remove(driver, subscription);
            is_found = true;
        }
    }
    driver->is_writer_gone = false;
    if (is_found) {
        rsti_respond_ok(driver, command->correlation_id);
        return;
    }
    char text[96];
    snprintf(text, sizeof text, "unknown subscription, registration id %" PRId64,
        command->registration_id);
    rsti_respond_error(driver, command->correlation_id, RSTI_DRIVER_UNKNOWN_SUBSCRIPTION, text);
}
