/* The conductor's answers to valid and invalid commands; clients that die; IPC limits and ends. */
#include "logbuffer/appender.h"
#include "tests/driver/harness.h"

#define UDP "aeron:udp?endpoint=127.0.0.1:24400"

static void check_refused(harness_t *h, int32_t type, const char *channel, int code,
    const char *word)
{
    const int64_t id = add(h, type, channel, 10);
    const answer_t *error = answer(h, RSTI_RSP_ON_ERROR, id);
    h->answer_count = 0;
    if (error == NULL || error->response.error_code != code || strstr(error->text, word) == NULL) {
        CHECK_FAIL("%s: code %d, text \"%s\", expected code %d and \"%s\"", channel,
            error == NULL ? 0 : error->response.error_code, error == NULL ? "" : error->text, code,
            word);
    }
}

/* L9 */
TEST(first_command_makes_a_heartbeat_counter)
{
    harness_t *h = harness_open();
    const int64_t id = add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", 10);
    CHECK_EQ(h->answers[0].type, RSTI_RSP_COUNTER_READY);
    CHECK_EQ(h->answers[0].response.correlation_id, CLIENT_ID);
    CHECK_EQ(h->answers[1].type, RSTI_RSP_SUBSCRIPTION_READY);
    CHECK_EQ(h->answers[1].response.correlation_id, id);
    CHECK_EQ(h->answers[1].response.channel_status_id, -1);
    CHECK_EQ(rsti_counters_find(&h->driver->counters.counters, RSTI_COUNTER_CLIENT_HEARTBEAT,
                 CLIENT_ID),
        h->answers[0].response.counter_id);
    harness_close(h);
}

/* L1, L2, N18 */
TEST(unsupported_parameters_are_refused_by_name)
{
    harness_t *h = harness_open();
    const int pub = RSTI_CMD_ADD_PUBLICATION, sub = RSTI_CMD_ADD_SUBSCRIPTION;
    check_refused(h, sub, "aeron-spy:aeron:ipc", RSTI_DRIVER_INVALID_CHANNEL, "aeron:ipc");
    check_refused(h, pub, "aeron-spy:" UDP, RSTI_DRIVER_INVALID_CHANNEL, "spy");
    check_refused(h, pub, UDP "|control=127.0.0.1:9999|control-mode=response",
        RSTI_DRIVER_INVALID_CHANNEL, "control-mode=response");
    check_refused(h, sub, UDP "|control=127.0.0.1:0", RSTI_DRIVER_INVALID_CHANNEL, "control=");
    check_refused(h, pub, "aeron:udp?endpoint=224.0.1.2:40456", RSTI_DRIVER_INVALID_CHANNEL, "odd");
    check_refused(h, pub, "aeron:udp?endpoint=224.0.1.1:40456|control-mode=manual",
        RSTI_DRIVER_INVALID_CHANNEL, "control-mode");
    check_refused(h, pub, "aeron:udp?endpoint=127.0.0.1:0", RSTI_DRIVER_INVALID_CHANNEL, "port");
    check_refused(h, pub, "aeron:tcp?endpoint=127.0.0.1:1", RSTI_DRIVER_INVALID_CHANNEL, "tcp");
    check_refused(h, pub, UDP "|mtu=1400", RSTI_DRIVER_INVALID_CHANNEL, "mtu=1400");
    check_refused(h, pub, UDP "|term-length=65537", RSTI_DRIVER_INVALID_CHANNEL, "term-length");
    CHECK_EQ(h->driver->conductor->send_endpoints.count, 0);
    CHECK_EQ(h->driver->conductor->receive_endpoints.count, 0);
    CHECK_EQ(h->driver->conductor->subscriptions.count, 0);
    harness_close(h);
}

/* L2 */
TEST(bad_commands_are_answered)
{
    harness_t *h = harness_open();
    const uint8_t zeros[32] = {0};
    CHECK_EQ(rsti_mpsc_rb_write(&h->driver->to_driver, 0x55, zeros, sizeof zeros), RSTI_RB_OK);
    CHECK_EQ(rsti_mpsc_rb_write(&h->driver->to_driver, RSTI_CMD_ADD_PUBLICATION, zeros, 3),
        RSTI_RB_OK);
    pass(h);
    CHECK_EQ(h->answer_count, 2);
    CHECK_EQ(h->answers[0].response.error_code, RSTI_DRIVER_UNKNOWN_COMMAND);
    CHECK_EQ(h->answers[1].response.error_code, RSTI_DRIVER_MALFORMED_COMMAND);
    h->answer_count = 0;
    (void)take_away(h, RSTI_CMD_REMOVE_PUBLICATION, 4711);
    (void)take_away(h, RSTI_CMD_REMOVE_SUBSCRIPTION, 4711);
    (void)take_away(h, RSTI_CMD_REMOVE_COUNTER, 4711);
    CHECK_EQ(h->answers[0].response.error_code, RSTI_DRIVER_UNKNOWN_PUBLICATION);
    CHECK_EQ(h->answers[1].response.error_code, RSTI_DRIVER_UNKNOWN_SUBSCRIPTION);
    CHECK_EQ(h->answers[2].response.error_code, RSTI_DRIVER_UNKNOWN_COUNTER);
    CHECK_EQ(counter(h, RSTI_SYSTEM_ERRORS), 5);
    harness_close(h);
}

TEST(names_may_not_share_a_stream_id)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:ipc?rs-name=ticks", 10);
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc?rs-name=ticks", 10);
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", 10);
    CHECK(answer_of_type(h, RSTI_RSP_ON_ERROR) == NULL);
    check_refused(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc?rs-name=other",
        RSTI_DRIVER_INVALID_CHANNEL, "\"ticks\"");
    check_refused(h, RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION, "aeron:ipc?rs-name=other",
        RSTI_DRIVER_INVALID_CHANNEL, "\"other\"");
    harness_close(h);
}

TEST(a_rate_is_the_publication_s_own)
{
    harness_t *h = harness_open();
    const int pub = RSTI_CMD_ADD_PUBLICATION, sub = RSTI_CMD_ADD_SUBSCRIPTION;
    static const char *const channels[] = {UDP "|", "aeron:ipc?"};
    char channel[128];
    for (int i = 0; i < 2; i++) {
        snprintf(channel, sizeof channel, "%srs-rate=fixed,r:1k", channels[i]);
        const int64_t a = add(h, pub, channel, 10);
        snprintf(channel, sizeof channel, "%srs-rate=fixed,r:1024", channels[i]);
        const int64_t b = add(h, pub, channel, 10); /* the same rate in another notation */
        snprintf(channel, sizeof channel, "%salias=another", channels[i]);
        /* a publisher without a rate shares the existing one */
        const int64_t c = add(h, pub, channel, 10);
        CHECK_EQ(answer(h, RSTI_RSP_PUBLICATION_READY, b)->response.registration_id, a);
        CHECK_EQ(answer(h, RSTI_RSP_PUBLICATION_READY, c)->response.registration_id, a);
        h->answer_count = 0;
        snprintf(channel, sizeof channel, "%srs-rate=fixed,r:1025", channels[i]);
        check_refused(h, pub, channel, RSTI_DRIVER_INVALID_CHANNEL, "rs-rate=fixed,r:1025 differs");
        snprintf(channel, sizeof channel, "%srs-rate=fixed,q:1", channels[i]);
        check_refused(h, pub, channel, RSTI_DRIVER_INVALID_CHANNEL, "\"q:1\" is not one of");
        check_refused(h, RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION, channel, RSTI_DRIVER_INVALID_CHANNEL,
            channel);
        snprintf(channel, sizeof channel, "%srs-rate=adaptive", channels[i]);
        check_refused(h, sub, channel, RSTI_DRIVER_INVALID_CHANNEL, "a subscription has no rate");
    }
    check_refused(h, sub, "aeron-spy:" UDP "|rs-rate=adaptive", RSTI_DRIVER_INVALID_CHANNEL,
        "a subscription has no rate");
    CHECK_EQ(h->driver->conductor->send_endpoints.count, 1);
    harness_close(h);
}

TEST(the_driver_s_rate_is_the_default)
{
    harness_t *h = harness_open();
    snprintf(h->driver->params.rate, sizeof h->driver->params.rate, "fixed,p:7");
    const int pub = RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION;
    const int64_t a = add(h, pub, "aeron:ipc", 10);
    const int64_t b = add(h, pub, "aeron:ipc?rs-rate=nak", 10);
    const rsti_ptr_array_t *list = &h->driver->conductor->ipc_publications;
    CHECK_EQ(list->count, 2);
    for (size_t i = 0; i < list->count; i++) {
        const rsti_publication_t *publication = list->items[i];
        CHECK(publication->registration_id == a || publication->registration_id == b);
        CHECK(publication->rate.law
            == (publication->registration_id == a ? &rsti_rate_fixed : &rsti_rate_nak));
    }
    harness_close(h);
}

/* L1, N4, N5 */
TEST(shared_and_exclusive_publications)
{
    harness_t *h = harness_open();
    const int64_t a = add(h, RSTI_CMD_ADD_PUBLICATION, UDP, 10);
    const int64_t b = add(h, RSTI_CMD_ADD_PUBLICATION, UDP, 10);
    const int64_t c = add(h, RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION, UDP, 10);
    const rsti_response_t *first = &answer(h, RSTI_RSP_PUBLICATION_READY, a)->response;
    const rsti_response_t *second = &answer(h, RSTI_RSP_PUBLICATION_READY, b)->response;
    const rsti_response_t *third = &answer(h, RSTI_RSP_EXCLUSIVE_PUBLICATION_READY, c)->response;
    CHECK_EQ(second->registration_id, a);
    CHECK_EQ(second->session_id, first->session_id);
    CHECK_EQ(third->registration_id, c);
    CHECK(third->session_id != first->session_id);
    CHECK_EQ(h->driver->conductor->send_endpoints.count, 1);
    h->answer_count = 0;
    check_refused(h, RSTI_CMD_ADD_PUBLICATION, UDP "|mtu=1024", RSTI_DRIVER_INVALID_CHANNEL,
        "mtu=1024");
    char channel[128];
    snprintf(channel, sizeof channel, UDP "|session-id=%" PRId32, first->session_id);
    check_refused(h, RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION, channel, RSTI_DRIVER_GENERIC_ERROR,
        "session-id");
    harness_close(h);
}

/* L1, N16 */
TEST(wildcard_port_is_shown)
{
    harness_t *h = harness_open();
    const int64_t a = add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:udp?endpoint=127.0.0.1:0", 10);
    const int64_t b = add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:udp?endpoint=127.0.0.1:0", 10);
    CHECK(answer(h, RSTI_RSP_SUBSCRIPTION_READY, a) != NULL);
    CHECK(answer(h, RSTI_RSP_SUBSCRIPTION_READY, b) != NULL);
    CHECK_EQ(h->driver->conductor->receive_endpoints.count, 2);
    const rsti_receive_endpoint_t *endpoint = h->driver->conductor->receive_endpoints.items[0];
    const rsti_counter_metadata_t *metadata = &h->driver->counters.counters
                                                   .metadata[endpoint->owned[0]->local_sockaddr_id];
    CHECK_EQ(metadata->type_id, RSTI_COUNTER_LOCAL_SOCKADDR);
    CHECK_EQ(rsti_get_i32(metadata->key), endpoint->channel_status_id);
    CHECK_STR((const char *)metadata->key + 8, "127.0.0.1:50000");
    CHECK_EQ(counter(h, endpoint->owned[0]->local_sockaddr_id), 1);
    harness_close(h);
}

/* L9 */
TEST(user_counters)
{
    harness_t *h = harness_open();
    rsti_command_t c = {
        .type = RSTI_CMD_ADD_COUNTER,
        .counter_type_id = 1001,
        .key = {"key", 3},
        .label = {"my counter", 10},
    };
    const int64_t id = command(h, &c);
    const answer_t *ready = answer(h, RSTI_RSP_COUNTER_READY, id);
    CHECK(ready != NULL);
    CHECK_EQ(rsti_counters_find(&h->driver->counters.counters, 1001, id),
        ready->response.counter_id);
    const int64_t removal = take_away(h, RSTI_CMD_REMOVE_COUNTER, id);
    CHECK(answer(h, RSTI_RSP_OPERATION_SUCCESS, removal) != NULL);
    CHECK(answer_of_type(h, RSTI_RSP_UNAVAILABLE_COUNTER) != NULL);
    CHECK_EQ(rsti_counters_find(&h->driver->counters.counters, 1001, id), -1);
    harness_close(h);
}

/* L3 */
TEST(silent_client_is_given_up)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:ipc", 10);
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, UDP, 10);
    advance_alive(h, 15 * RSTI_NS_PER_S, 100 * MS);
    CHECK_EQ(h->driver->conductor->clients.count, 1);
    h->answer_count = 0;
    advance(h, 12 * RSTI_NS_PER_S, 100 * MS);
    CHECK_EQ(h->driver->conductor->clients.count, 0);
    CHECK_EQ(answer_of_type(h, RSTI_RSP_CLIENT_TIMEOUT)->response.correlation_id, CLIENT_ID);
    CHECK_EQ(counter(h, RSTI_SYSTEM_CLIENT_TIMEOUTS), 1);
    advance(h, 3 * RSTI_NS_PER_S, 100 * MS);
    CHECK_EQ(h->driver->conductor->ipc_publications.count, 0);
    CHECK_EQ(h->driver->conductor->subscriptions.count, 0);
    CHECK_EQ(h->driver->conductor->receive_endpoints.count, 0);
    CHECK(!rst_driver_is_idle(h->driver));
    advance(h, 31 * RSTI_NS_PER_S, 1000 * MS);
    CHECK(rst_driver_is_idle(h->driver));
    harness_close(h);
}

/* N2 */
TEST(ipc_limit_follows_the_slowest_subscriber)
{
    harness_t *h = harness_open();
    const int64_t pub = add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:ipc?term-length=64k", 10);
    rsti_ipc_publication_t *publication = h->driver->conductor->ipc_publications.items[0];
    rsti_publication_t *base = &publication->base;
    CHECK_EQ(*base->pub_lmt, 0);
    CHECK_EQ(base->file.log.metadata->is_connected, 0);
    const int64_t sub = add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", 10);
    const answer_t *image = answer(h, RSTI_RSP_AVAILABLE_IMAGE, pub);
    CHECK(image != NULL);
    CHECK_EQ(image->response.registration_id, sub);
    CHECK_STR(image->text, base->file.path);
    CHECK_EQ(base->file.log.metadata->is_connected, 1);
    CHECK_EQ(*base->pub_lmt, 32 * 1024);
    rsti_appender_t appender;
    rsti_appender_init(&appender, &base->file.log, base->pub_lmt, base->session_id, 10, false);
    uint8_t message[1024] = {0};
    int64_t position = 0;
    for (int terms = 0; terms < 400; terms++) {
        const rsti_iovec_t part = {message, sizeof message};
        const int64_t result = rsti_append(&appender, &part, 1, sizeof message, 0);
        if (result > 0) {
            position = result;
            CHECK(result <= *base->pub_lmt + 1056);
        } else {
            CHECK(result == RST_BACK_PRESSURED || result == RST_ADMIN_ACTION);
            *base->subscribers.items[0].position = position;
            pass(h);
        }
    }
    CHECK(position > 4 * 64 * 1024);
    /* When the subscriber has gone the limit returns to the position, and the stream is not
     * connected. */
    (void)take_away(h, RSTI_CMD_REMOVE_SUBSCRIPTION, sub);
    CHECK_EQ(base->file.log.metadata->is_connected, 0);
    CHECK_EQ(*base->pub_lmt, publication->consumer_position);
    harness_close(h);
}

static void check_ipc_end_of_stream(bool is_rstream)
{
    harness_t *h = harness_open();
    const int64_t sub = add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", 10);
    if (is_rstream) {
        become_rstream(h);
    }
    const int64_t pub = add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:ipc", 10);
    rsti_publication_t *base = h->driver->conductor->ipc_publications.items[0];
    rsti_appender_t appender;
    rsti_appender_init(&appender, &base->file.log, base->pub_lmt, base->session_id, 10, false);
    const rsti_iovec_t part = {"hello", 5};
    CHECK_EQ(rsti_append(&appender, &part, 1, 5, 0), 64);
    CHECK_EQ(base->file.log.metadata->end_of_stream_position, INT64_MAX);
    const int64_t removal = take_away(h, RSTI_CMD_REMOVE_PUBLICATION, pub);
    CHECK(answer(h, RSTI_RSP_OPERATION_SUCCESS, removal) != NULL);
    CHECK_EQ(base->file.log.metadata->end_of_stream_position, 64);
    CHECK_EQ(base->file.log.metadata->ext.conductor_position, 64);
    advance_alive(h, 3 * RSTI_NS_PER_S, 100 * MS);
    CHECK(answer(h, RSTI_RSP_UNAVAILABLE_IMAGE, pub) == NULL);
    *base->subscribers.items[0].position = 64;
    pass(h);
    if (!is_rstream) {
        /* An Aeron client needs time to see the end before its image is unavailable. */
        advance_alive(h, 900 * MS, 100 * MS);
        CHECK(answer(h, RSTI_RSP_UNAVAILABLE_IMAGE, pub) == NULL);
        CHECK_EQ(h->driver->conductor->ipc_publications.count, 1);
        advance_alive(h, 1100 * MS, 100 * MS);
    }
    CHECK_EQ(answer(h, RSTI_RSP_UNAVAILABLE_IMAGE, pub)->response.registration_id, sub);
    h->answer_count = 0;
    advance_alive(h, 2 * RSTI_NS_PER_S, 100 * MS);
    CHECK(answer(h, RSTI_RSP_UNAVAILABLE_IMAGE, pub) == NULL); /* once */
    CHECK_EQ(h->driver->conductor->ipc_publications.count, 0);
    harness_close(h);
}

TEST(ipc_end_of_stream)
{
    check_ipc_end_of_stream(true);
    check_ipc_end_of_stream(false);
}

/* N22 */
TEST(dead_producer_is_unblocked)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", 10);
    (void)add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:ipc", 10);
    rsti_publication_t *base = h->driver->conductor->ipc_publications.items[0];
    rsti_appender_t appender;
    rsti_data_header_t *frame;
    rsti_appender_init(&appender, &base->file.log, base->pub_lmt, base->session_id, 10, false);
    CHECK_EQ(rsti_append_claim(&appender, 100, 0, &frame), 160); /* and never committed */
    advance_alive(h, 14 * RSTI_NS_PER_S, 100 * MS);
    CHECK_EQ(counter(h, RSTI_SYSTEM_UNBLOCKED_PUBLICATIONS), 0);
    advance_alive(h, 3 * RSTI_NS_PER_S, 100 * MS);
    CHECK_EQ(counter(h, RSTI_SYSTEM_UNBLOCKED_PUBLICATIONS), 1);
    CHECK_EQ(frame->frame.type, RSTI_FRAME_PAD);
    CHECK_EQ(frame->frame.frame_length, 132);
    harness_close(h);
}

/* N27 */
TEST(directory_has_one_driver)
{
    harness_t *h = harness_open();
    rst_driver_params_t params;
    rst_driver_t *second;
    rsti_driver_params_init(&params);
    snprintf(params.dir, sizeof params.dir, "%s", h->dir);
    CHECK_EQ(rsti_driver_open_with(&second, &params, &h->clock, &h->media, &h->driver->secret),
        -RST_EINUSE);
    harness_close(h);
}

TEST(options_are_checked)
{
    rst_driver_params_t params;
    rsti_driver_params_init(&params);
    for (const rst_driver_option_t *o = rst_driver_option_list(); o->name != NULL; o++) {
        CHECK_EQ(rst_driver_params_set(&params, o->name, o->default_text), 0);
    }
    CHECK_EQ(rst_driver_params_set(&params, "mtu", "1k"), 0);
    CHECK_EQ(params.mtu, 1024);
    CHECK_EQ(rst_driver_params_set(&params, "mtu", "1m"), -RST_EINVAL);
    CHECK(strstr(rst_last_error_text(), "mtu=1m") != NULL);
    CHECK_EQ(rst_driver_params_set(&params, "idle", "sometimes"), -RST_EINVAL);
    CHECK_EQ(rst_driver_params_set(&params, "no-such-option", "1"), -RST_EINVAL);
    CHECK_EQ(rst_driver_params_set(&params, "client-liveness-timeout", "20s"), 0);
    CHECK_EQ(rsti_driver_params_validate(&params), -RST_EINVAL);
    CHECK(strstr(rst_last_error_text(), "publication-unblock-timeout") != NULL);
    setenv("RSTREAM_TERM_BUFFER_LENGTH", "1m", 1);
    CHECK_EQ(rst_driver_params_from_environment(&params), 0);
    CHECK_EQ(params.term_length, 1 << 20);
    unsetenv("RSTREAM_TERM_BUFFER_LENGTH");
}

CHECK_MAIN(RUN(first_command_makes_a_heartbeat_counter),
    RUN(unsupported_parameters_are_refused_by_name), RUN(bad_commands_are_answered),
    RUN(names_may_not_share_a_stream_id), RUN(a_rate_is_the_publication_s_own),
    RUN(the_driver_s_rate_is_the_default), RUN(shared_and_exclusive_publications),
    RUN(wildcard_port_is_shown), RUN(user_counters), RUN(silent_client_is_given_up),
    RUN(ipc_limit_follows_the_slowest_subscriber), RUN(ipc_end_of_stream),
    RUN(dead_producer_is_unblocked), RUN(directory_has_one_driver), RUN(options_are_checked))
