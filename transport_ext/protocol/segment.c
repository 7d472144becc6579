/* segment.c: see segment.h. */
#include "protocol/segment.h"

#include "util/bits.h" /* asserts that memory is little endian, as the wire is */

#include <string.h>

_Static_assert(sizeof(rsti_segment_ref_t) == RSTI_SEGMENT_REF_LENGTH, "no padding");
_Static_assert(offsetof(rsti_segment_ref_t, number) == 8, "number");
_Static_assert(offsetof(rsti_segment_ref_t, use) == 12, "use");

void rsti_segment_ref_encode(const rsti_segment_ref_t *ref, uint8_t *payload)
{
    memcpy(payload, ref, sizeof *ref);
}

bool rsti_segment_ref_decode(const uint8_t *payload, size_t length, int32_t segments_max,
    int64_t length_max, rsti_segment_ref_t *ref)
{
    if (length != RSTI_SEGMENT_REF_LENGTH) {
        return false;
    }
    memcpy(ref, payload, sizeof *ref);
    return ref->number >= 0 && ref->number < segments_max && ref->length >= 1
        && ref->length <= length_max && ref->use >= 1;
}
