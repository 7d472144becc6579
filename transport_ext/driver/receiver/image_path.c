/* image_path.c: see image_path.h. */
#include "driver/receiver/image_path.h"

#include "driver/base/driver_state.h"
#include "driver/receiver/image.h"
#include "driver/receiver/image_send.h"

void rsti_image_path_init(rsti_image_t *image, int64_t now_ns)
{
    image->path.begins_ns = now_ns;
    rsti_path_arrival_init(&image->path.arrival, image->join_position, 0);
}

/* The time of now, not that of the pass, which may have begun milliseconds ago on a busy machine: a
 * hold that is too long makes the round trip too short, and that is kept as the least. */
static int64_t passed_ns(const rsti_receiver_t *receiver, const rsti_image_t *image)
{
    return rsti_clock_nano_time(&receiver->driver->clock) - image->path.begins_ns;
}

void rsti_image_path_on_data(const rsti_receiver_t *receiver, rsti_image_t *image,
    const rsti_connection_t *connection, int64_t begin, int64_t end, int64_t bytes)
{
    if (connection->follows_path) {
        rsti_path_arrival_t *arrival = &image->path.arrival;
        const bool counts_naks = rsti_load_relaxed_i32(&image->is_repaired) != 0;
        rsti_path_arrival_on_data(arrival,
            counts_naks ? rsti_min_i64(begin, arrival->highest) : begin, end, bytes,
            passed_ns(receiver, image));
    }
}

void rsti_image_path_on_lost(rsti_image_t *image, int64_t begin, int64_t end)
{
    rsti_path_arrival_on_missing(&image->path.arrival, end - begin);
}

/* As far as the receiver knows; the conductor has moved over less. */
static int64_t contiguous(const rsti_image_t *image)
{
    return image->repair.gap_count > 0 ? image->repair.gaps[0].begin : INT64_MAX;
}

void rsti_image_path_introduce(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns)
{
    const rsti_path_arrival_t *arrival = &image->path.arrival;
    /* A source that is not proven may get little: its status messages come first. */
    if (arrival->received == 0 && rsti_load_acquire_i32(&image->is_proven)) {
        const rsti_path_item_t item = {
            .contiguous = arrival->highest,
            .highest = arrival->highest,
        };
        rsti_image_send_path(receiver, image, &item, now_ns);
    }
}

int64_t rsti_image_path_pending(rsti_receiver_t *receiver, rsti_image_t *image, int64_t now_ns)
{
    rsti_image_path_t *path = &image->path;
    const int64_t due_ns = rsti_path_arrival_due_ns(&path->arrival, image->rtt.least_ns);
    if (due_ns == RSTI_NO_DEADLINE || rsti_load_acquire_i32(&image->is_rejected)) {
        return RSTI_NO_DEADLINE;
    }
    const int64_t now_of_image_ns = passed_ns(receiver, image);
    if (due_ns > now_of_image_ns) {
        return path->begins_ns + due_ns;
    }
    rsti_path_item_t item;
    rsti_path_arrival_tell(&path->arrival, contiguous(image), now_of_image_ns, &item);
    rsti_image_send_path(receiver, image, &item, now_ns);
    return RSTI_NO_DEADLINE;
}
