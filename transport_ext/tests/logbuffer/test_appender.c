/* Every test runs with the concurrent and with the exclusive appender. */
#include "logbuffer/appender.h"
#include "logbuffer/reader.h"
#include "rstream/error.h"
#include "tests/check.h"
#include "tests/logbuffer/memory_log.h"
#include "util/error.h"
#include "util/rng.h"

#define TERM RSTI_TERM_MIN_LENGTH
#define TERM_ID INT32_MAX /* the second term wraps */
#define RESERVED INT64_C(0x0123456789ABCDEF)
#define PAYLOAD_MAX (MEMORY_LOG_MTU - 32)

typedef struct rig_t {
    memory_log_t memory;
    rsti_log_t *log;
    rsti_appender_t appender;
} rig_t;

static void rig_init(rig_t *rig, bool is_exclusive)
{
    memory_log_init(&rig->memory, TERM_ID, TERM);
    rig->log = &rig->memory.log;
    rsti_appender_init(&rig->appender, rig->log, &rig->memory.limit, MEMORY_LOG_SESSION_ID,
        MEMORY_LOG_STREAM_ID, is_exclusive);
}

static void rig_fini(rig_t *rig)
{
    memory_log_fini(&rig->memory);
}

static int64_t append(rig_t *rig, const void *data, size_t length)
{
    const rsti_iovec_t part = {data, length};
    return rsti_append(&rig->appender, &part, 1, length, RESERVED);
}

static uint8_t pattern[3 * PAYLOAD_MAX];

static void fill_pattern(void)
{
    for (size_t i = 0; i < sizeof pattern; i++) {
        pattern[i] = (uint8_t)(i * 7 + i / 251);
    }
}

static void both(void (*run)(bool is_exclusive))
{
    fill_pattern();
    run(false);
    run(true);
}

/* A1, A16 */
static void small_message(bool is_exclusive)
{
    rig_t rig;
    rig_init(&rig, is_exclusive);
    CHECK_EQ(append(&rig, pattern, 100), 160);
    CHECK_EQ(append(&rig, pattern, 0), 192);
    CHECK_EQ(append(&rig, pattern, PAYLOAD_MAX), 192 + MEMORY_LOG_MTU);
    const rsti_data_header_t header = frame_at(rig.log->terms[0], 0);
    CHECK_EQ(header.frame.frame_length, 132);
    CHECK_EQ(header.frame.version, 0);
    CHECK_EQ(header.frame.flags, 0xC0);
    CHECK_EQ(header.frame.type, RSTI_FRAME_DATA);
    CHECK_EQ(header.term_offset, 0);
    CHECK_EQ(header.session_id, MEMORY_LOG_SESSION_ID);
    CHECK_EQ(header.stream_id, MEMORY_LOG_STREAM_ID);
    CHECK_EQ(header.term_id, TERM_ID);
    CHECK_EQ(header.reserved_value, RESERVED);
    CHECK_MEM(rig.log->terms[0] + 32, pattern, 100);
    CHECK_EQ(frame_at(rig.log->terms[0], 160).frame.frame_length, 32);
    CHECK_EQ(frame_at(rig.log->terms[0], 192).term_offset, 192);
    CHECK_EQ(rsti_log_producer_position(rig.log), 192 + MEMORY_LOG_MTU);
    rig_fini(&rig);
}

/* A1, A11, A16 */
TEST(a_small_message_is_one_frame)
{
    both(small_message);
}

/* A2, A3: parts that do not end where fragments end, empty parts, no parts. */
static void check_fragments(rig_t *rig, int32_t length)
{
    static const uint8_t flags[] = {0x80, 0x00, 0x40};
    int32_t offset = 0, done = 0;
    for (int i = 0; i < 3; i++) {
        const rsti_data_header_t header = frame_at(rig->log->terms[0], offset);
        const int32_t payload = rsti_min_i32(PAYLOAD_MAX, length - done);
        CHECK_EQ(header.frame.frame_length, payload + 32);
        CHECK_EQ(header.frame.flags, flags[i]);
        CHECK_EQ(header.term_offset, offset);
        CHECK_EQ(header.reserved_value, RESERVED);
        CHECK_MEM(rig->log->terms[0] + offset + 32, pattern + done, payload);
        offset += rsti_frame_span(payload + 32);
        done += payload;
    }
}

static void fragments(bool is_exclusive)
{
    const int32_t length = 2 * PAYLOAD_MAX + 77;
    const int64_t end = 2 * MEMORY_LOG_MTU + 128;
    static const size_t cuts[][5] = {{0}, {0, 1}, {1, 1, PAYLOAD_MAX - 1, 0, 3},
        {PAYLOAD_MAX, 0, 0, PAYLOAD_MAX}, {0, 2 * PAYLOAD_MAX}, {700, 700, 700, 0, 1}};
    for (size_t i = 0; i < sizeof cuts / sizeof cuts[0]; i++) {
        rig_t rig;
        rig_init(&rig, is_exclusive);
        rsti_iovec_t parts[6];
        size_t done = 0;
        for (size_t p = 0; p < 5; p++) {
            parts[p] = (rsti_iovec_t){cuts[i][p] == 0 ? NULL : pattern + done, cuts[i][p]};
            done += cuts[i][p];
        }
        parts[5] = (rsti_iovec_t){pattern + done, (size_t)length - done};
        CHECK_EQ(rsti_append(&rig.appender, parts, 6, (size_t)length, RESERVED), end);
        check_fragments(&rig, length);
        CHECK_EQ(rsti_log_producer_position(rig.log), end);
        rig_fini(&rig);
    }
}

/* A2, A3 */
TEST(a_large_message_is_cut_from_any_parts)
{
    both(fragments);
}

/* N3: a message that fills its last fragment leaves no empty fragment behind it. */
static void exact_multiples(bool is_exclusive)
{
    for (int32_t count = 1; count <= 3; count++) {
        rig_t rig;
        rig_init(&rig, is_exclusive);
        CHECK_EQ(append(&rig, pattern, (size_t)(count * PAYLOAD_MAX)), count * MEMORY_LOG_MTU);
        for (int32_t i = 0; i < count; i++) {
            const rsti_data_header_t header = frame_at(rig.log->terms[0], i * MEMORY_LOG_MTU);
            CHECK_EQ(header.frame.frame_length, MEMORY_LOG_MTU);
            CHECK_EQ(header.frame.flags, (i == 0 ? 0x80 : 0) | (i == count - 1 ? 0x40 : 0));
            CHECK_MEM(rig.log->terms[0] + i * MEMORY_LOG_MTU + 32, pattern + i * PAYLOAD_MAX,
                PAYLOAD_MAX);
        }
        CHECK_EQ(frame_at(rig.log->terms[0], count * MEMORY_LOG_MTU).frame.frame_length, 0);
        rig_fini(&rig);
    }
}

/* N3 */
TEST(exact_multiples_of_the_payload)
{
    both(exact_multiples);
}

static void small_parts(bool is_exclusive)
{
    rig_t rig;
    rig_init(&rig, is_exclusive);
    const rsti_iovec_t parts[] = {{NULL, 0}, {pattern, 3}, {pattern + 3, 0}, {pattern + 3, 40}};
    CHECK_EQ(rsti_append(&rig.appender, parts, 4, 43, RESERVED), 96);
    CHECK_MEM(rig.log->terms[0] + 32, pattern, 43);
    CHECK_EQ(rsti_append(&rig.appender, NULL, 0, 0, RESERVED), 128);
    CHECK_EQ(frame_at(rig.log->terms[0], 96).frame.frame_length, 32);
    rig_fini(&rig);
}

/* A3 */
TEST(a_small_message_is_gathered)
{
    both(small_parts);
}

/* A4 */
static void claims(bool is_exclusive)
{
    rig_t rig;
    rig_init(&rig, is_exclusive);
    rsti_data_header_t *frame = NULL;
    CHECK_EQ(rsti_append_claim(&rig.appender, 40, RESERVED, &frame), 96);
    CHECK((uint8_t *)frame == rig.log->terms[0]);
    CHECK_EQ(frame->frame.frame_length, -72);
    rsti_fragment_t fragment[2];
    int32_t next;
    bool is_corrupt;
    CHECK_EQ(rsti_term_read(rig.log->terms[0], TERM, 0, fragment, 2, &next, &is_corrupt), 0);
    memcpy((uint8_t *)frame + 32, pattern, 40);
    rsti_append_commit(frame);
    CHECK_EQ(rsti_term_read(rig.log->terms[0], TERM, 0, fragment, 2, &next, &is_corrupt), 1);
    CHECK_EQ(fragment[0].payload_length, 40);
    CHECK_EQ(fragment[0].header->reserved_value, RESERVED);
    rsti_append_commit(frame); /* a second commit changes nothing */
    CHECK_EQ(frame->frame.frame_length, 72);
    CHECK_EQ(rsti_append_claim(&rig.appender, PAYLOAD_MAX, 0, &frame), 96 + MEMORY_LOG_MTU);
    rsti_append_abort(frame);
    CHECK_EQ(frame->frame.type, RSTI_FRAME_PAD);
    CHECK_EQ(frame->frame.frame_length, MEMORY_LOG_MTU);
    CHECK_EQ(rsti_term_read(rig.log->terms[0], TERM, 96, fragment, 2, &next, &is_corrupt), 0);
    CHECK_EQ(next, 96 + MEMORY_LOG_MTU);
    rig_fini(&rig);
}

/* The claim was given up and its memory cleaned; then another claim's message lies there. */
TEST(a_claim_ended_long_after_it_was_given_up_changes_nothing)
{
    rig_t rig;
    rig_init(&rig, false);
    rsti_data_header_t *frame = NULL;
    CHECK_EQ(rsti_append_claim(&rig.appender, 40, RESERVED, &frame), 96);
    static const uint8_t zeros[96];
    memset(frame, 0, sizeof zeros);
    rsti_append_abort(frame);
    CHECK_MEM(frame, zeros, sizeof zeros);
    rsti_append_commit(frame);
    CHECK_MEM(frame, zeros, sizeof zeros);
    frame->frame.type = RSTI_FRAME_DATA;
    frame->frame.frame_length = 64;
    rsti_append_abort(frame);
    CHECK_EQ(frame->frame.type, RSTI_FRAME_DATA);
    CHECK_EQ(frame->frame.frame_length, 64);
    rig_fini(&rig);
}

/* A4, A11 */
TEST(a_claim_is_invisible_until_committed)
{
    both(claims);
}

/* A6 */
static void limits(bool is_exclusive)
{
    rig_t rig;
    rig_init(&rig, is_exclusive);
    rig.memory.limit = 0;
    CHECK_EQ(append(&rig, pattern, 1), RST_BACK_PRESSURED);
    rig.log->metadata->is_connected = 0;
    CHECK_EQ(append(&rig, pattern, 1), RST_NOT_CONNECTED);
    rsti_data_header_t *frame;
    CHECK_EQ(rsti_append_claim(&rig.appender, 1, 0, &frame), RST_NOT_CONNECTED);
    rig.log->metadata->is_connected = 1;
    /* the position before the message is compared; its end may exceed the limit */
    rig.memory.limit = 1;
    CHECK_EQ(append(&rig, pattern, 2000), 1408 + 672);
    CHECK_EQ(append(&rig, pattern, 0), RST_BACK_PRESSURED);
    CHECK_EQ(rsti_append_claim(&rig.appender, 1, 0, &frame), RST_BACK_PRESSURED);
    rig.memory.limit = 1408 + 672;
    CHECK_EQ(append(&rig, pattern, 0), RST_BACK_PRESSURED);
    rig.memory.limit++;
    CHECK_EQ(append(&rig, pattern, 0), 1408 + 672 + 32);
    rig_fini(&rig);
}

/* A6, A11 */
TEST(the_limit_stops_the_next_message)
{
    both(limits);
}

/* A8, and the term ids wrap here. */
static void end_of_term(bool is_exclusive)
{
    rig_t rig;
    rig_init(&rig, is_exclusive);
    int64_t position = 0;
    for (int32_t term = 0; term < 7; term++) {
        const int64_t begin = (int64_t)term * TERM;
        for (int i = 0; i < 46; i++) {
            position = append(&rig, pattern, PAYLOAD_MAX);
            CHECK_EQ(position, begin + (i + 1) * MEMORY_LOG_MTU);
        }
        const int32_t offset = 46 * MEMORY_LOG_MTU;
        CHECK_EQ(append(&rig, pattern, PAYLOAD_MAX), RST_ADMIN_ACTION);
        uint8_t *bytes = rig.log->terms[term % 3];
        const rsti_data_header_t header = frame_at(bytes, offset);
        CHECK_EQ(header.frame.type, RSTI_FRAME_PAD);
        CHECK_EQ(header.frame.frame_length, TERM - offset);
        CHECK_EQ(header.frame.flags, 0xC0);
        CHECK_EQ(header.term_id, rsti_wrap_add_i32(TERM_ID, term));
        CHECK_EQ(header.term_offset, offset);
        CHECK_EQ(rig.log->metadata->active_term_count, term + 1);
        CHECK_EQ(rsti_log_producer_position(rig.log), begin + TERM);
        memset(bytes, 0, TERM); /* the driver cleans behind its readers */
    }
    rig_fini(&rig);
}

/* A8, A11 */
TEST(the_end_of_a_term_is_padded_and_the_log_turned_once)
{
    both(end_of_term);
}

static void exact_end(bool is_exclusive)
{
    rig_t rig;
    rig_init(&rig, is_exclusive);
    for (int i = 0; i < TERM / 1024; i++) {
        CHECK_EQ(append(&rig, pattern, 1024 - 32), (i + 1) * 1024);
    }
    CHECK_EQ(rig.log->metadata->active_term_count, 0);
    CHECK_EQ(append(&rig, pattern, 1), RST_ADMIN_ACTION);
    CHECK_EQ(frame_at(rig.log->terms[0], TERM - 1024).frame.type, RSTI_FRAME_DATA);
    CHECK_EQ(append(&rig, pattern, 1), TERM + 64);
    CHECK_EQ(frame_at(rig.log->terms[1], 0).term_id, INT32_MIN);
    rig_fini(&rig);
}

/* A8 */
TEST(a_term_filled_exactly_needs_no_padding)
{
    both(exact_end);
}

/* A9, A6: the last term of a stream. */
static void end_of_stream(bool is_exclusive)
{
    rsti_log_params_t params = memory_log_params(7, TERM);
    params.term_id = rsti_wrap_add_i32(7, INT32_MAX);
    params.term_offset = TERM - 128;
    rig_t rig;
    memory_log_make(&rig.memory, &params);
    rig.log = &rig.memory.log;
    rsti_appender_init(&rig.appender, rig.log, &rig.memory.limit, MEMORY_LOG_SESSION_ID,
        MEMORY_LOG_STREAM_ID, is_exclusive);
    const int64_t end = rsti_max_position(TERM);
    CHECK_EQ(append(&rig, pattern, 32), end - 64);
    rig.memory.limit = end - 64;
    CHECK_EQ(append(&rig, pattern, 100), RST_MAX_POSITION_EXCEEDED);
    CHECK_EQ(append(&rig, pattern, 0), RST_BACK_PRESSURED);
    rig.memory.limit = INT64_MAX;
    CHECK_EQ(append(&rig, pattern, 100), RST_MAX_POSITION_EXCEEDED);
    const int32_t index = INT32_MAX % 3;
    CHECK_EQ(frame_at(rig.log->terms[index], TERM - 64).frame.type, RSTI_FRAME_PAD);
    CHECK_EQ(frame_at(rig.log->terms[index], TERM - 64).frame.frame_length, 64);
    const int64_t tail = rig.log->metadata->term_tail_counters[index];
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(append(&rig, pattern, 100), RST_MAX_POSITION_EXCEEDED);
    }
    /* Retries must not carry the offset into the term id. */
    CHECK_EQ(rig.log->metadata->term_tail_counters[index], tail);
    CHECK_EQ(rig.log->metadata->active_term_count, INT32_MAX);
    rig_fini(&rig);
}

/* A6, A9, N20 */
TEST(the_end_of_the_stream_is_announced)
{
    both(end_of_stream);
}

/* A10, A15 */
TEST(a_rotation_in_progress_is_told)
{
    fill_pattern();
    rig_t rig;
    rig_init(&rig, false);
    rsti_log_metadata_t *metadata = rig.log->metadata;
    metadata->active_term_count = 1; /* but the tail of term 1 is not rotated */
    CHECK_EQ(append(&rig, pattern, 1), RST_ADMIN_ACTION);
    metadata->active_term_count = -1;
    CHECK_EQ(append(&rig, pattern, 1), RST_ADMIN_ACTION);
    metadata->active_term_count = 0;
    metadata->term_tail_counters[0] = rsti_tail_pack(TERM_ID, TERM + 4096);
    metadata->term_tail_counters[1] = rsti_tail_pack(rsti_wrap_add_i32(TERM_ID, 1), 64);
    /* Other producers crossed the end and went on: the late one helps to rotate and pads nothing.
     */
    CHECK_EQ(append(&rig, pattern, 1), RST_ADMIN_ACTION);
    CHECK_EQ(metadata->active_term_count, 1);
    CHECK_EQ(rsti_tail_offset(metadata->term_tail_counters[1], TERM), 64);
    CHECK_EQ(append(&rig, pattern, 1), TERM + 128);
    rig_fini(&rig);
}

TEST(a_scribbled_tail_is_an_error)
{
    fill_pattern();
    rig_t rig;
    rig_init(&rig, false);
    rig.log->metadata->term_tail_counters[0] = rsti_tail_pack(TERM_ID, 13);
    CHECK_EQ(append(&rig, pattern, 1), RST_ERROR);
    CHECK_EQ(rst_last_error_code(), RST_ECORRUPT);
    rsti_error_clear();
    rig_fini(&rig);
}

static void resume(bool is_exclusive)
{
    rig_t rig;
    rig_init(&rig, is_exclusive);
    CHECK_EQ(append(&rig, pattern, 100), 160);
    rsti_appender_init(&rig.appender, rig.log, &rig.memory.limit, MEMORY_LOG_SESSION_ID,
        MEMORY_LOG_STREAM_ID, is_exclusive);
    CHECK_EQ(append(&rig, pattern, 100), 320);
    rig_fini(&rig);
}

TEST(an_appender_goes_on_where_the_log_ends)
{
    both(resume);
}

typedef struct many_t {
    size_t lengths[600];
    size_t asked;
} many_t;

static void next_message(void *arg, size_t index, const void **data, size_t *length)
{
    many_t *many = (many_t *)arg;
    many->asked = index + 1;
    *data = pattern + index % 100;
    *length = many->lengths[index];
}

static int64_t append_many(rig_t *rig, many_t *many, size_t count, size_t *taken)
{
    return rsti_append_many(&rig->appender, count, next_message, many, RESERVED, taken);
}

static void many_messages(bool is_exclusive)
{
    rig_t rig;
    rig_init(&rig, is_exclusive);
    many_t many = {.lengths = {100, 0, 1, PAYLOAD_MAX, 31}};
    size_t taken;
    const int64_t end = 160 + 32 + 64 + MEMORY_LOG_MTU + 64;
    CHECK_EQ(append_many(&rig, &many, 5, &taken), end);
    CHECK_EQ(taken, 5);
    int32_t offset = 0;
    for (size_t i = 0; i < 5; i++) {
        const rsti_data_header_t header = frame_at(rig.log->terms[0], offset);
        CHECK_EQ(header.frame.frame_length, many.lengths[i] + 32);
        CHECK_EQ(header.frame.flags, 0xC0);
        CHECK_EQ(header.term_offset, offset);
        CHECK_EQ(header.reserved_value, RESERVED);
        CHECK_MEM(rig.log->terms[0] + offset + 32, pattern + i, many.lengths[i]);
        offset += rsti_frame_span(header.frame.frame_length);
    }
    CHECK_EQ(offset, end);
    CHECK_EQ(append_many(&rig, &many, 0, &taken), end);
    CHECK_EQ(taken, 0);
    many_t long_one = {.lengths = {8, 8, PAYLOAD_MAX + 1, 8}};
    CHECK_EQ(append_many(&rig, &long_one, 4, &taken), end + 128);
    CHECK_EQ(taken, 2);
    many_t long_first = {.lengths = {PAYLOAD_MAX + 1, 8}};
    CHECK_EQ(append_many(&rig, &long_first, 2, &taken), RST_ERROR);
    CHECK_EQ(taken, 0);
    CHECK_EQ(rsti_log_producer_position(rig.log), end + 128);
    rig_fini(&rig);
}

TEST(many_messages_with_one_claim)
{
    both(many_messages);
}

/* ---- messages that need not wait ---- */

static int64_t append_control(rig_t *rig, size_t length)
{
    const rsti_iovec_t part = {pattern, length};
    return rsti_append_control(&rig->appender, &part, RESERVED);
}

/* The limit is 32. A last message of the greatest length begins at 0. */
TEST(a_control_message_passes_the_limit)
{
    rig_t rig;
    rig_init(&rig, true);
    fill_pattern();
    static uint8_t longest[TERM / 8];
    const int32_t overshoot = rsti_limit_overshoot(TERM, MEMORY_LOG_MTU);
    rig.memory.limit = 32;
    const int64_t before = append(&rig, longest, sizeof longest);
    CHECK_EQ(before, overshoot);
    CHECK_EQ(append(&rig, pattern, 1), RST_BACK_PRESSURED);
    const int64_t after = append_control(&rig, PAYLOAD_MAX);
    CHECK_EQ(after, before + MEMORY_LOG_MTU);
    CHECK(after - rig.memory.limit <= rsti_limit_reach(TERM, MEMORY_LOG_MTU));
    CHECK_MEM(rig.log->terms[0] + before + 32, pattern, PAYLOAD_MAX);
    const rsti_data_header_t header = frame_at(rig.log->terms[0], (int32_t)before);
    CHECK_EQ(header.frame.frame_length, MEMORY_LOG_MTU);
    CHECK_EQ(header.frame.flags, RSTI_FLAG_UNFRAGMENTED);
    CHECK_EQ(header.reserved_value, RESERVED);
    /* Nothing is reserved for a second one. */
    CHECK_EQ(append_control(&rig, 0), RST_BACK_PRESSURED);
    rig.memory.limit = after - overshoot;
    CHECK_EQ(append_control(&rig, 0), RST_BACK_PRESSURED);
    rig.memory.limit++;
    CHECK_EQ(append_control(&rig, 0), after + 32);
    rig_fini(&rig);
}

TEST(a_control_message_waits_for_a_reader)
{
    rig_t rig;
    rig_init(&rig, true);
    rig.memory.limit = 0;
    rig.log->metadata->is_connected = 0;
    CHECK_EQ(append_control(&rig, 8), RST_NOT_CONNECTED);
    rig.memory.limit = 1;
    CHECK_EQ(append_control(&rig, 8), 64);
    rig_fini(&rig);
}

TEST(a_control_message_behind_the_limit_turns_the_log)
{
    rig_t rig;
    rig_init(&rig, true);
    fill_pattern();
    for (int i = 0; i < TERM / MEMORY_LOG_MTU; i++) {
        CHECK(append(&rig, pattern, PAYLOAD_MAX) > 0);
    }
    const int64_t before = TERM - TERM % MEMORY_LOG_MTU;
    rig.memory.limit = before - 32;
    CHECK_EQ(append(&rig, pattern, 1), RST_BACK_PRESSURED);
    CHECK_EQ(append_control(&rig, PAYLOAD_MAX), RST_ADMIN_ACTION);
    CHECK_EQ(append_control(&rig, PAYLOAD_MAX), TERM + MEMORY_LOG_MTU);
    CHECK_MEM(rig.log->terms[1] + 32, pattern, PAYLOAD_MAX);
    const rsti_data_header_t padding = frame_at(rig.log->terms[0], (int32_t)before);
    CHECK_EQ(padding.frame.type, RSTI_FRAME_PAD);
    CHECK_EQ(padding.frame.frame_length, TERM % MEMORY_LOG_MTU);
    rig_fini(&rig);
}

static void many_and_limit(bool is_exclusive)
{
    rig_t rig;
    rig_init(&rig, is_exclusive);
    many_t many = {.lengths = {32, 32, 32, 32, 32, 32, 32, 32}};
    size_t taken;
    rig.memory.limit = 129; /* positions before: 0, 64, 128, and 192 is too far */
    CHECK_EQ(append_many(&rig, &many, 8, &taken), 192);
    CHECK_EQ(taken, 3);
    CHECK_EQ(append_many(&rig, &many, 8, &taken), RST_BACK_PRESSURED);
    CHECK_EQ(taken, 0);
    rig.log->metadata->is_connected = 0;
    CHECK_EQ(append_many(&rig, &many, 8, &taken), RST_NOT_CONNECTED);
    rig.memory.limit = INT64_MAX;
    for (size_t i = 0; i < 600; i++) {
        many.lengths[i] = 70;
    }
    CHECK_EQ(append_many(&rig, &many, 600, &taken), 192 + 256 * 128);
    CHECK_EQ(taken, 256);
    CHECK_EQ(many.asked, 256);
    rig_fini(&rig);
}

TEST(many_messages_stop_at_the_limit)
{
    both(many_and_limit);
}

static void many_and_term_end(bool is_exclusive)
{
    rig_t rig;
    rig_init(&rig, is_exclusive);
    for (int i = 0; i < 63; i++) {
        CHECK_EQ(append(&rig, pattern, 1024 - 32), (i + 1) * 1024);
    }
    many_t many = {.lengths = {400, 400, 400, 400}};
    size_t taken;
    CHECK_EQ(append_many(&rig, &many, 4, &taken), 63 * 1024 + 2 * 448);
    CHECK_EQ(taken, 2);
    CHECK_EQ(append_many(&rig, &many, 2, &taken), RST_ADMIN_ACTION);
    CHECK_EQ(taken, 0);
    CHECK_EQ(frame_at(rig.log->terms[0], TERM - 128).frame.type, RSTI_FRAME_PAD);
    CHECK_EQ(append_many(&rig, &many, 2, &taken), TERM + 2 * 448);
    CHECK_EQ(taken, 2);
    rig_fini(&rig);
}

/* A8 */
TEST(many_messages_stop_at_the_term_end)
{
    both(many_and_term_end);
}

CHECK_MAIN(RUN(a_small_message_is_one_frame), RUN(a_large_message_is_cut_from_any_parts),
    RUN(exact_multiples_of_the_payload), RUN(a_small_message_is_gathered),
    RUN(a_claim_is_invisible_until_committed),
    RUN(a_claim_ended_long_after_it_was_given_up_changes_nothing),
    RUN(the_limit_stops_the_next_message), RUN(the_end_of_a_term_is_padded_and_the_log_turned_once),
    RUN(a_term_filled_exactly_needs_no_padding), RUN(the_end_of_the_stream_is_announced),
    RUN(a_rotation_in_progress_is_told), RUN(a_scribbled_tail_is_an_error),
    RUN(an_appender_goes_on_where_the_log_ends), RUN(many_messages_with_one_claim),
    RUN(a_control_message_passes_the_limit), RUN(a_control_message_waits_for_a_reader),
    RUN(a_control_message_behind_the_limit_turns_the_log), RUN(many_messages_stop_at_the_limit),
    RUN(many_messages_stop_at_the_term_end))
