/* image_budget.c: see image_budget.h. */
#include "driver/receiver/image_budget.h"

bool rsti_image_budget_pending(rsti_image_budget_t *state)
{
    rsti_sm_budget_t budget;
    if (!RSTI_MAILBOX_READ_NEW(&state->mailbox, &state->seen, &budget)) {
        return false; /* nothing new, or half written: the next pass reads it again */
    }
    state->told = budget;
    return true;
}
