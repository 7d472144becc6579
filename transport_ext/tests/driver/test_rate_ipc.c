/* test_rate_ipc.c: the rate limit of a publication in shared memory, and the command that changes
 * it, in virtual time. The laws that follow the readers are in test_ipc_rate.c. */
#include "tests/driver/ipc_world.h"

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
    RUN(resting_rate_wakes_no_thread), RUN(another_rate_while_running),
    RUN(the_window_recovers_without_a_reader), RUN(rates_that_are_refused_change_nothing),
    RUN(the_stream_is_opened_as_before_after_a_change))
