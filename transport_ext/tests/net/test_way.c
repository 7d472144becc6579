/* The emulated link of tests/net against arithmetic: rate, queue, delay, loss, order. */
#include "tests/net/way.h"

#include "tests/check.h"
#include "util/clock.h"

#define CAPACITY 4096
#define BYTES 1250 /* 1 ms at 10 Mbit/s */
#define RATE INT64_C(10000000)
#define MS RSTI_NS_PER_MS

static net_packet_t packets[CAPACITY];
static net_way_t way;

static void open_way(net_way_params_t params)
{
    for (int i = 0; i < CAPACITY; i++) {
        packets[i] = (net_packet_t){.length = BYTES, .flow = i};
    }
    (void)net_way_init(&way, &params, CAPACITY);
}

/* Offers packets [from, from + count) at once, and returns how many the queue took. */
static int offer(int64_t now_ns, int from, int count)
{
    int taken = 0;
    for (int i = from; i < from + count; i++) {
        taken += net_way_offer(&way, now_ns, &packets[i]);
    }
    return taken;
}

TEST(a_packet_takes_its_time_and_the_delay)
{
    open_way((net_way_params_t){.bits_per_s = RATE, .delay_ns = 5 * MS});
    CHECK_EQ(net_way_next_ns(&way), INT64_MAX);
    CHECK_EQ(offer(0, 0, 3), 3);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(net_way_next_ns(&way), (6 + i) * MS);
        CHECK(net_way_take(&way, (6 + i) * MS - 1) == NULL);
        CHECK(net_way_take(&way, (6 + i) * MS) == &packets[i]);
    }
    CHECK(net_way_take(&way, INT64_MAX) == NULL);
    net_way_fini(&way);
}

TEST(the_queue_drops_what_does_not_fit)
{
    open_way((net_way_params_t){.bits_per_s = RATE, .queue_bytes = 4 * BYTES});
    CHECK_EQ(offer(0, 0, 6), 4); /* the one being sent counts */
    CHECK_EQ(offer(MS - 1, 6, 1), 0);
    CHECK_EQ(offer(MS, 7, 2), 1); /* the first has been sent at this moment */
    CHECK_EQ(offer(100 * MS, 9, 6), 4);
    net_way_fini(&way);
}

TEST(a_packet_above_the_queue_passes_an_idle_link)
{
    open_way((net_way_params_t){.bits_per_s = RATE, .queue_bytes = BYTES - 1});
    CHECK_EQ(offer(0, 0, 2), 1);
    net_way_fini(&way);
}

TEST(an_endless_link_only_delays)
{
    open_way((net_way_params_t){.delay_ns = 3 * MS});
    CHECK_EQ(offer(7, 0, 1000), 1000);
    CHECK_EQ(net_way_wait_ns(&way, 7), 0);
    for (int i = 0; i < 1000; i++) {
        CHECK(net_way_take(&way, 7 + 3 * MS) == &packets[i]);
    }
    net_way_fini(&way);
}

TEST(the_wait_is_what_lies_before)
{
    open_way((net_way_params_t){.bits_per_s = RATE});
    CHECK_EQ(net_way_wait_ns(&way, 0), 0);
    (void)offer(0, 0, 10);
    CHECK_EQ(net_way_wait_ns(&way, 0), 10 * MS);
    CHECK_EQ(net_way_wait_ns(&way, 4 * MS + 1), 6 * MS - 1);
    CHECK_EQ(net_way_wait_ns(&way, 20 * MS), 0);
    net_way_fini(&way);
}

/* A caller that comes late finds what a punctual one would have. */
TEST(a_late_caller_changes_nothing)
{
    open_way((net_way_params_t){.bits_per_s = RATE, .queue_bytes = 4 * BYTES, .delay_ns = MS});
    CHECK_EQ(offer(0, 0, 4), 4);
    CHECK_EQ(offer(2 * MS, 4, 3), 2); /* two had left by then, whoever looked */
    for (int i = 0; i < 6; i++) {
        net_packet_t *packet = net_way_take(&way, 500 * MS);
        CHECK(packet == &packets[i]);
        CHECK_EQ(packet->due_ns, (2 + i) * MS);
    }
    net_way_fini(&way);
}

TEST(the_rate_changes_at_its_time)
{
    open_way((net_way_params_t){.bits_per_s = RATE});
    CHECK(net_way_step(&way, 2 * MS, RATE / 5));
    CHECK(net_way_step(&way, 12 * MS, RATE));
    (void)offer(0, 0, 6);
    const int64_t due_ms[] = {1, 2, 7, 12, 13, 14};
    for (int i = 0; i < 6; i++) {
        CHECK_EQ(net_way_take(&way, 1000 * MS)->due_ns, due_ms[i] * MS);
    }
    for (int i = 2; i < NET_STEPS_MAX; i++) {
        CHECK(net_way_step(&way, i * 100 * MS, RATE));
    }
    CHECK(!net_way_step(&way, 10000 * MS, RATE));
    net_way_fini(&way);
}

TEST(what_is_offered_is_taken_or_dropped_at_the_rate)
{
    open_way((net_way_params_t){.bits_per_s = RATE, .queue_bytes = 8 * BYTES, .delay_ns = MS});
    int taken = 0, came = 0;
    for (int i = 0; i < 3000; i++) { /* three times the rate for a second */
        taken += offer(i * MS / 3, i, 1);
        while (net_way_take(&way, i * MS / 3) != NULL) {
            came++;
        }
    }
    CHECK(taken >= 1000 && taken <= 1009);
    CHECK(came >= 998 && came <= 1000);
    while (net_way_take(&way, 2000 * MS) != NULL) {
        came++;
    }
    CHECK_EQ(came, taken);
    CHECK_EQ(way.queued_bytes, 0);
    net_way_fini(&way);
}

static int lost_of(int count, double loss, uint64_t seed)
{
    int lost = 0;
    open_way((net_way_params_t){.loss = loss, .seed = seed});
    for (int i = 0; i < count; i++) {
        (void)offer(i, i % CAPACITY, 1);
        lost += net_way_take(&way, i)->is_lost;
    }
    net_way_fini(&way);
    return lost;
}

TEST(loss_is_random_by_its_seed)
{
    CHECK_EQ(lost_of(1000, 0, 1), 0);
    CHECK_EQ(lost_of(1000, 1, 1), 1000);
    const int lost = lost_of(100000, 0.02, check_seed());
    CHECK(abs(lost - 2000) < 270); /* six standard deviations */
    CHECK_EQ(lost_of(100000, 0.02, check_seed()), lost);
}

TEST(held_back_packets_come_later)
{
    open_way((net_way_params_t){
        .bits_per_s = RATE, .delay_ns = MS, .reorder = 0.1, .reorder_ns = 5 * MS, .seed = 7});
    (void)offer(0, 0, 1000);
    int overtaken = 0, held = 0, most = -1;
    int64_t last_ns = 0;
    for (int i = 0; i < 1000; i++) {
        const net_packet_t *packet = net_way_take(&way, INT64_MAX);
        CHECK(packet->due_ns >= last_ns);
        last_ns = packet->due_ns;
        held += packet->due_ns == (packet->flow + 7) * MS;
        overtaken += packet->flow < most;
        most = packet->flow > most ? packet->flow : most;
    }
    CHECK(held > 50 && held < 150);
    CHECK(overtaken > held / 2);
    net_way_fini(&way);
}

TEST(a_sender_may_be_further_away)
{
    open_way((net_way_params_t){.delay_ns = MS});
    packets[0].extra_ns = 10 * MS;
    (void)offer(0, 0, 2);
    CHECK(net_way_take(&way, MS) == &packets[1]);
    CHECK_EQ(net_way_next_ns(&way), 11 * MS);
    CHECK(net_way_take(&way, 11 * MS) == &packets[0]);
    net_way_fini(&way);
}

TEST(the_capacity_is_a_limit)
{
    open_way((net_way_params_t){.bits_per_s = RATE});
    net_way_fini(&way);
    CHECK(net_way_init(&way, &(net_way_params_t){.delay_ns = MS}, 4));
    CHECK_EQ(offer(0, 0, 10), 8); /* four under way, four wait for their place */
    for (int i = 0; i < 8; i++) {
        CHECK(net_way_take(&way, 100 * MS) != NULL);
    }
    CHECK(net_way_take(&way, 100 * MS) == NULL);
    net_way_fini(&way);
}

CHECK_MAIN(RUN(a_packet_takes_its_time_and_the_delay), RUN(the_queue_drops_what_does_not_fit),
    RUN(a_packet_above_the_queue_passes_an_idle_link), RUN(an_endless_link_only_delays),
    RUN(the_wait_is_what_lies_before), RUN(a_late_caller_changes_nothing),
    RUN(the_rate_changes_at_its_time), RUN(what_is_offered_is_taken_or_dropped_at_the_rate),
    RUN(loss_is_random_by_its_seed), RUN(held_back_packets_come_later),
    RUN(a_sender_may_be_further_away), RUN(the_capacity_is_a_limit))
