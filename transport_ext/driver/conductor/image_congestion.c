/* image_congestion.c: see image_congestion.h. */
#include "driver/conductor/image_congestion.h"

#include "driver/base/counters.h"
#include "driver/conductor/image_reader.h"
#include "flow/sm_due.h"

#include <inttypes.h>
#include <stdio.h>

bool rsti_image_follows_path(const rsti_image_facts_t *facts)
{
    return facts->is_proven && rsti_setup_follows_path(facts->setup);
}

/* How much of the window the socket's buffer has no room for; 0: it has, or need not. */
static int32_t excess(const rsti_image_facts_t *facts)
{
    const int32_t granted = facts->transport->granted_rcvbuf;
    const int32_t window = rsti_min_i32(facts->subscription->window, facts->setup->term_length / 2);
    return !rsti_image_follows_path(facts) && granted > 0
            && rsti_subscription_bounds_window(facts->subscription)
        ? rsti_max_i32(window - granted, 0)
        : 0;
}

int32_t rsti_image_first_window(const rsti_image_facts_t *facts)
{
    const rsti_subscription_t *subscription = facts->subscription;
    if (excess(facts) > 0) {
        return facts->transport->granted_rcvbuf;
    }
    if (!rsti_image_follows_path(facts) || subscription->is_window_given) {
        return subscription->window;
    }
    return rsti_max_i32(subscription->window,
        rsti_min_i32(facts->setup->term_length / 2, RSTI_WIDE_WINDOW));
}

void rsti_image_widen_rcvbuf(rst_driver_t *driver, const rsti_image_facts_t *facts)
{
    const rsti_media_t *media = &driver->media;
    rsti_receive_transport_t *transport = facts->transport;
    const int32_t wanted = rsti_image_follows_path(facts)
        ? RSTI_WIDE_RCVBUF
        : transport->granted_rcvbuf + excess(facts);
    if (wanted > transport->granted_rcvbuf && !facts->endpoint->is_rcvbuf_given
        && media->table->widen_rcvbuf != NULL) {
        media->table->widen_rcvbuf(media->arg, transport->socket, wanted);
        transport->granted_rcvbuf = media->table->granted_rcvbuf(media->arg, transport->socket);
    }
}

void rsti_image_tell_bound(rst_driver_t *driver, const rsti_image_facts_t *facts)
{
    rsti_subscription_t *subscription = facts->subscription;
    const int32_t granted = facts->transport->granted_rcvbuf;
    const int32_t wanted = granted + excess(facts);
    if (wanted <= granted || subscription->bound_id >= 0) {
        return;
    }
    char text[512];
    snprintf(text, sizeof text,
        "stream %" PRId32 " of %.300s: rcv-wnd=%" PRId32 " is bounded to the %" PRId32
        " bytes of the socket's receive buffer: raise %s to %" PRId32,
        subscription->stream_id, subscription->uri, wanted, granted,
        facts->endpoint->is_rcvbuf_given ? "so-rcvbuf and net.core.rmem_max" : "net.core.rmem_max",
        wanted);
    rsti_driver_log_error(driver, 0, text);
    const rsti_stream_counter_t counter = {
        .type_id = RSTI_COUNTER_WINDOW_BOUND,
        .name = "rs-window-bound",
        .registration_id = subscription->registration_id,
        .client_id = subscription->client_id,
        .stream_id = subscription->stream_id,
        .uri = subscription->uri,
        .value = wanted,
    };
    int64_t *address;
    subscription->bound_id = rsti_stream_counter_allocate(driver, &counter, &address);
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
    const int result = rsti_congestion_init(&image->congestion, &congestion);
    if (result == 0) {
        rsti_image_reader_init(driver, image, facts);
    }
    return result;
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

bool rsti_image_congestion_rebuild(const rst_driver_t *driver, rsti_image_t *image,
    const rsti_rebuild_facts_t *facts, bool is_ack_due)
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
    rsti_image_reader_look(driver, image, facts);
    due.window = congestion->law->on_rebuild(congestion, facts, &due.is_forced);
    if (image->cc_rtt_id >= 0 && congestion->rtt_ns != rtt_ns) {
        rsti_store_release_i64(image->cc_rtt, congestion->rtt_ns);
    }
    if (image->cc_window_id >= 0 && congestion->window != last_window) {
        rsti_store_release_i64(image->cc_window, congestion->window);
    }
    return rsti_sm_is_due(&due);
}
