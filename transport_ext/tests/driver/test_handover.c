/* The moments when the conductor takes resources back from the sender or the receiver, and its
 * commands to them meanwhile. */
#include "driver/conductor/conductor.h"
#include "tests/driver/harness.h"

#define STREAM 10
#define READER "aeron:udp?endpoint=127.0.0.1:24500"
#define WRITER "aeron:udp?endpoint=127.0.0.1:24600|term-length=64k"

static void write_command(harness_t *h, rsti_command_t *command)
{
    uint8_t buffer[4096];
    command->client_id = CLIENT_ID;
    command->correlation_id = rsti_mpsc_rb_next_correlation_id(&h->driver->to_driver);
    const int64_t length = rsti_command_encode(command, buffer, sizeof buffer);
    CHECK(length > 0);
    CHECK_EQ(rsti_mpsc_rb_write(&h->driver->to_driver, command->type, buffer, (size_t)length),
        RSTI_RB_OK);
}

static int64_t write_add(harness_t *h, int32_t type, const char *channel)
{
    rsti_command_t c = {
        .type = type,
        .registration_id = -1,
        .stream_id = STREAM,
        .channel = {channel, (int32_t)strlen(channel)},
    };
    write_command(h, &c);
    return c.correlation_id;
}

/* ---- endpoints are freed when no command names them any more ---- */

static rsti_agent_command_t last_words; /* object NULL: reported */

/* What a receiver in its own thread may do while the conductor sweeps. */
static void close_and_speak(void *arg, rsti_socket_t *socket)
{
    const harness_t *h = arg;
    memory_close(arg, socket);
    if (last_words.object != NULL) {
        CHECK(rsti_tell_conductor(h->driver, RSTI_AGENT_CREATE_IMAGE, &last_words));
        last_words.object = NULL;
    }
}

/* A command that came after the sweep began names an endpoint: it must be read before the endpoint
 * is freed. */
TEST(an_endpoint_stays_until_the_last_words_of_its_agent_are_read)
{
    harness_t *h = harness_open();
    rsti_media_table_t table = memory_table;
    table.close = close_and_speak;
    h->driver->media.table = &table;
    const rsti_ptr_array_t *endpoints = &h->driver->conductor->receive_endpoints;
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, READER, STREAM);
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:udp?endpoint=127.0.0.1:24501", STREAM);
    CHECK_EQ(endpoints->count, 2);
    rsti_receive_endpoint_t *first = endpoints->items[0];
    last_words = (rsti_agent_command_t){
        .endpoint = first,
        .object = first->owned[0],
        .stream_id = STREAM,
        .session_id = 7,
    };
    (void)take_away(h, RSTI_CMD_CLIENT_CLOSE, 0); /* both at once; the second is freed first */
    CHECK(last_words.object == NULL);
    CHECK_EQ(endpoints->count, 1);
    pass(h);
    CHECK_EQ(endpoints->count, 0);
    CHECK_EQ(h->driver->conductor->closing_count, 0);
    harness_close(h);
}

/* ---- a socket that is just being closed is no reason to refuse another one ---- */

TEST(a_subscription_with_another_buffer_waits_for_the_closing_socket)
{
    harness_t *h = harness_open();
    const int64_t first = add(h, RSTI_CMD_ADD_SUBSCRIPTION, READER "|so-rcvbuf=128k", STREAM);
    rsti_command_t away = {.type = RSTI_CMD_REMOVE_SUBSCRIPTION, .registration_id = first};
    write_command(h, &away);
    const int64_t second = write_add(h, RSTI_CMD_ADD_SUBSCRIPTION, READER "|so-rcvbuf=256k");
    pass(h);
    pass(h);
    CHECK(answer(h, RSTI_RSP_ON_ERROR, second) == NULL);
    CHECK(answer(h, RSTI_RSP_SUBSCRIPTION_READY, second) != NULL);
    harness_close(h);
}

TEST(a_tag_waits_for_the_closing_socket_that_has_it)
{
    harness_t *h = harness_open();
    const int64_t first = add(h, RSTI_CMD_ADD_SUBSCRIPTION, READER "|tags=5", STREAM);
    rsti_command_t away = {.type = RSTI_CMD_REMOVE_SUBSCRIPTION, .registration_id = first};
    write_command(h, &away);
    const int64_t second = write_add(h, RSTI_CMD_ADD_SUBSCRIPTION,
        "aeron:udp?endpoint=127.0.0.1:24501|tags=5");
    pass(h);
    pass(h);
    CHECK(answer(h, RSTI_RSP_ON_ERROR, second) == NULL);
    CHECK(answer(h, RSTI_RSP_SUBSCRIPTION_READY, second) != NULL);
    harness_close(h);
}

TEST(a_publication_with_another_buffer_waits_for_the_closing_socket)
{
    harness_t *h = harness_open();
    /* Its socket is made, and then the command fails. */
    const int64_t first = write_add(h, RSTI_CMD_ADD_PUBLICATION,
        "aeron:udp?control=127.0.0.1:24601|control-mode=dynamic|so-sndbuf=128k|term-length=64k|"
        "fc=tagged,g:5/x");
    const int64_t second = write_add(h, RSTI_CMD_ADD_PUBLICATION,
        "aeron:udp?control=127.0.0.1:24601|control-mode=dynamic|so-sndbuf=256k|term-length=64k");
    pass(h);
    pass(h);
    CHECK(answer(h, RSTI_RSP_ON_ERROR, first) != NULL);
    CHECK(answer(h, RSTI_RSP_ON_ERROR, second) == NULL);
    CHECK(answer(h, RSTI_RSP_PUBLICATION_READY, second) != NULL);
    harness_close(h);
}

/* ---- after its last command an endpoint gets none ---- */

TEST(a_closing_endpoint_gets_no_command_about_its_destinations)
{
    harness_t *h = harness_open();
    const int64_t id = add(h, RSTI_CMD_ADD_PUBLICATION,
        "aeron:udp?control=127.0.0.1:24602|control-mode=manual|term-length=64k", STREAM);
    rsti_command_t c = {
        .type = RSTI_CMD_ADD_DESTINATION,
        .registration_id = id,
        .channel = {READER, (int32_t)strlen(READER)},
    };
    const int64_t destination_id = command(h, &c);
    CHECK(answer(h, RSTI_RSP_OPERATION_SUCCESS, destination_id) != NULL);
    rsti_send_endpoint_t *endpoint = h->driver->conductor->send_endpoints.items[0];
    CHECK_EQ(endpoint->destinations->count, 1);
    endpoint->is_closing = true; /* its REMOVE_ENDPOINT is on its way to the sender */
    rsti_command_t away = {
        .type = RSTI_CMD_REMOVE_DESTINATION_BY_ID,
        .registration_id = id,
        .destination_id = destination_id,
    };
    CHECK(answer(h, RSTI_RSP_ON_ERROR, command(h, &away)) != NULL);
    CHECK_EQ(endpoint->destinations->count, 1);
    endpoint->is_closing = false;
    harness_close(h);
}

/* ---- nothing to do is no reason to stay awake ---- */

static int64_t next_wake_ns(harness_t *h)
{
    int64_t deadline_ns;
    const int64_t work = rst_driver_do_work(h->driver, &deadline_ns);
    return work > 0 ? 0 : deadline_ns - h->manual.now_ns;
}

TEST(a_paced_publication_without_data_sleeps)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_PUBLICATION, WRITER "|init-term-id=5|term-id=5|term-offset=0",
        STREAM);
    rsti_network_publication_t *publication = h->driver->conductor->publications.items[0];
    const rsti_sm_t sm = {
        .frame = {RSTI_SM_LENGTH, 0, 0, RSTI_FRAME_SM},
        .session_id = publication->base.session_id,
        .stream_id = STREAM,
        .consumption_term_id = 5,
        .receiver_window = 32 * 1024,
        .receiver_id = 7,
    };
    inject(h, publication->endpoint->socket, "127.0.0.1:24600", &sm, sizeof sm);
    advance_alive(h, 20 * MS, MS);
    rsti_pacer_set(&publication->pacer, 1000000, 100 * MS);
    rsti_pacer_on_loss(&publication->pacer, h->manual.now_ns);
    (void)next_wake_ns(h);
    CHECK(next_wake_ns(h) > MS);
    harness_close(h);
}

/* Commands wait because the sender is behind: the sender does not wake the conductor when it
 * catches up. */
TEST(commands_do_not_wait_long_for_room)
{
    harness_t *h = harness_open();
    const rsti_agent_command_t filler = {.registration_id = 0};
    int64_t deadline_ns = RSTI_NO_DEADLINE;
    pass(h);
    while (rsti_proxies_have_room(h->driver)) {
        CHECK_EQ(rsti_spsc_rb_write(&h->driver->inboxes[RSTI_AGENT_SENDER].from_conductor,
                     RSTI_AGENT_RESOLVED, &filler, sizeof filler),
            RSTI_RB_OK);
    }
    (void)write_add(h, RSTI_CMD_ADD_SUBSCRIPTION, READER);
    (void)rsti_conductor_do_work(h->driver, h->manual.now_ns, &deadline_ns);
    CHECK(rsti_rb_has_records(&h->driver->to_driver.rb));
    CHECK(deadline_ns <= h->manual.now_ns + MS);
    CHECK(deadline_ns > h->manual.now_ns);
    harness_close(h);
}

/* The publication stays until an Aeron client is told that the image is gone, even when its linger
 * is over. */
TEST(a_publication_that_lingers_for_a_spy_sleeps)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron-spy:" WRITER, STREAM);
    const int64_t id = add(h, RSTI_CMD_ADD_PUBLICATION, WRITER "|linger=10ms", STREAM);
    (void)take_away(h, RSTI_CMD_REMOVE_PUBLICATION, id);
    const rsti_network_publication_t *publication = h->driver->conductor->publications.items[0];
    advance_alive(h, 20 * MS, MS);
    CHECK_EQ(publication->base.life, RSTI_LIFE_LINGER);
    (void)next_wake_ns(h);
    CHECK(next_wake_ns(h) > 0);
    advance_alive(h, 2 * RSTI_NS_PER_S, 10 * MS);
    CHECK(answer_of_type(h, RSTI_RSP_UNAVAILABLE_IMAGE) != NULL);
    CHECK_EQ(h->driver->conductor->publications.count, 0);
    harness_close(h);
}

/* ---- what strangers send does not fill the error log ---- */

static void count_entry(void *arg, int32_t count, int64_t first_ms, int64_t last_ms,
    const char *text, size_t length)
{
    (void)count;
    (void)first_ms;
    (void)last_ms;
    (void)text;
    (void)length;
    (*(int *)arg)++;
}

TEST(readers_beyond_the_last_destination_are_one_error)
{
    harness_t *h = harness_open();
    int entries = 0;
    (void)add(h, RSTI_CMD_ADD_PUBLICATION,
        "aeron:udp?control=127.0.0.1:24603|control-mode=dynamic|term-length=64k", STREAM);
    rsti_send_endpoint_t *endpoint = h->driver->conductor->send_endpoints.items[0];
    const rsti_network_publication_t *publication = h->driver->conductor->publications.items[0];
    for (int i = 0; i < RSTI_DESTINATIONS_MAX + 50; i++) {
        char from[32];
        snprintf(from, sizeof from, "127.0.0.1:%d", 30000 + i % 250); /* several on one socket */
        const rsti_sm_t sm = {
            .frame = {RSTI_SM_LENGTH, 0, 0, RSTI_FRAME_SM},
            .session_id = publication->base.session_id,
            .stream_id = STREAM,
            .consumption_term_id = publication->base.file.log.initial_term_id,
            .receiver_id = i,
        };
        inject(h, endpoint->socket, from, &sm, sizeof sm);
        for (int passes = 0; passes < 2; passes++) {
            forget_frames(h);
            pass(h);
        }
    }
    advance_alive(h, 10 * MS, MS);
    CHECK_EQ(endpoint->destinations->count, RSTI_DESTINATIONS_MAX);
    (void)rsti_error_log_read(h->driver->cnc.error_log, h->driver->cnc.error_log_length,
        count_entry, &entries);
    CHECK_EQ(entries, 1);
    harness_close(h);
}

CHECK_MAIN(RUN(an_endpoint_stays_until_the_last_words_of_its_agent_are_read),
    RUN(a_subscription_with_another_buffer_waits_for_the_closing_socket),
    RUN(a_tag_waits_for_the_closing_socket_that_has_it),
    RUN(a_publication_with_another_buffer_waits_for_the_closing_socket),
    RUN(a_closing_endpoint_gets_no_command_about_its_destinations),
    RUN(a_paced_publication_without_data_sleeps), RUN(commands_do_not_wait_long_for_room),
    RUN(a_publication_that_lingers_for_a_spy_sleeps),
    RUN(readers_beyond_the_last_destination_are_one_error))
