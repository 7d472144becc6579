/* image_fill.c: see image_fill.h. */
#include "driver/conductor/image_fill.h"

#include "concurrent/sequence.h"
#include "driver/base/counters.h"
#include "driver/base/driver_state.h"
#include "driver/base/tether.h"

#define LOOK_LEAST_NS (RSTI_NS_PER_MS / 4)
#define LOOK_MOST_NS (2 * RSTI_NS_PER_MS)
#define LOOKS 8 /* least number of checks in one measuring window */
#define DRAIN_ALL_NS RSTI_NS_PER_S /* an image with data in this time shares the consumer */

void rsti_image_fill_init(const rst_driver_t *driver, rsti_image_t *image)
{
    rsti_image_fill_t *state = &image->fill;
    rsti_fill_init(&state->fill, 0);
    rsti_fill_set_detect(&state->fill, driver->params.fill_detect_ns);
    rsti_fill_suppress_init(&state->suppress);
    rsti_fill_demand_init(&state->demand);
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
    if (counter != NULL && rsti_load_relaxed_i64(counter) != (int64_t)value) {
        rsti_store_release_i64(counter, (int64_t)value);
    }
}

/* Adds the drain rates and the number of the other active sessions of this stream on the same
 * endpoint: they share the consumer. */
static void share_drain(const rst_driver_t *driver, const rsti_image_t *image, int64_t now_ns,
    rsti_fill_report_t *report)
{
    const rsti_ptr_array_t *images = &driver->conductor->images;
    for (size_t i = 0; i < images->count; i++) {
        const rsti_image_t *other = images->items[i];
        if (other != image && other->endpoint == image->endpoint
            && other->stream_id == image->stream_id && other->life == RSTI_LIFE_ACTIVE
            && now_ns - rsti_load_acquire_i64(&other->last_packet_ns) < DRAIN_ALL_NS) {
            report->drain_all += other->fill.fill.drain;
            report->sender_count++;
        }
    }
}

static void publish(rst_driver_t *driver, rsti_image_t *image, int64_t now_ns)
{
    rsti_image_fill_t *state = &image->fill;
    rsti_fill_report_t report;
    rsti_fill_report(&state->fill, &report);
    share_drain(driver, image, now_ns, &report);
    rsti_fill_report_clean(&report);
    const rsti_sm_fill_t fill = {
        .strength = report.strength,
        .fill = report.fill,
        .variation = report.variation,
        .sender_count = report.sender_count,
        .drain = (int64_t)report.drain,
        .drain_all = (int64_t)report.drain_all,
        .buffer_bytes = report.buffer_bytes,
    };
    rsti_fill_item_t item;
    rsti_sm_fill_encode(&fill, item.bytes);
    RSTI_MAILBOX_WRITE(&state->mailbox, &item);
    rsti_fill_on_told(&state->fill, report.strength);
    rsti_driver_wake_agent(driver, RSTI_AGENT_RECEIVER);
}

/* The time of the next check: soon when a report may become due, else when enough data has
 * arrived. */
static int64_t next_look(rsti_image_fill_t *state, int64_t now_ns)
{
    const rsti_fill_t *fill = &state->fill;
    const double near = fill->reaction.fill_low / 2.0;
    const bool is_near = fill->fill >= near || fill->strength > 0;
    const int64_t look_ns = rsti_clamp_i64(fill->reaction.window_ns / LOOKS, LOOK_LEAST_NS,
        LOOK_MOST_NS);
    const int64_t position = fill->consumed + (int64_t)(near * (double)fill->buffer_bytes);
    rsti_store_release_i64(&state->wake_ns, now_ns + look_ns);
    rsti_store_release_i64(&state->wake_position, is_near ? INT64_MAX : position);
    int64_t due_ns = rsti_min_i64(rsti_fill_due_ns(fill),
        rsti_fill_suppress_due_ns(&state->suppress));
    return is_near ? rsti_min_i64(due_ns, now_ns + look_ns) : due_ns;
}

/* The bytes of the window that the readers will consume: the least demand that a reader reports.
 * Another process writes these words; rsti_fill_buffer limits impossible values. */
static int64_t buffer_of(rsti_image_t *image, int64_t now_ns)
{
    rsti_image_fill_t *state = &image->fill;
    /* The whole memory, not the current window. A window that tunes itself is what the receiver
     * requests, so it would always seem full. */
    const int64_t window = image->congestion.max_window;
    int64_t demand = -1, mean_bytes = 0;
    for (int32_t i = 0; i < image->subscribers.count; i++) {
        const rsti_subscriber_t *subscriber = &image->subscribers.items[i];
        const rsti_counter_value_t *value = (const void *)subscriber->position;
        const rsti_position_ext_t *ext = (const void *)value->spare;
        if (!rsti_tether_is_working(&subscriber->tether)
            || rsti_load_acquire_i32(&ext->magic) != RSTI_EXT_MAGIC) {
            continue;
        }
        const int64_t wanted = rsti_load_relaxed_i64(&ext->demand);
        if (wanted >= 0 && wanted != INT64_MAX && (demand < 0 || wanted < demand)) {
            demand = wanted;
            mean_bytes = rsti_load_relaxed_i64(&ext->mean_bytes);
        }
    }
    if (demand < 0 || mean_bytes <= 0) {
        return window;
    }
    rsti_fill_demand_set(&state->demand, demand, state->fill.reaction.reach_ns, now_ns);
    return rsti_fill_buffer(window, rsti_fill_demand_highest(&state->demand), mean_bytes,
        image->mtu);
}

/* Takes the last report of another receiver of the group. Several reports since the last check
 * count as one. */
static void take_heard(rsti_image_fill_t *state)
{
    const int64_t count = rsti_load_acquire_i64(&state->heard_count);
    if (count != state->heard_seen) {
        const int64_t bits = rsti_load_relaxed_i64(&state->heard_bits);
        double strength;
        memcpy(&strength, &bits, sizeof strength);
        state->heard_seen = count;
        rsti_fill_suppress_on_heard(&state->suppress, &state->fill, strength);
    }
}

/* For a source that ignores fill reports. The window for Aeron sources may react instead. */
static int64_t look_for_window(rsti_image_t *image, bool is_due, int64_t now_ns)
{
    if (!rsti_load_acquire_i32(&image->window_cut.has_aeron)) {
        return RSTI_NO_DEADLINE;
    }
    if (is_due) {
        rsti_fill_on_told(&image->fill.fill, image->fill.fill.strength);
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
    const rsti_fill_facts_t facts = {
        .now_ns = now_ns,
        .received = is_overrun ? found->hwm : found->to,
        .highest = found->hwm,
        .consumed = found->consumed,
        .buffer_bytes = buffer_of(image, now_ns),
        .rtt_ns = found->rtt_ns,
    };
    const bool is_due = rsti_fill_update(&state->fill, &facts);
    tell(state->told_fill, state->fill.fill * 1000.0);
    tell(state->told_drain, state->fill.drain);
    if (!rsti_load_acquire_i32(&state->is_wanted)) {
        return look_for_window(image, is_due, now_ns);
    }
    const bool is_group = image->file.log.metadata->group != 0;
    take_heard(state);
    const double group_size = is_group ? (double)driver->params.nak_group_size : 1.0;
    const double unit = is_group && is_due ? rsti_rng_unit(&driver->conductor->rng) : 0.0;
    if (rsti_fill_suppress_is_due(&state->suppress, &state->fill, is_due, group_size, unit)) {
        publish(driver, image, now_ns);
    }
    return next_look(state, now_ns);
}
