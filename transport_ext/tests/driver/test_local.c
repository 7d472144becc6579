/* Subscribers on the publisher's own machine: spies, simulated connections, untethered readers. */
#include "logbuffer/appender.h"
#include "tests/driver/harness.h"

#include <pthread.h>

#define CHANNEL                                                                                    \
    "aeron:udp?endpoint=127.0.0.1:24400|term-length=64k|init-term-id=5|term-id=5|term-offset=0"
#define SPY "aeron-spy:aeron:udp?endpoint=127.0.0.1:24400"
#define RECEIVER "127.0.0.1:24400"
#define WINDOW (32 * 1024)

typedef struct local_t {
    harness_t *h;
    int64_t id;
    rsti_publication_t *base;
    rsti_network_publication_t *network; /* NULL: IPC */
    rsti_appender_t appender;
} local_t;

static void local_open(local_t *l, const char *channel)
{
    l->h = harness_open();
    l->id = add(l->h, RSTI_CMD_ADD_PUBLICATION, channel, 10);
    const bool is_network = l->h->driver->conductor->publications.count > 0;
    l->network = is_network ? l->h->driver->conductor->publications.items[0] : NULL;
    l->base = is_network ? &l->network->base : l->h->driver->conductor->ipc_publications.items[0];
    rsti_appender_init(&l->appender, &l->base->file.log, l->base->pub_lmt, l->base->session_id, 10,
        false);
}

static int64_t offer(local_t *l, size_t length)
{
    static uint8_t message[2048];
    const rsti_iovec_t part = {message, length};
    return rsti_append(&l->appender, &part, 1, length, 0);
}

/* Writes as much as there is room for; returns the producer's position. */
static int64_t fill(local_t *l)
{
    for (int i = 0; i < 4000; i++) {
        const int64_t result = offer(l, 992);
        if (result != RST_ADMIN_ACTION && result < 0) {
            break;
        }
    }
    return rsti_log_producer_position(&l->base->file.log);
}

static void send_sm(local_t *l, uint8_t flags, int64_t position, int32_t window)
{
    const rsti_sm_t sm = {
        .frame = {RSTI_SM_LENGTH, 0, flags, RSTI_FRAME_SM},
        .session_id = l->base->session_id,
        .stream_id = 10,
        .consumption_term_id = 5 + (int32_t)(position >> 16),
        .consumption_term_offset = (int32_t)(position & 0xFFFF),
        .receiver_window = window,
        .receiver_id = 99,
    };
    inject(l->h, l->network->endpoint->socket, RECEIVER, &sm, sizeof sm);
    pass(l->h);
    pass(l->h);
}

static int64_t *reader(const local_t *l, int32_t index)
{
    return l->base->subscribers.items[index].position;
}

static int count_answers(const harness_t *h, int32_t type)
{
    int count = 0;
    for (int i = 0; i < h->answer_count; i++) {
        count += h->answers[i].type == type;
    }
    return count;
}

static bool is_connected(const local_t *l)
{
    return l->base->file.log.metadata->is_connected != 0;
}

/* N9, L1: a spy comes before or after the publication, by canonical channel; sessions are told
 * apart. */
TEST(spy_finds_its_publication)
{
    local_t l;
    local_open(&l, CHANNEL);
    harness_t *h = l.h;
    h->answer_count = 0;
    const int64_t after = add(h, RSTI_CMD_ADD_SUBSCRIPTION, SPY, 10);
    CHECK_EQ(answer(h, RSTI_RSP_SUBSCRIPTION_READY, after)->response.channel_status_id, -1);
    const answer_t *image = answer(h, RSTI_RSP_AVAILABLE_IMAGE, l.id);
    CHECK(image != NULL);
    CHECK_EQ(image->response.registration_id, after);
    CHECK_EQ(image->response.session_id, l.base->session_id);
    CHECK_STR(image->text, l.base->file.path);
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, SPY, 11);
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, SPY "1", 10);
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, SPY "|session-id=7", 10);
    CHECK_EQ(count_answers(h, RSTI_RSP_AVAILABLE_IMAGE), 1);
    CHECK_EQ(l.base->subscribers.count, 1);
    h->answer_count = 0;
    const int64_t second = add(h, RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION, CHANNEL "|session-id=7", 10);
    CHECK_EQ(count_answers(h, RSTI_RSP_AVAILABLE_IMAGE), 2); /* the wildcard and session 7 */
    CHECK_EQ(h->answers[0].type, RSTI_RSP_EXCLUSIVE_PUBLICATION_READY);
    CHECK(answer(h, RSTI_RSP_AVAILABLE_IMAGE, second) != NULL);
    CHECK_EQ(h->driver->conductor->receive_endpoints.count, 0);
    harness_close(h);
}

/* N9: a spy joins at the sent position and holds the publisher's limit, whatever receivers report.
 */
TEST(spy_bounds_the_limit)
{
    local_t l;
    local_open(&l, CHANNEL);
    send_sm(&l, 0, 0, WINDOW);
    CHECK_EQ(offer(&l, 992), 1024);
    pass(l.h);
    CHECK_EQ(*l.network->snd_pos, 1024);
    (void)add(l.h, RSTI_CMD_ADD_SUBSCRIPTION, SPY, 10);
    CHECK_EQ(*reader(&l, 0), 1024);
    const int64_t end = fill(&l);
    for (int i = 0; i < 10; i++) {
        pass(l.h);
        send_sm(&l, 0, *l.network->snd_pos, WINDOW);
        (void)fill(&l);
    }
    CHECK_EQ(rsti_log_producer_position(&l.base->file.log), 1024 + WINDOW);
    CHECK_EQ(*l.network->snd_pos, 1024 + WINDOW);
    CHECK_EQ(*l.base->pub_lmt, 1024 + WINDOW);
    *reader(&l, 0) = end;
    pass(l.h);
    CHECK_EQ(*l.base->pub_lmt, end + WINDOW);
    harness_close(l.h);
}

/* N9, lesson 15: the result of is_connected for all combinations of receivers, spies and ssc. */
TEST(connected_by_receivers_or_spies)
{
    for (int ssc = 0; ssc < 2; ssc++) {
        local_t l;
        local_open(&l, ssc ? CHANNEL "|ssc=true" : CHANNEL);
        CHECK(!is_connected(&l));
        int64_t spy = add(l.h, RSTI_CMD_ADD_SUBSCRIPTION, SPY, 10);
        pass(l.h);
        CHECK_EQ(is_connected(&l), ssc);
        send_sm(&l, 0, 0, WINDOW);
        CHECK(is_connected(&l));
        send_sm(&l, RSTI_SM_FLAG_EOS, 0, WINDOW); /* the last receiver leaves */
        CHECK_EQ(is_connected(&l), ssc);
        (void)take_away(l.h, RSTI_CMD_REMOVE_SUBSCRIPTION, spy);
        pass(l.h);
        CHECK(!is_connected(&l));
        harness_close(l.h);
    }
}

/* N9: without receivers the sent position follows the fastest spy, over several terms. */
TEST(position_follows_the_fastest_spy)
{
    local_t l;
    local_open(&l, CHANNEL "|ssc=true");
    CHECK_EQ(l.base->file.log.metadata->spies_simulate_connection, 1);
    (void)add(l.h, RSTI_CMD_ADD_SUBSCRIPTION, SPY, 10);
    (void)add(l.h, RSTI_CMD_ADD_SUBSCRIPTION, SPY, 10);
    pass(l.h);
    for (int round = 0; round < 20; round++) {
        const int64_t end = fill(&l);
        *reader(&l, round % 2) = end;
        settle(l.h);
        CHECK_EQ(*l.network->snd_pos, end);
        CHECK_EQ(*l.network->snd_lmt, end);
        CHECK(*l.base->pub_lmt <= *reader(&l, (round + 1) % 2) + WINDOW);
        *reader(&l, (round + 1) % 2) = end;
        settle(l.h);
        CHECK_EQ(*l.base->pub_lmt, end + WINDOW);
    }
    CHECK(*l.network->snd_pos > 5 * 64 * 1024);
    CHECK_EQ(count_frames(l.h, RSTI_FRAME_DATA), 0);
    harness_close(l.h);
}

/* A spy's counter lies in shared memory: a value beyond the published data skips nothing. */
TEST(spy_cannot_run_ahead_of_the_publisher)
{
    local_t l;
    local_open(&l, CHANNEL "|ssc=true");
    (void)add(l.h, RSTI_CMD_ADD_SUBSCRIPTION, SPY, 10);
    pass(l.h);
    CHECK_EQ(offer(&l, 992), 1024);
    *reader(&l, 0) = 64 * 1024;
    settle(l.h);
    CHECK_EQ(*l.network->snd_pos, 1024);
    harness_close(l.h);
}

/* N9: draining waits for spies; then they are notified. With and without receivers. */
TEST(draining_waits_for_spies)
{
    for (int has_receiver = 0; has_receiver < 2; has_receiver++) {
        local_t l;
        local_open(&l, CHANNEL "|ssc=true");
        const int64_t spy = add(l.h, RSTI_CMD_ADD_SUBSCRIPTION, SPY, 10);
        if (has_receiver) {
            send_sm(&l, 0, 0, WINDOW);
        }
        pass(l.h);
        CHECK_EQ(offer(&l, 992), 1024);
        (void)take_away(l.h, RSTI_CMD_REMOVE_PUBLICATION, l.id);
        CHECK_EQ(l.base->file.log.metadata->ext.conductor_position, 1024);
        advance_alive(l.h, 2 * RSTI_NS_PER_S, 100 * MS);
        CHECK_EQ(l.base->life, RSTI_LIFE_DRAINING);
        CHECK(answer_of_type(l.h, RSTI_RSP_UNAVAILABLE_IMAGE) == NULL);
        *reader(&l, 0) = 1024;
        pass(l.h);
        pass(l.h);
        CHECK_EQ(l.base->life, RSTI_LIFE_LINGER);
        advance_alive(l.h, 900 * MS, 100 * MS); /* an Aeron client sees the end meanwhile */
        CHECK(answer_of_type(l.h, RSTI_RSP_UNAVAILABLE_IMAGE) == NULL);
        advance_alive(l.h, 200 * MS, 100 * MS);
        CHECK_EQ(answer(l.h, RSTI_RSP_UNAVAILABLE_IMAGE, l.id)->response.registration_id, spy);
        CHECK_EQ(count_answers(l.h, RSTI_RSP_UNAVAILABLE_IMAGE), 1);
        advance_alive(l.h, 7 * RSTI_NS_PER_S, 100 * MS);
        CHECK_EQ(l.h->driver->conductor->publications.count, 0);
        CHECK_EQ(count_answers(l.h, RSTI_RSP_UNAVAILABLE_IMAGE), 1);
        harness_close(l.h);
    }
}

/* N12: spies of a revoked publication are told at once. */
TEST(revoked_publication_lets_spies_go)
{
    harness_t *h = harness_open();
    const int64_t pub = add(h, RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION, CHANNEL, 10);
    const int64_t spy = add(h, RSTI_CMD_ADD_SUBSCRIPTION, SPY, 10);
    const rsti_network_publication_t *publication = h->driver->conductor->publications.items[0];
    rsti_command_t c = {.type = RSTI_CMD_REMOVE_PUBLICATION, .registration_id = pub, .flags = 1};
    (void)command(h, &c);
    CHECK_EQ(answer(h, RSTI_RSP_UNAVAILABLE_IMAGE, pub)->response.registration_id, spy);
    CHECK_EQ(publication->base.file.log.metadata->is_publication_revoked, 1);
    CHECK_EQ(counter(h, RSTI_SYSTEM_PUBLICATIONS_REVOKED), 1);
    harness_close(h);
}

/* N10, lesson 16: one of two readers stops; it is dropped, rests, and joins again at the position
 * of the others. Over IPC and as a spy. */
static void check_untethered_round(const char *channel, const char *reader_channel)
{
    local_t l;
    local_open(&l, channel);
    harness_t *h = l.h;
    const bool is_spy = l.network != NULL;
    char untethered[160];
    snprintf(untethered, sizeof untethered, "%s%ctether=false", reader_channel, is_spy ? '|' : '?');
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, reader_channel, 10);
    const int64_t slow = add(h, RSTI_CMD_ADD_SUBSCRIPTION, untethered, 10);
    pass(h);
    h->answer_count = 0;
    (void)fill(&l);
    CHECK_EQ(fill(&l), WINDOW);
    *reader(&l, 0) = WINDOW;
    settle(h);
    CHECK_EQ(*l.base->pub_lmt, WINDOW); /* the slow reader holds the limit */
    advance_alive(h, 4500 * MS, 100 * MS);
    CHECK(answer_of_type(h, RSTI_RSP_UNAVAILABLE_IMAGE) == NULL);
    advance_alive(h, 2000 * MS, 100 * MS);
    CHECK_EQ(answer(h, RSTI_RSP_UNAVAILABLE_IMAGE, l.id)->response.registration_id, slow);
    CHECK_EQ(*l.base->pub_lmt, WINDOW); /* and still does while it lingers */
    advance_alive(h, 7000 * MS, 100 * MS);
    CHECK_EQ(l.base->subscribers.items[1].tether.state, RSTI_TETHER_RESTING);
    CHECK_EQ(*l.base->pub_lmt, 2 * WINDOW);
    CHECK(is_connected(&l));
    *reader(&l, 0) = fill(&l);
    h->answer_count = 0;
    advance_alive(h, 12 * RSTI_NS_PER_S, 100 * MS);
    const answer_t *again = answer(h, RSTI_RSP_AVAILABLE_IMAGE, l.id);
    CHECK(again != NULL);
    CHECK_EQ(again->response.registration_id, slow);
    CHECK_EQ(again->response.counter_id, l.base->subscribers.items[1].counter_id);
    CHECK_EQ(*reader(&l, 1), 2 * WINDOW);
    CHECK_EQ(*l.base->pub_lmt, 3 * WINDOW);
    harness_close(h);
}

/* L13, N10 */
TEST(untethered_readers_of_ipc)
{
    check_untethered_round("aeron:ipc?term-length=64k", "aeron:ipc");
}

/* L13, N10 */
TEST(untethered_spies)
{
    check_untethered_round(CHANNEL "|ssc=true", SPY);
}

/* N10: rejoin=false ends it; the publication's timeouts apply; is_connected depends on the active
 * readers. */
TEST(untethered_without_rejoin_closes)
{
    local_t l;
    local_open(&l,
        CHANNEL "|ssc=true|untethered-window-limit-timeout=2s"
                "|untethered-linger-timeout=1s|untethered-resting-timeout=3s");
    const rsti_log_metadata_t *metadata = l.base->file.log.metadata;
    CHECK_EQ(metadata->untethered_window_limit_timeout_ns, 2 * RSTI_NS_PER_S);
    CHECK_EQ(rsti_get_i64(metadata->untethered_linger_timeout_ns), RSTI_NS_PER_S);
    CHECK_EQ(metadata->untethered_resting_timeout_ns, 3 * RSTI_NS_PER_S);
    (void)add(l.h, RSTI_CMD_ADD_SUBSCRIPTION, SPY "|tether=false|rejoin=false", 10);
    send_sm(&l, 0, 0, WINDOW);
    (void)fill(&l);
    pass(l.h);
    pass(l.h);
    pass(l.h);
    CHECK_EQ(*l.network->snd_pos, WINDOW);
    send_sm(&l, RSTI_SM_FLAG_EOS, WINDOW, WINDOW);
    CHECK(is_connected(&l));
    const int32_t counter_id = l.base->subscribers.items[0].counter_id;
    l.h->answer_count = 0;
    advance_alive(l.h, 6 * RSTI_NS_PER_S, 100 * MS);
    CHECK_EQ(count_answers(l.h, RSTI_RSP_UNAVAILABLE_IMAGE), 1);
    CHECK_EQ(l.base->subscribers.count, 0);
    CHECK_EQ(l.h->driver->counters.counters.metadata[counter_id].state, RSTI_COUNTER_RECLAIMED);
    CHECK(!is_connected(&l));
    advance_alive(l.h, 20 * RSTI_NS_PER_S, 100 * MS);
    CHECK_EQ(count_answers(l.h, RSTI_RSP_AVAILABLE_IMAGE), 0);
    harness_close(l.h);
}

/* --- images: the same for readers of what comes by the network -------------------------------- */

#define READERS "aeron:udp?endpoint=127.0.0.1:24500"

static void receive_frame(harness_t *h, int64_t position, int32_t length)
{
    const rsti_receive_endpoint_t *endpoint = h->driver->conductor->receive_endpoints.items[0];
    uint8_t datagram[1024] = {0};
    rsti_data_header_t header;
    rsti_data_header_fill(&header, RSTI_FLAG_UNFRAGMENTED, RSTI_FRAME_DATA, 1234, 10,
        7 + (int32_t)(position >> 16), (int32_t)(position & 0xFFFF));
    header.frame.frame_length = length;
    memcpy(datagram, &header, sizeof header);
    inject(h, endpoint->owned[0]->socket, RECEIVER, datagram, length == 0 ? 32 : (size_t)length);
    pass(h);
}

static void receive_nothing(harness_t *h, int64_t position, int seconds)
{
    for (int i = 0; i < seconds; i++) {
        receive_frame(h, position, 0);
        advance_alive(h, 1000 * MS, 100 * MS);
        forget_frames(h);
    }
}

/* N10: the subscription's timeouts apply; the status messages go on without the slow reader; after
 * its return it begins at the position of the others. */
TEST(untethered_readers_of_an_image)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, READERS, 10);
    const int64_t slow = add(h, RSTI_CMD_ADD_SUBSCRIPTION,
        READERS "|tether=false|untethered-window-limit-timeout=3s|untethered-linger-timeout=2s"
                "|untethered-resting-timeout=4s",
        10);
    const rsti_receive_endpoint_t *endpoint = h->driver->conductor->receive_endpoints.items[0];
    const rsti_setup_t setup = {
        .frame = {RSTI_SETUP_LENGTH, 0, 0, RSTI_FRAME_SETUP},
        .session_id = 1234,
        .stream_id = 10,
        .initial_term_id = 7,
        .active_term_id = 7,
        .term_length = 65536,
        .mtu = 1408,
    };
    inject(h, endpoint->owned[0]->socket, RECEIVER, &setup, sizeof setup);
    pass(h);
    pass(h);
    CHECK_EQ(h->driver->conductor->images.count, 1);
    rsti_image_t *image = h->driver->conductor->images.items[0];
    const int64_t end = 24 * 1024;
    for (int64_t position = 0; position < end; position += 1024) {
        receive_frame(h, position, 1024);
    }
    CHECK_EQ(*image->rcv_pos, end);
    *image->subscribers.items[0].position = end;
    h->answer_count = 0;
    receive_nothing(h, end, 2);
    CHECK(answer_of_type(h, RSTI_RSP_UNAVAILABLE_IMAGE) == NULL);
    CHECK_EQ(image->next_sm_position, 0);
    receive_nothing(h, end, 3);
    const answer_t *gone = answer_of_type(h, RSTI_RSP_UNAVAILABLE_IMAGE);
    CHECK_EQ(gone->response.registration_id, slow);
    CHECK(strstr(gone->text, "=4s|rs-let-go") != NULL); /* seed 75044536 */
    CHECK_EQ(image->next_sm_position, 0); /* it lingers, and still holds the window */
    receive_nothing(h, end, 3);
    CHECK_EQ(image->next_sm_position, end);
    CHECK_EQ(image->subscribers.items[1].tether.state, RSTI_TETHER_RESTING);
    h->answer_count = 0;
    receive_nothing(h, end, 5);
    const answer_t *again = answer_of_type(h, RSTI_RSP_AVAILABLE_IMAGE);
    CHECK(again != NULL);
    CHECK_EQ(again->response.registration_id, slow);
    CHECK_EQ(*image->subscribers.items[1].position, end);
    CHECK_EQ(image->life, RSTI_LIFE_ACTIVE);
    harness_close(h);
}

/* Another thread, as a client is: it looks at a publication as soon as the driver tells of it. */
typedef struct client_t {
    harness_t *h;
    rsti_broadcast_rx_t rx;
    _Atomic int ready;
    int alone; /* how many had no reader */
} client_t;

static void on_told(void *arg, int32_t type, const void *record, size_t length)
{
    client_t *client = arg;
    (void)record;
    (void)length;
    if (type == RSTI_RSP_EXCLUSIVE_PUBLICATION_READY) {
        const rsti_ptr_array_t *all = &client->h->driver->conductor->ipc_publications;
        const rsti_ipc_publication_t *made = all->items[all->count - 1];
        client->alone += rsti_load_acquire_i32(&made->base.file.log.metadata->is_connected) == 0;
        client->ready++;
    }
}

static void *hear(void *arg)
{
    client_t *client = arg;
    while (client->ready < 200) {
        (void)rsti_broadcast_receive(&client->rx, on_told, client);
    }
    return NULL;
}

/* A publisher that ends at once otherwise takes its readers for absent: 124 to 144 of 200 did. */
TEST(a_publisher_of_ipc_finds_its_readers_at_once)
{
    client_t client = {.h = harness_open()};
    harness_t *h = client.h;
    pthread_t thread;
    for (int i = 0; i < 100; i++) {
        (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", i);
    }
    CHECK_EQ(rsti_broadcast_rx_init(&client.rx, h->driver->cnc.to_clients,
                 h->driver->cnc.to_clients_length),
        0);
    CHECK_EQ(pthread_create(&thread, NULL, hear, &client), 0);
    for (int i = 1; i <= 200; i++) {
        h->answer_count = 0;
        const int64_t id = add(h, RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION, "aeron:ipc", i % 100);
        while (client.ready < i) { /* it looks before the next one is there */
        }
        CHECK(answer(h, RSTI_RSP_AVAILABLE_IMAGE, id)
            > answer_of_type(h, RSTI_RSP_EXCLUSIVE_PUBLICATION_READY)); /* told in Aeron's order */
    }
    (void)pthread_join(thread, NULL);
    CHECK_EQ(client.alone, 0);
    rsti_broadcast_rx_fini(&client.rx);
    harness_close(h);
}

CHECK_MAIN(RUN(a_publisher_of_ipc_finds_its_readers_at_once), RUN(spy_finds_its_publication),
    RUN(spy_bounds_the_limit), RUN(connected_by_receivers_or_spies),
    RUN(position_follows_the_fastest_spy), RUN(spy_cannot_run_ahead_of_the_publisher),
    RUN(draining_waits_for_spies), RUN(revoked_publication_lets_spies_go),
    RUN(untethered_readers_of_ipc), RUN(untethered_spies), RUN(untethered_without_rejoin_closes),
    RUN(untethered_readers_of_an_image))
