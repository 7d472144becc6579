/* repair_sender.c: what a sender does better when it knows that its receivers are rstream and how
 * far they are away (docs/wire.md, "Repair"): it answers many NAKs at once, forgets them after a
 * round trip, and tells the end of a burst soon.
 *
 * Tail law: while the slowest receiver has not consumed all that was sent, the n-th heartbeat after
 * the last data leaves  T * 2^(n - 1)  after what was sent before it, T = round trip / 4 within
 * [TAIL_MIN_NS, TAIL_MAX_NS]; never later than the common interval. So a burst costs at most
 * log2(interval / T) more of them, and a lost last datagram is missed after T instead of 100 ms. */
#include "driver/internal.h"

#include "protocol/sm_demand.h"
#include "protocol/sm_fill.h"
#include "protocol/sm_items.h"
#include "util/error.h"

#include <inttypes.h>
#include <stdio.h>

#define TAIL_MIN_NS RSTI_NS_PER_MS
#define TAIL_MAX_NS (25 * RSTI_NS_PER_MS)

typedef struct items_t {
    int64_t rtt_ns;
    int64_t arrival_rate;
    bool has_fill;
    rsti_sm_fill_t fill;
    bool has_demand;
    rsti_sm_demand_t demand;
    bool has_budget;
    rsti_sm_budget_t budget;
} items_t;

static void on_item(void *arg, uint8_t type, const uint8_t *value, uint8_t length)
{
    items_t *items = arg;
    if (type == RSTI_SM_ITEM_ROUND_TRIP && length >= sizeof items->rtt_ns) {
        items->rtt_ns = rsti_get_i64(value);
    } else if (type == RSTI_SM_ITEM_ARRIVAL_RATE && length >= sizeof items->arrival_rate) {
        items->arrival_rate = rsti_get_i64(value);
    } else if (type == RSTI_SM_ITEM_FILL && length >= RSTI_SM_FILL_LENGTH) {
        rsti_sm_fill_decode(&items->fill, value);
        items->has_fill = true;
    } else if (type == RSTI_SM_ITEM_DEMAND && length >= RSTI_SM_DEMAND_LENGTH) {
        rsti_sm_demand_decode(&items->demand, value);
        items->has_demand = true;
    } else if (type == RSTI_SM_ITEM_BUDGET && length >= RSTI_SM_BUDGET_LENGTH) {
        rsti_sm_budget_decode(&items->budget, value);
        items->has_budget = true;
    }
}

void rsti_network_publication_update_repair(rsti_network_publication_t *publication)
{
    int64_t rtt_ns = 0, rate = INT64_MAX;
    bool is_known = true;
    for (int32_t i = 0; i < publication->receiver_count; i++) {
        is_known = is_known && publication->receivers[i].rtt_ns > 0;
        rtt_ns = rsti_max_i64(rtt_ns, publication->receivers[i].rtt_ns);
        rate = rsti_min_i64(rate, publication->receivers[i].arrival_rate);
    }
    publication->send_rate.rtt_ns = rtt_ns;
    publication->rtt_ns = publication->retransmit.is_group || !is_known ? 0 : rtt_ns;
    rsti_pacer_set(&publication->pacer, publication->rtt_ns > 0 ? rate : 0, publication->rtt_ns);
    rsti_retransmit_set_rtt(&publication->retransmit, publication->rtt_ns);
}

static void on_round_trip(rsti_network_publication_t *publication, const rsti_sm_t *sm,
    const items_t *items)
{
    for (int32_t i = 0; i < publication->receiver_count; i++) {
        if (publication->receivers[i].receiver_id == sm->receiver_id) {
            publication->receivers[i].rtt_ns = items->rtt_ns;
            publication->receivers[i].arrival_rate = items->arrival_rate;
        }
    }
    rsti_network_publication_update_repair(publication);
}

static void on_fill(rsti_sender_t *sender, rsti_network_publication_t *publication,
    const rsti_sm_t *sm, const items_t *items, int64_t now_ns)
{
    const rsti_fill_report_t report = {
        .receiver_id = sm->receiver_id,
        .strength = items->fill.strength,
        .fill = items->fill.fill,
        .drain = (double)items->fill.drain,
        .drain_all = (double)items->fill.drain_all,
        .variation = items->fill.variation,
        .sender_count = items->fill.sender_count,
        .buffer_bytes = items->fill.buffer_bytes,
        .rtt_ns = items->rtt_ns,
    };
    const rsti_report_result_t result = rsti_send_rate_on_report(&publication->send_rate, &report,
        rsti_load_relaxed_i64(&publication->position), now_ns);
    if (result == RSTI_REPORT_ECHO && publication->is_group) {
        rsti_datagram_t echo = {
            .data = (uint8_t *)(uintptr_t)sm, .length = (size_t)sm->frame.frame_length};
        (void)rsti_send_endpoint_send(sender, publication->endpoint, &echo, 1);
    }
    if (result != RSTI_REPORT_LIE) {
        return;
    }
    char text[224];
    snprintf(text, sizeof text,
        "sender: receiver %" PRId64 " of stream %" PRId32 " session %" PRId32
        " tells fills that its own status messages contradict: its fill NAKs are ignored",
        sm->receiver_id, publication->base.stream_id, publication->base.session_id);
    rsti_driver_log_error(sender->driver, RST_EINVAL, text);
}

/* By the way of the data, so each receiver hears it; only after one of ours has spoken, so a stream
 * that only Aeron's receivers read carries nothing of it. */
static void tell_target(rsti_sender_t *sender, rsti_network_publication_t *publication,
    int64_t target_ns)
{
    const rsti_log_t *log = &publication->base.file.log;
    const int64_t snd_pos = rsti_load_relaxed_i64(&publication->position);
    uint8_t frame[RSTI_SM_ITEMS_OFFSET + RSTI_SM_ITEMS_MAX] = {0};
    rsti_sm_items_writer_t writer;
    rsti_sm_items_begin(&writer, frame + RSTI_SM_ITEMS_OFFSET, RSTI_SM_ITEMS_MAX);
    (void)rsti_sm_items_add(&writer, RSTI_SM_ITEM_TARGET_DELAY, &target_ns, sizeof target_ns);
    const size_t length = RSTI_SM_ITEMS_OFFSET + rsti_sm_items_end(&writer);
    const rsti_sm_t sm = {
        .frame = {(int32_t)length, 0, 0, RSTI_FRAME_SM},
        .session_id = publication->base.session_id,
        .stream_id = publication->base.stream_id,
        .consumption_term_id = rsti_position_term_id(snd_pos, log->position_bits,
            log->initial_term_id),
        .consumption_term_offset = rsti_position_offset(snd_pos, log->term_length),
    };
    memcpy(frame, &sm, sizeof sm);
    (void)rsti_network_publication_send_frame(sender, publication, frame, length);
}

static void check_target(rsti_sender_t *sender, rsti_network_publication_t *publication,
    bool is_report, int64_t now_ns)
{
    const int64_t target_ns = rsti_send_rate_target_due(&publication->send_rate, is_report, now_ns);
    if (target_ns > 0) {
        tell_target(sender, publication, target_ns);
    }
}

static bool read_items(const rsti_sm_t *sm, items_t *items)
{
    *items = (items_t){0};
    return sm->frame.frame_length >= RSTI_SM_ITEMS_OFFSET + RSTI_SM_ITEMS_MIN
        && rsti_sm_items_read((const uint8_t *)sm + RSTI_SM_ITEMS_OFFSET,
            (size_t)(sm->frame.frame_length - RSTI_SM_ITEMS_OFFSET), on_item, items);
}

void rsti_network_publication_on_laggard(rsti_sender_t *sender,
    rsti_network_publication_t *publication, const rsti_sm_t *sm, const rsti_sm_facts_t *facts,
    int64_t now_ns)
{
    items_t items;
    if (read_items(sm, &items) && items.has_fill) {
        rsti_send_rate_on_status(&publication->send_rate, facts->receiver_id, facts->position,
            facts->window, now_ns);
        on_fill(sender, publication, sm, &items, now_ns);
        check_target(sender, publication, true, now_ns);
    }
}

void rsti_network_publication_on_items(rsti_sender_t *sender,
    rsti_network_publication_t *publication, const rsti_sm_t *sm, int64_t now_ns)
{
    items_t items;
    if (!read_items(sm, &items)) {
        return;
    }
    if (items.rtt_ns > 0 && items.rtt_ns <= RSTI_RTT_MAX_NS) {
        on_round_trip(publication, sm, &items);
    }
    if (items.has_fill) {
        on_fill(sender, publication, sm, &items, now_ns);
    }
    if (items.has_fill || items.rtt_ns > 0) {
        check_target(sender, publication, items.has_fill, now_ns);
    }
    if (items.has_demand) {
        rsti_network_publication_on_demand(sender, publication, &items.demand);
    }
    if (items.has_budget) {
        rsti_send_budget_on_told(publication, sm->receiver_id, &items.budget);
    }
}

void rsti_network_publication_set_rate(rsti_network_publication_t *publication,
    const rsti_rate_choice_t *choice, const rsti_rate_counters_t *counters, int64_t now_ns)
{
    const bool was_limited = publication->send_rate.is_limited;
    rsti_send_rate_set(&publication->send_rate, choice, counters, now_ns);
    if (publication->send_rate.is_limited != was_limited && publication->has_initial_connection) {
        publication->is_setup_elicited = true; /* the next SETUP says whether fill is followed */
    }
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
