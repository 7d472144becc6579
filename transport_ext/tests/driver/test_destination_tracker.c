/* The destinations of a multi-destination publication: tables of status messages in virtual time.
 */
#include "driver/sender/destination_tracker.h"

#include "tests/check.h"
#include "util/error.h"
#include "util/int_math.h"
#include "util/netaddr.h"

#define S RSTI_NS_PER_S

static rsti_destination_tracker_t tracker;

static struct sockaddr_storage address_of(const char *text)
{
    struct sockaddr_storage address = {0};
    (void)rsti_netaddr_resolve(text, &address);
    return address;
}

static bool sm(int64_t receiver_id, const char *from, int64_t now_ns)
{
    const struct sockaddr_storage source = address_of(from);
    return rsti_destinations_on_sm(&tracker, receiver_id, &source, now_ns);
}

static bool add(int64_t registration_id, const char *to)
{
    const struct sockaddr_storage address = address_of(to);
    return rsti_destinations_add(&tracker, registration_id, &address, false, 0);
}

/* N7: one entry per receiver id and port. */
TEST(dynamic_destinations_are_receivers_by_id_and_port)
{
    rsti_destinations_init(&tracker, false);
    CHECK(sm(1, "10.0.0.1:5000", 0));
    CHECK(sm(1, "10.0.0.1:5000", 1));
    CHECK_EQ(tracker.count, 1);
    CHECK(sm(1, "10.0.0.1:5001", 2)); /* another socket of that id */
    CHECK(sm(2, "10.0.0.1:5000", 3)); /* another receiver behind that address */
    CHECK(sm(1, "10.0.0.9:5000", 4)); /* the id decides; the first address stays */
    CHECK_EQ(tracker.count, 3);
    const struct sockaddr_storage first = address_of("10.0.0.1:5000");
    CHECK(rsti_netaddr_equal(&tracker.items[0].address, &first));
    CHECK_EQ(tracker.items[0].last_activity_ns, 4);
    /* Two receivers at one address: one datagram reaches both. */
    CHECK(!tracker.items[0].is_repeated);
    CHECK(tracker.items[2].is_repeated);
    CHECK(sm(3, "[::1]:5000", 5));
    CHECK_EQ(tracker.count, 4);
}

TEST(dynamic_destinations_live_five_seconds)
{
    rsti_destinations_init(&tracker, false);
    CHECK_EQ(tracker.expiry_due_ns, RSTI_NO_DEADLINE);
    CHECK(sm(1, "10.0.0.1:1", 0));
    CHECK(sm(2, "10.0.0.2:1", S));
    CHECK_EQ(tracker.expiry_due_ns, 5 * S + 1);
    rsti_destinations_expire(&tracker, 5 * S);
    CHECK_EQ(tracker.count, 2); /* exactly five seconds are not too long */
    rsti_destinations_expire(&tracker, 5 * S + 1);
    CHECK_EQ(tracker.count, 1);
    CHECK_EQ(tracker.items[0].receiver_id, 2);
    CHECK_EQ(tracker.expiry_due_ns, 6 * S + 1);
    CHECK(sm(2, "10.0.0.2:1", 6 * S));
    rsti_destinations_expire(&tracker, 6 * S + 1);
    CHECK_EQ(tracker.count, 1);
    rsti_destinations_expire(&tracker, 11 * S + 1);
    CHECK_EQ(tracker.count, 0);
    CHECK_EQ(tracker.expiry_due_ns, RSTI_NO_DEADLINE);
    CHECK(sm(1, "10.0.0.1:1", 20 * S)); /* and comes back */
    CHECK_EQ(tracker.expiry_due_ns, 25 * S + 1);
}

TEST(the_one_too_many_is_refused)
{
    rsti_destinations_init(&tracker, false);
    for (int i = 0; i < RSTI_DESTINATIONS_MAX; i++) {
        CHECK(sm(i + 1, "10.0.0.1:1", i));
    }
    CHECK(!sm(RSTI_DESTINATIONS_MAX + 1, "10.0.0.1:1", 0));
    CHECK(sm(7, "10.0.0.1:1", 1000)); /* existing ones stay */
    CHECK_EQ(tracker.count, RSTI_DESTINATIONS_MAX);
    rsti_destinations_init(&tracker, true);
    for (int i = 0; i < RSTI_DESTINATIONS_MAX; i++) {
        CHECK(add(i, "10.0.0.1:1"));
    }
    CHECK(!add(RSTI_DESTINATIONS_MAX, "10.0.0.1:1"));
}

/* A manual destination is identified by its address until its receiver's id is known. */
TEST(manual_destinations_learn_their_receiver)
{
    rsti_destinations_init(&tracker, true);
    CHECK(add(11, "10.0.0.1:1"));
    CHECK(add(12, "10.0.0.2:1"));
    CHECK(sm(5, "10.0.0.3:1", 1)); /* it was never added */
    CHECK_EQ(tracker.count, 2);
    CHECK(sm(5, "10.0.0.1:1", 2));
    CHECK(tracker.items[0].has_receiver_id);
    CHECK_EQ(tracker.items[0].last_activity_ns, 2);
    CHECK(sm(5, "10.0.0.9:1", 3)); /* from now on by id and port */
    CHECK_EQ(tracker.items[0].last_activity_ns, 3);
    CHECK(sm(6, "10.0.0.1:1", 4)); /* another receiver at that address */
    CHECK_EQ(tracker.items[0].last_activity_ns, 3);
    CHECK_EQ(tracker.items[1].last_activity_ns, 0);
    rsti_destinations_expire(&tracker, 1000 * S);
    CHECK_EQ(tracker.count, 2); /* they are removed by command only */
    const struct sockaddr_storage moved = address_of("10.0.0.4:1");
    CHECK(rsti_destinations_move(&tracker, 11, &moved));
    CHECK(!tracker.items[0].has_receiver_id);
    CHECK(!rsti_destinations_move(&tracker, 99, &moved));
    CHECK(rsti_destinations_remove(&tracker, 11));
    CHECK(!rsti_destinations_remove(&tracker, 11));
    CHECK_EQ(tracker.items[0].registration_id, 12);
}

/* N7 */
TEST(an_address_added_twice_is_one_until_one_goes)
{
    rsti_destinations_init(&tracker, true);
    CHECK(add(1, "10.0.0.1:1") && add(2, "10.0.0.1:1"));
    CHECK(!tracker.items[0].is_repeated && tracker.items[1].is_repeated);
    CHECK(rsti_destinations_remove(&tracker, 1));
    CHECK(!tracker.items[0].is_repeated);
}

/* driver.md 13, lesson 2: each of n destinations is first equally often, also when the list
 * changes. */
TEST(each_is_first_equally_often)
{
    rsti_destinations_init(&tracker, true);
    static const char *const addresses[] = {"10.0.0.1:1", "10.0.0.2:1", "10.0.0.3:1"};
    for (int i = 0; i < 3; i++) {
        CHECK(add(i, addresses[i]));
    }
    int firsts[3] = {0};
    for (int i = 0; i < 300; i++) {
        firsts[rsti_destinations_rotate(&tracker)]++;
    }
    CHECK(firsts[0] == 100 && firsts[1] == 100 && firsts[2] == 100);
    CHECK_EQ(rsti_destinations_rotate(&tracker), 0);
    CHECK_EQ(rsti_destinations_rotate(&tracker), 1);
    CHECK(rsti_destinations_remove(&tracker, 0)); /* the next is still the third */
    CHECK_EQ(tracker.items[rsti_destinations_rotate(&tracker)].registration_id, 2);
    CHECK_EQ(tracker.items[rsti_destinations_rotate(&tracker)].registration_id, 1);
    CHECK(rsti_destinations_remove(&tracker, 1) && rsti_destinations_remove(&tracker, 2));
    CHECK_EQ(rsti_destinations_rotate(&tracker), 0); /* an empty list: no entry is accessed */
}

/* A destination that fails is left out for 10 ms, 20 ms … 1 s, and what it misses is counted. */
TEST(a_failed_destination_is_left_out_for_a_while)
{
    rsti_destinations_init(&tracker, true);
    CHECK(add(1, "10.0.0.1:1"));
    rsti_destination_t *destination = &tracker.items[0];
    int64_t now_ns = S;
    CHECK(rsti_destination_takes(destination, 4, now_ns));
    CHECK_EQ(destination->missed_count, 0);
    CHECK(rsti_destination_on_failed(destination, 4, now_ns));
    int64_t wait_ns = RSTI_DESTINATION_RETRY_MIN_NS;
    for (int i = 1; i < 12; i++) {
        CHECK(!rsti_destination_takes(destination, 1, now_ns + wait_ns - 1));
        CHECK_EQ(destination->missed_count, 4 + 2 * i - 1);
        now_ns += wait_ns;
        CHECK(rsti_destination_takes(destination, 1, now_ns));
        CHECK(!rsti_destination_on_failed(destination, 1, now_ns));
        CHECK_EQ(destination->missed_count, 4 + 2 * i);
        wait_ns = rsti_min_i64(2 * wait_ns, RSTI_DESTINATION_RETRY_MAX_NS);
    }
    CHECK_EQ(wait_ns, S);
    rsti_destination_on_sent(destination);
    CHECK(rsti_destination_takes(destination, 1, now_ns));
    CHECK(rsti_destination_on_failed(destination, 1, now_ns)); /* the first one again */
    CHECK_EQ(destination->retry_due_ns, now_ns + RSTI_DESTINATION_RETRY_MIN_NS);
    const struct sockaddr_storage moved = address_of("10.0.0.4:1");
    CHECK(rsti_destinations_move(&tracker, 1, &moved));
    CHECK(rsti_destination_takes(destination, 1, now_ns));
}

CHECK_MAIN(RUN(a_failed_destination_is_left_out_for_a_while),
    RUN(dynamic_destinations_are_receivers_by_id_and_port),
    RUN(dynamic_destinations_live_five_seconds), RUN(the_one_too_many_is_refused),
    RUN(manual_destinations_learn_their_receiver),
    RUN(an_address_added_twice_is_one_until_one_goes), RUN(each_is_first_equally_often))
