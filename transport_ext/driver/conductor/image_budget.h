/* image_budget.h: the conductor's work on budgets (receiver/image_budget.h): the bytes that each
 * connection is granted. */
#ifndef RSTI_DRIVER_CONDUCTOR_IMAGE_BUDGET_H
#define RSTI_DRIVER_CONDUCTOR_IMAGE_BUDGET_H

#include "driver/conductor/conductor_state.h"
#include "driver/conductor/image_facts.h"
#include "driver/receiver/image.h"

/* Grants the stream its bytes and adds the image to its connection. Makes the connection when it
 * is new. Returns 0, or a negative error code with a trail. */
int rsti_image_budget_join(rst_driver_t *driver, rsti_image_t *image,
    const rsti_image_facts_t *facts);
/* Removes the image from its connection. The last image frees the connection. A second call has no
 * effect. */
void rsti_image_budget_leave(rst_driver_t *driver, rsti_image_t *image);
/* Each rebuild pass. Returns the time of the next check that is needed. */
int64_t rsti_image_budget_look(rst_driver_t *driver, rsti_image_t *image, int64_t hwm,
    int64_t consumed, int64_t now_ns);
/* Sets the two positions. A reader that reaches the lower one wakes the conductor, because a
 * status message or a budget acknowledgement is due then. */
void rsti_image_wake_at(rsti_image_t *image, int64_t sm_position, int64_t budget_position);

#endif
