#include "flow/path_track.h"
#include "flow/saturate.h"
#include "tests/check.h"
#include "util/clock.h"
#include "util/rng.h"

#define US INT64_C(1000)
#define MS INT64_C(1000000)
#define FINE 0 /* a mark for each sending */

static rsti_path_track_t track;
static rsti_path_sample_t sample;

static void begin(void)
{
    rsti_path_track_fini(&track);
    if (rsti_path_track_init(&track, 0, 0) != 0) {
        abort();
    }
}

/* On a long path, unless a test says otherwise. */
static int64_t least_ns = 100 * MS;

static void send(int64_t position, int64_t bytes, int64_t most, int64_t now_ns)
{
    const rsti_path_sent_t sent = {
        .position = position, .bytes = bytes, .most = most, .least_ns = least_ns};
    rsti_path_track_on_sent(&track, &sent, now_ns);
}

static rsti_path_item_t item_at(int64_t highest, int64_t received, int64_t clock_ns)
{
    return (rsti_path_item_t){
        .contiguous = highest, .highest = highest, .received = received, .clock_ns = clock_ns};
}

static bool take(rsti_path_item_t item, int64_t now_ns)
{
    return rsti_path_track_on_item(&track, &item, now_ns, &sample);
}

TEST(an_item_gives_round_trip_bandwidth_and_what_is_under_way)
{
    begin();
    for (int64_t i = 1; i <= 10; i++) { /* 1000 bytes each 100 us: 10 MB/s */
        send(i * 1000, 1000, FINE, i * 100 * US);
    }
    CHECK_EQ(rsti_path_under_way(&track), 10000);
    rsti_path_item_t item = item_at(2000, 2000, 70 * MS);
    item.hold_ns = 50 * US;
    CHECK(take(item, 1250 * US));
    CHECK_EQ(sample.rtt_ns, 1000 * US);
    CHECK_EQ(sample.bandwidth, 0); /* there was no item when it was sent */
    CHECK_EQ(sample.received, 2000);
    CHECK_EQ(rsti_path_under_way(&track), 8000);
    send(11000, 1000, FINE, 1300 * US);
    CHECK(take(item_at(11000, 11000, 70 * MS + 900 * US), 2200 * US));
    CHECK_EQ(sample.rtt_ns, 900 * US);
    CHECK_EQ(sample.bandwidth, 10000000);
    CHECK_EQ(rsti_path_under_way(&track), 0);
}

TEST(resends_count_as_sent_and_give_a_round_trip_while_highest_stands_still)
{
    begin();
    for (int64_t i = 1; i <= 4; i++) {
        send(i * 1000, 1000, FINE, i * 100 * US);
    }
    rsti_path_item_t item = item_at(4000, 3000, 1 * MS); /* the second one is lost */
    item.contiguous = 1000;
    item.missing = 1000;
    CHECK(take(item, 1400 * US));
    CHECK_EQ(sample.missing, 1000);
    CHECK_EQ(rsti_path_under_way(&track), 0);
    send(4000, 1000, FINE, 1500 * US); /* the resend */
    CHECK_EQ(rsti_path_under_way(&track), 1000);
    item.contiguous = 4000;
    item.received = 4000;
    item.since = 1000;
    item.clock_ns = 2 * MS;
    item.hold_ns = 1100 * US;
    item.fresh_ns = 100 * US;
    CHECK(take(item, 2500 * US));
    CHECK_EQ(sample.rtt_ns, 900 * US);
    CHECK_EQ(sample.bandwidth, 1000000); /* 1000 bytes in 1 ms since the item before it was sent */
    CHECK_EQ(sample.missing, 0);
    CHECK_EQ(rsti_path_under_way(&track), 0);
}

TEST(between_marks_the_time_is_interpolated_and_a_pause_is_not)
{
    const int64_t most = 10000 * (RSTI_PATH_MARKS / 4); /* a mark for each 10000 bytes */
    begin();
    for (int64_t i = 1; i <= 25; i++) {
        send(i * 1000, 1000, most, i * 100 * US);
    }
    CHECK(track.tail - track.head <= 4);
    CHECK(take(item_at(15000, 15000, 1 * MS), 3000 * US));
    CHECK_EQ(sample.rtt_ns, 1500 * US);
    CHECK(take(item_at(23000, 23000, 2 * MS), 3300 * US)); /* after the last mark */
    CHECK_EQ(sample.rtt_ns, 1000 * US);
    send(26000, 1000, most, 9000 * US); /* after 6.5 ms */
    send(27000, 1000, most, 9100 * US);
    CHECK(take(item_at(25000, 25000, 3 * MS), 9200 * US));
    CHECK_EQ(sample.rtt_ns, 6700 * US);
    CHECK(take(item_at(26000, 26000, 10 * MS), 10000 * US));
    CHECK(sample.rtt_ns >= 900 * US && sample.rtt_ns <= 1000 * US);
}

TEST(what_cannot_be_is_refused_and_counted)
{
    begin();
    send(1000, 1000, FINE, 100);
    const rsti_path_item_t good = item_at(1000, 1000, 5);
    rsti_path_item_t bad[] = {
        good, good, good, good, good, good, good, good, good, good, good, good};
    bad[0].highest = 1001; /* was not sent */
    bad[1].contiguous = 1001;
    bad[2].received = -1;
    bad[3].since = -1;
    bad[4].since = 1001; /* more than received */
    bad[5].missing = -1;
    bad[6].hold_ns = -1;
    bad[7].hold_ns = RSTI_PATH_HOLD_MAX_NS + 1;
    bad[8].clock_ns = RSTI_TIME_MAX_NS + 1;
    bad[9].clock_ns = -RSTI_TIME_MAX_NS - 1;
    bad[10].fresh_ns = -1;
    bad[11].fresh_ns = 1; /* longer than the hold */
    for (int64_t i = 0; i < 12; i++) {
        CHECK(!take(bad[i], 1 * MS));
        CHECK_EQ(track.refused_count, i + 1);
        CHECK_EQ(rsti_path_under_way(&track), 1000);
    }
    rsti_path_item_t limit = good; /* exactly at the limits */
    limit.since = 1000;
    limit.hold_ns = RSTI_PATH_HOLD_MAX_NS;
    limit.fresh_ns = RSTI_PATH_HOLD_MAX_NS;
    limit.clock_ns = -RSTI_TIME_MAX_NS;
    CHECK(take(limit, 1 * MS));
    CHECK_EQ(sample.rtt_ns, 0); /* a hold longer than the time since: none */
    CHECK_EQ(track.old_count, 0);
}

/* A lost frame of padding: 900 000 bytes of position, 32 of them sent. */
TEST(no_more_is_missing_than_was_sent)
{
    begin();
    send(1000, 1000, FINE, 100);
    send(901000, 32, FINE, 200);
    send(902000, 1000, FINE, 300);
    CHECK(take(item_at(1000, 1000, 5), 1 * MS));
    rsti_path_item_t item = item_at(902000, 2000, 6);
    item.missing = 900000;
    CHECK(take(item, 1 * MS));
    CHECK_EQ(sample.missing, 32);
}

TEST(a_new_image_counts_from_0)
{
    begin();
    for (int64_t i = 1; i <= 10; i++) {
        send(i * 1000, 1000, FINE, i * MS);
    }
    rsti_path_item_t item = item_at(4000, 3000, 70 * MS);
    item.missing = 1000;
    CHECK(take(item, 10 * MS));
    CHECK(take(item_at(7000, 1000, 1 * MS), 12 * MS)); /* it joined at 6000 */
    CHECK_EQ(sample.received, 1000);
    CHECK_EQ(sample.missing, 0);
    CHECK_EQ(sample.rtt_ns, 5 * MS);
    CHECK_EQ(track.item.received, 4000);
    CHECK_EQ(track.item.clock_ns, 72 * MS);
    CHECK(take(item_at(8000, 2000, 2 * MS), 13 * MS));
    CHECK_EQ(sample.received, 1000);
    CHECK(!take(item_at(7500, 1500, 2 * MS), 13 * MS));
    CHECK_EQ(track.old_count, 1);
}

TEST(an_older_item_changes_nothing)
{
    begin();
    send(3000, 3000, FINE, 100);
    rsti_path_item_t item = item_at(2000, 1900, 5 * MS);
    item.missing = 100;
    CHECK(take(item, 1 * MS));
    CHECK(!take(item, 2 * MS)); /* the same one twice */
    rsti_path_item_t older[] = {item, item, item, item};
    for (int i = 0; i < 4; i++) {
        older[i].received = 2500;
    }
    older[0].highest = older[0].contiguous = 1999;
    older[1].contiguous = 1999;
    older[2].clock_ns = 5 * MS - 1;
    older[3].missing = 99;
    for (int i = 0; i < 4; i++) {
        CHECK(!take(older[i], 2 * MS));
    }
    CHECK_EQ(track.old_count, 5);
    CHECK_EQ(track.item_count, 1);
}

TEST(more_than_was_sent_is_clamped)
{
    begin();
    send(3000, 3000, FINE, 100);
    rsti_path_item_t item = item_at(1000, 9000, 5); /* the network doubles datagrams */
    item.missing = 7000;
    CHECK(take(item, 1 * MS));
    CHECK_EQ(sample.received, 3000);
    CHECK_EQ(sample.missing, 0); /* all that was sent has arrived */
    CHECK_EQ(rsti_path_under_way(&track), 2000);
}

/* The end of the data got lost. Its resends move highest; the first sending is long ago. */
TEST(resends_of_the_end_count_as_resends)
{
    begin();
    for (int64_t i = 1; i <= 4; i++) {
        send(i * 1000, 1000, FINE, i * 100 * US);
    }
    CHECK(take(item_at(1000, 1000, 1 * MS), 1 * MS));
    rsti_path_track_on_silence(&track, 30 * MS);
    CHECK_EQ(rsti_path_under_way(&track), 0);
    int64_t now_ns = 2000 * MS;
    for (int64_t i = 2; i <= 4; i++) {
        send(i * 1000, 1000, FINE, now_ns);
        CHECK_EQ(rsti_path_under_way(&track), 1000);
        CHECK(take(item_at(i * 1000, i * 1000, now_ns), now_ns + MS));
        CHECK_EQ(rsti_path_under_way(&track), 0);
        CHECK(sample.is_resend);
        CHECK_EQ(sample.rtt_ns, 1 * MS);
        CHECK_EQ(sample.missing, 0);
        now_ns += 2 * MS;
    }
    send(5000, 1000, FINE, now_ns); /* new data again */
    CHECK(take(item_at(5000, 5000, now_ns), now_ns + 3 * MS));
    CHECK(!sample.is_resend);
    CHECK_EQ(sample.rtt_ns, 3 * MS);
    CHECK_EQ(rsti_path_under_way(&track), 0);
}

TEST(silence_frees_what_is_under_way)
{
    begin();
    CHECK_EQ(rsti_path_silence_ns(&track, MS), RSTI_NO_DEADLINE);
    send(1000, 1000, FINE, 5 * MS);
    CHECK_EQ(rsti_path_silence_ns(&track, 1 * MS), 25 * MS);
    CHECK_EQ(rsti_path_silence_ns(&track, 10 * MS), 35 * MS);
    CHECK_EQ(rsti_path_silence_ns(&track, INT64_MAX), 5 * MS + 3 * RSTI_PATH_RTT_MAX_NS);
    rsti_path_track_on_silence(&track, 25 * MS);
    CHECK_EQ(rsti_path_under_way(&track), 0);
    CHECK_EQ(track.silence_count, 1);
    send(1000, 1000, FINE, 30 * MS); /* a resend counts anew */
    CHECK_EQ(rsti_path_under_way(&track), 1000);
    CHECK_EQ(rsti_path_silence_ns(&track, 1 * MS), 50 * MS);
    CHECK(take(item_at(1000, 1000, 5), 31 * MS));
    CHECK_EQ(track.silence_count, 0);
}

TEST(the_ring_of_marks_is_bounded)
{
    begin();
    for (int64_t i = 1; i <= 10 * RSTI_PATH_MARKS; i++) {
        send(i * 100, 100, FINE, i * US);
        CHECK(track.tail - track.head <= RSTI_PATH_MARKS);
    }
    CHECK_EQ(track.tail - track.head, RSTI_PATH_MARKS);
    CHECK(take(item_at(10000, 10000, 5), 6 * MS)); /* one of the first: exact */
    CHECK_EQ(sample.rtt_ns, 6 * MS - 100 * US);
    CHECK(take(item_at(1000 * RSTI_PATH_MARKS, 1000 * RSTI_PATH_MARKS, 6), 6 * MS));
    CHECK_EQ(sample.rtt_ns, 6 * MS - 10 * RSTI_PATH_MARKS * US);
}

/* More is under way than the ring has marks for, as after a time without a limit. What was sent
 * before the last mark moved was sent sooner than that mark says: no round trip is too short. */
TEST(a_full_ring_gives_no_round_trip_that_is_too_short)
{
    begin();
    const int64_t burst = 2 * RSTI_PATH_MARKS;
    for (int64_t i = 1; i <= burst; i++) {
        send(i * 100, 100, FINE, i * US);
    }
    send((burst + 1) * 100, 100, FINE, 100 * MS);
    for (int64_t i = 1; i <= burst; i++) {
        CHECK(take(item_at(i * 100, i * 100, i), 101 * MS));
        CHECK(sample.rtt_ns == 0 || sample.rtt_ns >= 101 * MS - i * US);
    }
    CHECK_EQ(sample.rtt_ns, 0);
    CHECK_EQ(sample.received, 100);
    CHECK(take(item_at((burst + 1) * 100, (burst + 1) * 100, burst + 1), 101 * MS));
    CHECK_EQ(sample.rtt_ns, 1 * MS);
}

/* Runs of random length after random times; each end of one is told, late. */
static void check_round_trips(rsti_rng_t *rng, int64_t real_ns)
{
    int64_t now_ns = 0, end = 0;
    begin();
    for (int i = 0; i < 400 && check_failures == 0; i++) {
        int64_t ends[8], sent_ns[8], last_ns = now_ns;
        const int count = 1 + (int)rsti_rng_below(rng, 8);
        for (int j = 0; j < count; j++) {
            last_ns += (int64_t)rsti_rng_below(rng, (uint64_t)real_ns);
            const int64_t bytes = 1000 * (int64_t)(1 + rsti_rng_below(rng, 20));
            ends[j] = end += bytes;
            sent_ns[j] = last_ns;
            send(end, bytes, 4000000, last_ns);
        }
        const int told = (int)rsti_rng_below(rng, (uint64_t)count);
        rsti_path_item_t item = item_at(ends[told], ends[told], sent_ns[told] + real_ns);
        now_ns = rsti_max_i64(last_ns, sent_ns[told] + real_ns);
        item.hold_ns = now_ns - sent_ns[told] - real_ns;
        CHECK(take(item, now_ns));
        CHECK(sample.rtt_ns >= real_ns - rsti_max_i64(real_ns / 4, 40 * US));
    }
}

/* A publisher that sends now and then, and items that wait for a busy host. */
TEST(no_pause_makes_a_round_trip_too_short)
{
    static const int64_t ways_ns[] = {60 * US, 300 * US, 1 * MS, 4 * MS};
    rsti_rng_t rng;
    rsti_rng_init(&rng, check_seed());
    for (size_t i = 0; i < sizeof ways_ns / sizeof ways_ns[0]; i++) {
        least_ns = ways_ns[i];
        check_round_trips(&rng, ways_ns[i]);
    }
    least_ns = 100 * MS;
}

static int64_t wild(rsti_rng_t *rng, int64_t near)
{
    const double unit = rsti_rng_unit(rng);
    return unit < 0.6 ? near + (int64_t)rsti_rng_below(rng, 3000) - 500
        : unit < 0.9  ? near
                      : (int64_t)rsti_rng_next(rng);
}

/* Whatever comes, the track holds together (rsti_path_track_check, in debug builds). */
TEST(no_item_breaks_it)
{
    rsti_rng_t rng;
    rsti_rng_init(&rng, check_seed());
    begin();
    int64_t now_ns = 0;
    for (int i = 0; i < 20000; i++) {
        now_ns += (int64_t)rsti_rng_below(&rng, 300 * US);
        const int64_t bytes = (int64_t)rsti_rng_below(&rng, 3000);
        send(track.position + (i % 3 != 0 ? bytes : 0), bytes,
            (int64_t)rsti_rng_below(&rng, 1000000), now_ns);
        const rsti_path_item_t item = {
            .contiguous = wild(&rng, track.item.contiguous),
            .highest = wild(&rng, track.item.highest),
            .received = wild(&rng, track.item.received),
            .since = rsti_rng_unit(&rng) < 0.8 ? 0 : wild(&rng, 0),
            .missing = wild(&rng, track.item.missing),
            .clock_ns = wild(&rng, track.item.clock_ns),
            .hold_ns = wild(&rng, 5000),
            .fresh_ns = wild(&rng, 500),
        };
        (void)take(item, wild(&rng, now_ns));
        CHECK(sample.rtt_ns >= 0 && sample.rtt_ns <= RSTI_PATH_RTT_MAX_NS);
        CHECK(sample.bandwidth >= 0 && sample.bandwidth <= RSTI_PATH_BANDWIDTH_MAX);
        CHECK(sample.received >= 0 && sample.missing >= 0);
        CHECK(rsti_path_under_way(&track) >= 0);
        CHECK(rsti_path_under_way(&track) <= track.sent_bytes);
        CHECK(track.item.received <= track.sent_bytes);
        rsti_path_track_check(&track);
    }
    CHECK(track.item_count > 100);
    CHECK(track.refused_count > 100);
    CHECK(track.old_count > 100);
}

CHECK_MAIN(RUN(an_item_gives_round_trip_bandwidth_and_what_is_under_way),
    RUN(resends_count_as_sent_and_give_a_round_trip_while_highest_stands_still),
    RUN(between_marks_the_time_is_interpolated_and_a_pause_is_not),
    RUN(what_cannot_be_is_refused_and_counted), RUN(no_more_is_missing_than_was_sent),
    RUN(a_new_image_counts_from_0), RUN(an_older_item_changes_nothing),
    RUN(more_than_was_sent_is_clamped), RUN(resends_of_the_end_count_as_resends),
    RUN(silence_frees_what_is_under_way), RUN(the_ring_of_marks_is_bounded),
    RUN(a_full_ring_gives_no_round_trip_that_is_too_short),
    RUN(no_pause_makes_a_round_trip_too_short), RUN(no_item_breaks_it))
