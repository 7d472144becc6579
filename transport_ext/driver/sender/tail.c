/* tail.c: see tail.h. */
#include "driver/sender/tail.h"

#define TAIL_MIN_NS RSTI_NS_PER_MS
#define TAIL_MAX_NS (25 * RSTI_NS_PER_MS)

void rsti_network_publication_on_tail(rsti_network_publication_t *publication, bool is_data)
{
    publication->tail_ns = is_data
        ? rsti_min_i64(rsti_max_i64(publication->rtt_ns / 4, TAIL_MIN_NS), TAIL_MAX_NS)
        : rsti_min_i64(2 * publication->tail_ns, RSTI_HEARTBEAT_INTERVAL_NS);
}

int64_t rsti_network_publication_heartbeat_ns(const rsti_network_publication_t *publication)
{
    if (publication->rtt_ns == 0 || publication->tail_ns == 0) {
        return RSTI_HEARTBEAT_INTERVAL_NS;
    }
    const int64_t snd_pos = rsti_load_relaxed_i64(&publication->position);
    for (int32_t i = 0; i < publication->receiver_count; i++) {
        if (publication->receivers[i].position < snd_pos) {
            return publication->tail_ns;
        }
    }
    return RSTI_HEARTBEAT_INTERVAL_NS;
}
