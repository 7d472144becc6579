/* wake_readers.c: see wake_readers.h. */
#include "driver/receiver/wake_readers.h"

#include "driver/base/driver_state.h"

void rsti_receiver_wake_touched(rsti_receiver_t *receiver)
{
    for (int32_t i = 0; i < receiver->touched_count; i++) {
        receiver->touched[i]->is_touched = false;
        rsti_driver_wake_log(receiver->driver, &receiver->touched[i]->file.log, RSTI_WAIT_DATA);
    }
    receiver->touched_count = 0;
}

void rsti_receiver_touch(rsti_receiver_t *receiver, rsti_image_t *image)
{
    if (image->is_touched) {
        return;
    }
    if (receiver->touched_count == RSTI_MEDIA_BURST_MAX) {
        rsti_receiver_wake_touched(receiver);
    }
    image->is_touched = true;
    receiver->touched[receiver->touched_count++] = image;
}
