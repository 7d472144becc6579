/* test_window.c: a receiver's messages to its sender: windows by the law of its channel, status
 * messages by the rules, round trips (docs/reference/aeron/wire.md 8.2, 8.5, 11). */
#include "driver/conductor/image.h"
#include "driver/receiver/image_insert.h"
#include "tests/driver/harness.h"

#define UDP "aeron:udp?endpoint=127.0.0.1:24500"
#define SENDER "127.0.0.1:30001"
#define SESSION 1234
#define STREAM 10
#define TERM 65536

typedef struct reader_t {
    harness_t *h;
    int64_t id;
    rsti_socket_t *socket;
    rsti_image_t *image;
    int64_t sent;
} reader_t;

static int32_t term_length = TERM;

static void send_setup(const reader_t *r, uint8_t flags)
{
    const rsti_setup_t setup = {
        .frame = {RSTI_SETUP_LENGTH, 0, flags, RSTI_FRAME_SETUP},
        .session_id = SESSION,
        .stream_id = STREAM,
        .initial_term_id = 7,
        .active_term_id = 7,
        .term_length = term_length,
        .mtu = 1408,
    };
    inject(r->h, r->socket, SENDER, &setup, sizeof setup);
}

/* With an image of one subscription; setup_flags tell the sender's kind. */
static void reader_open(reader_t *r, const char *channel, const char *const *options,
    uint8_t setup_flags)
{
    harness_options = options;
    *r = (reader_t){.h = harness_open()};
    r->id = add(r->h, RSTI_CMD_ADD_SUBSCRIPTION, channel, STREAM);
    const rsti_receive_endpoint_t *endpoint = r->h->driver->conductor->receive_endpoints.items[0];
    r->socket = endpoint->owned[0]->socket;
    send_setup(r, setup_flags);
    pass(r->h);
    if (r->h->driver->conductor->images.count == 0) {
        fprintf(stderr, "%s: no image\n", channel);
        exit(1);
    }
    r->image = r->h->driver->conductor->images.items[0];
    pass(r->h);
}

static void frame_of(uint8_t *datagram, int64_t position, int32_t length)
{
    rsti_data_header_t header;
    rsti_data_header_fill(&header, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_DATA, SESSION, STREAM,
        7 + (int32_t)(position / TERM), (int32_t)(position % TERM));
    header.frame.frame_length = length;
    memset(datagram, 0, (size_t)length);
    memcpy(datagram, &header, sizeof header);
}

static void send_frame(reader_t *r, int64_t position, int32_t length)
{
    uint8_t datagram[2048];
    frame_of(datagram, position, length);
    inject(r->h, r->socket, SENDER, datagram, length == 0 ? 32 : (size_t)length);
}

/* count frames of 1024 bytes in order; one pass each. */
static void send_frames(reader_t *r, int count)
{
    for (int i = 0; i < count; i++) {
        send_frame(r, r->sent, 1024);
        r->sent += 1024;
        pass(r->h);
    }
}

static void consume(reader_t *r, int index, int64_t position)
{
    rsti_store_release_i64(r->image->subscribers.items[index].position, position);
}

/* The position of the newest status message; -1: none since the last call. */
static int64_t told(reader_t *r)
{
    pass(r->h);
    pass(r->h);
    const frame_t *frame = last_frame(r->h, RSTI_FRAME_SM);
    if (frame == NULL) {
        return -1;
    }
    const rsti_sm_t *sm = (const void *)frame->data;
    const int64_t position = (int64_t)(sm->consumption_term_id - 7) * TERM
        + sm->consumption_term_offset;
    forget_frames(r->h);
    return position;
}

static int32_t window_of(const reader_t *r)
{
    const frame_t *frame = last_frame(r->h, RSTI_FRAME_SM);
    return frame == NULL ? -1 : ((const rsti_sm_t *)(const void *)frame->data)->receiver_window;
}

/* An Aeron sender gets a status message at a quarter of the window, and every 200 ms. */
TEST(status_messages_to_an_aeron_sender_follow_its_rules)
{
    reader_t r;
    reader_open(&r, UDP "|rcv-wnd=32k", NULL, 0);
    CHECK_EQ(window_of(&r), 32768);
    CHECK_EQ(told(&r), 0);
    send_frames(&r, 20);
    consume(&r, 0, 8192); /* a quarter: only the timer applies */
    CHECK_EQ(told(&r), -1);
    advance_alive(r.h, 150 * MS, 5 * MS);
    CHECK_EQ(told(&r), -1);
    consume(&r, 0, 8192 + 1024);
    CHECK_EQ(told(&r), 9216);
    advance_alive(r.h, 190 * MS, 5 * MS);
    CHECK_EQ(told(&r), -1);
    advance_alive(r.h, 20 * MS, 5 * MS);
    CHECK_EQ(told(&r), 9216);
    CHECK_EQ(count_frames(r.h, RSTI_FRAME_RTTM), 0);
    harness_close(r.h);
}

/* The receiver takes data up to half a term beyond the consumed position, not beyond the last
 * status message: under fc=max the sender obeys neither, and the size of a full buffer does not
 * change. */
TEST(consumed_bytes_are_room_before_they_are_announced)
{
    reader_t r;
    reader_open(&r, UDP "|rcv-wnd=32k", NULL, 0);
    (void)told(&r);
    send_frames(&r, 32);
    consume(&r, 0, 8192); /* a quarter: not announced */
    CHECK_EQ(told(&r), -1);
    CHECK_EQ(r.image->last_sm_position, 0);
    send_frames(&r, 8);
    CHECK_EQ(counter(r.h, RSTI_SYSTEM_FLOW_CONTROL_OVER_RUNS), 0);
    CHECK_EQ(r.image->high_water, 40 * 1024);
    send_frames(&r, 1);
    CHECK_EQ(counter(r.h, RSTI_SYSTEM_FLOW_CONTROL_OVER_RUNS), 1);
    CHECK_EQ(r.image->high_water, 40 * 1024);
    harness_close(r.h);
}

/* Not further than a term beyond the newest status message, since the conductor cleans a term
 * behind the consumed position: a sender that missed it may retransmit all that lies beyond, where
 * the log would be clean. */
TEST(repeatable_data_are_not_cleaned)
{
    reader_t r;
    reader_open(&r, UDP "|rcv-wnd=32k", NULL, 0);
    (void)told(&r);
    for (int64_t position = 0; position < TERM + TERM / 2;
        position += 1024) { /* a burst: no status message between */
        uint8_t datagram[1024];
        frame_of(datagram, position, sizeof datagram);
        rsti_image_on_packet(r.h->driver->receiver, r.image, &r.image->connections[0], datagram,
            sizeof datagram, r.h->manual.now_ns);
        consume(&r, 0, r.image->high_water);
        (void)rsti_image_rebuild(r.h->driver, r.image, r.h->manual.now_ns);
    }
    CHECK_EQ(r.image->last_sm_position, 0);
    CHECK_EQ(r.image->high_water, TERM);
    CHECK_EQ(r.image->clean_position, 0);
    CHECK_EQ(counter(r.h, RSTI_SYSTEM_FLOW_CONTROL_OVER_RUNS), TERM / 2 / 1024);
    CHECK_EQ(told(&r), TERM);
    r.sent = TERM;
    send_frames(&r, 32);
    CHECK_EQ(r.image->high_water, TERM + TERM / 2);
    harness_close(r.h);
}

TEST(an_rstream_sender_hears_small_steps_soon)
{
    reader_t r;
    reader_open(&r, UDP "|rcv-wnd=32k", NULL, RSTI_SETUP_FLAG_RSTREAM);
    (void)told(&r);
    send_frames(&r, 4);
    advance_alive(r.h, 15 * MS, 5 * MS);
    (void)told(&r);
    consume(&r, 0, 1024);
    advance_alive(r.h, 15 * MS, 5 * MS);
    CHECK_EQ(told(&r), 1024);
    consume(&r, 0, 4096);
    advance_alive(r.h, 5 * MS, 5 * MS);
    CHECK_EQ(told(&r), -1); /* not each of them */
    advance_alive(r.h, 10 * MS, 5 * MS);
    CHECK_EQ(told(&r), 4096);
    harness_close(r.h);
}

TEST(a_new_term_is_told)
{
    reader_t r;
    reader_open(&r, UDP, NULL, 0);
    (void)told(&r);
    for (int i = 1; i <= 6; i++) {
        send_frames(&r, 10);
        consume(&r, 0, i * 10 * 1024);
        CHECK_EQ(told(&r), i * 10 * 1024);
    }
    send_frames(&r, 4);
    consume(&r, 0, TERM - 1024);
    CHECK_EQ(told(&r), -1);
    consume(&r, 0, TERM);
    CHECK_EQ(told(&r), TERM);
    harness_close(r.h);
}

TEST(the_slowest_of_the_local_readers_counts)
{
    reader_t r;
    reader_open(&r, UDP, NULL, 0);
    const int64_t second = add(r.h, RSTI_CMD_ADD_SUBSCRIPTION, UDP, STREAM);
    CHECK_EQ(r.image->subscribers.count, 2);
    (void)told(&r);
    send_frames(&r, 30);
    consume(&r, 0, 30 * 1024);
    CHECK_EQ(told(&r), -1);
    consume(&r, 1, 20 * 1024);
    CHECK_EQ(told(&r), 20 * 1024);
    (void)take_away(r.h, RSTI_CMD_REMOVE_SUBSCRIPTION, second);
    CHECK_EQ(r.image->subscribers.count, 1);
    CHECK_EQ(told(&r), 30 * 1024); /* an image does not wait for a reader that has gone */
    harness_close(r.h);
}

/* I7, and the counters of docs/reference/aeron/memory.md 16 and 18. */
TEST(cubic_begins_small_and_gives_way_to_loss)
{
    reader_t r;
    reader_open(&r, UDP "|cc=cubic", NULL, 0);
    CHECK_EQ(window_of(&r), 10 * 1408);
    CHECK(r.image->cc_rtt_id >= 0 && r.image->cc_rtt_id < r.image->hwm_id);
    CHECK_EQ(r.image->cc_window_id, r.image->cc_rtt_id + 1);
    const rsti_counter_metadata_t *metadata = r.h->driver->counters.counters.metadata;
    CHECK_EQ(metadata[r.image->cc_rtt_id].type_id, 10);
    CHECK(strncmp(metadata[r.image->cc_rtt_id].label, "rcv-cc-cubic-rtt: ", 18) == 0);
    CHECK(strncmp(metadata[r.image->cc_window_id].label, "rcv-cc-cubic-wnd: ", 18) == 0);
    CHECK_EQ(r.h->driver->counters.counters.values[r.image->cc_rtt_id].owner_id, -1);
    CHECK_EQ(counter(r.h, r.image->cc_window_id), 10 * 1408);
    CHECK_EQ(counter(r.h, r.image->cc_rtt_id), 100000);
    r.h->manual.now_ns += 200000;
    (void)told(&r);
    const int32_t grown = (int32_t)counter(r.h, r.image->cc_window_id);
    CHECK(grown > 10 * 1408 && grown <= 23 * 1408); /* half a term */
    forget_frames(r.h);
    send_frames(&r, 1);
    r.sent += 1024;
    send_frames(&r, 1); /* one is missing */
    (void)told(&r);
    CHECK_EQ(counter(r.h, r.image->cc_window_id), grown / 1408 * 8 / 10 * 1408);
    CHECK_EQ(count_frames(r.h, RSTI_FRAME_RTTM), 0);
    const int32_t rtt_id = r.image->cc_rtt_id;
    (void)take_away(r.h, RSTI_CMD_REMOVE_SUBSCRIPTION, r.id);
    advance_alive(r.h, 20 * RSTI_NS_PER_S, 100 * MS);
    CHECK(metadata[rtt_id].state != RSTI_COUNTER_ALLOCATED);
    harness_close(r.h);
}

/* Answers the newest request after delay; returns the round trip time that the driver then assumes.
 */
static void answer_rttm(reader_t *r, int64_t delay_ns)
{
    const frame_t *frame = last_frame(r->h, RSTI_FRAME_RTTM);
    if (frame == NULL) {
        return;
    }
    rsti_rttm_t rttm;
    memcpy(&rttm, frame->data, sizeof rttm);
    CHECK_EQ(rttm.frame.flags, RSTI_RTTM_FLAG_REPLY);
    CHECK_EQ(rttm.reception_delta, 0);
    CHECK_EQ(rttm.receiver_id,
        ((const rsti_receive_endpoint_t *)r->h->driver->conductor->receive_endpoints.items[0])
            ->receiver_id);
    rttm.frame.flags = 0;
    r->h->manual.now_ns += delay_ns;
    inject(r->h, r->socket, SENDER, &rttm, sizeof rttm);
    pass(r->h);
    forget_frames(r->h);
}

/* O6: any sender is measured when the law needs it. */
TEST(cubic_measures_when_it_is_told_to)
{
    static const char *const options[] = {
        "cubic-measure-rtt", "true", "cubic-initial-rtt", "200us", NULL};
    reader_t r;
    reader_open(&r, UDP "|cc=cubic", options, 0);
    CHECK_EQ(count_frames(r.h, RSTI_FRAME_RTTM), 1);
    CHECK_EQ(counter(r.h, r.image->cc_rtt_id), 200000);
    answer_rttm(&r, 3 * MS);
    CHECK_EQ(counter(r.h, r.image->cc_rtt_id), 3 * MS);
    /* Measured again after four round trips, and only if a frame came. */
    advance_alive(r.h, 50 * MS, MS);
    CHECK_EQ(count_frames(r.h, RSTI_FRAME_RTTM), 0);
    send_frames(&r, 1);
    CHECK_EQ(count_frames(r.h, RSTI_FRAME_RTTM), 1);
    send_frames(&r, 1);
    r.h->manual.now_ns += 11 * MS;
    send_frames(&r, 1);
    CHECK_EQ(count_frames(r.h, RSTI_FRAME_RTTM), 1);
    r.h->manual.now_ns += 2 * MS;
    send_frames(&r, 1);
    CHECK_EQ(count_frames(r.h, RSTI_FRAME_RTTM), 2);
    harness_close(r.h);
}

TEST(an_rstream_sender_is_asked_under_any_law)
{
    reader_t r;
    reader_open(&r, UDP, NULL, RSTI_SETUP_FLAG_RSTREAM);
    CHECK_EQ(count_frames(r.h, RSTI_FRAME_RTTM), 1);
    answer_rttm(&r, 5 * MS);
    CHECK_EQ(r.image->rtt_ns, 5 * MS);
    advance_alive(r.h, 2000 * MS, 10 * MS);
    CHECK_EQ(count_frames(r.h, RSTI_FRAME_RTTM), 0); /* nothing moves */
    /* An answer without a request is ignored. */
    const rsti_rttm_t forged = {
        .frame = {RSTI_RTTM_LENGTH, 0, 0, RSTI_FRAME_RTTM},
        .session_id = SESSION,
        .stream_id = STREAM,
        .echo_timestamp = r.h->manual.now_ns - RSTI_NS_PER_S,
    };
    inject(r.h, r.socket, SENDER, &forged, sizeof forged);
    pass(r.h);
    CHECK_EQ(r.image->rtt_ns, 5 * MS);
    harness_close(r.h);
}

/* A stream that the reader drains at 1 MB/s over a path of 2 ms. */
TEST(auto_finds_a_small_window_for_a_slow_reader)
{
    reader_t r;
    reader_open(&r, UDP "|cc=auto", NULL, 0);
    CHECK_EQ(window_of(&r), TERM / 2);
    CHECK_EQ(count_frames(r.h, RSTI_FRAME_RTTM), 1);
    answer_rttm(&r, 2 * MS);
    const rsti_counter_metadata_t *metadata = r.h->driver->counters.counters.metadata;
    CHECK(strncmp(metadata[r.image->cc_window_id].label, "rcv-cc-auto-wnd: ", 17) == 0);
    int64_t consumed = 0, limit = TERM / 2;
    for (int i = 0; i < 3000; i++) {
        while (r.sent + 1024 <= limit) {
            send_frame(&r, r.sent, 1024);
            r.sent += 1024;
        }
        advance_alive(r.h, MS, MS);
        consumed += r.sent - consumed < 1024 ? r.sent - consumed : 1024;
        consume(&r, 0, consumed);
        answer_rttm(&r, 0);
        pass(r.h);
        const int64_t edge = r.image->next_sm_position + r.image->next_sm_window;
        limit = edge > limit ? edge : limit;
        forget_frames(r.h);
    }
    CHECK(consumed > 2900 * 1024);
    CHECK(r.image->next_sm_window < TERM / 4);
    CHECK(r.image->next_sm_window >= 4 * 1408);
    CHECK_EQ(counter(r.h, r.image->cc_window_id), r.image->next_sm_window);
    harness_close(r.h);
}

/* I8: a source from which only single datagrams come, far beyond the window, is not believed. */
TEST(stray_datagrams_keep_no_image_alive)
{
    reader_t r;
    reader_open(&r, UDP, NULL, 0);
    send_frames(&r, 32); /* up to its limit; it reads nothing, and the others go on */
    for (int i = 0; i < 120 && r.image->life == RSTI_LIFE_ACTIVE; i++) {
        r.sent += 16 * 1024;
        send_frame(&r, r.sent, 1024);
        send_frame(&r, r.sent + 1024, 0);
        advance_alive(r.h, 100 * MS, 50 * MS);
    }
    CHECK(counter(r.h, RSTI_SYSTEM_FLOW_CONTROL_OVER_RUNS) > 100);
    CHECK(r.image->life != RSTI_LIFE_ACTIVE);
    harness_close(r.h);
}

TEST(an_unknown_law_makes_no_image)
{
    harness_t *h = harness_open();
    reader_t r = {.h = h};
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, UDP "|cc=unknown", STREAM);
    r.socket = ((const rsti_receive_endpoint_t *)h->driver->conductor->receive_endpoints.items[0])
                   ->owned[0]
                   ->socket;
    send_setup(&r, 0);
    pass(h);
    pass(h);
    CHECK_EQ(h->driver->conductor->images.count, 0);
    CHECK(counter(h, RSTI_SYSTEM_ERRORS) > 0);
    harness_close(h);
}

static int32_t wanted_by_tools(const reader_t *r)
{
    const rsti_counters_t *counters = &r->h->driver->counters.counters;
    for (int32_t id = 0; id <= r->h->driver->counters.high_water_mark; id++) {
        if (counters->metadata[id].state == RSTI_COUNTER_ALLOCATED
            && counters->metadata[id].type_id == RSTI_COUNTER_WINDOW_BOUND) {
            return (int32_t)*rsti_counter_address(counters, id);
        }
    }
    return 0;
}

/* The sockets of the harness have a buffer of 128 KiB. */
TEST(a_named_stream_has_its_window_bounded_by_its_socket)
{
    static const struct {
        const char *channel;
        int32_t window, told;
    } rows[] = {
        {UDP "|rs-name=ticks|rcv-wnd=1m", (128 * 1024), 1024 * 1024},
        {UDP "|rs-name=ticks|rcv-wnd=1m|so-rcvbuf=64k", (128 * 1024), 1024 * 1024},
        {UDP "|rs-name=ticks|rcv-wnd=64k", 64 * 1024, 0},
        {UDP "|rs-name=ticks|rcv-wnd=131072", (128 * 1024), 0}, /* exactly what there is */
        {UDP "|rs-name=ticks|rcv-wnd=131104", (128 * 1024), 131104},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        reader_t r;
        term_length = 4 * 1024 * 1024;
        reader_open(&r, rows[i].channel, NULL, 0);
        term_length = TERM;
        CHECK_EQ(window_of(&r), rows[i].window);
        CHECK_EQ(wanted_by_tools(&r), rows[i].told);
        CHECK_EQ(error_count(r.h, "is bounded to the"), rows[i].told > 0);
        harness_close(r.h);
    }
}

CHECK_MAIN(RUN(status_messages_to_an_aeron_sender_follow_its_rules),
    RUN(consumed_bytes_are_room_before_they_are_announced), RUN(repeatable_data_are_not_cleaned),
    RUN(an_rstream_sender_hears_small_steps_soon), RUN(a_new_term_is_told),
    RUN(the_slowest_of_the_local_readers_counts), RUN(cubic_begins_small_and_gives_way_to_loss),
    RUN(cubic_measures_when_it_is_told_to), RUN(an_rstream_sender_is_asked_under_any_law),
    RUN(auto_finds_a_small_window_for_a_slow_reader), RUN(stray_datagrams_keep_no_image_alive),
    RUN(an_unknown_law_makes_no_image), RUN(a_named_stream_has_its_window_bounded_by_its_socket))
