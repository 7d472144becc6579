/* sessions.c: see sessions.h. */
#include "driver/conductor/sessions.h"

#include "driver/conductor/clients.h"
#include "driver/conductor/group_keys.h"
#include "driver/conductor/publication_lists.h"
#include "driver/conductor/responses.h"
#include "util/error.h"

#include <inttypes.h>

#define RANDOM_ATTEMPTS 64

static bool find_session(rst_driver_t *driver, const rsti_send_endpoint_t *endpoint,
    bool is_network, int32_t stream_id, int32_t session_id)
{
    const rsti_ptr_array_t *list = rsti_publication_list(driver, is_network);
    for (size_t i = 0; i < list->count; i++) {
        const rsti_publication_t *publication = list->items[i];
        if (publication->stream_id == stream_id && publication->session_id == session_id
            && (endpoint == NULL || rsti_publication_endpoint(publication) == endpoint)) {
            return true;
        }
    }
    return false;
}

int64_t rsti_publication_mtu_of_channel(const rsti_publication_t *publication)
{
    const rsti_send_endpoint_t *endpoint = rsti_publication_endpoint(publication);
    return rsti_group_keys_mtu_of_channel(endpoint == NULL ? NULL : endpoint->keys,
        publication->options.mtu);
}

int rsti_publication_check_equal(const char *name, int64_t asked, int64_t existing)
{
    if (asked != RSTI_CHANNEL_UNSET && asked != existing) {
        return RST_SET_ERR(RST_ECHANNEL,
            "%s=%" PRId64 " differs from the %" PRId64
            " of the existing publication: existing publication has different '%s'",
            name, asked, existing, name);
    }
    return 0;
}

/* A lingering publication no longer holds its session id: a new publication may take it. */
bool rsti_session_is_taken(rst_driver_t *driver, const rsti_send_endpoint_t *endpoint,
    int32_t stream_id, int32_t session_id)
{
    const rsti_ptr_array_t *list = rsti_publication_list(driver, endpoint != NULL);
    for (size_t i = 0; i < list->count; i++) {
        const rsti_publication_t *publication = list->items[i];
        if (publication->stream_id == stream_id && publication->session_id == session_id
            && publication->life <= RSTI_LIFE_DRAINING
            && rsti_publication_endpoint(publication) == endpoint) {
            return true;
        }
    }
    return false;
}

/* session-id=tag:n takes the session, mtu and term length of the publication with that entity tag.
 */
int rsti_session_resolve_tag(rst_driver_t *driver, rsti_channel_t *channel)
{
    const rsti_ptr_array_t *list = rsti_publication_list(driver, channel->media == RSTI_MEDIA_UDP);
    for (size_t i = 0; i < list->count; i++) {
        const rsti_publication_t *publication = list->items[i];
        if (publication->entity_tag != channel->session_tag
            || publication->life != RSTI_LIFE_ACTIVE) {
            continue;
        }
        const rsti_publication_options_t *options = &publication->options;
        if (rsti_publication_check_equal("mtu", channel->mtu,
                rsti_publication_mtu_of_channel(publication))
                < 0
            || rsti_publication_check_equal("term-length", channel->term_length,
                   options->term_length)
                < 0) {
            return -RST_ECHANNEL;
        }
        channel->session_id = publication->session_id;
        channel->mtu = options->mtu;
        channel->term_length = options->term_length;
        return 0;
    }
    return RST_SET_ERR(RST_ECHANNEL,
        "channel parameter session-id=tag:%" PRId64 ": no publication has that entity tag",
        channel->session_tag);
}

static bool is_known(rst_driver_t *driver, const rsti_session_scope_t *scope, int32_t stream_id,
    int32_t session_id)
{
    if (scope->is_any_kind) {
        return find_session(driver, NULL, true, stream_id, session_id)
            || find_session(driver, NULL, false, stream_id, session_id);
    }
    return find_session(driver, scope->endpoint, scope->endpoint != NULL, stream_id, session_id);
}

static bool is_reserved(const rst_driver_params_t *params, int32_t id)
{
    return id >= params->reserved_session_low && id <= params->reserved_session_high;
}

int32_t rsti_session_next(rst_driver_t *driver, const rsti_session_scope_t *scope,
    int32_t stream_id)
{
    const rst_driver_params_t *params = &driver->params;
    rsti_conductor_t *conductor = driver->conductor;
    int32_t id = 0;
    /* Hashed, because a host that has seen one session must not know the next one. At least half of
     * all ids are not reserved. */
    for (int32_t i = 0; i < RANDOM_ATTEMPTS; i++) {
        id = (int32_t)(uint32_t)rsti_ids_next(&conductor->ids);
        if (!is_reserved(params, id) && !is_known(driver, scope, stream_id, id)) {
            return id;
        }
    }
    /* Ends: there are more ids outside the reserved range than publications. */
    while (is_reserved(params, id) || is_known(driver, scope, stream_id, id)) {
        id = rsti_wrap_add_i32(is_reserved(params, id) ? (int32_t)params->reserved_session_high
                                                       : id,
            1);
    }
    return id;
}

void rsti_on_next_session_id(rst_driver_t *driver, const rsti_command_t *command)
{
    if (rsti_client_get(driver, command->client_id) == NULL) {
        rsti_respond_trail(driver, command->correlation_id);
        return;
    }
    const rsti_session_scope_t scope = {.is_any_kind = true};
    const rsti_response_t response = {
        .type = RSTI_RSP_NEXT_SESSION_ID,
        .correlation_id = command->correlation_id,
        .session_id = rsti_session_next(driver, &scope, command->stream_id),
    };
    rsti_respond(driver, &response);
}
