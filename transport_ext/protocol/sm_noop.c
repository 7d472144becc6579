/* sm_noop.c: see sm_noop.h. */
#include "protocol/sm_noop.h"

#include "util/bits.h"
#include "util/int_math.h"

void rsti_sm_noop_encode(const rsti_sm_noop_t *noop, uint8_t *value)
{
    rsti_put_i64(value, noop->heard);
    rsti_put_i64(value + 8, noop->answered);
}

void rsti_sm_noop_decode(rsti_sm_noop_t *noop, const uint8_t *value)
{
    *noop = (rsti_sm_noop_t){
        .heard = rsti_max_i64(rsti_get_i64(value), 0),
        .answered = rsti_max_i64(rsti_get_i64(value + 8), 0),
    };
}
