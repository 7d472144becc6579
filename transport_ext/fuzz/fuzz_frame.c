/* fuzz_frame.c: every check of a datagram, each compared with docs/reference/aeron/wire.md written
 * down a second time, byte by byte, without the product's code. */
#include "fuzz/check.h"
#include "protocol/data_header.h"
#include "protocol/frame.h"
#include "protocol/sm_items.h"
#include "protocol/timestamp.h"

#include <stdbool.h>

static bool in_term(int64_t offset, int64_t term_length)
{
    return offset >= 0 && offset < term_length && offset % 32 == 0;
}

static bool naive_gate(const uint8_t *data, size_t size)
{
    if (size < 8 || data[4] != 0 || fuzz_i32(data) < 0) {
        return false;
    }
    int64_t frame_length = fuzz_i32(data);
    int64_t struct_length;
    switch (fuzz_read(data + 6, 2)) {
    case 0:
    case 1:
        return size >= 32 && size % 32 == 0;
    case 2:
        struct_length = 28;
        break;
    case 3:
        struct_length = 36;
        break;
    case 4:
    case 5:
    case 6:
        struct_length = 40;
        break;
    case 7:
        struct_length = 22;
        break;
    case 11:
        struct_length = 20;
        break;
    default:
        return false;
    }
    return frame_length >= struct_length && frame_length <= (int64_t)size;
}

static int64_t naive_packet(const uint8_t *data, size_t size, int64_t term_length)
{
    if (size < 32 || size % 32 != 0) {
        return -1;
    }
    int64_t first_offset = fuzz_i32(data + 8);
    if (!in_term(first_offset, term_length)) {
        return -1;
    }
    uint64_t first_type = fuzz_read(data + 6, 2);
    if (size == 32 && fuzz_i32(data) == 0) {
        return first_type <= 1 && data[4] == 0 ? 0 : -1;
    }
    int64_t at = 0;
    for (;;) {
        const uint8_t *frame = data + at;
        int64_t length = fuzz_i32(frame);
        uint64_t type = fuzz_read(frame + 6, 2);
        if (length < 32 || type > 1 || frame[4] != 0 || fuzz_i32(frame + 8) != first_offset + at
            || memcmp(frame + 12, data + 12, 12) != 0) {
            return -1;
        }
        at += (length + 31) / 32 * 32;
        if (first_offset + at > term_length) {
            return -1;
        }
        if (at >= (int64_t)size) {
            return at == (int64_t)size || type == 0 ? at : -1;
        }
    }
}

static void check_packet(const uint8_t *data, size_t size, int32_t term_length)
{
    int32_t result = rsti_packet_validate(data, size, term_length);
    FUZZ_CHECK(result == naive_packet(data, size, term_length));
    if (result >= 0) {
        FUZZ_CHECK(fuzz_i32(data + 8) + result <= term_length);
        FUZZ_CHECK((result == 0) == rsti_packet_is_heartbeat(data, size));
        rsti_stream_header_t header;
        int64_t reserved_value = (int64_t)fuzz_read(data + 24, 8);
        (void)rsti_stream_header_decode(reserved_value, &header);
        FUZZ_CHECK(rsti_stream_header_encode(&header) == reserved_value);
    }
}

static void check_setup(const uint8_t *data)
{
    int64_t term_length = fuzz_i32(data + 28);
    int64_t mtu = fuzz_i32(data + 32);
    uint32_t term_count = (uint32_t)(fuzz_read(data + 24, 4) - fuzz_read(data + 20, 4));
    bool is_power = false;
    for (int bits = 16; bits <= 30; bits++) {
        is_power = is_power || term_length == INT64_C(1) << bits;
    }
    bool expected = is_power && in_term(fuzz_i32(data + 8), term_length) && mtu >= 32
        && mtu <= 65504 && mtu % 32 == 0 && term_count < UINT32_C(1) << 31;
    FUZZ_CHECK(rsti_setup_is_valid((const rsti_setup_t *)data) == expected);
}

static void check_nak(const uint8_t *data, int32_t term_length)
{
    int64_t offset = fuzz_i32(data + 20);
    int64_t length = fuzz_i32(data + 24);
    bool expected = in_term(offset, term_length) && length >= 0 && offset + length <= term_length;
    FUZZ_CHECK(rsti_nak_is_valid((const rsti_nak_t *)data, term_length) == expected);
}

static void on_item(void *arg, uint8_t type, const uint8_t *value, uint8_t length)
{
    uint64_t *sum = arg;
    *sum += type;
    for (uint8_t i = 0; i < length; i++) {
        *sum += value[i];
    }
}

static void check_sm(const uint8_t *data, int32_t term_length)
{
    const rsti_sm_t *sm = (const rsti_sm_t *)data;
    int64_t frame_length = fuzz_i32(data);
    int64_t window = fuzz_i32(data + 24);
    bool expected = in_term(fuzz_i32(data + 20), term_length) && window >= 0
        && window <= term_length / 2;
    FUZZ_CHECK(rsti_sm_is_valid(sm, term_length) == expected);
    int64_t group_tag = 0;
    FUZZ_CHECK(rsti_sm_group_tag(sm, &group_tag) == (frame_length == 44));
    FUZZ_CHECK(frame_length != 44 || (uint64_t)group_tag == fuzz_read(data + 36, 8));
    if (frame_length >= RSTI_SM_ITEMS_OFFSET) {
        uint64_t sum = 0;
        (void)rsti_sm_items_read(data + RSTI_SM_ITEMS_OFFSET,
            (size_t)(frame_length - RSTI_SM_ITEMS_OFFSET), on_item, &sum);
        rsti_sm_items_t items;
        FUZZ_CHECK(rsti_sm_items_decode(&items, sm)
            == rsti_sm_items_are_sound(data + RSTI_SM_ITEMS_OFFSET,
                (size_t)(frame_length - RSTI_SM_ITEMS_OFFSET)));
    }
    /* Positions made of arbitrary bytes. */
    int64_t sm_position = (int64_t)fuzz_read(data + 28, 8);
    int64_t snd_position = (int64_t)fuzz_read(data + 12, 8);
    /* Halving avoids overflow; the low bit of an odd difference decides nothing else. */
    bool is_near = sm_position / 2 >= snd_position / 2 - term_length
        && sm_position / 2 <= snd_position / 2 + term_length;
    bool is_inside = is_near
        && (uint64_t)sm_position - (uint64_t)snd_position + (uint64_t)term_length / 2
            <= (uint64_t)term_length;
    FUZZ_CHECK(rsti_sm_is_in_window(sm_position, snd_position, term_length) == is_inside);
}

static void check_err(const uint8_t *data, size_t size)
{
    int64_t text_length = fuzz_i32(data + 36);
    bool expected = text_length >= 0 && text_length <= 1023 && 40 + text_length <= fuzz_i32(data)
        && fuzz_i32(data) <= (int64_t)size;
    FUZZ_CHECK(rsti_err_is_valid((const rsti_err_t *)data, size) == expected);
}

/* A time-stamp changes only its 8 bytes of each frame, and no header but its reserved value. */
static void check_timestamp(const uint8_t *input, size_t size, int64_t offset)
{
    static uint8_t stamped[65536];
    const int64_t at = offset - 8;
    if (size > sizeof stamped) {
        return;
    }
    memcpy(stamped, input, size);
    rsti_timestamp_write(stamped, size, at, -1);
    for (size_t i = 0, first = 0, span = 0; i < size; i++) {
        if (i == first + span) {
            first = i;
            const int64_t length = size - i < 32 ? 0 : fuzz_i32(input + i);
            span = length < 32 ? size : (size_t)(length + 31) / 32 * 32;
        }
        const int64_t inside = (int64_t)(i - first) - 32 - at;
        FUZZ_CHECK(stamped[i] == input[i] || (stamped[i] == 0xFF && inside >= 0 && inside < 8));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    const uint8_t *data = fuzz_exact_copy(input, size);
    /* The corpus uses terms of 64 KiB; other lengths are tried sometimes. */
    int pick = size > 0 ? data[size - 1] & 31 : 0;
    int32_t term_length = INT32_C(65536) << (pick > 16 && pick - 16 < 15 ? pick - 16 : 0);
    check_packet(data, size, term_length);
    bool is_acceptable = rsti_frame_is_acceptable(data, size);
    FUZZ_CHECK(is_acceptable == naive_gate(data, size));
    if (!is_acceptable) {
        return 0;
    }
    check_timestamp(input, size, pick);
    switch (fuzz_read(data + 6, 2)) {
    case RSTI_FRAME_SETUP:
        check_setup(data);
        break;
    case RSTI_FRAME_NAK:
        check_nak(data, term_length);
        break;
    case RSTI_FRAME_SM:
        check_sm(data, term_length);
        break;
    case RSTI_FRAME_ERR:
        check_err(data, size);
        break;
    default:
        break;
    }
    return 0;
}
