/* test_timestamp.c: into which frames of a datagram a time-stamp is written. */
#include "protocol/frame.h"
#include "protocol/timestamp.h"
#include "tests/check.h"
#include "util/bits.h"

#define TIME INT64_C(0x1122334455667788)

static uint8_t bytes[512];

static void put_frame(size_t at, int32_t length, uint8_t flags, int16_t type)
{
    const rsti_frame_header_t header = {length, 0, flags, type};
    memcpy(bytes + at, &header, sizeof header);
}

/* The eight bytes at the offset of the payload of the frame. */
static int64_t stamped_at(size_t at, int64_t offset)
{
    return rsti_get_i64(bytes + at + RSTI_DATA_HEADER_LENGTH + offset);
}

static void reset(void)
{
    memset(bytes, 0xEE, sizeof bytes);
}

/* N25 */
TEST(every_message_that_begins)
{
    reset();
    put_frame(0, 32 + 16, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_DATA);
    put_frame(64, 32 + 8, RSTI_FLAG_BEGIN, RSTI_FRAME_DATA);
    put_frame(128, 32 + 16, RSTI_FLAG_END, RSTI_FRAME_DATA);
    put_frame(192, 32 + 16, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_PAD);
    put_frame(256, 32 + 7, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_DATA);
    rsti_timestamp_write(bytes, 320, 0, TIME);
    const int64_t untouched = rsti_get_i64(bytes + 400);
    CHECK_EQ(stamped_at(0, 0), TIME);
    CHECK_EQ(stamped_at(64, 0), TIME);
    CHECK_EQ(stamped_at(128, 0), untouched); /* a fragment in the middle or at the end */
    CHECK_EQ(stamped_at(192, 0), untouched);
    CHECK_EQ(stamped_at(256, 0), untouched); /* one byte too short */
    CHECK_EQ(stamped_at(0, 8), untouched);
    rsti_timestamp_write(bytes, 320, 8, TIME);
    CHECK_EQ(stamped_at(0, 8), TIME);
    CHECK_EQ(stamped_at(64, 8), untouched);
}

/* N25 */
TEST(the_reserved_value)
{
    reset();
    put_frame(0, 32, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_DATA);
    rsti_timestamp_write(bytes, 32, RSTI_TIMESTAMP_RESERVED, TIME);
    rsti_data_header_t header;
    memcpy(&header, bytes, sizeof header);
    CHECK_EQ(header.reserved_value, TIME);
    CHECK_EQ(bytes[32], 0xEE);
    /* no offset lies before it: the ids of the frame are safe */
    reset();
    put_frame(0, 64, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_DATA);
    uint8_t before[64];
    memcpy(before, bytes, sizeof before);
    rsti_timestamp_write(bytes, 64, INT64_MIN, TIME);
    rsti_timestamp_write(bytes, 64, RSTI_TIMESTAMP_RESERVED - 1, TIME);
    rsti_timestamp_write(bytes, 64, INT32_MAX, TIME);
    CHECK_MEM(bytes, before, sizeof before);
}

/* N25: heartbeats, control frames and bytes from strangers */
TEST(impossible_frames_end_the_walk)
{
    static const int32_t lengths[] = {0, -1, 31, 65, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        reset();
        put_frame(0, lengths[i], RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_DATA);
        put_frame(32, 32, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_DATA);
        uint8_t before[sizeof bytes];
        memcpy(before, bytes, sizeof before);
        rsti_timestamp_write(bytes, 64, RSTI_TIMESTAMP_RESERVED, TIME);
        CHECK_MEM(bytes, before, sizeof before);
    }
    reset();
    put_frame(0, 36, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_SM);
    rsti_timestamp_write(bytes, 36, RSTI_TIMESTAMP_RESERVED, TIME);
    CHECK_EQ(bytes[24], 0xEE);
    for (size_t length = 0; length < 32; length++) {
        put_frame(0, (int32_t)length, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_DATA);
        rsti_timestamp_write(bytes, length, RSTI_TIMESTAMP_RESERVED, TIME);
        CHECK_EQ(bytes[24], 0xEE);
    }
}

CHECK_MAIN(RUN(every_message_that_begins), RUN(the_reserved_value),
    RUN(impossible_frames_end_the_walk))
