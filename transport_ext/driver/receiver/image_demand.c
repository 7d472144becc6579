/* image_demand.c: see image_demand.h. */
#include "driver/receiver/image_demand.h"

bool rsti_image_demand_pending(rsti_image_demand_t *state)
{
    rsti_sm_demand_t demand;
    if (!RSTI_MAILBOX_READ_NEW(&state->mailbox, &state->seen, &demand)) {
        return false; /* nothing new, or half written: the next pass reads it again */
    }
    state->told = demand;
    return true;
}
