/* sm_demand.c: see sm_demand.h. */
#include "protocol/sm_demand.h"

#include "util/bits.h"

void rsti_sm_demand_encode(const rsti_sm_demand_t *demand, uint8_t *value)
{
    rsti_put_i64(value, demand->position);
    rsti_put_i64(value + 8, demand->messages);
}

void rsti_sm_demand_decode(rsti_sm_demand_t *demand, const uint8_t *value)
{
    const int64_t messages = rsti_get_i64(value + 8);
    *demand = (rsti_sm_demand_t){
        .position = rsti_get_i64(value),
        .messages = messages < 0 ? 0 : messages,
    };
}
