/* test_rate_ipc.c: the rate limit of a publication in shared memory, and the command that changes
 * it, in virtual time. */
#include "tests/driver/harness.h"

#include "driver/conductor/ipc_publication.h"
#include "logbuffer/appender.h"

#include <inttypes.h>
#include <stdlib.h>

#define MS RSTI_NS_PER_MS
#define MESSAGE 992 /* a frame of 1024 */

typedef struct world_t {
    harness_t *h;
    rsti_publication_t *base;
    rsti_appender_t appender;
    int64_t registration_id;
    int64_t position;
} world_t;

static int compare_queues(const void *a, const void *b)
{
    const int64_t one = *(const int64_t *)a, other = *(const int64_t *)b;
    return (one > other) - (one < other);
}

static world_t open_world(const char *channel)
{
    world_t world = {.h = harness_open()};
    world.registration_id = add(world.h, RSTI_CMD_ADD_PUBLICATION, channel, 10);
    (void)add(world.h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", 10);
    world.base = world.h->driver->conductor->ipc_publications.items[0];
    rsti_appender_init(&world.appender, &world.base->file.log, world.base->pub_lmt,
        world.base->session_id, 10, false);
    return world;
}

/* A producer that writes as much as it may. */
static void write_up_to_limit(world_t *world)
{
    static const uint8_t message[MESSAGE] = {0};
    for (int refused = 0; refused < 2;) {
        const rsti_iovec_t part = {message, sizeof message};
        const int64_t result = rsti_append(&world->appender, &part, 1, sizeof message, 0);
        refused += result <= 0; /* once more after a rotation */
        world->position = result > 0 ? result : world->position;
    }
}

/* And a reader that reads it at once. */
static void write_all(world_t *world)
{
    write_up_to_limit(world);
    *world->base->subscribers.items[0].position = world->position;
}

/* A reader that takes a rate, a message at a time, while the producer writes as much as it may.
 * Returns the median of the queue in its second half, in bytes. */
static int64_t queue_of_a_reader(world_t *world, int64_t bytes_per_s, int64_t ns)
{
    int64_t *reader = world->base->subscribers.items[0].position;
    int64_t queues[4000];
    int32_t count = 0;
    double room = 0;
    const int64_t begins_ns = world->h->manual.now_ns;
    while (world->h->manual.now_ns < begins_ns + ns) {
        advance_alive(world->h, MS, MS);
        write_up_to_limit(world);
        room += (double)bytes_per_s / 1000;
        while (room >= 1024 && *reader < world->position) {
            *reader += 1024;
            room -= 1024;
        }
        room = room > 1024 ? 1024 : room;
        if (world->h->manual.now_ns > begins_ns + ns / 2 && count < 4000) {
            queues[count++] = world->position - *reader;
        }
    }
    qsort(queues, (size_t)count, sizeof queues[0], compare_queues);
    return queues[count / 2];
}

static int64_t written_within(world_t *world, int64_t ns)
{
    const int64_t before = world->position;
    for (int64_t end = world->h->manual.now_ns + ns; world->h->manual.now_ns < end;) {
        advance_alive(world->h, MS, MS);
        write_all(world);
    }
    return world->position - before;
}

static int32_t held_by(const world_t *world)
{
    return world->base->file.log.metadata->ext.held_by;
}

static bool set_rate(world_t *world, const char *rate)
{
    world->h->answer_count = 0;
    rsti_command_t set = {.type = RSTI_CMD_SET_RATE,
        .registration_id = world->registration_id,
        .channel = {rate, (int32_t)strlen(rate)}};
    (void)command(world->h, &set);
    return world->h->answer_count == 1
        && world->h->answers[0].response.type == RSTI_RSP_OPERATION_SUCCESS;
}

TEST(shared_memory_keeps_a_fixed_rate)
{
    static const struct {
        const char *channel;
        int64_t bytes_per_s;
    } rows[] = {
        {"aeron:ipc?term-length=1m|rs-rate=fixed,r:1000000", 1000000},
        {"aeron:ipc?term-length=1m|mtu=1024|rs-rate=fixed,p:1000", 1024000},
        {"aeron:ipc?term-length=64k|rs-rate=fixed,r:2m,p:1000000", 2 << 20},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        world_t world = open_world(rows[i].channel);
        const int64_t rate = rows[i].bytes_per_s;
        const int64_t first = written_within(&world, 0 + MS);
        CHECK(first <= rate / 100 + rate / 1000 + 2 * (MESSAGE + 32)); /* the burst */
        const int64_t bytes = written_within(&world, 2 * RSTI_NS_PER_S);
        CHECK(bytes >= 2 * rate - rate / 100 - MESSAGE);
        CHECK(bytes <= 2 * rate + rate / 100 + MESSAGE + 32);
        CHECK_EQ(held_by(&world), RSTI_HELD_BY_RATE);
        harness_close(world.h);
    }
}

TEST(the_window_holds_first_where_it_is_smaller)
{
    world_t world = open_world("aeron:ipc?term-length=64k|rs-rate=fixed,r:1g");
    write_all(&world);
    *world.base->subscribers.items[0].position = 0; /* a reader that stands still */
    advance_alive(world.h, 50 * MS, MS);
    CHECK_EQ(*world.base->pub_lmt, 32 * 1024);
    CHECK_EQ(held_by(&world), RSTI_HELD_BY_WINDOW);
    harness_close(world.h);
}

/* The window of 2 MiB alone would let 200 ms wait for this reader. */
TEST(a_slow_reader_gets_a_queue_of_the_target_delay)
{
    static const struct {
        const char *rate;
        int64_t most_ms;
    } rows[] = {{"default", 15}, {"adaptive", 15}, {"adaptive,d:20ms", 30}, {"aimd", 30}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char channel[96];
        snprintf(channel, sizeof channel, "aeron:ipc?term-length=4m|rs-rate=%s", rows[i].rate);
        world_t world = open_world(channel);
        const int64_t queue = queue_of_a_reader(&world, 10240000, 4 * RSTI_NS_PER_S);
        CHECK(queue > 0);
        if (queue > rows[i].most_ms * 10240) {
            CHECK_FAIL("%s: %" PRId64 " bytes", rows[i].rate, queue);
        }
        CHECK_EQ(held_by(&world), RSTI_HELD_BY_RATE);
        harness_close(world.h);
    }
    world_t world = open_world("aeron:ipc?term-length=4m");
    CHECK(queue_of_a_reader(&world, 10240000, RSTI_NS_PER_S) > 1900 * 1024); /* raw: the window */
    harness_close(world.h);
}

TEST(a_reader_that_becomes_fast_is_held_back_no_more)
{
    world_t world = open_world("aeron:ipc?term-length=1m|rs-rate=adaptive");
    (void)queue_of_a_reader(&world, 2048000, RSTI_NS_PER_S);
    (void)written_within(&world, 100 * MS); /* the way back */
    CHECK(written_within(&world, 100 * MS) > 20 << 20); /* 200 MB/s */
    harness_close(world.h);
}

/* A program that sends and then reads in one thread must not wait for itself. */
TEST(the_window_of_a_reader_that_takes_nothing_can_be_filled)
{
    world_t world = open_world("aeron:ipc?term-length=1m|rs-rate=adaptive");
    write_up_to_limit(&world);
    CHECK(world.position >= 511 * 1024); /* nothing is known of the reader: at once */
    (void)queue_of_a_reader(&world, 2048000, RSTI_NS_PER_S);
    const int64_t reader = *world.base->subscribers.items[0].position;
    for (int i = 0; i < 900; i++) { /* it stops; after 250 ms its window may be filled */
        advance_alive(world.h, MS, MS);
        write_up_to_limit(&world);
    }
    CHECK(world.position - reader >= 448 * 1024); /* seven eighths: the step of the window */
    harness_close(world.h);
}

TEST(a_law_that_listens_lets_the_conductor_sleep_when_nothing_moves)
{
    world_t world = open_world("aeron:ipc?term-length=1m|rs-rate=adaptive");
    int64_t deadline;
    become_rstream(world.h);
    (void)queue_of_a_reader(&world, 2048000, RSTI_NS_PER_S);
    for (int i = 0; i < 1000; i++) { /* the reader stops, the window is filled */
        advance_alive(world.h, MS, MS);
        write_up_to_limit(&world);
    }
    (void)rst_driver_do_work(world.h->driver, &deadline);
    CHECK(deadline - world.h->manual.now_ns > 5 * MS);
    harness_close(world.h);
}

TEST(the_counters_of_a_law_show_what_it_does)
{
    world_t world = open_world("aeron:ipc?term-length=1m|rs-rate=adaptive");
    (void)queue_of_a_reader(&world, 2048000, RSTI_NS_PER_S);
    const rsti_ipc_publication_t *publication = (const void *)world.base;
    CHECK(*publication->rate.made.at.fill_naks > 100);
    CHECK(*publication->rate.made.at.rate < 10000000);
    CHECK_EQ(*publication->rate.made.at.margin, 0);
    CHECK(set_rate(&world, "unlimited"));
    CHECK(written_within(&world, 100 * MS) > 20 << 20);
    CHECK(set_rate(&world, "default"));
    CHECK(queue_of_a_reader(&world, 2048000, 2 * RSTI_NS_PER_S) < 2048000 / 1000 * 15);
    harness_close(world.h);
}

TEST(resting_rate_wakes_no_thread)
{
    world_t world = open_world("aeron:ipc?term-length=1m|rs-rate=fixed,r:1000000");
    int64_t deadline;
    become_rstream(world.h); /* Aeron's clients do not wake the conductor, so it checks by itself */
    (void)written_within(&world, 100 * MS);
    (void)rst_driver_do_work(world.h->driver, &deadline);
    CHECK(deadline - world.h->manual.now_ns <= 5 * MS); /* data beyond the limit wait */
    advance_alive(world.h, 100 * MS, MS); /* the producer sleeps */
    (void)rst_driver_do_work(world.h->driver, &deadline);
    CHECK(deadline - world.h->manual.now_ns > 20 * MS);
    /* Its reader wakes the conductor before the burst is used up. */
    const int64_t wake = world.base->file.log.metadata->ext.conductor_position;
    CHECK(wake > world.position);
    CHECK_EQ(wake, *world.base->pub_lmt - 5000 + 1);
    harness_close(world.h);
}

TEST(another_rate_while_running)
{
    world_t world = open_world("aeron:ipc?term-length=1m|rs-rate=fixed,r:1000000");
    (void)written_within(&world, 100 * MS);
    CHECK(set_rate(&world, "fixed,r:4000000"));
    int64_t bytes = written_within(&world, RSTI_NS_PER_S);
    CHECK(bytes > 3900000 && bytes < 4100000);
    CHECK(set_rate(&world, "unlimited"));
    CHECK(written_within(&world, 100 * MS) > 20 << 20);
    CHECK_EQ(held_by(&world), RSTI_HELD_BY_WINDOW);
    /* The limit changes at once from a window ahead to a burst ahead. */
    *world.base->subscribers.items[0].position = world.position;
    pass(world.h);
    CHECK(set_rate(&world, "fixed,r:500000"));
    CHECK(*world.base->pub_lmt <= world.position + 5000 + 4 * 1408);
    bytes = written_within(&world, RSTI_NS_PER_S);
    CHECK(bytes > 490000 && bytes < 512000);
    harness_close(world.h);
}

TEST(the_window_recovers_without_a_reader)
{
    world_t world = open_world("aeron:ipc?term-length=1m");
    CHECK_EQ(*world.base->pub_lmt, 512 * 1024);
    CHECK(set_rate(&world, "fixed,r:1"));
    CHECK_EQ(*world.base->pub_lmt, 4 * 1408);
    CHECK(set_rate(&world, "unlimited"));
    CHECK_EQ(*world.base->pub_lmt, 512 * 1024);
    harness_close(world.h);
}

TEST(rates_that_are_refused_change_nothing)
{
    world_t world = open_world("aeron:ipc?term-length=1m|rs-rate=fixed,r:1000000");
    char long_text[400];
    memset(long_text, '1', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    const char *const bad[] = {"", "fixed", "fixed,q:1", long_text};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        CHECK(!set_rate(&world, bad[i]));
        const answer_t *error = answer_of_type(world.h, RSTI_RSP_ON_ERROR);
        CHECK(error != NULL);
        CHECK(strstr(error->text, "rate=") != NULL);
    }
    const int64_t bytes = written_within(&world, RSTI_NS_PER_S);
    CHECK(bytes > 980000 && bytes < 1020000);
    world.registration_id = 4711;
    CHECK(!set_rate(&world, "unlimited"));
    CHECK_EQ(answer_of_type(world.h, RSTI_RSP_ON_ERROR)->response.error_code,
        RSTI_DRIVER_UNKNOWN_PUBLICATION);
    harness_close(world.h);
}

TEST(the_stream_is_opened_as_before_after_a_change)
{
    world_t world = open_world("aeron:ipc?term-length=1m|rs-rate=fixed,r:1000000");
    CHECK(set_rate(&world, "fixed,r:5"));
    const int64_t again = add(world.h, RSTI_CMD_ADD_PUBLICATION,
        "aeron:ipc?term-length=1m|rs-rate=fixed,r:1000000", 10);
    CHECK(answer(world.h, RSTI_RSP_PUBLICATION_READY, again) != NULL);
    world.registration_id = again; /* and by the second handle's id too */
    CHECK(set_rate(&world, "fixed,r:1000000"));
    const int64_t bytes = written_within(&world, RSTI_NS_PER_S);
    CHECK(bytes > 980000 && bytes < 1020000);
    harness_close(world.h);
}

CHECK_MAIN(RUN(shared_memory_keeps_a_fixed_rate), RUN(the_window_holds_first_where_it_is_smaller),
    RUN(a_slow_reader_gets_a_queue_of_the_target_delay),
    RUN(a_reader_that_becomes_fast_is_held_back_no_more),
    RUN(the_window_of_a_reader_that_takes_nothing_can_be_filled),
    RUN(a_law_that_listens_lets_the_conductor_sleep_when_nothing_moves),
    RUN(the_counters_of_a_law_show_what_it_does), RUN(resting_rate_wakes_no_thread),
    RUN(another_rate_while_running), RUN(the_window_recovers_without_a_reader),
    RUN(rates_that_are_refused_change_nothing), RUN(the_stream_is_opened_as_before_after_a_change))
