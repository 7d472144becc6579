/* test_sequence.c: a mailbox in one thread and between two: a reader sees whole changes only. */
#include "concurrent/sequence.h"
#include "tests/check.h"

#include <pthread.h>

typedef struct words_t {
    int64_t number;
    uint8_t bytes[20]; /* no whole number of words */
} words_t;

typedef RSTI_MAILBOX(words_t) mailbox_t;

static words_t words_of(int64_t number)
{
    words_t words = {.number = number};
    memset(words.bytes, (uint8_t)number, sizeof words.bytes);
    return words;
}

static bool is_whole(const words_t *words)
{
    const words_t expected = words_of(words->number);
    return memcmp(words->bytes, expected.bytes, sizeof expected.bytes) == 0;
}

/* Another process can write any number there. */
TEST(any_number_is_followed_by_another)
{
    mailbox_t box = {.begin = INT64_MAX, .end = INT64_MAX};
    const words_t words = words_of(3);
    words_t got = {0};
    int64_t seen = INT64_MAX;
    RSTI_MAILBOX_WRITE(&box, &words);
    CHECK(RSTI_MAILBOX_READ_NEW(&box, &seen, &got));
    CHECK_EQ(got.number, 3);
}

TEST(what_is_written_is_read)
{
    mailbox_t box = {0};
    words_t got = words_of(9);
    CHECK_EQ(RSTI_MAILBOX_READ(&box, &got), 0); /* nothing was written */
    CHECK_EQ(got.number, 0);
    for (int64_t number = 1; number < 4; number++) {
        const words_t words = words_of(number + 50);
        RSTI_MAILBOX_WRITE(&box, &words);
        CHECK_EQ(RSTI_MAILBOX_READ(&box, &got), number);
        CHECK_EQ(got.number, number + 50);
        CHECK(is_whole(&got));
    }
}

TEST(a_change_is_new_once)
{
    mailbox_t box = {0};
    words_t got;
    int64_t seen = 0;
    CHECK(!RSTI_MAILBOX_READ_NEW(&box, &seen, &got));
    for (int64_t number = 1; number < 4; number++) {
        const words_t words = words_of(number);
        RSTI_MAILBOX_WRITE(&box, &words);
        CHECK(RSTI_MAILBOX_READ_NEW(&box, &seen, &got));
        CHECK_EQ(got.number, number);
        CHECK_EQ(seen, number);
        CHECK(!RSTI_MAILBOX_READ_NEW(&box, &seen, &got));
    }
}

/* A writer that died in the middle: the reader never waits, and never takes the half. */
TEST(an_unfinished_change_is_not_read)
{
    mailbox_t box = {0};
    words_t got;
    int64_t seen = 0;
    const words_t words = words_of(1);
    RSTI_MAILBOX_WRITE(&box, &words);
    box.begin++;
    box.value.number = 2;
    CHECK_EQ(RSTI_MAILBOX_READ(&box, &got), RSTI_MAILBOX_TORN);
    CHECK(!RSTI_MAILBOX_READ_NEW(&box, &seen, &got));
    CHECK_EQ(seen, 0);
    box.value = words_of(2);
    box.end++;
    CHECK(RSTI_MAILBOX_READ_NEW(&box, &seen, &got));
    CHECK_EQ(got.number, 2);
}

static mailbox_t shared;
static int32_t is_over;

static void *write_on(void *arg)
{
    (void)arg;
    for (int64_t number = 1; rsti_load_relaxed_i32(&is_over) == 0; number++) {
        const words_t words = words_of(number);
        RSTI_MAILBOX_WRITE(&shared, &words);
    }
    return NULL;
}

TEST(another_thread_sees_whole_changes_in_order)
{
    pthread_t thread;
    int64_t seen = 0;
    int changes = 0; /* as many as make a torn read certain without the lock */
    CHECK_EQ(pthread_create(&thread, NULL, write_on, NULL), 0);
    for (int64_t tries = 0; changes < 20000 && tries < 200000000; tries++) {
        const int64_t before = seen;
        words_t got;
        if (RSTI_MAILBOX_READ_NEW(&shared, &seen, &got)) {
            changes++;
            const bool is_new_and_whole = is_whole(&got) && got.number == seen && seen > before;
            CHECK(is_new_and_whole);
            if (!is_new_and_whole) {
                break;
            }
        }
    }
    rsti_store_relaxed_i32(&is_over, 1);
    CHECK_EQ(pthread_join(thread, NULL), 0);
    CHECK(changes > 0);
}

CHECK_MAIN(RUN(any_number_is_followed_by_another), RUN(what_is_written_is_read),
    RUN(a_change_is_new_once), RUN(an_unfinished_change_is_not_read),
    RUN(another_thread_sees_whole_changes_in_order))
