#include "concurrent/error_log.h"

#include "concurrent/atomics.h"
#include "tests/check.h"
#include "tests/vectors/logs.h"
#include "util/bits.h"
#include "util/error.h"

#include <unistd.h>

static _Alignas(64) uint8_t memory[4096];

typedef struct seen_t {
    int count;
    int32_t observations[8];
    int64_t first_ms[8];
    int64_t last_ms[8];
    char text[8][128];
} seen_t;

static void on_error(void *arg, int32_t observations, int64_t first_ms, int64_t last_ms,
    const char *text, size_t text_length)
{
    seen_t *seen = arg;
    int i = seen->count++ % 8;
    seen->observations[i] = observations;
    seen->first_ms[i] = first_ms;
    seen->last_ms[i] = last_ms;
    (void)snprintf(seen->text[i], sizeof seen->text[i], "%.*s", (int)text_length, text);
}

/* E5 */
TEST(entries_match_the_vector)
{
    memset(memory, 0, sizeof memory);
    int64_t errors = 0;
    rsti_error_log_t log;
    CHECK_EQ(rsti_error_log_init(&log, memory, sizeof memory, &errors), 0);
    seen_t seen = {0};
    CHECK_EQ(rsti_error_log_read(memory, sizeof memory, on_error, &seen), 0);
    rsti_error_log_record(&log, 0, "bad thing", INT64_C(1700000000123));
    rsti_error_log_record(&log, 0, "bad thing", INT64_C(1700000001123));
    rsti_error_log_record(&log, 0, "other", INT64_C(1700000001123));
    CHECK_MEM(memory, vector_error_log_first_80, 80);
    CHECK_EQ(errors, 3);
    CHECK_EQ(rsti_error_log_read(memory, sizeof memory, on_error, &seen), 2);
    CHECK_STR(seen.text[0], "bad thing");
    CHECK_EQ(seen.observations[0], 2);
    CHECK_EQ(seen.first_ms[0], INT64_C(1700000000123));
    CHECK_EQ(seen.last_ms[0], INT64_C(1700000001123));
    CHECK_STR(seen.text[1], "other");
    rsti_error_log_notice(&log, "nothing bad", 1);
    CHECK_EQ(rsti_error_log_read(memory, sizeof memory, on_error, &seen), 3);
    CHECK_STR(seen.text[4], "notice: nothing bad"); /* the third of the second reading */
    CHECK_EQ(errors, 3);
    rsti_error_log_fini(&log);
    rsti_error_log_fini(&log);
}

/* E5 */
TEST(codes_tell_errors_apart)
{
    memset(memory, 0, sizeof memory);
    rsti_error_log_t log;
    CHECK_EQ(rsti_error_log_init(&log, memory, sizeof memory, NULL), 0);
    rsti_error_log_record(&log, RST_ECHANNEL, "text", 1);
    rsti_error_log_record(&log, -RST_ECHANNEL, "text", 2);
    rsti_error_log_record(&log, 11, "text", 3);
    rsti_error_log_record(&log, 12, "text", 4);
    seen_t seen = {0};
    CHECK_EQ(rsti_error_log_read(memory, sizeof memory, on_error, &seen), 3);
    CHECK_STR(seen.text[0], "RST_ECHANNEL: text");
    CHECK_EQ(seen.observations[0], 2);
    CHECK_STR(seen.text[1], "11: text");
    CHECK_STR(seen.text[2], "12: text");
    rsti_error_log_fini(&log);
}

/* E5 */
TEST(errors_since_a_time)
{
    memset(memory, 0, sizeof memory);
    rsti_error_log_t log;
    CHECK_EQ(rsti_error_log_init(&log, memory, sizeof memory, NULL), 0);
    rsti_error_log_record(&log, 0, "old", 100);
    rsti_error_log_record(&log, 0, "again", 100);
    rsti_error_log_record(&log, 0, "again", 300);
    rsti_error_log_record(&log, 0, "new", 200);
    static const struct {
        int64_t since_ms;
        size_t count;
        const char *first;
    } rows[] = {{INT64_MIN, 3, "old"}, {0, 3, "old"}, {100, 3, "old"}, {101, 2, "again"},
        {200, 2, "again"}, {201, 1, "again"}, {300, 1, "again"}, {301, 0, ""}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        seen_t seen = {0};
        CHECK_EQ(rsti_error_log_read_since(memory, sizeof memory, rows[i].since_ms, on_error,
                     &seen),
            rows[i].count);
        CHECK_EQ(seen.count, rows[i].count);
        CHECK_STR(seen.text[0], rows[i].first);
    }
    rsti_error_log_fini(&log);
}

TEST(a_log_that_is_there_is_continued)
{
    memset(memory, 0, sizeof memory);
    rsti_error_log_t log;
    CHECK_EQ(rsti_error_log_init(&log, memory, sizeof memory, NULL), 0);
    rsti_error_log_record(&log, 0, "one", 1);
    rsti_error_log_fini(&log);
    CHECK_EQ(rsti_error_log_init(&log, memory, sizeof memory, NULL), 0);
    rsti_error_log_record(&log, 0, "two", 2);
    rsti_error_log_record(&log, 0, "one", 3);
    seen_t seen = {0};
    CHECK_EQ(rsti_error_log_read(memory, sizeof memory, on_error, &seen), 2);
    CHECK_EQ(seen.observations[0], 2);
    rsti_error_log_fini(&log);
}

/* E5 */
TEST(a_full_log_goes_to_stderr)
{
    memset(memory, 0, sizeof memory);
    int64_t errors = 0;
    rsti_error_log_t log;
    CHECK_EQ(rsti_error_log_init(&log, memory, 64, &errors), 0);
    rsti_error_log_record(&log, 0, "0123456789", 1); /* 24 + 10 -> next at 40: 24 are left */
    int pipe_fds[2];
    CHECK_EQ(pipe(pipe_fds), 0);
    int kept = dup(STDERR_FILENO);
    (void)fflush(stderr);
    (void)dup2(pipe_fds[1], STDERR_FILENO);
    rsti_error_log_record(&log, 0, "x", 2);
    (void)fflush(stderr);
    (void)dup2(kept, STDERR_FILENO);
    (void)close(kept);
    (void)close(pipe_fds[1]);
    char text[128] = "";
    CHECK(read(pipe_fds[0], text, sizeof text - 1) > 0);
    (void)close(pipe_fds[0]);
    CHECK_STR(text, "rstream: error log full: x\n");
    CHECK_EQ(errors, 2);
    CHECK_EQ(memory[64], 0);
    rsti_error_log_record(&log, 0, "0123456789", 3); /* known ones are still counted */
    seen_t seen = {0};
    CHECK_EQ(rsti_error_log_read(memory, 64, on_error, &seen), 1);
    CHECK_EQ(seen.observations[0], 2);
    rsti_error_log_fini(&log);
}

TEST(long_texts_are_cut)
{
    static char text[5000];
    memset(memory, 0, sizeof memory);
    memset(text, 'e', sizeof text - 1);
    rsti_error_log_t log;
    CHECK_EQ(rsti_error_log_init(&log, memory, sizeof memory, NULL), 0);
    rsti_error_log_record(&log, RST_ESYS, text, 1);
    rsti_error_log_record(&log, RST_ESYS, text, 2);
    CHECK_EQ(rsti_get_i32(memory), 24 + RSTI_ERROR_TEXT_MAX - 1);
    CHECK_EQ(rsti_get_i32(memory + 4), 2);
    rsti_error_log_fini(&log);
}

TEST(foreign_lengths_are_not_trusted)
{
    static const int32_t lengths[] = {-1, 1, 23, 4097, INT32_MAX, INT32_MIN};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        memset(memory, 0, sizeof memory);
        rsti_put_i32(memory, lengths[i]);
        seen_t seen = {0};
        CHECK_EQ(rsti_error_log_read(memory, sizeof memory, on_error, &seen), 0);
        rsti_error_log_t log;
        CHECK_EQ(rsti_error_log_init(&log, memory, sizeof memory, NULL), 0);
        rsti_error_log_record(&log, 0, "x", 1);
        CHECK_EQ(rsti_error_log_read(memory, sizeof memory, on_error, &seen), 1);
        rsti_error_log_fini(&log);
    }
    rsti_error_log_t log;
    CHECK_EQ(rsti_error_log_init(&log, memory, 8, NULL), -RST_EINVAL);
    CHECK_EQ(rsti_error_log_init(&log, memory + 4, 128, NULL), -RST_EINVAL);
    CHECK_EQ(rsti_error_log_read(memory, 8, NULL, NULL), 0);
}

/* --- several threads record, one reads -------------------------------------------------------- */

static rsti_error_log_t shared_log;

static void *record_all(void *arg)
{
    char text[32];
    for (int i = 0; i < 2000; i++) {
        (void)snprintf(text, sizeof text, "error %d", i % 10);
        rsti_error_log_record(&shared_log, 0, text, i);
    }
    (void)snprintf(text, sizeof text, "only of %d", *(int *)arg);
    rsti_error_log_record(&shared_log, 0, text, 1);
    return NULL;
}

static void add_up(void *arg, int32_t observations, int64_t first_ms, int64_t last_ms,
    const char *text, size_t text_length)
{
    (void)first_ms;
    (void)last_ms;
    if (text_length < 7 || (memcmp(text, "error ", 6) != 0 && memcmp(text, "only of", 7) != 0)) {
        *(int64_t *)arg = INT64_MIN / 2;
    }
    *(int64_t *)arg += observations;
}

/* E5 */
TEST(threads_share_the_log)
{
    memset(memory, 0, sizeof memory);
    int64_t errors = 0;
    int ids[3] = {0, 1, 2};
    pthread_t threads[3];
    CHECK_EQ(rsti_error_log_init(&shared_log, memory, sizeof memory, &errors), 0);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(pthread_create(&threads[i], NULL, record_all, &ids[i]), 0);
    }
    int64_t sum = 0;
    for (int i = 0; i < 200; i++) {
        sum = 0;
        (void)rsti_error_log_read(memory, sizeof memory, add_up, &sum);
        CHECK(sum >= 0);
    }
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(pthread_join(threads[i], NULL), 0);
    }
    sum = 0;
    CHECK_EQ(rsti_error_log_read(memory, sizeof memory, add_up, &sum), 13);
    CHECK_EQ(sum, 6003);
    CHECK_EQ(errors, 6003);
    rsti_error_log_fini(&shared_log);
}

CHECK_MAIN(RUN(entries_match_the_vector), RUN(codes_tell_errors_apart), RUN(errors_since_a_time),
    RUN(a_log_that_is_there_is_continued), RUN(a_full_log_goes_to_stderr), RUN(long_texts_are_cut),
    RUN(foreign_lengths_are_not_trusted), RUN(threads_share_the_log))
