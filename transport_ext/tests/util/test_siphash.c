/* The keyed hash gives its published results. */
#include "util/siphash.h"

#include "tests/check.h"

/* The vectors of the paper's reference code: key 00 … 0f, input 00 … (length - 1). */
TEST(results_are_the_published_ones)
{
    static const uint64_t key[2] = {UINT64_C(0x0706050403020100), UINT64_C(0x0f0e0d0c0b0a0908)};
    uint8_t input[64];
    for (size_t i = 0; i < sizeof input; i++) {
        input[i] = (uint8_t)i;
    }
    CHECK(rsti_siphash(key, input, 0) == UINT64_C(0x726fdb47dd0e0e31));
    CHECK(rsti_siphash(key, input, 1) == UINT64_C(0x74f839c593dc67fd));
    CHECK(rsti_siphash(key, input, 8) == UINT64_C(0x93f5f5799a932462));
    CHECK(rsti_siphash(key, input, 15) == UINT64_C(0xa129ca6149be45e5));
}

CHECK_MAIN(RUN(results_are_the_published_ones))
