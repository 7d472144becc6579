/* candidates.c: a set-associative table, and stamps by SipHash. */
#include "driver/receiver/candidates.h"

#include "driver/receiver/receive_endpoint.h"
#include "util/alloc.h"
#include "util/siphash.h"

#define PLACES ((size_t)RSTI_CANDIDATE_SETS * RSTI_CANDIDATE_WAYS)

/* All that identifies an origin, without gaps. */
typedef struct words_t {
    int64_t period; /* -1: not for a stamp */
    int64_t receiver_id;
    uint64_t sealer;
    int32_t slot;
    int32_t stream_id;
    int32_t session_id;
    int32_t family_and_port;
    uint8_t address[16];
} words_t;
_Static_assert(sizeof(words_t) == 56, "the hash reads every byte");

int rsti_candidates_init(rsti_candidates_t *candidates, const uint64_t key[2])
{
    memcpy(candidates->key, key, sizeof candidates->key);
    candidates->places = rsti_alloc(PLACES * sizeof *candidates->places);
    return candidates->places == NULL ? -RST_ENOMEM : 0;
}

void rsti_candidates_fini(rsti_candidates_t *candidates)
{
    rsti_free(candidates->places);
    candidates->places = NULL;
}

static uint64_t hash_of(const rsti_candidates_t *candidates, const rsti_origin_t *origin,
    int64_t period)
{
    const rsti_packed_address_t source = rsti_netaddr_pack(origin->source);
    words_t words = {
        .period = period,
        .receiver_id = origin->transport->endpoint->receiver_id,
        .sealer = rsti_netaddr_sealer(origin->source),
        .slot = origin->transport->slot,
        .stream_id = origin->stream_id,
        .session_id = origin->session_id,
        .family_and_port = (int32_t)((uint32_t)source.family << 16 | source.port),
    };
    memcpy(words.address, source.bytes, sizeof words.address);
    return rsti_siphash(candidates->key, &words, sizeof words);
}

int64_t rsti_candidates_stamp(const rsti_candidates_t *candidates, const rsti_origin_t *origin,
    int64_t now_ns)
{
    return (int64_t)hash_of(candidates, origin, now_ns / RSTI_STAMP_PERIOD_NS);
}

bool rsti_candidates_is_stamp(const rsti_candidates_t *candidates, const rsti_origin_t *origin,
    int64_t stamp, int64_t now_ns)
{
    return stamp == rsti_candidates_stamp(candidates, origin, now_ns)
        || stamp == rsti_candidates_stamp(candidates, origin, now_ns - RSTI_STAMP_PERIOD_NS);
}

static bool is_of(const rsti_candidate_t *candidate, const rsti_origin_t *origin,
    const rsti_packed_address_t *source)
{
    return candidate->transport == origin->transport && candidate->stream_id == origin->stream_id
        && candidate->session_id == origin->session_id
        && rsti_netaddr_packed_equal(&candidate->source, source)
        && candidate->sealer == rsti_netaddr_sealer(origin->source);
}

/* Whether a should give its place before b: a free one first, then strangers, then the oldest. */
static bool goes_before(const rsti_candidate_t *a, const rsti_candidate_t *b)
{
    if (a->transport == NULL || b->transport == NULL) {
        return a->transport == NULL;
    }
    return a->is_proven != b->is_proven ? b->is_proven : a->seen_ns < b->seen_ns;
}

rsti_candidate_t *rsti_candidates_put(rsti_candidates_t *candidates, const rsti_origin_t *origin,
    bool is_proven, int64_t now_ns)
{
    const rsti_packed_address_t source = rsti_netaddr_pack(origin->source);
    const size_t set = hash_of(candidates, origin, -1) % RSTI_CANDIDATE_SETS;
    rsti_candidate_t *ways = &candidates->places[set * RSTI_CANDIDATE_WAYS];
    rsti_candidate_t *chosen = NULL;
    rsti_candidate_t *found = NULL;
    for (size_t i = 0; i < RSTI_CANDIDATE_WAYS; i++) {
        if (ways[i].transport != NULL && now_ns > ways[i].seen_ns + RSTI_CANDIDATE_LIFE_NS) {
            rsti_candidates_forget(&ways[i]);
        }
        if (is_of(&ways[i], origin, &source)) {
            found = &ways[i];
        }
        if (chosen == NULL || goes_before(&ways[i], chosen)) {
            chosen = &ways[i];
        }
    }
    if (found == NULL) {
        if (chosen->transport != NULL && chosen->is_proven && !is_proven) {
            return NULL;
        }
        found = chosen;
        *found = (rsti_candidate_t){
            .transport = origin->transport,
            .source = source,
            .sealer = rsti_netaddr_sealer(origin->source),
            .stream_id = origin->stream_id,
            .session_id = origin->session_id,
        };
    }
    found->seen_ns = now_ns;
    found->is_proven = found->is_proven || is_proven;
    return found;
}

bool rsti_candidates_have_proven(const rsti_candidates_t *candidates, const rsti_origin_t *origin,
    int64_t now_ns)
{
    for (size_t i = 0; i < PLACES; i++) {
        const rsti_candidate_t *candidate = &candidates->places[i];
        if (candidate->is_proven && candidate->transport == origin->transport
            && candidate->stream_id == origin->stream_id
            && candidate->session_id == origin->session_id
            && now_ns <= candidate->seen_ns + RSTI_CANDIDATE_LIFE_NS) {
            return true;
        }
    }
    return false;
}

void rsti_candidates_forget(rsti_candidate_t *candidate)
{
    *candidate = (rsti_candidate_t){0};
}

void rsti_candidates_forget_transport(rsti_candidates_t *candidates,
    const rsti_receive_transport_t *transport)
{
    for (size_t i = 0; i < PLACES; i++) {
        if (candidates->places[i].transport == transport) {
            rsti_candidates_forget(&candidates->places[i]);
        }
    }
}
