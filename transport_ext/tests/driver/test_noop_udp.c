/* test_noop_udp.c: NOOPs at work: two drivers on a link in virtual time (link.h), and a reader that
 * answers by polling, or does not. */
#include "protocol/sm_items.h"
#include "tests/driver/link.h"

#define INTERVAL_NS RSTI_NS_PER_S

typedef enum reader_t {
    READER_POLLS,
    READER_HANGS,
    READER_WANTS_NOTHING
} reader_t;

typedef struct way_t {
    double loss;
    bool is_cut;
    rsti_rng_t rng;
} way_t;

static way_t way;

static bool drop(void *arg, int side, const uint8_t *data, size_t length)
{
    (void)arg, (void)side, (void)data, (void)length;
    return way.is_cut || rsti_rng_unit(&way.rng) < way.loss;
}

static link_t *begin(bool is_rstream_reader)
{
    way = (way_t){0};
    rsti_rng_init(&way.rng, check_seed());
    link_t *l = link_open(&(link_params_t){.delay_ns = MS, .seed = check_seed()});
    l->drop = drop;
    l->sides[0].h->driver->params.noop_interval_ns = INTERVAL_NS;
    l->offer_gap_ns = 50 * MS;
    l->offer_burst = 1;
    if (!link_stream(l, "rcv-wnd=64k", "term-length=64k")) {
        fprintf(stderr, "no stream: %s\n", rst_last_error_text());
        abort();
    }
    if (is_rstream_reader) {
        become_rstream(l->sides[1].h);
    }
    return l;
}

/* Does what a client does when it polls (client/noop.c). */
static void answer_as(link_t *l, reader_t reader)
{
    rsti_counter_value_t *value = (void *)l->image->subscribers.items[0].position;
    rsti_position_ext_t *ext = (void *)value->spare;
    ext->version = reader == READER_WANTS_NOTHING ? 1 : 0;
    ext->remaining = 0;
    if (reader == READER_POLLS) {
        rsti_store_release_i64(&ext->noop_answered, l->image->file.log.metadata->ext.noop);
    }
}

static void run(link_t *l, reader_t reader, int64_t ns)
{
    for (const int64_t end_ns = l->now_ns + ns; l->now_ns < end_ns;) {
        answer_as(l, reader);
        link_step(l, l->now_ns + 10 * MS);
    }
}

static bool is_connected(const link_t *l)
{
    return l->publication->base.file.log.metadata->is_connected != 0;
}

static const answer_t *told(const link_t *l)
{
    pass(l->sides[0].h);
    return answer_of_type(l->sides[0].h, RSTI_RSP_PUBLICATION_ERROR);
}

TEST(polling_reader_is_kept_whatever_is_lost)
{
    const double losses[] = {0, 0.3};
    for (int i = 0; i < 2; i++) {
        link_t *l = begin(true);
        way.loss = losses[i];
        run(l, READER_POLLS, 60 * RSTI_NS_PER_S);
        CHECK(is_connected(l));
        CHECK(told(l) == NULL);
        CHECK(l->publication->noop.number >= 59);
        CHECK(l->publication->noop.answered >= l->publication->noop.number - 1);
        link_close(l);
    }
}

/* Its driver and its client live: status messages arrive, and the window has room. */
TEST(hanging_reader_is_given_up_and_taken_back)
{
    link_t *l = begin(true);
    run(l, READER_POLLS, 5 * RSTI_NS_PER_S);
    run(l, READER_HANGS, INTERVAL_NS - 200 * MS);
    CHECK(is_connected(l));
    run(l, READER_HANGS, INTERVAL_NS + 300 * MS);
    CHECK(!is_connected(l));
    CHECK(told(l) != NULL);
    CHECK(strstr(told(l)->text, "no answer for 1s") != NULL);
    CHECK(strstr(told(l)->text, "at 10.0.0.2:24600") != NULL);
    CHECK(strstr(told(l)->text, "the reader does not poll") != NULL);
    CHECK_EQ(error_count(l->sides[0].h, "does not poll"), 1);
    run(l, READER_HANGS, 20 * RSTI_NS_PER_S);
    CHECK(!is_connected(l));
    CHECK_EQ(l->image->life, RSTI_LIFE_ACTIVE); /* heartbeats keep it: it may return */
    const int64_t before = l->bytes_read;
    run(l, READER_POLLS, INTERVAL_NS + 300 * MS);
    CHECK(is_connected(l));
    run(l, READER_POLLS, 5 * RSTI_NS_PER_S);
    CHECK(l->bytes_read > before);
    CHECK_EQ(error_count(l->sides[0].h, "does not poll"), 1);
    link_close(l);
}

/* The publisher closed while its reader stood still and much was not sent yet. */
static link_t *close_behind_a_hanging_reader(int64_t *end)
{
    link_t *l = begin(true);
    run(l, READER_POLLS, 3 * RSTI_NS_PER_S);
    l->read_bytes_per_s = 1;
    l->offer_gap_ns = 0;
    run(l, READER_HANGS, 2 * INTERVAL_NS + 300 * MS);
    l->offer_gap_ns = INT64_MAX / 4;
    l->offer_due_ns = INT64_MAX / 2;
    *end = rsti_log_producer_position(&l->publication->base.file.log);
    (void)take_away(l->sides[0].h, RSTI_CMD_REMOVE_PUBLICATION,
        l->publication->base.registration_id);
    return l;
}

TEST(closed_publication_waits_for_a_hanging_reader)
{
    int64_t end;
    link_t *l = close_behind_a_hanging_reader(&end);
    CHECK(!is_connected(l));
    CHECK(end > l->publication->position + LINK_MESSAGE);
    run(l, READER_HANGS, 3 * RSTI_NS_PER_S);
    CHECK_EQ(l->publication->base.life, RSTI_LIFE_DRAINING);
    l->read_bytes_per_s = 0;
    run(l, READER_POLLS, INTERVAL_NS + 300 * MS);
    CHECK_EQ(rsti_load_acquire_i64(l->image->subscribers.items[0].position), end);
    link_close(l);
}

/* All was sent, but the last of it got lost (simulator, seed 6510000263). */
TEST(closed_publication_that_has_sent_all_waits_for_a_hanging_reader)
{
    link_t *l = begin(true);
    run(l, READER_POLLS, 3 * RSTI_NS_PER_S);
    run(l, READER_HANGS, INTERVAL_NS - 200 * MS);
    way.is_cut = true;
    run(l, READER_HANGS, INTERVAL_NS + 500 * MS);
    CHECK(!is_connected(l));
    const int64_t end = rsti_log_producer_position(&l->publication->base.file.log);
    CHECK_EQ(l->publication->position, end);
    l->offer_due_ns = INT64_MAX / 2;
    (void)take_away(l->sides[0].h, RSTI_CMD_REMOVE_PUBLICATION,
        l->publication->base.registration_id);
    run(l, READER_HANGS, 500 * MS);
    way.is_cut = false;
    CHECK(rsti_load_acquire_i64(l->image->hwm) < end);
    run(l, READER_POLLS, 2 * INTERVAL_NS);
    CHECK_EQ(rsti_load_acquire_i64(l->image->subscribers.items[0].position), end);
    link_close(l);
}

TEST(closed_publication_lets_a_hanging_reader_go_after_its_linger_time)
{
    int64_t end;
    link_t *l = close_behind_a_hanging_reader(&end);
    const rsti_ptr_array_t *publications = &l->sides[0].h->driver->conductor->publications;
    run(l, READER_HANGS, l->publication->base.options.linger_ns - 200 * MS);
    CHECK_EQ(publications->count, 1);
    run(l, READER_HANGS, RSTI_NS_PER_S);
    CHECK_EQ(publications->count, 0);
    link_close(l);
}

TEST(broken_path_is_detected)
{
    link_t *l = begin(true);
    run(l, READER_POLLS, 3 * RSTI_NS_PER_S);
    way.is_cut = true;
    run(l, READER_POLLS, 2 * INTERVAL_NS + 100 * MS);
    CHECK(!is_connected(l)); /* status messages alone would show it after five seconds */
    CHECK(told(l) != NULL);
    way.is_cut = false;
    run(l, READER_POLLS, INTERVAL_NS + 500 * MS);
    CHECK(is_connected(l));
    link_close(l);
}

/* Its application requests nothing, so no poll is expected. */
TEST(reader_without_demand_is_kept)
{
    link_t *l = begin(true);
    run(l, READER_POLLS, 2 * RSTI_NS_PER_S);
    run(l, READER_WANTS_NOTHING, 10 * RSTI_NS_PER_S);
    CHECK(is_connected(l));
    CHECK(told(l) == NULL);
    link_close(l);
}

/* An Aeron client on our driver does not know NOOPs, and an Aeron sender receives no answer. */
TEST(peer_without_noops_is_kept)
{
    link_t *l = begin(false);
    run(l, READER_HANGS, 10 * RSTI_NS_PER_S);
    CHECK(is_connected(l));
    link_close(l);
    l = link_open(&(link_params_t){.delay_ns = MS, .is_aeron = true});
    l->sides[0].h->driver->params.noop_interval_ns = INTERVAL_NS;
    CHECK(link_stream(l, "rcv-wnd=64k", "term-length=64k"));
    become_rstream(l->sides[1].h);
    run(l, READER_HANGS, 10 * RSTI_NS_PER_S);
    CHECK(is_connected(l));
    CHECK_EQ(l->image->noop.heard, 0);
    link_close(l);
}

CHECK_MAIN(RUN(polling_reader_is_kept_whatever_is_lost),
    RUN(hanging_reader_is_given_up_and_taken_back),
    RUN(closed_publication_waits_for_a_hanging_reader),
    RUN(closed_publication_that_has_sent_all_waits_for_a_hanging_reader),
    RUN(closed_publication_lets_a_hanging_reader_go_after_its_linger_time),
    RUN(broken_path_is_detected), RUN(reader_without_demand_is_kept),
    RUN(peer_without_noops_is_kept))
