/* test_reader_left.c: a publisher learns that its reader has left and that another one reads, also
 * when it looks only now and then. */
#include "tests/driver/link.h"

#include "driver/base/reader_left.h"
#include "logbuffer/appender.h"
#include "protocol/sm_items.h"

#define READER "127.0.0.1:24400"
#define STRANGER "127.0.0.9:24400"
#define SESSION 77
#define STREAM 10

typedef struct writer_t {
    harness_t *h;
    rsti_network_publication_t *publication;
    rsti_appender_t appender;
} writer_t;

static writer_t open_writer(const char *channel)
{
    writer_t w = {.h = harness_open()};
    (void)add(w.h, RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION, channel, STREAM);
    w.publication = w.h->driver->conductor->publications.items[0];
    rsti_appender_init(&w.appender, &w.publication->base.file.log, w.publication->base.pub_lmt,
        SESSION, STREAM, true);
    return w;
}

static void status_of(const writer_t *w, const char *from, int64_t receiver_id, int64_t position,
    int32_t window, uint8_t flags)
{
    const rsti_log_t *log = &w->publication->base.file.log;
    const rsti_sm_t sm = {
        .frame = {RSTI_SM_LENGTH, 0, flags, RSTI_FRAME_SM},
        .session_id = SESSION,
        .stream_id = STREAM,
        .consumption_term_id = rsti_position_term_id(position, log->position_bits,
            log->initial_term_id),
        .consumption_term_offset = rsti_position_offset(position, log->term_length),
        .receiver_window = window,
        .receiver_id = receiver_id,
    };
    inject(w->h, w->publication->endpoint->socket, from, &sm, sizeof sm);
    pass(w->h);
    pass(w->h);
}

static void status_at(const writer_t *w, const char *from, int64_t receiver_id, int64_t position,
    uint8_t flags)
{
    status_of(w, from, receiver_id, position, 32 * 1024, flags);
}

/* Sends count messages of 1024 bytes with header. */
static void send_messages(writer_t *w, int count)
{
    static const uint8_t message[992] = {0};
    for (int i = 0; i < count; i++) {
        const rsti_iovec_t part = {message, sizeof message};
        CHECK(rsti_append(&w->appender, &part, 1, sizeof message, 0) > 0);
    }
    advance_alive(w->h, 2 * MS, MS);
    forget_frames(w->h);
}

/* count: -1: the record is torn */
static rsti_log_left_t left(const rsti_publication_t *base)
{
    rsti_log_left_t told = {.joined = -1};
    if (RSTI_MAILBOX_READ(&base->file.log.metadata->ext.left, &told) < 0) {
        told.count = -1;
    }
    return told;
}

#define CHECK_LEFT(base, times, up_to, from)                                                       \
    do {                                                                                           \
        const rsti_log_left_t told = left(base);                                                   \
        CHECK_EQ(told.count, times);                                                               \
        CHECK_EQ(told.consumed, up_to);                                                            \
        CHECK_EQ(told.joined, from);                                                               \
    } while (0)

#define CHECK_LEFT_WHO(base, times, process, text)                                                 \
    do {                                                                                           \
        rsti_log_left_who_t who;                                                                   \
        CHECK(RSTI_MAILBOX_READ(&(base)->file.log.metadata->ext.left_who, &who) > 0);              \
        CHECK_EQ(who.count, times);                                                                \
        CHECK_EQ(who.pid, process);                                                                \
        CHECK_STR(who.name, text);                                                                 \
    } while (0)

#define UNICAST "aeron:udp?endpoint=" READER "|session-id=77|init-term-id=5|term-id=5|term-offset=0"
#define GROUP                                                                                      \
    "aeron:udp?endpoint=224.20.30.39:24400|interface=127.0.0.1|session-id=77"                      \
    "|init-term-id=5|term-id=5|term-offset=0"

/* The restart of a reader between two looks of the publisher. */
TEST(a_reader_that_says_goodbye)
{
    writer_t w = open_writer(UNICAST);
    const rsti_publication_t *base = &w.publication->base;
    status_at(&w, READER, 1, 0, 0);
    CHECK_EQ(left(base).count, 0); /* the first reader: nobody left */
    send_messages(&w, 4);
    status_at(&w, READER, 1, 1024, 0);
    status_at(&w, READER, 1, 2048, RSTI_SM_FLAG_EOS);
    CHECK_LEFT(base, 1, 2048, -1);
    CHECK_LEFT_WHO(base, 1, 0, READER);
    status_at(&w, READER, 1, 4096, 0); /* its endpoint is open still: the same receiver id */
    CHECK_LEFT(base, 1, 2048, 4096);
    status_at(&w, READER, 1, 4096, 0);
    CHECK_LEFT(base, 1, 2048, 4096);
    status_at(&w, READER, 1, 4096, RSTI_SM_FLAG_EOS);
    CHECK_LEFT(base, 2, 4096, -1);
    harness_close(w.h);
}

static int64_t sent_of(const char *channel, uint8_t flags)
{
    writer_t w = open_writer(channel);
    status_of(&w, READER, 1, 0, 1024, 0);
    send_messages(&w, 4);
    status_of(&w, READER, 1, 1024, 32 * 1024, flags);
    advance_alive(w.h, 20 * MS, MS);
    const int64_t sent = rsti_load_acquire_i64(w.publication->snd_pos);
    harness_close(w.h);
    return sent;
}

/* What was not sent when the last reader left is for the next one. Aeron's sender sends it to
 * nobody. */
TEST(a_named_stream_sends_nothing_without_a_reader)
{
    CHECK_EQ(sent_of(UNICAST "|rs-name=prices", RSTI_SM_FLAG_EOS), 1024);
    CHECK_EQ(sent_of(UNICAST "|rs-name=prices", 0), 4096);
    CHECK_EQ(sent_of(UNICAST, RSTI_SM_FLAG_EOS), 4096);
}

typedef struct loss_t {
    const rsti_ptr_array_t *images; /* of the reader's driver */
    int count;
} loss_t;

/* Goodbyes are lost until the driver makes a second image. */
static bool is_lost_goodbye(void *arg, int side, const uint8_t *data, size_t length)
{
    loss_t *loss = arg;
    const rsti_sm_t *sm = (const void *)data;
    const bool is_lost = side == 1 && loss->images->count == 1 && length >= sizeof *sm
        && sm->frame.type == RSTI_FRAME_SM && (sm->frame.flags & RSTI_SM_FLAG_EOS) != 0;
    loss->count += is_lost;
    return is_lost;
}

/* The next reader of the same driver has the receiver id of the one that left. Its image says
 * goodbye for the old one, so the publisher learns it even if all goodbyes before were lost. */
TEST(a_lost_goodbye_is_repeated_before_the_next_reader_is_there)
{
    link_t *l = link_open(&(link_params_t){.delay_ns = MS});
    CHECK(link_stream(l, "rcv-wnd=64k", "term-length=64k"));
    const rsti_publication_t *base = &l->publication->base;
    harness_t *reader = l->sides[1].h;
    const rsti_conductor_t *conductor = reader->driver->conductor;
    const rsti_subscription_t *first = conductor->subscriptions.items[0];
    loss_t loss = {.images = &conductor->images};
    link_run(l, 20 * MS);
    l->drop = is_lost_goodbye;
    l->drop_arg = &loss;
    l->image = NULL; /* nobody reads or offers */
    (void)take_away(reader, RSTI_CMD_REMOVE_SUBSCRIPTION, first->registration_id);
    link_run(l, 10 * MS);
    CHECK(loss.count > 0);
    (void)add(reader, RSTI_CMD_ADD_SUBSCRIPTION,
        "aeron:udp?endpoint=10.0.0.2:24600|so-rcvbuf=16m|rcv-wnd=64k", 10);
    CHECK_EQ(conductor->images.count, 1);
    link_offer(l); /* the receiver asks for a SETUP, and makes an image */
    for (int i = 0; i < 1000 && conductor->images.count == 1; i++) {
        link_step(l, INT64_MAX);
    }
    CHECK_EQ(conductor->images.count, 2);
    link_run(l, 20 * MS);
    CHECK_EQ(left(base).count, 1);
    CHECK(left(base).joined >= left(base).consumed);
    CHECK_EQ(base->file.log.metadata->is_connected, 1);
    link_close(l);
}

static void wait_for_time_out(const writer_t *w, int64_t receiver_id, int64_t position)
{
    const int64_t end_ns = w->h->manual.now_ns + w->h->driver->params.connection_timeout_ns
        + 200 * MS;
    while (w->h->manual.now_ns < end_ns) {
        advance_alive(w->h, 100 * MS, 50 * MS);
        forget_frames(w->h);
        if (receiver_id > 0) {
            status_at(w, READER, receiver_id, position, 0);
        }
    }
}

static void goodbye(const writer_t *w, const char *from, int64_t position, const char *why)
{
    const rsti_log_t *log = &w->publication->base.file.log;
    uint8_t frame[RSTI_SM_ITEMS_OFFSET + RSTI_SM_ITEMS_MAX] = {0};
    rsti_sm_items_writer_t items;
    rsti_sm_items_begin(&items, frame + RSTI_SM_ITEMS_OFFSET, RSTI_SM_ITEMS_MAX);
    CHECK(rsti_sm_items_add(&items, RSTI_SM_ITEM_WHY, why, (uint8_t)strlen(why)));
    const size_t length = RSTI_SM_ITEMS_OFFSET + rsti_sm_items_end(&items);
    const rsti_sm_t sm = {
        .frame = {(int32_t)length, 0, RSTI_SM_FLAG_EOS, RSTI_FRAME_SM},
        .session_id = SESSION,
        .stream_id = STREAM,
        .consumption_term_id = rsti_position_term_id(position, log->position_bits,
            log->initial_term_id),
        .consumption_term_offset = rsti_position_offset(position, log->term_length),
        .receiver_window = 32 * 1024,
        .receiver_id = 1,
    };
    memcpy(frame, &sm, sizeof sm);
    inject(w->h, w->publication->endpoint->socket, from, frame, length);
    pass(w->h);
    pass(w->h);
    status_at(w, from, 1, position, RSTI_SM_FLAG_EOS); /* the plain one, which follows it */
}

/* Over UDP the goodbye of the last reader says its error. */
TEST(a_reader_that_says_why)
{
    writer_t w = open_writer(UNICAST);
    const rsti_publication_t *base = &w.publication->base;
    status_at(&w, READER, 1, 0, 0);
    send_messages(&w, 2);
    rsti_log_left_why_t why;
    goodbye(&w, STRANGER, 0, "forged");
    CHECK_EQ(left(base).count, 0);
    CHECK(RSTI_MAILBOX_READ(&base->file.log.metadata->ext.left_why, &why) == 0);
    goodbye(&w, READER, 1024, "CodecError: no int");
    CHECK_LEFT(base, 1, 1024, -1);
    CHECK(RSTI_MAILBOX_READ(&base->file.log.metadata->ext.left_why, &why) > 0);
    CHECK_EQ(why.count, 1);
    CHECK_STR(why.text, "CodecError: no int");
    harness_close(w.h);
}

/* A driver that was killed with its reader says nothing, and the next one has another receiver id.
 * It takes the place of the first one at once, because it has the address of the data. */
TEST(a_reader_that_another_one_replaces)
{
    writer_t w = open_writer(UNICAST);
    const rsti_publication_t *base = &w.publication->base;
    status_at(&w, READER, 1, 0, 0);
    send_messages(&w, 6);
    status_at(&w, READER, 1, 2048, 0);
    advance_alive(w.h, 500 * MS, 50 * MS);
    status_at(&w, READER, 2, 5120, 0);
    CHECK_LEFT(base, 1, 2048, 5120);
    wait_for_time_out(&w, 2, 6144);
    CHECK_LEFT(base, 1, 2048, 5120);
    CHECK_EQ(base->file.log.metadata->is_connected, 1);
    harness_close(w.h);
}

/* A later receiver id that falls silent has replaced nobody. */
TEST(a_stranger_that_falls_silent_has_not_left)
{
    writer_t w = open_writer(UNICAST);
    const rsti_publication_t *base = &w.publication->base;
    status_at(&w, READER, 1, 0, 0);
    send_messages(&w, 6);
    advance_alive(w.h, 100 * MS, 50 * MS);
    status_at(&w, STRANGER, 2, 6144, 0);
    wait_for_time_out(&w, 1, 1024);
    CHECK_EQ(w.publication->receiver_count, 1);
    CHECK_EQ(left(base).count, 0);
    wait_for_time_out(&w, 0, 0);
    CHECK_LEFT(base, 1, 1024, -1);
    harness_close(w.h);
}

/* Of a group only the last one counts: there is no state for each reader of it. */
TEST(of_a_group_the_last_one)
{
    writer_t w = open_writer(GROUP);
    const rsti_publication_t *base = &w.publication->base;
    status_at(&w, "127.0.0.2:5000", 1, 0, 0);
    status_at(&w, "127.0.0.3:5000", 2, 0, 0);
    send_messages(&w, 3);
    status_at(&w, "127.0.0.2:5000", 1, 1024, RSTI_SM_FLAG_EOS);
    CHECK_EQ(left(base).count, 0);
    status_at(&w, "127.0.0.3:5000", 2, 2048, RSTI_SM_FLAG_EOS);
    CHECK_LEFT(base, 1, 2048, -1);
    harness_close(w.h);
}

TEST(in_shared_memory_the_next_one_goes_on)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:ipc", STREAM);
    const int64_t first = add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", STREAM);
    rsti_publication_t *base = h->driver->conductor->ipc_publications.items[0];
    const int64_t start = *base->pub_lmt - base->options.publication_window;
    CHECK_EQ(left(base).count, 0);
    *base->subscribers.items[0].position = start + 4096;
    advance_alive(h, 2 * MS, MS);
    (void)take_away(h, RSTI_CMD_REMOVE_SUBSCRIPTION, first);
    CHECK_LEFT(base, 1, start + 4096, -1);
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", STREAM);
    CHECK_LEFT(base, 1, start + 4096, start + 4096);
    harness_close(h);
}

#define OTHER 78

static void as_other(harness_t *h, int32_t type, int64_t registration_id)
{
    uint8_t buffer[256];
    const rsti_command_t told = {
        .type = type,
        .client_id = OTHER,
        .correlation_id = rsti_mpsc_rb_next_correlation_id(&h->driver->to_driver),
        .registration_id = registration_id,
        .stream_id = STREAM,
        .channel = {"aeron:ipc", 9},
    };
    const int64_t length = rsti_command_encode(&told, buffer, sizeof buffer);
    CHECK(length > 0);
    (void)rsti_mpsc_rb_write(&h->driver->to_driver, type, buffer, (size_t)length);
    pass(h);
}

/* Of two that read, the one that left last. */
TEST(in_shared_memory_who_left)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:ipc", STREAM);
    rsti_publication_t *base = h->driver->conductor->ipc_publications.items[0];
    const int64_t first = add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", STREAM);
    as_other(h, RSTI_CMD_ADD_SUBSCRIPTION, -1);
    rsti_counters_t *counters = &h->driver->counters.counters;
    rsti_counters_append_label(counters,
        rsti_counters_find(counters, RSTI_COUNTER_CLIENT_HEARTBEAT, OTHER),
        " name=prices.py[7] version=1 commit=2");
    (void)take_away(h, RSTI_CMD_REMOVE_SUBSCRIPTION, first);
    CHECK_EQ(left(base).count, 0);
    as_other(h, RSTI_CMD_CLIENT_CLOSE, 0);
    CHECK_EQ(left(base).count, 1);
    CHECK_LEFT_WHO(base, 1, 0, "prices.py[7]");
    harness_close(h);
}

/* It says why before it leaves, or its rejection is told afterwards. */
TEST(why_it_left)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:ipc", STREAM);
    const int64_t first = add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", STREAM);
    rsti_publication_t *base = h->driver->conductor->ipc_publications.items[0];
    rsti_log_left_why_t why;
    rsti_reader_left_why(base, "soon", 4);
    CHECK(RSTI_MAILBOX_READ(&base->file.log.metadata->ext.left_why, &why) > 0);
    CHECK_EQ(why.count, 1);
    CHECK_STR(why.text, "soon");
    (void)take_away(h, RSTI_CMD_REMOVE_SUBSCRIPTION, first);
    CHECK_EQ(left(base).count, 1);
    CHECK_EQ(left(base).left_ms, h->driver->epoch.now_ms);
    char longer[400];
    memset(longer, 'x', sizeof longer);
    rsti_reader_left_why(base, longer, sizeof longer);
    CHECK(RSTI_MAILBOX_READ(&base->file.log.metadata->ext.left_why, &why) > 0);
    CHECK_EQ(why.count, 1);
    CHECK_EQ(strlen(why.text), sizeof why.text - 1);
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", STREAM);
    rsti_reader_left_why(base, "again", 5);
    CHECK(RSTI_MAILBOX_READ(&base->file.log.metadata->ext.left_why, &why) > 0);
    CHECK_EQ(why.count, 2);
    harness_close(h);
}

CHECK_MAIN(RUN(a_reader_that_says_goodbye), RUN(a_named_stream_sends_nothing_without_a_reader),
    RUN(a_lost_goodbye_is_repeated_before_the_next_reader_is_there), RUN(a_reader_that_says_why),
    RUN(a_reader_that_another_one_replaces), RUN(a_stranger_that_falls_silent_has_not_left),
    RUN(of_a_group_the_last_one), RUN(in_shared_memory_the_next_one_goes_on),
    RUN(in_shared_memory_who_left), RUN(why_it_left))
