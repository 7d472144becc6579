/* test_path_udp.c: streams that follow the path (flow/path.h, docs/reference/wire.md "Path"): what
 * a receiver tells, and to whom; what a sender makes of it, on a bottleneck in virtual time. */
#include "driver/sender/resend.h"
#include "protocol/sm_items.h"
#include "tests/driver/link.h"

#define SENDER "127.0.0.1:30001"
#define SESSION 1234
#define STREAM 10
#define TERM 65536
#define RESPONSES "aeron:udp?control=127.0.0.1:24501|control-mode=response"
#define FLAGS (RSTI_SETUP_FLAG_RSTREAM | RSTI_SETUP_FLAG_PATH)

typedef struct reader_t {
    harness_t *h;
    rsti_socket_t *socket;
} reader_t;

static reader_t reader_open(const char *channel, uint8_t flags)
{
    reader_t r = {.h = harness_open()};
    (void)add(r.h, RSTI_CMD_ADD_SUBSCRIPTION, channel, STREAM);
    const rsti_receive_endpoint_t *endpoint = r.h->driver->conductor->receive_endpoints.items[0];
    r.socket = endpoint->owned[0]->socket;
    const rsti_setup_t setup = {
        .frame = {RSTI_SETUP_LENGTH, 0, flags, RSTI_FRAME_SETUP},
        .session_id = SESSION,
        .stream_id = STREAM,
        .initial_term_id = 7,
        .active_term_id = 7,
        .term_length = TERM,
        .mtu = 1408,
    };
    inject(r.h, r.socket, SENDER, &setup, sizeof setup);
    pass(r.h);
    pass(r.h);
    forget_frames(r.h);
    return r;
}

static void bring(const reader_t *r, int32_t offset)
{
    uint8_t datagram[1024] = {0};
    rsti_data_header_t header;
    rsti_data_header_fill(&header, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_DATA, SESSION, STREAM, 7,
        offset);
    header.frame.frame_length = sizeof datagram;
    memcpy(datagram, &header, sizeof header);
    inject(r->h, r->socket, SENDER, datagram, sizeof datagram);
    pass(r->h);
}

/* How many status messages told of arrivals since the last call, and the newest of these. */
static int told(const reader_t *r, rsti_sm_path_t *path)
{
    int count = 0;
    for (int i = 0; i < r->h->sent_count; i++) {
        const frame_t *frame = &r->h->sent[i];
        rsti_sm_items_t items;
        if (frame_type(frame) == RSTI_FRAME_SM
            && rsti_sm_items_decode(&items, (const void *)frame->data) && items.has_path) {
            *path = items.path;
            count++;
        }
    }
    forget_frames(r->h);
    return count;
}

TEST(a_source_that_follows_the_path_is_told_what_arrives)
{
    const reader_t r = reader_open("aeron:udp?endpoint=127.0.0.1:24500", FLAGS);
    rsti_sm_path_t path = {0};
    advance_alive(r.h, 50 * MS, MS);
    CHECK_EQ(told(&r, &path), 0); /* nothing came */
    bring(&r, 0);
    CHECK_EQ(told(&r, &path), 1); /* the first one at once */
    CHECK_EQ(path.highest, 1024);
    CHECK_EQ(path.received, 1024);
    CHECK(path.clock_ns < 100 * MS); /* since the image began */
    bring(&r, 3072);
    bring(&r, 3072);
    CHECK_EQ(told(&r, &path), 0);
    advance(r.h, RSTI_PATH_PERIOD_LEAST_NS, RSTI_PATH_PERIOD_LEAST_NS);
    CHECK_EQ(told(&r, &path), 1); /* no round trip is known: the least period */
    CHECK_EQ(path.contiguous, 1024);
    CHECK_EQ(path.highest, 4096);
    CHECK_EQ(path.received, 3072);
    CHECK_EQ(path.since, 1024);
    CHECK_EQ(path.missing, 2048);
    CHECK_EQ(path.hold_ns, RSTI_PATH_PERIOD_LEAST_NS);
    advance_alive(r.h, 50 * MS, MS);
    CHECK_EQ(told(&r, &path), 0);
    harness_close(r.h);
}

/* 1 % of the datagrams overtakes others: the receiver learns to wait for them. */
TEST(what_is_only_late_is_not_missing)
{
    const link_params_t params = {.rate_bytes_per_s = 100 * 125000,
        .delay_ns = 5 * MS,
        .queue_bytes = 62000,
        .reorder = 0.01,
        .reorder_ns = MS / 2};
    link_t *l = link_open(&params);
    CHECK(link_stream(l, "rcv-wnd=8m", "term-length=16m|cc=path"));
    link_run(l, 2 * RSTI_NS_PER_S);
    const int64_t missing = l->image->path.arrival.missing, late = l->ways[0].reordered;
    link_run(l, 4 * RSTI_NS_PER_S);
    CHECK(l->ways[0].reordered - late > 300);
    CHECK(l->image->path.arrival.missing - missing
        < (l->ways[0].reordered - late) * RSTI_FRAME_ALIGNMENT * 5);
    CHECK(l->bytes_read > INT64_C(12500000) * 5);
    link_close(l);
}

TEST(others_are_told_nothing_of_it)
{
    static const uint8_t kinds[] = {0, RSTI_SETUP_FLAG_RSTREAM,
        RSTI_SETUP_FLAG_PATH, /* a flag that an Aeron driver may set one day */
        RSTI_SETUP_FLAG_RSTREAM | RSTI_SETUP_FLAG_FILL};
    for (size_t i = 0; i < sizeof kinds; i++) {
        const reader_t r = reader_open("aeron:udp?endpoint=127.0.0.1:24500", kinds[i]);
        rsti_sm_path_t path;
        for (int32_t n = 0; n < 20; n++) {
            bring(&r, 1024 * n);
            advance_alive(r.h, MS, MS);
        }
        CHECK_EQ(told(&r, &path), 0);
        harness_close(r.h);
    }
}

typedef struct run_t {
    double share; /* of the link */
    double dropped; /* of the datagrams that were sent */
    double queue_ms; /* mean, at the bottleneck, in the second half */
    double resent; /* of the bytes that were read */
    bool is_good;
} run_t;

/* A stream for so long; counted from a third of it on. */
static run_t run(const char *name, const link_params_t *params, const char *publisher, int64_t ns)
{
    run_t result = {0};
    link_t *l = link_open(params);
    if (link_stream(l, "rcv-wnd=8m", publisher)) {
        link_run(l, ns / 3);
        const int64_t read = l->bytes_read, sent = l->ways[0].sent;
        const int64_t dropped = l->ways[0].overflowed;
        double queue_ns = 0;
        int count = 0;
        for (const int64_t end_ns = l->now_ns + ns / 3 * 2; l->now_ns < end_ns; count++) {
            link_step(l, end_ns);
            queue_ns += (double)rsti_max_i64(l->ways[0].busy_until_ns - l->now_ns, 0);
        }
        const double whole = (double)params->rate_bytes_per_s * (double)(ns / 3 * 2) / 1e9;
        result = (run_t){
            .share = (double)(l->bytes_read - read) / whole,
            .dropped = (double)(l->ways[0].overflowed - dropped) / (double)(l->ways[0].sent - sent),
            .queue_ms = queue_ns / count / 1e6,
            .resent = (double)link_counter(l, 0, RSTI_SYSTEM_RETRANSMITTED_BYTES)
                / (double)rsti_max_i64(l->bytes_read, 1),
            .is_good = l->publication->send_path.path.track.refused_count == 0,
        };
        printf("%-28s %-24s %.3f of the link, %.2f %% dropped, queue %.2f ms, %.2f %% resent,"
               " %s W %.0f least %.2f ms u %.3f\n",
            name, publisher, result.share, 100 * result.dropped, result.queue_ms,
            100 * result.resent, rsti_path_state_name(l->publication->send_path.path.state),
            l->publication->send_path.path.window, l->publication->send_path.path.least_s * 1e3,
            l->publication->send_path.path.usual);
    }
    link_close(l);
    return result;
}

#define MBIT INT64_C(125000)
#define FOLLOWS "term-length=16m|cc=path"

/* Short queues, long paths, and loss: the table of docs/explanation/decisions on the path. */
TEST(a_stream_fills_a_link_and_not_its_queue)
{
    static const struct {
        const char *name;
        link_params_t link;
        double share, dropped, queue_ms;
    } rows[] = {
        {"100 Mbit/s, 10 ms, 62 kB",
            {.rate_bytes_per_s = 100 * MBIT, .delay_ns = 5 * MS, .queue_bytes = 62000}, 0.9, 0.005,
            3.0},
        {"200 Mbit/s, 40 ms, 500 kB",
            {.rate_bytes_per_s = 200 * MBIT, .delay_ns = 20 * MS, .queue_bytes = 500000}, 0.9,
            0.005, 8.0},
        {"the same, 1 % lost",
            {.rate_bytes_per_s = 200 * MBIT,
                .delay_ns = 20 * MS,
                .queue_bytes = 500000,
                .loss = 0.01},
            0.85, 0.005, 8.0},
        {"200 Mbit/s, 2 ms, 100 kB",
            {.rate_bytes_per_s = 200 * MBIT, .delay_ns = 1 * MS, .queue_bytes = 100000}, 0.9, 0.005,
            3.0},
        {"10 Mbit/s, 40 ms, 64 kB",
            {.rate_bytes_per_s = 10 * MBIT, .delay_ns = 20 * MS, .queue_bytes = 64000}, 0.9, 0.01,
            20.0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const run_t result = run(rows[i].name, &rows[i].link, FOLLOWS, 9 * RSTI_NS_PER_S);
        CHECK(result.is_good);
        CHECK(result.share >= rows[i].share);
        CHECK(result.dropped <= rows[i].dropped);
        CHECK(result.queue_ms <= rows[i].queue_ms);
    }
}

/* Nothing is set by hand: half a term for a source that follows the path, 128 KiB for others. */
TEST(the_window_lets_a_long_path_flow_by_default)
{
    const link_params_t params = {
        .rate_bytes_per_s = 200 * MBIT, .delay_ns = 20 * MS, .queue_bytes = 500000};
    static const struct {
        const char *reader, *publisher;
        int32_t window, most; /* after two seconds */
    } rows[] = {
        {"rejoin=true", FOLLOWS, 4 * 1024 * 1024, 8 * 1024 * 1024},
        {"rcv-wnd=256k", FOLLOWS, 256 * 1024, 256 * 1024},
        {"rejoin=true", "term-length=16m", 128 * 1024, 128 * 1024},
        {"rejoin=true", "term-length=128m|cc=path", 4 * 1024 * 1024, 32 * 1024 * 1024},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        link_t *l = link_open(&params);
        CHECK(link_stream(l, rows[i].reader, rows[i].publisher));
        link_run(l, 560 * MS); /* fourteen round trips: half of the link in the next one */
        const int64_t begun = l->bytes_read;
        link_run(l, 40 * MS);
        CHECK(rows[i].most < 4 * 1024 * 1024 || l->bytes_read - begun > 4 * MBIT);
        link_run(l, 1400 * MS);
        CHECK(l->image->congestion.window >= rows[i].window);
        CHECK(l->image->congestion.window <= rows[i].most);
        const int64_t read = l->bytes_read;
        link_run(l, RSTI_NS_PER_S);
        CHECK_EQ(l->bytes_read - read > 180 * MBIT, rows[i].window >= 4 * 1024 * 1024);
        link_close(l);
    }
}

/* Half a term is the most that the readers open; nothing lies before one that takes little, at the
 * receiver or in the sender's log. Messages longer than its window come too. */
TEST(a_reader_of_few_small_messages_has_two_before_it)
{
    static const struct {
        int32_t length;
        int64_t per_s, gap_ns, wait_ns; /* taken, offered; the most that one of them waits */
    } rows[] = {{158, 5, 50 * MS, 410 * MS}, {158, 5, MS, 410 * MS}, {158, 100, 0, 40 * MS},
        {1300, 5, 50 * MS, 410 * MS}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const link_params_t params = {
            .rate_bytes_per_s = 100 * MBIT, .delay_ns = MS / 2, .queue_bytes = 62000};
        link_t *l = link_open(&params);
        CHECK(link_stream(l, "rejoin=true", "term-length=1m|cc=path"));
        l->message_length = rows[i].length;
        l->read_bytes_per_s = (rows[i].length + RSTI_DATA_HEADER_LENGTH) * rows[i].per_s;
        l->read_ns = l->now_ns;
        l->offer_gap_ns = rows[i].gap_ns;
        l->offer_burst = 1;
        link_run(l, 25 * RSTI_NS_PER_S); /* what connected it, and the beginning */
        l->latency_count = 0;
        link_run(l, 5 * RSTI_NS_PER_S);
        CHECK(l->latency_count >= 24 * rows[i].per_s / 5);
        CHECK_EQ(l->publication->base.file.log.metadata->ext.held_by, RSTI_HELD_BY_WINDOW);
        const int64_t most_ns = link_latency_ns(l, 1.0);
        if (most_ns > rows[i].wait_ns) {
            CHECK_FAIL("row %zu: one waited for %lld ms", i, (long long)most_ns / MS);
        }
        l->message_length = 1300; /* longer than the window */
        const int64_t read = l->bytes_read;
        link_run(l, 5 * RSTI_NS_PER_S);
        CHECK(l->bytes_read - read > 4 * l->read_bytes_per_s - 2 * 1408);
        link_close(l);
    }
}

/* -1: there is no such counter. */
static int64_t told_to_tools(const link_t *l, int32_t type_id)
{
    const rsti_counters_t *counters = &l->sides[0].h->driver->counters.counters;
    const int32_t id = rsti_counters_find(counters, type_id, l->publication->base.registration_id);
    return id < 0 ? -1 : *rsti_counter_address(counters, id);
}

/* Its SETUP arrives without the mark of rstream, so its receiver is as Aeron's. At first only half
 * of its window is used. */
TEST(a_receiver_that_tells_nothing_is_limited_by_its_window_alone)
{
    const link_params_t params = {
        .rate_bytes_per_s = 100 * MBIT, .delay_ns = 20 * MS, .is_aeron = true};
    link_t *l = link_open(&params);
    CHECK(link_stream(l, "rcv-wnd=512k", FOLLOWS));
    link_run(l, 900 * MS);
    CHECK(!rsti_send_path_holds(&l->publication->send_path));
    CHECK(l->bytes_read > 8 * 256 * 1024); /* not one standstill */
    CHECK(l->bytes_read < 24 * 256 * 1024);
    CHECK_EQ(error_count(l->sides[0].h, "does not tell what arrives"), 0);
    link_run(l, 500 * MS);
    const int64_t read = l->bytes_read;
    link_run(l, RSTI_NS_PER_S);
    CHECK(l->bytes_read - read > 70 * MBIT);
    CHECK_EQ(error_count(l->sides[0].h, "does not tell what arrives"), 1);
    CHECK_EQ(l->publication->send_path.path.track.item_count, 0);
    for (int32_t type = RSTI_COUNTER_PATH_BANDWIDTH; type <= RSTI_COUNTER_PATH_UNDER_WAY; type++) {
        CHECK_EQ(told_to_tools(l, type), 0); /* not known */
    }
    link_close(l);
}

/* So the first datagrams already leave by the law, and no faster. */
TEST(a_receiver_says_that_it_tells_before_data_comes)
{
    const reader_t r = reader_open("aeron:udp?endpoint=127.0.0.1:24500", FLAGS);
    rsti_sm_path_t path = {.received = 1};
    advance_alive(r.h, 300 * MS, MS); /* a status message was due */
    CHECK(told(&r, &path) > 0);
    CHECK_EQ(path.received, 0);
    bring(&r, 0);
    advance_alive(r.h, 300 * MS, MS);
    CHECK_EQ(told(&r, &path), 1);
    harness_close(r.h);
    const link_params_t params = {.rate_bytes_per_s = 100 * MBIT, .delay_ns = 5 * MS};
    link_t *l = link_open(&params);
    CHECK(link_stream(l, "rejoin=true", FOLLOWS));
    link_run(l, 1 * MS);
    CHECK(rsti_send_path_holds(&l->publication->send_path));
    CHECK_EQ(l->bytes_read, 0);
    link_run(l, 6 * MS);
    CHECK_EQ(l->publication->send_path.path.track.item_count, 0);
    CHECK(l->publication->position <= 20 * 1408);
    link_close(l);
}

TEST(a_lost_introduction_costs_no_more_than_128_kib)
{
    rsti_send_path_t state = {0};
    int64_t words[RSTI_PATH_TOLD_COUNT] = {0};
    CHECK_EQ(rsti_send_path_limit(&state, INT64_C(1) << 40, 100, 8192), INT64_C(1) << 40);
    CHECK_EQ(rsti_send_path_init(&state, 0, 1408, 0), 0);
    for (int32_t i = 0; i < RSTI_PATH_TOLD_COUNT; i++) {
        state.told[i] = &words[i];
    }
    rsti_send_path_on_joined(&state, 5 * MS);
    CHECK_EQ(rsti_send_path_limit(&state, 8 << 20, 100, 8192), 100 + 128 * 1024);
    CHECK_EQ(rsti_send_path_limit(&state, 1000, 100, 8192), 1000);
    CHECK_EQ(rsti_send_path_limit(&state, 8 << 20, 100, 1 << 20), 100 + 512 * 1024);
    rsti_send_path_on_sent(&state, 1408, 1408, 6 * MS);
    const rsti_path_item_t item = {.contiguous = 1408, .highest = 1408, .received = 1408};
    rsti_send_path_on_item(&state, &item, 8 * MS);
    CHECK(rsti_send_path_holds(&state));
    CHECK_EQ(rsti_send_path_limit(&state, 8 << 20, 100, 8192), 8292); /* smaller than before */
    CHECK_EQ(rsti_send_path_limit(&state, 8 << 20, 100, 16 << 20), 8 << 20);
    rsti_send_path_on_joined(&state, 9 * MS); /* somebody else */
    CHECK(!rsti_send_path_holds(&state));
    (void)rsti_send_path_on_cycle(&state, 9 * MS + RSTI_PATH_UNKNOWN_NS, 9 * MS);
    CHECK_EQ(rsti_send_path_limit(&state, 8 << 20, 0, 8192), 128 * 1024);
    (void)rsti_send_path_on_cycle(&state, 10 * MS + RSTI_PATH_UNKNOWN_NS, 9 * MS);
    CHECK_EQ(rsti_send_path_limit(&state, 8 << 20, 0, 8192), 8 << 20);
    rsti_send_path_fini(&state);
}

static void become_reader_again(link_t *l)
{
    (void)add(l->sides[1].h, RSTI_CMD_ADD_SUBSCRIPTION,
        "aeron:udp?endpoint=10.0.0.2:24600|so-rcvbuf=16m|rcv-wnd=8m", 10);
    const rsti_ptr_array_t *images = &l->sides[1].h->driver->conductor->images;
    for (int i = 0; i < 200000 && l->image == NULL; i++) {
        link_step(l, INT64_MAX);
        const rsti_image_t *newest = images->count > 0 ? images->items[images->count - 1] : NULL;
        l->image = newest != NULL && newest->life == RSTI_LIFE_ACTIVE
            ? images->items[images->count - 1]
            : NULL;
    }
}

/* Its counts begin again, and the law goes on. */
TEST(the_next_reader_is_followed_too)
{
    const link_params_t params = {
        .rate_bytes_per_s = 100 * MBIT, .delay_ns = 5 * MS, .queue_bytes = 62000};
    link_t *l = link_open(&params);
    CHECK(link_stream(l, "rcv-wnd=8m", FOLLOWS));
    link_run(l, RSTI_NS_PER_S);
    const rsti_path_track_t *track = &l->publication->send_path.path.track;
    const int64_t items = track->item_count;
    CHECK(items > 300);
    const rsti_subscription_t *first = l->sides[1].h->driver->conductor->subscriptions.items[0];
    l->image = NULL;
    (void)take_away(l->sides[1].h, RSTI_CMD_REMOVE_SUBSCRIPTION, first->registration_id);
    link_run(l, 15 * RSTI_NS_PER_S);
    become_reader_again(l);
    CHECK(l->image != NULL);
    const int64_t read = l->bytes_read;
    link_run(l, RSTI_NS_PER_S);
    CHECK(track->item_count > items + 200);
    CHECK_EQ(track->refused_count, 0);
    CHECK(l->bytes_read - read > 80 * MBIT);
    CHECK(rsti_send_path_holds(&l->publication->send_path));
    link_close(l);
}

/* Padding is sent as its header: a path that has no room for all of it has sent it none the less,
 * and a repeated NAK is ignored as always. */
TEST(padding_sent_again_without_room_lingers)
{
    const link_params_t params = {
        .rate_bytes_per_s = 100 * MBIT, .delay_ns = 5 * MS, .queue_bytes = 62000};
    const int32_t frame = LINK_MESSAGE + RSTI_DATA_HEADER_LENGTH;
    const int32_t last = TERM / frame * frame - frame;
    link_t *l = link_open(&params);
    CHECK(link_stream(l, "rejoin=true", "term-length=64k|cc=path"));
    link_run(l, RSTI_NS_PER_S);
    l->offer_gap_ns = RSTI_NS_PER_S;
    link_run(l, RSTI_NS_PER_S / 2);
    rsti_network_publication_t *publication = l->publication;
    rsti_sender_t *sender = l->sides[0].h->driver->sender;
    const rsti_log_t *log = &publication->base.file.log;
    const rsti_nak_t nak = {.frame = {RSTI_NAK_LENGTH, 0, 0, RSTI_FRAME_NAK},
        .session_id = publication->base.session_id,
        .stream_id = 10,
        .term_id = log->initial_term_id + (int32_t)(*publication->snd_pos / TERM) - 1,
        .term_offset = last,
        .length = TERM - last};
    rsti_bucket_t *pace = &publication->send_path.pace;
    pace->filled_ns = sender->now_ns;
    pace->level = frame + RSTI_DATA_HEADER_LENGTH;
    CHECK(pace->level < nak.length);
    rsti_network_publication_on_nak(sender, publication, &nak, sender->now_ns);
    const int64_t resent = link_counter(l, 0, RSTI_SYSTEM_RETRANSMITS_SENT);
    CHECK_EQ(resent, 1);
    CHECK(pace->level < 1);
    link_run(l, MS);
    rsti_network_publication_on_nak(sender, publication, &nak, sender->now_ns);
    CHECK_EQ(link_counter(l, 0, RSTI_SYSTEM_RETRANSMITS_SENT), resent);
    link_close(l);
}

TEST(the_publisher_is_told_that_the_path_holds)
{
    const link_params_t params = {
        .rate_bytes_per_s = 10 * MBIT, .delay_ns = 5 * MS, .queue_bytes = 62000};
    link_t *l = link_open(&params);
    CHECK(link_stream(l, "rcv-wnd=8m", FOLLOWS));
    const int32_t *held_by = &l->publication->base.file.log.metadata->ext.held_by;
    link_run(l, RSTI_NS_PER_S);
    CHECK_EQ(*held_by, RSTI_HELD_BY_PATH);
    l->offer_gap_ns = 100 * MS; /* 14 kB/s */
    l->offer_burst = 1;
    link_run(l, 20 * RSTI_NS_PER_S);
    CHECK_EQ(*held_by, RSTI_HELD_BY_WINDOW); /* what was in the log is sent */
    link_close(l);
}

/* Each datagram waits a moment for its pace, and a look may find one of them. */
TEST(the_path_does_not_hold_a_publisher_of_short_bursts)
{
    const link_params_t params = {
        .rate_bytes_per_s = 1000 * MBIT, .delay_ns = MS, .queue_bytes = 62000};
    link_t *l = link_open(&params);
    CHECK(link_stream(l, "rejoin=true", FOLLOWS "|rs-rate=adaptive"));
    l->read_bytes_per_s = 16 * MBIT;
    l->read_ns = l->now_ns;
    l->message_length = 200;
    l->offer_gap_ns = 6 * MS;
    l->offer_burst = 13;
    link_run(l, 2 * RSTI_NS_PER_S);
    for (int i = 0; i < 5000; i++) {
        link_run(l, MS / 7);
        CHECK(l->publication->base.file.log.metadata->ext.held_by != RSTI_HELD_BY_PATH);
    }
    link_close(l);
}

TEST(tools_see_the_path)
{
    const link_params_t params = {
        .rate_bytes_per_s = 100 * MBIT, .delay_ns = 10 * MS, .queue_bytes = 250000, .loss = 0.05};
    link_t *l = link_open(&params);
    CHECK(link_stream(l, "rcv-wnd=8m", FOLLOWS));
    CHECK_EQ(told_to_tools(l, RSTI_COUNTER_PATH_BANDWIDTH), 0); /* not known yet */
    CHECK_EQ(told_to_tools(l, RSTI_COUNTER_PATH_RTT), 0);
    link_run(l, 4 * RSTI_NS_PER_S);
    const int64_t bandwidth = told_to_tools(l, RSTI_COUNTER_PATH_BANDWIDTH);
    const int64_t least_ns = told_to_tools(l, RSTI_COUNTER_PATH_RTT);
    const int64_t loss = told_to_tools(l, RSTI_COUNTER_PATH_LOSS);
    const int64_t under_way = told_to_tools(l, RSTI_COUNTER_PATH_UNDER_WAY);
    CHECK(bandwidth > 80 * MBIT && bandwidth < 110 * MBIT);
    CHECK(least_ns > 19 * MS && least_ns < 22 * MS); /* of resends: not exact */
    CHECK(loss > 35000 && loss < 65000); /* of a thousand datagrams; the law counts 3 % at most */
    CHECK(under_way > 100000 && under_way < 1000000);
    l->offer_gap_ns = 100 * MS;
    l->offer_burst = 0;
    link_run(l, 30 * RSTI_NS_PER_S);
    CHECK_EQ(told_to_tools(l, RSTI_COUNTER_PATH_UNDER_WAY), 0);
    link_close(l);
}

TEST(only_a_stream_that_follows_has_counters_of_the_path)
{
    const link_params_t params = {.rate_bytes_per_s = 100 * MBIT, .delay_ns = 5 * MS};
    link_t *l = link_open(&params);
    CHECK(link_stream(l, "rcv-wnd=128k", "term-length=16m"));
    link_run(l, 100 * MS);
    CHECK_EQ(told_to_tools(l, RSTI_COUNTER_PATH_BANDWIDTH), -1);
    CHECK_EQ(told_to_tools(l, RSTI_COUNTER_PATH_UNDER_WAY), -1);
    link_close(l);
}

/* The error's text for a channel; "": it is taken. */
static const char *refused(int32_t type, const char *channel)
{
    static char text[2048];
    harness_t *h = harness_open();
    const int64_t id = add(h, type, channel, STREAM);
    const answer_t *error = answer(h, RSTI_RSP_ON_ERROR, id);
    (void)snprintf(text, sizeof text, "%s", error != NULL ? error->text : "");
    harness_close(h);
    return text;
}

TEST(cc_path_is_for_publications_with_one_destination)
{
    static const struct {
        int32_t type;
        const char *channel, *word; /* NULL: taken */
    } rows[] = {
        {RSTI_CMD_ADD_PUBLICATION, "aeron:udp?endpoint=127.0.0.1:24500|cc=path", NULL},
        {RSTI_CMD_ADD_PUBLICATION, "aeron:udp?endpoint=127.0.0.1:24500|cc=cubic", NULL},
        {RSTI_CMD_ADD_PUBLICATION, "aeron:ipc?cc=path", "only UDP has one"},
        {RSTI_CMD_ADD_PUBLICATION,
            "aeron:udp?endpoint=224.20.30.39:24500|interface=localhost|"
            "cc=path",
            "one destination"},
        {RSTI_CMD_ADD_PUBLICATION, "aeron:udp?control=127.0.0.1:24501|control-mode=dynamic|cc=path",
            "one destination"},
        {RSTI_CMD_ADD_SUBSCRIPTION, "aeron:udp?endpoint=127.0.0.1:24500|cc=path",
            "the channel of the publication"},
        {RSTI_CMD_ADD_SUBSCRIPTION, "aeron:udp?endpoint=127.0.0.1:24500|cc=auto", NULL},
        {RSTI_CMD_ADD_SUBSCRIPTION, "aeron-spy:aeron:udp?endpoint=127.0.0.1:24500|cc=path", NULL},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const char *text = refused(rows[i].type, rows[i].channel);
        const bool is_right = rows[i].word == NULL ? text[0] == '\0'
                                                   : strstr(text, rows[i].word) != NULL;
        if (!is_right) {
            CHECK_FAIL("%s: \"%s\"", rows[i].channel, text);
        }
    }
}

TEST(the_driver_s_option_makes_named_streams_follow)
{
    static const struct {
        const char *channel;
        bool follows;
    } rows[] = {
        {"aeron:udp?endpoint=127.0.0.1:24500|rs-name=a", true},
        {"aeron:udp?endpoint=127.0.0.1:24500", false},
        {"aeron:udp?endpoint=127.0.0.1:24500|rs-name=a|cc=static", false},
        {"aeron:udp?endpoint=127.0.0.1:24500|cc=path", true},
        {"aeron:udp?endpoint=224.20.30.41:24500|interface=127.0.0.1|rs-name=a", false},
        {"aeron:udp?control=127.0.0.1:24501|control-mode=dynamic|rs-name=a", false},
        {RESPONSES "|response-correlation-id=prototype|rs-name=a", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int32_t follow = 0; follow < 2; follow++) {
            harness_t *h = harness_open();
            h->driver->params.follow_path = follow;
            (void)add(h, RSTI_CMD_ADD_PUBLICATION, rows[i].channel, STREAM);
            const rsti_ptr_array_t *publications = &h->driver->conductor->publications;
            CHECK_EQ(publications->count, 1);
            const rsti_network_publication_t *publication = publications->items[0];
            const bool is_asked = strstr(rows[i].channel, "cc=path") != NULL;
            CHECK_EQ(publication->send_path.is_wanted,
                rows[i].follows && (follow != 0 || is_asked));
            CHECK_EQ(publication->send_path.is_silence_told,
                publication->send_path.is_wanted && !is_asked);
            harness_close(h);
        }
    }
}

CHECK_MAIN(RUN(a_source_that_follows_the_path_is_told_what_arrives),
    RUN(what_is_only_late_is_not_missing), RUN(others_are_told_nothing_of_it),
    RUN(a_stream_fills_a_link_and_not_its_queue), RUN(the_window_lets_a_long_path_flow_by_default),
    RUN(a_receiver_that_tells_nothing_is_limited_by_its_window_alone),
    RUN(a_reader_of_few_small_messages_has_two_before_it),
    RUN(a_receiver_says_that_it_tells_before_data_comes),
    RUN(a_lost_introduction_costs_no_more_than_128_kib), RUN(the_next_reader_is_followed_too),
    RUN(padding_sent_again_without_room_lingers), RUN(the_publisher_is_told_that_the_path_holds),
    RUN(the_path_does_not_hold_a_publisher_of_short_bursts), RUN(tools_see_the_path),
    RUN(only_a_stream_that_follows_has_counters_of_the_path),
    RUN(cc_path_is_for_publications_with_one_destination),
    RUN(the_driver_s_option_makes_named_streams_follow))
