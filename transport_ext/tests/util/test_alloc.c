#include "util/alloc.h"

#include "tests/check.h"

#include <stdlib.h>

/* It is a hint: the content stays, and blocks of any length are taken. */
TEST(large_pages_change_no_byte)
{
    const size_t sizes[] = {16, 4096, 32 << 20, (32 << 20) + 1, (40 << 20) + 13};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        uint8_t *block = malloc(sizes[i]);
        CHECK(block != NULL);
        block[0] = 1;
        block[sizes[i] - 1] = 2;
        rsti_prefer_large_pages(block, sizes[i]);
        block[sizes[i] / 2] = 3;
        CHECK_EQ(block[0], 1);
        CHECK_EQ(block[sizes[i] / 2], 3);
        CHECK_EQ(block[sizes[i] - 1], 2);
        free(block);
    }
}

CHECK_MAIN(RUN(large_pages_change_no_byte))
