/* repair_sender.c: what a sender does better when it knows that its receivers are rstream and how far
 * they are away (docs/wire.md, "Repair"): it answers many NAKs at once, forgets them after a round trip,
 * and tells the end of a burst soon.
 *
 * Tail law: while the slowest receiver has not consumed all that was sent, the n-th heartbeat after the
 * last data leaves  T * 2^(n - 1)  after what was sent before it, T = round trip / 4 within
 * [TAIL_MIN_NS, TAIL_MAX_NS]; never later than the common interval. So a burst costs at most
 * log2(interval / T) more of them, and a lost last datagram is missed after T instead of 100 ms. */
#include "driver/internal.h"

#include "protocol/sm_items.h"

#define TAIL_MIN_NS RSTI_NS_PER_MS
#define TAIL_MAX_NS (25 * RSTI_NS_PER_MS)

typedef struct items_t {
    int64_t rtt_ns;
    int64_t arrival_rate;
} items_t;

static void on_item(void *arg, uint8_t type, const uint8_t *value, uint8_t length)
{
    items_t *items = arg;
    if (type == RSTI_SM_ITEM_ROUND_TRIP && length >= sizeof items->rtt_ns) {
        items->rtt_ns = rsti_get_i64(value);
    } else if (type == RSTI_SM_ITEM_ARRIVAL_RATE && length >= sizeof items->arrival_rate) {
        items->arrival_rate = rsti_get_i64(value);
    }
}

void rsti_network_publication_update_repair(rsti_network_publication_t *publication)
{
    int64_t rtt_ns = 0, rate = INT64_MAX;
    for (int32_t i = 0; i < publication->receiver_count; i++) {
        if (publication->receivers[i].rtt_ns <= 0) {
            rtt_ns = 0;
            break;
        }
        rtt_ns = rsti_max_i64(rtt_ns, publication->receivers[i].rtt_ns);
        rate = rsti_min_i64(rate, publication->receivers[i].arrival_rate);
    }
    publication->rtt_ns = publication->retransmit.is_group ? 0 : rtt_ns;
    rsti_pacer_set(&publication->pacer, publication->rtt_ns > 0 ? rate : 0, publication->rtt_ns);
    rsti_retransmit_set_rtt(&publication->retransmit, publication->rtt_ns);
}

void rsti_network_publication_on_items(rsti_network_publication_t *publication,
    const rsti_sm_t *sm)
{
    items_t items = {0};
    if (sm->frame.frame_length < RSTI_SM_ITEMS_OFFSET + RSTI_SM_ITEMS_MIN
        || !rsti_sm_items_read((const uint8_t *)sm + RSTI_SM_ITEMS_OFFSET,
            (size_t)(sm->frame.frame_length - RSTI_SM_ITEMS_OFFSET), on_item, &items)
        || items.rtt_ns <= 0 || items.rtt_ns > RSTI_RTT_MAX_NS) {
        return;
    }
    for (int32_t i = 0; i < publication->receiver_count; i++) {
        if (publication->receivers[i].receiver_id == sm->receiver_id) {
            publication->receivers[i].rtt_ns = items.rtt_ns;
            publication->receivers[i].arrival_rate = items.arrival_rate;
        }
    }
    rsti_network_publication_update_repair(publication);
}

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
