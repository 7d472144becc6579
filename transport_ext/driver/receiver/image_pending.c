/* image_pending.c: see image_pending.h. */
#include "driver/receiver/image_pending.h"

#include "concurrent/sequence.h"
#include "driver/base/driver_state.h"
#include "driver/receiver/image_budget.h"
#include "driver/receiver/image_connections.h"
#include "driver/receiver/image_demand.h"
#include "driver/receiver/image_fill.h"
#include "driver/receiver/image_noop.h"
#include "driver/receiver/image_path.h"
#include "driver/receiver/image_repair.h"
#include "driver/receiver/image_rtt.h"
#include "driver/receiver/image_send.h"
#include "driver/receiver/wake_readers.h"

static void count_active_transports(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns)
{
    int32_t active = 0;
    for (int32_t i = 0; i < image->connection_capacity; i++) {
        const rsti_connection_t *connection = &image->connections[i];
        active += connection->transport != NULL
            && now_ns <= connection->last_frame_ns + receiver->driver->params.image_liveness_ns;
    }
    rsti_store_release_i32(&image->file.log.metadata->active_transport_count, active);
}

static void check_sm(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns)
{
    /* Read before the position, because the conductor writes the last position before this word. */
    const bool is_draining = rsti_load_acquire_i32(&image->is_draining) != 0;
    rsti_image_sm_t sm;
    const int64_t change = RSTI_MAILBOX_READ(&image->sm, &sm);
    if (change == RSTI_MAILBOX_TORN) {
        return; /* half written: the next pass reads it again */
    }
    const int64_t position = sm.position, window = sm.window, cut = sm.window_cut;
    const bool is_first_eos = is_draining && !image->is_eos_sm_sent;
    const bool is_repeat = rsti_sm_repeat_is_due(&image->sm_repeat,
        rsti_load_relaxed_i64(&image->high_water), image->mtu, now_ns);
    if (change == image->sm_seen && now_ns <= image->sm_due_ns && !is_first_eos && !is_repeat) {
        return;
    }
    if (rsti_load_acquire_i32(&image->is_rejected)) {
        if (now_ns > image->sm_due_ns) {
            rsti_image_send_err(receiver, image, now_ns);
            image->sm_due_ns = now_ns + receiver->driver->params.sm_timeout_ns;
        }
        image->sm_seen = change;
        rsti_sm_repeat_init(&image->sm_repeat); /* an error frame was sent: nothing to repeat */
        return;
    }
    if (is_draining && image->leave_reason != NULL) {
        rsti_image_send_why(receiver, image, position, window, now_ns);
    }
    rsti_store_release_i64(&image->last_sm_position, position);
    image->last_sm_window = window;
    if (!is_draining) {
        rsti_image_path_introduce(receiver, image, now_ns);
    }
    if (cut == window) {
        rsti_image_send_sm(receiver, image, RSTI_SOURCES_ALL, position, window, is_draining,
            now_ns);
    } else {
        rsti_image_send_sm(receiver, image, RSTI_SOURCES_RSTREAM, position, window, is_draining,
            now_ns);
        rsti_image_send_sm(receiver, image, RSTI_SOURCES_AERON, position, cut, is_draining, now_ns);
    }
    image->sm_seen = change;
    image->is_eos_sm_sent = image->is_eos_sm_sent || is_first_eos;
    /* An rstream source sends up to the end of the whole window. With one among the sources, the
     * high-water mark cannot show whether an Aeron source has used up its smaller window. */
    rsti_sm_repeat_on_sent(&image->sm_repeat,
        position + (rsti_load_relaxed_i32(&image->has_rstream) ? window : cut),
        receiver->driver->params.sm_timeout_ns);
    image->overrun_threshold = rsti_max_i64(image->overrun_threshold,
        position + image->file.log.term_length / 2);
    image->sm_due_ns = now_ns + receiver->driver->params.sm_timeout_ns;
    count_active_transports(receiver, image, now_ns);
}

static void check_loss(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns)
{
    rsti_image_loss_t loss;
    if (!RSTI_MAILBOX_READ_NEW(&image->loss_found, &image->loss_seen, &loss)) {
        return; /* nothing new, or half written: the next pass reads it again */
    }
    const rsti_gap_t gap = {
        .term_id = (int32_t)loss.term_id,
        .term_offset = (int32_t)loss.term_offset,
        .length = (int32_t)loss.length,
    };
    if (!image->is_reliable) {
        if (rsti_term_gap_fill(&image->file.log, &gap)) {
            rsti_driver_count(receiver->driver, RSTI_SYSTEM_LOSS_GAP_FILLS, 1);
            rsti_receiver_touch(receiver, image);
            rsti_driver_wake_agent(receiver->driver, RSTI_AGENT_CONDUCTOR);
        }
        return;
    }
    const rsti_nak_t nak = {
        .frame = {RSTI_NAK_LENGTH, 0, 0, RSTI_FRAME_NAK},
        .session_id = image->session_id,
        .stream_id = image->stream_id,
        .term_id = gap.term_id,
        .term_offset = gap.term_offset,
        .length = gap.length,
    };
    rsti_image_send_nak(receiver, image, &nak, now_ns);
}

/* Sends the session id of the response publication, until that publication has a receiver
 * (docs/reference/aeron/wire.md 14). Returns when to send it again. */
static int64_t check_response(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns)
{
    const int64_t session = rsti_load_acquire_i64(&image->response_session);
    if (session == RSTI_NO_SESSION) {
        return RSTI_NO_DEADLINE;
    }
    if (session != image->response_told || now_ns > image->response_due_ns) {
        const rsti_rsp_setup_t setup = {
            .frame = {RSTI_RSP_SETUP_LENGTH, 0, 0, RSTI_FRAME_RSP_SETUP},
            .session_id = image->session_id,
            .stream_id = image->stream_id,
            .response_session_id = (int32_t)session,
        };
        (void)rsti_image_send_to_live(receiver, image, &setup, sizeof setup, now_ns);
        image->response_told = session;
        image->response_due_ns = now_ns + receiver->driver->params.sm_timeout_ns;
    }
    return image->response_due_ns + 1;
}

/* Sends demand, budget and NOOP answers when one of them is new. */
static void check_words(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns)
{
    const bool has_demand = rsti_image_demand_pending(&image->demand);
    const bool has_budget = rsti_image_budget_pending(&image->budget);
    const bool has_noop = rsti_image_noop_pending(&image->noop);
    if ((has_demand || has_budget || has_noop) && !rsti_load_acquire_i32(&image->is_rejected)) {
        rsti_image_send_items(receiver, image, NULL, now_ns);
    }
}

static void check_fill(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns)
{
    rsti_fill_item_t item;
    if (!rsti_image_fill_pending(&image->fill, &item)
        || rsti_load_acquire_i32(&image->is_rejected)) {
        return;
    }
    rsti_image_send_items(receiver, image, item.bytes, now_ns);
    if (image->fill.told_naks != NULL) {
        rsti_add_single_writer_i64(image->fill.told_naks, 1);
    }
}

void rsti_image_supersede(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns)
{
    rsti_image_sm_t sm;
    if (RSTI_MAILBOX_READ(&image->sm, &sm) == RSTI_MAILBOX_TORN) { /* no later pass says goodbye */
        sm.position = rsti_load_relaxed_i64(&image->last_sm_position);
        sm.window = image->last_sm_window;
    }
    if (!image->is_superseded && !rsti_load_acquire_i32(&image->is_displaced)) {
        rsti_image_send_sm(receiver, image, RSTI_SOURCES_ALL, sm.position, sm.window, true, now_ns);
    }
    image->is_superseded = true;
}

int64_t rsti_image_send_pending(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns)
{
    if (image->is_superseded) {
        return RSTI_NO_DEADLINE;
    }
    const int64_t proof_due_ns = rsti_image_check_proof(receiver, image, now_ns);
    check_words(receiver, image, now_ns); /* first: a grant must arrive before its window */
    check_sm(receiver, image, now_ns);
    check_loss(receiver, image, now_ns);
    rsti_image_check_rtt(receiver, image, now_ns);
    check_fill(receiver, image, now_ns);
    int64_t repair_due_ns = rsti_image_repair_pending(receiver, image, now_ns);
    repair_due_ns = rsti_min_i64(repair_due_ns, /* after the NAKs, which it counts */
        rsti_image_path_pending(receiver, image, now_ns));
    const int64_t response_due_ns = check_response(receiver, image, now_ns);
    const int64_t sm_due_ns = rsti_with_slack(image->sm_due_ns + 1,
        receiver->driver->params.sm_timeout_ns, now_ns);
    return rsti_min_i64(rsti_min_i64(rsti_min_i64(repair_due_ns, response_due_ns), proof_due_ns),
        rsti_min_i64(sm_due_ns, image->sm_repeat.due_ns));
}
