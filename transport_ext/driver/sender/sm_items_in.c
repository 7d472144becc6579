/* sm_items_in.c: see sm_items_in.h. */
#include "driver/sender/sm_items_in.h"

#include "driver/base/driver_state.h"
#include "driver/sender/demand.h"
#include "driver/sender/repair.h"
#include "driver/sender/send_budget.h"
#include "driver/sender/send_endpoint.h"
#include "driver/sender/send_rate.h"
#include "driver/sender/slowest_receiver.h"
#include "driver/sender/transmit.h"
#include "flow/rtt.h"

#include <inttypes.h>
#include <stdio.h>

static rsti_live_receiver_t *find(const rsti_network_publication_t *publication,
    int64_t receiver_id)
{
    for (int32_t i = 0; i < publication->receiver_count; i++) {
        if (publication->receivers[i].receiver_id == receiver_id) {
            return &publication->receivers[i];
        }
    }
    return NULL;
}

static void on_round_trip(rsti_network_publication_t *publication, rsti_live_receiver_t *receiver,
    const rsti_sm_items_t *items)
{
    receiver->rtt_ns = items->rtt_ns;
    receiver->arrival_rate = items->arrival_rate;
    receiver->rtt_position = rsti_load_relaxed_i64(&publication->position);
    receiver->rtt_moved_ns = 0;
    rsti_network_publication_update_repair(publication);
}

/* A receiver measures while data moves. When it has consumed data that was sent after its last
 * measurement, and measures nothing for RSTI_ITEM_NS from then on, its round trip is not known. */
static void check_round_trip(rsti_network_publication_t *publication,
    rsti_live_receiver_t *receiver, int64_t now_ns)
{
    if (receiver->rtt_ns == 0 || receiver->position <= receiver->rtt_position) {
        return;
    }
    if (receiver->rtt_moved_ns == 0) {
        receiver->rtt_moved_ns = now_ns;
    } else if (now_ns > receiver->rtt_moved_ns + RSTI_ITEM_NS) {
        receiver->rtt_ns = 0;
        receiver->arrival_rate = 0;
        rsti_network_publication_update_repair(publication);
    }
}

static void on_fill(rsti_sender_t *sender, rsti_network_publication_t *publication,
    const rsti_sm_t *sm, const rsti_sm_items_t *items, int64_t now_ns)
{
    const rsti_fill_report_t report = {
        .receiver_id = sm->receiver_id,
        .is_clear = items->fill.is_clear,
        .fill = items->fill.fill,
        .drain = (double)items->fill.drain,
        .allowed = (double)items->fill.allowed,
        .buffer_bytes = items->fill.buffer_bytes,
        .rtt_ns = items->rtt_ns,
    };
    const rsti_report_result_t result = rsti_send_rate_on_report(&publication->send_rate, &report,
        rsti_load_relaxed_i64(&publication->position), now_ns);
    if (result == RSTI_REPORT_TAKEN || result == RSTI_REPORT_ECHO) {
        rsti_slowest_on_report(sender, publication, now_ns);
    }
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
        " reports fills that its own status messages contradict: its fill NAKs are ignored",
        sm->receiver_id, publication->base.stream_id, publication->base.session_id);
    rsti_driver_log_error(sender->driver, RST_EINVAL, text);
}

/* Sends the target delay to the destinations of the data, so that every receiver gets it. It is
 * sent only after a status message of an rstream receiver: Aeron's receivers cannot read it. */
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

void rsti_network_publication_on_laggard(rsti_sender_t *sender,
    rsti_network_publication_t *publication, const rsti_sm_t *sm, const rsti_sm_items_t *items,
    const rsti_sm_facts_t *facts, int64_t now_ns)
{
    if (items->has_fill) {
        rsti_send_rate_on_status(&publication->send_rate, facts->receiver_id, facts->position,
            facts->window, now_ns);
        on_fill(sender, publication, sm, items, now_ns);
        check_target(sender, publication, true, now_ns);
    }
}

void rsti_network_publication_on_items(rsti_sender_t *sender,
    rsti_network_publication_t *publication, const rsti_sm_t *sm, const rsti_sm_items_t *items,
    int64_t now_ns)
{
    rsti_live_receiver_t *receiver = find(publication, sm->receiver_id);
    if (receiver != NULL && items->rtt_ns > 0 && items->rtt_ns <= RSTI_RTT_MAX_NS) {
        on_round_trip(publication, receiver, items);
    } else if (receiver != NULL) {
        check_round_trip(publication, receiver, now_ns);
    }
    if (items->has_fill) {
        on_fill(sender, publication, sm, items, now_ns);
    }
    if (items->has_fill || items->rtt_ns > 0) {
        check_target(sender, publication, items->has_fill, now_ns);
    }
    if (items->has_path) {
        /* Not the time of the pass: it came after that began, and would seem to come sooner. */
        rsti_send_path_on_item(&publication->send_path, &items->path,
            rsti_clock_nano_time(&sender->driver->clock));
    }
    if (items->has_demand) {
        rsti_network_publication_on_demand(sender, publication, &items->demand, now_ns);
    } else {
        rsti_network_publication_check_demand(sender, publication, now_ns);
    }
    if (items->has_budget) {
        rsti_send_budget_on_told(publication, sm->receiver_id, &items->budget, now_ns);
    }
}
