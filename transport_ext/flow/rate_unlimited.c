/* rate_unlimited.c: the window (credit) is the only limit: bytes_per_s = RSTI_RATE_MAX.
 * Reports and requests for another rate change nothing. */
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
