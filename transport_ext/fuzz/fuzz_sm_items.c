/* fuzz_sm_items.c: a decoded tail can be encoded again from its items, byte for byte, and so can
 * what it says has arrived. */
#include "fuzz/check.h"
#include "protocol/sm_items.h"

typedef struct rewrite_t {
    rsti_sm_items_writer_t writer;
    int count;
} rewrite_t;

static void on_item(void *arg, uint8_t type, const uint8_t *value, uint8_t length)
{
    rewrite_t *rewrite = arg;
    uint8_t again[RSTI_SM_ITEMS_MAX];
    memcpy(again, value, length);
    if (type == RSTI_SM_ITEM_PATH) {
        rsti_sm_path_t path;
        rsti_sm_path_decode(&path, value);
        memset(again, 0, RSTI_SM_PATH_LENGTH);
        rsti_sm_path_encode(&path, again);
    }
    FUZZ_CHECK(rsti_sm_items_add(&rewrite->writer, type, again, length));
    rewrite->count++;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    const uint8_t *data = fuzz_exact_copy(input, size);
    uint8_t buffer[RSTI_SM_ITEMS_MAX];
    rewrite_t rewrite = {0};
    rsti_sm_items_begin(&rewrite.writer, buffer, sizeof buffer);
    if (!rsti_sm_items_read(data, size, on_item, &rewrite)) {
        FUZZ_CHECK(rewrite.count == 0);
        return 0;
    }
    FUZZ_CHECK(size >= RSTI_SM_ITEMS_MIN && size <= RSTI_SM_ITEMS_MAX);
    FUZZ_CHECK(rewrite.count == data[1]);
    size_t items_length = (size_t)fuzz_read(data + 2, 2);
    FUZZ_CHECK(rsti_sm_items_end(&rewrite.writer) <= size);
    FUZZ_CHECK(memcmp(buffer, data, 4 + items_length) == 0);
    return 0;
}
