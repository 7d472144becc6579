/* setup.c: see setup.h. */
#include "driver/sender/setup.h"

#include "driver/sender/send_endpoint.h"
#include "logbuffer/descriptor.h"

bool rsti_network_publication_has_setup(const rsti_network_publication_t *publication)
{
    return rsti_load_relaxed_i64(&publication->position)
        < rsti_load_acquire_i64(&publication->end_position)
        && !rsti_load_acquire_i32(&publication->is_revoked_shared);
}

rsti_setup_t rsti_network_publication_setup(const rsti_network_publication_t *publication)
{
    const rsti_log_t *log = &publication->base.file.log;
    const int64_t snd_pos = rsti_load_relaxed_i64(&publication->position);
    const bool is_request = !publication->base.is_response
        && publication->base.response_correlation_id >= 0;
    const uint8_t flags = (uint8_t)(RSTI_SETUP_FLAG_RSTREAM
        | (publication->send_rate.is_limited ? RSTI_SETUP_FLAG_FILL : 0)
        | (publication->send_path.is_wanted ? RSTI_SETUP_FLAG_PATH : 0)
        | (publication->is_group ? RSTI_SETUP_FLAG_GROUP : 0)
        | (is_request ? RSTI_SETUP_FLAG_SEND_RESPONSE : 0));
    return (rsti_setup_t){
        .frame = {RSTI_SETUP_LENGTH, 0, flags, RSTI_FRAME_SETUP},
        .term_offset = rsti_position_offset(snd_pos, log->term_length),
        .session_id = publication->base.session_id,
        .stream_id = publication->base.stream_id,
        .initial_term_id = log->initial_term_id,
        .active_term_id = rsti_position_term_id(snd_pos, log->position_bits, log->initial_term_id),
        .term_length = log->term_length,
        .mtu = publication->base.options.mtu,
        .ttl = publication->endpoint->ttl,
    };
}

void rsti_network_publication_answer(rsti_sender_t *sender, rsti_network_publication_t *publication,
    const struct sockaddr_storage *source)
{
    if (rsti_network_publication_has_setup(publication)) {
        const rsti_setup_t setup = rsti_network_publication_setup(publication);
        rsti_send_endpoint_send_to(sender, publication->endpoint, &setup, sizeof setup, source);
    }
}

/* Returns the publication whose turn it is, and moves the turn on. NULL: none has a SETUP. */
static rsti_network_publication_t *next_publication(rsti_send_endpoint_t *endpoint)
{
    for (int32_t i = 0; i <= RSTI_SEND_BUCKETS; i++) {
        rsti_network_publication_t *publication = endpoint->buckets[endpoint->answer_bucket];
        for (int32_t n = 0; publication != NULL; publication = publication->bucket_next, n++) {
            if (n >= endpoint->answer_place && rsti_network_publication_has_setup(publication)) {
                endpoint->answer_place = n + 1;
                return publication;
            }
        }
        endpoint->answer_bucket = (endpoint->answer_bucket + 1) % RSTI_SEND_BUCKETS;
        endpoint->answer_place = 0;
    }
    return NULL;
}

void rsti_send_endpoint_answer(rsti_sender_t *sender, rsti_send_endpoint_t *endpoint,
    const struct sockaddr_storage *source)
{
    const rsti_network_publication_t *first = NULL;
    for (int32_t i = 0; i < RSTI_STRANGER_SETUPS; i++) {
        rsti_network_publication_t *publication = next_publication(endpoint);
        if (publication == NULL || publication == first) {
            return;
        }
        rsti_network_publication_answer(sender, publication, source);
        first = first == NULL ? publication : first;
    }
}
