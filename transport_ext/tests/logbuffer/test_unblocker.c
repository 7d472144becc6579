#include "logbuffer/rebuilder.h"
#include "tests/check.h"
#include "tests/logbuffer/memory_log.h"
#include "tests/vectors/logbuffer.h"
#include "util/rng.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TERM RSTI_TERM_MIN_LENGTH
#define TERM_ID 100

/* G4 */
TEST(terms_are_unblocked_as_the_vectors)
{
    for (size_t i = 0; i < COUNT(vector_term_unblocker); i++) {
        const vector_term_unblocker_t *v = &vector_term_unblocker[i];
        memory_log_t memory;
        memory_log_init(&memory, TERM_ID, TERM);
        uint8_t *term = memory.log.terms[0];
        for (size_t f = 0; f < VECTOR_FRAMES_MAX; f++) {
            if (v->frames[f].length != 0) {
                /* Lengths only, as in the vectors: a dead producer wrote no more. */
                rsti_put_i32(term + v->frames[f].offset, v->frames[f].length);
            }
        }
        CHECK_EQ(rsti_term_unblock(&memory.log, term, v->blocked_offset, v->tail_offset, TERM_ID),
            v->status);
        const rsti_data_header_t header = frame_at(term, v->blocked_offset);
        CHECK_EQ(header.frame.frame_length, v->frame_length_after);
        CHECK_EQ(header.frame.type, v->type_after);
        CHECK_EQ(header.term_offset, v->term_offset_after);
        CHECK_EQ(header.term_id, v->term_id_after);
        memory_log_fini(&memory);
    }
}

/* G4, N22 */
TEST(a_dead_claim_becomes_padding)
{
    memory_log_t memory;
    memory_log_init(&memory, TERM_ID, TERM);
    rsti_log_t *log = &memory.log;
    put_frame(log->terms[0], RSTI_FRAME_DATA, 64, 0, TERM_ID);
    put_frame(log->terms[0], RSTI_FRAME_DATA, -100, 64, TERM_ID);
    log->metadata->term_tail_counters[0] = rsti_tail_pack(TERM_ID, 192);
    CHECK(!rsti_log_unblock(log, 0)); /* complete */
    CHECK(rsti_log_unblock(log, 64));
    CHECK_EQ(frame_at(log->terms[0], 64).frame.frame_length, 100);
    CHECK_EQ(frame_at(log->terms[0], 64).frame.type, RSTI_FRAME_PAD);
    CHECK_EQ(frame_at(log->terms[0], 64).session_id, MEMORY_LOG_SESSION_ID);
    CHECK(!rsti_log_unblock(log, 64));
    CHECK(!rsti_log_unblock(log, 192)); /* at the tail: nothing is claimed */
    CHECK_EQ(frame_at(log->terms[0], 192).frame.frame_length, 0);
    memory_log_fini(&memory);
}

/* Its producer died between moving the tail and writing the frame's length; no other producer will
 * write behind. */
TEST(zeros_up_to_the_tail_are_padded_when_no_producer_is_left)
{
    memory_log_t memory;
    memory_log_init(&memory, TERM_ID, TERM);
    rsti_log_t *log = &memory.log;
    put_frame(log->terms[0], RSTI_FRAME_DATA, 64, 0, TERM_ID);
    log->metadata->term_tail_counters[0] = rsti_tail_pack(TERM_ID, 192);
    CHECK(!rsti_log_unblock(log, 64));
    CHECK(!rsti_log_unblock_to_tail(log, 0)); /* complete */
    CHECK(rsti_log_unblock_to_tail(log, 64));
    CHECK_EQ(frame_at(log->terms[0], 64).frame.frame_length, 128);
    CHECK_EQ(frame_at(log->terms[0], 64).frame.type, RSTI_FRAME_PAD);
    CHECK(!rsti_log_unblock_to_tail(log, 64));
    CHECK(!rsti_log_unblock_to_tail(log, 192)); /* nothing is claimed */
    memory_log_fini(&memory);
}

/* G4 */
TEST(zeros_to_the_end_are_padded_and_rotated)
{
    memory_log_t memory;
    memory_log_init(&memory, TERM_ID, TERM);
    rsti_log_t *log = &memory.log;
    /* the tail exceeds the term */
    log->metadata->term_tail_counters[0] = rsti_tail_pack(TERM_ID, TERM + 64);
    CHECK(rsti_log_unblock(log, TERM - 128));
    CHECK_EQ(frame_at(log->terms[0], TERM - 128).frame.frame_length, 128);
    CHECK_EQ(log->metadata->active_term_count, 1);
    CHECK_EQ(log->metadata->term_tail_counters[1], rsti_tail_pack(TERM_ID + 1, 0));
    memory_log_fini(&memory);
}

/* G4 */
TEST(full_term_without_rotation_is_rotated)
{
    memory_log_t memory;
    memory_log_init(&memory, TERM_ID, TERM);
    rsti_log_t *log = &memory.log;
    put_frame(log->terms[0], RSTI_FRAME_DATA, TERM, 0, TERM_ID);
    log->metadata->term_tail_counters[0] = rsti_tail_pack(TERM_ID, TERM);
    CHECK(rsti_log_unblock(log, TERM));
    CHECK_EQ(log->metadata->active_term_count, 1);
    CHECK_EQ(log->metadata->term_tail_counters[1], rsti_tail_pack(TERM_ID + 1, 0));
    CHECK(!rsti_log_unblock(log, TERM)); /* now it is an ordinary empty term */
    CHECK_EQ(log->metadata->active_term_count, 1);
    memory_log_fini(&memory);
}

/* G4 */
TEST(a_tail_moved_by_a_dead_rotator_is_finished)
{
    memory_log_t memory;
    memory_log_init(&memory, TERM_ID, TERM);
    rsti_log_t *log = &memory.log;
    log->metadata->term_tail_counters[0] = rsti_tail_pack(TERM_ID, TERM);
    log->metadata->term_tail_counters[1] = rsti_tail_pack(TERM_ID + 1, 0);
    CHECK(rsti_log_unblock(log, TERM));
    CHECK_EQ(log->metadata->active_term_count, 1);
    CHECK_EQ(log->metadata->term_tail_counters[1], rsti_tail_pack(TERM_ID + 1, 0));
    memory_log_fini(&memory);
}

/* G4 */
TEST(impossible_positions_and_claims_do_nothing)
{
    memory_log_t memory;
    memory_log_init(&memory, TERM_ID, TERM);
    rsti_log_t *log = &memory.log;
    log->metadata->term_tail_counters[0] = rsti_tail_pack(TERM_ID, 4096);
    static const int64_t positions[] = {
        -1, -32, INT64_MIN, INT64_MAX, 8, 5 * TERM, (int64_t)TERM << 31};
    for (size_t i = 0; i < COUNT(positions); i++) {
        CHECK(!rsti_log_unblock(log, positions[i]));
    }
    static const int32_t claims[] = {-1, -31, -TERM - 32, INT32_MIN};
    for (size_t i = 0; i < COUNT(claims); i++) {
        rsti_put_i32(log->terms[0] + 64, claims[i]);
        CHECK_EQ(rsti_term_unblock(log, log->terms[0], 64, 4096, TERM_ID), RSTI_UNBLOCK_NONE);
    }
    CHECK_EQ(rsti_term_unblock(log, log->terms[0], TERM, TERM, TERM_ID), RSTI_UNBLOCK_NONE);
    CHECK_EQ(rsti_term_unblock(log, log->terms[0], -32, TERM, TERM_ID), RSTI_UNBLOCK_NONE);
    memory_log_fini(&memory);
}

TEST(scribbled_logs_are_never_left)
{
    rsti_rng_t rng;
    rsti_rng_init(&rng, check_seed());
    memory_log_t memory;
    memory_log_init(&memory, TERM_ID, TERM);
    rsti_log_t *log = &memory.log;
    static rsti_log_metadata_t before;
    for (int round = 0; round < 5000; round++) {
        memset(log->terms[2], 0, TERM);
        for (int i = 0; i < 20; i++) {
            rsti_put_i32(log->terms[2] + rsti_rng_below(&rng, TERM / 32) * 32,
                (int32_t)(uint32_t)rsti_rng_next(&rng) >> rsti_rng_below(&rng, 24));
        }
        const int32_t offset = (int32_t)rsti_rng_below(&rng, TERM / 32) * 32;
        const int32_t tail = (int32_t)(uint32_t)rsti_rng_next(&rng);
        before = *log->metadata;
        const rsti_unblock_t result = rsti_term_unblock(log, log->terms[2], offset, tail & ~31,
            TERM_ID + 2);
        CHECK_MEM(log->metadata, &before, sizeof before);
        if (result != RSTI_UNBLOCK_NONE) {
            const int32_t length = frame_at(log->terms[2], offset).frame.frame_length;
            CHECK(length >= 32);
            CHECK(length <= TERM - offset);
        }
    }
    memory_log_fini(&memory);
}

CHECK_MAIN(RUN(terms_are_unblocked_as_the_vectors), RUN(a_dead_claim_becomes_padding),
    RUN(zeros_up_to_the_tail_are_padded_when_no_producer_is_left),
    RUN(zeros_to_the_end_are_padded_and_rotated), RUN(full_term_without_rotation_is_rotated),
    RUN(a_tail_moved_by_a_dead_rotator_is_finished),
    RUN(impossible_positions_and_claims_do_nothing), RUN(scribbled_logs_are_never_left))
