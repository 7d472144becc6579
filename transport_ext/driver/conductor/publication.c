/* publication.c: see publication.h. */
#include "driver/conductor/publication.h"

#include "driver/base/counters.h"
#include "driver/base/driver_state.h"
#include "driver/base/subscribers.h"
#include "driver/conductor/channels.h"
#include "driver/conductor/clients.h"
#include "driver/conductor/logs.h"
#include "driver/conductor/responses.h"
#include "driver/conductor/subscriber_news.h"
#include "logbuffer/rebuilder.h"
#include "util/alloc.h"
#include "util/error.h"

#include <inttypes.h>
#include <stdio.h>

int64_t rsti_publication_start_position(const rsti_publication_t *publication)
{
    const rsti_publication_options_t *options = &publication->options;
    return rsti_position(options->term_id, options->term_offset,
        rsti_log2((uint32_t)options->term_length), options->initial_term_id);
}

static int create_log(rst_driver_t *driver, rsti_publication_t *publication,
    const rsti_publication_facts_t *facts)
{
    const rsti_channel_t *channel = facts->channel;
    const rsti_publication_options_t *options = facts->options;
    const rsti_log_params_t params = {
        .correlation_id = facts->registration_id,
        .session_id = facts->session_id,
        .stream_id = facts->stream_id,
        .initial_term_id = options->initial_term_id,
        .term_id = options->term_id,
        .term_offset = options->term_offset,
        .term_length = options->term_length,
        .mtu = options->mtu,
        .page_size = (int32_t)driver->params.page_size,
        .publication_window = options->publication_window,
        .socket_sndbuf = facts->socket_sndbuf,
        .socket_rcvbuf = facts->socket_rcvbuf,
        .max_resend = channel->max_resend == RSTI_CHANNEL_UNSET ? 0 : (int32_t)channel->max_resend,
        .entity_tag = channel->entity_tag == RSTI_CHANNEL_UNSET ? -1 : channel->entity_tag,
        .response_correlation_id = publication->response_correlation_id,
        .is_response = publication->is_response,
        .linger_ns = options->linger_ns,
        .untethered_window_limit_ns = publication->tether_times.window_limit_ns,
        .untethered_resting_ns = publication->tether_times.resting_ns,
        .untethered_linger_ns = publication->tether_times.linger_ns,
        .type = facts->is_exclusive ? RSTI_LOG_EXCLUSIVE : RSTI_LOG_CONCURRENT,
        .rejoin = channel->is_rejoin_set ? channel->rejoin : driver->params.rejoin != 0,
        .reliable = channel->is_reliable_set ? channel->reliable : driver->params.reliable != 0,
        .sparse = options->sparse,
        .signal_eos = options->eos,
        .spies_simulate_connection = publication->is_ssc,
        .tether = channel->is_tether_set ? channel->tether : driver->params.tether != 0,
        .name = channel->name,
    };
    if (rsti_log_check_storage(driver, params.term_length) < 0) {
        return -rst_last_error_code();
    }
    if (rsti_log_file_create(&publication->file, driver->dir, "publications",
            facts->registration_id, &params)
        < 0) {
        return -rst_last_error_code();
    }
    const int64_t start = rsti_publication_start_position(publication);
    /* Without a reader the limit is the start: only the end of the stream can be written. */
    const int32_t end_reach = rsti_limit_reach(options->term_length, options->mtu)
        - rsti_limit_overshoot(options->term_length, options->mtu);
    if (rsti_log_file_reserve(&publication->file, start + end_reach) < 0) {
        (void)rsti_log_file_close(&publication->file, true);
        return -rst_last_error_code();
    }
    rsti_driver_count(driver, RSTI_SYSTEM_BYTES_MAPPED, (int64_t)publication->file.log.length);
    return 0;
}

rsti_stream_counter_t rsti_publication_counter(const rsti_publication_t *publication,
    int64_t client_id, int32_t type_id, const char *name)
{
    return (rsti_stream_counter_t){
        .type_id = type_id,
        .name = name,
        .registration_id = publication->registration_id,
        .client_id = client_id,
        .session_id = publication->session_id,
        .stream_id = publication->stream_id,
        .uri = publication->uri,
    };
}

int rsti_publication_init(rst_driver_t *driver, rsti_publication_t *publication,
    const rsti_publication_facts_t *facts)
{
    publication->is_network = facts->is_network;
    publication->is_exclusive = facts->is_exclusive;
    publication->registration_id = facts->registration_id;
    publication->client_id = facts->client_id;
    publication->session_id = facts->session_id;
    publication->stream_id = facts->stream_id;
    publication->options = *facts->options;
    publication->rate = *facts->rate;
    publication->tether_times = rsti_tether_times_of(&driver->params, facts->channel);
    publication->is_ssc = facts->channel->is_ssc_set
        ? facts->channel->ssc
        : driver->params.spies_simulate_connection != 0;
    publication->is_response = facts->channel->control_mode == RSTI_CONTROL_RESPONSE;
    publication->response_correlation_id = rsti_response_id_of(facts->channel);
    publication->channel_tag = facts->channel->channel_tag;
    publication->entity_tag = facts->channel->entity_tag;
    publication->pub_pos_id = RSTI_NULL_COUNTER;
    publication->pub_lmt_id = RSTI_NULL_COUNTER;
    publication->uri = rsti_strndup(facts->channel->uri, facts->channel->uri_length);
    publication->uri_length = facts->channel->uri_length;
    publication->name = rsti_strndup(facts->channel->name, strlen(facts->channel->name));
    if (publication->uri == NULL || publication->name == NULL
        || create_log(driver, publication, facts) < 0) {
        rsti_free(publication->uri);
        rsti_free(publication->name);
        return -rst_last_error_code();
    }
    const int64_t start = rsti_publication_start_position(publication);
    publication->clean_position = start;
    publication->quiet = (rsti_log_quiet_t){start, driver->conductor->now_ns};
    publication->limit = start;
    publication->limit_highest = start;
    publication->end_position = INT64_MAX;
    publication->blocked_position = start;
    publication->blocked_since_ns = driver->conductor->now_ns;
    rsti_stream_counter_t counter = rsti_publication_counter(publication, facts->client_id,
        RSTI_COUNTER_PUBLISHER_POSITION,
        facts->is_exclusive ? "pub-pos (exclusive)" : "pub-pos (concurrent)");
    counter.value = start;
    publication->pub_pos_id = rsti_stream_counter_allocate(driver, &counter, &publication->pub_pos);
    counter.type_id = RSTI_COUNTER_PUBLISHER_LIMIT;
    counter.name = "pub-lmt";
    publication->pub_lmt_id = rsti_stream_counter_allocate(driver, &counter, &publication->pub_lmt);
    if (publication->pub_pos_id < 0 || publication->pub_lmt_id < 0) {
        rsti_publication_fini(driver, publication);
        return -rst_last_error_code();
    }
    return 0;
}

void rsti_publication_fini(rst_driver_t *driver, rsti_publication_t *publication)
{
    rsti_subscribers_clear(driver, &publication->subscribers);
    rsti_counter_release(driver, &publication->pub_pos_id);
    rsti_counter_release(driver, &publication->pub_lmt_id);
    rsti_log_release(driver, &publication->file);
    rsti_free(publication->uri);
    rsti_free(publication->name);
}

bool rsti_publication_tell_refusal(rsti_publication_t *publication)
{
    const bool is_told = publication->is_limit_short || publication->is_refusal_wanted;
    if (is_told == publication->is_refusal_told) {
        return false;
    }
    publication->is_refusal_told = is_told;
    rsti_store_release_i32(&publication->file.log.metadata->ext.is_limit_short, is_told);
    return is_told;
}

int64_t rsti_publication_near_producer(rsti_publication_t *publication, int64_t proposed)
{
    int64_t near = proposed;
    if (publication->file.reserved_position != INT64_MAX) {
        near = rsti_min_i64(proposed,
            rsti_log_producer_position(&publication->file.log) + RSTI_LIMIT_AHEAD);
    }
    const bool is_short = near < proposed;
    publication->is_limit_short = is_short;
    (void)rsti_publication_tell_refusal(publication);
    /* Small steps would cost more wake-ups than they give room. */
    return is_short && near < publication->limit + RSTI_LIMIT_AHEAD / 8 ? publication->limit : near;
}

int64_t rsti_publication_reach(const rsti_publication_t *publication, int64_t limit)
{
    const rsti_publication_options_t *options = &publication->options;
    /* Several producers may each have a message beyond the limit. */
    const bool is_shared_by_steps = options->term_length > RSTI_RESERVE_STEP
        && !publication->is_exclusive;
    return limit + rsti_limit_reach(options->term_length, options->mtu)
        + (is_shared_by_steps ? rsti_max_message_length(options->term_length) : 0);
}

bool rsti_publication_raise_limit(rst_driver_t *driver, rsti_publication_t *publication,
    int64_t limit)
{
    const int reserved = rsti_log_reserve(driver, &publication->file,
        rsti_publication_reach(publication, limit));
    if (reserved < 0) {
        RST_APPEND_ERR("publication limit of stream %" PRId32 " session %" PRId32
                       " stays at position %" PRId64,
            publication->stream_id, publication->session_id, publication->limit);
        rsti_driver_log_trail(driver, "conductor");
    }
    if (reserved != 0) {
        return false;
    }
    publication->limit = limit;
    publication->limit_highest = rsti_max_i64(publication->limit_highest, limit);
    driver->conductor->moved_limits++;
    rsti_store_release_i64(publication->pub_lmt, limit);
    rsti_driver_wake_log(driver, &publication->file.log, RSTI_WAIT_LIMIT);
    return true;
}

void rsti_publication_lower_limit(rst_driver_t *driver, rsti_publication_t *publication,
    int64_t limit)
{
    publication->limit = limit;
    rsti_store_release_i64(publication->pub_lmt, limit);
    rsti_driver_wake_log(driver, &publication->file.log, RSTI_WAIT_LIMIT);
}

void rsti_publication_clean_up_to(rsti_publication_t *publication, int64_t position)
{
    /* Positions are those of other processes. Memory that is not reserved was never written. */
    position = rsti_min_i64(position, publication->file.reserved_position);
    while (publication->clean_position < position
        && rsti_log_clean_up_to(&publication->file.log, &publication->clean_position, position)
            > 0) {
    }
}

void rsti_publication_drain(rst_driver_t *driver, rsti_publication_t *publication, int64_t consumed,
    int64_t now_ns)
{
    rsti_log_metadata_t *metadata = publication->file.log.metadata;
    int64_t position = rsti_log_producer_position(&publication->file.log);
    if (position < consumed
        || !rsti_position_is_in_log(position, publication->clean_position,
            publication->options.term_length)) {
        (void)RST_SET_ERR(RST_ECORRUPT,
            "publication of stream %" PRId32 " session %" PRId32 " ends at position %" PRId64
            ": its tail counters hold the impossible value %" PRId64,
            publication->stream_id, publication->session_id, consumed, position);
        rsti_driver_log_trail(driver, "conductor");
        position = consumed;
    }
    rsti_store_release_i64(publication->pub_pos, position);
    publication->limit = rsti_min_i64(publication->limit, position);
    rsti_store_release_i64(publication->pub_lmt, publication->limit);
    publication->end_position = position;
    rsti_store_release_i64(&metadata->end_of_stream_position, position);
    rsti_store_release_i64(&metadata->ext.storage.needed, 0); /* an ended log does not grow */
    rsti_publication_set_life(publication, RSTI_LIFE_DRAINING, now_ns);
    rsti_driver_wake_log(driver, &publication->file.log, RSTI_WAIT_DATA);
    rsti_driver_wake_log(driver, &publication->file.log, RSTI_WAIT_LIMIT);
}

void rsti_publication_abort(rst_driver_t *driver, rsti_publication_t *publication, int64_t position,
    const char *why)
{
    char text[192];
    rsti_log_metadata_t *metadata = publication->file.log.metadata;
    snprintf(text, sizeof text,
        "publication of stream %" PRId32 " session %" PRId32 " ends at position %" PRId64 ": %s",
        publication->stream_id, publication->session_id, position, why);
    rsti_driver_log_error(driver, RST_ECORRUPT, text);
    rsti_publication_lower_limit(driver, publication, position);
    publication->end_position = position;
    publication->is_revoked = true;
    metadata->is_publication_revoked = 1;
    rsti_store_release_i64(&metadata->end_of_stream_position, position);
    rsti_store_release_i32(&metadata->is_connected, 0);
    rsti_response_t response = {
        .registration_id = publication->registration_id,
        .session_id = publication->session_id,
        .stream_id = publication->stream_id,
        .destination_id = -1,
        .receiver_id = -1,
        .group_tag = -1,
        .error_code = RSTI_DRIVER_GENERIC_ERROR,
        .log_file = {text, (int32_t)strlen(text)},
    };
    rsti_respond_publication_error(driver, &response, NULL);
    rsti_subscribers_tell_unavailable(driver, &publication->subscribers,
        publication->registration_id);
    rsti_publication_set_life(publication, RSTI_LIFE_LINGER, driver->conductor->now_ns);
    rsti_driver_wake_log(driver, &publication->file.log, RSTI_WAIT_LIMIT);
}

void rsti_publication_note_death(rst_driver_t *driver, rsti_publication_t *publication,
    int64_t client_id)
{
    const rsti_ptr_array_t *clients = &driver->conductor->clients;
    const uint8_t owner = rsti_claim_owner(client_id);
    for (size_t i = 0; i < clients->count; i++) {
        const rsti_driver_client_t *client = clients->items[i];
        for (int32_t k = 0; k < client->publication_count; k++) {
            if (client->client_id != client_id && rsti_claim_owner(client->client_id) == owner
                && client->publications[k].publication == publication) {
                return;
            }
        }
    }
    publication->dead_owners[owner / 64] |= UINT64_C(1) << owner % 64;
}

/* A claim that nobody will commit. */
static bool is_dead_claim(const rsti_publication_t *publication, int64_t position)
{
    const uint8_t owner = rsti_log_claim_owner(&publication->file.log, position);
    return (publication->dead_owners[owner / 64] >> owner % 64 & 1) != 0;
}

void rsti_publication_check_blocked(rst_driver_t *driver, rsti_publication_t *publication,
    int64_t consumer_position, int64_t now_ns)
{
    const bool is_draining = publication->life == RSTI_LIFE_DRAINING;
    if (publication->is_exclusive && !is_draining) {
        return;
    }
    const rsti_log_t *log = &publication->file.log;
    const int32_t consumer_count = (int32_t)(consumer_position >> log->position_bits);
    const bool is_behind = rsti_log_producer_position(log) > consumer_position
        || rsti_load_acquire_i32(&log->metadata->active_term_count) != consumer_count;
    const bool is_dead = is_behind && is_dead_claim(publication, consumer_position);
    if (consumer_position != publication->blocked_position || !is_behind) {
        publication->blocked_position = consumer_position;
        publication->blocked_since_ns = now_ns;
        if ((!is_draining && !is_dead) || !is_behind) {
            return;
        }
    }
    if (is_draining || is_dead
        || now_ns > publication->blocked_since_ns + driver->params.unblock_timeout_ns) {
        if (is_draining ? rsti_log_unblock_to_tail(log, consumer_position)
                        : rsti_log_unblock(log, consumer_position)) {
            rsti_driver_count(driver, RSTI_SYSTEM_UNBLOCKED_PUBLICATIONS, 1);
            rsti_driver_wake_log(driver, log, RSTI_WAIT_DATA);
            rsti_driver_wake_agent(driver, RSTI_AGENT_SENDER);
        }
    }
}

void rsti_publication_set_life(rsti_publication_t *publication, rsti_life_t life, int64_t now_ns)
{
    RST_ASSERT(life > publication->life);
    publication->life = life;
    publication->life_changed_ns = now_ns;
}
