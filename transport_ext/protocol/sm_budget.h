/* sm_budget.h: the value of the item RSTI_SM_ITEM_BUDGET of an additional status message: how many
 * unacknowledged bytes a consumer allows, and how far it has consumed (flow/budget.h).
 * Little-endian, 24 bytes; a later version may append.
 *
 *    0  i64  position acknowledged
 *    8  i64  bytes granted to the connection; 0: no limit
 *   16  i64  bytes granted to the stream; 0: no limit
 *
 * Each value stands alone: a lost or repeated one does no harm, and one with an older position is
 * late. Untrusted: any 24 bytes are a value, and a negative grant means no limit. */
#ifndef RSTI_PROTOCOL_SM_BUDGET_H
#define RSTI_PROTOCOL_SM_BUDGET_H

#include <stdint.h>

#define RSTI_SM_BUDGET_LENGTH 24

typedef struct rsti_sm_budget_t {
    int64_t position;
    int64_t connection_bytes; /* >= 0 */
    int64_t stream_bytes;     /* >= 0 */
} rsti_sm_budget_t;

void rsti_sm_budget_encode(const rsti_sm_budget_t *budget, uint8_t *value);
void rsti_sm_budget_decode(rsti_sm_budget_t *budget, const uint8_t *value);

#endif
