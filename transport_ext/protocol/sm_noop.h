/* sm_noop.h: the value of the item RSTI_SM_ITEM_NOOP of an additional status message: the newest
 * NOOP that the receiver's driver heard, and the newest that all its readers answered
 * (flow/noop.h). Little-endian, 16 bytes; a later version may append:
 *
 *   0  i64 heard   8  i64 answered
 *
 * A NOOP is a heartbeat of a publication with its number in the reserved value, which Aeron's
 * receivers ignore. Untrusted: any 16 bytes are a value, and a negative number means none. */
#ifndef RSTI_PROTOCOL_SM_NOOP_H
#define RSTI_PROTOCOL_SM_NOOP_H

#include <stdint.h>

#define RSTI_SM_NOOP_LENGTH 16

typedef struct rsti_sm_noop_t {
    int64_t heard;    /* >= 0 */
    int64_t answered; /* >= 0 */
} rsti_sm_noop_t;

void rsti_sm_noop_encode(const rsti_sm_noop_t *noop, uint8_t *value);
void rsti_sm_noop_decode(rsti_sm_noop_t *noop, const uint8_t *value);

#endif
