#include "logbuffer/rebuilder.h"
#include "tests/check.h"
#include "tests/logbuffer/memory_log.h"
#include "tests/vectors/logbuffer.h"
#include "util/rng.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TERM RSTI_TERM_MIN_LENGTH
#define TERM_ID 5
#define UNITS (TERM / RSTI_FRAME_ALIGNMENT)

static size_t make_datagram(uint8_t *datagram, int32_t term_offset, int32_t length, uint8_t fill)
{
    const int32_t span = rsti_frame_span(length);
    memset(datagram, 0, (size_t)span);
    rsti_data_header_t header;
    rsti_data_header_fill(&header, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_DATA, MEMORY_LOG_SESSION_ID,
        MEMORY_LOG_STREAM_ID, TERM_ID, term_offset);
    header.frame.frame_length = length;
    header.reserved_value = INT64_C(0x1122334455667788);
    memcpy(datagram, &header, sizeof header);
    memset(datagram + 32, fill, (size_t)length - 32);
    return (size_t)span;
}

TEST(a_datagram_is_inserted_once)
{
    memory_log_t memory;
    memory_log_init(&memory, TERM_ID, TERM);
    uint8_t *term = memory.log.terms[0];
    uint8_t datagram[256];
    const size_t length = make_datagram(datagram, 128, 100, 'a');
    CHECK(rsti_term_insert(term, 128, datagram, length));
    CHECK_MEM(term + 128, datagram, length);
    make_datagram(datagram, 128, 100, 'b');
    CHECK(!rsti_term_insert(term, 128, datagram, length));
    CHECK_EQ(term[128 + 32], 'a');
    CHECK_EQ(term[128 + 127], 0);
    CHECK_EQ(frame_at(term, 256).frame.frame_length, 0);
    memory_log_fini(&memory);
}

/* G2 */
TEST(the_header_of_a_padding_is_all_that_is_written)
{
    memory_log_t memory;
    memory_log_init(&memory, TERM_ID, TERM);
    uint8_t *term = memory.log.terms[0];
    uint8_t datagram[64];
    make_datagram(datagram, TERM - 1024, 32, 0);
    rsti_put_i32(datagram, 1024);
    datagram[6] = RSTI_FRAME_PAD;
    CHECK(rsti_term_insert(term, TERM - 1024, datagram, 32));
    CHECK_EQ(frame_at(term, TERM - 1024).frame.frame_length, 1024);
    CHECK_EQ(frame_at(term, TERM - 992).frame.frame_length, 0);
    int32_t contiguous;
    rsti_gap_t gap;
    CHECK(!rsti_term_gap_scan(term, TERM_ID, TERM - 1024, TERM, TERM, &contiguous, &gap));
    CHECK_EQ(contiguous, TERM);
    /* A high-water mark inside the padding is no gap either. */
    CHECK(!rsti_term_gap_scan(term, TERM_ID, TERM - 1024, TERM - 992, TERM, &contiguous, &gap));
    CHECK_EQ(contiguous, TERM);
    memory_log_fini(&memory);
}

/* G2 */
TEST(gaps_are_the_vectors)
{
    for (size_t i = 0; i < COUNT(vector_gap_scanner); i++) {
        const vector_gap_scanner_t *v = &vector_gap_scanner[i];
        memory_log_t memory;
        memory_log_init(&memory, TERM_ID, TERM);
        uint8_t *term = memory.log.terms[0];
        for (size_t f = 0; f < VECTOR_FRAMES_MAX; f++) {
            if (v->frames[f].length != 0) {
                put_frame(term, v->frames[f].type, v->frames[f].length, v->frames[f].offset,
                    TERM_ID);
            }
        }
        int32_t contiguous;
        rsti_gap_t gap = {0};
        CHECK_EQ(rsti_term_gap_scan(term, TERM_ID, v->from, v->limit, TERM, &contiguous, &gap),
            v->gap);
        CHECK_EQ(contiguous, v->returned_offset);
        CHECK_EQ(gap.term_offset, v->gap_offset);
        CHECK_EQ(gap.length, v->gap_length);
        CHECK_EQ(gap.term_id, v->gap ? TERM_ID : 0);
        memory_log_fini(&memory);
    }
}

/* G2 */
TEST(several_gaps_in_one_pass)
{
    memory_log_t memory;
    memory_log_init(&memory, TERM_ID, TERM);
    uint8_t *term = memory.log.terms[0];
    put_frame(term, RSTI_FRAME_DATA, 64, 64, TERM_ID);
    put_frame(term, RSTI_FRAME_DATA, 64, 192, TERM_ID);
    int32_t contiguous;
    rsti_gap_t gaps[4];
    CHECK_EQ(rsti_term_gap_scan_many(term, TERM_ID, 0, 512, TERM, &contiguous, gaps, 4), 3);
    CHECK_EQ(contiguous, 0);
    CHECK_EQ(gaps[1].term_offset, 128);
    CHECK_EQ(gaps[1].length, 64);
    CHECK_EQ(gaps[2].term_offset, 256);
    CHECK_EQ(gaps[2].length, 256);
    CHECK_EQ(rsti_term_gap_scan_many(term, TERM_ID, 0, 512, TERM, &contiguous, gaps, 2), 2);
    CHECK_EQ(rsti_term_gap_scan_many(term, TERM_ID, 64, 128, TERM, &contiguous, gaps, 0), 0);
    CHECK_EQ(contiguous, 128);
    CHECK_EQ(rsti_term_gap_scan_many(term, TERM_ID, 64, 64, TERM, &contiguous, gaps, 4), 0);
    CHECK_EQ(contiguous, 64);
    memory_log_fini(&memory);
}

/* G3: at the start, after a frame, between frames, at the end. */
TEST(gaps_are_filled_once)
{
    memory_log_t memory;
    memory_log_init(&memory, TERM_ID, TERM);
    uint8_t *term = memory.log.terms[1];
    put_frame(term, RSTI_FRAME_DATA, 64, 64, TERM_ID + 1);
    put_frame(term, RSTI_FRAME_DATA, 64, 256, TERM_ID + 1);
    const rsti_gap_t gaps[] = {
        {TERM_ID + 1, 0, 64}, {TERM_ID + 1, 128, 128}, {TERM_ID + 1, 320, TERM - 320}};
    for (size_t i = 0; i < COUNT(gaps); i++) {
        CHECK(rsti_term_gap_fill(&memory.log, &gaps[i]));
        const rsti_data_header_t header = frame_at(term, gaps[i].term_offset);
        CHECK_EQ(header.frame.frame_length, gaps[i].length);
        CHECK_EQ(header.frame.type, RSTI_FRAME_PAD);
        CHECK_EQ(header.frame.flags, 0xC0 | RSTI_FLAG_LOST);
        CHECK_EQ(header.term_offset, gaps[i].term_offset);
        CHECK_EQ(header.term_id, TERM_ID + 1);
        CHECK_EQ(header.session_id, MEMORY_LOG_SESSION_ID);
        CHECK(!rsti_term_gap_fill(&memory.log, &gaps[i]));
    }
    int32_t contiguous;
    rsti_gap_t gap;
    CHECK(!rsti_term_gap_scan(term, TERM_ID + 1, 0, TERM, TERM, &contiguous, &gap));
    CHECK_EQ(contiguous, TERM);
    uint8_t datagram[128];
    CHECK(!rsti_term_insert(term, 128, datagram, make_datagram(datagram, 128, 128, 'x')));
    memory_log_fini(&memory);
}

/* G3 */
TEST(a_gap_with_a_frame_inside_is_not_filled)
{
    memory_log_t memory;
    memory_log_init(&memory, TERM_ID, TERM);
    put_frame(memory.log.terms[0], RSTI_FRAME_DATA, 64, 96, TERM_ID);
    const rsti_gap_t refused[] = {{TERM_ID, 0, 128}, {TERM_ID, 96, 64}, {TERM_ID, 16, 32},
        {TERM_ID, 0, 0}, {TERM_ID, -32, 64}, {TERM_ID, TERM - 32, 64}, {TERM_ID, 32, INT32_MAX},
        {TERM_ID - 1, 0, 64}};
    for (size_t i = 0; i < COUNT(refused); i++) {
        CHECK(!rsti_term_gap_fill(&memory.log, &refused[i]));
    }
    CHECK_EQ(frame_at(memory.log.terms[0], 0).frame.frame_length, 0);
    memory_log_fini(&memory);
}

/* J3 */
TEST(cleaning_stops_at_term_ends)
{
    memory_log_t memory;
    memory_log_init(&memory, TERM_ID, TERM);
    rsti_log_t *log = &memory.log;
    memset(log->terms[0], 0xFF, 3 * TERM);
    int64_t clean = TERM - 64;
    const int64_t to = 2 * TERM + 96;
    CHECK_EQ(rsti_log_clean_up_to(log, &clean, to), 64);
    CHECK_EQ(clean, TERM);
    CHECK_EQ(rsti_log_clean_up_to(log, &clean, to), TERM);
    CHECK_EQ(rsti_log_clean_up_to(log, &clean, to + 31), 96);
    CHECK_EQ(rsti_log_clean_up_to(log, &clean, to + 31), 0);
    CHECK_EQ(rsti_log_clean_up_to(log, &clean, 0), 0);
    CHECK_EQ(rsti_log_clean_up_to(log, &clean, INT64_MIN), 0);
    CHECK_EQ(clean, to);
    for (int32_t at = 0; at < 3 * TERM; at++) {
        const bool is_zero = at >= TERM - 64 && at < to;
        CHECK_EQ(log->terms[0][at], is_zero ? 0 : 0xFF);
    }
    /* Position 3 * TERM is term buffer 0 again. */
    rsti_log_clean(log, 3 * TERM, 32);
    CHECK_EQ(log->terms[0][31], 0);
    CHECK_EQ(log->terms[0][32], 0xFF);
    memory_log_fini(&memory);
}

/* The naive model: which frames exist, by the unit of 32 bytes in which they begin. */
typedef struct model_t {
    int32_t spans[UNITS]; /* frame that should lie here; 0 inside frames */
    bool is_there[UNITS];
} model_t;

static int32_t model_gaps(const model_t *model, int32_t from, int32_t limit, int32_t *contiguous,
    rsti_gap_t *gaps, int32_t capacity)
{
    int32_t count = 0;
    bool is_in_gap = false;
    *contiguous = limit;
    for (int32_t at = from; at < limit; at += model->spans[at / 32]) {
        if (model->is_there[at / 32]) {
            is_in_gap = false;
        } else if (is_in_gap) {
            gaps[count - 1].length += model->spans[at / 32];
        } else {
            if (count == 0) {
                *contiguous = at;
            }
            if (count == capacity) {
                break;
            }
            is_in_gap = true;
            gaps[count++] = (rsti_gap_t){TERM_ID, at, model->spans[at / 32]};
        }
    }
    return count;
}

static void check_against_model(const model_t *model, uint8_t *term, const int32_t *offsets,
    int32_t frame_count, rsti_rng_t *rng)
{
    int32_t from_index = (int32_t)rsti_rng_below(rng, (uint64_t)frame_count);
    int32_t to_index = (int32_t)rsti_rng_below(rng, (uint64_t)frame_count + 1);
    if (from_index > to_index) {
        const int32_t swapped = from_index;
        from_index = to_index;
        to_index = swapped;
    }
    const int32_t from = offsets[from_index];
    const int32_t limit = offsets[to_index];
    const int32_t capacity = 1 + (int32_t)rsti_rng_below(rng, 64);
    rsti_gap_t expected[64], found[64];
    int32_t expected_contiguous, contiguous;
    const int32_t expected_count = model_gaps(model, from, limit, &expected_contiguous, expected,
        capacity);
    const int32_t count = rsti_term_gap_scan_many(term, TERM_ID, from, limit, TERM, &contiguous,
        found, capacity);
    CHECK_EQ(count, expected_count);
    CHECK_EQ(contiguous, expected_contiguous);
    for (int32_t i = 0; i < count; i++) {
        CHECK_EQ(found[i].term_id, TERM_ID);
        CHECK_EQ(found[i].term_offset, expected[i].term_offset);
        CHECK_EQ(found[i].length, expected[i].length);
    }
}

static void play_one_term(rsti_rng_t *rng)
{
    static model_t model;
    static int32_t offsets[UNITS + 1], order[UNITS];
    memset(&model, 0, sizeof model);
    memory_log_t memory;
    memory_log_init(&memory, TERM_ID, TERM);
    int32_t frame_count = 0;
    for (int32_t at = 0; at < TERM;) {
        const int32_t want = 32 * (1 + (int32_t)rsti_rng_below(rng, 64));
        const int32_t span = rsti_min_i32(want, TERM - at);
        model.spans[at / 32] = span;
        order[frame_count] = frame_count;
        offsets[frame_count++] = at;
        at += span;
    }
    offsets[frame_count] = TERM;
    for (int32_t i = frame_count - 1; i > 0; i--) {
        const int32_t j = (int32_t)rsti_rng_below(rng, (uint64_t)i + 1);
        const int32_t swapped = order[i];
        order[i] = order[j];
        order[j] = swapped;
    }
    for (int32_t i = 0; i < frame_count; i++) {
        uint8_t datagram[2048 + 32];
        const int32_t offset = offsets[order[i]];
        const int32_t span = model.spans[offset / 32];
        const int32_t length = rsti_max_i32(32,
            span - (int32_t)rsti_rng_below(rng, RSTI_FRAME_ALIGNMENT));
        const size_t bytes = make_datagram(datagram, offset, length, 0xEE);
        const bool was_there = model.is_there[offset / 32];
        CHECK_EQ(rsti_term_insert(memory.log.terms[0], offset, datagram, bytes), !was_there);
        model.is_there[offset / 32] = true;
        if (rsti_rng_below(rng, 4) == 0) {
            CHECK(!rsti_term_insert(memory.log.terms[0], offset, datagram, bytes));
        }
        check_against_model(&model, memory.log.terms[0], offsets, frame_count, rng);
        if (check_failures > 0) {
            break;
        }
    }
    memory_log_fini(&memory);
}

/* G2 */
TEST(inserting_in_any_order_leaves_the_gaps_of_the_model)
{
    rsti_rng_t rng;
    rsti_rng_init(&rng, check_seed());
    for (int round = 0; round < 40 && check_failures == 0; round++) {
        play_one_term(&rng);
    }
}

/* Whatever a peer writes, gaps lie inside the limit, and nothing outside the term changes. */
TEST(scribbled_terms_are_never_left)
{
    rsti_rng_t rng;
    rsti_rng_init(&rng, check_seed());
    uint8_t *term = (uint8_t *)aligned_alloc(4096, TERM);
    CHECK(term != NULL);
    for (int round = 0; round < 2000; round++) {
        memset(term, 0, TERM);
        for (int i = 0; i < 200; i++) {
            const int32_t at = (int32_t)rsti_rng_below(&rng, UNITS) * 32;
            const int32_t length = rsti_rng_below(&rng, 2) == 0
                ? (int32_t)(uint32_t)rsti_rng_next(&rng)
                : 32 * (int32_t)rsti_rng_below(&rng, 16);
            put_frame(term, RSTI_FRAME_DATA, length, at, TERM_ID);
        }
        const int32_t from = (int32_t)rsti_rng_below(&rng, UNITS) * 32;
        const int32_t limit = (int32_t)rsti_rng_below(&rng, UNITS * 2) * 32;
        rsti_gap_t gaps[16];
        int32_t contiguous;
        const int32_t count = rsti_term_gap_scan_many(term, TERM_ID, from, limit, TERM, &contiguous,
            gaps, 16);
        CHECK(contiguous >= from && contiguous <= TERM);
        for (int32_t i = 0; i < count; i++) {
            CHECK(gaps[i].term_offset >= from);
            CHECK(gaps[i].length > 0);
            CHECK(gaps[i].term_offset + gaps[i].length <= rsti_min_i32(limit, TERM));
        }
    }
    rsti_gap_t gap;
    int32_t contiguous;
    CHECK(!rsti_term_gap_scan(term, TERM_ID, -32, TERM, TERM, &contiguous, &gap));
    CHECK(!rsti_term_gap_scan(term, TERM_ID, 8, TERM, TERM, &contiguous, &gap));
    free(term);
}

CHECK_MAIN(RUN(a_datagram_is_inserted_once), RUN(the_header_of_a_padding_is_all_that_is_written),
    RUN(gaps_are_the_vectors), RUN(several_gaps_in_one_pass), RUN(gaps_are_filled_once),
    RUN(a_gap_with_a_frame_inside_is_not_filled), RUN(cleaning_stops_at_term_ends),
    RUN(inserting_in_any_order_leaves_the_gaps_of_the_model), RUN(scribbled_terms_are_never_left))
