/* Polls that assemble messages from fragments. */
#include "tests/client/polls.h"

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

/* Assembled messages outlive their leases; those in the log are held until the release. */
TEST(owned_messages_are_kept)
{
    CHECK(begin("kept"));
    fake_log_t *log = fake_image(subscription);
    int64_t held = 0;
    int64_t window = 0;
    int64_t at = fake_frame(log, 0, RSTI_FLAG_BEGIN, RSTI_FRAME_DATA, "ab", 2, 0);
    at = fake_frame(log, at, RSTI_FLAG_END, RSTI_FRAME_DATA, "c", 1, 0);
    at = fake_data(log, at, "alone");
    CHECK_EQ(rst_subscription_poll(subscription, 8, 0, batch), 2);
    const rst_message_t *messages = rst_batch_messages(batch, NULL);
    CHECK((messages[0].flags & RST_MESSAGE_OWNED) != 0);
    CHECK((messages[1].flags & RST_MESSAGE_OWNED) == 0);
    int32_t mtu = 0;
    rst_subscription_held(subscription, &held, &window, &mtu);
    CHECK_EQ(held, at);
    CHECK(window > 0);
    CHECK(mtu > 0);
    CHECK_EQ(stored(log), 0);
    rst_batch_keep_owned(batch);
    rst_batch_keep_owned(batch);
    CHECK_EQ(stored(log), at);
    rst_subscription_held(subscription, &held, NULL, NULL);
    CHECK_EQ(held, 0);
    CHECK_EQ(memcmp(messages[0].data, "abc", 3), 0);
    /* Another batch reads on meanwhile, and its lease is not the kept one's. */
    rst_batch_t *other = NULL;
    CHECK_EQ(rst_batch_create(&other, 8), 0);
    at = fake_data(log, at, "next");
    CHECK_EQ(rst_subscription_poll(subscription, 8, 0, other), 1);
    rst_batch_release(batch);
    CHECK(stored(log) < at);
    rst_batch_destroy(other);
    CHECK_EQ(stored(log), at);
    rst_batch_keep_owned(NULL);
    end();
}

CHECK_MAIN(RUN(owned_messages_are_kept), RUN(messages_are_assembled),
    RUN(polls_take_turns_in_one_message), RUN(abort_on_the_last_fragment),
    RUN(sessions_are_kept_apart), RUN(two_messages_in_four_frames), RUN(largest_message))
