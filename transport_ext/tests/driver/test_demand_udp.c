/* test_demand_udp.c: the demand of a reader on its way to the publisher: two drivers on a link in
 * virtual time (link.h) that is cut for a while. */
#include "tests/driver/link.h"

static bool is_cut;

static bool drop(void *arg, int side, const uint8_t *data, size_t length)
{
    (void)arg, (void)side, (void)data, (void)length;
    return is_cut;
}

static link_t *begin(void)
{
    is_cut = false;
    link_t *l = link_open(&(link_params_t){.delay_ns = MS, .seed = check_seed()});
    l->drop = drop;
    l->offer_gap_ns = l->offer_due_ns = INT64_MAX / 4; /* without demand nothing is sent */
    if (!link_stream(l, "rcv-wnd=64k", "term-length=64k")) {
        fprintf(stderr, "no stream: %s\n", rst_last_error_text());
        abort();
    }
    become_rstream(l->sides[1].h);
    return l;
}

/* As client/demand.c writes it; the sum of all requests, and what is left of it. */
static void request(link_t *l, int64_t requested)
{
    rsti_counter_value_t *value = (void *)l->image->subscribers.items[0].position;
    rsti_position_ext_t *ext = (void *)value->spare;
    ext->remaining = requested;
    rsti_store_release_i64(&ext->requested, requested);
    rsti_store_release_i32(&ext->version, 1);
}

static int64_t heard(const link_t *l)
{
    return l->publication->base.file.log.metadata->ext.demand.value.messages;
}

/* The one datagram that raises the demand is lost. */
static void raise_in_the_dark(link_t *l, int64_t requested, int64_t dark_ns)
{
    request(l, 0);
    link_run(l, 100 * MS);
    CHECK_EQ(heard(l), 0);
    is_cut = true;
    request(l, requested);
    link_run(l, dark_ns);
    CHECK_EQ(heard(l), 0);
    is_cut = false;
}

TEST(a_lost_demand_is_told_again)
{
    const int64_t demands[] = {5, INT64_MAX};
    for (int i = 0; i < 2; i++) {
        link_t *l = begin();
        raise_in_the_dark(l, demands[i], 5 * MS);
        link_run(l, 30 * MS);
        CHECK_EQ(heard(l), demands[i]);
        raise_in_the_dark(l, demands[i], 600 * MS);
        link_run(l, 700 * MS);
        CHECK_EQ(heard(l), demands[i]);
        link_close(l);
    }
}

/* Who wants everything changes nothing any more, so an idle stream need not tell it for ever. */
TEST(an_unlimited_demand_is_told_for_two_seconds)
{
    link_t *l = begin();
    request(l, INT64_MAX);
    link_run(l, 2 * RSTI_NS_PER_S);
    CHECK_EQ(heard(l), INT64_MAX);
    CHECK_EQ(l->image->demand.retell.due_ns, RSTI_NO_DEADLINE);
    link_close(l);
}

CHECK_MAIN(RUN(a_lost_demand_is_told_again), RUN(an_unlimited_demand_is_told_for_two_seconds))
