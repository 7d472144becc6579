/* image_insert.c: see image_insert.h. */
#include "driver/receiver/image_insert.h"

#include "driver/base/driver_state.h"
#include "driver/receiver/image.h"
#include "driver/receiver/image_connections.h"
#include "driver/receiver/image_fill.h"
#include "driver/receiver/image_noop.h"
#include "driver/receiver/image_repair.h"
#include "driver/receiver/wake_readers.h"
#include "util/fault.h"

static void wake_for_fill(rsti_receiver_t *receiver, const rsti_image_t *image, int64_t hwm)
{
    if (rsti_image_fill_is_look_due(&image->fill, hwm,
            rsti_load_relaxed_i64(&image->last_packet_ns))
        && (rsti_load_relaxed_i32(&image->fill.is_wanted)
            || rsti_load_relaxed_i32(&image->window_cut.has_aeron))) {
        rsti_driver_wake_agent(receiver->driver, RSTI_AGENT_CONDUCTOR);
    }
}

/* Raises the high-water mark. Data in order needs no conductor, because readers see it in the log.
 * Data out of order opens or closes a gap, so the conductor is woken. */
static void raise_hwm(rsti_receiver_t *receiver, rsti_image_t *image, int64_t from, int64_t to)
{
    const int64_t hwm = rsti_load_relaxed_i64(&image->high_water);
    if (to > hwm) {
        rsti_store_release_i64(&image->high_water, to);
        rsti_store_release_i64(image->hwm, to);
        wake_for_fill(receiver, image, to);
    }
    if (from != hwm) {
        rsti_driver_wake_agent(receiver->driver, RSTI_AGENT_CONDUCTOR);
    }
}

/* A heartbeat that is too old is counted and ignored. It does not keep the image alive. */
static bool is_heartbeat_in_time(rsti_receiver_t *receiver, const rsti_image_t *image,
    int64_t position)
{
    if (position >= rsti_max_i64(0, image->last_sm_position - image->file.log.term_length)) {
        return true;
    }
    rsti_driver_count(receiver->driver, RSTI_SYSTEM_FLOW_CONTROL_UNDER_RUNS, 1);
    return false;
}

static void on_noop(rsti_receiver_t *receiver, rsti_image_t *image, int64_t number)
{
    if (rsti_image_noop_is_new(&image->noop, number) && rsti_image_tells_words(image)) {
        rsti_store_release_i64(&image->noop.heard, number);
        rsti_store_release_i64(&image->file.log.metadata->ext.noop, number);
        rsti_driver_wake_log(receiver->driver, &image->file.log, RSTI_WAIT_DATA);
        rsti_driver_wake_agent(receiver->driver, RSTI_AGENT_CONDUCTOR);
    }
}

static void on_heartbeat(rsti_receiver_t *receiver, rsti_image_t *image,
    rsti_connection_t *connection, int64_t position, const rsti_data_header_t *header)
{
    const uint8_t flags = header->frame.flags;
    rsti_driver_count(receiver->driver, RSTI_SYSTEM_HEARTBEATS_RECEIVED, 1);
    raise_hwm(receiver, image, position, position);
    if (header->reserved_value != 0) {
        on_noop(receiver, image, header->reserved_value);
    }
    if ((flags & RSTI_FLAG_EOS) != 0) {
        rsti_image_on_end_of_stream(receiver, image, connection, position, flags);
    }
}

/* Something from beyond the window shows that everything up to the end of the window was sent. So
 * that is asked for.
 *
 * After a heartbeat always: the padding at the end of a term is sent at once, however long it is,
 * so the position of a sender may exceed its limit. Without this the lost end of a term would never
 * be asked for, and the sender would never get a new window.
 *
 * After data when three quarters of half a term are free: the readers of a receiver that was left
 * behind under max have caught up with what it has. */
static void ask_to_the_end(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns)
{
    const int64_t end = rsti_min_i64(image->overrun_threshold,
        rsti_load_acquire_i64(&image->reserved_until));
    const int64_t position = end & ~(int64_t)(RSTI_FRAME_ALIGNMENT - 1);
    rsti_image_repair_on_data(image, position, position, now_ns);
    raise_hwm(receiver, image, position, position);
}

/* Law: accepted data ends at or below
 *
 *     max(newest + term / 2, min(consumed + term / 2, newest + term))
 *
 * with newest the position of the newest status message. A status message is due after a quarter of
 * the window, so readers may have consumed more than the newest one says. Without the second part a
 * buffer of half a term would drop up to that quarter although there is room for it. The bound
 * newest + term is necessary because data beyond newest may be sent again, and the conductor cleans
 * up to consumed - term. */
static bool is_over_run(rsti_image_t *image, int64_t end)
{
    if (end > image->overrun_threshold) {
        image->overrun_threshold = rsti_max_i64(image->overrun_threshold,
            rsti_min_i64(rsti_load_acquire_i64(&image->room_until),
                image->last_sm_position + image->file.log.term_length));
    }
    return end > image->overrun_threshold;
}

/* Whether the log has no memory yet for bytes up to end. Memory is reserved for the window. From a
 * proven source that goes beyond it, half a term is accepted as soon as there is memory for it. */
static bool is_beyond_memory(rsti_receiver_t *receiver, rsti_image_t *image, int64_t end)
{
    if (end <= rsti_load_acquire_i64(&image->reserved_until)) {
        return false;
    }
    if (rsti_load_acquire_i32(&image->is_proven) != 0
        && rsti_load_relaxed_i32(&image->is_wide) == 0) {
        rsti_store_release_i32(&image->is_wide, 1);
        rsti_driver_wake_agent(receiver->driver, RSTI_AGENT_CONDUCTOR);
    }
    return true;
}

static void on_over_run(rsti_receiver_t *receiver, rsti_image_t *image,
    rsti_connection_t *connection, const uint8_t *datagram, size_t length, int64_t now_ns)
{
    const rsti_log_t *log = &image->file.log;
    rsti_data_header_t header;
    memcpy(&header, datagram, sizeof header);
    const int64_t begin = rsti_position(header.term_id, header.term_offset, log->position_bits,
        log->initial_term_id);
    const bool is_heartbeat = rsti_packet_is_heartbeat(datagram, length);
    const int32_t walked = is_heartbeat ? 0
                                        : rsti_packet_validate(datagram, length, log->term_length);
    const bool is_proven = rsti_image_on_over_run(receiver, image, connection, &header, begin,
        begin + walked, now_ns);
    const int64_t free_bytes = image->overrun_threshold - rsti_load_relaxed_i64(&image->high_water);
    const bool is_left_behind = is_proven && image->overrun.tries < RSTI_OVERRUN_TRIES_MAX
        && free_bytes >= (int64_t)log->term_length / 8 * 3;
    if (is_heartbeat || is_left_behind) {
        ask_to_the_end(receiver, image, now_ns);
    }
    if (!is_heartbeat && header.frame.type == RSTI_FRAME_DATA) {
        receiver->overrun_bytes += (int64_t)length;
    }
}

void rsti_image_on_packet(rsti_receiver_t *receiver, rsti_image_t *image,
    rsti_connection_t *connection, const uint8_t *datagram, size_t length, int64_t now_ns)
{
    rst_driver_t *driver = receiver->driver;
    const rsti_log_t *log = &image->file.log;
    rsti_data_header_t header;
    memcpy(&header, datagram, sizeof header);
    if (rsti_wrap_sub_i32(header.term_id, log->initial_term_id) < 0
        || rsti_load_acquire_i32(&image->is_rejected)) {
        return;
    }
    const int32_t walked = rsti_packet_validate(datagram, length, log->term_length);
    if (walked < 0) {
        rsti_driver_count(driver, RSTI_SYSTEM_INVALID_PACKETS, 1);
        return;
    }
    const int64_t position = rsti_position(header.term_id, header.term_offset, log->position_bits,
        log->initial_term_id);
    const bool is_heartbeat = rsti_packet_is_heartbeat(datagram, length);
    if ((is_over_run(image, position + walked) && RSTI_FAULT != RSTI_FAULT_OVERRUN)
        || is_beyond_memory(receiver, image, position + (is_heartbeat ? 0 : (int64_t)length))) {
        rsti_driver_count(driver, RSTI_SYSTEM_FLOW_CONTROL_OVER_RUNS, 1);
        rsti_store_release_i64(&image->fill.overrun_until,
            rsti_min_i64(image->overrun_threshold, rsti_load_relaxed_i64(&image->reserved_until)));
        on_over_run(receiver, image, connection, datagram, length, now_ns);
        return;
    }
    if (is_heartbeat) {
        if (is_heartbeat_in_time(receiver, image, position)) {
            rsti_image_repair_on_data(image, position, position, now_ns);
            rsti_image_refresh_connection(receiver, image, connection, now_ns);
            on_heartbeat(receiver, image, connection, position, &header);
        }
        return;
    }
    rsti_image_path_on_data(receiver, image, connection, position, position + walked,
        (int64_t)length);
    if (position < image->last_sm_position || position < image->overrun.taken_from) {
        rsti_driver_count(driver, RSTI_SYSTEM_FLOW_CONTROL_UNDER_RUNS, 1);
        if (position + walked >= image->last_sm_position - image->congestion.max_window) {
            rsti_image_refresh_connection(receiver, image, connection, now_ns);
        }
        return;
    }
    rsti_image_refresh_connection(receiver, image, connection, now_ns);
    uint8_t *term = log->terms[rsti_position_index(position, log->position_bits)];
    if (rsti_term_insert(term, header.term_offset, datagram, length)) {
        rsti_receiver_touch(receiver, image);
        rsti_image_repair_on_data(image, position, position + walked, now_ns);
    }
    raise_hwm(receiver, image, position, position + walked);
}
