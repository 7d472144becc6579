/* rate_fixed.c: bytes and datagrams per second as the user says (fast-cast's pps), until
 * rsti_rate_change says otherwise:
 *
 *     bytes_per_s = initial,  datagrams_per_s = the one given, or no limit
 *
 * Reports change nothing. */
#include "flow/rate.h"

static void init(rsti_rate_t *rate)
{
    rate->params.least = 1.0; /* no floor: the user's rate holds even if it is very low */
    rate->params.most = rate->params.initial > 0 ? rate->params.initial : RSTI_RATE_MAX;
    rsti_rate_set(rate, rate->params.most);
    if (rate->params.datagrams_per_s > 0) {
        rate->datagrams_per_s = rate->params.datagrams_per_s;
    }
}

const rsti_rate_law_t rsti_rate_fixed = {
    .name = "fixed",
    .init = init,
};
