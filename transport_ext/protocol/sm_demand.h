/* sm_demand.h: the value of the item RSTI_SM_ITEM_DEMAND of an additional status message: the
 * demand of the readers of an image. Little-endian, 16 bytes; a later version may append.
 *
 *    0  i64  position that the readers have consumed
 *    8  i64  messages wanted behind it; INT64_MAX: no limit
 *
 * The count begins at a position that the sender knows, not where a reader joined. So each value
 * stands alone: a lost, repeated or late one does no harm. Untrusted: any 16 bytes are a value, and
 * a negative count means none. */
#ifndef RSTI_PROTOCOL_SM_DEMAND_H
#define RSTI_PROTOCOL_SM_DEMAND_H

#include <stdint.h>

#define RSTI_SM_DEMAND_LENGTH 16

typedef struct rsti_sm_demand_t {
    int64_t position;
    int64_t messages; /* >= 0 */
} rsti_sm_demand_t;

void rsti_sm_demand_encode(const rsti_sm_demand_t *demand, uint8_t *value);
void rsti_sm_demand_decode(rsti_sm_demand_t *demand, const uint8_t *value);

#endif
