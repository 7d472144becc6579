/* test_fill_suppress.c: of a group few receivers report: how long each waits, whom a report of
 * another one silences, and who takes over when the reports stop. */
#include "flow/fill_echo.h"
#include "flow/fill_suppress.h"
#include "tests/check.h"
#include "util/clock.h"
#include "util/rng.h"

#include <math.h>

#define US INT64_C(1000)
#define MS RSTI_NS_PER_MS
#define MB 1e6
#define BUFFER (4 * 1024 * 1024)
#define P RSTI_FILL_PERIOD_NS
#define SET_POINT 800000 /* of a drain of 100 MB/s */

typedef struct member_t {
    rsti_fill_t fill;
    rsti_fill_suppress_t suppress;
    rsti_fill_facts_t facts;
} member_t;

/* A receiver that drains 100 MB/s and never stalls. */
static void member_init(member_t *m, int64_t rtt_ns)
{
    *m = (member_t){.facts = {.buffer_bytes = BUFFER, .rtt_ns = rtt_ns, .mtu = 1408}};
    rsti_fill_init(&m->fill, 0);
    rsti_fill_suppress_init(&m->suppress);
    (void)rsti_fill_update(&m->fill, &m->facts);
    m->fill.drain = 100 * MB;
    m->fill.gap_ns = 1e15;
}

/* True: it sends a report now. */
static bool member_look(member_t *m, int64_t now_ns, int64_t queue, double group_size, double unit)
{
    m->facts.now_ns = now_ns;
    m->facts.received = queue;
    const bool is_due = rsti_fill_update(&m->fill, &m->facts) == RSTI_FILL_REPORT;
    const bool is_sent = rsti_fill_suppress_is_due(&m->suppress, &m->fill, is_due, group_size,
        unit);
    if (is_sent) {
        rsti_fill_on_sent(&m->fill);
    }
    return is_sent;
}

TEST(waits_are_long_for_most_and_never_zero_in_a_group)
{
    CHECK_EQ(rsti_fill_wait_ns(1, 10 * MS, 0.5), 0);
    CHECK_EQ(rsti_fill_wait_ns(NAN, 10 * MS, 0.5), 0);
    CHECK_EQ(rsti_fill_wait_ns(2, 10 * MS, 0), 10 * MS / 64 + 1);
    CHECK_EQ(rsti_fill_wait_ns(1000, 10 * MS, 1), 10 * MS);
    CHECK_EQ(rsti_fill_wait_ns(1000, 0, 0.5), 1);
    CHECK(rsti_fill_wait_ns(INFINITY, INT64_MAX, NAN) > 0);
    int early = 0;
    for (int i = 0; i < 1000; i++) {
        early += rsti_fill_wait_ns(1000, 8 * MS, i / 1000.0) < 1 * MS;
    }
    CHECK(early <= 3); /* of a thousand, in the first eighth */
}

TEST(a_single_receiver_does_not_wait)
{
    member_t m;
    member_init(&m, MS);
    CHECK(!member_look(&m, MS, SET_POINT / 2, 1, 0.5));
    CHECK(member_look(&m, 2 * MS, SET_POINT, 1, 0.5));
    CHECK(!member_look(&m, 2 * MS + P - 1, SET_POINT, 1, 0.5));
    CHECK(member_look(&m, 2 * MS + P, SET_POINT, 1, 0.5));
}

#define GROUP 1000
#define SENDINGS_MAX 1024

/* The reports on their way to the sender and its echoes on their way to the group. */
typedef struct channel_t {
    int count, taken;
    int64_t arrives_ns[SENDINGS_MAX];
    double allowed[SENDINGS_MAX];
} channel_t;

static void channel_put(channel_t *channel, double allowed, int64_t arrives_ns)
{
    if (channel->count < SENDINGS_MAX) {
        channel->allowed[channel->count] = allowed;
        channel->arrives_ns[channel->count++] = arrives_ns;
    }
}

static bool channel_take(channel_t *channel, double *allowed, int64_t now_ns)
{
    if (channel->taken == channel->count || channel->arrives_ns[channel->taken] > now_ns) {
        return false;
    }
    *allowed = channel->allowed[channel->taken++];
    return true;
}

/* All members are in overload at once, with queues of that length and up to that much more. Returns
 * the number of reports in that many periods. */
static int reports_of_group(int64_t rtt_ns, int64_t queue, int64_t more, int periods)
{
    static member_t members[GROUP];
    static channel_t to_sender, to_group;
    to_sender = to_group = (channel_t){0};
    rsti_fill_echo_t echo = {0};
    rsti_rng_t rng;
    rsti_rng_init(&rng, check_seed());
    for (int i = 0; i < GROUP; i++) {
        member_init(&members[i], rtt_ns);
    }
    const int64_t period_ns = rtt_ns > P ? rtt_ns : P;
    for (int64_t now_ns = MS; now_ns < MS + periods * period_ns; now_ns += 100 * US) {
        double allowed;
        while (channel_take(&to_sender, &allowed, now_ns)) {
            if (rsti_fill_echo_is_due(&echo, allowed, period_ns, now_ns)) {
                channel_put(&to_group, allowed, now_ns + rtt_ns / 2);
            }
        }
        while (channel_take(&to_group, &allowed, now_ns)) {
            for (int i = 0; i < GROUP; i++) {
                rsti_fill_suppress_on_heard(&members[i].suppress, &members[i].fill, allowed);
            }
        }
        for (int i = 0; i < GROUP; i++) {
            if (member_look(&members[i], now_ns, queue + more * i / GROUP, GROUP,
                    rsti_rng_unit(&rng))) {
                channel_put(&to_sender, members[i].fill.allowed, now_ns + rtt_ns / 2);
            }
        }
    }
    return to_sender.count;
}

TEST(a_group_speaks_with_few_voices)
{
    static const struct {
        int64_t rtt_ns, queue, more;
        int most; /* in a period */
    } rows[] = {
        {MS, 500000, 0, 4},       /* alike */
        {MS, 700000, 200000, 4},  /* 113 to 88 MB/s */
        {MS, 2000000, 0, 4},      /* all are very urgent */
        {10 * MS, 800000, 400000, 14}, /* no wait is longer than three round trips: 14 end in one */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const int periods = 80; /* of 20, one seed in 400 has more in the last row */
        const int sent = reports_of_group(rows[i].rtt_ns, rows[i].queue, rows[i].more, periods);
        fprintf(stderr, "row %zu: %d reports of a thousand in %d periods\n", i, sent, periods);
        CHECK(sent >= periods / 4); /* the sender hears of it in time: F is at least six periods */
        CHECK(sent <= rows[i].most * periods);
    }
}

/* `alike` is 0.8 of what was heard in a group of ten, 0.6 in one of a thousand. */
TEST(one_that_would_allow_clearly_less_reports_anyway)
{
    static const struct {
        double group_size, heard; /* the own rate is 75 MB/s */
        bool is_silent;
    } rows[] = {{4, 85e6, true}, {4, 86e6, false}, {4, 10e6, true}, {4, 0, true},
        {1000, 124e6, true}, {1000, 126e6, false}, {1000, 1e12, false}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        member_t m;
        member_init(&m, MS);
        CHECK(!member_look(&m, MS, 1000000, rows[i].group_size, 0.99));
        CHECK_EQ((int64_t)m.fill.allowed, 75000000);
        CHECK(m.suppress.is_waiting);
        rsti_fill_suppress_on_heard(&m.suppress, &m.fill, rows[i].heard);
        CHECK_EQ(m.suppress.is_waiting, !rows[i].is_silent);
        CHECK_EQ(m.suppress.silenced_count, rows[i].is_silent);
        CHECK_EQ(rsti_fill_suppress_due_ns(&m.suppress) == INT64_MAX, rows[i].is_silent);
    }
}

/* While it hears them it is silent; a period after the last one it may begin its wait. */
TEST(one_that_was_silent_takes_over_when_the_echoes_stop)
{
    member_t m;
    member_init(&m, MS);
    int64_t now_ns = MS;
    for (int i = 0; i < 100; i++) {
        CHECK(!member_look(&m, now_ns, 1000000, 4, 0.99));
        rsti_fill_suppress_on_heard(&m.suppress, &m.fill, 70e6);
        now_ns += P / 2;
    }
    const int64_t heard_ns = now_ns - P / 2;
    while (!member_look(&m, now_ns, 1000000, 4, 0.99)) {
        CHECK(now_ns < heard_ns + 3 * P);
        now_ns += 10 * US;
    }
    CHECK(now_ns >= heard_ns + P);
    /* Within the time that the sender leaves before it jumps (rate_adaptive.c). */
    CHECK(now_ns <= heard_ns + 2 * P);
}

TEST(without_overload_nothing_is_heard_or_waits)
{
    member_t m;
    member_init(&m, MS);
    CHECK(!member_look(&m, MS, 1000000, 10, 0.5));
    CHECK(m.suppress.is_waiting);
    m.facts.consumed = 1000000;
    CHECK(!member_look(&m, MS + 1, 1000000, 10, 0.5));
    CHECK(!m.suppress.is_waiting); /* it is over while the wait runs */
    rsti_fill_suppress_on_heard(&m.suppress, &m.fill, 0);
    CHECK_EQ(m.suppress.silenced_count, 0);
    CHECK(!m.fill.was_told);
}

/* A consumer that stops in a small group: the wait that began with a mild report ends with the
 * urgent one. */
TEST(in_a_small_group_the_most_urgent_hardly_wait)
{
    static const struct {
        double group_size;
        int64_t least_ns, most_ns; /* the whole wait, which became urgent after a microsecond */
    } cases[] = {{2, 0, US}, {4, 0, US}, {8, 2 * MS, 3 * MS + MS / 2}, {16, 8 * MS, 12 * MS}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        member_t m;
        member_init(&m, 2 * MS);
        CHECK(!member_look(&m, MS, SET_POINT / 2 + 1, cases[i].group_size, 0.999));
        CHECK(rsti_fill_suppress_due_ns(&m.suppress) > 4 * MS);
        const bool is_sent = member_look(&m, MS + US, 2 * SET_POINT, cases[i].group_size, 0.0);
        const int64_t left_ns = is_sent ? 0 : rsti_fill_suppress_due_ns(&m.suppress) - MS;
        CHECK(left_ns >= cases[i].least_ns);
        CHECK(left_ns <= cases[i].most_ns);
    }
}

TEST(no_wait_is_longer_than_three_periods)
{
    static const int64_t round_trips_ns[] = {0, MS, 20 * MS, 10 * RSTI_NS_PER_S};
    static const double sizes[] = {2, 100, 1e6, INFINITY};
    for (size_t i = 0; i < 4 * 4; i++) {
        member_t m;
        member_init(&m, round_trips_ns[i % 4]);
        m.fill.drain = 1 * MB; /* its set point is small, so its queue is long */
        CHECK(!member_look(&m, MS, BUFFER / 2, sizes[i / 4], 0.999999));
        CHECK(rsti_fill_suppress_due_ns(&m.suppress) - MS <= 3 * m.fill.period_ns);
    }
}

CHECK_MAIN(RUN(waits_are_long_for_most_and_never_zero_in_a_group),
    RUN(a_single_receiver_does_not_wait), RUN(a_group_speaks_with_few_voices),
    RUN(one_that_would_allow_clearly_less_reports_anyway),
    RUN(one_that_was_silent_takes_over_when_the_echoes_stop),
    RUN(without_overload_nothing_is_heard_or_waits),
    RUN(in_a_small_group_the_most_urgent_hardly_wait), RUN(no_wait_is_longer_than_three_periods))
