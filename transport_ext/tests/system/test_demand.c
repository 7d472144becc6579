/* Demand crosses: a publisher that makes messages only on demand makes as many as its readers
 * requested, and never one more, in shared memory and over a network that loses a fifth of all
 * status messages. */
#include "tests/system/transport.h"
#include "util/rng.h"

#include <pthread.h>

#define MESSAGES_MAX 20000
#define LIMIT_NS INT64_C(60000000000)
#define WAIT_NS INT64_C(10000000000)
#define PROMPT_NS INT64_C(60000000)

/* The publisher's own record: the position after each message. */
typedef struct maker_t {
    rst_publication_t *publication;
    int64_t positions[MESSAGES_MAX + 1];
    int64_t made, behind; /* number of messages behind the readers' position */
    int64_t allowed;
} maker_t;

static maker_t maker;

/* Like flow/crossing.py, without its window. */
static int64_t look(void)
{
    rst_demand_t demand;
    const int64_t readers = rst_publication_demand(maker.publication, &demand);
    if (readers < 0 || demand.reader_count == 0 || !demand.is_connected) {
        return readers;
    }
    if (maker.behind == 0 || demand.position >= maker.positions[maker.behind - 1]) {
        while (maker.behind < maker.made && maker.positions[maker.behind] <= demand.position) {
            maker.behind++;
        }
        maker.allowed = demand.messages == INT64_MAX ? MESSAGES_MAX
                                                     : maker.behind + demand.messages;
    }
    return readers;
}

static bool make(void)
{
    uint8_t message[3000];
    const size_t length = message_length(maker.made, sizeof message);
    message_fill(message, maker.made, length);
    const int64_t position = rst_publication_offer(maker.publication, message, length, 0);
    if (position > 0) {
        maker.positions[maker.made++] = position;
    }
    return position > 0;
}

static rst_subscription_t *subscribe(rst_client_t *client, const char *channel)
{
    const int64_t id = await(client, rst_client_add_subscription_on_demand(client, channel, 10));
    return id < 0 ? NULL : rst_client_take_subscription(client, id);
}

/* Reader and publisher in turns, until all messages are requested and have arrived. */
static void cross(rst_subscription_t *subscription, int64_t total)
{
    rsti_rng_t rng;
    rsti_rng_init(&rng, check_seed());
    rst_batch_t *batch = NULL;
    CHECK_EQ(rst_batch_create(&batch, 64), 0);
    int64_t requested = 0, received = 0, waits = 0;
    const int64_t begin = now_ns();
    maker = (maker_t){.publication = maker.publication};
    while (received < total && now_ns() - begin < LIMIT_NS) {
        if (requested < total && rsti_rng_unit(&rng) < 0.3) {
            const int64_t n = 1 + (int64_t)(rsti_rng_next(&rng) % 40);
            const int64_t most = n < total - requested ? n : total - requested;
            rst_subscription_request(subscription, most);
            requested += most;
        }
        if (rst_publication_has_new_demand(maker
                    .publication)) { /* else a read of the counters would show nothing */
            (void)look();
        }
        CHECK(maker.allowed <= requested); /* never one message beyond the demand */
        for (int i = 0; i < 8 && maker.made < maker.allowed && make(); i++) {
        }
        const int taken = rst_subscription_poll_demanded(subscription,
            1 + (int32_t)(rsti_rng_next(&rng) % 32), 0, batch);
        CHECK(taken >= 0);
        int32_t count = 0;
        const rst_message_t *messages = rst_batch_messages(batch, &count);
        for (int32_t i = 0; i < count; i++, received++) {
            CHECK(message_is(messages[i].data, received, (size_t)messages[i].length));
        }
        CHECK(received <= requested);
        if (rsti_rng_unit(&rng) < 0.7) { /* else the batch is held beyond the next request */
            rst_batch_release(batch);
        }
        if (taken == 0 && maker.made == maker.allowed) {
            waits++;
            usleep(50);
        }
    }
    rst_batch_destroy(batch);
    CHECK_EQ(received, total);
    CHECK_EQ(maker.made, total); /* all requested messages were made */
    fprintf(stderr, "%" PRId64 " messages, %" PRId64 " waits, %.0f ms\n", total, waits,
        (double)(now_ns() - begin) / 1e6);
}

/* All messages were delivered: only the next request wakes a sleeping publisher. */
static void wakes(rst_client_t *client, rst_subscription_t *subscription)
{
    rst_waiter_t *waiter = NULL;
    CHECK_EQ(rst_waiter_create(&waiter, client), 0);
    CHECK_EQ(rst_waiter_attach_demand(waiter, maker.publication), 0);
    CHECK_EQ(rst_waiter_attach_demand(waiter, maker.publication), 0);
    /* A network still reports how far the reader came: after that there is nothing to report. */
    int woken = 1;
    for (int i = 0; i < 100 && woken == 1; i++) {
        (void)look();
        woken = rst_waiter_wait(waiter, 20 * INT64_C(1000000), 0);
    }
    CHECK_EQ(woken, 0);
    CHECK_EQ(maker.allowed, maker.made);
    rst_subscription_request(subscription, 3);
    for (int i = 0; i < 100 && maker.allowed == maker.made;
        i++) { /* earlier reports may arrive now */
        CHECK_EQ(rst_waiter_wait(waiter, INT64_C(10000000000), 0), 1);
        (void)look();
    }
    CHECK_EQ(maker.allowed, maker.made + 3);
    rst_waiter_detach_demand(waiter, maker.publication);
    CHECK_EQ(rst_waiter_wait(waiter, 1000000, 0), 0);
    rst_waiter_destroy(waiter);
}

static void run(const char *channel, const char *const *options, bool is_one, int64_t total)
{
    rst_driver_t *here = open_driver("here", options);
    rst_driver_t *there = is_one ? here : open_driver("there", options);
    CHECK(here != NULL && there != NULL);
    rst_client_t *sender = open_client(here);
    rst_client_t *receiver = open_client(there);
    CHECK(sender != NULL && receiver != NULL);
    maker = (maker_t){.publication = add_publication(sender, channel, true)};
    rst_subscription_t *subscription = subscribe(receiver, channel);
    CHECK(subscription != NULL && maker.publication != NULL);
    /* A reader whose application requests nothing has a known demand of zero. */
    const int64_t begin = now_ns();
    while (look() == 0 && now_ns() - begin < LIMIT_NS) {
        usleep(1000);
    }
    CHECK_EQ(look(), 1);
    CHECK_EQ(maker.allowed, 0);
    cross(subscription, total);
    wakes(sender, subscription);
    rst_publication_close(maker.publication);
    rst_subscription_close(subscription);
    rst_client_close(sender);
    rst_client_close(receiver);
    rst_driver_close(here);
    if (!is_one) {
        rst_driver_close(there);
    }
}

TEST(shared_memory)
{
    const char *options[] = {"threading=shared", NULL};
    run("aeron:ipc?term-length=64k", options, true, MESSAGES_MAX);
}

TEST(network)
{
    const char *options[] = {"threading=shared", NULL};
    run(udp_channel("|term-length=64k|rcv-wnd=16k"), options, false, 4000);
}

TEST(network_that_loses)
{
    char seed[64];
    snprintf(seed, sizeof seed, "fault-seed=%" PRIu64, check_seed() & 0x7FFFFFFF);
    const char *options[] = {"threading=shared", seed, "fault-receive-data-loss=0.02",
        "fault-receive-control-loss=0.2", "fault-receive-control-reorder=0.1",
        "fault-receive-control-duplicate=0.1", NULL};
    run(udp_channel("|term-length=64k|rcv-wnd=16k"), options, false, 2000);
}

/* A reader without demand control says so at once; and of two readers the smaller demand counts. */
TEST(several_readers)
{
    const char *options[] = {"threading=shared", NULL};
    rst_driver_t *driver = open_driver("several", options);
    rst_client_t *client = driver != NULL ? open_client(driver) : NULL;
    CHECK(client != NULL);
    maker = (maker_t){.publication = add_publication(client, "aeron:ipc", true)};
    rst_subscription_t *plain = add_subscription(client, "aeron:ipc");
    CHECK(plain != NULL && maker.publication != NULL);
    rst_demand_t demand = {0};
    const int64_t begin = now_ns();
    while (demand.reader_count < 1 && now_ns() - begin < LIMIT_NS) {
        CHECK(rst_publication_demand(maker.publication, &demand) >= 0);
        usleep(1000);
    }
    CHECK_EQ(demand.messages, INT64_MAX);
    rst_subscription_t *one = subscribe(client, "aeron:ipc");
    rst_subscription_t *two = subscribe(client, "aeron:ipc");
    CHECK(one != NULL && two != NULL);
    /* Readers with zero demand hold back no publisher: the driver goes on without them when they
     * stand still. */
    rst_subscription_t *loose = subscribe(client, "aeron:ipc?tether=false");
    rst_subscription_t *evictable = subscribe(client, "aeron:ipc?rs-evict=1s");
    CHECK(loose != NULL && evictable != NULL);
    rst_subscription_request(one, 7);
    rst_subscription_request(two, 4);
    while ((demand.reader_count < 5 || demand.messages != 4) && now_ns() - begin < LIMIT_NS) {
        CHECK(rst_publication_demand(maker.publication, &demand) >= 0);
        usleep(1000);
    }
    CHECK_EQ(demand.reader_count, 5);
    CHECK_EQ(demand.messages, 4);
    CHECK_EQ(demand.position, 0);
    CHECK(!rst_publication_has_new_demand(maker.publication));
    rst_subscription_request(two, 1);
    CHECK(rst_publication_has_new_demand(maker.publication));
    CHECK(rst_publication_has_new_demand(NULL));
    CHECK_EQ(rst_publication_demand(NULL, &demand), RST_ERROR);
    CHECK_EQ(rst_publication_demand(maker.publication, NULL), RST_ERROR);
    rst_subscription_close(evictable);
    rst_subscription_close(loose);
    rst_subscription_close(two);
    rst_subscription_close(one);
    rst_subscription_close(plain);
    rst_publication_t *publication = maker.publication;
    rst_publication_close(publication);
    rst_client_close(client);
    rst_driver_close(driver);
}

static int take(rst_subscription_t *subscription, int count, rst_batch_t *batch)
{
    int taken = 0;
    for (const int64_t begin_ns = now_ns(); taken < count && now_ns() - begin_ns < LIMIT_NS;) {
        taken += rst_subscription_poll_demanded(subscription, count - taken, 0, batch);
        rst_batch_release(batch);
    }
    return taken;
}

typedef struct news_t {
    rst_client_t *client;
    int64_t heard_ns; /* 0: none came */
} news_t;

static void *wait_for_news(void *arg)
{
    news_t *news = arg;
    rst_waiter_t *waiter = NULL;
    if (rst_waiter_create(&waiter, news->client) == 0
        && rst_waiter_attach_demand(waiter, maker.publication) == 0
        && rst_waiter_wait(waiter, WAIT_NS, 0) == 1) {
        news->heard_ns = now_ns();
    }
    rst_waiter_destroy(waiter);
    return NULL;
}

/* The reader that is behind reads on without a new request: the others may get more of their
 * requested messages. */
TEST(of_several_readers_progress_is_news)
{
    const char *options[] = {"threading=shared", NULL};
    rst_driver_t *driver = open_driver("progress", options);
    rst_client_t *client = driver != NULL ? open_client(driver) : NULL;
    CHECK(client != NULL);
    maker = (maker_t){.publication = add_publication(client, "aeron:ipc", true)};
    rst_subscription_t *readers[] = {
        subscribe(client, "aeron:ipc"), subscribe(client, "aeron:ipc")};
    rst_batch_t *batch = NULL;
    CHECK_EQ(rst_batch_create(&batch, 64), 0);
    const int64_t begin = now_ns();
    rst_subscription_request(readers[0], 10);
    rst_subscription_request(readers[1], 10);
    rst_demand_t demand = {0};
    while ((demand.reader_count < 2 || demand.messages != 10) && now_ns() - begin < LIMIT_NS) {
        CHECK(rst_publication_demand(maker.publication, &demand) >= 0);
        usleep(1000);
    }
    for (int i = 0; i < 10; i++) {
        CHECK(make());
    }
    for (int i = 0; i < 2; i++) {
        CHECK(!rst_publication_has_new_demand(maker.publication));
        CHECK_EQ(take(readers[i], 5, batch), 5);
        CHECK(rst_publication_has_new_demand(maker.publication));
        CHECK(rst_publication_demand(maker.publication, &demand) >= 0);
        CHECK_EQ(demand.messages, 5);
        CHECK_EQ(demand.position, i == 0 ? 0 : maker.positions[4]); /* 5 may be made, then 10 */
    }
    /* A read wakes no publisher, and a client checks by itself twice a second: a waiting publisher
     * must be faster. */
    CHECK_EQ(take(readers[0], 5, batch), 5);
    int prompt = 0;
    for (int i = 0; i < 5; i++) {
        CHECK_EQ(rst_publication_demand(maker.publication, &demand), 2);
        news_t news = {.client = client};
        pthread_t waiting;
        CHECK_EQ(pthread_create(&waiting, NULL, wait_for_news, &news), 0);
        usleep(20000);
        const int64_t read_ns = now_ns();
        CHECK_EQ(take(readers[1], 1, batch), 1);
        (void)pthread_join(waiting, NULL);
        CHECK(news.heard_ns > 0);
        prompt += news.heard_ns - read_ns < PROMPT_NS;
    }
    CHECK(prompt >= 3);
    rst_batch_destroy(batch);
    rst_subscription_close(readers[0]);
    rst_subscription_close(readers[1]);
    rst_publication_close(maker.publication);
    rst_client_close(client);
    rst_driver_close(driver);
}

CHECK_MAIN(RUN(shared_memory), RUN(network), RUN(network_that_loses), RUN(several_readers),
    RUN(of_several_readers_progress_is_news))
