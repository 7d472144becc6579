/* test_ipc_rate.c: laws that follow the readers of a publication in shared memory
 * (driver/conductor/ipc_rate.h), in virtual time: how long the queue of a slow reader is, which
 * reader counts, and when the conductor may sleep. */
#include "tests/driver/ipc_world.h"

#define MB INT64_C(1000000)
#define SECOND 1000 /* in ms */
#define SAMPLES 2000

static int compare(const void *a, const void *b)
{
    const int64_t one = *(const int64_t *)a, other = *(const int64_t *)b;
    return (one > other) - (one < other);
}

typedef struct queue_t {
    int64_t p50, p99; /* bytes */
    double used; /* what the reader took, as a share of what it could take */
} queue_t;

/* The queue of a single reader in the two seconds after the first two. */
static queue_t queue_of(world_t *world, int64_t bytes_per_s)
{
    static int64_t queues[SAMPLES];
    run_readers(world, &bytes_per_s, 1, 2 * SECOND);
    const int64_t before = *position_of(world, 0);
    for (int i = 0; i < SAMPLES; i++) {
        run_ms(world, &bytes_per_s, 1);
        queues[i] = world->position - *position_of(world, 0);
    }
    qsort(queues, SAMPLES, sizeof queues[0], compare);
    return (queue_t){
        .p50 = queues[SAMPLES / 2],
        .p99 = queues[SAMPLES / 100 * 99],
        .used = (double)(*position_of(world, 0) - before) * 1000 / SAMPLES / (double)bytes_per_s,
    };
}

/* The value of a counter of the publication; -1: there is none. */
static int64_t told(const world_t *world, int32_t type_id)
{
    const rsti_counters_t *counters = &world->h->driver->counters.counters;
    const int32_t id = rsti_counters_find(counters, type_id, world->base->registration_id);
    return id < 0 ? -1 : *rsti_counter_address(counters, id);
}

/* The window alone would let 2 MiB wait: 200 ms of a reader of 10 MB/s. */
TEST(a_slow_reader_gets_a_queue_of_the_target_delay)
{
    static const struct {
        const char *rate;
        int64_t bytes_per_s, target_ms;
    } rows[] = {
        {"default", 10 * MB, 10},
        {"adaptive", 10 * MB, 10},
        {"adaptive", 2 * MB, 10},
        {"adaptive", 100 * MB, 10},
        {"adaptive,d:20ms", 10 * MB, 20},
        {"adaptive,d:3ms", 10 * MB, 3},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char channel[96];
        snprintf(channel, sizeof channel, "aeron:ipc?term-length=4m|rs-rate=%s", rows[i].rate);
        world_t world = open_world(channel);
        const queue_t queue = queue_of(&world, rows[i].bytes_per_s);
        const double target = (double)(rows[i].bytes_per_s * rows[i].target_ms) / 1000;
        fprintf(stderr, "%s, %" PRId64 " MB/s: queue %.2f %.2f of the target, used %.3f\n",
            rows[i].rate, rows[i].bytes_per_s / MB, (double)queue.p50 / target,
            (double)queue.p99 / target, queue.used);
        CHECK((double)queue.p99 <= 1.5 * target);
        CHECK(queue.used >= 0.98);
        CHECK_EQ(held_by(&world), RSTI_HELD_BY_RATE);
        harness_close(world.h);
    }
}

/* They steer no delay, and still keep the queue below the window. */
TEST(the_other_laws_that_listen_act_too)
{
    static const struct {
        const char *rate;
        double most; /* of the window */
    } rows[] = {{"nak", 0.6}, {"aimd", 0.2}, {"unlimited", 1.0}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char channel[96];
        snprintf(channel, sizeof channel, "aeron:ipc?term-length=4m|rs-rate=%s", rows[i].rate);
        world_t world = open_world(channel);
        const queue_t queue = queue_of(&world, 10 * MB);
        const double fill = (double)queue.p50 / (2 << 20);
        fprintf(stderr, "%s: queue %.2f of the window, used %.3f\n", rows[i].rate, fill,
            queue.used);
        CHECK(fill <= rows[i].most);
        CHECK(i < 2 || fill > 0.85); /* without a law: the window */
        CHECK(queue.used >= 0.9);
        harness_close(world.h);
    }
}

TEST(a_reader_that_becomes_fast_is_held_back_no_more)
{
    world_t world = open_world("aeron:ipc?term-length=1m|rs-rate=adaptive");
    (void)queue_of(&world, 2 * MB);
    (void)written_within(&world, 100 * MS); /* the way back */
    CHECK(written_within(&world, 100 * MS) > 20 << 20); /* 200 MB/s */
    harness_close(world.h);
}

/* It reads on at once, but what it has read waits in a queue of its program. Must hold: the law
 * does not take it for a slow reader; when that queue is full, it reads no more, and then it is. */
TEST(a_reader_that_sets_messages_aside_is_as_fast_as_it_reads)
{
    static const int64_t rate = 20 * MB;
    world_t world = open_world("aeron:ipc?term-length=16m|rs-rate=adaptive");
    rsti_counter_value_t *value = (void *)position_of(&world, 0);
    rsti_position_ext_t *ext = (void *)value->spare;
    run_readers(&world, &rate, 1, SECOND); /* a drain is known */
    ext->sets_aside = 1;
    rsti_store_release_i32(&ext->magic, RSTI_EXT_MAGIC);
    for (int i = 0; i < 300; i++) {
        advance_alive(world.h, MS, MS);
        write_messages(&world, 20);
        ext->read_position = world.position;
    }
    CHECK(told(&world, RSTI_COUNTER_RATE) > 2 * rate); /* it rises again */
    CHECK(world.position - *position_of(&world, 0) > 6 * MB * 9 / 10);
    *position_of(&world, 0) = world.position;
    for (int i = 0; i < 200; i++) { /* then a reader that stands still is let go */
        advance_alive(world.h, MS, MS);
        write_messages(&world, 20);
    }
    CHECK(told(&world, RSTI_COUNTER_RATE) < rate);
    CHECK_EQ(held_by(&world), RSTI_HELD_BY_RATE);
    ext->read_position = INT64_MAX; /* impossible, and harms nobody but this stream */
    (void)written_within(&world, 100 * MS);
    harness_close(world.h);
}

/* A program that sends and then reads in one thread must not wait for itself. */
TEST(the_window_of_a_reader_that_takes_nothing_can_be_filled)
{
    world_t world = open_world("aeron:ipc?term-length=1m|rs-rate=adaptive");
    write_up_to_limit(&world);
    CHECK(world.position >= 511 * 1024); /* nothing is known of the reader: at once */
    (void)queue_of(&world, 2 * MB);
    const int64_t reader = *position_of(&world, 0);
    int ms = 0;
    for (; ms < 1000 && world.position - reader < 448 * 1024; ms++) { /* a step of the window */
        run_ms(&world, NULL, 0);
    }
    fprintf(stderr, "filled in %d ms\n", ms);
    CHECK(ms <= 550);
    CHECK(ms >= 400); /* 250 ms of waiting, then no leap */
    harness_close(world.h);
}

TEST(the_slowest_of_several_readers_counts)
{
    static const int64_t all[] = {20 * MB, 4 * MB, 10 * MB};
    world_t world = open_world("aeron:ipc?term-length=4m|rs-rate=adaptive");
    const int64_t slow = add(world.h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", 10);
    (void)add(world.h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", 10);
    run_readers(&world, all, 3, 2 * SECOND);
    int64_t before = world.position;
    run_readers(&world, all, 3, SECOND);
    CHECK(world.position - before >= 39 * MB / 10);
    CHECK(world.position - before <= 41 * MB / 10);
    CHECK(world.position - *position_of(&world, 1) <= 60000); /* 1.5 targets */
    CHECK(world.position - *position_of(&world, 0) <= 2 * FRAME);
    (void)take_away(world.h, RSTI_CMD_REMOVE_SUBSCRIPTION, slow); /* the third one moves up */
    CHECK_EQ(world.base->subscribers.count, 2);
    const int64_t left[] = {20 * MB, 10 * MB};
    run_readers(&world, left, 2, SECOND / 5); /* the way back */
    before = world.position;
    run_readers(&world, left, 2, SECOND);
    CHECK(world.position - before >= 97 * MB / 10);
    CHECK(world.position - *position_of(&world, 1) <= 150000);
    harness_close(world.h);
}

/* Such a reader may fall behind, and then loses its place. If the law waited for it, it would slow
 * the stream down for ever. */
TEST(an_untethered_reader_does_not_count)
{
    static const int64_t rates[] = {0, 4 * MB}; /* the first one reads all, below */
    static const int64_t window = 2 << 20, until_let_go_ms = 12 * SECOND;
    world_t world = open_world("aeron:ipc?term-length=4m|rs-rate=adaptive");
    (void)add(world.h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc?tether=false", 10);
    for (int i = 0; i < 2 * SECOND; i++) {
        *position_of(&world, 0) = world.position;
        run_ms(&world, rates, 2);
    }
    CHECK(world.position - *position_of(&world, 1) > window / 8 * 7);
    CHECK_EQ(held_by(&world), RSTI_HELD_BY_WINDOW);
    CHECK_EQ(told(&world, RSTI_COUNTER_FILL_NAKS), 0);
    int64_t before = 0;
    for (int i = 0; i < until_let_go_ms; i++) {
        *position_of(&world, 0) = world.position;
        before = i < until_let_go_ms - SECOND ? world.position : before;
        run_ms(&world, rates, 2);
    }
    fprintf(stderr, "%" PRId64 " MB in a second\n", (world.position - before) / MB);
    CHECK(world.position - before > 100 * MB);
    harness_close(world.h);
}

/* rs-evict alone is followed, because such a reader holds the window for as long as it moves. */
TEST(tether_false_counts_beside_eviction)
{
    static const int64_t rates[] = {0, 4 * MB}; /* the first one reads all, below */
    static const char *const channels[] = {
        "aeron:ipc?rs-evict=1s", "aeron:ipc?rs-evict=1s|tether=false"};
    for (int i = 0; i < 2; i++) {
        world_t world = open_world("aeron:ipc?term-length=4m|rs-rate=adaptive");
        (void)add(world.h, RSTI_CMD_ADD_SUBSCRIPTION, channels[i], 10);
        for (int64_t ms = 0; ms < 2 * SECOND; ms++) {
            *position_of(&world, 0) = world.position;
            run_ms(&world, rates, 2);
        }
        CHECK_EQ(told(&world, RSTI_COUNTER_FILL_NAKS) > 0, i == 0);
        harness_close(world.h);
    }
}

TEST(only_laws_that_listen_have_counters)
{
    static const struct {
        const char *rate;
        bool is_listening;
    } rows[] = {{"adaptive", true}, {"nak", true}, {"aimd", true}, {"default", true},
        {"unlimited", false}, {"fixed,r:1m", false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char channel[96];
        snprintf(channel, sizeof channel, "aeron:ipc?term-length=1m|rs-rate=%s", rows[i].rate);
        world_t world = open_world(channel);
        /* It begins without a limit: the window holds. */
        CHECK_EQ(told(&world, RSTI_COUNTER_RATE), rows[i].is_listening ? RSTI_RATE_MAX : -1);
        CHECK_EQ(told(&world, RSTI_COUNTER_FILL_NAKS), rows[i].is_listening ? 0 : -1);
        CHECK_EQ(told(&world, RSTI_COUNTER_MARGIN), rows[i].is_listening ? 0 : -1);
        harness_close(world.h);
    }
}

/* A named stream asks for the default; a raw publication names no law. */
TEST(the_driver_s_option_is_the_law_of_channels_without_one)
{
    static const struct {
        const char *const options[3];
        const char *channel, *law;
    } rows[] = {
        {{"rate", "default", NULL}, "aeron:ipc", "unlimited"},
        {{"rate", "default", NULL}, "aeron:ipc?rs-rate=default", "adaptive"},
        {{"rate", "nak", NULL}, "aeron:ipc", "nak"},
        {{"rate", "nak", NULL}, "aeron:ipc?rs-rate=default", "nak"},
        {{"rate", "nak", NULL}, "aeron:ipc?rs-rate=aimd", "aimd"},
        {{NULL}, "aeron:ipc?rs-rate=default", "adaptive"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        harness_options = rows[i].options;
        world_t world = open_world(rows[i].channel);
        harness_options = NULL;
        CHECK(world.base->rate.law == rsti_rate_find(rows[i].law));
        /* The default and its law are the same channel. */
        char named[96];
        snprintf(named, sizeof named, "aeron:ipc?rs-rate=%s", rows[i].law);
        const int64_t again = add(world.h, RSTI_CMD_ADD_PUBLICATION, named, 10);
        CHECK(answer(world.h, RSTI_RSP_PUBLICATION_READY, again) != NULL);
        harness_close(world.h);
    }
}

/* The counters that one law needed stay, and show the rate of each law after it. */
TEST(another_law_while_running)
{
    world_t world = open_world("aeron:ipc?term-length=4m|rs-rate=unlimited");
    CHECK(queue_of(&world, 10 * MB).p50 > 1900 << 10);
    CHECK(set_rate(&world, "adaptive"));
    CHECK_EQ(told(&world, RSTI_COUNTER_RATE), RSTI_RATE_MAX);
    CHECK(queue_of(&world, 10 * MB).p50 < 100000);
    CHECK(told(&world, RSTI_COUNTER_RATE) > 9 * MB && told(&world, RSTI_COUNTER_RATE) < 11 * MB);
    CHECK(told(&world, RSTI_COUNTER_FILL_NAKS) > 400);
    CHECK(set_rate(&world, "fixed,r:1m"));
    CHECK_EQ(told(&world, RSTI_COUNTER_RATE), 1 << 20);
    CHECK_EQ(told(&world, RSTI_COUNTER_FILL_NAKS), 0);
    CHECK(queue_of(&world, 10 * MB).p99 <= 20 << 10);
    CHECK(set_rate(&world, "nak"));
    CHECK(queue_of(&world, 10 * MB).p50 < 1300 << 10);
    CHECK(told(&world, RSTI_COUNTER_FILL_NAKS) > 0);
    CHECK(set_rate(&world, "unlimited"));
    CHECK_EQ(told(&world, RSTI_COUNTER_RATE), RSTI_RATE_MAX);
    CHECK(queue_of(&world, 10 * MB).p50 > 1900 << 10);
    CHECK(set_rate(&world, "default"));
    CHECK(queue_of(&world, 10 * MB).p50 < 100000);
    harness_close(world.h);
}

/* Also while the rate stays at its least. */
TEST(each_report_is_counted)
{
    static const int64_t slow = MB / 10;
    world_t world = open_world("aeron:ipc?term-length=1m|rs-rate=adaptive,m:1k");
    run_readers(&world, &slow, 1, SECOND);
    write_up_to_limit(&world);
    const rsti_ipc_publication_t *publication = (const void *)world.base;
    CHECK_EQ(told(&world, RSTI_COUNTER_FILL_NAKS), publication->rate.rate.report_count);
    CHECK_EQ(told(&world, RSTI_COUNTER_RATE), 1024);
    harness_close(world.h);
}

/* Else a whole window is sent before the new rate applies. The producer writes 20 MB/s. */
TEST(the_limit_falls_with_the_rate)
{
    static const int64_t fast = 100 * MB, set_point = 800 * 1000;
    world_t world = open_world("aeron:ipc?term-length=4m|pub-wnd=2m|rs-rate=adaptive");
    run_readers(&world, &fast, 1, SECOND);
    for (int i = 0; i < 100; i++) {
        advance_alive(world.h, MS, MS);
        write_messages(&world, 20);
        *position_of(&world, 0) = world.position;
    }
    CHECK_EQ(held_by(&world), RSTI_HELD_BY_WINDOW);
    CHECK(*world.base->pub_lmt - world.position > set_point);
    int64_t longest = 0;
    for (int i = 0; i < 300; i++) {
        advance_alive(world.h, MS, MS);
        write_messages(&world, 20);
        *position_of(&world, 0) += FRAME; /* now it reads 1 MB/s */
        longest = rsti_max_i64(longest, world.position - *position_of(&world, 0));
    }
    CHECK(longest < set_point * 3 / 2);
    CHECK_EQ(held_by(&world), RSTI_HELD_BY_RATE);
    CHECK(*world.base->pub_lmt - world.position < 4 * 1408 + FRAME);
    harness_close(world.h);
}

/* While nothing moves, no pass of the conductor can change anything. A window that follows the
 * reader has looks of its own (test_reader_window.c), so this one is given. */
TEST(the_conductor_sleeps_when_nothing_moves)
{
    static const int64_t rate = 2 * MB;
    world_t world = open_world("aeron:ipc?term-length=1m|pub-wnd=512k|rs-rate=adaptive");
    const rsti_ipc_publication_t *publication = (const void *)world.base;
    int64_t deadline;
    become_rstream(world.h); /* Aeron's clients do not wake the conductor, so it checks by itself */
    run_readers(&world, &rate, 1, SECOND);
    CHECK(rsti_ipc_publication_due_ns(publication) <= world.h->manual.now_ns + 4 * MS);
    /* The reader wakes it after a quarter of the set point. */
    const int64_t *wake = &world.base->file.log.metadata->ext.conductor_position;
    CHECK(*wake > *position_of(&world, 0));
    CHECK(*wake <= *position_of(&world, 0) + publication->rate.fill.set_point / 4 + FRAME);
    run_readers(&world, NULL, 0, SECOND / 2); /* it stops, and its window is filled */
    CHECK_EQ(rsti_ipc_publication_due_ns(publication), INT64_MAX);
    (void)rst_driver_do_work(world.h->driver, &deadline);
    CHECK(deadline - world.h->manual.now_ns > 5 * MS);
    /* With an empty queue it is not woken before the window may rise. */
    *position_of(&world, 0) = world.position;
    advance_alive(world.h, 500 * MS, MS);
    CHECK_EQ(rsti_ipc_publication_due_ns(publication), INT64_MAX);
    CHECK(*wake > world.position);
    /* Nor with a message in the queue now and then, while the window holds. */
    (void)written_within(&world, 200 * MS); /* the way back */
    CHECK_EQ(held_by(&world), RSTI_HELD_BY_WINDOW);
    int wakes = 0;
    for (int i = 0; i < 100; i++) {
        advance_alive(world.h, MS, MS);
        CHECK_EQ(rsti_ipc_publication_due_ns(publication), INT64_MAX);
        wakes += *wake <= world.position;
        *position_of(&world, 0) = world.position;
        write_messages(&world, 1);
    }
    CHECK(wakes <= 3); /* the steps of the window: 64 KiB each */
    harness_close(world.h);
}

/* Its publisher may have written a long message beyond the limit, and would pay for it at the least
 * rate for seconds. */
TEST(the_end_of_a_short_overload_is_seen)
{
    static const int64_t slow = MB / 10;
    world_t world = open_world("aeron:ipc?term-length=1m|rs-rate=adaptive");
    become_rstream(world.h);
    run_readers(&world, &slow, 1, 8 * SECOND);
    const rsti_ipc_publication_t *publication = (const void *)world.base;
    const int64_t *wake = &world.base->file.log.metadata->ext.conductor_position;
    int reporting = 0;
    for (int i = 0; i < 100; i++) {
        run_ms(&world, &slow, 1);
        advance_alive(world.h, MS / 10, MS / 10);
        CHECK(world.position - *position_of(&world, 0) < 4096 + FRAME);
        reporting += publication->rate.fill.is_reporting;
        CHECK(!publication->rate.fill.is_reporting || *wake <= world.position);
    }
    CHECK(reporting > 50);
    harness_close(world.h);
}

/* A publication, and a reader of another program. Of one's own the whole window can be filled, see
 * above. */
static world_t open_with_stranger(void)
{
    harness_t *h = harness_open();
    world_t world = {.h = h};
    world.registration_id = add(h, RSTI_CMD_ADD_PUBLICATION,
        "aeron:ipc?term-length=1m|rs-rate=adaptive", 10);
    rsti_command_t subscribe = {.type = RSTI_CMD_ADD_SUBSCRIPTION,
        .registration_id = -1,
        .client_id = CLIENT_ID + 1,
        .stream_id = 10,
        .channel = {"aeron:ipc", 9}};
    (void)command_of(h, &subscribe);
    world.base = h->driver->conductor->ipc_publications.items[0];
    rsti_appender_init(&world.appender, &world.base->file.log, world.base->pub_lmt,
        world.base->session_id, 10, false);
    return world;
}

/* Of a publisher that writes what it may. Returns what waits for the reader. */
static int64_t fill_for_ms(world_t *world, int ms)
{
    for (int i = 0; i < ms; i++) {
        advance_alive(world->h, MS, MS);
        write_up_to_limit(world);
    }
    return world->position - *position_of(world, 0);
}

TEST(a_reader_of_few_items_has_two_of_them_before_it)
{
    world_t world = open_with_stranger();
    write_up_to_limit(&world);
    CHECK(world.position <= 2 * FRAME);
    for (int i = 0; i < 20; i++) {
        CHECK(fill_for_ms(&world, 200) <= 2 * FRAME);
        *position_of(&world, 0) += FRAME; /* five a second */
    }
    CHECK_EQ(held_by(&world), RSTI_HELD_BY_WINDOW);
    for (int i = 0; i < 1000; i++) { /* and a fast one has all of it soon */
        advance_alive(world.h, MS / 10, MS / 10);
        write_all(&world);
    }
    const int64_t before = world.position;
    advance_alive(world.h, MS / 10, MS / 10);
    write_up_to_limit(&world);
    CHECK(world.position - before > 256 * 1024);
    harness_close(world.h);
}

/* Its program may read when all is sent. */
TEST(a_reader_that_reads_later_holds_its_publisher_for_a_moment)
{
    world_t world = open_with_stranger();
    CHECK(fill_for_ms(&world, 240) <= 2 * FRAME);
    CHECK(fill_for_ms(&world, 300) > 500 * 1000);
    *position_of(&world, 0) = world.position; /* it reads all, and then a few, one by one */
    CHECK(fill_for_ms(&world, 20) > 500 * 1000);
    for (int i = 0; i < 20; i++) {
        *position_of(&world, 0) += FRAME;
        (void)fill_for_ms(&world, 20);
    }
    *position_of(&world, 0) = world.position - FRAME;
    CHECK(fill_for_ms(&world, 240) > 2 * FRAME); /* it has just caught up */
    CHECK(fill_for_ms(&world, 4000) > 500 * 1000);
    harness_close(world.h);
}

/* The reader is in a chain: its program has a publication whose readers take nothing. */
TEST(a_reader_whose_program_waits_has_not_stopped)
{
    world_t world = open_with_stranger();
    (void)fill_for_ms(&world, 20);
    for (int i = 0; i < 20; i++) {
        *position_of(&world, 0) += FRAME;
        (void)fill_for_ms(&world, 20);
    }
    rsti_command_t publish = {.type = RSTI_CMD_ADD_PUBLICATION,
        .client_id = CLIENT_ID + 1,
        .stream_id = 11,
        .channel = {"aeron:ipc?term-length=64k|pub-wnd=4k", 36}};
    const int64_t next_id = command_of(world.h, &publish);
    rsti_command_t subscribe = {.type = RSTI_CMD_ADD_SUBSCRIPTION,
        .registration_id = -1,
        .client_id = CLIENT_ID + 2,
        .stream_id = 11,
        .channel = {"aeron:ipc", 9}};
    (void)command_of(world.h, &subscribe);
    rsti_publication_t *next = world.h->driver->conductor->ipc_publications.items[1];
    CHECK_EQ(next->registration_id, next_id);
    next->file.log.metadata->term_tail_counters[0] += 4096; /* it is full */
    CHECK(fill_for_ms(&world, 4900) <= 2 * FRAME);
    CHECK(fill_for_ms(&world, 5000) > 500 * 1000); /* perhaps each waits for the other */
    harness_close(world.h);
}

/* Nothing else makes the conductor look while the reader takes nothing. */
TEST(a_publisher_of_a_small_window_that_is_refused_wakes_the_conductor)
{
    world_t world = open_with_stranger();
    const int32_t *word = &world.base->file.log.metadata->ext.is_limit_short;
    const rsti_ipc_publication_t *publication = (const void *)world.base;
    CHECK_EQ(*word, 1);
    /* One that was refused before it was told has not woken it. */
    CHECK(rsti_ipc_publication_due_ns(publication) <= world.h->manual.now_ns + 10 * MS);
    advance_alive(world.h, 20 * MS, MS);
    CHECK_EQ(rsti_ipc_publication_due_ns(publication), INT64_MAX);
    write_up_to_limit(&world);
    advance_alive(world.h, MS, MS);
    CHECK_EQ(*word, 0); /* now the conductor looks by itself */
    CHECK(rsti_ipc_publication_due_ns(publication) <= world.h->manual.now_ns + 10 * MS);
    advance_alive(world.h, 20 * MS, MS);
    const int64_t due_ns = rsti_ipc_publication_due_ns(publication) - world.h->manual.now_ns;
    CHECK(due_ns > 200 * MS);
    CHECK(due_ns <= 250 * MS);
    (void)fill_for_ms(&world, 600);
    advance_alive(world.h, 20 * MS, MS);
    CHECK_EQ(*word, 0); /* its window is whole */
    CHECK_EQ(rsti_ipc_publication_due_ns(publication), INT64_MAX);
    harness_close(world.h);
}

CHECK_MAIN(RUN(a_slow_reader_gets_a_queue_of_the_target_delay),
    RUN(the_other_laws_that_listen_act_too), RUN(a_reader_that_becomes_fast_is_held_back_no_more),
    RUN(a_reader_that_sets_messages_aside_is_as_fast_as_it_reads),
    RUN(the_window_of_a_reader_that_takes_nothing_can_be_filled),
    RUN(the_slowest_of_several_readers_counts), RUN(an_untethered_reader_does_not_count),
    RUN(tether_false_counts_beside_eviction), RUN(only_laws_that_listen_have_counters),
    RUN(the_driver_s_option_is_the_law_of_channels_without_one), RUN(another_law_while_running),
    RUN(each_report_is_counted), RUN(the_end_of_a_short_overload_is_seen),
    RUN(a_reader_of_few_items_has_two_of_them_before_it),
    RUN(a_reader_that_reads_later_holds_its_publisher_for_a_moment),
    RUN(a_reader_whose_program_waits_has_not_stopped),
    RUN(a_publisher_of_a_small_window_that_is_refused_wakes_the_conductor),
    RUN(the_limit_falls_with_the_rate), RUN(the_conductor_sleeps_when_nothing_moves))
