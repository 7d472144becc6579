/* image_repair.c: see image_repair.h. */
#include "driver/receiver/image_repair.h"

#include "driver/base/driver_state.h"
#include "driver/receiver/image_send.h"

void rsti_image_repair_init(rsti_image_t *image, bool may_repair, int64_t delay_ns)
{
    image->is_repaired = may_repair;
    rsti_arrival_init(&image->arrival);
    rsti_repair_init(&image->repair, image->join_position, image->file.log.term_length, delay_ns);
}

void rsti_image_repair_on_data(rsti_image_t *image, int64_t begin, int64_t end, int64_t now_ns)
{
    if (rsti_load_relaxed_i32(&image->is_repaired)) {
        (void)rsti_repair_on_data(&image->repair, begin, end, now_ns);
        if (image->rtt.smoothed_ns >= RSTI_PACE_RTT_MIN_NS) {
            rsti_arrival_on_data(&image->arrival, end - begin, image->rtt.smoothed_ns, now_ns);
        }
    }
}

/* Once an Aeron source has joined, the conductor repairs the image by Aeron's rules for good. */
static bool is_still_repaired(rsti_image_t *image)
{
    for (int32_t i = 0; i < image->connection_capacity; i++) {
        if (image->connections[i].transport != NULL && !image->connections[i].is_rstream) {
            rsti_store_release_i32(&image->is_repaired, 0);
            return false;
        }
    }
    return true;
}

typedef struct ask_t {
    rsti_receiver_t *receiver;
    rsti_image_t *image;
    int64_t now_ns;
} ask_t;

/* Puts a loss into the ring for the report. When the ring is full, the conductor is 32 losses
 * behind, and the report lacks this one. */
static void report_lost(rsti_receiver_t *receiver, rsti_image_t *image, int64_t begin, int64_t end)
{
    const int64_t tail = rsti_load_relaxed_i64(&image->lost_tail);
    if (tail - rsti_load_acquire_i64(&image->lost_head) < RSTI_IMAGE_LOST_MAX) {
        image->lost[tail % RSTI_IMAGE_LOST_MAX].begin = begin;
        image->lost[tail % RSTI_IMAGE_LOST_MAX].end = end;
        rsti_store_release_i64(&image->lost_tail, tail + 1);
        rsti_driver_wake_agent(receiver->driver, RSTI_AGENT_CONDUCTOR);
    }
}

static void send_nak(void *arg, int64_t begin, int64_t end, bool is_first)
{
    const ask_t *ask = arg;
    rsti_receiver_t *receiver = ask->receiver;
    rsti_image_t *image = ask->image;
    const rsti_log_t *log = &image->file.log;
    const rsti_nak_t nak = {
        .frame = {RSTI_NAK_LENGTH, 0, 0, RSTI_FRAME_NAK},
        .session_id = image->session_id,
        .stream_id = image->stream_id,
        .term_id = rsti_position_term_id(begin, log->position_bits, log->initial_term_id),
        .term_offset = rsti_position_offset(begin, log->term_length),
        .length = (int32_t)(end - begin),
    };
    rsti_image_send_nak(receiver, image, &nak, ask->now_ns);
    if (is_first) {
        rsti_image_path_on_lost(image, begin, end);
        report_lost(receiver, image, begin, end);
    }
}

void rsti_image_repair_on_rtt(rsti_image_t *image)
{
    rsti_repair_on_rtt(&image->repair, image->rtt.smoothed_ns, image->rtt.deviation_ns,
        image->rtt.least_ns);
    rsti_sm_repeat_on_rtt(&image->sm_repeat, image->rtt.least_ns);
    image->has_news = true;
}

int64_t rsti_image_repair_pending(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns)
{
    if (!rsti_load_relaxed_i32(&image->is_repaired) || !is_still_repaired(image)
        || rsti_load_acquire_i32(&image->is_rejected)) {
        return RSTI_NO_DEADLINE;
    }
    ask_t ask = {receiver, image, now_ns};
    rsti_repair_scan(&image->repair, &image->file.log, now_ns);
    rsti_repair_ask(&image->repair, now_ns, send_nak, &ask);
    if (image->has_news) {
        image->has_news = false;
        rsti_image_send_items(receiver, image, NULL, now_ns);
    }
    return image->repair.next_due_ns;
}
