/* A client's requests to the driver beside publications and subscriptions: destinations, rejection,
 * session ids, counters; and the driver's notices: publication errors, counters of others. */
#include "tests/client/fake_driver.h"

static rst_client_t *client;

static bool begin(const char *name)
{
    client = fake_open(name) ? fake_client(50) : NULL;
    return client != NULL;
}

static void end(void)
{
    rst_client_close(client);
    fake_close();
}

/* M3: the publication is named by its own id, each command by its own; every kind is answered. */
TEST(publication_destinations)
{
    CHECK(begin("destinations"));
    rst_publication_t *publication = fake_publish(client, "aeron:udp?control-mode=manual", false);
    CHECK(publication != NULL);
    rst_publication_info_t info;
    rst_publication_info(publication, &info);
    CHECK(info.registration_id != info.correlation_id);
    const char *uri = "aeron:udp?endpoint=localhost:40456";
    const int64_t added = rst_publication_add_destination(publication, uri);
    CHECK_EQ(fake_await(client, added), 1);
    CHECK_EQ(fake.last.type, RSTI_CMD_ADD_DESTINATION);
    CHECK_EQ(fake.last.client_id, rst_client_id(client));
    CHECK_EQ(fake.last.correlation_id, added);
    CHECK_EQ(fake.last.registration_id, info.registration_id);
    CHECK_STR(fake.last_text, uri);
    CHECK_EQ(rst_client_await(client, added, 0), -RST_EINVAL); /* reported once */
    const int64_t removed = rst_publication_remove_destination(publication, uri);
    CHECK_EQ(fake_await(client, removed), 1);
    CHECK_EQ(fake.last.type, RSTI_CMD_REMOVE_DESTINATION);
    CHECK_EQ(fake.last.registration_id, info.registration_id);
    const int64_t by_id = rst_publication_remove_destination_by_id(publication, added);
    CHECK_EQ(fake_await(client, by_id), 1);
    CHECK_EQ(fake.last.type, RSTI_CMD_REMOVE_DESTINATION_BY_ID);
    CHECK_EQ(fake.last.correlation_id, by_id);
    CHECK_EQ(fake.last.registration_id, info.registration_id);
    CHECK_EQ(fake.last.destination_id, added);
    fake.refuse_code = RSTI_DRIVER_UNKNOWN_PUBLICATION;
    CHECK_EQ(fake_await(client, rst_publication_add_destination(publication, uri)),
        -RST_EREGISTRATION);
    CHECK_EQ(rst_last_error_detail(), RSTI_DRIVER_UNKNOWN_PUBLICATION);
    CHECK_EQ(rst_publication_add_destination(publication, "udp://x"), -RST_ECHANNEL);
    CHECK_EQ(rst_publication_add_destination(publication, NULL), -RST_ECHANNEL);
    CHECK_EQ(rst_publication_add_destination(NULL, uri), -RST_EINVAL);
    rst_publication_close(publication);
    end();
}

TEST(publication_rate)
{
    CHECK(begin("rate"));
    fake.publication_log = fake_log(RSTI_LOG_CONCURRENT, 0, NULL);
    rst_publication_t *publication = fake_publish(client, "aeron:udp?endpoint=1.2.3.4:5", false);
    CHECK(publication != NULL);
    rst_publication_info_t info;
    rst_publication_info(publication, &info);
    const int64_t id = rst_publication_set_rate(publication, "fixed,r:200m");
    CHECK_EQ(fake_await(client, id), 1);
    CHECK_EQ(fake.last.type, RSTI_CMD_SET_RATE);
    CHECK_EQ(fake.last.client_id, rst_client_id(client));
    CHECK_EQ(fake.last.correlation_id, id);
    CHECK_EQ(fake.last.registration_id, info.registration_id);
    CHECK_STR(fake.last_text, "fixed,r:200m");
    fake.refuse_code = RSTI_DRIVER_GENERIC_ERROR;
    CHECK_EQ(fake_await(client, rst_publication_set_rate(publication, "fast")), -RST_EREGISTRATION);
    char text[300];
    memset(text, 'x', sizeof text);
    text[256] = '\0';
    CHECK_EQ(rst_publication_set_rate(publication, text), -RST_EINVAL);
    text[255] = '\0';
    fake.refuse_code = 0;
    CHECK_EQ(fake_await(client, rst_publication_set_rate(publication, text)), 1);
    CHECK_EQ(rst_publication_set_rate(publication, ""), -RST_EINVAL);
    CHECK_EQ(rst_publication_set_rate(publication, NULL), -RST_EINVAL);
    CHECK_EQ(rst_publication_set_rate(NULL, "unlimited"), -RST_EINVAL);
    publication->is_rstream = false; /* of an Aeron driver */
    CHECK_EQ(rst_publication_set_rate(publication, "unlimited"), -RST_ENOTSUP);
    publication->is_rstream = true;
    rst_publication_close(publication);
    end();
}

/* M3, M7 */
TEST(subscription_destinations)
{
    CHECK(begin("rcv-destinations"));
    rst_subscription_t *subscription = fake_subscribe(client);
    CHECK(subscription != NULL);
    const char *uri = "aeron:udp?endpoint=localhost:40457";
    const int64_t added = rst_subscription_add_destination(subscription, uri);
    CHECK_EQ(fake_await(client, added), 1);
    CHECK_EQ(fake.last.type, RSTI_CMD_ADD_RCV_DESTINATION);
    CHECK_EQ(fake.last.registration_id, subscription->registration_id);
    CHECK_STR(fake.last_text, uri);
    CHECK_EQ(fake_await(client, rst_subscription_remove_destination(subscription, uri)), 1);
    CHECK_EQ(fake.last.type, RSTI_CMD_REMOVE_RCV_DESTINATION);
    const int64_t by_id = rst_subscription_remove_destination_by_id(subscription, added);
    CHECK_EQ(fake_await(client, by_id), 1);
    CHECK_EQ(fake.last.type, RSTI_CMD_REMOVE_DESTINATION_BY_ID);
    CHECK_EQ(fake.last.registration_id, subscription->registration_id);
    CHECK_EQ(fake.last.destination_id, added);
    rst_client_close(client);
    CHECK_EQ(rst_subscription_add_destination(subscription, uri), -RST_ECLOSED);
    rst_subscription_close(subscription);
    fake_close();
}

/* M3, N11: the command names the image and its consumed position, with ids that get an answer. */
TEST(rejected_image)
{
    CHECK(begin("reject"));
    rst_subscription_t *subscription = fake_subscribe(client);
    CHECK(subscription != NULL);
    const fake_log_t *log = fake_image(subscription);
    const int64_t id = rst_subscription_reject_image(subscription, log->id, "not today");
    CHECK_EQ(fake_await(client, id), 1);
    CHECK_EQ(fake.last.type, RSTI_CMD_REJECT_IMAGE);
    CHECK_EQ(fake.last.client_id, rst_client_id(client));
    CHECK_EQ(fake.last.correlation_id, id);
    CHECK_EQ(fake.last.registration_id, log->id);
    CHECK_EQ(fake.last.position, 0);
    CHECK_STR(fake.last_text, "not today");
    char reason[1025];
    memset(reason, 'x', sizeof reason);
    reason[1024] = '\0';
    CHECK_EQ(rst_subscription_reject_image(subscription, log->id, reason), -RST_ETOOLARGE);
    reason[1023] = '\0';
    CHECK_EQ(fake_await(client, rst_subscription_reject_image(subscription, log->id, reason)), 1);
    CHECK_STR(fake.last_text, reason);
    CHECK_EQ(rst_subscription_reject_image(subscription, log->id + 1, ""), -RST_EINVAL);
    rst_subscription_close(subscription);
    end();
}

/* N12: one flag in the command that removes the publication. */
TEST(revoked_publication)
{
    CHECK(begin("revoke"));
    rst_publication_t *publication = fake_publish(client, "aeron:ipc", true);
    CHECK(publication != NULL);
    rst_publication_close(fake_publish(client, "aeron:ipc", true));
    fake_pump();
    CHECK_EQ(fake.last.type, RSTI_CMD_REMOVE_PUBLICATION);
    CHECK_EQ(fake.last.flags, 0);
    const int64_t id = publication->correlation_id;
    rst_publication_revoke(publication);
    fake_pump();
    CHECK_EQ(fake.last.type, RSTI_CMD_REMOVE_PUBLICATION);
    CHECK_EQ(fake.last.registration_id, id);
    CHECK_EQ(fake.last.flags, 1);
    rst_publication_revoke(NULL);
    end();
}

/* M8: requested when the driver's protocol supports it, else random. */
TEST(next_session_ids)
{
    int32_t session_id = 0;
    int32_t other_id = 0;
    CHECK(begin("sessions"));
    /* This driver has no counter 43: older than the command. */
    const int commands = fake.commands;
    const int64_t first = rst_client_next_session_id(client, 7);
    CHECK_EQ(rst_client_await(client, first, 0), 1);
    CHECK_EQ(rst_client_take_session_id(client, first, &session_id), 0);
    CHECK_EQ(rst_client_take_session_id(client, first, &session_id), -RST_EINVAL);
    const int64_t second = rst_client_next_session_id(client, 7);
    CHECK_EQ(rst_client_take_session_id(client, second, &other_id), 0);
    CHECK(session_id != other_id);
    fake_pump();
    CHECK_EQ(fake.commands, commands);
    for (int32_t id = 0; id <= RSTI_SYSTEM_CONTROL_PROTOCOL_VERSION; id++) {
        fake_counter(id == RSTI_SYSTEM_CONTROL_PROTOCOL_VERSION ? RSTI_COUNTER_SYSTEM : 1, id, 0,
            65536);
    }
    const int32_t version_id = RSTI_SYSTEM_CONTROL_PROTOCOL_VERSION;
    /* The ids of this driver do not begin at 0: one that has the type stands at place 43. */
    fake.counters.counters.metadata[version_id].type_id = RSTI_COUNTER_SYSTEM;
    const int64_t asked = rst_client_next_session_id(client, 7);
    CHECK_EQ(fake_await(client, asked), 1);
    CHECK_EQ(fake.last.type, RSTI_CMD_NEXT_SESSION_ID);
    CHECK_EQ(fake.last.stream_id, 7);
    CHECK_EQ(rst_client_take_session_id(client, asked, &session_id), 0);
    CHECK_EQ(session_id, FAKE_SESSION + 1);
    end();
}

/* ---- counters ---- */

/* M1, M2, E4 */
TEST(user_counters)
{
    CHECK(begin("counters"));
    const int64_t id = rst_client_add_counter(client, 1001, "key", 3, "my counter");
    CHECK_EQ(fake_await(client, id), 1);
    CHECK(rst_client_take_publication(client, id) == NULL);
    rst_user_counter_t *counter = rst_client_take_counter(client, id);
    CHECK(counter != NULL);
    const int32_t counter_id = rst_user_counter_id(counter);
    CHECK_EQ(rst_user_counter_registration_id(counter), id);
    rst_user_counter_set(counter, 5);
    CHECK_EQ(rst_user_counter_add(counter, 2), 5);
    CHECK_EQ(rst_user_counter_get(counter), 7);
    CHECK(!rst_user_counter_propose_max(counter, 6));
    CHECK(rst_user_counter_propose_max(counter, 8));
    CHECK_EQ(rsti_load_acquire_i64(fake_value(counter_id)), 8);
    CHECK_EQ(rst_client_find_counter(client, 1001, id), counter_id);
    CHECK_EQ(rst_client_find_counter(client, 1001, id + 1), -1);
    rst_counter_t view;
    CHECK_EQ(rst_client_read_counter(client, counter_id, &view), 1);
    CHECK_STR(view.label, "my counter");
    CHECK_EQ(view.type_id, 1001);
    CHECK_EQ(view.owner_id, rst_client_id(client));
    CHECK_EQ(rst_client_read_counter(client, counter_id + 1, &view), 0);
    CHECK_EQ(rst_client_read_counter(client, 1 << 20, &view), -RST_EINVAL);
    rst_counter_event_t event;
    CHECK_EQ(rst_client_next_counter_event(client, &event), 1);
    CHECK_EQ(event.kind, RST_COUNTER_AVAILABLE);
    CHECK_EQ(event.counter_id, counter_id);
    CHECK_EQ(event.registration_id, id);
    fake.gone_counter = counter_id;
    rst_user_counter_close(counter);
    fake_pump();
    CHECK_EQ(fake.last_removed_type, RSTI_CMD_REMOVE_COUNTER);
    CHECK_EQ(fake.last_removed, id);
    int found = 0;
    FAKE_UNTIL(found != 0 || (found = rst_client_next_counter_event(client, &event)) != 0);
    CHECK_EQ(event.kind, RST_COUNTER_UNAVAILABLE);
    CHECK_EQ(rst_client_next_counter_event(client, &event), 0);
    end();
}

/* E3: a key or label longer than its field is refused, at the limit it is not. */
TEST(counter_limits)
{
    CHECK(begin("counter-limits"));
    char text[382];
    memset(text, 'k', sizeof text);
    text[381] = '\0';
    CHECK_EQ(rst_client_add_counter(client, 1001, text, 113, "x"), -RST_EINVAL);
    CHECK_EQ(rst_client_add_counter(client, 1001, NULL, 1, "x"), -RST_EINVAL);
    CHECK_EQ(rst_client_add_counter(client, 1001, text, 112, text), -RST_EINVAL);
    text[380] = '\0';
    const int64_t id = rst_client_add_counter(client, 1001, text, 112, text);
    CHECK_EQ(fake_await(client, id), 1);
    rst_user_counter_t *counter = rst_client_take_counter(client, id);
    rst_counter_t view;
    CHECK_EQ(rst_client_read_counter(client, rst_user_counter_id(counter), &view), 1);
    CHECK_STR(view.label, text);
    rst_user_counter_close(counter);
    /* A driver that names a counter that does not exist: an error. */
    fake.limit_counter = 1 << 20;
    CHECK_EQ(fake_await(client, rst_client_add_counter(client, 1001, NULL, 0, "x")), -RST_ECORRUPT);
    end();
}

/* N26: a static counter has no owner; closing its handle does not remove it. */
TEST(static_counters)
{
    CHECK(begin("static"));
    const int64_t id = rst_client_add_static_counter(client, 1002, 77, NULL, 0, "static");
    CHECK_EQ(fake_await(client, id), 1);
    CHECK_EQ(fake.last.type, RSTI_CMD_ADD_STATIC_COUNTER);
    CHECK_EQ(fake.last.registration_id, 77);
    rst_user_counter_t *counter = rst_client_take_counter(client, id);
    CHECK(counter != NULL);
    CHECK_EQ(rst_user_counter_registration_id(counter), 77);
    rst_user_counter_set(counter, 9);
    CHECK_EQ(rst_user_counter_get(counter), 9);
    const int commands = fake.commands;
    rst_user_counter_close(counter);
    fake_pump();
    CHECK_EQ(fake.commands, commands);
    end();
}

/* A counter that the driver freed and gave to another client is not written (sharp edge 8). */
TEST(counter_taken_back)
{
    CHECK(begin("taken-back"));
    const int64_t id = rst_client_add_counter(client, 1001, NULL, 0, "x");
    CHECK_EQ(fake_await(client, id), 1);
    rst_user_counter_t *counter = rst_client_take_counter(client, id);
    CHECK(!rst_user_counter_is_closed(counter));
    const int32_t counter_id = rst_user_counter_id(counter);
    rsti_counters_set_ids(&fake.counters, counter_id, id + 100, 1, 0);
    CHECK(rst_user_counter_is_closed(counter));
    rst_user_counter_set(counter, 5);
    CHECK_EQ(rst_user_counter_add(counter, 5), 0);
    CHECK_EQ(rsti_load_acquire_i64(fake_value(counter_id)), 0);
    rsti_counters_set_ids(&fake.counters, counter_id, id, 1, 0);
    CHECK(!rst_user_counter_is_closed(counter));
    const rsti_response_t gone = {
        .type = RSTI_RSP_UNAVAILABLE_COUNTER, .registration_id = id, .counter_id = counter_id};
    fake_respond(&gone);
    FAKE_UNTIL(rst_user_counter_is_closed(counter));
    rst_user_counter_close(counter);
    end();
}

/* M2: the queue is bounded; the oldest go and are counted. */
TEST(counter_events_are_bounded)
{
    CHECK(begin("counter-events"));
    for (int i = 0; i < RSTI_COUNTER_EVENTS_MAX + 10; i++) {
        const rsti_response_t ready = {
            .type = RSTI_RSP_COUNTER_READY, .correlation_id = 1000 + i, .counter_id = i};
        fake_respond(&ready);
        if (i % 32 == 31) {
            usleep(2000); /* the client must not miss events */
        }
    }
    FAKE_UNTIL(rst_client_counter_events_lost(client) == 10);
    rst_counter_event_t event;
    for (int i = 10; i < RSTI_COUNTER_EVENTS_MAX + 10; i++) {
        CHECK_EQ(rst_client_next_counter_event(client, &event), 1);
        CHECK_EQ(event.counter_id, i);
    }
    CHECK_EQ(rst_client_next_counter_event(client, &event), 0);
    end();
}

/* M6: resources that were requested and never taken are closed with the client. */
TEST(never_taken)
{
    CHECK(begin("never-taken"));
    CHECK_EQ(fake_await(client, rst_client_add_counter(client, 1001, NULL, 0, "x")), 1);
    (void)rst_client_add_counter(client, 1001, NULL, 0, "y");
    const int64_t cancelled = rst_client_add_counter(client, 1001, NULL, 0, "z");
    rst_client_cancel(client, cancelled);
    for (int i = 0; i < 2000 && fake.last_removed != cancelled; i++) {
        fake_pump();
        usleep(1000);
    }
    CHECK_EQ(fake.last_removed, cancelled);
    CHECK_EQ(fake.last_removed_type, RSTI_CMD_REMOVE_COUNTER);
    end();
}

/* ---- what the driver says unasked ---- */

static void tell_error(int64_t registration_id, uint16_t address_kind, const char *text)
{
    const rsti_response_t response = {
        .type = RSTI_RSP_PUBLICATION_ERROR,
        .registration_id = registration_id,
        .destination_id = -1,
        .session_id = FAKE_SESSION,
        .stream_id = 7,
        .receiver_id = 99,
        .group_tag = -1,
        .address_kind = address_kind,
        .port = 4000,
        .address = {127, 0, 0, 1},
        .error_code = 13,
        .log_file = fake_text(text),
    };
    fake_respond(&response);
}

/* M2, N11: to every handle of the publication, in order, bounded. */
TEST(publication_errors)
{
    CHECK(begin("errors"));
    rst_publication_t *first = fake_publish(client, "aeron:ipc", false);
    rst_publication_t *second = fake_publish(client, "aeron:ipc", false); /* shares the log */
    CHECK(first != NULL && second != NULL);
    CHECK_EQ(first->registration_id, second->registration_id);
    rst_publication_error_t error;
    CHECK_EQ(rst_publication_next_error(first, &error), 0);
    tell_error(first->registration_id + 1000, 1, "another publication's");
    tell_error(first->registration_id, 1, "not today");
    int found = 0;
    FAKE_UNTIL(found != 0 || (found = rst_publication_next_error(first, &error)) != 0);
    CHECK_EQ(error.code, 13);
    CHECK_EQ(error.receiver_id, 99);
    CHECK_EQ(error.group_tag, -1);
    CHECK_STR(error.source, "127.0.0.1:4000");
    CHECK_STR(error.text, "not today");
    CHECK_EQ(rst_publication_next_error(first, &error), 0);
    CHECK_EQ(rst_publication_next_error(second, &error), 1);
    tell_error(first->registration_id, 2, "v6");
    tell_error(first->registration_id, 0, "local");
    found = 0;
    FAKE_UNTIL(found != 0 || (found = rst_publication_next_error(first, &error)) != 0);
    CHECK_STR(error.source, "[7f00:1::]:4000");
    found = 0;
    FAKE_UNTIL(found != 0 || (found = rst_publication_next_error(first, &error)) != 0);
    CHECK_STR(error.source, "");
    for (int i = 0; i < RSTI_PUBLICATION_ERRORS_MAX + 3; i++) {
        char text[16];
        snprintf(text, sizeof text, "%d", i);
        tell_error(first->registration_id, 1, text);
    }
    FAKE_UNTIL(rst_publication_errors_lost(first) == 3);
    CHECK_EQ(rst_publication_next_error(first, &error), 1);
    CHECK_STR(error.text, "3");
    rst_publication_close(first);
    rst_publication_close(second);
    end();
}

/* ---- facts ---- */

/* N17 */
/* N17 */
/* A11, N26: the position of the next frame, the available window, the state and addresses of the
 * endpoint. */
TEST(facts_of_a_publication)
{
    CHECK(begin("facts"));
    for (int i = 0; i < 6; i++) {
        fake_counter(1, 0, 0, i == 5 ? RST_CHANNEL_ACTIVE : 0);
    }
    uint8_t key[112];
    (void)rsti_sockaddr_key_encode(key, 5, "127.0.0.1:4000");
    const int32_t first = rsti_counters_allocate(&fake.counters, RSTI_COUNTER_LOCAL_SOCKADDR, key,
        sizeof key, "a", 1, fake_now_ms());
    (void)rsti_sockaddr_key_encode(key, 5, "127.0.0.1:4001");
    const int32_t second = rsti_counters_allocate(&fake.counters, RSTI_COUNTER_LOCAL_SOCKADDR, key,
        sizeof key, "a", 1, fake_now_ms());
    rsti_store_release_i64(fake_value(first), 1);
    rsti_store_release_i64(fake_value(second), 1);
    rst_publication_t *publication = fake_publish(client, "aeron:udp?endpoint=localhost:0", true);
    rst_publication_t *ipc = fake_publish(client, "aeron:ipc", true);
    CHECK(publication != NULL && ipc != NULL);
    char text[64];
    CHECK_EQ(rst_publication_local_address(publication, 0, text, sizeof text), 1);
    CHECK_STR(text, "127.0.0.1:4000");
    CHECK_EQ(rst_publication_local_address(publication, 1, text, sizeof text), 1);
    CHECK_STR(text, "127.0.0.1:4001");
    CHECK_EQ(rst_publication_local_address(publication, 2, text, sizeof text), 0);
    CHECK_EQ(rst_publication_local_address(ipc, 0, text, sizeof text), 0);
    CHECK_EQ(rst_publication_local_address(publication, 0, NULL, 0), -RST_EINVAL);
    rst_publication_info_t info;
    rst_publication_info(publication, &info);
    CHECK_EQ(info.channel_status_id, 5);
    CHECK_EQ(info.position_bits, 16);
    CHECK_EQ(info.max_position, (int64_t)FAKE_TERM << 31);
    CHECK_EQ(rst_publication_channel_status(publication), rsti_load_acquire_i64(fake_value(5)));
    rsti_store_release_i64(fake_value(5), RST_CHANNEL_ERRORED);
    CHECK_EQ(rst_publication_channel_status(publication), RST_CHANNEL_ERRORED);
    CHECK_EQ(rst_publication_channel_status(ipc), RST_CHANNEL_ACTIVE);
    rsti_store_release_i64(fake_value(fake.publication_log->counter_id), 1000);
    CHECK_EQ(rst_publication_available_window(ipc), 1000);
    CHECK(rst_publication_offer(ipc, "x", 1, 0) > 0);
    CHECK_EQ(rst_publication_available_window(ipc), 1000 - 64);
    int32_t term_id = 0, term_offset = 0;
    CHECK_EQ(rst_publication_next_frame(ipc, &term_id, &term_offset), 0);
    CHECK_EQ(term_id, 100);
    CHECK_EQ(term_offset, 64);
    rsti_store_release_i64(fake_value(fake.publication_log->counter_id), 0);
    CHECK_EQ(rst_publication_available_window(ipc), 0);
    rst_publication_close(publication);
    rst_client_close(client);
    CHECK_EQ(rst_publication_available_window(ipc), RST_CLOSED);
    CHECK_EQ(rst_publication_channel_status(ipc), RST_CLOSED);
    CHECK_EQ(rst_publication_next_frame(ipc, &term_id, &term_offset), RST_CLOSED);
    rst_publication_close(ipc);
    fake_close();
}

static void expect_reason(rst_publication_t *publication, int64_t reason)
{
    rst_claim_t claim;
    size_t taken = 1;
    const rst_message_part_t part = {.data = "x", .length = 1};
    CHECK_EQ(rst_publication_offer(publication, "x", 1, 0), reason);
    CHECK_EQ(rst_publication_offer_parts(publication, &part, 1, 0), reason);
    CHECK_EQ(rst_publication_offer_many(publication, &part, 1, 0, &taken), reason);
    CHECK_EQ(taken, 0);
    CHECK_EQ(rst_publication_offer_block(publication, "x", 1, 1, 0, &taken), reason);
    CHECK_EQ(rst_publication_try_claim(publication, 1, 0, &claim), reason);
    CHECK(claim.frame == NULL);
    CHECK_EQ(rst_publication_offer_frames(publication, "x", 1), reason);
    CHECK_EQ(rst_publication_append_padding(publication, 1), reason);
}

/* A5, A7, A12: empty, closed, too long; nothing is written. */
TEST(offers_that_cannot_be)
{
    CHECK(begin("cannot"));
    expect_reason(NULL, RST_ERROR);
    rst_publication_t *publication = fake_publish(client, "aeron:ipc", true);
    rst_publication_t *shared = fake_publish(client, "aeron:ipc", false);
    CHECK(publication != NULL && shared != NULL);
    rsti_store_release_i64(fake_value(fake.publication_log->counter_id), FAKE_TERM / 2);
    static uint8_t bytes[FAKE_TERM];
    rst_claim_t claim;
    const size_t most = FAKE_TERM / 8;
    const rst_message_part_t parts[] = {{bytes, most}, {bytes, 1}};
    CHECK_EQ(rst_publication_offer(publication, bytes, most + 1, 0), RST_ERROR);
    CHECK_EQ(rst_publication_offer_parts(publication, parts, 2, 0), RST_ERROR);
    CHECK_EQ(rst_publication_append_padding(publication, most + 1), RST_ERROR);
    CHECK_EQ(rst_publication_try_claim(publication, FAKE_MTU - 31, 0, &claim), RST_ERROR);
    CHECK_EQ(rst_publication_offer_frames(publication, NULL, 64), RST_ERROR);
    CHECK_EQ(rst_publication_offer_frames(shared, bytes, 64), RST_ERROR);
    CHECK_EQ(rst_publication_append_padding(shared, 1), RST_ERROR);
    CHECK(strstr(rst_last_error_text(), "exclusive") != NULL);
    CHECK_EQ(rst_publication_position(publication), 0);
    CHECK(rst_publication_offer_parts(publication, parts, 1, 0) > 0);
    rst_client_close(client);
    expect_reason(publication, RST_CLOSED);
    rst_publication_close(publication);
    rst_publication_close(shared);
    fake_close();
}

/* ---- a driver that does not read ---- */

/* M6: commands wait in order and are sent when there is room; only beyond the limit are they
 * refused. */
TEST(full_ring)
{
    CHECK(begin("full"));
    rst_publication_t *publication = fake_publish(client, "aeron:ipc", false);
    CHECK(publication != NULL);
    const int64_t removed = publication->correlation_id;
    uint8_t bytes[4096] = {0};
    /* Fills the ring with records that the driver will skip: the client's own commands find no
     * room. */
    while (rsti_mpsc_rb_write(&fake.ring, 999, bytes, sizeof bytes) == RSTI_RB_OK) {
    }
    while (rsti_mpsc_rb_write(&fake.ring, 999, bytes, 16) == RSTI_RB_OK) {
    }
    const int64_t id = rst_client_add_subscription(client, "aeron:ipc", 7);
    CHECK(id > 0);
    rst_publication_close(publication);
    CHECK_EQ(rst_client_await(client, id, 20 * RSTI_NS_PER_MS), 0);
    CHECK_EQ(client->outbox.count, 2);
    CHECK_EQ(fake_await(client, id), 1);
    for (int i = 0; i < 2000 && fake.last_removed != removed; i++) {
        fake_pump();
        usleep(1000);
    }
    CHECK_EQ(fake.last_removed, removed);
    rst_client_cancel(client, id);
    /* The limit. */
    fake_pump();
    while (rsti_mpsc_rb_write(&fake.ring, 999, bytes, sizeof bytes) == RSTI_RB_OK) {
    }
    while (rsti_mpsc_rb_write(&fake.ring, 999, bytes, 16) == RSTI_RB_OK) {
    }
    int64_t last = 0;
    int count = 0;
    while (last >= 0 && count < 2 * RSTI_OUTBOX_MAX) {
        last = rst_client_add_subscription(client, "aeron:ipc", 7);
        count++;
    }
    CHECK_EQ(last, -RST_EFULL);
    CHECK_EQ(count, RSTI_OUTBOX_MAX + 1);
    end();
}

/* M1: the longest channel is accepted; one byte more is refused here. */
TEST(largest_command)
{
    CHECK(begin("largest"));
    char uri[4097];
    int length = snprintf(uri, sizeof uri, "aeron:ipc?alias=");
    memset(uri + length, 'a', sizeof uri - (size_t)length);
    uri[4096] = '\0';
    CHECK_EQ(rst_client_add_subscription(client, uri, 7), -RST_ECHANNEL);
    uri[4095] = '\0';
    const int64_t id = rst_client_add_subscription(client, uri, 7);
    CHECK_EQ(fake_await(client, id), 1);
    CHECK_STR(fake.last_text, uri);
    rst_client_cancel(client, id);
    end();
}

/* M4: a conductor that did not run for longer than the liveness timeout closes its client. */
TEST(conductor_that_did_not_run)
{
    CHECK(begin("stalled"));
    int64_t deadline_ns = 0;
    const int64_t now_ns = rsti_client_now_ns();
    (void)rsti_client_do_work(client, now_ns + FAKE_LIVENESS_NS * 9 / 10, &deadline_ns);
    CHECK_EQ(rst_client_state(client), RST_CLIENT_OPEN);
    (void)rsti_client_do_work(client, now_ns + 4 * FAKE_LIVENESS_NS, &deadline_ns);
    CHECK_EQ(rst_client_state(client), RST_CLIENT_TIMED_OUT);
    CHECK_EQ(rst_client_add_subscription(client, "aeron:ipc", 7), -RST_ECLIENTTIMEOUT);
    CHECK(strstr(rst_last_error_text(), "did not run") != NULL);
    end();
}

/* F1: a channel that is wrong without any driver's knowledge is refused without a command. */
TEST(malformed_channels)
{
    static const char *const channels[] = {"", "aeron:", "aeron:tcp?x=y", "aeron:udp", "aeron:udp?",
        "aeron:udp?endpoint", "aeron:udp?endpoint=", "aeron:udp?endpoint=localhost",
        "aeron:udp?endpoint=localhost:70000", "aeron:ipc?mtu=many", "udp://localhost:1",
        "aeron:udp?control-mode=dynamic|endpoint=localhost:1", "aeron:ipc?session-id=x"};
    CHECK(begin("malformed"));
    const int commands = fake.commands;
    for (size_t i = 0; i < sizeof channels / sizeof channels[0]; i++) {
        CHECK_EQ(rst_client_add_publication(client, channels[i], 7, false), -RST_ECHANNEL);
        CHECK_EQ(rst_client_add_subscription(client, channels[i], 7), -RST_ECHANNEL);
    }
    fake_pump();
    CHECK_EQ(fake.commands, commands);
    /* A well-formed channel, supported or not: the driver decides. */
    CHECK(rst_client_add_publication(client, "aeron:ipc?channel-snd-ts-offset=8", 7, false) > 0);
    end();
}

CHECK_MAIN(RUN(publication_destinations), RUN(publication_rate), RUN(subscription_destinations),
    RUN(rejected_image), RUN(revoked_publication), RUN(next_session_ids), RUN(user_counters),
    RUN(counter_limits), RUN(static_counters), RUN(counter_taken_back),
    RUN(counter_events_are_bounded), RUN(never_taken), RUN(publication_errors),
    RUN(facts_of_a_publication), RUN(offers_that_cannot_be), RUN(full_ring), RUN(largest_command),
    RUN(conductor_that_did_not_run), RUN(malformed_channels))
