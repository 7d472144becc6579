/* test_rate_udp.c: laws of rate at work: two drivers on a link in virtual time (link.h), a reader
 * that is slower than its publisher, and the fill NAKs between them. */
#include "driver/receiver/image_connections.h"
#include "protocol/sm_fill.h"
#include "protocol/sm_items.h"
#include "tests/driver/link.h"

#define MB INT64_C(1000000)
#define BURST_NS (2 * MS)

/* The datagrams sent from side 0 to side 1, and the status messages in the other direction. */
typedef struct traffic_t {
    int64_t data_bytes, data_count, setup_flags, fill_naks, clears;
    int64_t allowed; /* by the last fill NAK; -1: none */
    int64_t target_count, target_ns,
        target_lost; /* the sender's target, sent to its receivers; so many are lost */
    double loss;
    rsti_rng_t rng;
} traffic_t;

static void on_item(void *arg, uint8_t type, const uint8_t *value, uint8_t length)
{
    traffic_t *traffic = arg;
    if (type == RSTI_SM_ITEM_FILL && length >= RSTI_SM_FILL_LENGTH) {
        rsti_sm_fill_t fill;
        rsti_sm_fill_decode(&fill, value);
        traffic->fill_naks++;
        traffic->clears += fill.is_clear;
        traffic->allowed = fill.is_clear ? traffic->allowed : fill.allowed;
    }
}

static void on_sender_item(void *arg, uint8_t type, const uint8_t *value, uint8_t length)
{
    traffic_t *traffic = arg;
    if (type == RSTI_SM_ITEM_TARGET_DELAY && length == sizeof traffic->target_ns) {
        traffic->target_ns = rsti_get_i64(value);
        traffic->target_count++;
    }
}

static bool look(void *arg, int side, const uint8_t *data, size_t length)
{
    traffic_t *traffic = arg;
    const rsti_frame_header_t *header = (const void *)data;
    if (side == 0 && header->type == RSTI_FRAME_SETUP) {
        traffic->setup_flags = header->flags;
    } else if (side == 0 && header->type == RSTI_FRAME_SM) {
        (void)rsti_sm_items_read(data + RSTI_SM_ITEMS_OFFSET, length - RSTI_SM_ITEMS_OFFSET,
            on_sender_item, traffic);
        return traffic->target_lost-- > 0;
    } else if (side == 0 && length > RSTI_DATA_HEADER_LENGTH) {
        traffic->data_bytes += (int64_t)length;
        traffic->data_count++;
        return rsti_rng_unit(&traffic->rng) < traffic->loss;
    } else if (side == 1 && header->type == RSTI_FRAME_SM && length > RSTI_SM_ITEMS_OFFSET) {
        (void)rsti_sm_items_read(data + RSTI_SM_ITEMS_OFFSET, length - RSTI_SM_ITEMS_OFFSET,
            on_item, traffic);
    }
    return false;
}

static link_t *begin_with(traffic_t *traffic, const link_params_t *params, const char *reader,
    const char *law)
{
    char publisher[128];
    link_t *l = link_open(params);
    *traffic = (traffic_t){.allowed = -1};
    rsti_rng_init(&traffic->rng, params->seed);
    l->drop = look;
    l->drop_arg = traffic;
    snprintf(publisher, sizeof publisher, "term-length=16m|rs-rate=%s", law);
    if (!link_stream(l, reader, publisher)) {
        fprintf(stderr, "no stream: %s\n", rst_last_error_text());
        abort();
    }
    return l;
}

static link_t *begin(traffic_t *traffic, const link_params_t *params, const char *law)
{
    return begin_with(traffic, params, "rcv-wnd=4m", law);
}

static int64_t told(const link_t *l, int side, int32_t type_id)
{
    const rsti_counters_t *counters = &l->sides[side].h->driver->counters.counters;
    const int64_t id = side == 0 ? l->publication->base.registration_id : l->image->correlation_id;
    const int32_t found = rsti_counters_find(counters, type_id, id);
    return found < 0 ? -1 : *rsti_counter_address(counters, found);
}

TEST(a_fixed_rate_holds_whatever_is_lost)
{
    const double losses[] = {0, 0.05};
    for (int i = 0; i < 2; i++) {
        traffic_t traffic;
        const int64_t rate = 10 * 1024 * 1024;
        link_t *l = begin(&traffic, &(link_params_t){.delay_ns = MS, .seed = check_seed()},
            "fixed,r:10m");
        traffic.loss = losses[i];
        link_run(l, 100 * MS); /* the saved burst is used up */
        traffic.data_bytes = 0;
        const int64_t before = l->bytes_read;
        link_run(l, RSTI_NS_PER_S);
        CHECK(traffic.data_bytes <= rate + rate * BURST_NS / RSTI_NS_PER_S);
        CHECK(traffic.data_bytes >= rate * 98 / 100);
        CHECK((double)(l->bytes_read - before) >= (double)rate * (1 - losses[i]) * 0.95);
        CHECK_EQ(told(l, 0, RSTI_COUNTER_RATE), rate);
        link_close(l);
    }
}

TEST(datagrams_per_second_hold_too)
{
    traffic_t traffic;
    link_t *l = begin(&traffic, &(link_params_t){.delay_ns = MS}, "fixed,p:2000");
    link_run(l, 100 * MS);
    traffic.data_count = 0;
    link_run(l, RSTI_NS_PER_S);
    CHECK(traffic.data_count <= 2000 + 4);
    CHECK(traffic.data_count >= 1960);
    link_close(l);
}

/* Now one message of 96 bytes, 128 with its header, in each gap: eleven fill a datagram. */
static void offer_small(link_t *l, int64_t gap_ns)
{
    l->message_length = 96;
    l->offer_gap_ns = gap_ns;
    l->offer_burst = 1;
    l->offer_due_ns = l->now_ns;
}

/* Small messages come at twice the permitted rate of datagrams. Each could be sent at once until
 * the tokens are used up. Near the limit they share datagrams instead, so some of the burst is
 * always left. */
TEST(near_the_limit_small_messages_share_datagrams)
{
    traffic_t traffic;
    link_t *l = begin(&traffic, &(link_params_t){.delay_ns = MS}, "fixed,p:20000");
    const rsti_bucket_t *bucket = &l->publication->send_rate.tokens.datagrams;
    offer_small(l, MS / 40);
    link_run(l, 100 * MS);
    traffic.data_count = traffic.data_bytes = 0;
    double least = bucket->burst;
    for (int i = 0; i < 5000; i++) {
        link_run(l, MS / 10);
        least = bucket->level < least ? bucket->level : least;
    }
    CHECK(traffic.data_bytes >= 39000 / 2 * 128);
    CHECK(traffic.data_count <= 20000 / 2 + 40);
    CHECK(least > bucket->burst / 8);
    CHECK(link_latency_ns(l, 1.0) <= MS + RSTI_SEND_BATCH_NS + MS / 10);
    link_close(l);
}

TEST(far_from_the_limit_each_message_goes_at_once)
{
    traffic_t traffic;
    link_t *l = begin(&traffic, &(link_params_t){.delay_ns = MS}, "fixed,p:20000");
    offer_small(l, MS);
    link_run(l, 500 * MS);
    CHECK(link_latency_ns(l, 1.0) <= MS + MS / 10);
    link_close(l);
}

/* A law that counts bytes does the same, and a full datagram does not wait. */
TEST(near_a_limit_of_bytes_a_part_waits_for_a_millisecond_at_most)
{
    traffic_t traffic;
    link_t *l = begin(&traffic, &(link_params_t){.delay_ns = MS}, "fixed,r:4m");
    offer_small(l, MS / 32); /* 4.096 MB in a second: 0.98 of the rate */
    link_run(l, 300 * MS);
    traffic.data_count = traffic.data_bytes = 0;
    link_run(l, 500 * MS);
    CHECK(traffic.data_bytes >= 15900 * 128);
    CHECK(link_latency_ns(l, 1.0) <= MS + RSTI_SEND_BATCH_NS + MS / 10);
    link_close(l);
}

/* Otherwise the log would be filled at once, and a message would wait for seconds. */
TEST(the_publisher_is_not_far_ahead_of_a_slow_rate)
{
    traffic_t traffic;
    link_t *l = begin(&traffic, &(link_params_t){.delay_ns = MS}, "fixed,r:1m");
    link_run(l, RSTI_NS_PER_S);
    const int64_t ahead = rsti_load_acquire_i64(l->publication->base.pub_lmt)
        - rsti_load_acquire_i64(l->publication->snd_pos);
    CHECK(ahead > 0);
    CHECK(ahead <= 32 * 1408);
    CHECK(link_latency_ns(l, 0.99) < 100 * MS);
    link_close(l);
}

TEST(law_is_shown_in_the_setup_and_in_counters)
{
    traffic_t traffic;
    link_t *l = begin(&traffic, &(link_params_t){.delay_ns = MS}, "adaptive");
    CHECK_EQ(traffic.setup_flags, RSTI_SETUP_FLAG_RSTREAM | RSTI_SETUP_FLAG_FILL);
    CHECK(told(l, 0, RSTI_COUNTER_RATE) > 0);
    CHECK_EQ(told(l, 1, RSTI_COUNTER_RECEIVER_FILL_NAKS), 0);
    link_close(l);
    l = begin(&traffic, &(link_params_t){.delay_ns = MS}, "unlimited");
    CHECK_EQ(traffic.setup_flags, RSTI_SETUP_FLAG_RSTREAM);
    CHECK_EQ(told(l, 0, RSTI_COUNTER_RATE), -1);
    CHECK_EQ(told(l, 1, RSTI_COUNTER_RECEIVER_FILL_NAKS), -1);
    link_close(l);
}

TEST(timely_reader_sends_no_fill_nak)
{
    traffic_t traffic;
    link_t *l = begin(&traffic, &(link_params_t){.delay_ns = MS / 2}, "adaptive");
    l->offer_gap_ns = MS;
    l->offer_burst = 36; /* 50 MB/s */
    l->read_bytes_per_s = 100 * MB;
    link_run(l, 200 * MS); /* the stream began with all that it could send */
    CHECK_EQ(traffic.clears, 1);
    const int64_t before = traffic.fill_naks;
    link_run(l, 3 * RSTI_NS_PER_S);
    CHECK(l->bytes_read > 150 * MB);
    CHECK_EQ(traffic.fill_naks, before);
    CHECK(told(l, 1, RSTI_COUNTER_RECEIVER_FILL) < 100);
    link_close(l);
}

/* The slow reader is fully used, with a short queue; without the law the queue is the whole window.
 */
TEST(fill_drives_the_rate_to_the_reader_s_rate)
{
    double fills[2];
    for (int i = 0; i < 2; i++) {
        traffic_t traffic;
        link_t *l = begin(&traffic, &(link_params_t){.delay_ns = MS / 2},
            i == 0 ? "adaptive" : "unlimited");
        l->read_bytes_per_s = 40 * MB;
        link_run(l, RSTI_NS_PER_S);
        const int64_t before = l->bytes_read;
        double sum = 0;
        for (int step = 0; step < 200; step++) {
            link_run(l, 10 * MS);
            sum += (double)told(l, 1, RSTI_COUNTER_RECEIVER_FILL) / 1000;
        }
        fills[i] = sum / 200;
        const double used = (double)(l->bytes_read - before) / (double)(80 * MB);
        fprintf(stderr, "%s: used %.3f, fill %.3f, fill NAKs %" PRId64 ", X %.2f\n",
            i == 0 ? "adaptive" : "credit", used, fills[i], traffic.fill_naks,
            (double)told(l, 0, RSTI_COUNTER_MARGIN) / 1000);
        CHECK(used > 0.95);
        if (i == 0) {
            CHECK(traffic.fill_naks > 0);
            CHECK(traffic.fill_naks <= 3 * RSTI_NS_PER_S / RSTI_FILL_PERIOD_NS + 1);
            CHECK_EQ(traffic.clears, 0); /* it stays at the set point */
            CHECK(told(l, 0, RSTI_COUNTER_FILL_NAKS) > 0);
            CHECK_EQ(told(l, 1, RSTI_COUNTER_RECEIVER_FILL_NAKS), traffic.fill_naks);
            CHECK_EQ(link_counter(l, 1, RSTI_SYSTEM_FLOW_CONTROL_OVER_RUNS), 0);
        }
        link_close(l);
    }
    CHECK(fills[0] < fills[1] / 2);
}

/* It may fall a window behind, and is then let go. */
TEST(an_untethered_reader_sends_no_fill_nak)
{
    traffic_t traffic;
    link_t *l = begin_with(&traffic, &(link_params_t){.delay_ns = MS / 2},
        "rcv-wnd=4m|tether=false", "adaptive");
    l->read_bytes_per_s = 40 * MB;
    link_run(l, 2 * RSTI_NS_PER_S);
    CHECK_EQ(traffic.fill_naks, 0);
    CHECK(l->image->received - *l->image->subscribers.items[0].position > 3 << 20);
    link_close(l);
}

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* The capacity falls and rises again: its utilization, and the length of the queue (thousandths of
 * the window, 99 % of samples). */
static void follow(const char *law, double *used, int64_t *queue)
{
    static const int64_t capacities[] = {100, 40, 100};
    static int64_t looks[3 * 400];
    traffic_t traffic;
    link_t *l = begin(&traffic, &(link_params_t){.delay_ns = MS / 2, .seed = check_seed()}, law);
    l->read_bytes_per_s = 100 * MB;
    link_run(l, RSTI_NS_PER_S);
    const int64_t before = l->bytes_read;
    int count = 0;
    for (int phase = 0; phase < 3; phase++) {
        l->read_bytes_per_s = capacities[phase] * MB;
        for (int i = 0; i < 400; i++) {
            link_run(l, 5 * MS);
            looks[count++] = told(l, 1, RSTI_COUNTER_RECEIVER_FILL);
        }
    }
    qsort(looks, (size_t)count, sizeof looks[0], compare);
    *queue = looks[count * 99 / 100];
    *used = (double)(l->bytes_read - before) / (double)(2 * 240 * MB);
    fprintf(stderr, "%s: used %.3f, queue %" PRId64 " / %" PRId64 ", fill NAKs %" PRId64 "\n", law,
        *used, looks[count / 2], *queue, traffic.fill_naks);
    CHECK_EQ(link_counter(l, 1, RSTI_SYSTEM_FLOW_CONTROL_OVER_RUNS), 0);
    link_close(l);
}

TEST(capacity_that_changes_is_followed)
{
    int64_t queue, queue_of_credit;
    double used, used_by_credit;
    follow("adaptive", &used, &queue);
    follow("unlimited", &used_by_credit, &queue_of_credit);
    CHECK(used >= 0.95);
    CHECK(queue <= queue_of_credit / 2);
}

/* The stop of a reader is reported; after 250 ms its window may be filled, and the rate is back
 * soon after the reader goes on. */
TEST(a_stop_is_felt_and_forgotten)
{
    traffic_t traffic;
    link_t *l = begin(&traffic, &(link_params_t){.delay_ns = MS / 2}, "adaptive");
    l->read_bytes_per_s = 40 * MB;
    link_run(l, 5 * RSTI_NS_PER_S); /* for so long the first rate counts in the floor (rate.h) */
    const int64_t before = told(l, 0, RSTI_COUNTER_RATE);
    l->read_bytes_per_s = 1;
    link_run(l, 200 * MS);
    CHECK_EQ(traffic.allowed, 0);
    CHECK(told(l, 1, RSTI_COUNTER_RECEIVER_FILL) < 300);
    link_run(l, 300 * MS);
    CHECK_EQ(traffic.allowed, 4 * (4 << 20));
    CHECK(told(l, 0, RSTI_COUNTER_RATE) < before / 2);
    CHECK(told(l, 1, RSTI_COUNTER_RECEIVER_FILL) > 700);
    l->read_ns = l->now_ns;
    l->read_bytes_per_s = 40 * MB;
    const int64_t read = l->bytes_read;
    link_run(l, 200 * MS);
    CHECK(told(l, 0, RSTI_COUNTER_RATE) > before * 8 / 10);
    CHECK(l->bytes_read - read > 40 * MB / 5 * 9 / 10);
    link_close(l);
}

static void set_rate(link_t *l, const char *rate)
{
    rsti_command_t set = {.type = RSTI_CMD_SET_RATE,
        .registration_id = l->publication->base.registration_id,
        .channel = {rate, (int32_t)strlen(rate)}};
    (void)command(l->sides[0].h, &set);
}

/* One more SETUP tells receivers whether the sender follows fill. */
TEST(the_publisher_is_not_far_ahead_when_the_rate_falls)
{
    traffic_t traffic;
    link_t *l = begin(&traffic, &(link_params_t){.delay_ns = MS}, "fixed,r:200m");
    const int64_t *limit = l->publication->base.pub_lmt, *sent = l->publication->snd_pos;
    l->offer_gap_ns = 10 * MS; /* it uses a little of what it may send */
    l->offer_burst = 1;
    link_run(l, 100 * MS);
    CHECK(rsti_load_acquire_i64(limit) - rsti_load_acquire_i64(sent) > MB);
    set_rate(l, "fixed,r:1m");
    l->offer_gap_ns = 0;
    link_run(l, 20 * MS);
    const int64_t position = rsti_log_producer_position(&l->publication->base.file.log);
    CHECK(position - rsti_load_acquire_i64(sent) <= 32 * 1408);
    link_close(l);
}

TEST(another_law_while_running)
{
    traffic_t traffic;
    link_t *l = begin(&traffic, &(link_params_t){.delay_ns = MS / 2}, "unlimited");
    const int32_t *held_by = &l->publication->base.file.log.metadata->ext.held_by;
    l->read_bytes_per_s = 40 * MB;
    link_run(l, 300 * MS);
    CHECK_EQ(traffic.fill_naks, 0);
    CHECK_EQ(rsti_load_acquire_i32(held_by), RSTI_HELD_BY_WINDOW);
    set_rate(l, "adaptive");
    link_run(l, RSTI_NS_PER_S);
    CHECK(traffic.fill_naks > 0);
    CHECK(told(l, 1, RSTI_COUNTER_RECEIVER_FILL) < 300);
    set_rate(l, "fixed,r:1m");
    link_run(l, 300 * MS);
    CHECK_EQ(told(l, 0, RSTI_COUNTER_RATE), 1 << 20);
    CHECK_EQ(rsti_load_acquire_i32(held_by), RSTI_HELD_BY_RATE);
    set_rate(l, "fixed,r:20m"); /* the tokens stay, so there is no new burst */
    CHECK_EQ(told(l, 0, RSTI_COUNTER_RATE), 20 << 20);
    const int64_t before = l->bytes_read;
    link_run(l, RSTI_NS_PER_S);
    CHECK(l->bytes_read - before > (20 << 20) / 100 * 97);
    set_rate(l, "unlimited");
    link_run(l, 300 * MS);
    CHECK_EQ(traffic.setup_flags, RSTI_SETUP_FLAG_RSTREAM);
    traffic.fill_naks = 0;
    link_run(l, 300 * MS);
    CHECK_EQ(traffic.fill_naks, 0);
    CHECK(told(l, 1, RSTI_COUNTER_RECEIVER_FILL) > 800);
    link_close(l);
}

/* A law that gets no room for all its counters: the change is refused, nothing of it is applied,
 * and later commands are carried out. (Once the sender found the one existing counter and wrote to
 * the others through NULL: seed 72026313.) */
TEST(a_law_without_room_for_its_counters)
{
    traffic_t traffic;
    link_t *l = begin(&traffic, &(link_params_t){.delay_ns = MS / 2}, "unlimited");
    rsti_counters_manager_t *counters = &l->sides[0].h->driver->counters;
    int32_t first = -1, last = -1;
    for (int32_t id = 0; id >= 0;) {
        id = rsti_counters_allocate(counters, 1001, NULL, 0, "x", 1, 0);
        first = first < 0 ? id : first;
        last = id >= 0 ? id : last;
    }
    rsti_error_clear();
    rsti_counters_free(counters, last, -RSTI_NS_PER_S);
    set_rate(l, "adaptive");
    set_rate(l, "unlimited");
    link_run(l, 100 * MS);
    CHECK(!l->publication->send_rate.is_limited);
    for (int32_t id = first; id < last; id++) {
        rsti_counters_free(counters, id, -RSTI_NS_PER_S);
    }
    set_rate(l, "fixed,r:1m");
    link_run(l, 100 * MS);
    CHECK_EQ(told(l, 0, RSTI_COUNTER_RATE), 1 << 20);
    CHECK_EQ(told(l, 0, RSTI_COUNTER_MARGIN), 0);
    link_close(l);
}

/* The set point follows what the reader takes, so its demand needs no part in the law. */
TEST(a_small_demand_leaves_the_buffer_as_it_is)
{
    traffic_t traffic;
    link_t *l = begin(&traffic, &(link_params_t){.delay_ns = MS / 2}, "unlimited");
    rsti_counter_value_t *value = (rsti_counter_value_t *)(void *)l->image->subscribers.items[0]
                                      .position;
    rsti_position_ext_t *ext = (rsti_position_ext_t *)(void *)value->spare;
    l->read_bytes_per_s = 1;
    l->offer_gap_ns = RSTI_NS_PER_S;
    l->offer_burst = 128;
    l->offer_due_ns = l->now_ns;
    link_run(l, 100 * MS);
    const int64_t of_window = told(l, 1, RSTI_COUNTER_RECEIVER_FILL);
    CHECK(of_window > 30 && of_window < 60); /* 128 * 1408 of 4 MiB */
    ext->demand = 256;
    ext->mean_bytes = 1408;
    ext->magic = RSTI_EXT_MAGIC;
    link_run(l, 100 * MS);
    CHECK_EQ(told(l, 1, RSTI_COUNTER_RECEIVER_FILL), of_window);
    ext->demand = -7; /* nonsense */
    ext->mean_bytes = INT64_MIN;
    link_run(l, 100 * MS);
    CHECK_EQ(told(l, 1, RSTI_COUNTER_RECEIVER_FILL), of_window);
    ext->demand = INT64_MAX - 1;
    ext->mean_bytes = INT64_MAX;
    link_run(l, 100 * MS);
    CHECK_EQ(told(l, 1, RSTI_COUNTER_RECEIVER_FILL), of_window);
    link_close(l);
}

/* A receiver's driver starts with RSTI_TARGET_DELAY_NS; a lost value is sent again, and so is a new
 * one. */
TEST(receivers_learn_the_delay_that_the_law_aims_at)
{
    traffic_t traffic;
    link_t *l = begin(&traffic, &(link_params_t){.delay_ns = MS / 2}, "adaptive,d:4ms");
    traffic.target_lost = 1;
    l->read_bytes_per_s = 40 * MB;
    link_run(l, 2 * RSTI_NS_PER_S);
    CHECK_EQ(traffic.target_ns, 4 * MS);
    CHECK_EQ(l->image->fill.fill.target_delay_ns, 4 * MS);
    const int64_t before = traffic.target_count;
    CHECK(before >= 2);
    link_run(l, RSTI_NS_PER_S);
    CHECK(traffic.target_count - before <= 11); /* ten reports a second, and one round trip */
    set_rate(l, "adaptive,d:25ms");
    link_run(l, RSTI_NS_PER_S);
    CHECK_EQ(traffic.target_ns, 25 * MS);
    CHECK_EQ(l->image->fill.fill.target_delay_ns, 25 * MS);
    link_close(l);
}

/* Hostile values change nothing but the loss L, and that within its limits. */
TEST(a_delay_that_cannot_be_is_cut)
{
    traffic_t traffic;
    link_t *l = begin(&traffic, &(link_params_t){.delay_ns = MS / 2}, "adaptive,d:4ms");
    rsti_image_t *image = l->image;
    const int64_t words[][2] = {{INT64_MAX, RSTI_REPORT_RTT_MAX_NS}, {-1, RSTI_REPORT_RTT_MAX_NS},
        {0, RSTI_REPORT_RTT_MAX_NS}, {1, 1}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        uint8_t frame[RSTI_SM_ITEMS_OFFSET + RSTI_SM_ITEMS_MAX] = {0};
        rsti_sm_items_writer_t writer;
        rsti_sm_items_begin(&writer, frame + RSTI_SM_ITEMS_OFFSET, RSTI_SM_ITEMS_MAX);
        (void)rsti_sm_items_add(&writer, RSTI_SM_ITEM_TARGET_DELAY, &words[i][0],
            sizeof words[i][0]);
        rsti_sm_t *sm = (void *)frame;
        sm->frame.frame_length = (int32_t)(RSTI_SM_ITEMS_OFFSET + rsti_sm_items_end(&writer));
        rsti_image_on_echo(l->sides[1].h->driver->receiver, image, sm);
        CHECK_EQ(image->fill.target_ns, words[i][1]);
    }
    link_close(l);
}

/* An Aeron sender would not understand an additional status message. */
TEST(an_aeron_sender_gets_no_fill_nak)
{
    traffic_t traffic;
    link_t *l = begin(&traffic, &(link_params_t){.delay_ns = MS / 2, .is_aeron = true}, "adaptive");
    l->read_bytes_per_s = 10 * MB;
    link_run(l, RSTI_NS_PER_S);
    CHECK_EQ(traffic.fill_naks, 0);
    CHECK_EQ(traffic.target_count, 0);
    CHECK(told(l, 1, RSTI_COUNTER_RECEIVER_FILL) > 700); /* credit alone */
    link_close(l);
}

CHECK_MAIN(RUN(a_fixed_rate_holds_whatever_is_lost), RUN(datagrams_per_second_hold_too),
    RUN(near_the_limit_small_messages_share_datagrams),
    RUN(far_from_the_limit_each_message_goes_at_once),
    RUN(near_a_limit_of_bytes_a_part_waits_for_a_millisecond_at_most),
    RUN(the_publisher_is_not_far_ahead_of_a_slow_rate),
    RUN(the_publisher_is_not_far_ahead_when_the_rate_falls),
    RUN(law_is_shown_in_the_setup_and_in_counters), RUN(timely_reader_sends_no_fill_nak),
    RUN(fill_drives_the_rate_to_the_reader_s_rate), RUN(an_untethered_reader_sends_no_fill_nak),
    RUN(a_stop_is_felt_and_forgotten), RUN(capacity_that_changes_is_followed),
    RUN(another_law_while_running), RUN(a_law_without_room_for_its_counters),
    RUN(a_small_demand_leaves_the_buffer_as_it_is),
    RUN(receivers_learn_the_delay_that_the_law_aims_at), RUN(a_delay_that_cannot_be_is_cut),
    RUN(an_aeron_sender_gets_no_fill_nak))
