/* image_overrun.c: see image_overrun.h. */
#include "driver/conductor/image_overrun.h"

#include "driver/base/driver_state.h"
#include "driver/base/proxies.h"

/* How long the receiver has to answer, and the memory to become free, before it is asked again. */
#define ASK_INTERVAL_NS (10 * RSTI_NS_PER_MS)

void rsti_image_overrun_check(rst_driver_t *driver, rsti_image_t *image, int64_t least,
    int64_t now_ns)
{
    rsti_image_overrun_t *overrun = &image->overrun;
    const int64_t sent = rsti_load_acquire_i64(&overrun->sent);
    if (sent == 0 || image->life != RSTI_LIFE_ACTIVE || least < image->received
        || now_ns < overrun->asked_ns + ASK_INTERVAL_NS
        || !rsti_overrun_is_lost(image->received, sent, rsti_image_history(image))) {
        return;
    }
    const int32_t tries = rsti_overrun_next_tries(overrun->tries, overrun->began_sent,
        rsti_load_acquire_i64(&image->high_water), image->file.log.term_length);
    overrun->asked_ns = now_ns;
    const rsti_agent_command_t ask = {
        .endpoint = image->endpoint,
        .object = image,
        .registration_id = tries,
    };
    rsti_tell_receiver(driver, RSTI_AGENT_RESUME_IMAGE, &ask);
}

void rsti_image_overrun_inherit(rsti_image_t *image, const rsti_image_t *old)
{
    const int64_t sent = rsti_load_acquire_i64(&old->overrun.sent);
    const int64_t high_water = rsti_min_i64(sent & ~(int64_t)(RSTI_FRAME_ALIGNMENT - 1),
        rsti_min_i64(image->overrun_threshold, image->reserved_until)
            & ~(int64_t)(RSTI_FRAME_ALIGNMENT - 1));
    image->overrun.began_sent = sent;
    image->overrun.tries = rsti_overrun_next_tries(old->overrun.tries, old->overrun.began_sent,
        rsti_load_acquire_i64(&old->high_water), old->file.log.term_length);
    image->high_water = rsti_max_i64(image->join_position, high_water);
    *image->hwm = image->high_water;
    memcpy(image->source, old->source, sizeof image->source);
}
