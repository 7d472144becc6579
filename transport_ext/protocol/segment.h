/* segment.h: where a message lies in a shared segment (docs/reference/wire.md, "Segments").
 *
 * The payload of a message of kind RSTI_KIND_SEGMENT:
 *
 *   0  i64  length  bytes of the message, from the beginning of the segment on
 *   8  i32  number  of the segment
 *  12  i32  use     of the segment, from 1 on; as long as the log's metadata names the same one
 *                   (rsti_log_segment_t), the message lies there
 *
 * All little endian. */
#ifndef RSTI_PROTOCOL_SEGMENT_H
#define RSTI_PROTOCOL_SEGMENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RSTI_SEGMENT_REF_LENGTH 16

typedef struct rsti_segment_ref_t {
    int64_t length;
    int32_t number;
    int32_t use;
} rsti_segment_ref_t;

/* Writes RSTI_SEGMENT_REF_LENGTH bytes. */
void rsti_segment_ref_encode(const rsti_segment_ref_t *ref, uint8_t *payload);
/* False: it has another length, or names what cannot be (0 <= number < segments_max, 1 <= length <=
 * length_max, 1 <= use). */
bool rsti_segment_ref_decode(const uint8_t *payload, size_t length, int32_t segments_max,
    int64_t length_max, rsti_segment_ref_t *ref);

#endif
