/* Operations of exclusive producers: prepared frames, padding; and producers that read the log's
 * state before others rotated it. */
#include "logbuffer/appender.h"
#include "logbuffer/appender_internal.h"
#include "logbuffer/rebuilder.h"
#include "rstream/error.h"
#include "tests/check.h"
#include "tests/logbuffer/memory_log.h"
#include "util/error.h"

#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>

#define TERM RSTI_TERM_MIN_LENGTH
#define TERM_ID INT32_MAX /* the second term wraps */

typedef struct rig_t {
    memory_log_t memory;
    rsti_log_t *log;
    rsti_appender_t appender;
    uint8_t block[TERM];
} rig_t;

static rig_t rig;

static void begin(bool is_exclusive)
{
    memory_log_init(&rig.memory, TERM_ID, TERM);
    rig.log = &rig.memory.log;
    rsti_appender_init(&rig.appender, rig.log, &rig.memory.limit, MEMORY_LOG_SESSION_ID,
        MEMORY_LOG_STREAM_ID, is_exclusive);
    memset(rig.block, 0, sizeof rig.block);
}

static void end(void)
{
    memory_log_fini(&rig.memory);
    rsti_error_clear();
}

/* A DATA frame of length bytes at an offset of the block, with term_offset in its header. */
static int32_t put(int32_t at, int32_t length, int32_t term_offset, int32_t term_id)
{
    rsti_data_header_t header;
    rsti_data_header_fill(&header, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_DATA, MEMORY_LOG_SESSION_ID,
        MEMORY_LOG_STREAM_ID, term_id, term_offset);
    header.frame.frame_length = length;
    memcpy(rig.block + at, &header, sizeof header);
    memset(rig.block + at + 32, at / 32 + 1, (size_t)(length - 32));
    return at + rsti_frame_span(length);
}

/* A12: blocks of one and of several frames, one after the other, byte for byte. */
TEST(blocks_are_copied_as_they_are)
{
    begin(true);
    int32_t length = put(0, 132, 0, TERM_ID);
    CHECK_EQ(rsti_append_frames(&rig.appender, rig.block, (size_t)length), 160);
    CHECK_MEM(rig.log->terms[0], rig.block, 160);
    length = put(0, 40, 160, TERM_ID);
    length = put(length, 32, 160 + length, TERM_ID);
    length = put(length, 1000, 160 + length, TERM_ID);
    CHECK_EQ(rsti_append_frames(&rig.appender, rig.block, (size_t)length), 160 + length);
    CHECK_MEM(rig.log->terms[0] + 160, rig.block, length);
    CHECK_EQ(rsti_log_producer_position(rig.log), 160 + length);
    int32_t term_id = 0, term_offset = 0;
    rsti_appender_next(&rig.appender, &term_id, &term_offset);
    CHECK_EQ(term_id, TERM_ID);
    CHECK_EQ(term_offset, 160 + length);
    end();
}

/* A12: a block at an odd address; a block that fills the term exactly; the next block rotates the
 * log and lies in the next term. */
TEST(a_block_fills_a_term)
{
    static uint8_t odd[TERM + 1];
    begin(true);
    const rsti_iovec_t part = {.data = rig.block, .length = 32};
    CHECK_EQ(rsti_append(&rig.appender, &part, 1, 32, 0), 64);
    int32_t length = 0;
    while (length < TERM - 64) {
        length = put(length, rsti_min_i32(1408, TERM - 64 - length), 64 + length, TERM_ID);
    }
    memcpy(odd + 1, rig.block, (size_t)length);
    CHECK_EQ(rsti_append_frames(&rig.appender, odd + 1, (size_t)length), TERM);
    CHECK_MEM(rig.log->terms[0] + 64, rig.block, length);
    CHECK_EQ(rig.log->metadata->active_term_count, 0);
    int32_t term_id = 0, term_offset = 0;
    rsti_appender_next(&rig.appender, &term_id, &term_offset);
    CHECK_EQ(term_id, INT32_MIN);
    CHECK_EQ(term_offset, 0);
    length = put(0, 64, 0, INT32_MIN);
    CHECK_EQ(rsti_append_frames(&rig.appender, rig.block, (size_t)length), TERM + 64);
    CHECK_EQ(rig.log->metadata->active_term_count, 1);
    CHECK_EQ(frame_at(rig.log->terms[1], 0).term_id, INT32_MIN);
    end();
}

static void expect_refused(int64_t offset, const char *what)
{
    CHECK_EQ(rsti_append_frames(&rig.appender, rig.block, 64), RST_ERROR);
    CHECK_EQ(rst_last_error_code(), RST_EINVAL);
    if (strstr(rst_last_error_text(), what) == NULL) {
        CHECK_FAIL("%s does not say %s", rst_last_error_text(), what);
    }
    CHECK_EQ(rsti_log_producer_position(rig.log), offset);
    CHECK_EQ(frame_at(rig.log->terms[0], (int32_t)offset).frame.frame_length, 0);
}

#define REFUSE_WITH(field, value, what)                                                            \
    do {                                                                                           \
        (void)put(0, 32, 64, TERM_ID);                                                             \
        (void)put(32, 32, 96, TERM_ID);                                                            \
        ((rsti_data_header_t *)(void *)(rig.block + frame * 32))->field = (value);                 \
        expect_refused(64, what);                                                                  \
    } while (0)

/* A12: every field of the first header and of the later ones must be right. */
TEST(wrong_frames_are_refused)
{
    begin(true);
    const rsti_iovec_t part = {.data = rig.block, .length = 32};
    CHECK_EQ(rsti_append(&rig.appender, &part, 1, 32, 0), 64);
    for (int frame = 0; frame < 2; frame++) {
        REFUSE_WITH(term_offset, 0, "term offset");
        REFUSE_WITH(term_offset, 128, "term offset");
        REFUSE_WITH(term_id, TERM_ID - 1, "term id");
        REFUSE_WITH(session_id, 1, "session id");
        REFUSE_WITH(stream_id, 1, "stream id");
        REFUSE_WITH(frame.type, RSTI_FRAME_PAD, "type");
        REFUSE_WITH(frame.type, RSTI_FRAME_SETUP, "type");
        REFUSE_WITH(frame.frame_length, 0, "length");
        REFUSE_WITH(frame.frame_length, 31, "length");
        REFUSE_WITH(frame.frame_length, -32, "length");
        REFUSE_WITH(frame.frame_length, 96, "length");
        REFUSE_WITH(frame.frame_length, INT32_MAX, "length");
    }
    (void)put(0, 64, 64, TERM_ID);
    CHECK_EQ(rsti_append_frames(&rig.appender, rig.block, 64), 128);
    end();
}

/* A12: too long for the rest of the term, not a multiple of 32, empty. */
TEST(wrong_lengths_of_blocks_are_refused)
{
    begin(true);
    (void)put(0, 64, 0, TERM_ID);
    CHECK_EQ(rsti_append_frames(&rig.appender, rig.block, 0), RST_ERROR);
    CHECK_EQ(rsti_append_frames(&rig.appender, rig.block, 63), RST_ERROR);
    CHECK_EQ(rsti_append_frames(&rig.appender, rig.block, TERM + 32), RST_ERROR);
    CHECK_EQ(rsti_append_frames(&rig.appender, rig.block, SIZE_MAX & ~(size_t)31), RST_ERROR);
    CHECK_EQ(rsti_log_producer_position(rig.log), 0);
    /* Limits are checked first, as for messages. */
    rig.memory.limit = 0;
    CHECK_EQ(rsti_append_frames(&rig.appender, rig.block, 64), RST_BACK_PRESSURED);
    rig.log->metadata->is_connected = 0;
    CHECK_EQ(rsti_append_frames(&rig.appender, rig.block, 64), RST_NOT_CONNECTED);
    rig.memory.limit = 1;
    CHECK_EQ(rsti_append_frames(&rig.appender, rig.block, 64), 64);
    end();
}

/* A13: one PAD frame; when it does not fit, the rest of the term is padded and the log rotated as
 * usual. */
TEST(padding_is_one_frame)
{
    begin(true);
    CHECK_EQ(rsti_append_padding(&rig.appender, 0), 32);
    CHECK_EQ(rsti_append_padding(&rig.appender, 100), 192);
    rsti_data_header_t header = frame_at(rig.log->terms[0], 32);
    CHECK_EQ(header.frame.type, RSTI_FRAME_PAD);
    CHECK_EQ(header.frame.frame_length, 132);
    CHECK_EQ(header.term_offset, 32);
    CHECK_EQ(header.term_id, TERM_ID);
    CHECK_EQ(header.session_id, MEMORY_LOG_SESSION_ID);
    int64_t position = 192;
    while (position < TERM - 8224) {
        position = rsti_append_padding(&rig.appender, TERM / 8);
    }
    CHECK_EQ(rsti_append_padding(&rig.appender, TERM / 8), RST_ADMIN_ACTION);
    CHECK_EQ(frame_at(rig.log->terms[0], (int32_t)position).frame.frame_length,
        TERM - (int32_t)position);
    CHECK_EQ(rsti_append_padding(&rig.appender, TERM / 8), TERM + TERM / 8 + 32);
    rig.memory.limit = 0;
    CHECK_EQ(rsti_append_padding(&rig.appender, 1), RST_BACK_PRESSURED);
    end();
}

/* The position of a shared publication's next frame is its tail at one moment. */
TEST(next_of_a_shared_appender)
{
    begin(false);
    int32_t term_id = 0, term_offset = 0;
    const rsti_iovec_t part = {.data = rig.block, .length = 32};
    CHECK_EQ(rsti_append(&rig.appender, &part, 1, 32, 0), 64);
    rsti_appender_next(&rig.appender, &term_id, &term_offset);
    CHECK_EQ(term_id, TERM_ID);
    CHECK_EQ(term_offset, 64);
    rig.log->metadata->term_tail_counters[0] = rsti_tail_pack(TERM_ID, TERM + 96);
    rsti_appender_next(&rig.appender, &term_id, &term_offset);
    CHECK_EQ(term_id, INT32_MIN);
    CHECK_EQ(term_offset, 0);
    end();
}

static void turn(int terms)
{
    static uint8_t bytes[1376];
    const rsti_iovec_t part = {.data = bytes, .length = sizeof bytes};
    rsti_appender_t other = rig.appender;
    const int32_t until = rig.log->metadata->active_term_count + terms;
    while (rig.log->metadata->active_term_count < until) {
        const int32_t index = rsti_term_index(until);
        if (rig.log->metadata->active_term_count == until - 1) {
            memset(rig.log->terms[index], 0, TERM); /* the driver's cleaner */
        }
        (void)rsti_append(&other, &part, 1, sizeof bytes, 0);
    }
}

/* A15: a producer reads the state, others rotate the log by one, two or three terms, then it
 * claims: past terms accept nothing, and the claim goes to the current term of the partition. */
TEST(a_delayed_claim)
{
    for (int terms = 1; terms <= 3; terms++) {
        begin(false);
        rsti_tail_t tail;
        rsti_claim_t claimed = {0};
        CHECK_EQ(rsti_appender_look(&rig.appender, 64, &tail), 0);
        turn(terms);
        const int64_t position = rsti_log_producer_position(rig.log);
        const bool is_claimed = rsti_appender_claim(&rig.appender, &tail, 64, &claimed);
        CHECK_EQ(rig.log->metadata->active_term_count, terms);
        if (terms < 3) {
            CHECK(!is_claimed);
            CHECK_EQ(claimed.position, RST_ADMIN_ACTION);
            CHECK_EQ(rsti_log_producer_position(rig.log), position);
        } else {
            CHECK(is_claimed);
            CHECK_EQ(claimed.position, position + 64);
            CHECK_EQ(claimed.term_id, rsti_wrap_add_i32(TERM_ID, 3));
            CHECK_EQ(rsti_log_producer_position(rig.log), position + 64);
        }
        end();
    }
}

static sigjmp_buf died;

static void die(int signal_number)
{
    (void)signal_number;
    siglongjmp(died, 1);
}

/* A producer dies while it copies a block, here at a page that it may not read. Frames before the
 * incomplete one exist, and none behind it: after unblocking, readers miss the end of the block,
 * not its middle. */
TEST(a_block_that_is_not_ended_has_no_frames_behind_it)
{
    begin(true);
    const size_t page = 4096;
    uint8_t *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
        0);
    CHECK(pages != MAP_FAILED);
    int32_t length = put(0, 100, 0, TERM_ID);
    length = put(length, 200, length, TERM_ID);
    const int32_t third = length;
    length = put(length, 1000, length, TERM_ID);
    length = put(length, 64, length, TERM_ID);
    /* The headers are readable; of the third frame's payload only the beginning. */
    uint8_t *block = pages + page - third - 64;
    memcpy(block, rig.block, (size_t)third + 64);
    const int32_t fourth = length - 64;
    CHECK(third + 64 < fourth);
    CHECK_EQ(mprotect(pages + page, page, PROT_NONE), 0);
    const struct sigaction dies = {.sa_handler = die, .sa_flags = SA_NODEFER};
    struct sigaction before_segv, before_bus;
    sigaction(SIGSEGV, &dies, &before_segv);
    sigaction(SIGBUS, &dies, &before_bus);
    if (sigsetjmp(died, 1) == 0) {
        (void)rsti_append_frames(&rig.appender, block, (size_t)fourth);
        CHECK_FAIL("it lived%s", "");
    }
    sigaction(SIGSEGV, &before_segv, NULL);
    sigaction(SIGBUS, &before_bus, NULL);
    const uint8_t *term = rig.log->terms[0];
    CHECK_EQ(frame_at(term, 0).frame.frame_length, 100);
    CHECK_EQ(frame_at(term, 128).frame.frame_length, 200);
    CHECK(frame_at(term, third).frame.frame_length <= 0);
    CHECK(rsti_log_unblock(rig.log, third));
    CHECK_EQ(frame_at(term, third).frame.type, RSTI_FRAME_PAD);
    CHECK_EQ(rsti_frame_span(frame_at(term, third).frame.frame_length), fourth - third);
    (void)munmap(pages, 2 * page);
    end();
}

CHECK_MAIN(RUN(blocks_are_copied_as_they_are), RUN(a_block_fills_a_term),
    RUN(a_block_that_is_not_ended_has_no_frames_behind_it), RUN(wrong_frames_are_refused),
    RUN(wrong_lengths_of_blocks_are_refused), RUN(padding_is_one_frame),
    RUN(next_of_a_shared_appender), RUN(a_delayed_claim))
