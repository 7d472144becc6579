/* fuzz_msgpack.c: the cost of any bytes is found within their bounds, the same each time, and grows
 * with what is asked for. */
#include "fuzz/check.h"
#include "util/msgpack.h"

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    const uint8_t *data = fuzz_exact_copy(input, size);
    const int64_t cost = rsti_msgpack_cost(data, size, INT64_MAX);
    FUZZ_CHECK(cost >= -1);
    FUZZ_CHECK(cost <= 320 * (int64_t)size + 320);
    const int64_t early = rsti_msgpack_cost(data, size, 100);
    FUZZ_CHECK(early == cost || early > 100 || cost == -1);
    FUZZ_CHECK(cost == -1 || early <= cost);
    return 0;
}
