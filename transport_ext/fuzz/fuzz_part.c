/* fuzz_part.c: a decoded prefix can be encoded again, byte for byte, and stays within its law. */
#include "fuzz/check.h"
#include "protocol/part.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    const uint8_t *data = fuzz_exact_copy(input, size);
    rsti_part_t part;
    if (!rsti_part_decode(data, size, &part)) {
        return 0;
    }
    FUZZ_CHECK(size >= RSTI_PART_PREFIX_LENGTH);
    FUZZ_CHECK(part.id >= 1 && part.total >= 1);
    FUZZ_CHECK(part.offset >= RSTI_PART_ABANDONED && part.offset < part.total);
    uint8_t prefix[RSTI_PART_PREFIX_LENGTH];
    rsti_part_encode(&part, prefix);
    FUZZ_CHECK(memcmp(prefix, data, sizeof prefix) == 0);
    return 0;
}
