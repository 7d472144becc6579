/* fuzz_segment.c: a decoded reference can be encoded again, byte for byte, and stays within its
 * law. */
#include "fuzz/check.h"
#include "protocol/segment.h"

#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    const uint8_t *data = fuzz_exact_copy(input, size);
    rsti_segment_ref_t ref;
    uint8_t payload[RSTI_SEGMENT_REF_LENGTH];
    if (!rsti_segment_ref_decode(data, size, 32, INT64_C(65) << 20, &ref)) {
        return 0;
    }
    FUZZ_CHECK(size == RSTI_SEGMENT_REF_LENGTH);
    FUZZ_CHECK(ref.number >= 0 && ref.number < 32);
    FUZZ_CHECK(ref.length >= 1 && ref.length <= INT64_C(65) << 20);
    FUZZ_CHECK(ref.use >= 1);
    rsti_segment_ref_encode(&ref, payload);
    FUZZ_CHECK(memcmp(payload, data, size) == 0);
    return 0;
}
