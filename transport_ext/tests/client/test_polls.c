/* Polls that call back, bounded polls and blocks (docs/reference/aeron/memory.md 7, 8). */
#include "tests/client/polls.h"

/* B1, B3: none, one, several fragments, never more than the limit; the position behind each, in any
 * term. */
TEST(polls_available_data)
{
    CHECK(begin("each"));
    const int64_t start = 7 * FAKE_TERM + 96;
    fake_log_t *log = fake_image_named(subscription, start, NULL);
    expect(log);
    CHECK_EQ(poll_each(10), 0);
    int64_t at = fake_frame(log, start, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_DATA, "one", 3, 77);
    CHECK_EQ(poll_each(10), 1);
    CHECK_STR(seen.text[0], "one");
    CHECK_EQ(seen.fragments[0].position, at);
    CHECK_EQ(seen.fragments[0].term_id, 107);
    CHECK_EQ(seen.fragments[0].term_offset, 96);
    CHECK_EQ(seen.fragments[0].session_id, FAKE_SESSION + fake.log_count);
    CHECK_EQ(seen.fragments[0].stream_id, 7);
    CHECK_EQ(seen.fragments[0].reserved_value, 77);
    CHECK_EQ(seen.fragments[0].flags, RSTI_FLAG_UNFRAGMENTED);
    CHECK_EQ(seen.stored[0], start);
    CHECK_EQ(stored(log), at);
    const int64_t second = fake_data(log, at, "two");
    (void)fake_data(log, fake_data(log, second, "three"), "four");
    expect(log);
    CHECK_EQ(poll_each(2), 2);
    CHECK_EQ(seen.fragments[0].position, second);
    CHECK_EQ(poll_each(2), 1);
    CHECK_STR(seen.text[2], "four");
    CHECK_EQ(poll_each(0), -RST_EINVAL);
    CHECK_EQ(rst_subscription_poll_each(subscription, NULL, &seen, on_fragment), -RST_EINVAL);
    CHECK_EQ(rst_subscription_poll_each(NULL, &(rst_poll_params_t){.limit = 1}, &seen, on_fragment),
        -RST_EINVAL);
    end();
}

/* B2: the padding at a term's end is skipped without a call; the next poll is in the next term. */
TEST(padding_ends_a_poll)
{
    CHECK(begin("pad"));
    const int64_t start = 3 * FAKE_TERM - 128;
    fake_log_t *log = fake_image_named(subscription, start, NULL);
    int64_t at = fake_data(log, start, "last");
    at = fake_frame(log, at, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_PAD, NULL, 32, 0);
    (void)fake_data(log, at, "first");
    expect(log);
    CHECK_EQ(poll_each(10), 1);
    CHECK_EQ(stored(log), 3 * FAKE_TERM);
    CHECK_EQ(poll_each(10), 1);
    CHECK_STR(seen.text[1], "first");
    end();
}

/* B5 */
TEST(actions)
{
    CHECK(begin("actions"));
    fake_log_t *log = fake_image(subscription);
    int64_t ends[6];
    int64_t at = 0;
    for (int i = 0; i < 6; i++) {
        at = ends[i] = fake_data(log, at, i % 2 == 0 ? "even" : "odd");
    }
    expect(log);
    seen.actions[1] = RST_POLL_ABORT;
    CHECK_EQ(poll_each(10), 1);
    CHECK_EQ(stored(log), ends[0]);
    /* The same fragment comes again. */
    const rst_fragment_t aborted = seen.fragments[1];
    expect(log);
    seen.actions[0] = RST_POLL_BREAK;
    CHECK_EQ(poll_each(10), 1);
    CHECK_EQ(seen.fragments[0].position, aborted.position);
    CHECK(seen.fragments[0].data == aborted.data);
    CHECK_EQ(stored(log), ends[1]);
    /* COMMIT stores at once, CONTINUE at the end. */
    expect(log);
    seen.actions[1] = RST_POLL_COMMIT;
    CHECK_EQ(poll_each(10), 4);
    CHECK_EQ(seen.stored[0], ends[1]);
    CHECK_EQ(seen.stored[1], ends[1]);
    CHECK_EQ(seen.stored[2], ends[3]);
    CHECK_EQ(seen.stored[3], ends[3]);
    CHECK_EQ(stored(log), ends[5]);
    end();
}

static void close_client(int call)
{
    if (call == 1) {
        rst_client_close(client);
    }
}

static void close_subscription(int call)
{
    if (call == 1) {
        rst_subscription_close(subscription);
    }
}

static void expect_no_store(void (*act)(int call), rst_poll_action_t action)
{
    fake_log_t *log = fake_image(subscription);
    int64_t at = 0;
    for (int i = 0; i < 4; i++) {
        at = fake_data(log, at, "x");
    }
    expect(log);
    seen.act = act;
    seen.actions[1] = action;
    CHECK_EQ(poll_each(10), 2);
    CHECK_EQ(stored(log), 0);
}

/* B4: closing inside the callback ends the poll, and no position is stored any more, whatever the
 * callback returned: the counter may belong to another image. */
TEST(closed_inside_a_callback)
{
    CHECK(begin("close-1"));
    expect_no_store(close_client, RST_POLL_CONTINUE);
    CHECK_EQ(poll_each(1), -RST_ECLOSED);
    rst_batch_destroy(batch);
    rst_subscription_close(subscription);
    fake_close();
    CHECK(begin("close-2"));
    expect_no_store(close_subscription, RST_POLL_COMMIT);
    rst_batch_destroy(batch);
    rst_client_close(client);
    fake_close();
}

static void on_block_close(void *arg, const void *frames, size_t length, int32_t session_id,
    int32_t term_id)
{
    (void)arg;
    (void)frames;
    (void)length;
    (void)session_id;
    (void)term_id;
    rst_subscription_close(subscription);
}

/* B4: the same for blocks and bounded polls of an image that the callback also releases. */
static rst_image_t *held;

static void close_and_release(int call)
{
    if (call == 0) {
        rst_subscription_close(subscription);
        rst_image_release(held);
    }
}

/* B4 */
TEST(closed_inside_other_polls)
{
    CHECK(begin("close-3"));
    fake_log_t *log = fake_image(subscription);
    (void)fake_data(log, fake_data(log, 0, "a"), "b");
    held = rst_subscription_image_at(subscription, 0);
    CHECK(held != NULL);
    CHECK_EQ(rst_image_poll_block(held, 4096, NULL, on_block_close), 128);
    CHECK_EQ(stored(log), 0);
    rst_image_release(held);
    rst_batch_destroy(batch);
    rst_client_close(client);
    fake_close();
    CHECK(begin("close-4"));
    log = fake_image(subscription);
    (void)fake_data(log, fake_data(log, 0, "a"), "b");
    held = rst_subscription_image_at(subscription, 0);
    const rst_poll_params_t params = {.limit = 10, .limit_position = 1 << 20};
    expect(log);
    seen.act = close_and_release;
    CHECK_EQ(rst_image_poll(held, &params, &seen, on_fragment), 1);
    CHECK_EQ(stored(log), 0);
    rst_batch_destroy(batch);
    rst_client_close(client);
    fake_close();
}

/* M7: a poll inside a callback is refused, of whatever kind; afterwards everything is as before. */
static int inner[4];

static void poll_again(int call)
{
    if (call == 0) {
        inner[0] = poll_each(1);
        inner[1] = rst_subscription_poll(subscription, 1, 0, batch);
        inner[2] = rst_subscription_poll_block(subscription, 64, batch);
        rst_image_t *image = rst_subscription_image_at(subscription, 0);
        inner[3] = rst_image_set_position(image, 64);
        rst_image_release(image);
    }
}

/* M7 */
TEST(no_poll_inside_a_poll)
{
    CHECK(begin("inside"));
    fake_log_t *log = fake_image(subscription);
    (void)fake_data(log, fake_data(log, 0, "a"), "b");
    expect(log);
    seen.act = poll_again;
    CHECK_EQ(poll_each(1), 1);
    for (int i = 0; i < 4; i++) {
        CHECK_EQ(inner[i], -RST_EBUSY);
    }
    CHECK_EQ(rst_subscription_poll(subscription, 8, 0, batch), 1);
    end();
}

/* B6: the bound is before, inside or behind a message, beyond the term, beyond 2^31. */
static void expect_bounded(int64_t start)
{
    fake_log_t *log = fake_image_named(subscription, start, NULL);
    rst_image_t *image = rst_subscription_image_by_session(subscription,
        FAKE_SESSION + fake.log_count);
    CHECK(image != NULL);
    const int64_t first = fake_data(log, start, "one");
    const int64_t second = fake_data(log, first, "two");
    rst_poll_params_t params = {.limit = 10, .limit_position = start};
    expect(log);
    CHECK_EQ(rst_image_poll(image, &params, &seen, on_fragment), 0);
    params.limit_position = start - 32;
    CHECK_EQ(rst_image_poll(image, &params, &seen, on_fragment), 0);
    CHECK_EQ(stored(log), start);
    params.limit_position = start + 1; /* inside the first: it began below the bound */
    CHECK_EQ(rst_image_poll(image, &params, &seen, on_fragment), 1);
    CHECK_EQ(stored(log), first);
    params.limit_position = first;
    CHECK_EQ(rst_image_poll(image, &params, &seen, on_fragment), 0);
    params.limit_position = INT64_MAX;
    CHECK_EQ(rst_image_poll(image, &params, &seen, on_fragment), 1);
    CHECK_EQ(stored(log), second);
    /* Padding that begins at the bound is not consumed; padding that begins below it is, even
     * beyond the bound. */
    const int64_t term_end = start - start % FAKE_TERM + FAKE_TERM;
    int64_t at = fake_frame(log, second, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_PAD, NULL,
        (int32_t)(term_end - second) - 32, 0);
    CHECK_EQ(at, term_end);
    params.limit_position = second;
    CHECK_EQ(rst_image_poll(image, &params, &seen, on_fragment), 0);
    CHECK_EQ(stored(log), second);
    params.limit_position = second + 32;
    CHECK_EQ(rst_image_poll(image, &params, &seen, on_fragment), 0);
    CHECK_EQ(stored(log), term_end);
    rst_image_release(image);
}

/* B3, B6 */
TEST(bounded)
{
    CHECK(begin("bounded"));
    expect_bounded(0);
    expect_bounded(FAKE_TERM + 64);
    expect_bounded((INT64_C(1) << 31) - FAKE_TERM);
    expect_bounded((INT64_C(1) << 31) + 64);
    end();
}

/* B6, as a batch, of one image among two. */
TEST(bounded_batches)
{
    CHECK(begin("bounded-batch"));
    fake_log_t *other = fake_image(subscription);
    (void)fake_data(other, 0, "other");
    const int64_t start = (INT64_C(1) << 31) + 64;
    fake_log_t *log = fake_image_named(subscription, start, NULL);
    const int64_t first = fake_data(log, start, "one");
    const int64_t second = fake_data(log, first, "two");
    const int64_t term_end = start - start % FAKE_TERM + FAKE_TERM;
    CHECK_EQ(rst_subscription_poll_bounded(subscription, log->id, start, 9, batch), 0);
    CHECK_EQ(rst_subscription_poll_bounded(subscription, log->id, first, 9, batch), 1);
    rst_batch_release(batch);
    CHECK_EQ(stored(log), first);
    CHECK_EQ(rst_subscription_poll_bounded(subscription, log->id, first, 9, batch), 0);
    (void)fake_frame(log, second, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_PAD, NULL,
        (int32_t)(term_end - second) - 32, 0);
    (void)fake_data(log, term_end, "three");
    CHECK_EQ(rst_subscription_poll_bounded(subscription, log->id, second, 9, batch), 1);
    rst_batch_release(batch);
    CHECK_EQ(stored(log), second); /* the padding begins at the bound */
    CHECK_EQ(rst_subscription_poll_bounded(subscription, log->id, second + 1, 9, batch), 0);
    CHECK_EQ(stored(log), term_end);
    CHECK_EQ(rst_subscription_poll_bounded(subscription, log->id, INT64_MAX, 9, batch), 1);
    rst_batch_release(batch);
    CHECK_EQ(stored(other), 0);
    CHECK_EQ(rst_subscription_poll_bounded(subscription, other->id, INT64_MAX, 0, batch),
        -RST_EINVAL);
    end();
}

/* B7 */
typedef struct block_t {
    const uint8_t *frames;
    size_t length;
    int32_t session_id;
    int32_t term_id;
} block_t;

static void on_block(void *arg, const void *frames, size_t length, int32_t session_id,
    int32_t term_id)
{
    *(block_t *)arg = (block_t){frames, length, session_id, term_id};
}

/* B7, N1 */
TEST(blocks)
{
    CHECK(begin("blocks"));
    const int64_t start = FAKE_TERM - 512;
    fake_log_t *log = fake_image_named(subscription, start, NULL);
    rst_image_t *image = rst_subscription_image_at(subscription, 0);
    block_t block = {0};
    CHECK_EQ(rst_image_poll_block(image, 4096, &block, on_block), 0);
    CHECK_EQ(rst_image_poll_block(image, 31, &block, on_block), -RST_EINVAL);
    CHECK_EQ(rst_image_poll_block(image, 64, &block, NULL), -RST_EINVAL);
    int64_t at = start;
    for (int i = 0; i < 3; i++) {
        at = fake_data(log, at, "x"); /* 64 bytes each */
    }
    CHECK_EQ(rst_image_poll_block(image, 63, &block, on_block), 0); /* the first does not fit */
    CHECK_EQ(rst_image_poll_block(image, 191, &block, on_block), 128);
    CHECK_MEM(block.frames, log->file.log.terms[0] + FAKE_TERM - 512, 128);
    CHECK_EQ(block.length, 128);
    CHECK_EQ(block.session_id, FAKE_SESSION + fake.log_count);
    CHECK_EQ(block.term_id, 100);
    CHECK_EQ(stored(log), start + 128);
    /* Later padding ends the block, at the start it is a block of its own, and the term's end is
     * the end. */
    at = fake_frame(log, at, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_PAD, NULL, 64, 0); /* 96 */
    at = fake_frame(log, at, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_DATA, "0123456789", 10, 0);
    at = fake_frame(log, at, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_PAD, NULL,
        (int32_t)(FAKE_TERM - at) - 32, 0);
    CHECK_EQ(at, FAKE_TERM);
    (void)fake_data(log, at, "next term");
    CHECK_EQ(rst_image_poll_block(image, 4096, &block, on_block), 64);
    CHECK_EQ(rst_image_poll_block(image, 32, &block, on_block), 96); /* longer than the bound */
    CHECK_EQ(rst_image_poll_block(image, 4096, &block, on_block), 64);
    CHECK_EQ(rst_image_poll_block(image, 4096, &block, on_block), 160);
    CHECK_EQ(stored(log), FAKE_TERM);
    CHECK_EQ(rst_image_poll_block(image, 4096, &block, on_block), 64);
    CHECK_EQ(block.term_id, 101);
    rst_image_release(image);
    end();
}

/* B7, as a batch: leased, images in turn. */
TEST(block_batches)
{
    CHECK(begin("block-batches"));
    fake_log_t *first = fake_image(subscription);
    fake_log_t *second = fake_image(subscription);
    CHECK_EQ(rst_subscription_poll_block(subscription, 4096, batch), 0);
    (void)fake_data(first, fake_data(first, 0, "a"), "b");
    (void)fake_data(second, 0, "c");
    int64_t lengths = 0;
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(rst_subscription_poll_block(subscription, 4096, batch), 1);
        const rst_message_t *block = rst_batch_messages(batch, NULL);
        CHECK_EQ(block->position, block->length);
        const rsti_data_header_t *header = (const rsti_data_header_t *)(const void *)block->data;
        CHECK_EQ(header->frame.type, RSTI_FRAME_DATA);
        lengths += block->length;
        CHECK_EQ(stored(block->length == 128 ? first : second), 0); /* held */
        rst_batch_release(batch);
        CHECK_EQ(stored(block->length == 128 ? first : second), block->length == 128 ? 128 : 64);
    }
    CHECK_EQ(lengths, 192);
    CHECK_EQ(rst_subscription_poll_block(subscription, 4096, batch), 0);
    CHECK_EQ(rst_subscription_poll_block(subscription, 31, batch), -RST_EINVAL);
    end();
}

/* An impossible frame ends the image; the messages read before it are handed out. */
TEST(corrupt_frames)
{
    CHECK(begin("corrupt"));
    fake_log_t *log = fake_image(subscription);
    const int64_t at = fake_data(log, 0, "good");
    (void)fake_data(log, at, "bad");
    rsti_data_header_t *header = (rsti_data_header_t *)(void *)(log->file.log.terms[0] + at);
    header->term_offset = 0;
    expect(log);
    CHECK_EQ(poll_each(10), 1);
    CHECK_STR(seen.text[0], "good");
    rst_image_t *image = rst_subscription_image_at(subscription, 0);
    CHECK(image == NULL); /* it went, with its event */
    const int result = rst_subscription_poll(subscription, 1, 0, batch);
    CHECK_EQ(result, -RST_ECORRUPT);
    end();
}

CHECK_MAIN(RUN(polls_available_data), RUN(padding_ends_a_poll), RUN(actions),
    RUN(closed_inside_a_callback), RUN(closed_inside_other_polls), RUN(no_poll_inside_a_poll),
    RUN(bounded), RUN(bounded_batches), RUN(blocks), RUN(block_batches), RUN(corrupt_frames))
