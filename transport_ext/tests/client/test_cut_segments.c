/* test_cut_segments.c: another program cuts the file of a shared segment short. No message of zeros
 * is handed out without a word, and nobody gets a bus error. */
#include "client/segments.h"
#include "tests/client/data.h"

#define MIB (INT64_C(1) << 20)
#define NAME_HASH 0x1234
#define VALUE INT64_C(0x0100000200001234)

static rst_image_event_t event;

static void *no_memory(void *arg, size_t length, void **owner)
{
    (void)arg;
    (void)length;
    (void)owner;
    return NULL;
}

static void nothing(void *arg, void *owner)
{
    (void)arg;
    (void)owner;
}

static bool begin_segments(const char *name)
{
    const rst_parts_params_t params = {.name_hash = NAME_HASH,
        .length_max = INT32_MAX,
        .memory = {.alloc = no_memory, .free = nothing}};
    fake_log_t *log = begin_ipc(name, false, 0);
    if (log != NULL) {
        rsti_store_release_i64(fake_value(log->counter_id), FAKE_TERM / 2);
    }
    return log != NULL && rst_subscription_take_parts(subscription, &params) == 0;
}

static void cut(int64_t number, int64_t length)
{
    char path[600];
    const char *log = publication->log->file.path;
    snprintf(path, sizeof path, "%.*s.%d", (int)(strlen(log) - strlen(".logbuffer")), log,
        (int)number);
    CHECK_EQ(truncate(path, length), 0);
}

static int64_t fill(int64_t length, uint8_t byte)
{
    uint8_t *data = NULL;
    const int64_t number = rst_publication_claim_segment(publication, length, &data);
    if (number >= 0) {
        memset(data, byte, (size_t)length);
    }
    return number;
}

static int64_t put(int64_t length, uint8_t byte)
{
    const int64_t number = fill(length, byte);
    return rst_publication_offer_segment(publication, number, VALUE) > 0 ? number : -1;
}

static int poll_all(void)
{
    return rst_subscription_poll(subscription, 64, 0, batch);
}

static bool is_told(int64_t number, int64_t length)
{
    while (rst_subscription_next_event(subscription, &event) == 1) {
        if (event.kind == RST_IMAGE_SKIPPED) {
            return event.skip_reason == RST_SKIP_CUT && event.segment == number
                && event.message_length == length;
        }
    }
    return false;
}

static bool is_last(const rst_message_t *found, uint8_t byte)
{
    return found->data[0] == byte && found->data[found->length - 1] == byte;
}

TEST(a_message_whose_segment_was_cut_is_told)
{
    static const int64_t lengths[] = {3 * MIB, 3 * MIB - 5, 2 * MIB + 1, 5000};
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++) {
        static const int64_t kept[] = {0, 1, 100, 4096};
        for (size_t k = 0; k < sizeof kept / sizeof kept[0]; k++) {
            CHECK(begin_segments("cut"));
            CHECK_EQ(put(lengths[i], 1), 0);
            CHECK_EQ(poll_all(), 1); /* the reader has mapped segment 0 */
            rst_batch_release(batch);
            CHECK_EQ(put(lengths[i], 2), 0);
            cut(0, kept[k] == 1 ? lengths[i] - 1 : kept[k]);
            CHECK_EQ(poll_all(), 0);
            CHECK(is_told(0, lengths[i]));
            CHECK_EQ(event.position, event.end_position);
            CHECK(!is_told(0, lengths[i]));
            CHECK_EQ(put(lengths[i], 3), 1); /* the publisher leaves it alone */
            CHECK_EQ(poll_all(), 1);
            CHECK(is_last(message(0), 3));
            end();
        }
    }
}

TEST(one_that_was_cut_before_it_was_mapped)
{
    CHECK(begin_segments("unmapped"));
    CHECK_EQ(put(MIB, 1), 0);
    cut(0, MIB / 2);
    CHECK_EQ(poll_all(), 0);
    CHECK(is_told(0, MIB));
    end();
}

TEST(one_that_is_cut_while_it_is_read)
{
    CHECK(begin_segments("read"));
    CHECK_EQ(put(2 * MIB, 1), 0);
    CHECK_EQ(put(2 * MIB, 2), 1);
    CHECK_EQ(poll_all(), 2);
    cut(1, MIB);
    CHECK(is_last(message(0), 1));
    CHECK_EQ(message(1)->data[MIB - 1], 2);
    CHECK_EQ(message(1)->data[MIB], 0); /* no bus error */
    CHECK(!is_told(1, 2 * MIB));
    rst_batch_release(batch);
    CHECK(is_told(1, 2 * MIB));
    CHECK(!is_told(1, 2 * MIB));
    end();
}

TEST(one_that_is_given_back_is_told_once)
{
    CHECK(begin_segments("back"));
    CHECK_EQ(put(2 * MIB, 1), 0);
    CHECK_EQ(poll_all(), 1);
    cut(0, 0);
    CHECK_EQ(message(0)->data[MIB], 0);
    rst_batch_give_back(batch);
    CHECK_EQ(poll_all(), 0);
    CHECK(is_told(0, 2 * MIB));
    CHECK(!is_told(0, 2 * MIB));
    end();
}

TEST(the_publisher_sends_nothing_that_was_cut)
{
    CHECK(begin_segments("publisher"));
    const int64_t number = fill(2 * MIB, 1);
    CHECK_EQ(number, 0);
    cut(0, MIB);
    CHECK_EQ(rst_publication_offer_segment(publication, number, VALUE), RST_ERROR);
    CHECK_EQ(rst_last_error_code(), RST_ECORRUPT);
    CHECK_EQ(rst_publication_segment_bytes(publication), 0);
    for (int64_t next = 1; next < RSTI_SEGMENTS_MAX; next++) {
        CHECK_EQ(fill(5000, 1), next);
        cut(next, 100);
        CHECK_EQ(rst_publication_offer_segment(publication, next, VALUE), RST_ERROR);
    }
    CHECK_EQ(fill(5000, 1), RST_ERROR); /* it does not wait for ever */
    CHECK_EQ(rst_last_error_code(), RST_ECORRUPT);
    CHECK_EQ(poll_all(), 0);
    end();
}

CHECK_MAIN(RUN(a_message_whose_segment_was_cut_is_told), RUN(one_that_was_cut_before_it_was_mapped),
    RUN(one_that_is_cut_while_it_is_read), RUN(one_that_is_given_back_is_told_once),
    RUN(the_publisher_sends_nothing_that_was_cut))
