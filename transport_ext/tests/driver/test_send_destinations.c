/* Publications with several readers: groups, dynamic and manual destinations
 * (docs/reference/aeron/wire.md 5.1, 7.1 and 13.1). */
#include "logbuffer/appender.h"
#include "tests/driver/harness.h"

#define START "|init-term-id=5|term-id=5|term-offset=0|term-length=64k"
#define GROUP "aeron:udp?endpoint=224.20.30.39:24326|interface=127.0.0.1|ttl=4" START
#define DYNAMIC "aeron:udp?control=127.0.0.1:24401|control-mode=dynamic" START
#define MANUAL "aeron:udp?control=127.0.0.1:24402|control-mode=manual" START
#define A "127.0.0.1:31001"
#define B "127.0.0.1:31002"
#define C "127.0.0.1:31003"
#define STREAM 10

typedef struct publisher_t {
    harness_t *h;
    int64_t id;
    rsti_network_publication_t *publication;
    rsti_send_endpoint_t *endpoint;
    rsti_appender_t appender;
} publisher_t;

static void publisher_open(publisher_t *p, const char *channel)
{
    p->h = harness_open();
    p->id = add(p->h, RSTI_CMD_ADD_PUBLICATION, channel, STREAM);
    p->publication = p->h->driver->conductor->publications.items[0];
    p->endpoint = p->publication->endpoint;
    rsti_publication_t *base = &p->publication->base;
    rsti_appender_init(&p->appender, &base->file.log, base->pub_lmt, base->session_id, STREAM,
        false);
    forget_frames(p->h);
}

static void send_sm_of(publisher_t *p, const char *from, int64_t receiver_id, uint8_t flags,
    int32_t session_id, int32_t stream_id, int64_t position)
{
    const rsti_sm_t sm = {
        .frame = {RSTI_SM_LENGTH, 0, flags, RSTI_FRAME_SM},
        .session_id = session_id,
        .stream_id = stream_id,
        .consumption_term_id = 5 + (int32_t)(position >> 16),
        .consumption_term_offset = (int32_t)(position & 0xFFFF),
        .receiver_window = 32 * 1024,
        .receiver_id = receiver_id,
    };
    inject(p->h, p->endpoint->socket, from, &sm, sizeof sm);
}

static void send_sm(publisher_t *p, const char *from, int64_t receiver_id)
{
    send_sm_of(p, from, receiver_id, 0, p->publication->base.session_id, STREAM, 0);
}

static int64_t offer(publisher_t *p, size_t length)
{
    static uint8_t message[2048];
    const rsti_iovec_t part = {message, length};
    return rsti_append(&p->appender, &part, 1, length, 0);
}

static int count_to(const harness_t *h, int16_t type, const char *to)
{
    const struct sockaddr_storage address = address_of(to);
    int count = 0;
    for (int i = 0; i < h->sent_count; i++) {
        count += frame_type(&h->sent[i]) == type
            && rsti_netaddr_equal(&h->sent[i].address, &address);
    }
    return count;
}

static int64_t destination(harness_t *h, int32_t type, int64_t publication_id, const char *channel)
{
    rsti_command_t c = {
        .type = type,
        .registration_id = publication_id,
        .channel = {channel, (int32_t)strlen(channel)},
    };
    return command(h, &c);
}

static void add_destination(publisher_t *p, const char *channel)
{
    const int64_t id = destination(p->h, RSTI_CMD_ADD_DESTINATION, p->id, channel);
    pass(p->h);
    CHECK(answer(p->h, RSTI_RSP_OPERATION_SUCCESS, id) != NULL);
}

static void check_error(harness_t *h, int64_t id, int32_t code, const char *word)
{
    const answer_t *error = answer(h, RSTI_RSP_ON_ERROR, id);
    CHECK(error != NULL);
    CHECK_EQ(error->response.error_code, code);
    if (strstr(error->text, word) == NULL) {
        CHECK_FAIL("\"%s\" does not name %s", error->text, word);
    }
}

static int64_t destination_count(const publisher_t *p)
{
    return counter(p->h, p->endpoint->destination_count_id);
}

/* ---- groups ---- */

/* N19 */
TEST(a_group_has_a_socket_for_data_and_one_for_control)
{
    publisher_t p;
    char text[RSTI_NETADDR_TEXT_MAX];
    publisher_open(&p, GROUP);
    const rsti_socket_t *data = p.endpoint->data_socket, *control = p.endpoint->socket;
    CHECK(data != control);
    CHECK_STR(rsti_netaddr_format(&data->params.connect_address, text, sizeof text),
        "224.20.30.39:24326");
    CHECK_STR(rsti_netaddr_format(&data->params.bind_address, text, sizeof text), "127.0.0.1:0");
    CHECK_EQ(data->params.group_address.ss_family, AF_UNSPEC);
    CHECK_STR(rsti_netaddr_format(&control->params.group_address, text, sizeof text),
        "224.20.30.40:24326");
    CHECK_STR(rsti_netaddr_format(&control->params.bind_address, text, sizeof text),
        "0.0.0.0:24326");
    CHECK_EQ(control->params.connect_address.ss_family, AF_UNSPEC);
    CHECK_EQ(data->params.multicast_ttl, 4);
    /* The SETUP has the flag of a group. */
    advance(p.h, 200 * MS, 10 * MS);
    const frame_t *frame = last_frame(p.h, RSTI_FRAME_SETUP);
    CHECK(frame != NULL);
    CHECK(frame->socket == data);
    const rsti_setup_t *setup = (const void *)frame->data;
    CHECK_EQ(setup->frame.flags, RSTI_SETUP_FLAG_GROUP | RSTI_SETUP_FLAG_RSTREAM);
    CHECK_EQ(setup->ttl, 4);
    /* A status message at the control group connects; data are sent from the other socket. */
    send_sm(&p, A, 7);
    pass(p.h);
    pass(p.h);
    CHECK_EQ(p.publication->base.file.log.metadata->is_connected, 1);
    CHECK_EQ(offer(&p, 100), 160);
    forget_frames(p.h);
    pass(p.h);
    CHECK_EQ(p.h->sent_count, 1);
    CHECK(p.h->sent[0].socket == data);
    CHECK(p.publication->retransmit.is_group);
    /* Removed, both are closed. */
    (void)take_away(p.h, RSTI_CMD_REMOVE_PUBLICATION, p.id);
    advance_alive(p.h, 11000 * MS, 100 * MS);
    CHECK_EQ(p.h->driver->conductor->send_endpoints.count, 0);
    CHECK(!data->is_open && !control->is_open);
    harness_close(p.h);
}

/* A unicast SETUP carries no ttl, whatever the channel says. */
TEST(unicast_setups_are_no_group)
{
    publisher_t p;
    publisher_open(&p, "aeron:udp?endpoint=127.0.0.1:24400|ttl=9" START);
    CHECK(p.endpoint->data_socket == p.endpoint->socket);
    CHECK(!p.endpoint->is_group);
    advance(p.h, 200 * MS, 10 * MS);
    const rsti_setup_t *setup = (const void *)last_frame(p.h, RSTI_FRAME_SETUP)->data;
    CHECK_EQ(setup->frame.flags, RSTI_SETUP_FLAG_RSTREAM);
    CHECK_EQ(setup->ttl, 0);
    harness_close(p.h);
}

/* control= beside endpoint= is the bind address of a unicast publication. */
TEST(unicast_with_control_is_bound_to_it)
{
    publisher_t p;
    char text[RSTI_NETADDR_TEXT_MAX];
    publisher_open(&p, "aeron:udp?endpoint=127.0.0.1:24400|control=127.0.0.1:24405");
    CHECK_STR(rsti_netaddr_format(&p.endpoint->socket->local, text, sizeof text),
        "127.0.0.1:24405");
    CHECK_STR(rsti_netaddr_format(&p.endpoint->socket->remote, text, sizeof text),
        "127.0.0.1:24400");
    CHECK(p.endpoint->destinations == NULL);
    harness_close(p.h);
}

/* ---- dynamic ---- */

/* A host that asks gets the SETUP, and becomes a destination once it has proved that it reads what
 * is sent to its address. */
TEST(dynamic_destinations_come_with_proofs)
{
    publisher_t p;
    publisher_open(&p, DYNAMIC);
    CHECK_EQ(p.endpoint->socket->remote.ss_family, AF_UNSPEC); /* never connected */
    advance(p.h, 300 * MS, 10 * MS);
    CHECK_EQ(p.h->sent_count, 0);
    CHECK_EQ(destination_count(&p), 0);
    send_sm_of(&p, A, 1, RSTI_SM_FLAG_SEND_SETUP, 0, 0, 0); /* as receivers with control= do */
    send_sm_of(&p, B, 2, RSTI_SM_FLAG_SEND_SETUP, p.publication->base.session_id, STREAM, 0);
    pass(p.h);
    CHECK_EQ(count_to(p.h, RSTI_FRAME_SETUP, A), 1);
    CHECK_EQ(count_to(p.h, RSTI_FRAME_SETUP, B), 1);
    advance(p.h, 300 * MS, 10 * MS);
    CHECK_EQ(p.h->sent_count, 2); /* nothing more */
    CHECK_EQ(destination_count(&p), 0);
    send_sm(&p, A, 1);
    send_sm(&p, B, 2);
    pass(p.h);
    CHECK_EQ(p.h->challenge_count, 2);
    pass(p.h);
    CHECK_EQ(destination_count(&p), 2);
    pass(p.h);
    (void)offer(&p, 100);
    forget_frames(p.h);
    pass(p.h);
    CHECK_EQ(count_to(p.h, RSTI_FRAME_DATA, A), 1);
    CHECK_EQ(count_to(p.h, RSTI_FRAME_DATA, B), 1);
    CHECK_EQ(*p.publication->snd_pos, 160);
    harness_close(p.h);
}

/* More than there are places for status messages of hosts that were asked. None may wait for its
 * next status message: what is sent until then would be lost for it. */
TEST(readers_that_come_at_once_all_get_data_at_once)
{
    enum {
        COUNT = 2 * RSTI_CHALLENGE_PLACES
    };
    publisher_t p;
    publisher_open(&p, DYNAMIC);
    char from[COUNT][32];
    for (int i = 0; i < COUNT; i++) {
        snprintf(from[i], sizeof from[i], "127.0.0.1:%d", 32000 + i);
        send_sm(&p, from[i], 100 + i);
    }
    pass(p.h); /* asks */
    pass(p.h); /* they answer */
    CHECK_EQ(p.h->challenge_count, COUNT);
    CHECK_EQ(destination_count(&p), COUNT);
    CHECK_EQ(p.publication->receiver_count, RSTI_CHALLENGE_PLACES);
    (void)offer(&p, 100);
    forget_frames(p.h);
    pass(p.h);
    for (int i = 0; i < COUNT; i++) {
        CHECK_EQ(count_to(p.h, RSTI_FRAME_DATA, from[i]), 1);
    }
    harness_close(p.h);
}

/* An invalid status message registers no receiver and keeps none alive. */
TEST(rejected_status_messages_do_not_count)
{
    publisher_t p;
    publisher_open(&p, DYNAMIC);
    send_sm_of(&p, A, 1, 0, p.publication->base.session_id, STREAM, 60000 & ~31);
    send_sm_of(&p, B, 2, 0, 77, 78, 33); /* unknown stream, offset that is no multiple of 32 */
    pass(p.h);
    CHECK_EQ(destination_count(&p), 0);
    CHECK_EQ(counter(p.h, RSTI_SYSTEM_SM_REJECTED), 1);
    CHECK_EQ(counter(p.h, RSTI_SYSTEM_INVALID_PACKETS), 1);
    send_sm(&p, A, 1);
    pass(p.h);
    pass(p.h);
    CHECK_EQ(destination_count(&p), 1);
    for (int i = 0; i < 55; i++) {
        send_sm_of(&p, A, 1, 0, p.publication->base.session_id, STREAM, 60000 & ~31);
        advance(p.h, 100 * MS, 50 * MS);
    }
    CHECK_EQ(destination_count(&p), 0);
    harness_close(p.h);
}

/* A send to port 0 is always refused. */
TEST(a_reader_without_a_port_is_none)
{
    publisher_t p;
    publisher_open(&p, DYNAMIC);
    send_sm(&p, "127.0.0.1:0", 7);
    send_sm_of(&p, "127.0.0.1:0", 8, 0, 99, STREAM + 1, 0);
    pass(p.h);
    CHECK_EQ(destination_count(&p), 0);
    CHECK_EQ(counter(p.h, RSTI_SYSTEM_INVALID_PACKETS), 2);
    CHECK_EQ(p.publication->receiver_count, 0);
    send_sm(&p, A, 7);
    pass(p.h);
    pass(p.h);
    CHECK_EQ(destination_count(&p), 1);
    harness_close(p.h);
}

/* N7 */
TEST(silent_destinations_go_after_five_seconds)
{
    publisher_t p;
    publisher_open(&p, DYNAMIC);
    send_sm(&p, A, 1);
    send_sm(&p, B, 2);
    pass(p.h);
    for (int i = 0; i < 40; i++) {
        advance(p.h, 100 * MS, 50 * MS);
        send_sm(&p, B, 2);
        pass(p.h);
    }
    CHECK_EQ(destination_count(&p), 2);
    advance(p.h, 1200 * MS, 100 * MS);
    CHECK_EQ(destination_count(&p), 1);
    forget_frames(p.h);
    advance(p.h, 300 * MS, 50 * MS);
    CHECK_EQ(count_to(p.h, RSTI_FRAME_DATA, A), 0); /* heartbeats too */
    CHECK(count_to(p.h, RSTI_FRAME_DATA, B) >= 2);
    harness_close(p.h);
}

/* H6: a loss of one receiver is sent again to all. */
TEST(retransmits_reach_all_destinations)
{
    publisher_t p;
    publisher_open(&p, DYNAMIC);
    send_sm(&p, A, 1);
    send_sm(&p, B, 2);
    pass(p.h);
    pass(p.h);
    (void)offer(&p, 100);
    pass(p.h);
    forget_frames(p.h);
    const rsti_nak_t nak = {
        .frame = {RSTI_NAK_LENGTH, 0, 0, RSTI_FRAME_NAK},
        .session_id = p.publication->base.session_id,
        .stream_id = STREAM,
        .term_id = 5,
        .length = 160,
    };
    inject(p.h, p.endpoint->socket, A, &nak, sizeof nak);
    advance(p.h, 20 * MS, MS);
    CHECK_EQ(count_to(p.h, RSTI_FRAME_DATA, A), 1);
    CHECK_EQ(count_to(p.h, RSTI_FRAME_DATA, B), 1);
    harness_close(p.h);
}

/* Each destination fails alone: the others get everything once, at once. */
TEST(an_error_at_one_destination_is_its_own)
{
    publisher_t p;
    publisher_open(&p, DYNAMIC);
    send_sm(&p, A, 1);
    send_sm(&p, B, 2);
    pass(p.h);
    pass(p.h);
    forget_frames(p.h);
    const int64_t errors = counter(p.h, RSTI_SYSTEM_ERRORS);
    p.h->bad_address = address_of(B);
    p.h->bad_result = -RST_ESYS;
    for (int i = 1; i <= 100; i++) {
        (void)offer(&p, 100);
        pass(p.h);
        CHECK_EQ(*p.publication->snd_pos, 160 * i);
        send_sm_of(&p, A, 1, 0, p.publication->base.session_id, STREAM, 160 * i);
        p.h->manual.now_ns += MS;
        pass(p.h);
    }
    CHECK_EQ(count_to(p.h, RSTI_FRAME_DATA, A), 100);
    CHECK_EQ(count_to(p.h, RSTI_FRAME_DATA, B), 0);
    CHECK_EQ(counter(p.h, RSTI_SYSTEM_ERRORS) - errors, 1); /* logged once */
    CHECK_EQ(error_count(p.h, B), 0); /* the socket of this test tells no address */
    CHECK_EQ(error_count(p.h, "the network says no"), 1);
    harness_close(p.h);
}

static _Bool on_counter(void *arg, const rsti_counter_view_t *view)
{
    if (view->type_id == RSTI_COUNTER_DESTINATION_FAILED) {
        *(rsti_counter_view_t *)arg = *view;
    }
    return true;
}

/* Its counter id is RSTI_NULL_COUNTER when there is none. */
static rsti_counter_view_t failed_counter(const harness_t *h)
{
    rsti_counter_view_t found = {.counter_id = RSTI_NULL_COUNTER};
    rsti_counters_for_each(&h->driver->counters.counters, on_counter, &found);
    return found;
}

/* A counter names the destination while it fails. It gets data again once the system takes them. */
TEST(a_failed_destination_has_a_counter_and_comes_back)
{
    publisher_t p;
    publisher_open(&p, MANUAL);
    add_destination(&p, "aeron:udp?endpoint=" A);
    add_destination(&p, "aeron:udp?endpoint=" B);
    send_sm(&p, A, 1);
    pass(p.h);
    pass(p.h);
    CHECK_EQ(failed_counter(p.h).counter_id, RSTI_NULL_COUNTER);
    p.h->bad_address = address_of(B);
    p.h->bad_result = -RST_ESYS;
    (void)offer(&p, 100);
    pass(p.h);
    pass(p.h);
    const rsti_counter_view_t failed = failed_counter(p.h);
    CHECK(failed.counter_id != RSTI_NULL_COUNTER);
    CHECK_EQ(failed.value, 1);
    CHECK(strstr(failed.label, "snd-dest-failed: " B " ") != NULL);
    advance_alive(p.h, 3000 * MS, 10 * MS); /* heartbeats */
    CHECK(counter(p.h, failed.counter_id) > 10);
    p.h->bad_address.ss_family = AF_UNSPEC;
    forget_frames(p.h);
    advance_alive(p.h, 1200 * MS, 10 * MS);
    CHECK(count_to(p.h, RSTI_FRAME_DATA, B) >= 1);
    advance_alive(p.h, 7000 * MS, 100 * MS);
    CHECK_EQ(failed_counter(p.h).counter_id, RSTI_NULL_COUNTER);
    /* A destroyed endpoint leaves none. */
    p.h->bad_address = address_of(B);
    advance_alive(p.h, 300 * MS, 10 * MS);
    CHECK(failed_counter(p.h).counter_id != RSTI_NULL_COUNTER);
    (void)take_away(p.h, RSTI_CMD_REMOVE_PUBLICATION, p.id);
    advance_alive(p.h, 11000 * MS, 100 * MS);
    CHECK_EQ(p.h->driver->conductor->send_endpoints.count, 0);
    CHECK_EQ(failed_counter(p.h).counter_id, RSTI_NULL_COUNTER);
    harness_close(p.h);
}

TEST(a_full_socket_at_one_destination_is_its_own_loss)
{
    publisher_t p;
    publisher_open(&p, DYNAMIC);
    send_sm(&p, A, 1);
    send_sm(&p, B, 2);
    pass(p.h);
    pass(p.h);
    const int64_t shorts = counter(p.h, RSTI_SYSTEM_SHORT_SENDS);
    p.h->bad_address = address_of(B);
    p.h->bad_result = 0;
    (void)offer(&p, 100);
    pass(p.h);
    CHECK_EQ(*p.publication->snd_pos, 160);
    CHECK_EQ(counter(p.h, RSTI_SYSTEM_SHORT_SENDS), shorts);
    harness_close(p.h);
}

/* ---- manual ---- */

/* L7, N7 */
TEST(manual_destinations_are_added_and_removed)
{
    publisher_t p;
    publisher_open(&p, MANUAL);
    add_destination(&p, "aeron:udp?endpoint=" A);
    add_destination(&p, "aeron:udp?endpoint=" B);
    const int64_t third = destination(p.h, RSTI_CMD_ADD_DESTINATION, p.id, "aeron:udp?endpoint=" C);
    CHECK_EQ(destination_count(&p), 3);
    advance(p.h, 200 * MS, 10 * MS);
    CHECK(count_to(p.h, RSTI_FRAME_SETUP, A) >= 1);
    CHECK(count_to(p.h, RSTI_FRAME_SETUP, C) >= 1);
    send_sm(&p, A, 1);
    pass(p.h);
    pass(p.h);
    /* By address, by id. */
    const int64_t removed = destination(p.h, RSTI_CMD_REMOVE_DESTINATION, p.id,
        "aeron:udp?endpoint=" B);
    CHECK(answer(p.h, RSTI_RSP_OPERATION_SUCCESS, removed) != NULL);
    rsti_command_t by_id = {
        .type = RSTI_CMD_REMOVE_DESTINATION_BY_ID,
        .registration_id = p.id,
        .destination_id = third,
    };
    CHECK(answer(p.h, RSTI_RSP_OPERATION_SUCCESS, command(p.h, &by_id)) != NULL);
    CHECK_EQ(destination_count(&p), 1);
    forget_frames(p.h);
    (void)offer(&p, 100);
    pass(p.h);
    CHECK_EQ(count_to(p.h, RSTI_FRAME_DATA, A), 1);
    CHECK_EQ(p.h->sent_count, 1);
    harness_close(p.h);
}

/* Without a destination the position advances up to the limit. */
TEST(without_destinations_a_send_is_complete)
{
    publisher_t p;
    publisher_open(&p, MANUAL);
    add_destination(&p, "aeron:udp?endpoint=" A);
    send_sm(&p, A, 1);
    pass(p.h);
    pass(p.h);
    (void)destination(p.h, RSTI_CMD_REMOVE_DESTINATION, p.id, "aeron:udp?endpoint=" A);
    pass(p.h);
    forget_frames(p.h);
    (void)offer(&p, 100);
    pass(p.h);
    CHECK_EQ(*p.publication->snd_pos, 160);
    CHECK_EQ(p.h->sent_count, 0);
    harness_close(p.h);
}

/* L7 */
TEST(invalid_destinations_are_refused)
{
    publisher_t p;
    publisher_open(&p, MANUAL);
    harness_t *h = p.h;
    const int add_it = RSTI_CMD_ADD_DESTINATION;
    static const struct {
        const char *channel;
        const char *word;
    } refused[] = {
        {"aeron:ipc", "aeron:udp"},
        {"aeron-spy:aeron:udp?endpoint=" A, "aeron:udp"},
        {"aeron:udp?endpoint=" A "|mtu=1408", "mtu"},
        {"aeron:udp?endpoint=" A "|rcv-wnd=128k", "rcv-wnd"},
        {"aeron:udp?endpoint=" A "|so-rcvbuf=128k", "so-rcvbuf"},
        {"aeron:udp?endpoint=" A "|so-sndbuf=128k", "so-sndbuf"},
        {"aeron:udp?endpoint=" A "|response-correlation-id=3", "response-correlation-id"},
        {"aeron:udp?endpoint=" A "|control-mode=response|control=" B, "control-mode=response"},
        {"aeron:udp?control=" A "|control-mode=dynamic", "endpoint"},
        {"aeron:udp?endpoint=127.0.0.1:0", "port"},
        {"aeron:udp?endpoint=[::1]:5000", "family"},
        {"aeron:udp?endpoint=" A "|ttl=", "ttl"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        const int64_t id = destination(h, add_it, p.id, refused[i].channel);
        check_error(h, id, RSTI_DRIVER_INVALID_CHANNEL, refused[i].word);
        h->answer_count = 0;
    }
    check_error(h, destination(h, add_it, 4711, "aeron:udp?endpoint=" A),
        RSTI_DRIVER_UNKNOWN_PUBLICATION, "4711");
    check_error(h, destination(h, RSTI_CMD_REMOVE_DESTINATION, 4711, "aeron:udp?endpoint=" A),
        RSTI_DRIVER_UNKNOWN_PUBLICATION, "4711");
    /* memory.md 23 no. 13: Aeron's driver leaves its client without an answer. */
    rsti_command_t by_id = {
        .type = RSTI_CMD_REMOVE_DESTINATION_BY_ID,
        .registration_id = 4711,
        .destination_id = 4712,
    };
    check_error(h, command(h, &by_id), RSTI_DRIVER_UNKNOWN_PUBLICATION, "4711");
    by_id.registration_id = p.id;
    check_error(h, command(h, &by_id), RSTI_DRIVER_GENERIC_ERROR, "4712");
    const int64_t plain = add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:udp?endpoint=127.0.0.1:24400",
        STREAM);
    check_error(h, destination(h, add_it, plain, "aeron:udp?endpoint=" A),
        RSTI_DRIVER_INVALID_CHANNEL, "control-mode=manual");
    CHECK_EQ(destination_count(&p), 0);
    /* A destination that was never added does not exist afterwards. */
    const int64_t absent = destination(h, RSTI_CMD_REMOVE_DESTINATION, p.id,
        "aeron:udp?endpoint=" A);
    CHECK(answer(h, RSTI_RSP_OPERATION_SUCCESS, absent) != NULL);
    harness_close(h);
}

/* L7: the second client of a shared publication gets its own id for the destination. */
TEST(both_ids_of_a_shared_publication_are_known)
{
    publisher_t p;
    publisher_open(&p, MANUAL);
    const int64_t again = add(p.h, RSTI_CMD_ADD_PUBLICATION, MANUAL, STREAM);
    CHECK_EQ(p.h->driver->conductor->publications.count, 1);
    const int64_t id = destination(p.h, RSTI_CMD_ADD_DESTINATION, again, "aeron:udp?endpoint=" A);
    CHECK(answer(p.h, RSTI_RSP_OPERATION_SUCCESS, id) != NULL);
    CHECK_EQ(destination_count(&p), 1);
    harness_close(p.h);
}

TEST(one_destination_too_many_is_refused)
{
    publisher_t p;
    publisher_open(&p, MANUAL);
    for (int i = 0; i < RSTI_DESTINATIONS_MAX; i++) {
        char channel[64];
        snprintf(channel, sizeof channel, "aeron:udp?endpoint=127.0.0.1:%d", 20000 + i);
        (void)destination(p.h, RSTI_CMD_ADD_DESTINATION, p.id, channel);
        p.h->answer_count = 0;
    }
    CHECK_EQ(destination_count(&p), RSTI_DESTINATIONS_MAX);
    check_error(p.h, destination(p.h, RSTI_CMD_ADD_DESTINATION, p.id, "aeron:udp?endpoint=" A),
        RSTI_DRIVER_GENERIC_ERROR, "256");
    harness_close(p.h);
}

/* N18: one socket cannot find its readers in two ways; sockets without an address of their own are
 * told apart. */
TEST(channels_with_destinations_are_told_apart)
{
    publisher_t p;
    publisher_open(&p, MANUAL);
    check_error(p.h,
        add(p.h, RSTI_CMD_ADD_PUBLICATION,
            "aeron:udp?control=127.0.0.1:24402|"
            "control-mode=dynamic",
            STREAM + 1),
        RSTI_DRIVER_INVALID_CHANNEL, "control-mode");
    (void)add(p.h, RSTI_CMD_ADD_PUBLICATION, "aeron:udp?control-mode=manual", STREAM);
    (void)add(p.h, RSTI_CMD_ADD_PUBLICATION, "aeron:udp?control-mode=manual", STREAM);
    CHECK_EQ(p.h->driver->conductor->send_endpoints.count, 3);
    harness_close(p.h);
}

CHECK_MAIN(RUN(a_group_has_a_socket_for_data_and_one_for_control), RUN(unicast_setups_are_no_group),
    RUN(unicast_with_control_is_bound_to_it), RUN(dynamic_destinations_come_with_proofs),
    RUN(readers_that_come_at_once_all_get_data_at_once), RUN(rejected_status_messages_do_not_count),
    RUN(silent_destinations_go_after_five_seconds), RUN(a_reader_without_a_port_is_none),
    RUN(retransmits_reach_all_destinations), RUN(an_error_at_one_destination_is_its_own),
    RUN(a_failed_destination_has_a_counter_and_comes_back),
    RUN(a_full_socket_at_one_destination_is_its_own_loss),
    RUN(manual_destinations_are_added_and_removed), RUN(without_destinations_a_send_is_complete),
    RUN(invalid_destinations_are_refused), RUN(both_ids_of_a_shared_publication_are_known),
    RUN(one_destination_too_many_is_refused), RUN(channels_with_destinations_are_told_apart))
