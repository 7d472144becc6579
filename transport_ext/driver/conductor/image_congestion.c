/* image_congestion.c: see image_congestion.h. */
#include "driver/conductor/image_congestion.h"

#include "driver/base/counters.h"
#include "flow/sm_due.h"

int32_t rsti_image_first_window(const rsti_image_facts_t *facts)
{
    const rsti_subscription_t *subscription = facts->subscription;
    if (!facts->is_proven || subscription->is_window_given
        || !rsti_setup_follows_path(facts->setup)) {
        return subscription->window;
    }
    return rsti_max_i32(subscription->window,
        rsti_min_i32(facts->setup->term_length / 2, RSTI_WIDE_WINDOW));
}

int rsti_image_congestion_init(rst_driver_t *driver, rsti_image_t *image,
    const rsti_image_facts_t *facts, int64_t now_ns)
{
    const rst_driver_params_t *params = &driver->params;
    const rsti_congestion_params_t congestion = {
        .cc_text = facts->subscription->cc,
        .default_text = params->congestion_control,
        .window = rsti_image_first_window(facts),
        .term_length = facts->setup->term_length,
        .mtu = facts->setup->mtu,
        .now_ns = now_ns,
        .cubic_measure_rtt = params->cubic_measure_rtt != 0,
        .cubic_tcp_mode = params->cubic_tcp_mode != 0,
        .cubic_initial_rtt_ns = params->cubic_initial_rtt_ns,
    };
    rsti_rtt_init(&image->rtt);
    image->is_acked_soon = (facts->setup->frame.flags & RSTI_SETUP_FLAG_RSTREAM) != 0;
    return rsti_congestion_init(&image->congestion, &congestion);
}

/* Allocated before the other counters of the image (docs/reference/aeron/memory.md 18). */
int rsti_image_congestion_counters(rst_driver_t *driver, rsti_image_t *image)
{
    const rsti_congestion_t *congestion = &image->congestion;
    if (congestion->law->rtt_counter == NULL) {
        return 0;
    }
    rsti_stream_counter_t counter = {
        .type_id = RSTI_COUNTER_PER_IMAGE,
        .name = congestion->law->rtt_counter,
        .registration_id = image->correlation_id,
        .client_id = -1,
        .session_id = image->session_id,
        .stream_id = image->stream_id,
        .uri = image->uri,
        .value = congestion->rtt_ns,
    };
    image->cc_rtt_id = rsti_stream_counter_allocate(driver, &counter, &image->cc_rtt);
    counter.name = congestion->law->window_counter;
    counter.value = congestion->window;
    image->cc_window_id = rsti_stream_counter_allocate(driver, &counter, &image->cc_window);
    return image->cc_rtt_id < 0 || image->cc_window_id < 0 ? -rst_last_error_code() : 0;
}

void rsti_image_congestion_fini(rst_driver_t *driver, rsti_image_t *image)
{
    rsti_counter_release(driver, &image->cc_rtt_id);
    rsti_counter_release(driver, &image->cc_window_id);
}

bool rsti_image_congestion_rebuild(rsti_image_t *image, const rsti_rebuild_facts_t *facts,
    bool is_ack_due)
{
    rsti_congestion_t *congestion = &image->congestion;
    const int64_t rtt_ns = congestion->rtt_ns;
    const int32_t last_window = congestion->window;
    rsti_sm_due_t due = {
        .consumed = facts->consumed,
        .position = image->next_sm_position,
        .last_window = image->next_sm_window,
        .position_bits = image->file.log.position_bits,
        .is_ack_due = is_ack_due,
    };
    due.window = congestion->law->on_rebuild(congestion, facts, &due.is_forced);
    if (image->cc_rtt_id >= 0 && congestion->rtt_ns != rtt_ns) {
        rsti_store_release_i64(image->cc_rtt, congestion->rtt_ns);
    }
    if (image->cc_window_id >= 0 && congestion->window != last_window) {
        rsti_store_release_i64(image->cc_window, congestion->window);
    }
    return rsti_sm_is_due(&due);
}
