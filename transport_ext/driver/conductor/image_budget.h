/* image_budget.h: the conductor's side of budgets (receiver/image_budget.h): what each connection
 * is granted. */
#ifndef RSTI_DRIVER_CONDUCTOR_IMAGE_BUDGET_H
#define RSTI_DRIVER_CONDUCTOR_IMAGE_BUDGET_H

#include "driver/conductor/conductor_state.h"
#include "driver/conductor/image_facts.h"
#include "driver/receiver/image.h"

/* What the stream is granted, and the connection that it belongs to, made when there is none yet. 0
 * or negative with a trail. */
int rsti_image_budget_join(rst_driver_t *driver, rsti_image_t *image,
    const rsti_image_facts_t *facts);
/* The image counts no more. Calling it twice is harmless. */
void rsti_image_budget_leave(rst_driver_t *driver, rsti_image_t *image);
/* Each rebuild pass. Returns when to look again. */
int64_t rsti_image_budget_look(rst_driver_t *driver, rsti_image_t *image, int64_t hwm,
    int64_t consumed, int64_t now_ns);
/* A reader that reaches the lower of the two positions wakes the conductor: a status message is due
 * then, or an acknowledgement of the budget. */
void rsti_image_wake_at(rsti_image_t *image, int64_t sm_position, int64_t budget_position);

#endif
