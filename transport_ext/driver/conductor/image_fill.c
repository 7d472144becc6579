/* image_fill.c: see image_fill.h. */
#include "driver/conductor/image_fill.h"

#include "concurrent/sequence.h"
#include "driver/base/counters.h"
#include "driver/base/driver_state.h"
#include "driver/conductor/reader_messages.h"
#include "flow/fair_share.h"

#define LOOK_NS RSTI_NS_PER_MS
#define SHARING_NS RSTI_NS_PER_S /* an image with data in this time shares the consumer */

void rsti_image_fill_init(rsti_image_t *image)
{
    rsti_image_fill_t *state = &image->fill;
    rsti_fill_init(&state->fill, 0);
    rsti_fill_suppress_init(&state->suppress);
    state->fill_id = RSTI_NULL_COUNTER;
    state->drain_id = RSTI_NULL_COUNTER;
    state->naks_id = RSTI_NULL_COUNTER;
    state->wake_position = INT64_MAX;
}

static int allocate(rst_driver_t *driver, const rsti_image_t *image, int32_t type_id,
    const char *name, int32_t *id, int64_t **address)
{
    const rsti_stream_counter_t counter = {
        .type_id = type_id,
        .name = name,
        .registration_id = image->correlation_id,
        .client_id = -1,
        .session_id = image->session_id,
        .stream_id = image->stream_id,
        .uri = image->uri,
    };
    *id = rsti_stream_counter_allocate(driver, &counter, address);
    return *id < 0 ? -rst_last_error_code() : 0;
}

int rsti_image_fill_counters(rst_driver_t *driver, rsti_image_t *image, bool is_wanted)
{
    rsti_image_fill_t *state = &image->fill;
    int result = allocate(driver, image, RSTI_COUNTER_RECEIVER_FILL, "rcv-fill", &state->fill_id,
        &state->told_fill);
    if (result < 0 || !is_wanted) {
        return result;
    }
    result = allocate(driver, image, RSTI_COUNTER_RECEIVER_DRAIN, "rcv-drain", &state->drain_id,
        &state->told_drain);
    return result < 0 ? result
                      : allocate(driver, image, RSTI_COUNTER_RECEIVER_FILL_NAKS,
                            "rcv-fill-naks-sent", &state->naks_id, &state->told_naks);
}

void rsti_image_fill_fini(rst_driver_t *driver, rsti_image_t *image)
{
    rsti_counter_release(driver, &image->fill.fill_id);
    rsti_counter_release(driver, &image->fill.drain_id);
    rsti_counter_release(driver, &image->fill.naks_id);
}

static void tell(int64_t *counter, double value)
{
    if (counter != NULL) {
        rsti_store_changed_i64(counter, (int64_t)value);
    }
}

/* Part of the drain that this image may have. The active sessions of this stream on the same
 * endpoint share one consumer. */
static double fair_drain(const rst_driver_t *driver, const rsti_image_t *image, int64_t now_ns)
{
    const rsti_ptr_array_t *images = &driver->conductor->images;
    rsti_fair_sender_t senders[RSTI_FAIR_SENDERS_MAX] = {{image->fill.fill.drain, true}};
    int32_t count = 1;
    for (size_t i = 0; i < images->count && count < RSTI_FAIR_SENDERS_MAX; i++) {
        const rsti_image_t *other = images->items[i];
        const rsti_fill_t *fill = &other->fill.fill;
        if (other != image && other->endpoint == image->endpoint
            && other->stream_id == image->stream_id && other->life == RSTI_LIFE_ACTIVE
            && now_ns - rsti_load_acquire_i64(&other->last_packet_ns) < SHARING_NS) {
            senders[count++] = (rsti_fair_sender_t){
                fill->is_reporting ? fill->drain : fill->taking, fill->is_reporting};
        }
    }
    return rsti_fair_share(senders, count);
}

static void publish(rst_driver_t *driver, rsti_image_t *image, bool is_clear, int64_t now_ns)
{
    rsti_image_fill_t *state = &image->fill;
    rsti_fill_report_t report;
    rsti_fill_report(&state->fill, fair_drain(driver, image, now_ns), is_clear, &report);
    rsti_fill_report_clean(&report);
    const rsti_sm_fill_t fill = {
        .is_clear = is_clear,
        .fill = report.fill,
        .drain = (int64_t)report.drain,
        .allowed = (int64_t)report.allowed,
        .buffer_bytes = report.buffer_bytes,
    };
    rsti_fill_item_t item;
    rsti_sm_fill_encode(&fill, item.bytes);
    RSTI_MAILBOX_WRITE(&state->mailbox, &item);
    rsti_fill_on_sent(&state->fill);
    rsti_driver_wake_agent(driver, RSTI_AGENT_RECEIVER);
}

/* The time of the next check: soon when a report may become due, else when enough data has
 * arrived. */
static int64_t next_look(rsti_image_fill_t *state, int64_t now_ns)
{
    const rsti_fill_t *fill = &state->fill;
    const int64_t near = fill->set_point / 4;
    const bool is_near = fill->received - fill->consumed >= near || fill->is_reporting;
    rsti_store_release_i64(&state->wake_ns, now_ns + LOOK_NS);
    rsti_store_release_i64(&state->wake_position, is_near ? INT64_MAX : fill->consumed + near);
    int64_t due_ns = rsti_min_i64(rsti_fill_due_ns(fill),
        rsti_fill_suppress_due_ns(&state->suppress));
    return is_near ? rsti_min_i64(due_ns, now_ns + LOOK_NS) : due_ns;
}

/* Takes the last report of another receiver of the group. Several reports since the last check
 * count as one. */
static void take_heard(rsti_image_fill_t *state)
{
    const int64_t count = rsti_load_acquire_i64(&state->heard_count);
    if (count != state->heard_seen) {
        state->heard_seen = count;
        rsti_fill_suppress_on_heard(&state->suppress, &state->fill,
            (double)rsti_load_relaxed_i64(&state->heard_allowed));
    }
}

/* For a source that ignores fill reports. The window for Aeron sources may react instead. */
static int64_t look_for_window(rsti_image_t *image, bool is_due, int64_t now_ns)
{
    if (!rsti_load_acquire_i32(&image->window_cut.has_aeron)) {
        return RSTI_NO_DEADLINE;
    }
    if (is_due) {
        rsti_fill_on_sent(&image->fill.fill);
    }
    return next_look(&image->fill, now_ns);
}

int64_t rsti_image_fill_look(rst_driver_t *driver, rsti_image_t *image,
    const rsti_rebuild_facts_t *found)
{
    rsti_image_fill_t *state = &image->fill;
    const int64_t now_ns = found->now_ns;
    const int64_t target_ns = rsti_load_relaxed_i64(&state->target_ns);
    if (target_ns != state->fill.target_delay_ns && target_ns != 0) {
        rsti_fill_set_target(&state->fill, target_ns);
    }
    const bool is_overrun = found->to < rsti_load_acquire_i64(&state->overrun_until);
    const bool is_group = image->file.log.metadata->group != 0;
    /* The whole memory, not the current window. A window that tunes itself is what the receiver
     * requests, so it would always seem full. */
    const int64_t window = image->congestion.max_window;
    const rsti_fill_facts_t facts = {
        .now_ns = now_ns,
        .received = is_overrun ? found->hwm : found->to,
        .highest = found->hwm,
        .consumed = rsti_readers_read(&image->subscribers),
        .buffer_bytes = window,
        .rtt_ns = found->rtt_ns,
        .mtu = image->mtu,
        .largest = rsti_readers_message_bytes(&image->subscribers),
        .window_bytes = is_group ? 0 : window,
    };
    const rsti_fill_due_t due = rsti_fill_update(&state->fill, &facts);
    const bool is_due = due == RSTI_FILL_REPORT;
    tell(state->told_fill, state->fill.fill * 1000.0);
    tell(state->told_drain, state->fill.drain);
    if (!rsti_load_acquire_i32(&state->is_wanted)) {
        return look_for_window(image, is_due, now_ns);
    }
    take_heard(state);
    const double group_size = is_group ? (double)driver->params.nak_group_size : 1.0;
    const double unit = is_group && is_due ? rsti_rng_unit(&driver->conductor->delays) : 0.0;
    if (rsti_fill_suppress_is_due(&state->suppress, &state->fill, is_due, group_size, unit)) {
        publish(driver, image, false, now_ns);
    } else if (due == RSTI_FILL_CLEAR) {
        publish(driver, image, true, now_ns);
    }
    return next_look(state, now_ns);
}
