/* rate_unlimited.c: no limit beside the window (credit alone): bytes_per_s = RSTI_RATE_MAX,
 * whatever is reported or asked for. */
#include "flow/rate.h"

static void init(rsti_rate_t *rate)
{
    rate->params.least = RSTI_RATE_MAX;
    rate->params.most = RSTI_RATE_MAX;
    rsti_rate_set(rate, RSTI_RATE_MAX);
}

const rsti_rate_law_t rsti_rate_unlimited = {
    .name = "unlimited",
    .init = init,
};
