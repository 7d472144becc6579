/* sm_fill.h: the value of the item RSTI_SM_ITEM_FILL of an additional status message: a fill NAK.
 * Little-endian, 32 bytes; a later version may append:
 *
 *   0  u16 strength, share of 65535       8  i64 drain of this image, bytes per second; 0: unknown
 *   2  u16 fill, share of 32767, up to 2  16 i64 drain of all images that its consumer reads
 *   4  u16 variation of drain, of 65535   24 i64 buffer, bytes; 0: unknown
 *   6  u16 senders: images that share the last drain
 *
 * The round trip is an item of its own. Untrusted: any 32 bytes are a value. */
#ifndef RSTI_PROTOCOL_SM_FILL_H
#define RSTI_PROTOCOL_SM_FILL_H

#include <stdint.h>

#define RSTI_SM_FILL_LENGTH 32
#define RSTI_SM_FILL_WHOLE 65535.0 /* of strength and variation */
#define RSTI_SM_FILL_ONCE 32767.0  /* of fill: a full buffer */

typedef struct rsti_sm_fill_t {
    double strength;  /* 0 ... 1 */
    double fill;      /* 0 ... 2 */
    double variation; /* 0 ... 1 */
    int32_t sender_count;
    int64_t drain, drain_all, buffer_bytes;
} rsti_sm_fill_t;

/* Writes RSTI_SM_FILL_LENGTH bytes. Values outside their range are clamped; a strength above zero
 * stays above zero. */
void rsti_sm_fill_encode(const rsti_sm_fill_t *fill, uint8_t *value);
void rsti_sm_fill_decode(rsti_sm_fill_t *fill, const uint8_t *value);

#endif
