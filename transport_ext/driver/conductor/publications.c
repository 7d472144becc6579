/* publications.c: see publications.h. */
#include "driver/conductor/publications.h"

#include "cnc/file_system.h"
#include "driver/base/driver_state.h"
#include "driver/base/proxies.h"
#include "driver/conductor/channels.h"
#include "driver/conductor/clients.h"
#include "driver/conductor/group_keys.h"
#include "driver/conductor/ipc_publication.h"
#include "driver/conductor/links.h"
#include "driver/conductor/logs.h"
#include "driver/conductor/network_publication.h"
#include "driver/conductor/publication.h"
#include "driver/conductor/publication_lists.h"
#include "driver/conductor/rates.h"
#include "driver/conductor/response_channels.h"
#include "driver/conductor/responses.h"
#include "driver/conductor/send_endpoints.h"
#include "driver/conductor/sessions.h"
#include "driver/conductor/subscriber_news.h"
#include "logbuffer/reader.h"
#include "util/error.h"
#include "util/netaddr.h"

#include <inttypes.h>

static rsti_publication_t *find_shared(rst_driver_t *driver, const rsti_send_endpoint_t *endpoint,
    const rsti_channel_t *channel, int32_t stream_id)
{
    const rsti_ptr_array_t *list = rsti_publication_list(driver, endpoint != NULL);
    for (size_t i = 0; i < list->count; i++) {
        rsti_publication_t *publication = list->items[i];
        if (!publication->is_exclusive && publication->stream_id == stream_id
            && publication->life == RSTI_LIFE_ACTIVE && !publication->is_revoked
            && (endpoint == NULL || rsti_publication_endpoint(publication) == endpoint)
            && publication->response_correlation_id == rsti_response_id_of(channel)) {
            return publication;
        }
    }
    return NULL;
}

static int check_shared(const rst_driver_t *driver, const rsti_publication_t *publication,
    const rsti_channel_t *channel)
{
    const rsti_publication_options_t *options = &publication->options;
    const struct {
        const char *name;
        int64_t asked;
        int64_t existing;
    } pairs[] = {
        {"session-id", channel->session_id, publication->session_id},
        {"mtu", channel->mtu, rsti_publication_mtu_of_channel(publication)},
        {"term-length", channel->term_length, options->term_length},
        {"init-term-id", channel->initial_term_id, options->initial_term_id},
        {"term-id", channel->term_id, options->term_id},
        {"term-offset", channel->term_offset, options->term_offset},
    };
    for (size_t i = 0; i < sizeof pairs / sizeof pairs[0]; i++) {
        if (rsti_publication_check_equal(pairs[i].name, pairs[i].asked, pairs[i].existing) < 0) {
            return -RST_ECHANNEL;
        }
    }
    if (channel->is_ssc_set && channel->ssc != publication->is_ssc) {
        return RST_SET_ERR(RST_ECHANNEL, "ssc=%s differs from that of the existing publication",
            channel->ssc ? "true" : "false");
    }
    if (rsti_channel_follows_path(channel)
        && !((const rsti_network_publication_t *)(const void *)publication)->send_path.is_wanted) {
        return RST_SET_ERR(RST_ECHANNEL,
            "cc=path: the existing publication of stream %" PRId32 " does not follow the path",
            publication->stream_id);
    }
    return rsti_rate_check_shared(driver, publication, channel);
}

/* Where the channel names none. A named stream that follows a path over the network may need a
 * window of half of a long term; on the host itself a short log stays in the processor's caches. */
static int64_t default_term_length(const rst_driver_t *driver, const rsti_channel_t *channel,
    const rsti_send_endpoint_t *endpoint)
{
    const rst_driver_params_t *params = &driver->params;
    if (endpoint == NULL) {
        return params->ipc_term_length;
    }
    if (channel->name[0] == '\0') {
        return params->term_length;
    }
    return rsti_network_publication_wants_path(driver, channel, endpoint)
            && !rsti_netaddr_is_loopback(&endpoint->udp.remote_data)
        ? rsti_log_long_term(rsti_storage_usable(driver->dir), params->term_length)
        : rsti_min_i64(params->term_length, RSTI_NAMED_TERM_LENGTH);
}

static int make_options(rst_driver_t *driver, const rsti_channel_t *channel,
    const rsti_send_endpoint_t *endpoint, rsti_publication_options_t *options)
{
    const rst_driver_params_t *params = &driver->params;
    const bool is_network = endpoint != NULL;
    if (rsti_publication_options(options, channel,
            (int32_t)(is_network ? params->mtu : params->ipc_mtu),
            (int32_t)default_term_length(driver, channel, endpoint), params->linger_ns)
        < 0) {
        return -rst_last_error_code();
    }
    /* session-id=tag:n took the mtu of existing frames */
    if (is_network && channel->session_tag == RSTI_CHANNEL_UNSET
        && rsti_group_keys_shorten_mtu(endpoint->keys, &options->mtu) < 0) {
        return -rst_last_error_code();
    }
    if (channel->response_correlation_id == RSTI_CHANNEL_PROTOTYPE) {
        options->term_length = RSTI_TERM_MIN_LENGTH; /* the prototype only keeps the socket open */
        options->publication_window = RSTI_TERM_MIN_LENGTH / 2;
    }
    if (!options->has_position) {
        options->initial_term_id = (int32_t)(uint32_t)rsti_ids_next(&driver->conductor->ids);
        options->term_id = options->initial_term_id;
        options->term_offset = 0;
    }
    const int64_t window = is_network ? params->publication_window : params->ipc_publication_window;
    if (channel->publication_window == RSTI_CHANNEL_UNSET && window > 0
        && window < options->publication_window) {
        options->publication_window = (int32_t)window;
    }
    if (!channel->is_sparse_set) {
        options->sparse = params->sparse != 0;
    }
    return 0;
}

static int check_mtu(const rst_driver_t *driver, const rsti_channel_t *channel, int32_t mtu,
    const rsti_send_endpoint_t *endpoint)
{
    const rsti_room_t room = {"mtu", mtu, "so-sndbuf", endpoint->so_sndbuf, driver->probe.sndbuf};
    return rsti_channel_check_room(channel, &room);
}

static rsti_publication_t *create(rst_driver_t *driver, const rsti_channel_t *channel,
    const rsti_command_t *command, rsti_send_endpoint_t *endpoint)
{
    const bool is_network = endpoint != NULL;
    rsti_publication_options_t options;
    rsti_rate_choice_t rate;
    if (make_options(driver, channel, endpoint, &options) < 0
        || (is_network && check_mtu(driver, channel, options.mtu, endpoint) < 0)
        || rsti_rate_of_channel(driver, channel, &rate) < 0) {
        return NULL;
    }
    rsti_publication_facts_t facts = {
        .channel = channel,
        .options = &options,
        .rate = &rate,
        .registration_id = command->correlation_id,
        .client_id = command->client_id,
        .stream_id = command->stream_id,
        .is_network = is_network,
        .is_exclusive = command->type == RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION,
        .socket_sndbuf = channel->so_sndbuf == RSTI_CHANNEL_UNSET ? 0 : (int32_t)channel->so_sndbuf,
        .socket_rcvbuf = channel->so_rcvbuf == RSTI_CHANNEL_UNSET ? 0 : (int32_t)channel->so_rcvbuf,
    };
    if (channel->session_id != RSTI_CHANNEL_UNSET) {
        facts.session_id = (int32_t)channel->session_id;
        if (rsti_session_is_taken(driver, endpoint, facts.stream_id, facts.session_id)) {
            (void)RST_SET_ERR(RST_EINUSE,
                "session-id=%" PRId32
                " clashes with a publication on the same channel and stream id %" PRId32
                ": existing publication has clashing sessionId=%" PRId32,
                facts.session_id, facts.stream_id, facts.session_id);
            return NULL;
        }
    } else {
        const rsti_session_scope_t scope = {.endpoint = endpoint};
        facts.session_id = rsti_session_next(driver, &scope, facts.stream_id);
    }
    if (!is_network) {
        rsti_ipc_publication_t *made;
        if (rsti_ipc_publication_create(driver, &made, &facts) < 0) {
            return NULL;
        }
        if (rsti_ptr_array_add(&driver->conductor->ipc_publications, made) < 0) {
            rsti_ipc_publication_destroy(driver, made);
            return NULL;
        }
        return &made->base;
    }
    rsti_network_publication_t *made;
    if (rsti_network_publication_create(driver, &made, &facts, endpoint) < 0) {
        return NULL;
    }
    if (rsti_ptr_array_add(&driver->conductor->publications, made) < 0) {
        endpoint->ref_count--;
        rsti_network_publication_destroy(driver, made);
        return NULL;
    }
    const rsti_agent_command_t add = {.endpoint = endpoint, .object = made};
    rsti_tell_sender(driver, RSTI_AGENT_ADD_PUBLICATION, &add);
    return &made->base;
}

static void respond_ready(rst_driver_t *driver, const rsti_command_t *command,
    const rsti_publication_t *publication, const rsti_send_endpoint_t *endpoint)
{
    const char *path = publication->file.path;
    const rsti_response_t response = {
        .type = publication->is_exclusive ? RSTI_RSP_EXCLUSIVE_PUBLICATION_READY
                                          : RSTI_RSP_PUBLICATION_READY,
        .correlation_id = command->correlation_id,
        .registration_id = publication->registration_id,
        .session_id = publication->session_id,
        .stream_id = publication->stream_id,
        .counter_id = publication->pub_lmt_id,
        .channel_status_id = endpoint == NULL ? RSTI_NULL_COUNTER : endpoint->channel_status_id,
        .log_file = {path, (int32_t)strlen(path)},
    };
    rsti_respond(driver, &response);
}

/* Returns 1: added, 0: try again, or a negative error code with a trail. */
static int add_publication(rst_driver_t *driver, const rsti_command_t *command)
{
    rsti_channel_t *channel = &driver->conductor->channel;
    rsti_driver_client_t *client = rsti_client_get(driver, command->client_id);
    /* Room for the link first: a publication without a link would stay forever. */
    if (client == NULL || rsti_client_reserve_link(client) < 0
        || rsti_channel_parse(channel, command->channel.text, (size_t)command->channel.length) < 0
        || rsti_channel_check_supported(channel, true) < 0
        || (channel->session_tag != RSTI_CHANNEL_UNSET
            && rsti_session_resolve_tag(driver, channel) < 0)
        || rsti_response_check_publication(driver, channel) < 0) {
        return -rst_last_error_code();
    }
    rsti_send_endpoint_t *endpoint = NULL;
    if (channel->media == RSTI_MEDIA_UDP) {
        bool is_closing = false;
        if (rsti_send_endpoint_get(driver, channel, command, &endpoint, &is_closing) < 0) {
            return -rst_last_error_code();
        }
        if (is_closing) {
            return 0;
        }
    } else if (rsti_channel_check_name(driver, channel, command->stream_id) < 0) {
        return -rst_last_error_code();
    }
    rsti_publication_t *publication = command->type == RSTI_CMD_ADD_PUBLICATION
        ? find_shared(driver, endpoint, channel, command->stream_id)
        : NULL;
    const bool is_new = publication == NULL;
    int result = 1;
    if (publication == NULL) {
        publication = create(driver, channel, command, endpoint);
    } else if (check_shared(driver, publication, channel) < 0) {
        publication = NULL;
    }
    if (publication == NULL) {
        result = -rst_last_error_code();
    } else {
        rsti_ipc_publication_t *new_ipc = is_new && endpoint == NULL
            ? (rsti_ipc_publication_t *)(void *)publication
            : NULL;
        rsti_client_link_publication(client, command->correlation_id, publication);
        if (is_new) {
            rsti_response_on_publication(driver, publication);
        }
        const int32_t first = new_ipc == NULL ? 0 : rsti_link_ipc_quietly(driver, new_ipc);
        respond_ready(driver, command, publication, endpoint);
        if (new_ipc != NULL) {
            rsti_tell_ipc_subscribers(driver, new_ipc, first);
        } else if (is_new) {
            rsti_link_spies(driver, (rsti_network_publication_t *)(void *)publication);
        }
    }
    if (endpoint != NULL) {
        rsti_send_endpoint_put(driver, endpoint); /* closes it if no publication was made */
    }
    return result;
}

bool rsti_on_add_publication(rst_driver_t *driver, const rsti_command_t *command)
{
    const int result = add_publication(driver, command);
    if (result < 0) {
        rsti_respond_channel_trail(driver, command);
    }
    return result == 0;
}

/* The position of the furthest consumer: the sender, or the first of the IPC subscribers. */
static int64_t consumer_position(const rsti_publication_t *publication)
{
    return publication->is_network
        ? rsti_load_acquire_i64(&((const rsti_network_publication_t *)(const void *)publication)
                  ->position)
        : ((const rsti_ipc_publication_t *)(const void *)publication)->consumer_position;
}

void rsti_publication_release(rst_driver_t *driver, rsti_publication_t *publication, bool is_revoke)
{
    const int64_t now_ns = driver->conductor->now_ns;
    RST_ASSERT(publication->ref_count > 0);
    publication->ref_count--;
    if (publication->life != RSTI_LIFE_ACTIVE || (publication->ref_count > 0 && !is_revoke)) {
        return;
    }
    rsti_publication_drain(driver, publication, consumer_position(publication), now_ns);
    if (is_revoke) {
        publication->is_revoked = true;
        publication->file.log.metadata->is_publication_revoked = 1;
        rsti_driver_count(driver, RSTI_SYSTEM_PUBLICATIONS_REVOKED, 1);
        rsti_store_release_i32(&publication->file.log.metadata->is_connected, 0);
        rsti_subscribers_tell_unavailable(driver, &publication->subscribers,
            publication->registration_id);
        rsti_publication_set_life(publication, RSTI_LIFE_LINGER, now_ns);
    }
    if (publication->is_network) {
        rsti_network_publication_t *network = (rsti_network_publication_t *)(void *)publication;
        rsti_store_release_i32(&network->is_revoked_shared, is_revoke);
        rsti_store_release_i64(&network->end_position, publication->end_position);
        rsti_driver_wake_agent(driver, RSTI_AGENT_SENDER);
    }
}

void rsti_on_remove_publication(rst_driver_t *driver, const rsti_command_t *command)
{
    rsti_driver_client_t *client = rsti_client_find(driver, command->client_id);
    for (int32_t i = 0; client != NULL && i < client->publication_count; i++) {
        const rsti_publication_link_t link = client->publications[i];
        if (link.registration_id == command->registration_id) {
            client->publications[i] = client->publications[--client->publication_count];
            rsti_respond_ok(driver, command->correlation_id);
            rsti_publication_release(driver, link.publication,
                link.publication->is_exclusive && (command->flags & 1) != 0);
            return;
        }
    }
    rsti_respond_unknown_publication(driver, command);
}

void rsti_publications_update(rst_driver_t *driver, int64_t now_ns)
{
    rsti_conductor_t *conductor = driver->conductor;
    for (size_t i = 0; i < conductor->publications.count; i++) {
        rsti_network_publication_t *publication = conductor->publications.items[i];
        if (publication->answered_image_id >= 0
            && (publication->base.life != RSTI_LIFE_ACTIVE
                || rsti_load_acquire_i32(&publication->has_receivers))) {
            rsti_response_settle(driver, publication);
        }
        rsti_network_publication_update(driver, publication, now_ns);
    }
    for (size_t i = 0; i < conductor->ipc_publications.count; i++) {
        rsti_ipc_publication_update(driver, conductor->ipc_publications.items[i], now_ns);
    }
}

static void free_network(rst_driver_t *driver, size_t index)
{
    rsti_network_publication_t *publication = driver->conductor->publications.items[index];
    rsti_send_endpoint_t *endpoint = publication->endpoint;
    rsti_ptr_array_remove_at(&driver->conductor->publications, index);
    rsti_network_publication_destroy(driver, publication);
    endpoint->ref_count--;
    rsti_send_endpoint_put(driver, endpoint);
}

/* The position at which a dead producer may block a consumer. This is usually the position of the
 * sender. When the publication drains and has spies, it is the end of the committed data after
 * that position, because a spy may have read further. */
static int64_t blocked_at(const rsti_network_publication_t *publication)
{
    const rsti_publication_t *base = &publication->base;
    const int64_t snd_pos = rsti_load_acquire_i64(&publication->position);
    return base->life == RSTI_LIFE_DRAINING && rsti_load_acquire_i32(&publication->has_spies)
        ? rsti_log_committed_end(&base->file.log, snd_pos, base->end_position)
        : snd_pos;
}

/* True when the publication may be freed. */
static bool on_ipc_timer(rst_driver_t *driver, rsti_ipc_publication_t *publication, int64_t now_ns)
{
    rsti_ipc_publication_check_blocked(driver, publication, now_ns);
    if (rsti_ipc_publication_has_cooled_down(publication, now_ns)) {
        rsti_tell_ipc_subscribers(driver, publication, rsti_link_ipc_quietly(driver, publication));
    }
    return rsti_ipc_publication_on_timer(driver, publication, now_ns);
}

void rsti_publications_check(rst_driver_t *driver, int64_t now_ns, bool is_timer,
    int64_t *next_deadline_ns)
{
    rsti_conductor_t *conductor = driver->conductor;
    for (size_t i = conductor->publications.count; i > 0; i--) {
        rsti_network_publication_t *publication = conductor->publications.items[i - 1];
        if (is_timer && publication->base.life <= RSTI_LIFE_DRAINING) {
            rsti_publication_check_blocked(driver, &publication->base, blocked_at(publication),
                now_ns);
        }
        if (rsti_network_publication_on_life(driver, publication, now_ns)) {
            free_network(driver, i - 1);
        } else {
            rsti_lower_deadline(next_deadline_ns,
                rsti_network_publication_life_due_ns(driver, publication));
        }
    }
    for (size_t i = conductor->ipc_publications.count; i > 0; i--) {
        rsti_ipc_publication_t *publication = conductor->ipc_publications.items[i - 1];
        rsti_lower_deadline(next_deadline_ns, rsti_ipc_publication_due_ns(publication));
        if (rsti_ipc_publication_has_nobody(publication)
            || (is_timer && on_ipc_timer(driver, publication, now_ns))) {
            rsti_ptr_array_remove_at(&conductor->ipc_publications, i - 1);
            rsti_ipc_publication_destroy(driver, publication);
        }
    }
}
