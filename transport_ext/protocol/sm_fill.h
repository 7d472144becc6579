/* sm_fill.h: the value of the item RSTI_SM_ITEM_FILL of an additional status message: a fill NAK.
 * Little-endian, 32 bytes; a later version may append:
 *
 *   0  u16 fill, share of 32767, up to 2       16 i64 the rate that it asks for, bytes per second
 *   2  u16 flags: 1 = clear, asks for no rate  24 i64 buffer, bytes; 0: unknown
 *   4  u32 zero
 *   8  i64 drain, bytes per second; 0: unknown
 *
 * The round trip is an item of its own. Untrusted: any 32 bytes are a value. */
#ifndef RSTI_PROTOCOL_SM_FILL_H
#define RSTI_PROTOCOL_SM_FILL_H

#include <stdbool.h>
#include <stdint.h>

#define RSTI_SM_FILL_LENGTH 32
#define RSTI_SM_FILL_ONCE 32767.0 /* of fill: a full buffer */
#define RSTI_SM_FILL_FLAG_CLEAR 1

typedef struct rsti_sm_fill_t {
    bool is_clear;
    double fill; /* 0 ... 2 */
    int64_t drain, allowed, buffer_bytes;
} rsti_sm_fill_t;

/* Writes RSTI_SM_FILL_LENGTH bytes. A fill outside its range is clamped. */
void rsti_sm_fill_encode(const rsti_sm_fill_t *fill, uint8_t *value);
void rsti_sm_fill_decode(rsti_sm_fill_t *fill, const uint8_t *value);

#endif
