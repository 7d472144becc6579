/* image.c: see image.h. */
#include "driver/conductor/image.h"

#include "concurrent/sequence.h"
#include "driver/base/driver_state.h"
#include "driver/base/proxies.h"
#include "driver/base/subscribers.h"
#include "driver/conductor/image_budget.h"
#include "driver/conductor/image_congestion.h"
#include "driver/conductor/image_demand.h"
#include "driver/conductor/image_fill.h"
#include "driver/conductor/image_limits.h"
#include "driver/conductor/image_loss.h"
#include "driver/conductor/image_noop.h"
#include "driver/conductor/image_overrun.h"
#include "driver/conductor/image_reader.h"
#include "driver/conductor/image_window.h"
#include "driver/conductor/logs.h"
#include "driver/conductor/receive_endpoints.h"
#include "driver/conductor/subscriber_news.h"
#include "util/error.h"

#define ACK_INTERVAL_NS (10 * RSTI_NS_PER_MS)
#define ROOM_STEPS 64 /* half a term is reserved in this many steps */

static bool subscribers_range(const rsti_image_t *image, int64_t *least, int64_t *highest)
{
    return rsti_subscribers_range(&image->subscribers, image->clean_position,
        image->file.log.term_length, least, highest);
}

static void publish_sm(rst_driver_t *driver, rsti_image_t *image)
{
    const rsti_image_sm_t sm = {
        .position = image->next_sm_position,
        .window = image->next_sm_window,
        .window_cut = image->window_cut.next,
    };
    RSTI_MAILBOX_WRITE(&image->sm, &sm);
    rsti_driver_wake_agent(driver, RSTI_AGENT_RECEIVER);
}

typedef struct gap_context_t {
    rst_driver_t *driver;
    rsti_image_t *image;
} gap_context_t;

static void on_gap(void *arg, const rsti_gap_t *gap)
{
    const gap_context_t *context = arg;
    rsti_image_t *image = context->image;
    rsti_image_report_loss(context->driver, image, gap);
    const rsti_image_loss_t loss = {gap->term_id, gap->term_offset, gap->length};
    RSTI_MAILBOX_WRITE(&image->loss_found, &loss);
    rsti_driver_wake_agent(context->driver, RSTI_AGENT_RECEIVER);
}

/* Finds the end of contiguous data. One scan stays in one term, so a scan that reaches the end of
 * a term is followed by another. */
static int64_t scan_for_loss(rst_driver_t *driver, rsti_image_t *image, int64_t from, int64_t hwm,
    int64_t now_ns, bool *has_loss)
{
    if (rsti_load_acquire_i32(&image->is_repaired)) {
        return rsti_image_repair_rebuild(driver, image, from, hwm, has_loss);
    }
    if (from == image->rebuilt_from && hwm == image->rebuilt_hwm && now_ns < image->loss_due_ns) {
        return from;
    }
    gap_context_t context = {driver, image};
    int64_t end = from;
    for (int term = 0; term < RSTI_PARTITIONS; term++) {
        const int64_t begin = end;
        bool is_new = false;
        end = rsti_loss_detector_scan(&image->loss, &image->file.log, begin, hwm, now_ns,
            &driver->conductor->delays, on_gap, &context, &is_new, &image->loss_due_ns);
        *has_loss = *has_loss || is_new;
        if (end <= begin || end >= hwm
            || rsti_position_offset(end, image->file.log.term_length) != 0) {
            break;
        }
    }
    image->rebuilt_from = end;
    image->rebuilt_hwm = hwm;
    return end;
}

/* Reserves memory up to position, within the quota of the image's source. As rsti_log_reserve. */
static int reserve(rst_driver_t *driver, rsti_image_t *image, int64_t position)
{
    rsti_log_file_t *file = &image->file;
    const int64_t now_ns = driver->conductor->now_ns;
    if (position < file->reserved_position) {
        return 0;
    }
    if ((file->is_refused && now_ns < file->retry_ns)
        || rsti_image_check_growth(driver, image, position) == 0) {
        return rsti_log_reserve(driver, file, position);
    }
    const bool was_refused = file->is_refused;
    file->is_refused = true;
    file->retry_ns = now_ns + RSTI_RESERVE_RETRY_NS;
    if (was_refused) {
        rsti_error_clear();
        return 1;
    }
    return -rst_last_error_code();
}

/* Where it is refused, the next data from beyond the memory asks again. */
static void widen(rst_driver_t *driver, rsti_image_t *image, int64_t position)
{
    if (position >= image->file.reserved_position
        && (rsti_image_check_growth(driver, image, position) < 0
            || rsti_log_reserve(driver, &image->file, position) != 0)) {
        rsti_store_release_i32(&image->is_wide, 0);
        image->file.is_refused = false; /* the window has its memory */
        rsti_error_clear();
    }
}

/* Cleans the memory up to one term behind position, and reserves memory for the window after it:
 * senders stay within it. Where one does not, as when it leaves the reader behind, there is memory
 * for half a term. The receiver accepts data up to there. */
static bool make_room(rst_driver_t *driver, rsti_image_t *image, int64_t position, int32_t window)
{
    const int32_t term_length = image->file.log.term_length;
    while (image->clean_position < position - term_length
        && rsti_log_clean_up_to(&image->file.log, &image->clean_position, position - term_length)
            > 0) {
    }
    const int reserved = reserve(driver, image, position + rsti_min_i32(window, term_length / 2));
    if (reserved == 0 && rsti_load_acquire_i32(&image->is_wide) != 0) {
        widen(driver, image, position + term_length / 2);
    }
    rsti_store_release_i64(&image->reserved_until, image->file.reserved_position);
    if (reserved < 0) {
        RST_APPEND_ERR("image of stream %d session %d: its window stays at position %lld",
            image->stream_id, image->session_id, (long long)image->next_sm_position);
        rsti_driver_log_trail(driver, "conductor");
    }
    if (reserved != 0) {
        return false;
    }
    rsti_store_release_i64(&image->room_until,
        rsti_max_i64(rsti_load_relaxed_i64(&image->room_until), position + term_length / 2));
    return true;
}

static void schedule_sm(rst_driver_t *driver, rsti_image_t *image, int64_t position, int32_t window)
{
    if (!make_room(driver, image, position, rsti_max_i32(window, image->next_sm_window))) {
        /* Without memory for more the end of the window stays. What was consumed is told. */
        const int64_t end = image->next_sm_position + image->next_sm_window;
        window = (int32_t)rsti_clamp_i64(end - position, 0, window);
    }
    image->next_sm_position = position;
    image->next_sm_window = window;
    driver->conductor->moved_limits++;
    image->window_cut.next = rsti_min_i32(rsti_image_window(image), window);
    int64_t wake_position = position + window / 4 + 1;
    if (image->life == RSTI_LIFE_DRAINING) {
        wake_position = rsti_min_i64(wake_position, image->received);
    }
    rsti_image_wake_at(image, wake_position, image->budget.wake_position);
    publish_sm(driver, image);
}

/* An unproven source gets no NAK, so what it lost never comes again. */
static void note_stuck(rsti_image_t *image, int64_t hwm, int64_t now_ns)
{
    if (image->received >= hwm || rsti_load_acquire_i32(&image->is_proven)) {
        image->stuck_since_ns = 0;
    } else if (image->stuck_since_ns == 0) {
        image->stuck_since_ns = now_ns;
    }
}

/* The readers of a stuck image would wait for ever. It ends, and they may join again. */
static bool is_stuck(rst_driver_t *driver, const rsti_image_t *image, int64_t now_ns,
    int64_t *next_deadline_ns)
{
    const int64_t due_ns = image->stuck_since_ns + RSTI_CONNECTION_ACTIVITY_NS;
    if (image->stuck_since_ns == 0) {
        return false;
    }
    if (now_ns <= due_ns) {
        rsti_lower_deadline(next_deadline_ns, due_ns + 1);
        return false;
    }
    (void)RST_SET_ERR(RST_EFULL,
        "image of stream %d session %d: data was lost behind position %lld, and its publisher at %s"
        " answers no round-trip frames (RTTM), so it is not asked for it: the image ends",
        image->stream_id, image->session_id, (long long)image->received, image->source);
    rsti_driver_log_trail(driver, "conductor");
    return true;
}

/* The readers have consumed a step of half a term, or data came from beyond the memory. */
static bool is_room_due(const rsti_image_t *image, int64_t consumed)
{
    const int64_t half_term = image->file.log.term_length / 2;
    return consumed + half_term - rsti_load_relaxed_i64(&image->room_until)
        >= half_term / ROOM_STEPS
        || (rsti_load_acquire_i32(&image->is_wide) != 0
            && consumed + half_term >= image->file.reserved_position);
}

int64_t rsti_image_rebuild(rst_driver_t *driver, rsti_image_t *image, int64_t now_ns)
{
    int64_t least, highest;
    if (image->life > RSTI_LIFE_DRAINING || image->is_told_unavailable
        || rsti_load_acquire_i32(&image->is_revoked)
        || !subscribers_range(image, &least, &highest)) {
        return RSTI_NO_DEADLINE;
    }
    rsti_subscribers_tell_refused(driver, &image->subscribers);
    const int64_t hwm = rsti_load_acquire_i64(&image->high_water);
    const int64_t rcv_pos = image->received;
    const int64_t from = rsti_max_i64(rcv_pos, highest);
    bool has_loss = false;
    const int64_t end = scan_for_loss(driver, image, from, hwm, now_ns, &has_loss);
    if (end > rcv_pos) {
        image->received = end;
        rsti_store_release_i64(image->rcv_pos, end);
    }
    note_stuck(image, hwm, now_ns);
    rsti_image_overrun_check(driver, image, least, now_ns);
    const rsti_rebuild_facts_t facts = {
        .now_ns = now_ns,
        .consumed = least,
        .last_sm_position = image->next_sm_position,
        .hwm = hwm,
        .from = from,
        .to = rsti_max_i64(rcv_pos, end),
        .rtt_ns = rsti_load_acquire_i64(&image->rtt_ns),
        .rtt_least_ns = rsti_load_acquire_i64(&image->rtt_least_ns),
        .has_loss = has_loss,
    };
    int64_t told_due_ns = rsti_min_i64(rsti_image_fill_look(driver, image, &facts),
        rsti_min_i64(rsti_image_demand_look(driver, image, hwm, now_ns),
            rsti_min_i64(rsti_image_budget_look(driver, image, hwm, least, now_ns),
                rsti_image_noop_look(driver, image, hwm, now_ns))));
    const bool is_ack_due = image->is_acked_soon && now_ns >= image->ack_due_ns;
    if (rsti_image_congestion_rebuild(driver, image, &facts, is_ack_due)
        || rsti_image_window_is_due(image, least)) {
        schedule_sm(driver, image, rsti_max_i64(least, image->next_sm_position),
            image->congestion.window);
        image->ack_due_ns = now_ns + ACK_INTERVAL_NS; /* limits the rate of acknowledgements */
    } else if (is_room_due(image, least) && !image->file.is_refused) {
        (void)make_room(driver, image, least, image->next_sm_window);
    }
    if (image->reader.is_followed) {
        rsti_image_wake_at(image, image->sm_wake_position, image->budget.wake_position);
        told_due_ns = rsti_min_i64(told_due_ns, rsti_image_reader_due_ns(image));
    }
    if (hwm <= image->next_sm_position || !image->is_acked_soon) {
        return rsti_min_i64(image->loss_due_ns, told_due_ns);
    }
    /* The readers have consumed less than a status message is due for. The sender is told a little
     * later, because a publisher may wait until everything is acknowledged. */
    if (is_ack_due) {
        image->ack_due_ns = now_ns + ACK_INTERVAL_NS;
    }
    return rsti_min_i64(rsti_min_i64(image->loss_due_ns, image->ack_due_ns), told_due_ns);
}

void rsti_image_note_consumed(rst_driver_t *driver, rsti_image_t *image)
{
    int64_t least, highest;
    if (image->life <= RSTI_LIFE_DRAINING && !image->is_told_unavailable
        && subscribers_range(image, &least, &highest) && least > image->next_sm_position) {
        schedule_sm(driver, image, least, image->next_sm_window);
    }
}

bool rsti_image_is_drained(const rsti_image_t *image)
{
    int64_t least, highest;
    return image->is_told_unavailable || !subscribers_range(image, &least, &highest)
        || least >= image->received;
}

bool rsti_image_accepts(const rsti_image_t *image)
{
    /* The dispatcher has already forgotten an image that lost its last subscriber. */
    return rsti_subscribers_are_working(&image->subscribers)
        && !rsti_load_relaxed_i32(&image->is_rejected)
        && (image->life == RSTI_LIFE_ACTIVE
            || (image->life == RSTI_LIFE_DRAINING && !rsti_image_is_drained(image)));
}

int64_t rsti_image_join_position(const rsti_image_t *image)
{
    /* The position of the readers may exceed image->received, which this agent updates in its next
     * pass. */
    int64_t least, highest;
    return subscribers_range(image, &least, &highest)
        ? rsti_min_i64(least, rsti_load_acquire_i64(&image->high_water))
        : image->received;
}

static void set_life(rst_driver_t *driver, rsti_image_t *image, rsti_life_t life, int64_t now_ns)
{
    RST_ASSERT(life > image->life);
    image->life = life;
    image->life_changed_ns = now_ns;
    if (life == RSTI_LIFE_DRAINING) {
        rsti_store_release_i32(&image->is_draining, 1);
        rsti_image_wake_at(image, image->received, image->budget.wake_position);
        rsti_driver_wake_agent(driver, RSTI_AGENT_RECEIVER);
    }
}

/* Readers that have read everything need not wait for the last status messages: later data is not
 * for them. */
static void tell_unavailable(rst_driver_t *driver, rsti_image_t *image)
{
    rsti_subscribers_tell_unavailable(driver, &image->subscribers, image->correlation_id);
    image->is_told_unavailable = true;
    rsti_driver_wake_log(driver, &image->file.log, RSTI_WAIT_DATA);
}

static void tell_ours_unavailable(rst_driver_t *driver, rsti_image_t *image)
{
    if (!image->is_told_unavailable
        && rsti_subscribers_tell_ours_unavailable(driver, &image->subscribers,
            image->correlation_id)) {
        image->is_told_unavailable = true;
        rsti_driver_wake_log(driver, &image->file.log, RSTI_WAIT_DATA);
    }
}

static void leave_receiver(rst_driver_t *driver, rsti_image_t *image)
{
    const rsti_agent_command_t command = {
        .endpoint = image->endpoint,
        .object = image,
        .session_id = image->session_id,
        .stream_id = image->stream_id,
    };
    rsti_tell_receiver(driver, RSTI_AGENT_REMOVE_IMAGE, &command);
    if (image->is_rejoin) {
        rsti_tell_receiver(driver, RSTI_AGENT_REMOVE_COOL_DOWN, &command);
    }
    rsti_image_budget_leave(driver, image);
    rsti_receive_endpoint_t *endpoint = image->endpoint;
    endpoint->image_count--;
    rsti_receive_endpoint_put(driver, endpoint);
}

void rsti_image_retire(rst_driver_t *driver, rsti_image_t *image, int64_t position, int64_t now_ns)
{
    rsti_image_report_range(driver, image, image->received, position);
    rsti_subscribers_tell_overrun(driver, &image->subscribers, image->correlation_id, position);
    image->is_told_unavailable = true;
    image->is_retired = true;
    rsti_driver_wake_log(driver, &image->file.log, RSTI_WAIT_DATA);
    set_life(driver, image, RSTI_LIFE_LINGER, now_ns);
    leave_receiver(driver, image);
}

static void check_active(rst_driver_t *driver, rsti_image_t *image, int64_t now_ns,
    int64_t *next_deadline_ns)
{
    const int64_t silent_ns = rsti_load_acquire_i64(&image->last_packet_ns)
        + driver->params.image_liveness_ns;
    const bool is_complete = rsti_load_acquire_i32(&image->is_end_of_stream)
        && image->received >= rsti_load_acquire_i64(&image->high_water);
    if (!rsti_subscribers_are_working(&image->subscribers) || now_ns > silent_ns || is_complete
        || rsti_load_acquire_i32(&image->is_revoked) || rsti_load_acquire_i32(&image->is_displaced)
        || is_stuck(driver, image, now_ns, next_deadline_ns)) {
        set_life(driver, image, RSTI_LIFE_DRAINING, now_ns);
    } else {
        rsti_lower_deadline(next_deadline_ns, silent_ns + 1);
    }
}

/* An image is removed RSTI_DRAIN_SM_TIMEOUTS status message timeouts after the end of its stream,
 * or RSTI_LEFT_SM_TIMEOUTS of them after its last subscriber has left. Aeron clients get the same
 * time after they have read everything. They forget an image when they are told, and until then
 * their users look for its end. */
static void check_draining(rst_driver_t *driver, rsti_image_t *image, int64_t now_ns,
    int64_t *next_deadline_ns)
{
    const int64_t wait_ns = driver->params.sm_timeout_ns
        * (image->subscribers.count == 0 ? RSTI_LEFT_SM_TIMEOUTS : RSTI_DRAIN_SM_TIMEOUTS);
    const bool is_revoked = rsti_load_acquire_i32(&image->is_revoked) != 0
        || rsti_load_acquire_i32(&image->is_displaced) != 0;
    const bool is_drained = is_revoked || rsti_image_is_drained(image);
    int64_t due_ns = image->life_changed_ns + wait_ns;
    if (is_drained && !is_revoked) {
        tell_ours_unavailable(driver, image);
        image->drained_ns = rsti_min_i64(image->drained_ns, now_ns);
        if (!rsti_subscribers_know_unavailable(&image->subscribers)) {
            due_ns = rsti_max_i64(due_ns, image->drained_ns + wait_ns);
        }
    }
    if (is_revoked || (is_drained && now_ns >= due_ns)) {
        tell_unavailable(driver, image);
        set_life(driver, image, RSTI_LIFE_LINGER, now_ns);
        leave_receiver(driver, image);
    } else if (now_ns < due_ns) {
        rsti_lower_deadline(next_deadline_ns, due_ns);
    }
}

bool rsti_image_on_life(rst_driver_t *driver, rsti_image_t *image, int64_t now_ns,
    int64_t *next_deadline_ns)
{
    if (image->life == RSTI_LIFE_ACTIVE) {
        check_active(driver, image, now_ns, next_deadline_ns);
    }
    if (image->life == RSTI_LIFE_DRAINING) {
        check_draining(driver, image, now_ns, next_deadline_ns);
    }
    if (image->life == RSTI_LIFE_LINGER) {
        /* A reader that is left behind again and again must not fill the memory with its past. */
        const int64_t due_ns = image->life_changed_ns
            + (image->is_retired ? 0 : driver->params.image_liveness_ns);
        if (now_ns > due_ns || image->subscribers.count == 0) {
            set_life(driver, image, RSTI_LIFE_DONE, now_ns);
        } else {
            rsti_lower_deadline(next_deadline_ns, due_ns + 1);
        }
    }
    return image->life == RSTI_LIFE_DONE && rsti_load_acquire_i32(&image->is_released);
}
