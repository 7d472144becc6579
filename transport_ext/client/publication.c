/* publication.c: see publication.h. The life of a publication. Offering is in offer.c. */
#include "client/publication.h"

#include "client/segments.h"
#include "client/send.h"
#include "logbuffer/rebuilder.h"
#include "util/alloc.h"
#include "util/error.h"

#include <inttypes.h>
#include <string.h>

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
    publication->appender.owner = rsti_claim_owner(client->client_id);
    return 0;
}

rst_publication_t *rsti_publication_create(rst_client_t *client, const char *channel,
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
    publication->correlation_id = response->correlation_id;
    publication->registration_id = response->registration_id;
    rsti_client_ref(client);
    publication->channel = rsti_strndup(channel, strlen(channel));
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
    rsti_segments_free(publication->segments);
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

/* ---- readiness ---- */

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

bool rsti_publication_is_ready(const rst_publication_t *publication)
{
    if (rsti_load_acquire_i32(&publication->is_closed) != 0) {
        return true;
    }
    /* A publisher refused for want of a connection waits for one. A publisher refused for want of
     * room also waits for the loss of the connection. */
    if (!rsti_publication_is_log_connected(publication)) {
        return rsti_load_relaxed_i32(&publication->last_reason) != RST_NOT_CONNECTED;
    }
    return rsti_load_acquire_i64(publication->appender.limit)
        > rsti_log_producer_position(&publication->log->file.log);
}
