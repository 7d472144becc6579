/* part.c: see part.h. */
#include "protocol/part.h"

#include "util/bits.h" /* asserts that memory is little endian, as the wire is */

#include <string.h>

_Static_assert(sizeof(rsti_part_t) == RSTI_PART_PREFIX_LENGTH, "the prefix has no padding");
_Static_assert(offsetof(rsti_part_t, total) == 8, "total");
_Static_assert(offsetof(rsti_part_t, offset) == 16, "offset");

void rsti_part_encode(const rsti_part_t *part, uint8_t *prefix)
{
    memcpy(prefix, part, sizeof *part);
}

bool rsti_part_decode(const uint8_t *payload, size_t length, rsti_part_t *part)
{
    if (length < RSTI_PART_PREFIX_LENGTH) {
        return false;
    }
    memcpy(part, payload, sizeof *part);
    return part->id >= 1 && part->total >= 1 && part->offset >= RSTI_PART_ABANDONED
        && part->offset < part->total;
}
