/* sm_budget.c: see sm_budget.h. */
#include "protocol/sm_budget.h"

#include "util/bits.h"
#include "util/int_math.h"

void rsti_sm_budget_encode(const rsti_sm_budget_t *budget, uint8_t *value)
{
    rsti_put_i64(value, budget->position);
    rsti_put_i64(value + 8, budget->connection_bytes);
    rsti_put_i64(value + 16, budget->stream_bytes);
}

void rsti_sm_budget_decode(rsti_sm_budget_t *budget, const uint8_t *value)
{
    *budget = (rsti_sm_budget_t){
        .position = rsti_get_i64(value),
        .connection_bytes = rsti_max_i64(rsti_get_i64(value + 8), 0),
        .stream_bytes = rsti_max_i64(rsti_get_i64(value + 16), 0),
    };
}
