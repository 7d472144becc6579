/* noop.c: a reader answers the NOOPs of its publishers by polling (driver/receiver/image_noop.h). Costs a
 * load of each image's log and poll. */
#include "client/internal.h"

void rsti_noop_answer(const rst_subscription_t *subscription)
{
    for (size_t i = 0; i < subscription->images.count; i++) {
        const rst_image_t *image = subscription->images.items[i];
        const rsti_log_ext_t *log_ext = rsti_shared_log_ext(image->log);
        const int64_t number = rsti_load_acquire_i64(&log_ext->noop);
        if (number == 0 || log_ext->magic != RSTI_EXT_MAGIC || image->state != RSTI_IMAGE_ACTIVE
            || !rsti_image_has_counter(image)) {
            continue;
        }
        rsti_position_ext_t *ext = (rsti_position_ext_t *)(void *)image->counter->spare;
        if (rsti_load_relaxed_i64(&ext->noop_answered) != number) {
            rsti_store_release_i64(&ext->noop_answered, number);
            rsti_client_wake_agent(subscription->client, RSTI_AGENT_CONDUCTOR);
        }
    }
}
