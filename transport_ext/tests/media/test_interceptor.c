/* test_interceptor.c: rates, order, delay and determinism of injected faults, over a medium in
 * memory and a virtual clock. A datagram carries its number, so that its fate can be checked. */
#include "media/hold_queue.h"
#include "media/interceptor.h"
#include "protocol/frame.h"
#include "util/error.h"

#include "tests/check.h"

#define LENGTH 64
#define QUEUE_MAX 40000
#define BURST 16

/* A medium that stores sent datagrams and delivers those that the test put in. */
typedef struct wire_t {
    uint8_t (*sent)[LENGTH];
    int sent_count;
    int refuse_after; /* send takes so many more, -1 = all */
    uint8_t (*arriving)[LENGTH];
    int arriving_first, arriving_last;
    int destroyed;
    struct sockaddr_storage peer;
} wire_t;

static int wire_open(void *media, const rsti_socket_params_t *params, rsti_socket_t **socket)
{
    (void)params;
    *socket = media;
    return 0;
}

static void wire_close(void *media, rsti_socket_t *socket)
{
    (void)media;
    (void)socket;
}

static int wire_send(void *media, rsti_socket_t *socket, const rsti_datagram_t *datagrams,
    int count)
{
    wire_t *wire = media;
    (void)socket;
    int taken = 0;
    for (; taken < count && wire->refuse_after != 0 && wire->sent_count < QUEUE_MAX; taken++) {
        memcpy(wire->sent[wire->sent_count++], datagrams[taken].data, LENGTH);
        wire->refuse_after -= wire->refuse_after > 0;
    }
    return taken;
}

static int wire_receive(void *media, rsti_socket_t *socket, rsti_datagram_t *datagrams,
    int capacity)
{
    wire_t *wire = media;
    (void)socket;
    int count = 0;
    for (; count < capacity && wire->arriving_first < wire->arriving_last; count++) {
        memcpy(datagrams[count].data, wire->arriving[wire->arriving_first++], LENGTH);
        datagrams[count].length = LENGTH;
        memset(&datagrams[count].address, 0, sizeof datagrams[count].address);
        datagrams[count].address.ss_family = AF_INET;
    }
    return count;
}

static void wire_local_address(void *media, rsti_socket_t *socket, struct sockaddr_storage *address)
{
    (void)media;
    (void)socket;
    memset(address, 0, sizeof *address);
}

static int wire_fd(void *media, rsti_socket_t *socket)
{
    (void)media;
    (void)socket;
    return 7;
}

static int32_t wire_granted(void *media, rsti_socket_t *socket)
{
    (void)media;
    (void)socket;
    return 4711;
}

static int64_t wire_deadline(void *media, rsti_socket_t *socket)
{
    (void)media;
    (void)socket;
    return RSTI_NO_DEADLINE;
}

static void wire_destroy(void *media)
{
    ((wire_t *)media)->destroyed++;
}

static int wire_reconnect(void *media, rsti_socket_t *socket,
    const struct sockaddr_storage *address)
{
    (void)socket;
    ((wire_t *)media)->peer = *address;
    return 0;
}

static const rsti_media_table_t wire_table = {
    .name = "wire",
    .open = wire_open,
    .close = wire_close,
    .send = wire_send,
    .receive = wire_receive,
    .local_address = wire_local_address,
    .fd = wire_fd,
    .granted_rcvbuf = wire_granted,
    .next_deadline_ns = wire_deadline,
    .destroy = wire_destroy,
    .reconnect = wire_reconnect,
};

typedef struct bench_t {
    wire_t wire;
    rsti_manual_clock_t manual;
    rsti_clock_t clock;
    rsti_media_t media;
    rsti_socket_t *socket;
} bench_t;

static bool bench_open(bench_t *bench, const rsti_fault_params_t *params)
{
    memset(bench, 0, sizeof *bench);
    bench->wire.refuse_after = -1;
    bench->wire.sent = calloc(QUEUE_MAX, LENGTH);
    bench->wire.arriving = calloc(QUEUE_MAX, LENGTH);
    bench->manual.now_ns = 1000;
    bench->clock = rsti_clock_manual(&bench->manual);
    const rsti_media_t inner = {.table = &wire_table, .arg = &bench->wire};
    const rsti_socket_params_t socket_params = {.so_sndbuf = 0};
    return rsti_media_interceptor_create(&bench->media, &inner, params, &bench->clock) == 0
        && bench->media.table->open(bench->media.arg, &socket_params, &bench->socket) == 0;
}

static void bench_close(bench_t *bench)
{
    bench->media.table->close(bench->media.arg, bench->socket);
    rsti_media_interceptor_destroy(&bench->media);
    free(bench->wire.sent);
    free(bench->wire.arriving);
}

static void make(uint8_t *datagram, int16_t type, int32_t number)
{
    memset(datagram, 0, LENGTH);
    const rsti_frame_header_t header = {.frame_length = LENGTH, .type = type};
    memcpy(datagram, &header, sizeof header);
    memcpy(datagram + 40, &number, sizeof number);
}

static int32_t number_of(const uint8_t *datagram)
{
    int32_t number;
    memcpy(&number, datagram + 40, sizeof number);
    return number;
}

static void send_numbers(bench_t *bench, int16_t type, int32_t first, int32_t total)
{
    uint8_t bytes[BURST][LENGTH];
    rsti_datagram_t burst[BURST] = {0};
    memset(burst, 0, sizeof burst);
    int32_t next = first;
    while (next < first + total) {
        int count = 0;
        for (; count < BURST && next + count < first + total; count++) {
            make(bytes[count], type, next + count);
            burst[count].data = bytes[count];
            burst[count].length = LENGTH;
        }
        const int taken = bench->media.table->send(bench->media.arg, bench->socket, burst, count);
        if (taken <= 0) {
            return;
        }
        next += taken;
    }
}

static void arrive(bench_t *bench, int16_t type, int32_t total)
{
    for (int32_t i = 0; i < total; i++) {
        make(bench->wire.arriving[bench->wire.arriving_last++], type, i);
    }
}

/* Receives until nothing comes; returns the count and their numbers in order. */
static int receive_all(bench_t *bench, int32_t *numbers, int capacity)
{
    uint8_t bytes[BURST][LENGTH];
    rsti_datagram_t burst[BURST] = {0};
    int total = 0;
    for (;;) {
        for (int i = 0; i < BURST; i++) {
            burst[i].data = bytes[i];
            burst[i].length = LENGTH;
        }
        const int count = bench->media.table->receive(bench->media.arg, bench->socket, burst,
            BURST);
        if (count <= 0
            && bench->media.table->next_deadline_ns(bench->media.arg, bench->socket)
                > bench->manual.now_ns
            && bench->wire.arriving_first == bench->wire.arriving_last) {
            return total;
        }
        for (int i = 0; i < count && total < capacity; i++) {
            numbers[total++] = number_of(burst[i].data);
        }
    }
}

static bool is_near(int64_t actual, int64_t total, double rate)
{
    const double expected = (double)total * rate;
    return (double)actual > 0.8 * expected && (double)actual < 1.2 * expected;
}

TEST(no_faults_change_nothing)
{
    bench_t bench;
    const rsti_fault_params_t params = {.seed = check_seed()};
    CHECK(!rsti_fault_is_active(&params));
    CHECK(bench_open(&bench, &params));
    send_numbers(&bench, RSTI_FRAME_DATA, 0, 1000);
    CHECK_EQ(bench.wire.sent_count, 1000);
    for (int i = 0; i < 1000; i++) {
        CHECK_EQ(number_of(bench.wire.sent[i]), i);
    }
    arrive(&bench, RSTI_FRAME_DATA, 1000);
    static int32_t numbers[QUEUE_MAX];
    CHECK_EQ(receive_all(&bench, numbers, QUEUE_MAX), 1000);
    for (int i = 0; i < 1000; i++) {
        CHECK_EQ(numbers[i], i);
    }
    CHECK_EQ(bench.media.table->fd(bench.media.arg, bench.socket), 7);
    CHECK_EQ(bench.media.table->granted_rcvbuf(bench.media.arg, bench.socket), 4711);
    const struct sockaddr_storage peer = {.ss_family = AF_INET6};
    CHECK_EQ(bench.media.table->reconnect(bench.media.arg, bench.socket, &peer), 0);
    CHECK_EQ(bench.wire.peer.ss_family, AF_INET6);
    bench_close(&bench);
    CHECK_EQ(bench.wire.destroyed, 1);
}

/* P */
TEST(rates_hold_per_direction_and_kind)
{
    bench_t bench;
    rsti_fault_counts_t counts;
    const int total = 10000;
    const rsti_fault_params_t params = {
        .seed = check_seed(), .send_data = {.loss = 0.1}, .receive_control = {.duplicate = 0.05}};
    CHECK(rsti_fault_is_active(&params));
    CHECK(bench_open(&bench, &params));
    send_numbers(&bench, RSTI_FRAME_SM, 0, total);
    CHECK_EQ(bench.wire.sent_count, total);
    send_numbers(&bench, RSTI_FRAME_SETUP, 0, total);
    CHECK(is_near(2 * total - bench.wire.sent_count, total, 0.1));
    rsti_media_interceptor_counts(&bench.media, &counts);
    CHECK_EQ(counts.lost, 2 * total - bench.wire.sent_count);
    CHECK_EQ(counts.duplicated, 0);

    static int32_t numbers[QUEUE_MAX];
    arrive(&bench, RSTI_FRAME_PAD, total);
    CHECK_EQ(receive_all(&bench, numbers, QUEUE_MAX), total);
    arrive(&bench, RSTI_FRAME_NAK, total);
    const int received = receive_all(&bench, numbers, QUEUE_MAX);
    CHECK(is_near(received - total, total, 0.05));
    rsti_media_interceptor_counts(&bench.media, &counts);
    CHECK_EQ(counts.duplicated, received - total);
    bench_close(&bench);
}

static int run_mixed(uint64_t seed, int32_t *numbers)
{
    bench_t bench;
    const rsti_fault_params_t params = {
        .seed = seed, .send_data = {.loss = 0.05, .duplicate = 0.05, .reorder = 0.05}};
    if (!bench_open(&bench, &params)) {
        return -1;
    }
    send_numbers(&bench, RSTI_FRAME_DATA, 0, 5000);
    const int sent = bench.wire.sent_count;
    for (int i = 0; i < sent; i++) {
        numbers[i] = number_of(bench.wire.sent[i]);
    }
    bench_close(&bench);
    return sent;
}

/* P */
TEST(same_seed_same_fates)
{
    static int32_t a[QUEUE_MAX], b[QUEUE_MAX], c[QUEUE_MAX];
    const int sent = run_mixed(check_seed(), a);
    CHECK(sent > 4000);
    CHECK_EQ(run_mixed(check_seed(), b), sent);
    CHECK_MEM(a, b, (size_t)sent * sizeof a[0]);
    const int other = run_mixed(check_seed() + 1, c);
    CHECK(other != sent || memcmp(a, c, (size_t)sent * sizeof a[0]) != 0);
}

/* P: a datagram that the socket refused is offered again, with the same random decisions. */
TEST(short_sends_do_not_change_fates)
{
    static int32_t expected[QUEUE_MAX];
    const rsti_fault_params_t params = {.seed = check_seed(), .send_data = {.loss = 0.2}};
    bench_t bench;
    CHECK(bench_open(&bench, &params));
    send_numbers(&bench, RSTI_FRAME_DATA, 0, 2000);
    const int total = bench.wire.sent_count;
    for (int i = 0; i < total; i++) {
        expected[i] = number_of(bench.wire.sent[i]);
    }
    bench_close(&bench);

    CHECK(bench_open(&bench, &params));
    uint8_t bytes[2000][LENGTH];
    static rsti_datagram_t all[2000];
    for (int i = 0; i < 2000; i++) {
        make(bytes[i], RSTI_FRAME_DATA, i);
        all[i].data = bytes[i];
        all[i].length = LENGTH;
    }
    int done = 0;
    for (int round = 0; done < 2000; round++) {
        CHECK(round < 10000);
        bench.wire.refuse_after = 1 + round % 5;
        const int taken = bench.media.table->send(bench.media.arg, bench.socket, all + done,
            2000 - done);
        CHECK(taken >= 0);
        done += taken;
    }
    CHECK_EQ(bench.wire.sent_count, total);
    for (int i = 0; i < total; i++) {
        CHECK_EQ(number_of(bench.wire.sent[i]), expected[i]);
    }
    bench_close(&bench);
}

static int count_inversions(const int32_t *numbers, int total)
{
    int inversions = 0;
    for (int i = 1; i < total; i++) {
        inversions += numbers[i] < numbers[i - 1];
    }
    return inversions;
}

TEST(reordered_ones_come_later_and_are_not_lost)
{
    static int32_t numbers[QUEUE_MAX];
    static bool seen[5000];
    bench_t bench;
    rsti_fault_counts_t counts;
    const rsti_fault_params_t params = {.seed = check_seed(), .receive_data = {.reorder = 0.02}};
    CHECK(bench_open(&bench, &params));
    arrive(&bench, RSTI_FRAME_DATA, 5000);
    int total = receive_all(&bench, numbers, QUEUE_MAX);
    /* The last ones may wait for followers until a timeout delivers them. */
    bench.manual.now_ns += RSTI_FAULT_REORDER_NS;
    total += receive_all(&bench, numbers + total, QUEUE_MAX - total);
    CHECK_EQ(total, 5000);
    memset(seen, 0, sizeof seen);
    for (int i = 0; i < total; i++) {
        CHECK(!seen[numbers[i]]);
        seen[numbers[i]] = true;
    }
    rsti_media_interceptor_counts(&bench.media, &counts);
    CHECK(is_near(counts.reordered, 5000, 0.02) || counts.reordered > 50);
    CHECK(count_inversions(numbers, total) > 20);
    bench_close(&bench);
}

TEST(reordered_sends_leave_after_a_millisecond_at_the_latest)
{
    bench_t bench;
    const rsti_fault_params_t params = {.seed = check_seed(), .send_data = {.reorder = 1.0}};
    CHECK(bench_open(&bench, &params));
    send_numbers(&bench, RSTI_FRAME_DATA, 0, 5);
    CHECK_EQ(bench.wire.sent_count, 0);
    CHECK_EQ(bench.media.table->next_deadline_ns(bench.media.arg, bench.socket),
        bench.manual.now_ns + RSTI_FAULT_REORDER_NS);
    bench.manual.now_ns += RSTI_FAULT_REORDER_NS - 1;
    int32_t numbers[4];
    CHECK_EQ(receive_all(&bench, numbers, 4), 0);
    CHECK_EQ(bench.wire.sent_count, 0);
    bench.manual.now_ns += 1;
    CHECK_EQ(receive_all(&bench, numbers, 4), 0);
    CHECK_EQ(bench.wire.sent_count, 5);
    CHECK_EQ(bench.media.table->next_deadline_ns(bench.media.arg, bench.socket), RSTI_NO_DEADLINE);
    bench_close(&bench);
}

TEST(delay_keeps_order_and_time)
{
    static int32_t numbers[QUEUE_MAX];
    bench_t bench;
    const rsti_fault_params_t params = {.seed = check_seed(), .delay_ns = 5 * RSTI_NS_PER_MS};
    CHECK(rsti_fault_is_active(&params));
    CHECK(bench_open(&bench, &params));
    arrive(&bench, RSTI_FRAME_DATA, 100);
    CHECK_EQ(receive_all(&bench, numbers, QUEUE_MAX), 0);
    CHECK_EQ(bench.media.table->next_deadline_ns(bench.media.arg, bench.socket),
        bench.manual.now_ns + params.delay_ns);
    bench.manual.now_ns += params.delay_ns - 1;
    CHECK_EQ(receive_all(&bench, numbers, QUEUE_MAX), 0);
    bench.manual.now_ns += 1;
    CHECK_EQ(receive_all(&bench, numbers, QUEUE_MAX), 100);
    for (int i = 0; i < 100; i++) {
        CHECK_EQ(numbers[i], i);
    }
    bench_close(&bench);
}

/* At its limit the delay line drops, and counts it. */
TEST(full_delay_line_loses)
{
    static int32_t numbers[QUEUE_MAX];
    bench_t bench;
    rsti_fault_counts_t counts;
    const int total = 10000;
    const rsti_fault_params_t params = {.seed = check_seed(), .delay_ns = RSTI_NS_PER_MS};
    CHECK(bench_open(&bench, &params));
    arrive(&bench, RSTI_FRAME_DATA, total);
    CHECK_EQ(receive_all(&bench, numbers, QUEUE_MAX), 0);
    bench.manual.now_ns += params.delay_ns;
    const int received = receive_all(&bench, numbers, QUEUE_MAX);
    rsti_media_interceptor_counts(&bench.media, &counts);
    CHECK(counts.lost > 0);
    CHECK_EQ(received + counts.lost, total);
    /* And it works afterwards. */
    arrive(&bench, RSTI_FRAME_DATA, 10);
    CHECK_EQ(receive_all(&bench, numbers, QUEUE_MAX), 0);
    bench.manual.now_ns += params.delay_ns;
    CHECK_EQ(receive_all(&bench, numbers, QUEUE_MAX), 10);
    bench_close(&bench);
}

/* Lengths up to the largest datagram, in random leaving order, compared with what was put in. */
TEST(hold_queue_keeps_bytes_whole_over_many_wraps)
{
    static uint8_t bytes[RSTI_DATAGRAM_MAX];
    rsti_hold_queue_t queue;
    rsti_rng_t rng;
    rsti_rng_init(&rng, check_seed());
    CHECK_EQ(rsti_hold_queue_init(&queue, false), 0);
    int64_t now_ns = 0;
    int put = 0, taken = 0;
    for (int round = 0; round < 20000; round++) {
        now_ns++;
        rsti_datagram_t datagram = {.data = bytes,
            .length = rsti_rng_below(&rng, round % 50 == 0 ? RSTI_DATAGRAM_MAX : 1500) + 1};
        const uint8_t mark = (uint8_t)rsti_rng_next(&rng);
        memset(bytes, mark, datagram.length);
        if (rsti_hold_queue_put(&queue, &datagram, now_ns + (int64_t)rsti_rng_below(&rng, 100),
                INT64_MAX)) {
            put++;
        }
        uint64_t next = queue.first;
        rsti_held_t *held;
        while ((held = rsti_hold_queue_find_due(&queue, &next, now_ns)) != NULL) {
            const uint8_t *copy = rsti_hold_queue_bytes(&queue, held);
            for (size_t i = 1; i < held->length; i++) {
                CHECK_EQ(copy[i], copy[0]);
            }
            held->is_live = false;
            taken++;
        }
        rsti_hold_queue_settle(&queue);
    }
    CHECK(put > 15000);
    CHECK(put - taken <= 256);
    rsti_hold_queue_fini(&queue);
}

static bool is_third(void *arg, const rsti_fault_view_t *datagram)
{
    int32_t *calls = arg;
    *calls += 1;
    return datagram->is_data && number_of(datagram->data) % 3 == 0;
}

/* P: a function decides instead of the random generator. */
TEST(drop_function_decides)
{
    static int32_t numbers[QUEUE_MAX];
    bench_t bench;
    rsti_fault_counts_t counts;
    int32_t calls = 0;
    const rsti_fault_params_t params = {.seed = 1, .drop = is_third, .drop_arg = &calls};
    CHECK(rsti_fault_is_active(&params));
    CHECK(bench_open(&bench, &params));
    send_numbers(&bench, RSTI_FRAME_DATA, 0, 30);
    CHECK_EQ(bench.wire.sent_count, 20);
    CHECK_EQ(number_of(bench.wire.sent[0]), 1);
    send_numbers(&bench, RSTI_FRAME_NAK, 0, 30);
    CHECK_EQ(bench.wire.sent_count, 50);
    arrive(&bench, RSTI_FRAME_DATA, 30);
    CHECK_EQ(receive_all(&bench, numbers, QUEUE_MAX), 20);
    CHECK_EQ(numbers[19], 29);
    CHECK_EQ(calls, 90);
    rsti_media_interceptor_counts(&bench.media, &counts);
    CHECK_EQ(counts.lost, 20);
    bench_close(&bench);
}

/* P */
TEST(impossible_rates_are_refused)
{
    rsti_media_t media;
    rsti_manual_clock_t manual = {0, 0};
    const rsti_clock_t clock = rsti_clock_manual(&manual);
    const rsti_media_t inner = {.table = &wire_table, .arg = NULL};
    rsti_fault_params_t params = {.send_data = {.loss = 1.5}};
    CHECK_EQ(rsti_media_interceptor_create(&media, &inner, &params, &clock), -RST_EINVAL);
    params.send_data.loss = 0;
    params.receive_control.reorder = -0.1;
    CHECK_EQ(rsti_media_interceptor_create(&media, &inner, &params, &clock), -RST_EINVAL);
    params.receive_control.reorder = 0;
    params.delay_ns = -1;
    CHECK_EQ(rsti_media_interceptor_create(&media, &inner, &params, &clock), -RST_EINVAL);
}

CHECK_MAIN(RUN(no_faults_change_nothing), RUN(rates_hold_per_direction_and_kind),
    RUN(same_seed_same_fates), RUN(short_sends_do_not_change_fates),
    RUN(reordered_ones_come_later_and_are_not_lost),
    RUN(reordered_sends_leave_after_a_millisecond_at_the_latest), RUN(delay_keeps_order_and_time),
    RUN(full_delay_line_loses), RUN(hold_queue_keeps_bytes_whole_over_many_wraps),
    RUN(drop_function_decides), RUN(impossible_rates_are_refused))
