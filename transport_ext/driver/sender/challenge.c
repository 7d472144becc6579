/* challenge.c: see challenge.h. */
#include "driver/sender/challenge.h"

#include "driver/sender/send_endpoint.h"
#include "util/netaddr.h"
#include "util/siphash.h"

static int64_t stamp(const rsti_sender_t *sender, const struct sockaddr_storage *source,
    int32_t stream_id, int32_t session_id, int64_t period)
{
    struct {
        rsti_packed_address_t address;
        int32_t stream_id, session_id;
        int64_t period;
    } facts;
    memset(&facts, 0, sizeof facts); /* gaps between the fields are hashed too */
    const rsti_packed_address_t packed = rsti_netaddr_pack(source);
    facts.address.family = packed.family;
    facts.address.port = packed.port;
    memcpy(facts.address.bytes, packed.bytes, sizeof packed.bytes);
    facts.stream_id = stream_id;
    facts.session_id = session_id;
    facts.period = period;
    return (int64_t)rsti_siphash(sender->secret, &facts, sizeof facts);
}

int64_t rsti_challenge_stamp(const rsti_sender_t *sender, const struct sockaddr_storage *source,
    const rsti_rttm_t *rttm, int64_t now_ns)
{
    return stamp(sender, source, rttm->stream_id, rttm->session_id,
        now_ns / RSTI_CHALLENGE_PERIOD_NS);
}

void rsti_challenge_send(rsti_sender_t *sender, const rsti_network_publication_t *publication,
    const struct sockaddr_storage *source, int64_t now_ns)
{
    rsti_rttm_t rttm = {
        .frame = {RSTI_RTTM_LENGTH, 0, RSTI_RTTM_FLAG_REPLY, RSTI_FRAME_RTTM},
        .session_id = publication->base.session_id,
        .stream_id = publication->base.stream_id,
    };
    rttm.echo_timestamp = rsti_challenge_stamp(sender, source, &rttm, now_ns);
    rsti_send_endpoint_send_to(sender, publication->endpoint, &rttm, sizeof rttm, source);
}

bool rsti_challenge_is_answered(const rsti_sender_t *sender, const rsti_rttm_t *answer,
    const struct sockaddr_storage *source, int64_t now_ns)
{
    const int64_t before_ns = now_ns - RSTI_CHALLENGE_PERIOD_NS;
    return answer->echo_timestamp == rsti_challenge_stamp(sender, source, answer, now_ns)
        || answer->echo_timestamp == rsti_challenge_stamp(sender, source, answer, before_ns);
}

/* Returns the place of source; NULL: it has none. */
static rsti_kept_sm_t *find(rsti_send_endpoint_t *endpoint, const struct sockaddr_storage *source)
{
    for (int i = 0; i < RSTI_CHALLENGE_PLACES; i++) {
        rsti_kept_sm_t *place = &endpoint->kept[i];
        if (place->source.ss_family != AF_UNSPEC && rsti_netaddr_equal(&place->source, source)) {
            return place;
        }
    }
    return NULL;
}

void rsti_challenge_keep(rsti_send_endpoint_t *endpoint, const rsti_sm_t *sm,
    const struct sockaddr_storage *source)
{
    rsti_kept_sm_t *place = find(endpoint, source);
    if ((size_t)sm->frame.frame_length > sizeof place->bytes) {
        return;
    }
    if (place == NULL) { /* in turn, so the place was taken before all others */
        place = &endpoint->kept[endpoint->kept_next];
        endpoint->kept_next = (endpoint->kept_next + 1) % RSTI_CHALLENGE_PLACES;
    }
    memcpy(place->bytes, sm, (size_t)sm->frame.frame_length);
    place->source = *source;
}

const rsti_sm_t *rsti_challenge_take(rsti_send_endpoint_t *endpoint,
    const struct sockaddr_storage *source)
{
    rsti_kept_sm_t *place = find(endpoint, source);
    if (place == NULL) {
        return NULL;
    }
    place->source.ss_family = AF_UNSPEC;
    return &place->sm;
}
