/* rs-fill-window: a reader slower than an Aeron sender announces a smaller window while the image
 * fills up (flow/fill_window.h). Shown by the status messages and the queue on a link in memory,
 * and step by step where the moment counts. */
#include "driver/conductor/image_window.h"
#include "tests/driver/link.h"

#define STREAM 10
#define SESSION 1234
#define MTU 1408
#define WINDOW (1 << 20)
#define READS 20000000
#define LINK 200000000
#define SAMPLES 5000
#define SAMPLE_NS (RSTI_NS_PER_S / SAMPLES)
#define OURS "127.0.0.1:31001"
#define AERONS "127.0.0.1:31002"

/* ---- over a link ---- */

static const int64_t delays_ns[] = {100000, 500000, 5000000};

/* The contents of the status messages. */
typedef struct heard_t {
    int64_t count, position, least_window, most_window, last_window;
    /* each new position is more than a quarter of the full window further, or in another term */
    bool is_regular;
} heard_t;

static bool hear(void *arg, int side, const uint8_t *data, size_t length)
{
    heard_t *heard = arg;
    rsti_sm_t sm;
    if (side == 1 && length >= sizeof sm) {
        memcpy(&sm, data, sizeof sm);
        if (sm.frame.type == RSTI_FRAME_SM && sm.receiver_window > 0) {
            const int64_t position = ((int64_t)sm.consumption_term_id << 32)
                + sm.consumption_term_offset;
            heard->is_regular = heard->is_regular
                && (heard->count == 0 || position == heard->position
                    || position > heard->position + WINDOW / 4);
            heard->position = position;
            heard->count++;
            heard->last_window = sm.receiver_window;
            heard->least_window = rsti_min_i64(heard->least_window, sm.receiver_window);
            heard->most_window = rsti_max_i64(heard->most_window, sm.receiver_window);
        }
    }
    return false;
}

static heard_t nothing_heard(void)
{
    return (heard_t){.least_window = INT64_MAX, .is_regular = true};
}

/* Connected, and a second later. */
static link_t *begin(int64_t delay_ns, const char *reader, heard_t *heard)
{
    const link_params_t params = {
        .rate_bytes_per_s = LINK, .delay_ns = delay_ns, .seed = 1, .is_aeron = true};
    link_t *l = link_open(&params);
    l->read_bytes_per_s = READS;
    *heard = nothing_heard();
    l->drop = hear;
    l->drop_arg = heard;
    char channel[64];
    snprintf(channel, sizeof channel, "rcv-wnd=1m%s", reader);
    check_failures += !link_stream(l, channel, "term-length=8m");
    link_run(l, RSTI_NS_PER_S);
    return l;
}

static double reads_in(link_t *l, int64_t ns, int64_t bytes_per_s)
{
    const int64_t before = l->bytes_read;
    const int64_t began_ns = l->now_ns;
    link_run(l, ns);
    return (double)(l->bytes_read - before) * 1e9 / (double)(l->now_ns - began_ns)
        / (double)bytes_per_s;
}

typedef struct outcome_t {
    double share;      /* of the reader's rate */
    double p50, p99;   /* of the queue, as a share of the window */
    int64_t overruns;
    heard_t heard;
} outcome_t;

static outcome_t slow_reader(int64_t delay_ns, const char *reader)
{
    static int64_t queue[SAMPLES];
    outcome_t outcome = {0};
    link_t *l = begin(delay_ns, reader, &outcome.heard);
    for (int i = 0; i < SAMPLES; i++) {
        outcome.share += reads_in(l, SAMPLE_NS, READS) / SAMPLES;
        queue[i] = l->image->received - *l->image->subscribers.items[0].position;
    }
    qsort(queue, SAMPLES, sizeof *queue, link_compare);
    outcome.p50 = (double)queue[SAMPLES / 2] / WINDOW;
    outcome.p99 = (double)queue[SAMPLES * 99 / 100] / WINDOW;
    outcome.overruns = link_counter(l, 1, RSTI_SYSTEM_FLOW_CONTROL_OVER_RUNS);
    fprintf(stderr,
        "%4.1f ms%-21s %.3f of the reader, queue %.3f %.3f, %" PRId64
        " status messages, windows %" PRId64 " to %" PRId64 "\n",
        (double)delay_ns / 5e5, reader, outcome.share, outcome.p50, outcome.p99,
        outcome.heard.count, outcome.heard.least_window, outcome.heard.most_window);
    link_close(l);
    return outcome;
}

TEST(the_queue_of_a_slow_reader_is_shorter)
{
    for (int i = 0; i < 3; i++) {
        const outcome_t credit = slow_reader(delays_ns[i], "");
        const outcome_t cut = slow_reader(delays_ns[i], "|rs-fill-window=true");
        CHECK(credit.share >= 0.97 && cut.share >= 0.97);
        CHECK_EQ(credit.overruns + cut.overruns, 0);
        CHECK(credit.p99 > 0.75); /* the reader's queue is the window */
        CHECK(cut.p50 <= 0.7 * credit.p50);
        CHECK(cut.p99 <= 0.8 * credit.p99);
        CHECK(cut.heard.least_window >= MTU && cut.heard.most_window == WINDOW);
    }
}

TEST(without_the_option_every_window_is_whole)
{
    for (int i = 0; i < 3; i++) {
        const outcome_t never = slow_reader(delays_ns[i], "");
        const outcome_t no = slow_reader(delays_ns[i], "|rs-fill-window=false");
        CHECK_EQ(never.heard.least_window, WINDOW);
        CHECK_EQ(never.heard.most_window, WINDOW);
        CHECK(never.heard.is_regular);
        CHECK_EQ(never.heard.count, no.heard.count);
        CHECK_EQ(never.heard.position, no.heard.position);
        CHECK_EQ(never.heard.least_window, no.heard.least_window);
        CHECK_EQ(never.heard.most_window, no.heard.most_window);
        CHECK_EQ(never.heard.last_window, no.heard.last_window);
        CHECK_EQ(never.heard.is_regular, no.heard.is_regular);
    }
}

/* It stops for a second, and then reads twice as fast as before, which needs the whole window on
 * the long path. */
static void stop_and_go(int64_t delay_ns, const char *reader)
{
    heard_t heard;
    link_t *l = begin(delay_ns, reader, &heard);
    for (int i = 0; i < 3; i++) {
        l->read_bytes_per_s = 1;
        link_run(l, RSTI_NS_PER_S);
        l->read_bytes_per_s = 2 * READS;
        l->read_ns = l->now_ns;
        const double soon = reads_in(l, 50 * RSTI_NS_PER_MS, 2 * READS);
        const double later = reads_in(l, 200 * RSTI_NS_PER_MS, 2 * READS);
        fprintf(stderr, "%4.1f ms%-21s after a stop %.3f of the reader, then %.3f\n",
            (double)delay_ns / 5e5, reader, soon, later);
        CHECK(soon >= 0.97 && later >= 0.97);
        l->read_bytes_per_s = READS;
        link_run(l, 200 * RSTI_NS_PER_MS);
    }
    CHECK(heard.least_window >= MTU);
    l->read_bytes_per_s = 1;
    link_run(l, 200 * RSTI_NS_PER_MS);
    l->read_bytes_per_s =
        0; /* all available data: no queue is left that would justify a small window */
    link_run(l, 2 * delay_ns + 5 * RSTI_NS_PER_MS);
    CHECK_EQ(heard.last_window, WINDOW);
    CHECK_EQ(link_counter(l, 1, RSTI_SYSTEM_FLOW_CONTROL_OVER_RUNS), 0);
    link_close(l);
}

TEST(a_reader_that_stops_goes_on_at_once)
{
    for (int i = 0; i < 3; i++) {
        stop_and_go(delays_ns[i], "");
        stop_and_go(delays_ns[i], "|rs-fill-window=true");
    }
}

/* ---- step by step ---- */

static int64_t destination(harness_t *h, int64_t id, const char *channel)
{
    rsti_command_t c = {
        .type = RSTI_CMD_ADD_RCV_DESTINATION,
        .registration_id = id,
        .channel = {channel, (int32_t)strlen(channel)},
    };
    return command(h, &c);
}

static rsti_socket_t *socket_at(const harness_t *h, int32_t slot)
{
    const rsti_receive_endpoint_t *endpoint = h->driver->conductor->receive_endpoints.items[0];
    return endpoint->owned[slot]->socket;
}

static void send_setup(harness_t *h, int32_t slot, const char *from, uint8_t flags)
{
    const rsti_setup_t setup = {
        .frame = {RSTI_SETUP_LENGTH, 0, flags, RSTI_FRAME_SETUP},
        .session_id = SESSION,
        .stream_id = STREAM,
        .initial_term_id = 7,
        .active_term_id = 7,
        .term_length = 65536,
        .mtu = MTU,
    };
    inject(h, socket_at(h, slot), from, &setup, sizeof setup);
    pass(h);
    pass(h);
}

/* Data up to this position, 1 KiB at a time, fast enough that no frame is late. */
static void bring(harness_t *h, const char *from, int64_t *end, int64_t to)
{
    for (; *end < to; *end += 1024) {
        uint8_t datagram[1024] = {0};
        rsti_data_header_t header;
        rsti_data_header_fill(&header, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_DATA, SESSION, STREAM,
            7 + (int32_t)(*end >> 16), (int32_t)(*end & 0xFFFF));
        header.frame.frame_length = sizeof datagram;
        memcpy(datagram, &header, sizeof header);
        inject(h, socket_at(h, 0), from, datagram, sizeof datagram);
        pass(h);
    }
}

static void consume(harness_t *h, int64_t to)
{
    const rsti_image_t *image = h->driver->conductor->images.items[0];
    *image->subscribers.items[0].position = to;
    advance_alive(h, 2 * MS, MS);
}

/* The window in the last status message to this address; 0: there was none. */
static int32_t window_told(harness_t *h, const char *to)
{
    const struct sockaddr_storage address = address_of(to);
    int32_t window = 0;
    for (int i = 0; i < h->sent_count; i++) {
        rsti_sm_t sm;
        memcpy(&sm, h->sent[i].data, sizeof sm);
        if (sm.frame.type == RSTI_FRAME_SM && rsti_netaddr_equal(&h->sent[i].address, &address)) {
            window = sm.receiver_window;
        }
    }
    return window;
}

/* When the window is full, one message is read. Its position lies in the next term, so a status
 * message is due whatever the window. */
static void fill_to_the_brim(harness_t *h, const char *from)
{
    int64_t end = 0;
    for (int64_t at = 0; at <= 63 * 1024; at += 1024) {
        bring(h, from, &end, at);
        consume(h, at);
    }
    bring(h, from, &end, 63 * 1024 + 32768);
    advance_alive(h, 2 * MS, MS);
    forget_frames(h);
    consume(h, 64 * 1024);
}

static harness_t *open_reader(const char *options, bool is_default)
{
    harness_t *h = harness_open();
    h->driver->params.fill_window = is_default;
    char channel[128];
    snprintf(channel, sizeof channel, "aeron:udp?control-mode=manual|rcv-wnd=32k%s", options);
    const int64_t id = add(h, RSTI_CMD_ADD_SUBSCRIPTION, channel, STREAM);
    (void)destination(h, id, "aeron:udp?endpoint=127.0.0.1:24501");
    (void)destination(h, id, "aeron:udp?endpoint=127.0.0.1:24502");
    return h;
}

TEST(one_mtu_at_least_and_the_whole_at_once)
{
    harness_t *h = open_reader("|rs-fill-window=true", false);
    send_setup(h, 0, AERONS, 0);
    fill_to_the_brim(h, AERONS);
    CHECK_EQ(window_told(h, AERONS), MTU);
    forget_frames(h);
    consume(h, 65 * 1024); /* too little for another status message */
    CHECK_EQ(window_told(h, AERONS), 0);
    consume(h, 71 * 1024); /* less than a quarter of the window, yet the limit moves by so much */
    const int32_t told = window_told(h, AERONS);
    CHECK(told > MTU && told < 32768);
    const rsti_image_t *image = h->driver->conductor->images.items[0];
    int64_t at = 71 * 1024;
    while (rsti_image_window(image) < 32768) {
        forget_frames(h);
        at += 1024;
        CHECK(at < 95 * 1024);
        consume(h, at);
    }
    CHECK_EQ(window_told(h, AERONS), 32768);
    harness_close(h);
}

TEST(the_driver_says_it_where_the_channel_does_not)
{
    static const struct {
        const char *options;
        bool is_default;
        int32_t window;
    } cases[] = {
        {"", false, 32768},
        {"", true, MTU},
        {"|rs-fill-window=false", true, 32768},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        harness_t *h = open_reader(cases[i].options, cases[i].is_default);
        send_setup(h, 0, AERONS, 0);
        fill_to_the_brim(h, AERONS);
        CHECK_EQ(window_told(h, AERONS), cases[i].window);
        harness_close(h);
    }
}

TEST(a_source_of_ours_keeps_the_window_beside_one_of_aerons)
{
    harness_t *h = open_reader("|rs-fill-window=true", false);
    send_setup(h, 0, OURS, RSTI_SETUP_FLAG_RSTREAM);
    send_setup(h, 1, AERONS, 0);
    CHECK_EQ(h->driver->conductor->images.count, 1);
    fill_to_the_brim(h, OURS);
    CHECK_EQ(window_told(h, OURS), 32768);
    CHECK_EQ(window_told(h, AERONS), MTU);
    forget_frames(h);
    send_setup(h, 1, AERONS, RSTI_SETUP_FLAG_RSTREAM); /* its first SETUP counts */
    advance_alive(h, 201 * MS, 67 * MS);
    CHECK_EQ(window_told(h, OURS), 32768);
    CHECK_EQ(window_told(h, AERONS), MTU);
    harness_close(h);
}

TEST(it_belongs_to_the_subscription)
{
    harness_t *h = harness_open();
    const int64_t publication = add(h, RSTI_CMD_ADD_PUBLICATION,
        "aeron:udp?endpoint=127.0.0.1:24501|rs-fill-window=true", STREAM);
    CHECK(strstr(answer(h, RSTI_RSP_ON_ERROR, publication)->text, "rs-fill-window=true") != NULL);
    const int64_t reader = add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:udp?control-mode=manual",
        STREAM);
    const int64_t there = destination(h, reader,
        "aeron:udp?endpoint=127.0.0.1:24501|rs-fill-window=false");
    CHECK(strstr(answer(h, RSTI_RSP_ON_ERROR, there)->text, "rs-fill-window=false") != NULL);
    const int64_t wrong = add(h, RSTI_CMD_ADD_SUBSCRIPTION,
        "aeron:udp?endpoint=127.0.0.1:24501|rs-fill-window=1", STREAM);
    CHECK(strstr(answer(h, RSTI_RSP_ON_ERROR, wrong)->text, "rs-fill-window=1") != NULL);
    harness_close(h);
}

CHECK_MAIN(RUN(the_queue_of_a_slow_reader_is_shorter),
    RUN(without_the_option_every_window_is_whole), RUN(a_reader_that_stops_goes_on_at_once),
    RUN(one_mtu_at_least_and_the_whole_at_once), RUN(the_driver_says_it_where_the_channel_does_not),
    RUN(a_source_of_ours_keeps_the_window_beside_one_of_aerons),
    RUN(it_belongs_to_the_subscription))
