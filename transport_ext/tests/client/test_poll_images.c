/* Polls of several images, and the handles of images (docs/reference/aeron/memory.md 7, 8). */
#include "tests/client/polls.h"

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

CHECK_MAIN(RUN(images_take_turns), RUN(held_image_outlives_everything), RUN(facts_of_an_image),
    RUN(position_is_set))
