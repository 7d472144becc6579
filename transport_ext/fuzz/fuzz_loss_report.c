/* fuzz_loss_report.c: the bytes of a loss report. The reader stays inside them, entries come in
 * order and do not overlap, and a naive walk by the format's rules finds the same ones. */
#include "concurrent/loss_report.h"
#include "fuzz/check.h"

#define HEADER_LENGTH 40 /* then the channel's length */

typedef struct walk_t {
    const uint8_t *data;
    size_t size;
    size_t offset; /* of the next entry */
    size_t count;
} walk_t;

static size_t aligned(size_t length, size_t alignment)
{
    return (length + alignment - 1) / alignment * alignment;
}

static void on_entry(void *arg, const rsti_loss_view_t *view)
{
    walk_t *walk = arg;
    const uint8_t *entry = walk->data + walk->offset;
    FUZZ_CHECK(walk->offset + HEADER_LENGTH + 8 <= walk->size);
    FUZZ_CHECK((uint64_t)view->observation_count == fuzz_read(entry, 8));
    FUZZ_CHECK(view->observation_count != 0);
    FUZZ_CHECK((uint64_t)view->bytes_lost == fuzz_read(entry + 8, 8));
    FUZZ_CHECK(view->session_id == fuzz_i32(entry + 32));
    FUZZ_CHECK(view->stream_id == fuzz_i32(entry + 36));
    FUZZ_CHECK((int64_t)view->channel_length == fuzz_i32(entry + HEADER_LENGTH));
    FUZZ_CHECK((const uint8_t *)view->channel == entry + HEADER_LENGTH + 4);
    const size_t source_at = HEADER_LENGTH + 4 + aligned(view->channel_length, 4);
    FUZZ_CHECK(walk->offset + source_at + 4 + view->source_length <= walk->size);
    FUZZ_CHECK((const uint8_t *)view->source == entry + source_at + 4);
    /* The source may be shown without its trailing blanks. */
    FUZZ_CHECK((int64_t)view->source_length <= fuzz_i32(entry + source_at));
    const size_t source_length = (size_t)fuzz_i32(entry + source_at);
    walk->offset += aligned(source_at + 4 + source_length, RSTI_LOSS_ENTRY_ALIGNMENT);
    walk->count++;
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    walk_t walk = {.size = size & ~(size_t)7};
    walk.data = fuzz_exact_copy(input, walk.size);
    FUZZ_CHECK(rsti_loss_report_read(walk.data, walk.size, on_entry, &walk) == walk.count);
    return 0;
}
