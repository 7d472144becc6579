#include "logbuffer/reader.h"
#include "tests/check.h"
#include "tests/logbuffer/memory_log.h"
#include "tests/vectors/logbuffer.h"
#include "util/rng.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TERM RSTI_TERM_MIN_LENGTH

/* Exactly one term, so that the address sanitizer sees every read beyond it. */
static uint8_t *new_term(void)
{
    uint8_t *term = (uint8_t *)aligned_alloc(4096, TERM);
    if (term == NULL) {
        abort();
    }
    memset(term, 0, TERM);
    return term;
}

/* G1 */
TEST(scans_are_the_vectors)
{
    for (size_t i = 0; i < COUNT(vector_term_scanner); i++) {
        const vector_term_scanner_t *v = &vector_term_scanner[i];
        uint8_t *term = new_term();
        for (size_t f = 0; f < VECTOR_FRAMES_MAX; f++) {
            if (v->frames[f].length != 0) {
                put_frame(term, v->frames[f].type, v->frames[f].length, v->frames[f].offset, 5);
            }
        }
        int32_t padding = -1;
        CHECK_EQ(rsti_term_scan(term, TERM, v->offset, v->max_length, &padding), v->available);
        CHECK_EQ(padding, v->padding);
        free(term);
    }
}

/* G1 */
TEST(a_scan_goes_over_a_padding_of_one_header)
{
    uint8_t *term = new_term();
    put_frame(term, RSTI_FRAME_PAD, 32, 0, 5);
    put_frame(term, RSTI_FRAME_DATA, 64, 32, 5);
    int32_t padding;
    CHECK_EQ(rsti_term_scan(term, TERM, 0, 1408, &padding), 96);
    CHECK_EQ(padding, 0);
    free(term);
}

/* G1 */
TEST(a_scan_ends_at_the_term_and_refuses_other_offsets)
{
    uint8_t *term = new_term();
    int32_t padding;
    put_frame(term, RSTI_FRAME_DATA, 64, TERM - 64, 5);
    CHECK_EQ(rsti_term_scan(term, TERM, TERM - 64, 1408, &padding), 64);
    CHECK_EQ(rsti_term_scan(term, TERM, TERM, 1408, &padding), 0);
    static const int32_t offsets[] = {-32, 1, 33, TERM + 32, INT32_MIN, INT32_MAX};
    for (size_t i = 0; i < COUNT(offsets); i++) {
        CHECK_EQ(rsti_term_scan(term, TERM, offsets[i], 1408, &padding), 0);
    }
    free(term);
}

/* B1 */
TEST(reads_nothing_one_several_and_up_to_the_capacity)
{
    uint8_t *term = new_term();
    rsti_fragment_t fragments[8];
    int32_t next;
    bool is_corrupt;
    CHECK_EQ(rsti_term_read(term, TERM, 0, fragments, 8, &next, &is_corrupt), 0);
    CHECK_EQ(next, 0);
    put_frame(term, RSTI_FRAME_DATA, 45, 0, 5);
    put_frame(term, RSTI_FRAME_DATA, 32, 64, 5);
    put_frame(term, RSTI_FRAME_DATA, 100, 96, 5);
    put_frame(term, RSTI_FRAME_DATA, -100, 224, 5);
    CHECK_EQ(rsti_term_read(term, TERM, 0, fragments, 1, &next, &is_corrupt), 1);
    CHECK_EQ(next, 64);
    CHECK_EQ(rsti_term_read(term, TERM, next, fragments, 8, &next, &is_corrupt), 2);
    CHECK_EQ(next, 224);
    CHECK(!is_corrupt);
    CHECK_EQ(fragments[0].payload_length, 0);
    CHECK_EQ(fragments[1].payload_length, 68);
    CHECK(fragments[1].payload == term + 96 + 32);
    CHECK_EQ(fragments[1].header->term_offset, 96);
    CHECK_EQ(fragments[1].flags, 0xC0);
    CHECK_EQ(rsti_term_read(term, TERM, 0, fragments, 0, &next, &is_corrupt), 0);
    CHECK_EQ(next, 0);
    free(term);
}

/* B2 */
TEST(padding_is_passed_silently)
{
    uint8_t *term = new_term();
    rsti_fragment_t fragments[2];
    int32_t next;
    bool is_corrupt;
    put_frame(term, RSTI_FRAME_PAD, 64, 0, 5);
    put_frame(term, RSTI_FRAME_DATA, 64, 64, 5);
    put_frame(term, RSTI_FRAME_PAD, TERM - 128, 128, 5);
    CHECK_EQ(rsti_term_read(term, TERM, 0, fragments, 2, &next, &is_corrupt), 1);
    CHECK_EQ(next, TERM);
    CHECK_EQ(rsti_term_read(term, TERM, next, fragments, 2, &next, &is_corrupt), 0);
    CHECK_EQ(next, TERM);
    CHECK(!is_corrupt);
    free(term);
}

TEST(impossible_frames_end_the_read)
{
    uint8_t *term = new_term();
    rsti_fragment_t fragments[4];
    int32_t next;
    bool is_corrupt;
    static const int32_t lengths[] = {1, 31, TERM - 64 + 1, TERM, INT32_MAX, INT32_MAX - 31};
    for (size_t i = 0; i < COUNT(lengths); i++) {
        put_frame(term, RSTI_FRAME_DATA, 64, 0, 5);
        put_frame(term, RSTI_FRAME_DATA, lengths[i], 64, 5);
        CHECK_EQ(rsti_term_read(term, TERM, 0, fragments, 4, &next, &is_corrupt), 1);
        CHECK_EQ(next, 64);
        CHECK(is_corrupt);
        int32_t padding;
        CHECK_EQ(rsti_term_scan(term, TERM, 0, TERM, &padding), 64);
        CHECK_EQ(rsti_term_scan(term, TERM, 64, TERM, &padding), 0);
    }
    put_frame(term, RSTI_FRAME_SETUP, 64, 64, 5);
    CHECK_EQ(rsti_term_read(term, TERM, 0, fragments, 4, &next, &is_corrupt), 1);
    CHECK(is_corrupt);
    static const int32_t offsets[] = {-32, 1, TERM + 32, INT32_MIN};
    for (size_t i = 0; i < COUNT(offsets); i++) {
        CHECK_EQ(rsti_term_read(term, TERM, offsets[i], fragments, 4, &next, &is_corrupt), 0);
        CHECK_EQ(next, offsets[i]);
        CHECK(is_corrupt);
    }
    free(term);
}

/* A broken peer writes anything anywhere: the result stays inside the term. */
TEST(scribbled_terms_are_never_left)
{
    rsti_rng_t rng;
    rsti_rng_init(&rng, check_seed());
    uint8_t *term = new_term();
    rsti_fragment_t fragments[64];
    for (int round = 0; round < 3000; round++) {
        for (int32_t at = 0; at + 32 <= TERM;) {
            const uint64_t dice = rsti_rng_below(&rng, 20);
            int32_t length = 32 + (int32_t)rsti_rng_below(&rng, 4096);
            if (dice == 0) {
                length = (int32_t)(uint32_t)rsti_rng_next(&rng);
            } else if (dice == 1) {
                length = (int32_t)rsti_rng_below(&rng, TERM * 2);
            }
            const int16_t type = dice == 2 ? RSTI_FRAME_PAD
                                           : (dice == 3 ? (int16_t)rsti_rng_next(&rng) : 1);
            put_frame(term, type, length, at, 5);
            at += (int32_t)rsti_rng_below(&rng, 2) == 0 ? 32 : rsti_frame_span(length & 0xFFF) + 32;
        }
        int32_t next = (int32_t)rsti_rng_below(&rng, TERM / 32) * 32;
        bool is_corrupt = false;
        for (int step = 0; step < 64; step++) {
            const int32_t before = next;
            const int32_t count = rsti_term_read(term, TERM, before, fragments, 64, &next,
                &is_corrupt);
            CHECK(next >= before);
            CHECK(next <= TERM);
            for (int32_t i = 0; i < count; i++) {
                CHECK(fragments[i].payload_length >= 0);
                CHECK(fragments[i].payload >= term + 32);
                CHECK(fragments[i].payload + fragments[i].payload_length <= term + TERM);
            }
            int32_t padding;
            const int32_t sent = rsti_term_scan(term, TERM, before, 1408, &padding);
            CHECK(sent <= 1408);
            CHECK(padding >= 0);
            CHECK((int64_t)before + rsti_max_i32(sent, 0) + padding <= TERM);
            if (count == 0 || is_corrupt) {
                break;
            }
        }
    }
    free(term);
}

CHECK_MAIN(RUN(scans_are_the_vectors), RUN(a_scan_goes_over_a_padding_of_one_header),
    RUN(a_scan_ends_at_the_term_and_refuses_other_offsets),
    RUN(reads_nothing_one_several_and_up_to_the_capacity), RUN(padding_is_passed_silently),
    RUN(impossible_frames_end_the_read), RUN(scribbled_terms_are_never_left))
