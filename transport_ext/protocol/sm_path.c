/* sm_path.c: see sm_path.h. */
#include "protocol/sm_path.h"

#include "util/bits.h"

void rsti_sm_path_encode(const rsti_sm_path_t *path, uint8_t *value)
{
    rsti_put_i64(value, path->contiguous);
    rsti_put_i64(value + 8, path->highest);
    rsti_put_i64(value + 16, path->received);
    rsti_put_i64(value + 24, path->since);
    rsti_put_i64(value + 32, path->missing);
    rsti_put_i64(value + 40, path->clock_ns);
    rsti_put_i64(value + 48, path->hold_ns);
    rsti_put_i64(value + 56, path->fresh_ns);
}

void rsti_sm_path_decode(rsti_sm_path_t *path, const uint8_t *value)
{
    *path = (rsti_sm_path_t){
        .contiguous = rsti_get_i64(value),
        .highest = rsti_get_i64(value + 8),
        .received = rsti_get_i64(value + 16),
        .since = rsti_get_i64(value + 24),
        .missing = rsti_get_i64(value + 32),
        .clock_ns = rsti_get_i64(value + 40),
        .hold_ns = rsti_get_i64(value + 48),
        .fresh_ns = rsti_get_i64(value + 56),
    };
}
