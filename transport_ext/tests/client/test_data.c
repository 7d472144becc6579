/* The data path: offering and polling over real logs; leases, fragments, limits, hostile bytes. */
#include "tests/client/data.h"

#include "protocol/data_header.h"

/* A5, A6, A7 */
TEST(publication_facts)
{
    fake_log_t *log = begin_ipc("facts", false, 0);
    CHECK(log != NULL);
    rst_publication_info_t info;
    rst_publication_info(publication, &info);
    CHECK_EQ(info.registration_id, log->id);
    CHECK_EQ(info.session_id, FAKE_SESSION);
    CHECK_EQ(info.stream_id, 7);
    CHECK_EQ(info.initial_term_id, 100);
    CHECK_EQ(info.term_length, FAKE_TERM);
    CHECK_EQ(info.max_payload_length, FAKE_MTU - 32);
    CHECK_EQ(info.max_message_length, FAKE_TERM / 8);
    CHECK(info.is_ipc && !info.is_exclusive);
    CHECK_STR(info.channel, "aeron:ipc");
    rst_publication_info(NULL, &info);
    CHECK_STR(info.channel, "");
    CHECK_EQ(rst_publication_position(publication), 0);
    CHECK_EQ(rst_publication_position_limit(publication), 0);
    CHECK(rst_publication_is_connected(publication));
    CHECK_EQ(rst_publication_offer(publication, "x", 1, 0), RST_BACK_PRESSURED);
    rsti_store_release_i32(&log->file.log.metadata->is_connected, 0);
    CHECK_EQ(rst_publication_offer(publication, "x", 1, 0), RST_NOT_CONNECTED);
    CHECK_EQ(rst_publication_consumed_position(publication), 0); /* as the limit without readers */
    CHECK_EQ(rst_publication_offer(NULL, "x", 1, 0), RST_ERROR);
    CHECK_EQ(rst_publication_offer(publication, NULL, 1, 0), RST_ERROR);
    CHECK_EQ(rst_publication_offer(publication, "x", FAKE_TERM / 8 + 1, 0), RST_ERROR);
    CHECK(strstr(rst_last_error_text(), "8192") != NULL);
    end();
}

static void stream(bool is_exclusive, const char *name)
{
    /* Through many terms, with all sizes up to 4 MTU. */
    fake_log_t *log = begin_ipc(name, is_exclusive, 5 * FAKE_TERM);
    CHECK(log != NULL);
    static uint8_t bytes[8192];
    uint64_t sent = 0, received = 0;
    while (received < 3000) {
        drive(log);
        for (int i = 0; i < 20; i++) {
            const size_t length = (size_t)(sent * 7919 % 6000);
            memset(bytes, (int)(sent & 0xff), sizeof bytes);
            if (rst_publication_offer(publication, bytes, length, (int64_t)sent) > 0) {
                sent++;
            }
        }
        const int count = rst_subscription_poll(subscription, 50, 0, batch);
        CHECK(count >= 0);
        for (int i = 0; i < count; i++, received++) {
            const size_t length = (size_t)(received * 7919 % 6000);
            CHECK_EQ(message(i)->length, length);
            CHECK_EQ(message(i)->reserved_value, received);
            CHECK_EQ(message(i)->session_id, FAKE_SESSION);
            for (size_t k = 0; k < length; k++) {
                if (message(i)->data[k] != (uint8_t)(received & 0xff)) {
                    CHECK_FAIL("message %d byte %d", (int)received, (int)k);
                }
            }
        }
        rst_batch_release(batch);
        rst_batch_release(batch);
    }
    CHECK(rst_publication_position(publication) > 20 * FAKE_TERM);
    end();
}

/* A1, A2, N21, A16, N1, N3 */
TEST(stream_concurrent)
{
    stream(false, "concurrent");
}
/* A11, N3 */
TEST(stream_exclusive)
{
    stream(true, "exclusive");
}

TEST(offers_of_many)
{
    fake_log_t *log = begin_ipc("many", false, 0);
    CHECK(log != NULL);
    static uint8_t block[100][48];
    rst_message_part_t parts[100];
    for (int i = 0; i < 100; i++) {
        memset(block[i], i, sizeof block[i]);
        parts[i] = (rst_message_part_t){.data = block[i], .length = (size_t)i % 49};
    }
    size_t taken;
    CHECK_EQ(rst_publication_offer_many(publication, parts, 100, 3, &taken), RST_BACK_PRESSURED);
    CHECK_EQ(taken, 0);
    int64_t offered = 0, polled = 0;
    while (polled < 10000) { /* crosses term ends inside one call */
        drive(log);
        const int64_t position = offered % 200 < 100
            ? rst_publication_offer_block(publication, block[offered % 100], sizeof block[0],
                  (size_t)(100 - offered % 100), 3, &taken)
            : rst_publication_offer_many(publication, &parts[offered % 100],
                  (size_t)(100 - offered % 100), 3, &taken);
        CHECK(position > 0 || taken == 0);
        offered += (int64_t)taken;
        int count;
        while ((count = rst_subscription_poll(subscription, 64, 0, batch)) > 0) {
            for (int i = 0; i < count; i++, polled++) {
                const int32_t k = (int32_t)(polled % 100);
                CHECK_EQ(message(i)->length, polled % 200 < 100 ? 48 : k % 49);
                CHECK(message(i)->length == 0 || message(i)->data[0] == k);
                CHECK_EQ(message(i)->reserved_value, 3);
            }
            rst_batch_release(batch);
        }
        CHECK_EQ(count, 0);
        CHECK_EQ(polled, offered);
    }
    /* A long one among short ones is fragmented; one that is too long ends the call. */
    drive(log);
    static uint8_t large[FAKE_TERM];
    rst_message_part_t mixed[4] = {{"a", 1}, {large, 5000}, {"b", 1}, {large, sizeof large}};
    CHECK(rst_publication_offer_many(publication, mixed, 4, 0, &taken) > 0);
    CHECK_EQ(taken, 3);
    CHECK_EQ(rst_publication_offer_many(publication, mixed + 3, 1, 0, &taken), RST_ERROR);
    CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), 3);
    CHECK_EQ(message(1)->length, 5000);
    mixed[0].data = NULL;
    CHECK_EQ(rst_publication_offer_many(publication, mixed, 1, 0, &taken), RST_ERROR);
    CHECK_EQ(rst_publication_offer_block(publication, NULL, 1, 1, 0, NULL), RST_ERROR);
    CHECK_EQ(rst_publication_offer_many(publication, NULL, 0, 0, &taken),
        rst_publication_position(publication));
    end();
}

/* A3 */
TEST(offer_of_parts)
{
    fake_log_t *log = begin_ipc("parts", false, 0);
    CHECK(log != NULL);
    drive(log);
    rst_message_part_t parts[40];
    for (int i = 0; i < 40; i++) {
        parts[i] = (rst_message_part_t){.data = "abcdefgh", .length = (size_t)(i % 9)};
    }
    CHECK(rst_publication_offer_parts(publication, parts, 3, 0) > 0);
    CHECK(rst_publication_offer_parts(publication, parts, 40, 0) > 0);
    CHECK(rst_publication_offer_parts(publication, NULL, 0, 0) > 0);
    CHECK_EQ(rst_publication_offer_parts(publication, NULL, 1, 0), RST_ERROR);
    parts[1].length = SIZE_MAX;
    parts[2].length = 2;
    CHECK_EQ(rst_publication_offer_parts(publication, parts, 3, 0), RST_ERROR);
    CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), 3);
    CHECK_EQ(message(0)->length, 3);
    CHECK_MEM(message(0)->data, "aab", 3);
    CHECK_EQ(message(1)->length, 4 * 36 + 0 + 1 + 2 + 3);
    CHECK_EQ(message(2)->length, 0);
    end();
}

/* A4, A7, A16 */
TEST(claims)
{
    fake_log_t *log = begin_ipc("claims", false, 0);
    CHECK(log != NULL);
    rst_claim_t claim, aborted;
    CHECK_EQ(rst_publication_try_claim(publication, 4, 9, &claim), RST_BACK_PRESSURED);
    CHECK_EQ(rst_claim_commit(&claim), -RST_EINVAL);
    drive(log);
    CHECK_EQ(rst_publication_try_claim(publication, FAKE_MTU, 9, &claim), RST_ERROR);
    CHECK(rst_publication_try_claim(publication, 4, 9, &aborted) > 0);
    CHECK(rst_publication_try_claim(publication, 4, 9, &claim) > 0);
    CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), 0);
    memcpy(claim.data, "abcd", claim.length);
    /* Closed before the claim is committed: the log stays mapped for it. */
    rst_publication_close(publication);
    publication = NULL;
    CHECK_EQ(rst_claim_commit(&claim), 0);
    CHECK_EQ(rst_claim_commit(&claim), -RST_EINVAL);
    CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), 0);
    CHECK_EQ(rst_claim_abort(&aborted), 0);
    CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), 1);
    CHECK_MEM(message(0)->data, "abcd", 4);
    CHECK_EQ(message(0)->reserved_value, 9);
    end();
}

TEST(consumed_position)
{
    fake_log_t *log = begin_ipc("consumed", false, 0);
    CHECK(log != NULL);
    drive(log);
    CHECK_EQ(rst_publication_consumed_position(publication), 0);
    const int64_t position = rst_publication_offer(publication, "abc", 3, 0);
    CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), 1);
    CHECK_EQ(rst_publication_consumed_position(publication), 0);
    int64_t fill, window;
    rst_subscription_fill(subscription, &fill, &window);
    CHECK_EQ(fill, position);
    CHECK_EQ(window, FAKE_TERM / 2);
    rst_batch_release(batch);
    CHECK_EQ(rst_publication_consumed_position(publication), position);
    rst_subscription_fill(subscription, &fill, &window);
    CHECK_EQ(fill, 0);
    /* Two readers: the slower one sets the limit. */
    const int32_t slower = fake_counter(RSTI_COUNTER_SUBSCRIBER_POSITION, 99, log->id, 32);
    CHECK_EQ(rst_publication_consumed_position(publication), 32);
    rsti_counters_free(&fake.counters, slower, fake_now_ms());
    CHECK_EQ(rst_publication_consumed_position(publication), position);
    /* UDP: values that the driver learned from status messages. */
    fake.publication_log = fake_log(RSTI_LOG_CONCURRENT, 0, NULL);
    rsti_store_release_i32(&fake.publication_log->file.log.metadata->is_connected, 1);
    rst_publication_t *udp = fake_publish(client, "aeron:udp?endpoint=1.2.3.4:5", true);
    CHECK(udp != NULL);
    CHECK_EQ(rst_publication_consumed_position(udp), RST_NOT_CONNECTED);
    (void)fake_counter(RSTI_COUNTER_SENDER_CONSUMED, fake.publication_log->id, 0, 4096);
    CHECK_EQ(rst_publication_consumed_position(udp), 4096);
    rst_publication_close(udp);
    end();
}

TEST(sender_is_woken)
{
    CHECK(begin("sender"));
    fake.publication_log = fake_log(RSTI_LOG_CONCURRENT, 0, NULL);
    fake.publication_log->counter_id = fake_counter(RSTI_COUNTER_PUBLISHER_LIMIT,
        fake.publication_log->id, 0, 10000);
    publication = fake_publish(client, "aeron:udp?endpoint=1.2.3.4:5", false);
    CHECK(publication != NULL);
    fake.cnc.ext->agent_fifo[RSTI_AGENT_SENDER] = 3;
    const int fd = rsti_wake_fifo_create(fake.dir, 0, 3);
    rsti_wake_arm_word(&fake.cnc.ext->agent_armed[RSTI_AGENT_SENDER]);
    CHECK(rst_publication_offer(publication, "x", 1, 0) > 0);
    CHECK_EQ(fake.cnc.ext->agent_armed[RSTI_AGENT_SENDER], 0);
    CHECK_EQ(rsti_wake_fifo_wait(fd, RSTI_NS_PER_S), 1);
    CHECK(rst_publication_offer(publication, "x", 1, 0) > 0);
    CHECK_EQ(rsti_wake_fifo_wait(fd, RSTI_NS_PER_MS), 0); /* no thread sleeps: no system call */
    rsti_fd_close(fd);
    end();
}

TEST(conductor_is_woken_at_its_position)
{
    CHECK(begin("position"));
    fake_log_t *log = fake_image(subscription);
    const int fd = rsti_wake_fifo_create(fake.dir, 0, 2);
    fake.cnc.ext->agent_fifo[RSTI_AGENT_CONDUCTOR] = 2;
    const int64_t first = fake_data(log, 0, "one");
    const int64_t second = fake_data(log, first, "two");
    rsti_store_release_i64(&log->file.log.metadata->ext.conductor_position, second);
    rsti_wake_arm_word(&fake.cnc.ext->agent_armed[RSTI_AGENT_CONDUCTOR]);
    CHECK_EQ(rst_subscription_poll(subscription, 1, 0, batch), 1);
    rst_batch_release(batch);
    CHECK_EQ(rsti_wake_fifo_wait(fd, RSTI_NS_PER_MS), 0);
    CHECK_EQ(rst_subscription_poll(subscription, 1, 0, batch), 1);
    rst_batch_release(batch);
    CHECK_EQ(rsti_wake_fifo_wait(fd, RSTI_NS_PER_S), 1);
    rsti_fd_close(fd);
    end();
}

/* No other thread does, while its readers have come as far as it has. */
TEST(rate_limited_producer_wakes_the_conductor)
{
    fake_log_t *log = begin_ipc("held", false, 0);
    CHECK(log != NULL);
    const int fd = rsti_wake_fifo_create(fake.dir, 0, 2);
    fake.cnc.ext->agent_fifo[RSTI_AGENT_CONDUCTOR] = 2;
    rsti_wake_arm_word(&fake.cnc.ext->agent_armed[RSTI_AGENT_CONDUCTOR]);
    CHECK_EQ(rst_publication_held_by(publication, NULL), RST_HELD_BY_WINDOW);
    CHECK_EQ(rst_publication_offer(publication, "x", 1, 0), RST_BACK_PRESSURED);
    CHECK_EQ(rsti_wake_fifo_wait(fd, RSTI_NS_PER_MS), 0); /* the window: its readers do */
    rsti_store_release_i32(&log->file.log.metadata->ext.held_by, RSTI_HELD_BY_PATH);
    CHECK_EQ(rst_publication_held_by(publication, NULL), RST_HELD_BY_PATH);
    rsti_store_release_i32(&log->file.log.metadata->ext.held_by, RSTI_HELD_BY_RATE);
    CHECK_EQ(rst_publication_held_by(publication, NULL), RST_HELD_BY_RATE);
    CHECK_EQ(rst_publication_offer(publication, "x", 1, 0), RST_BACK_PRESSURED);
    CHECK_EQ(rsti_wake_fifo_wait(fd, RSTI_NS_PER_S), 1);
    rsti_store_release_i32(&log->file.log.metadata->ext.held_by, 77); /* a later release's */
    CHECK_EQ(rst_publication_held_by(publication, NULL), RST_HELD_BY_WINDOW);
    /* without storage the log cannot grow, whatever else holds it back */
    rst_storage_t storage;
    CHECK_EQ(rst_publication_held_by(publication, &storage), RST_HELD_BY_WINDOW);
    CHECK(storage.needed == 0 && storage.usable == 0);
    log->file.log.metadata->ext.storage = (rsti_log_storage_t){65536, 4096};
    CHECK_EQ(rst_publication_held_by(publication, &storage), RST_HELD_BY_STORAGE);
    CHECK(storage.needed == 65536 && storage.usable == 4096);
    CHECK_EQ(rst_publication_held_by(NULL, NULL), RST_ERROR);
    rsti_fd_close(fd);
    end();
}

TEST(a_reader_that_left_is_told)
{
    fake_log_t *log = begin_ipc("left", false, 0);
    CHECK(log != NULL);
    rst_left_t left = {.count = 7, .consumed = 7, .joined = 7};
    CHECK_EQ(rst_publication_left(publication, &left), 0);
    CHECK(left.count == 0 && left.consumed == 0 && left.joined == -1);
    const rsti_log_left_t told = {3, 4096, 8192, 0};
    RSTI_MAILBOX_WRITE(&log->file.log.metadata->ext.left, &told);
    CHECK_EQ(rst_publication_left(publication, &left), 0);
    CHECK(left.count == 3 && left.consumed == 4096 && left.joined == 8192);
    log->file.log.metadata->ext.left.begin++; /* a change that never ends */
    CHECK_EQ(rst_publication_left(publication, &left), 0);
    CHECK(left.count == 0 && left.joined == -1);
    CHECK_EQ(rst_publication_left(publication, NULL), RST_ERROR);
    CHECK_EQ(rst_publication_left(NULL, &left), RST_ERROR);
    end();
}

/* C2, C3, C5 */
TEST(fragments)
{
    CHECK(begin("fragments"));
    /* Joined in the middle of a message: its rest is dropped. */
    fake_log_t *log = fake_image(subscription);
    int64_t at = fake_frame(log, 0, 0, RSTI_FRAME_DATA, "tail", 4, 0);
    at = fake_frame(log, at, RSTI_FLAG_END, RSTI_FRAME_DATA, "end", 3, 0);
    CHECK_EQ(rst_subscription_poll(subscription, 8, 0, batch), 0);
    CHECK_EQ(rsti_load_acquire_i64(fake_value(log->counter_id)), at); /* no batch holds these */
    /* Complete over two polls; an incomplete message advances the position at once when nothing is
     * handed out. */
    at = fake_frame(log, at, RSTI_FLAG_BEGIN, RSTI_FRAME_DATA, "abc", 3, 5);
    CHECK_EQ(rst_subscription_poll(subscription, 8, 0, batch), 0);
    CHECK_EQ(rsti_load_acquire_i64(fake_value(log->counter_id)), at);
    const int64_t begun = at;
    at = fake_frame(log, at, 0, RSTI_FRAME_DATA, "def", 3, 5);
    at = fake_frame(log, at, RSTI_FLAG_END, RSTI_FRAME_DATA, "g", 1, 5);
    const int64_t whole = at;
    at = fake_data(log, at, "next");
    at = fake_frame(log, at, RSTI_FLAG_BEGIN, RSTI_FRAME_DATA, "begun", 5, 6);
    CHECK_EQ(rst_subscription_poll(subscription, 8, 0, batch), 2);
    CHECK_EQ(message(0)->length, 7);
    CHECK_MEM(message(0)->data, "abcdefg", 7);
    CHECK_EQ(message(0)->position, whole);
    CHECK_EQ(message(0)->flags & RSTI_FLAG_UNFRAGMENTED, RSTI_FLAG_UNFRAGMENTED);
    CHECK_EQ(message(0)->reserved_value, 5);
    CHECK_MEM(message(1)->data, "next", 4);
    CHECK_EQ(rsti_load_acquire_i64(fake_value(log->counter_id)), begun);
    rst_batch_release(batch);
    CHECK_EQ(rsti_load_acquire_i64(fake_value(log->counter_id)), at);
    /* A whole message instead of the rest: the incomplete one is dropped. */
    at = fake_data(log, at, "whole");
    at = fake_frame(log, at, RSTI_FLAG_END, RSTI_FRAME_DATA, "late", 4, 6);
    CHECK_EQ(rst_subscription_poll(subscription, 8, 0, batch), 1);
    CHECK_MEM(message(0)->data, "whole", 5);
    /* Longer than any message of this stream may be: dropped, later messages are read. */
    static uint8_t bytes[1376];
    at = fake_frame(log, at, RSTI_FLAG_BEGIN, RSTI_FRAME_DATA, bytes, 1376, 6);
    for (int i = 0; i < 8; i++) {
        at = fake_frame(log, at, 0, RSTI_FRAME_DATA, bytes, 1376, 6);
    }
    at = fake_frame(log, at, RSTI_FLAG_END, RSTI_FRAME_DATA, "end", 3, 6);
    (void)fake_data(log, at, "after");
    CHECK_EQ(rst_subscription_poll(subscription, 8, 0, batch), 1);
    CHECK_MEM(message(0)->data, "after", 5);
    end();
}

/* B2, N1 */
TEST(padding_and_term_ends)
{
    CHECK(begin("padding"));
    const int64_t start = 3 * FAKE_TERM - 128;
    fake_log_t *log = fake_image_named(subscription, start, NULL);
    int64_t at = fake_data(log, start, "last");
    at = fake_frame(log, at, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_PAD, NULL, 32, 0);
    CHECK_EQ(at, 3 * FAKE_TERM);
    at = fake_data(log, at, "first");
    /* Room is left: the poll goes on into the next term. */
    CHECK_EQ(rst_subscription_poll(subscription, 8, 0, batch), 2);
    CHECK_MEM(message(0)->data, "last", 4);
    CHECK_MEM(message(1)->data, "first", 5);
    CHECK_EQ(message(1)->position, at);
    rst_batch_release(batch);
    CHECK_EQ(rsti_load_acquire_i64(fake_value(log->counter_id)), at);
    end();
}

/* B1 */
TEST(limits_of_a_batch)
{
    CHECK(begin("limits"));
    fake_log_t *log = fake_image(subscription);
    int64_t at = 0;
    for (int i = 0; i < 100; i++) {
        at = fake_data(log, at, "0123456789");
    }
    at = fake_frame(log, at, RSTI_FLAG_BEGIN, RSTI_FRAME_DATA, "01234", 5, 0);
    at = fake_frame(log, at, RSTI_FLAG_END, RSTI_FRAME_DATA, "56789", 5, 0);
    CHECK_EQ(rst_subscription_poll(subscription, 3, 0, batch), 3);
    CHECK_EQ(rst_subscription_poll(subscription, 100, 0, batch), 64); /* the capacity */
    CHECK_EQ(rst_subscription_poll(subscription, 100, 5, batch), 1); /* the first always fits */
    CHECK_EQ(rst_subscription_poll(subscription, 100, 29, batch), 2);
    CHECK_EQ(rst_subscription_poll(subscription, 100, 30, batch), 3);
    CHECK_EQ(rst_subscription_poll(subscription, 26, 0, batch), 26);
    CHECK_EQ(rst_subscription_poll(subscription, 100, 15, batch), 1);
    /* The fragmented one does not fit behind the last: it stays whole for the next batch. */
    CHECK_EQ(rst_subscription_poll(subscription, 100, 15, batch), 1);
    CHECK_MEM(message(0)->data, "0123456789", 10);
    rst_batch_release(batch);
    CHECK_EQ(rsti_load_acquire_i64(fake_value(log->counter_id)), at);
    CHECK_EQ(rst_subscription_poll(subscription, 0, 0, batch), -RST_EINVAL);
    CHECK_EQ(rst_subscription_poll(subscription, 1, 0, NULL), -RST_EINVAL);
    CHECK_EQ(rst_subscription_poll(NULL, 1, 0, batch), -RST_EINVAL);
    rst_batch_t *none;
    CHECK_EQ(rst_batch_create(&none, 0), -RST_EINVAL);
    end();
}

TEST(leases_out_of_order)
{
    CHECK(begin("leases"));
    fake_log_t *log = fake_image(subscription);
    const int64_t *counter = fake_value(log->counter_id);
    rst_batch_t *second, *third;
    CHECK_EQ(rst_batch_create(&second, 8), 0);
    CHECK_EQ(rst_batch_create(&third, 8), 0);
    int64_t at[4] = {0};
    for (int i = 0; i < 3; i++) {
        at[i + 1] = fake_data(log, at[i], "x");
    }
    CHECK_EQ(rst_subscription_poll(subscription, 1, 0, batch), 1);
    CHECK_EQ(rst_subscription_poll(subscription, 1, 0, second), 1);
    CHECK_EQ(rst_subscription_poll(subscription, 1, 0, third), 1);
    rst_batch_release(second);
    CHECK_EQ(rsti_load_acquire_i64(counter), 0); /* the first batch is still held */
    rst_batch_release(batch);
    CHECK_EQ(rsti_load_acquire_i64(counter), at[2]);
    rst_batch_destroy(third);
    CHECK_EQ(rsti_load_acquire_i64(counter), at[3]);
    rst_batch_destroy(second);
    end();
}

/* The positions move with what is consumed; what is given back is read again, also a message of
 * several frames. */
TEST(parts_of_a_batch)
{
    CHECK(begin("parts"));
    fake_log_t *logs[2];
    const int64_t *counters[2];
    int64_t at[2][5] = {{0}};
    for (int i = 0; i < 2; i++) {
        logs[i] = fake_image(subscription);
        counters[i] = fake_value(logs[i]->counter_id);
        for (int k = 0; k < 4; k++) {
            at[i][k + 1] = fake_data(logs[i], at[i][k], "x");
        }
    }
    CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), 8);
    rst_batch_consume(batch, 1);
    const int first = rsti_load_acquire_i64(counters[0]) > 0 ? 0 : 1;
    CHECK_EQ(rsti_load_acquire_i64(counters[first]), at[first][1]);
    rst_batch_consume(batch, 3);
    rst_batch_consume(batch, 2); /* fewer than before: no effect */
    CHECK_EQ(rsti_load_acquire_i64(counters[first]), at[first][3]);
    CHECK_EQ(rsti_load_acquire_i64(counters[1 - first]), 0);
    rst_batch_consume(batch, 5);
    CHECK_EQ(rsti_load_acquire_i64(counters[first]), at[first][4]);
    CHECK_EQ(rsti_load_acquire_i64(counters[1 - first]), at[1 - first][1]);
    rst_batch_give_back(batch);
    rst_batch_give_back(batch);
    rst_batch_consume(batch, 8); /* it holds nothing any more */
    CHECK_EQ(rsti_load_acquire_i64(counters[1 - first]), at[1 - first][1]);
    CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), 3);
    CHECK_EQ(message(0)->position, at[1 - first][2]);
    rst_batch_consume(batch, 64);
    rst_batch_release(batch);
    CHECK_EQ(rsti_load_acquire_i64(counters[1 - first]), at[1 - first][4]);
    rst_batch_consume(NULL, 1);
    rst_batch_give_back(NULL);
    end();
}

/* What is unread is read again by the next poll, while the memory of the batch stays on loan; what
 * stands before it counts with the release. */
TEST(the_rest_of_a_batch_is_unread)
{
    CHECK(begin("unread"));
    fake_log_t *logs[2];
    const int64_t *counters[2];
    int64_t at[2][4] = {{0}};
    for (int i = 0; i < 2; i++) {
        logs[i] = fake_image(subscription);
        counters[i] = fake_value(logs[i]->counter_id);
        for (int k = 0; k < 3; k++) {
            at[i][k + 1] = fake_data(logs[i], at[i][k], i == 0 ? "a" : "b");
        }
    }
    CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), 6);
    const int first = message(0)->position == at[0][1] && message(0)->data[0] == 'a' ? 0 : 1;
    rst_batch_consume(batch, 1);
    rst_batch_unread(batch, 4); /* all of the first image, and one of the second */
    CHECK_EQ(message(5)->data[0], first == 0 ? 'b' : 'a'); /* still on loan */
    CHECK_EQ(rsti_load_acquire_i64(counters[first]), at[first][1]); /* not counted yet */
    rst_batch_t *next;
    CHECK_EQ(rst_batch_create(&next, 64), 0);
    CHECK_EQ(rst_subscription_poll(subscription, 64, 0, next), 2);
    CHECK_EQ(rst_batch_messages(next, NULL)[0].position, at[1 - first][2]);
    rst_batch_unread(batch, 4); /* a later batch has read on: no effect */
    CHECK_EQ(rst_subscription_poll(subscription, 64, 0, next), 0);
    rst_batch_release(batch);
    CHECK_EQ(rsti_load_acquire_i64(counters[first]), at[first][3]);
    CHECK_EQ(rsti_load_acquire_i64(counters[1 - first]), at[1 - first][3]);
    rst_batch_release(next);
    /* Not below what was consumed, nor beyond the end. */
    (void)fake_data(logs[first], fake_data(logs[first], at[first][3], "c"), "d");
    CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), 2);
    rst_batch_consume(batch, 1);
    rst_batch_unread(batch, 64);
    rst_batch_unread(batch, 0);
    rst_batch_release(batch);
    CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), 1);
    CHECK_EQ(message(0)->data[0], 'd');
    rst_batch_release(batch);
    rst_batch_unread(batch, 0); /* it holds nothing any more */
    rst_batch_unread(NULL, 0);
    CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), 0);
    rst_batch_destroy(next);
    end();
}

/* Loans that were set aside hold the position while the subscription is polled on; those that are
 * given back, youngest first, are read again. */
TEST(loans_set_aside)
{
    CHECK(begin("aside"));
    fake_log_t *log = fake_image(subscription);
    const int64_t *counter = fake_value(log->counter_id);
    int64_t at[10] = {0};
    for (int k = 0; k < 9; k++) {
        at[k + 1] = fake_data(log, at[k], "x");
    }
    rst_batch_t *aside[3] = {NULL};
    CHECK_EQ(rst_batch_set_aside(batch, &aside[0]), -RST_EINVAL); /* nothing is on loan */
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(rst_subscription_poll(subscription, 3, 0, batch), 3);
        CHECK_EQ(rst_batch_set_aside(batch, &aside[i]), 0);
    }
    CHECK_EQ(rst_subscription_poll(subscription, 3, 0, batch), 0);
    CHECK_EQ(rsti_load_acquire_i64(counter), 0);
    rst_batch_consume(aside[1], 3); /* the first loan still holds the position */
    CHECK_EQ(rsti_load_acquire_i64(counter), 0);
    rst_batch_consume(aside[0], 2);
    CHECK_EQ(rsti_load_acquire_i64(counter), at[2]);
    rst_batch_destroy(aside[0]);
    CHECK_EQ(rsti_load_acquire_i64(counter), at[6]);
    rst_batch_destroy(aside[1]);
    rst_batch_consume(aside[2], 1);
    CHECK_EQ(rsti_load_acquire_i64(counter), at[7]);
    at[9] = fake_data(log, at[9], "x");
    CHECK_EQ(rst_subscription_poll(subscription, 1, 0, batch), 1);
    CHECK_EQ(rst_batch_set_aside(batch, &aside[0]), 0);
    rst_batch_give_back(aside[0]);
    rst_batch_give_back(aside[2]);
    CHECK_EQ(rsti_load_acquire_i64(counter), at[7]);
    rst_batch_destroy(aside[0]);
    rst_batch_destroy(aside[2]);
    CHECK_EQ(rst_subscription_poll(subscription, 9, 0, batch), 3);
    CHECK_EQ(message(0)->position, at[8]);
    rst_batch_release(batch);
    end();
}

TEST(a_long_message_is_given_back)
{
    fake_log_t *log = begin_ipc("given back", true, 0);
    CHECK(log != NULL);
    static uint8_t bytes[3 * FAKE_MTU];
    drive(log);
    CHECK(rst_publication_offer(publication, "x", 1, 0) > 0);
    CHECK(rst_publication_offer(publication, bytes, sizeof bytes, 0) > 0);
    CHECK_EQ(rst_subscription_poll(subscription, 8, 0, batch), 2);
    rst_batch_consume(batch, 1);
    rst_batch_give_back(batch);
    CHECK_EQ(rst_subscription_poll(subscription, 8, 0, batch), 1);
    CHECK_EQ(message(0)->length, sizeof bytes);
    end();
}

/* B8 */
TEST(images_in_turn)
{
    CHECK(begin("turn"));
    fake_log_t *logs[5];
    for (int i = 0; i < 5; i++) {
        logs[i] = fake_image(subscription);
        int64_t at = 0;
        for (int k = 0; k < 30; k++) {
            at = fake_data(logs[i], at, "x");
        }
    }
    CHECK_EQ(rst_subscription_image_count(subscription), 5);
    int counts[5] = {0};
    for (int i = 0; i < 5; i++) { /* five small polls: each image is read once */
        CHECK_EQ(rst_subscription_poll(subscription, 4, 0, batch), 4);
        for (int k = 0; k < 4; k++) {
            const int32_t index = message(k)->session_id - message(0)->session_id;
            CHECK_EQ(index, 0);
        }
        counts[i] = message(0)->session_id;
        for (int k = 0; k < i; k++) {
            CHECK(counts[k] != counts[i]);
        }
    }
    int total = 20, polled;
    while ((polled = rst_subscription_poll(subscription, 64, 0, batch)) > 0) {
        for (int k = 1; k < polled; k++) {
            CHECK(message(k)->image_index >= message(k - 1)->image_index);
        }
        total += polled;
    }
    CHECK_EQ(total, 150);
    end();
}

TEST(demand)
{
    CHECK(begin("demand"));
    fake_log_t *log = fake_image_named(subscription, 0, "ticks");
    const rsti_stream_header_t complete = {.version = RSTI_DATA_HEADER_VERSION,
        .kind = RSTI_KIND_COMPLETE,
        .name_hash = rsti_name_hash("ticks", 5)};
    int64_t at = 0;
    for (int i = 0; i < 10; i++) {
        at = fake_data(log, at, "x");
    }
    at = fake_frame(log, at, RSTI_FLAG_BEGIN, RSTI_FRAME_DATA, "ab", 2, 0);
    at = fake_frame(log, at, RSTI_FLAG_END, RSTI_FRAME_DATA, "cd", 2, 0);
    at = fake_frame(log, at, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_DATA, "", 0,
        rsti_stream_header_encode(&complete));
    CHECK_EQ(rst_subscription_poll_demanded(subscription, 64, 0, batch), 0);
    rst_subscription_request(subscription, 0);
    rst_subscription_request(subscription, -3);
    CHECK_EQ(rst_subscription_demand(subscription), 0);
    rst_subscription_request(subscription, 3);
    CHECK_EQ(rst_subscription_demand(subscription), 3);
    CHECK_EQ(rst_subscription_poll_demanded(subscription, 2, 0, batch), 2);
    CHECK_EQ(rst_subscription_demand(subscription), 1);
    CHECK_EQ(rst_subscription_poll_demanded(subscription, 64, 0, batch), 1);
    CHECK_EQ(rst_subscription_poll_demanded(subscription, 64, 0, batch), 0);
    rst_subscription_request(subscription, 7);
    CHECK_EQ(rst_subscription_poll_demanded(subscription, 64, 0, batch), 7);
    /* The driver learns the demand, and the length of a message in the log. */
    const rsti_counter_value_t *value = (const void *)fake_value(log->counter_id);
    const rsti_position_ext_t *told = (const void *)value->spare;
    CHECK_EQ(told->magic, RSTI_EXT_MAGIC);
    CHECK_EQ(told->demand, 7);
    /* So does the publisher: the demand behind the position, which is before the seven. */
    CHECK_EQ(told->version, RSTI_POSITION_EXT_VERSION);
    CHECK_EQ(told->requested, 10);
    CHECK_EQ(told->remaining, 7);
    const int64_t before_seven = rsti_load_acquire_i64(fake_value(log->counter_id));
    rst_batch_release(batch);
    CHECK_EQ(told->remaining, 0);
    CHECK(rsti_load_acquire_i64(fake_value(log->counter_id)) > before_seven);
    CHECK(told->mean_bytes >= 33 && told->mean_bytes <= 64);
    /* Without demand the image is not read at all, not even the beginning of a long message. */
    const int64_t before = rsti_load_acquire_i64(fake_value(log->counter_id));
    CHECK_EQ(rst_subscription_poll_demanded(subscription, 64, 0, batch), 0);
    CHECK(rsti_load_acquire_i64(fake_value(log->counter_id)) >= before);
    CHECK(rsti_load_acquire_i64(fake_value(log->counter_id)) < at - 96);
    rst_subscription_request(subscription, 1);
    CHECK_EQ(told->requested, 11);
    CHECK_EQ(told->remaining, 1);
    /* The long message, and the completion, which needs no demand. */
    CHECK_EQ(rst_subscription_poll_demanded(subscription, 64, 0, batch), 2);
    CHECK_EQ(message(0)->length, 4);
    CHECK_EQ(rst_subscription_demand(subscription), 0);
    rst_subscription_request(subscription, INT64_MAX - 1);
    rst_subscription_request(subscription, 100);
    CHECK_EQ(rst_subscription_demand(subscription), INT64_MAX);
    CHECK_EQ(told->requested, INT64_MAX);
    CHECK_EQ(told->remaining, INT64_MAX);
    (void)fake_data(log, at, "x");
    CHECK_EQ(rst_subscription_poll_demanded(subscription, 64, 0, batch), 1);
    CHECK_EQ(rst_subscription_demand(subscription), INT64_MAX);
    end();
}

typedef enum damage_t {
    DAMAGE_LENGTH,
    DAMAGE_TYPE,
    DAMAGE_TERM,
    DAMAGE_OFFSET,
    DAMAGE_SHORT
} damage_t;

static void corrupt(damage_t damage)
{
    CHECK(begin("corrupt"));
    fake_log_t *good = fake_image(subscription);
    fake_log_t *bad = fake_image(subscription);
    const int64_t at = fake_data(bad, 0, "fine");
    (void)fake_data(bad, at, "broken");
    (void)fake_data(good, 0, "good");
    rsti_data_header_t *header = (rsti_data_header_t *)(void *)(bad->file.log.terms[0] + at);
    switch (damage) {
    case DAMAGE_LENGTH:
        header->frame.frame_length = INT32_MAX;
        break;
    case DAMAGE_SHORT:
        header->frame.frame_length = 7;
        break;
    case DAMAGE_TYPE:
        header->frame.type = 77;
        break;
    case DAMAGE_TERM:
        header->term_id++;
        break;
    case DAMAGE_OFFSET:
        header->term_offset += 32;
        break;
    }
    rst_image_event_t event;
    CHECK_EQ(rst_subscription_next_event(subscription, &event), 1);
    CHECK_EQ(rst_subscription_next_event(subscription, &event), 1);
    CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), 2);
    CHECK_EQ(rst_subscription_next_event(subscription, &event), 1);
    CHECK_EQ(event.kind, RST_IMAGE_UNAVAILABLE);
    CHECK_EQ(event.correlation_id, bad->id);
    CHECK_EQ(event.position, at);
    CHECK_EQ(event.received_position, at);
    CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), -RST_ECORRUPT);
    CHECK(strstr(rst_last_error_text(), "position 64") != NULL);
    (void)fake_data(good, at, "more");
    CHECK_EQ(rst_subscription_poll(subscription, 64, 0, batch), 1);
    end();
}

TEST(corrupt_frames)
{
    for (int damage = DAMAGE_LENGTH; damage <= DAMAGE_SHORT; damage++) {
        corrupt((damage_t)damage);
    }
}

/* Random bytes in the log: no crash, and no read outside of it. */
TEST(mutated_logs)
{
    uint64_t state = check_seed() * 2 + 1;
    for (int round = 0; round < 30; round++) {
        CHECK(begin("mutated"));
        fake_log_t *log = fake_image_named(subscription, 2 * FAKE_TERM - 4096, NULL);
        int64_t at = 2 * FAKE_TERM - 4096;
        while (at < 2 * FAKE_TERM + 8192) {
            at = fake_frame(log, at, (uint8_t)(at % 5 == 0 ? 0xC0 : at % 3 << 6), RSTI_FRAME_DATA,
                "0123456789", 10, at);
        }
        for (int i = 0; i < 40; i++) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            const size_t offset = (size_t)(state >> 33) % (3 * FAKE_TERM);
            log->file.log.base[offset] = (uint8_t)(state >> 20);
            const size_t near = (size_t)(2 * FAKE_TERM - 4096 + (state >> 35) % 4096);
            log->file.log.base[near % (3 * FAKE_TERM)] = (uint8_t)(state >> 10);
        }
        uint64_t sum = 0;
        for (int i = 0; i < 50; i++) {
            const int count = rst_subscription_poll(subscription, 64, 0, batch);
            for (int k = 0; k < count; k++) {
                for (int32_t b = 0; b < message(k)->length; b++) {
                    sum += message(k)->data[b];
                }
            }
            if (i == 20) {
                fake_unavailable(subscription, log);
            }
        }
        CHECK(sum != 1);
        end();
    }
}

TEST(local_address)
{
    CHECK(begin("address"));
    char text[64];
    CHECK_EQ(rst_subscription_local_address(subscription, text, sizeof text), 0);
    uint8_t key[112];
    const size_t length = rsti_sockaddr_key_encode(key, 5, "127.0.0.1:4242");
    const int32_t id = rsti_counters_allocate(&fake.counters, RSTI_COUNTER_LOCAL_SOCKADDR, key,
        length, "a", 1, fake_now_ms());
    CHECK_EQ(rst_subscription_local_address(subscription, text, sizeof text), 0);
    rsti_store_release_i64(fake_value(id), 1);
    CHECK_EQ(rst_subscription_local_address(subscription, text, sizeof text), 1);
    CHECK_STR(text, "127.0.0.1:4242");
    CHECK_EQ(rst_subscription_local_address(subscription, text, 0), -RST_EINVAL);
    end();
}

CHECK_MAIN(RUN(publication_facts), RUN(stream_concurrent), RUN(stream_exclusive),
    RUN(offers_of_many), RUN(offer_of_parts), RUN(claims), RUN(consumed_position),
    RUN(sender_is_woken), RUN(conductor_is_woken_at_its_position),
    RUN(rate_limited_producer_wakes_the_conductor), RUN(a_reader_that_left_is_told), RUN(fragments),
    RUN(padding_and_term_ends), RUN(limits_of_a_batch), RUN(leases_out_of_order),
    RUN(parts_of_a_batch), RUN(the_rest_of_a_batch_is_unread), RUN(loans_set_aside),
    RUN(a_long_message_is_given_back), RUN(images_in_turn), RUN(demand), RUN(corrupt_frames),
    RUN(mutated_logs), RUN(local_address))
