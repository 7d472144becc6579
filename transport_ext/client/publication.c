/* publication.c: the life of a publication and its facts. Offering is in offer.c. */
#include "client/internal.h"

#include "util/alloc.h"
#include "util/error.h"

#include <inttypes.h>
#include <stdio.h>

#define REMOVE_FLAG_REVOKE 1

/* ---- life ---- */

static int attach_log(rst_publication_t *publication, const rsti_response_t *response)
{
    rst_client_t *client = publication->client;
    if (response->counter_id < 0 || response->counter_id > client->counters.max_counter_id) {
        return RST_SET_ERR(RST_ECORRUPT,
            "the driver names limit counter %" PRId32 ", there are 0 to %" PRId32,
            response->counter_id, client->counters.max_counter_id);
    }
    const int result = rsti_shared_log_open(client, response->log_file.text,
        (size_t)response->log_file.length, &publication->log);
    if (result < 0) {
        return result;
    }
    rsti_log_t *log = &publication->log->file.log;
    publication->ext = rsti_shared_log_ext(publication->log);
    publication->max_message_length = rsti_max_message_length(log->term_length);
    rsti_appender_init(&publication->appender, log,
        rsti_counter_address(&client->counters, response->counter_id), response->session_id,
        response->stream_id, response->type == RSTI_RSP_EXCLUSIVE_PUBLICATION_READY);
    return 0;
}

rst_publication_t *rsti_publication_create(rst_client_t *client, const rsti_pending_t *pending,
    const rsti_response_t *response)
{
    rst_publication_t *publication = rsti_alloc(sizeof *publication);
    if (publication == NULL) {
        return NULL;
    }
    publication->refs = 1;
    publication->generation = client->generation;
    publication->client = client;
    publication->is_rstream = client->is_rstream;
    publication->is_ipc = response->channel_status_id < 0;
    publication->channel_status_id = response->channel_status_id;
    publication->last_reason = RST_NOT_CONNECTED;
    publication->consumed_counter_id = RSTI_NULL_COUNTER;
    publication->correlation_id = pending->correlation_id;
    publication->registration_id = response->registration_id;
    rsti_client_ref(client);
    publication->channel = rsti_strndup(pending->channel, strlen(pending->channel));
    if (publication->channel == NULL || attach_log(publication, response) < 0
        || rsti_hash_map_put(&client->publications, publication->correlation_id, publication) < 0) {
        rsti_publication_unref(publication);
        return NULL;
    }
    return publication;
}

void rsti_publication_ref(rst_publication_t *publication)
{
    (void)rsti_fetch_add_i32(&publication->refs, 1);
}

void rsti_publication_unref(rst_publication_t *publication)
{
    if (rsti_fetch_add_i32(&publication->refs, -1) != 1) {
        return;
    }
    rst_client_t *client = publication->client;
    if (publication->log != NULL) {
        rsti_shared_log_unref(publication->log);
    }
    rsti_free(publication->errors);
    rsti_free(publication->channel);
    rsti_free(publication);
    rsti_client_unref(client);
}

void rsti_publication_kill(rst_publication_t *publication)
{
    rsti_store_release_i32(&publication->is_closed, 1);
}

static void close_with(rst_publication_t *publication, uint64_t flags)
{
    if (publication == NULL) {
        return;
    }
    if (rsti_is_forked(publication->generation)) {
        rsti_free(publication->errors);
        rsti_free(publication->channel);
        rsti_free(publication);
        return;
    }
    rst_client_t *client = publication->client;
    rsti_publication_kill(publication);
    pthread_mutex_lock(&client->lock);
    (void)rsti_hash_map_remove(&client->publications, publication->correlation_id);
    rsti_client_send_remove(client, RSTI_CMD_REMOVE_PUBLICATION, publication->correlation_id,
        flags);
    rsti_client_kick_waiters(client);
    pthread_mutex_unlock(&client->lock);
    rsti_publication_unref(publication);
}

RST_API void rst_publication_close(rst_publication_t *publication)
{
    close_with(publication, 0);
}

RST_API void rst_publication_revoke(rst_publication_t *publication)
{
    close_with(publication, REMOVE_FLAG_REVOKE);
}

/* ---- facts ---- */

static bool is_dead(const rst_publication_t *publication)
{
    return rsti_is_forked(publication->generation)
        || rsti_load_relaxed_i32(&publication->is_closed) != 0;
}

int64_t rsti_publication_refuse(const rst_publication_t *publication)
{
    if (publication == NULL) {
        (void)RST_SET_ERR(RST_EINVAL, "publication is NULL");
        return RST_ERROR;
    }
    if (rsti_is_forked(publication->generation)) {
        return rsti_set_forked_error("publication");
    }
    return RST_CLOSED;
}

RST_API void rst_publication_info(const rst_publication_t *publication,
    rst_publication_info_t *info)
{
    if (info == NULL) {
        return;
    }
    *info = (rst_publication_info_t){.channel = ""};
    if (publication == NULL) {
        return;
    }
    /* In a forked child too: these facts are this process's own memory and the mapping's. */
    const rsti_log_t *log = &publication->log->file.log;
    *info = (rst_publication_info_t){
        .registration_id = publication->registration_id,
        .session_id = publication->appender.session_id,
        .stream_id = publication->appender.stream_id,
        .initial_term_id = log->initial_term_id,
        .term_length = log->term_length,
        .mtu = log->mtu,
        .max_payload_length = publication->appender.max_payload,
        .max_message_length = publication->max_message_length,
        .is_exclusive = publication->appender.is_exclusive,
        .is_ipc = publication->is_ipc,
        .channel = publication->channel,
        .correlation_id = publication->correlation_id,
        .max_position = rsti_max_position(log->term_length),
        .position_bits = log->position_bits,
        .channel_status_id = publication->channel_status_id,
    };
}

RST_API int64_t rst_publication_position(const rst_publication_t *publication)
{
    if (publication == NULL || is_dead(publication)) {
        return rsti_publication_refuse(publication);
    }
    return rsti_log_producer_position(&publication->log->file.log);
}

RST_API int64_t rst_publication_position_limit(const rst_publication_t *publication)
{
    if (publication == NULL || is_dead(publication)) {
        return rsti_publication_refuse(publication);
    }
    return rsti_load_acquire_i64(publication->appender.limit);
}

RST_API int64_t rst_publication_available_window(const rst_publication_t *publication)
{
    if (publication == NULL || is_dead(publication)) {
        return rsti_publication_refuse(publication);
    }
    return rsti_max_i64(0,
        rsti_load_acquire_i64(publication->appender.limit)
            - rsti_log_producer_position(&publication->log->file.log));
}

RST_API int64_t rst_publication_held_by(const rst_publication_t *publication)
{
    if (publication == NULL || is_dead(publication)) {
        return rsti_publication_refuse(publication);
    }
    return publication->is_rstream
        ? rsti_held_by_told(rsti_load_relaxed_i32(&publication->ext->held_by))
        : RST_HELD_BY_WINDOW;
}

RST_API int64_t rst_publication_next_frame(const rst_publication_t *publication, int32_t *term_id,
    int32_t *term_offset)
{
    if (publication == NULL || is_dead(publication)) {
        return rsti_publication_refuse(publication);
    }
    if (term_id == NULL || term_offset == NULL) {
        (void)RST_SET_ERR(RST_EINVAL, "no room for the term id or offset");
        return RST_ERROR;
    }
    rsti_appender_next(&publication->appender, term_id, term_offset);
    return 0;
}

RST_API int64_t rst_publication_channel_status(const rst_publication_t *publication)
{
    if (publication == NULL || is_dead(publication)) {
        return rsti_publication_refuse(publication);
    }
    return rsti_client_channel_status(publication->client, publication->channel_status_id);
}

RST_API int rst_publication_local_address(const rst_publication_t *publication, int index,
    char *text, size_t size)
{
    if (text == NULL || size == 0) {
        return RST_SET_ERR(RST_EINVAL, "no room for the address");
    }
    text[0] = '\0';
    if (publication == NULL || is_dead(publication)) {
        return 0;
    }
    return rsti_client_local_address(publication->client, publication->channel_status_id, index,
        text, size);
}

static bool is_log_connected(const rst_publication_t *publication)
{
    return rsti_load_acquire_i32(&publication->log->file.log.metadata->is_connected) != 0;
}

RST_API bool rst_publication_is_connected(const rst_publication_t *publication)
{
    return publication != NULL && !is_dead(publication) && is_log_connected(publication);
}

RST_API bool rst_publication_is_closed(const rst_publication_t *publication)
{
    return publication == NULL || is_dead(publication);
}

bool rsti_publication_is_ready(const rst_publication_t *publication)
{
    if (rsti_load_acquire_i32(&publication->is_closed) != 0) {
        return true;
    }
    /* Who was refused for want of a connection waits for one; who was refused for want of room
     * also wants to hear that the connection went. */
    if (!is_log_connected(publication)) {
        return rsti_load_relaxed_i32(&publication->last_reason) != RST_NOT_CONNECTED;
    }
    return rsti_load_acquire_i64(publication->appender.limit)
        > rsti_log_producer_position(&publication->log->file.log);
}

/* ---- what the readers have consumed ---- */

static const rsti_counter_value_t *allocated(const rsti_counters_t *counters, int32_t id,
    int32_t type_id)
{
    const rsti_counter_metadata_t *metadata = &counters->metadata[id];
    return rsti_load_acquire_i32(&metadata->state) == RSTI_COUNTER_ALLOCATED
            && metadata->type_id == type_id
        ? &counters->values[id]
        : NULL;
}

const rsti_counter_value_t *rsti_publication_next_reader(const rst_publication_t *publication,
    int32_t *id)
{
    const rsti_counters_t *counters = &publication->client->counters;
    while (*id <= counters->max_counter_id
        && rsti_load_acquire_i32(&counters->metadata[*id].state) != RSTI_COUNTER_UNUSED) {
        const rsti_counter_value_t *value = allocated(counters, (*id)++,
            RSTI_COUNTER_SUBSCRIBER_POSITION);
        if (value != NULL
            && rsti_load_acquire_i64(&value->reference_id) == publication->registration_id) {
            return value;
        }
    }
    return NULL;
}

static int64_t least_subscriber_position(const rst_publication_t *publication)
{
    int64_t least = INT64_MAX;
    int32_t id = 0;
    const rsti_counter_value_t *value;
    while ((value = rsti_publication_next_reader(publication, &id)) != NULL) {
        least = rsti_min_i64(least, rsti_load_acquire_i64(&value->value));
    }
    return least == INT64_MAX ? RST_NOT_CONNECTED : least;
}

static int64_t acknowledged_position(const rst_publication_t *publication)
{
    const rsti_counters_t *counters = &publication->client->counters;
    int32_t *cache = (int32_t *)&publication->consumed_counter_id;
    int32_t id = rsti_load_relaxed_i32(cache);
    if (id < 0) {
        id = rsti_counters_find(counters, RSTI_COUNTER_SENDER_CONSUMED,
            publication->registration_id);
        if (id < 0) {
            return RST_NOT_CONNECTED; /* Aeron's driver has no such counter */
        }
        rsti_store_relaxed_i32(cache, id);
    }
    const rsti_counter_value_t *value = allocated(counters, id, RSTI_COUNTER_SENDER_CONSUMED);
    if (value == NULL
        || rsti_load_acquire_i64(&value->registration_id) != publication->registration_id) {
        return RST_NOT_CONNECTED;
    }
    return rsti_load_acquire_i64(&value->value);
}

RST_API int64_t rst_publication_consumed_position(const rst_publication_t *publication)
{
    if (publication == NULL || is_dead(publication)) {
        return rsti_publication_refuse(publication);
    }
    if (!publication->is_ipc) {
        return acknowledged_position(publication);
    }
    if (is_log_connected(publication)) {
        return least_subscriber_position(publication);
    }
    /* The driver has lowered the limit to where the last reader stopped. */
    return rsti_min_i64(rsti_load_acquire_i64(publication->appender.limit),
        rsti_log_producer_position(&publication->log->file.log));
}
