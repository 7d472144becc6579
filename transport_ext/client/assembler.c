/* assembler.c: see assembler.h and docs/reference/aeron/memory.md 8. */
#include "client/assembler.h"

#include "util/alloc.h"
#include "util/bits.h"
#include "util/error.h"

#include <string.h>

#define BUFFER_LENGTH_MIN 4096

void rsti_assembler_init(rsti_assembler_t *assembler, int32_t length_max)
{
    *assembler = (rsti_assembler_t){.length_max = length_max, .next_position = -1};
}

void rsti_assembler_fini(rsti_assembler_t *assembler)
{
    rsti_free(assembler->buffer.data);
    *assembler = (rsti_assembler_t){.next_position = -1};
}

void rsti_assembler_reset(rsti_assembler_t *assembler)
{
    assembler->length = 0;
    assembler->next_position = -1;
}

void rsti_assembler_begin(rsti_assembler_t *assembler, const rsti_data_header_t *header)
{
    assembler->reserved_value = header->reserved_value;
    assembler->term_id = header->term_id;
    assembler->term_offset = header->term_offset;
}

int32_t rsti_assembler_would_be(const rsti_assembler_t *assembler, uint8_t flags,
    int32_t fragment_length, int64_t position)
{
    if ((flags & RSTI_FLAG_BEGIN) != 0) {
        return fragment_length <= assembler->length_max ? fragment_length : -1;
    }
    if (assembler->next_position != position
        || fragment_length > assembler->length_max - assembler->length) {
        return -1;
    }
    return assembler->length + fragment_length;
}

static int reserve(rsti_assembler_t *assembler, size_t needed)
{
    rsti_buffer_t *buffer = &assembler->buffer;
    if (needed <= buffer->capacity
        && buffer->data != NULL) { /* an empty first fragment needs a buffer too */
        return 0;
    }
    size_t capacity = buffer->capacity > 0 ? buffer->capacity : BUFFER_LENGTH_MIN;
    while (capacity < needed) {
        capacity *= 2;
    }
    uint8_t *data = rsti_realloc(buffer->data, buffer->capacity, capacity);
    if (data == NULL) {
        return -RST_ENOMEM;
    }
    buffer->data = data;
    buffer->capacity = capacity;
    return 0;
}

int rsti_assembler_append(rsti_assembler_t *assembler, uint8_t flags, const uint8_t *payload,
    int32_t length, int64_t position, int64_t end_position)
{
    const bool is_begin = (flags & RSTI_FLAG_BEGIN) != 0;
    const int32_t before = is_begin ? 0 : assembler->length;
    RST_ASSERT(is_begin || assembler->next_position == position);
    (void)position;
    const int result = reserve(assembler, (size_t)before + (size_t)length);
    if (result < 0) {
        return result;
    }
    memcpy(assembler->buffer.data + before, payload, (size_t)length);
    assembler->length = before + length;
    assembler->next_position = end_position;
    return 0;
}
