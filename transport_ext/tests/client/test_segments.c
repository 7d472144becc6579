/* test_segments.c: which segment is chosen (client/segments.h), and the reference on the wire. */
#include "client/segments.h"
#include "protocol/segment.h"
#include "tests/check.h"
#include "util/rng.h"

#include <string.h>

#define MIB (INT64_C(1) << 20)

static rsti_segments_t segments;

static void add(int64_t reserved, int64_t length, int64_t end_position, bool is_claimed)
{
    rsti_segment_t *segment = &segments.items[segments.count++];
    *segment = (rsti_segment_t){.length = length,
        .end_position = end_position,
        .used = ++segments.uses,
        .is_claimed = is_claimed};
    segment->file.reserved = reserved;
    segments.reserved += reserved;
}

static void reset(void)
{
    segments = (rsti_segments_t){0};
}

TEST(the_first_is_new)
{
    reset();
    CHECK_EQ(rsti_segments_choose(&segments, 1, 0), 0);
}

TEST(what_is_unread_or_claimed_is_not_free)
{
    reset();
    add(MIB, 5, 64, false);
    CHECK_EQ(rsti_segments_choose(&segments, 5, 63), 1);
    CHECK_EQ(rsti_segments_choose(&segments, 5, 64), 0);
    segments.items[0].is_claimed = true;
    CHECK_EQ(rsti_segments_choose(&segments, 5, 64), 1);
}

TEST(the_warmest_that_is_large_enough)
{
    reset();
    add(4 * MIB, 5, 64, false);
    add(4 * MIB, 5, 128, false);
    add(1 * MIB, 5, 192, false);
    CHECK_EQ(rsti_segments_choose(&segments, 2 * MIB, 1000), 1);
    CHECK_EQ(rsti_segments_choose(&segments, MIB, 1000), 2);
    CHECK_EQ(rsti_segments_choose(&segments, 5 * MIB, 1000), 3);
}

TEST(at_the_bound_of_memory)
{
    reset();
    for (int i = 0; i < 4; i++) {
        add(RSTI_SEGMENT_LENGTH, RSTI_SEGMENT_LENGTH, 64 * (i + 1), false);
    }
    CHECK_EQ(rsti_segments_choose(&segments, 1, 0), -1);
    CHECK_EQ(rsti_segments_choose(&segments, RSTI_SEGMENT_LENGTH, 64), 0);
    segments.items[1].length = 10 * MIB; /* 55 MiB can move to where they are needed */
    CHECK_EQ(rsti_segments_choose(&segments, 55 * MIB, 0), 4);
    CHECK_EQ(rsti_segments_choose(&segments, 55 * MIB + 1, 0), -1);
}

TEST(at_the_bound_of_number)
{
    reset();
    for (int i = 0; i < RSTI_SEGMENTS_MAX; i++) {
        add(MIB, MIB, 64 * (i + 1), false);
    }
    CHECK_EQ(rsti_segments_choose(&segments, 1, 0), -1);
    CHECK_EQ(rsti_segments_choose(&segments, 3 * MIB, 64), 0);
    CHECK_EQ(rsti_segments_choose(&segments, 3 * MIB, 128), 1);
}

/* An independent law: never one in use, never more memory in use than the bound, and never a
 * refusal while the law allows one. */
TEST(random_states)
{
    for (unsigned seed = 1; seed <= 2000; seed++) {
        rsti_rng_t rng;
        rsti_rng_init(&rng, seed);
        reset();
        const int count = (int)rsti_rng_below(&rng, RSTI_SEGMENTS_MAX + 1);
        int64_t used = 0;
        bool any_free = false;
        for (int i = 0; i < count; i++) {
            const int64_t length = 1 + (int64_t)rsti_rng_below(&rng, 64 * MIB);
            const int64_t reserved = rsti_align_i64(length, RSTI_SEGMENT_STEP);
            const bool is_unread = rsti_rng_below(&rng, 2) == 0;
            add(reserved, length, is_unread ? 128 : 64, rsti_rng_below(&rng, 5) == 0);
            const bool is_busy = is_unread || segments.items[i].is_claimed;
            used += is_busy ? reserved : 0;
            any_free |= !is_busy;
        }
        const int64_t length = 1 + (int64_t)rsti_rng_below(&rng, 64 * MIB);
        const int64_t wanted = rsti_align_i64(length, RSTI_SEGMENT_STEP);
        const int32_t chosen = rsti_segments_choose(&segments, length, 64);
        const bool is_possible = (any_free || count < RSTI_SEGMENTS_MAX)
            && used + wanted <= RSTI_SEGMENT_BYTES_MAX;
        if (chosen < 0) {
            CHECK(!is_possible);
            continue;
        }
        CHECK(chosen <= count && chosen < RSTI_SEGMENTS_MAX);
        if (chosen < count) {
            CHECK(segments.items[chosen].end_position <= 64 && !segments.items[chosen].is_claimed);
        }
        CHECK(is_possible || (chosen < count && segments.items[chosen].file.reserved >= wanted));
    }
}

/* ---- how many bytes wait ---- */

static rsti_log_ext_t told;

static void tell(int32_t number, int64_t bytes_before, int64_t end_position, int64_t length)
{
    told.magic = RSTI_EXT_MAGIC;
    told.segments[number] = (rsti_log_segment_t){
        .bytes_before = bytes_before, .end_position = end_position};
    told.segment_bytes_sent = bytes_before + length;
}

TEST(bytes_below_a_position)
{
    told = (rsti_log_ext_t){0};
    CHECK_EQ(rsti_segments_below(&told, 1000), 0);
    tell(0, 0, 64, 5 * MIB);
    tell(1, 5 * MIB, 192, 1);
    CHECK_EQ(rsti_segments_below(&told, 63), 0);
    CHECK_EQ(rsti_segments_below(&told, 64), 5 * MIB);
    CHECK_EQ(rsti_segments_below(&told, 191), 5 * MIB);
    CHECK_EQ(rsti_segments_below(&told, 192), 5 * MIB + 1);
    CHECK_EQ(rsti_segments_count(&told, 0, 192), 2);
    CHECK_EQ(rsti_segments_count(&told, 64, 192), 1);
    CHECK_EQ(rsti_segments_count(&told, 64, 191), 0);
    /* Aeron's log has other bytes there. */
    told.magic = 0;
    CHECK_EQ(rsti_segments_below(&told, 1000), 0);
    CHECK_EQ(rsti_segments_count(&told, 0, 1000), 0);
}

TEST(bytes_while_a_message_is_told)
{
    told = (rsti_log_ext_t){0};
    tell(0, 0, 64, 7);
    const int64_t before = rsti_segments_below(&told, 64);
    told.segments[0].bytes_before = 7; /* the next one in the same segment, word for word */
    CHECK_EQ(rsti_segments_below(&told, 64), before);
    told.segments[0].end_position = 128;
    CHECK_EQ(rsti_segments_below(&told, 64), before);
    told.segment_bytes_sent = 16;
    CHECK_EQ(rsti_segments_below(&told, 64), before);
    CHECK_EQ(rsti_segments_below(&told, 128), 16);
}

TEST(words_that_cannot_be)
{
    told = (rsti_log_ext_t){0};
    tell(3, -5, 64, 10);
    CHECK_EQ(rsti_segments_below(&told, 0), 0);
    told.segments[3] = (rsti_log_segment_t){.bytes_before = 1000, .end_position = INT64_MAX};
    CHECK_EQ(rsti_segments_below(&told, 0), 5);
    told.segment_bytes_sent = -1;
    CHECK_EQ(rsti_segments_below(&told, 0), 0);
    CHECK_EQ(rsti_segments_below(&told, INT64_MAX), 0);
}

#define MESSAGES 200

/* Messages in random segments that some reader has consumed, beside a list of all of them. */
TEST(bytes_of_random_streams)
{
    for (unsigned seed = 1; seed <= 200; seed++) {
        rsti_rng_t rng;
        rsti_rng_init(&rng, seed);
        told = (rsti_log_ext_t){0};
        int64_t ends[MESSAGES];
        int64_t lengths[MESSAGES];
        int consumed = 0;
        int64_t all = 0;
        for (int i = 0; i < MESSAGES; i++) {
            if (i - consumed >= RSTI_SEGMENTS_MAX || rsti_rng_below(&rng, 3) == 0) {
                consumed += 1 + (int)rsti_rng_below(&rng, (uint64_t)i - (uint64_t)consumed + 1);
                consumed = consumed > i ? i : consumed;
            }
            int32_t number = (int32_t)rsti_rng_below(&rng, RSTI_SEGMENTS_MAX);
            while (consumed < i && told.segments[number].end_position >= ends[consumed]) {
                number = (number + 1) % RSTI_SEGMENTS_MAX;
            }
            lengths[i] = 1 + (int64_t)rsti_rng_below(&rng, 64 * MIB);
            ends[i] = (i > 0 ? ends[i - 1] : 0) + 64 * (1 + (int64_t)rsti_rng_below(&rng, 3));
            tell(number, all, ends[i], lengths[i]);
            all += lengths[i];
            int64_t below = all;
            for (int k = i; k >= consumed; k--) { /* a reader that has come to message k */
                CHECK_EQ(rsti_segments_below(&told, ends[k]), below);
                CHECK_EQ(rsti_segments_count(&told, ends[k], ends[i]), i - k);
                below -= lengths[k];
            }
        }
    }
}

TEST(the_reference)
{
    const rsti_segment_ref_t ref = {.length = 3 * MIB, .number = 7, .use = 1};
    rsti_segment_ref_t back;
    uint8_t payload[RSTI_SEGMENT_REF_LENGTH + 1];
    rsti_segment_ref_encode(&ref, payload);
    CHECK(rsti_segment_ref_decode(payload, RSTI_SEGMENT_REF_LENGTH, 8, 3 * MIB, &back));
    CHECK(memcmp(&ref, &back, sizeof ref) == 0);
    CHECK(!rsti_segment_ref_decode(payload, RSTI_SEGMENT_REF_LENGTH + 1, 8, 3 * MIB, &back));
    CHECK(!rsti_segment_ref_decode(payload, RSTI_SEGMENT_REF_LENGTH - 1, 8, 3 * MIB, &back));
    CHECK(!rsti_segment_ref_decode(payload, RSTI_SEGMENT_REF_LENGTH, 7, 3 * MIB, &back));
    CHECK(!rsti_segment_ref_decode(payload, RSTI_SEGMENT_REF_LENGTH, 8, 3 * MIB - 1, &back));
    payload[12] = 0;
    CHECK(!rsti_segment_ref_decode(payload, RSTI_SEGMENT_REF_LENGTH, 8, 3 * MIB, &back));
    payload[15] = 0x80;
    CHECK(!rsti_segment_ref_decode(payload, RSTI_SEGMENT_REF_LENGTH, 8, 3 * MIB, &back));
}

CHECK_MAIN(RUN(the_first_is_new), RUN(what_is_unread_or_claimed_is_not_free),
    RUN(the_warmest_that_is_large_enough), RUN(at_the_bound_of_memory), RUN(at_the_bound_of_number),
    RUN(random_states), RUN(bytes_below_a_position), RUN(bytes_while_a_message_is_told),
    RUN(words_that_cannot_be), RUN(bytes_of_random_streams), RUN(the_reference))
