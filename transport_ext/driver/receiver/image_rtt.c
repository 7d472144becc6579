/* image_rtt.c: see image_rtt.h. */
#include "driver/receiver/image_rtt.h"

#include "driver/receiver/image_repair.h"
#include "driver/receiver/image_send.h"
#include "util/siphash.h"

#define INTERVAL_ROUND_TRIPS 4

static bool is_asked(const rsti_image_t *image, const rsti_connection_t *connection, int64_t now_ns)
{
    return connection->transport != NULL
        && now_ns <= connection->last_activity_ns + RSTI_CONNECTION_ACTIVITY_NS
        && (connection->is_rstream || image->congestion.is_measuring
            || image->window_cut.is_wanted);
}

void rsti_image_check_rtt(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns)
{
    const int64_t hwm = rsti_load_relaxed_i64(&image->high_water);
    if (!rsti_rtt_is_ask_due(&image->rtt, now_ns)
        || (hwm == image->rtt_asked_hwm && image->rtt.ask_due_ns != INT64_MIN)) {
        return;
    }
    const rsti_rttm_t request = {
        .frame = {RSTI_RTTM_LENGTH, 0, RSTI_RTTM_FLAG_REPLY, RSTI_FRAME_RTTM},
        .session_id = image->session_id,
        .stream_id = image->stream_id,
        .echo_timestamp = now_ns ^ image->rtt_key,
        .receiver_id = image->endpoint->receiver_id,
    };
    bool has_asked = false;
    for (int32_t i = 0; i < image->connection_capacity; i++) {
        rsti_connection_t *connection = &image->connections[i];
        if (is_asked(image, connection, now_ns)) {
            has_asked = true;
            (void)rsti_connection_send(receiver, connection, &request, sizeof request);
        }
    }
    if (!has_asked) {
        image->rtt.ask_due_ns = now_ns + RSTI_RTT_ASK_FIRST_NS; /* no live source to ask */
        return;
    }
    image->rtt_asked_hwm = hwm;
    rsti_rtt_on_asked(&image->rtt, now_ns);
    if (image->congestion.rtt_floor_ns > 0) {
        image->rtt.ask_due_ns = now_ns + 1
            + INTERVAL_ROUND_TRIPS
                * rsti_max_i64(image->rtt.smoothed_ns, image->congestion.rtt_floor_ns);
    }
}

bool rsti_image_on_rtt_answer(rsti_image_t *image, const rsti_rttm_t *rttm, int64_t now_ns)
{
    if (!rsti_rtt_on_answer(&image->rtt, rttm->echo_timestamp ^ image->rtt_key,
            rttm->reception_delta, now_ns)) {
        return false;
    }
    rsti_store_release_i64(&image->rtt_least_ns, image->rtt.least_ns);
    rsti_store_release_i64(&image->rtt_ns, image->rtt.smoothed_ns);
    rsti_image_repair_on_rtt(image);
    return true;
}

int64_t rsti_image_rtt_key(const rsti_receiver_t *receiver, const rsti_image_t *image)
{
    return (int64_t)rsti_siphash(receiver->candidates.key, &image->correlation_id,
        sizeof image->correlation_id);
}
