/* Polls that call back, bounded polls and blocks (docs/reference/aeron/memory.md 7, 8), handles of
 * images. */
#include "tests/client/fake_driver.h"

static rst_client_t *client;
static rst_subscription_t *subscription;
static rst_batch_t *batch;

static bool begin(const char *name)
{
    client = fake_open(name) ? fake_client(500) : NULL;
    subscription = client != NULL ? fake_subscribe(client) : NULL;
    return subscription != NULL && rst_batch_create(&batch, 64) == 0;
}

static void end(void)
{
    rst_batch_destroy(batch);
    rst_subscription_close(subscription);
    rst_client_close(client);
    fake_close();
}

/* ---- what the callback does ---- */

#define SEEN_MAX 64
typedef struct seen_t {
    int count;
    rst_fragment_t fragments[SEEN_MAX];
    char text[SEEN_MAX][64];
    rst_poll_action_t actions[SEEN_MAX]; /* 0: CONTINUE */
    int64_t stored[SEEN_MAX];            /* the position counter, as the callback saw it */
    const fake_log_t *log;
    void (*act)(int call);
} seen_t;
static seen_t seen;

static rst_poll_action_t on_fragment(void *arg, const rst_fragment_t *fragment)
{
    seen_t *to = arg;
    const int call = to->count++;
    to->fragments[call] = *fragment;
    snprintf(to->text[call], sizeof to->text[call], "%.*s", (int)fragment->length,
        (const char *)fragment->data);
    to->stored[call] = rsti_load_acquire_i64(fake_value(to->log->counter_id));
    if (to->act != NULL) {
        to->act(call);
    }
    return to->actions[call] != 0 ? to->actions[call] : RST_POLL_CONTINUE;
}

static void expect(const fake_log_t *log)
{
    seen = (seen_t){.log = log};
}

static int64_t stored(const fake_log_t *log)
{
    return rsti_load_acquire_i64(fake_value(log->counter_id));
}

static int poll_each(int32_t limit)
{
    rst_poll_params_t params;
    rst_poll_params_init(&params);
    params.limit = limit;
    return rst_subscription_poll_each(subscription, &params, &seen, on_fragment);
}

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

/* ---- assembling ---- */

static int poll_messages(int32_t limit)
{
    const rst_poll_params_t params = {
        .limit = limit, .limit_position = INT64_MAX, .is_assembling = true};
    return rst_subscription_poll_each(subscription, &params, &seen, on_fragment);
}

/* C1, C2, C3, C4, C5: header of the first frame with both flags; fragments without a beginning and
 * messages with a gap are dropped, also when they interleave with complete ones. */
TEST(messages_are_assembled)
{
    CHECK(begin("assembled"));
    fake_log_t *log = fake_image(subscription);
    int64_t at = fake_frame(log, 0, RSTI_FLAG_END, RSTI_FRAME_DATA, "end", 3, 0);
    at = fake_frame(log, at, 0, RSTI_FRAME_DATA, "middle", 6, 0);
    const int64_t begun = at;
    at = fake_frame(log, at, RSTI_FLAG_BEGIN, RSTI_FRAME_DATA, "ab", 2, 11);
    at = fake_frame(log, at, 0, RSTI_FRAME_DATA, "cd", 2, 12);
    const int64_t whole = at = fake_frame(log, at, RSTI_FLAG_END, RSTI_FRAME_DATA, "e", 1, 13);
    at = fake_data(log, at, "alone");
    /* A filled gap: the padding breaks the message, its END is dropped. */
    at = fake_frame(log, at, RSTI_FLAG_BEGIN, RSTI_FRAME_DATA, "lost", 4, 0);
    at = fake_frame(log, at, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_PAD, NULL, 32, 0);
    at = fake_frame(log, at, RSTI_FLAG_END, RSTI_FRAME_DATA, "lost", 4, 0);
    at = fake_frame(log, at, RSTI_FLAG_BEGIN, RSTI_FRAME_DATA, "xy", 2, 21);
    at = fake_frame(log, at, RSTI_FLAG_END, RSTI_FRAME_DATA, "z", 1, 22);
    expect(log);
    CHECK_EQ(poll_messages(100), 10);
    CHECK_EQ(seen.count, 3);
    CHECK_STR(seen.text[0], "abcde");
    CHECK_EQ(seen.fragments[0].reserved_value, 11);
    CHECK_EQ(seen.fragments[0].flags, RSTI_FLAG_UNFRAGMENTED);
    CHECK_EQ(seen.fragments[0].position, whole);
    CHECK_EQ(seen.fragments[0].term_offset, begun);
    CHECK_EQ(seen.fragments[0].length, 5);
    CHECK_STR(seen.text[1], "alone");
    const uint8_t *term = ((rst_image_t *)subscription->images.items[0])->log->file.log.terms[0];
    CHECK(seen.fragments[1].data >= term
        && seen.fragments[1].data < term + FAKE_TERM); /* no copy */
    CHECK_STR(seen.text[2], "xyz");
    CHECK_EQ(stored(log), at);
    /* The batch's own assembly reports the same header. */
    at = fake_frame(log, at, RSTI_FLAG_BEGIN, RSTI_FRAME_DATA, "ab", 2, 31);
    at = fake_frame(log, at, RSTI_FLAG_END, RSTI_FRAME_DATA, "c", 1, 32);
    CHECK_EQ(rst_subscription_poll(subscription, 8, 0, batch), 1);
    CHECK_EQ(rst_batch_messages(batch, NULL)->reserved_value, 31);
    end();
}

/* A message begun by one kind of poll and ended by another still names its first frame. */
TEST(polls_take_turns_in_one_message)
{
    CHECK(begin("kinds"));
    const int64_t start = 3 * FAKE_TERM + 64;
    fake_log_t *log = fake_image_named(subscription, start, NULL);
    int64_t at = fake_frame(log, start, RSTI_FLAG_BEGIN, RSTI_FRAME_DATA, "ab", 2, 41);
    CHECK_EQ(rst_subscription_poll(subscription, 8, 0, batch), 0);
    at = fake_frame(log, at, RSTI_FLAG_END, RSTI_FRAME_DATA, "c", 1, 42);
    expect(log);
    CHECK_EQ(poll_messages(100), 1);
    CHECK_EQ(seen.count, 1);
    CHECK_STR(seen.text[0], "abc");
    CHECK_EQ(seen.fragments[0].reserved_value, 41);
    rst_image_info_t info;
    CHECK_EQ(rst_subscription_images(subscription, &info, 1), 1);
    CHECK_EQ(seen.fragments[0].term_id, rsti_wrap_add_i32(info.initial_term_id, 3));
    CHECK_EQ(seen.fragments[0].term_offset, 64);
    CHECK_EQ(stored(log), at);
    at = fake_frame(log, at, RSTI_FLAG_BEGIN, RSTI_FRAME_DATA, "de", 2, 51);
    CHECK_EQ(poll_messages(100), 1);
    (void)fake_frame(log, at, RSTI_FLAG_END, RSTI_FRAME_DATA, "f", 1, 52);
    CHECK_EQ(rst_subscription_poll(subscription, 8, 0, batch), 1);
    CHECK_EQ(rst_batch_messages(batch, NULL)->reserved_value, 51);
    CHECK_EQ(rst_batch_messages(batch, NULL)->length, 3);
    end();
}

/* C6: after an ABORT on the last fragment the message comes again, header included. */
TEST(abort_on_the_last_fragment)
{
    CHECK(begin("abort"));
    fake_log_t *log = fake_image(subscription);
    int64_t at = fake_frame(log, 0, RSTI_FLAG_BEGIN, RSTI_FRAME_DATA, "ab", 2, 5);
    const int64_t last = at = fake_frame(log, at, 0, RSTI_FRAME_DATA, "cd", 2, 6);
    at = fake_frame(log, at, RSTI_FLAG_END, RSTI_FRAME_DATA, "ef", 2, 7);
    at = fake_data(log, at, "next");
    expect(log);
    seen.actions[0] = RST_POLL_ABORT;
    seen.actions[1] = RST_POLL_ABORT;
    for (int i = 0; i < 2; i++) {
        CHECK_EQ(poll_messages(10), i == 0 ? 2 : 0);
        CHECK_EQ(stored(log), last);
    }
    CHECK_EQ(poll_messages(10), 2);
    CHECK_EQ(seen.count, 4);
    for (int i = 0; i < 3; i++) {
        CHECK_STR(seen.text[i], "abcdef");
        CHECK_EQ(seen.fragments[i].reserved_value, 5);
        CHECK_EQ(seen.fragments[i].flags, RSTI_FLAG_UNFRAGMENTED);
        CHECK_EQ(seen.fragments[i].position, seen.fragments[0].position);
        CHECK_EQ(seen.fragments[i].term_offset, 0);
        CHECK_EQ(seen.fragments[i].length, 6);
    }
    CHECK_STR(seen.text[3], "next");
    CHECK_EQ(stored(log), at);
    end();
}

/* C4 */
/* C4 */
/* C7: fragments of two sessions interleave; each is assembled separately. An incomplete message
 * goes with its image. */
TEST(sessions_are_kept_apart)
{
    CHECK(begin("sessions"));
    fake_log_t *first = fake_image(subscription);
    fake_log_t *second = fake_image(subscription);
    const int64_t a = fake_frame(first, 0, RSTI_FLAG_BEGIN, RSTI_FRAME_DATA, "a1", 2, 0);
    const int64_t b = fake_frame(second, 0, RSTI_FLAG_BEGIN, RSTI_FRAME_DATA, "b1", 2, 0);
    expect(first);
    CHECK_EQ(poll_messages(10), 2);
    CHECK_EQ(seen.count, 0);
    (void)fake_frame(second, b, RSTI_FLAG_END, RSTI_FRAME_DATA, "b2", 2, 0);
    CHECK_EQ(poll_messages(10), 1);
    CHECK_STR(seen.text[0], "b1b2");
    fake_unavailable(subscription, first);
    FAKE_UNTIL(poll_messages(10) == 0 && rst_subscription_image_count(subscription) == 1);
    (void)a;
    CHECK_EQ(seen.count, 1);
    end();
}

/* C4: two messages in four frames, one after the other, then of two sessions alternately. */
TEST(two_messages_in_four_frames)
{
    CHECK(begin("four"));
    fake_log_t *logs[2] = {fake_image(subscription), fake_image(subscription)};
    int64_t at[2] = {0};
    for (int i = 0; i < 2; i++) {
        at[0] = fake_frame(logs[0], at[0], RSTI_FLAG_BEGIN, RSTI_FRAME_DATA, "ab", 2, i);
        at[0] = fake_frame(logs[0], at[0], RSTI_FLAG_END, RSTI_FRAME_DATA, i == 0 ? "c" : "d", 1,
            i);
    }
    expect(logs[0]);
    CHECK_EQ(poll_messages(10), 4);
    CHECK_EQ(seen.count, 2);
    CHECK_STR(seen.text[0], "abc");
    CHECK_STR(seen.text[1], "abd");
    expect(logs[0]);
    for (int half = 0; half < 2; half++) {
        for (int i = 0; i < 2; i++) {
            const uint8_t flag = half == 0 ? RSTI_FLAG_BEGIN : RSTI_FLAG_END;
            const char *text = i == 0 ? (half == 0 ? "a1" : "a2") : (half == 0 ? "b1" : "b2");
            at[i] = fake_frame(logs[i], at[i], flag, RSTI_FRAME_DATA, text, 2, 0);
            CHECK_EQ(poll_messages(10), 1);
            CHECK_EQ(seen.count, half == 0 ? 0 : i + 1);
        }
    }
    CHECK_STR(seen.text[0], "a1a2");
    CHECK_STR(seen.text[1], "b1b2");
    end();
}

/* C8: one message as long as the stream allows. */
TEST(largest_message)
{
    static char bytes[FAKE_TERM / 8];
    CHECK(begin("largest"));
    fake_log_t *log = fake_image(subscription);
    const int32_t payload = FAKE_MTU - 32;
    int64_t at = 0;
    int frames = 0;
    memset(bytes, 'x', sizeof bytes);
    for (int32_t done = 0; done < (int32_t)sizeof bytes; frames++) {
        const int32_t part = rsti_min_i32(payload, (int32_t)sizeof bytes - done);
        uint8_t flags = done == 0 ? RSTI_FLAG_BEGIN : 0;
        done += part;
        flags |= done == (int32_t)sizeof bytes ? RSTI_FLAG_END : 0;
        at = fake_frame(log, at, flags, RSTI_FRAME_DATA, bytes, part, 0);
    }
    expect(log);
    CHECK_EQ(poll_messages(100), frames);
    CHECK_EQ(seen.count, 1);
    CHECK_EQ(seen.fragments[0].length, sizeof bytes);
    CHECK_EQ(seen.fragments[0].position, at);
    end();
}

/* ---- images ---- */

/* B8: each poll begins with the next image; images that come or go in between change nothing for
 * the others. */
TEST(images_take_turns)
{
    CHECK(begin("turns"));
    fake_log_t *logs[3];
    int64_t at[3] = {0};
    for (int i = 0; i < 3; i++) {
        logs[i] = fake_image(subscription);
        for (int k = 0; k < 4; k++) {
            at[i] = fake_data(logs[i], at[i], "x");
        }
    }
    int firsts[3] = {0};
    for (int k = 0; k < 3; k++) {
        expect(logs[0]);
        CHECK_EQ(poll_each(1), 1);
        firsts[seen.fragments[0].session_id - FAKE_SESSION - 1]++;
    }
    CHECK(firsts[0] == 1 && firsts[1] == 1 && firsts[2] == 1);
    fake_unavailable(subscription, logs[1]);
    expect(logs[0]);
    int total = 0;
    for (int k = 0; k < 20; k++) {
        const int count = poll_each(2);
        CHECK(count >= 0);
        total += count;
        expect(logs[0]);
    }
    CHECK_EQ(total, 9);
    rst_image_event_t event;
    int events = 0;
    FAKE_UNTIL((events += rst_subscription_next_event(subscription, &event)) >= 4);
    CHECK_EQ(rst_subscription_image_count(subscription), 2);
    fake_log_t *fresh = fake_image(subscription);
    (void)fake_data(fresh, 0, "fresh");
    CHECK_EQ(poll_each(10), 1);
    CHECK_STR(seen.text[0], "fresh");
    end();
}

/* B9: a handle keeps the log mapped and readable after its image is gone and after everything is
 * closed. */
TEST(held_image_outlives_everything)
{
    CHECK(begin("held"));
    fake_log_t *log = fake_image(subscription);
    const int64_t at = fake_data(log, fake_data(log, 0, "one"), "two");
    rst_image_t *image = rst_subscription_image_at(subscription, 0);
    CHECK(rst_subscription_image_at(subscription, 1) == NULL);
    CHECK(rst_subscription_image_by_session(subscription, 1) == NULL);
    rst_image_t *again = rst_subscription_image_by_session(subscription,
        FAKE_SESSION + fake.log_count);
    CHECK(image != NULL && again == image);
    rst_image_release(again);
    fake_unavailable(subscription, log);
    FAKE_UNTIL(!rst_subscription_is_connected(subscription));
    expect(log);
    const rst_poll_params_t params = {.limit = 1, .limit_position = INT64_MAX};
    CHECK_EQ(rst_image_poll(image, &params, &seen, on_fragment), 1);
    CHECK_STR(seen.text[0], "one");
    CHECK_EQ(stored(log), 0); /* not ours any more */
    CHECK_EQ(rst_image_poll(image, &params, &seen, on_fragment), 1);
    rst_image_info_t info;
    rst_image_info(image, &info);
    CHECK_EQ(info.position, at);
    CHECK(!info.is_closed);
    rst_subscription_close(subscription);
    rst_client_close(client);
    rst_image_info(image, &info);
    CHECK(info.is_closed);
    CHECK_EQ(rst_image_poll(image, &params, &seen, on_fragment), -RST_ECLOSED);
    CHECK_EQ(rst_image_set_position(image, at + 64), -RST_ECLOSED);
    CHECK_MEM(seen.fragments[0].data, "one", 3); /* still mapped */
    rst_image_release(image);
    rst_batch_destroy(batch);
    fake_close();
    rst_image_release(NULL);
}

/* B10, B3 */
TEST(facts_of_an_image)
{
    CHECK(begin("facts"));
    fake_log_t *log = fake_image_named(subscription, 128, NULL);
    rsti_log_metadata_t *metadata = log->file.log.metadata;
    rsti_store_release_i64(&metadata->end_of_stream_position, INT64_MAX);
    rst_image_info_t infos[2];
    CHECK_EQ(rst_subscription_images(subscription, NULL, 0), 1);
    CHECK_EQ(rst_subscription_images(subscription, infos, 2), 1);
    CHECK_EQ(infos[0].correlation_id, log->id);
    CHECK_EQ(infos[0].session_id, FAKE_SESSION + fake.log_count);
    CHECK_EQ(infos[0].join_position, 128);
    CHECK_EQ(infos[0].position, 128);
    CHECK_EQ(infos[0].position_counter_id, log->counter_id);
    CHECK_EQ(infos[0].term_length, FAKE_TERM);
    CHECK_EQ(infos[0].initial_term_id, 100);
    CHECK_EQ(infos[0].mtu, FAKE_MTU);
    CHECK_STR(infos[0].source, "127.0.0.1:9");
    CHECK(!infos[0].is_end_of_stream && !infos[0].is_revoked && !infos[0].is_closed);
    CHECK_EQ(infos[0].end_of_stream_position, INT64_MAX);
    CHECK_EQ(infos[0].active_transport_count, 0);
    rsti_store_release_i32(&metadata->active_transport_count, 2);
    const int64_t at = fake_data(log, 128, "last");
    rsti_store_release_i64(&metadata->end_of_stream_position, at);
    rsti_store_release_u8(&metadata->is_publication_revoked, 1);
    CHECK_EQ(rst_subscription_images(subscription, infos, 2), 1);
    CHECK(!infos[0].is_end_of_stream && infos[0].is_revoked);
    CHECK_EQ(infos[0].active_transport_count, 2);
    expect(log);
    CHECK_EQ(poll_each(1), 1);
    CHECK_EQ(rst_subscription_images(subscription, infos, 2), 1);
    CHECK(infos[0].is_end_of_stream);
    CHECK_EQ(infos[0].end_of_stream_position, at);
    CHECK_EQ(infos[0].join_position, 128);
    end();
}

TEST(position_is_set)
{
    CHECK(begin("set"));
    fake_log_t *log = fake_image(subscription);
    const int64_t second = fake_data(log, 0, "one");
    (void)fake_data(log, second, "two");
    rst_image_t *image = rst_subscription_image_at(subscription, 0);
    CHECK_EQ(rst_image_set_position(image, 33), -RST_EINVAL);
    CHECK_EQ(rst_image_set_position(image, -32), -RST_EINVAL);
    CHECK_EQ(rst_image_set_position(image, FAKE_TERM + 32), -RST_EINVAL);
    CHECK_EQ(rst_image_set_position(NULL, 0), -RST_EINVAL);
    CHECK_EQ(rst_image_set_position(image, second), 0);
    CHECK_EQ(stored(log), second);
    expect(log);
    CHECK_EQ(poll_each(10), 1);
    CHECK_STR(seen.text[0], "two");
    CHECK_EQ(rst_image_set_position(image, second), -RST_EINVAL); /* not back */
    rst_image_release(image);
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
    RUN(bounded), RUN(bounded_batches), RUN(blocks), RUN(block_batches),
    RUN(messages_are_assembled), RUN(polls_take_turns_in_one_message),
    RUN(abort_on_the_last_fragment), RUN(sessions_are_kept_apart), RUN(two_messages_in_four_frames),
    RUN(largest_message), RUN(images_take_turns), RUN(held_image_outlives_everything),
    RUN(facts_of_an_image), RUN(position_is_set), RUN(corrupt_frames))
