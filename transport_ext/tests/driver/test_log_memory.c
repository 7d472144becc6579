/* The memory of network streams (driver/conductor/log_memory.h): an idle or slow stream gives it
 * back, a fast one keeps it unless storage is short, and nothing is lost by that. */
#include "cnc/file_system.h"
#include "driver/conductor/log_memory.h"
#include "driver/conductor/logs.h"
#include "tests/driver/link.h"

#define MIB INT64_C(1048576)
#define RATE INT64_C(50000000)
#define TERMS "term-length=16m|cc=path"

static link_t *open_pair(void)
{
    const link_params_t params = {
        .rate_bytes_per_s = RATE, .delay_ns = 5 * MS, .queue_bytes = 500000, .step_ns = 200000};
    link_t *l = link_open(&params);
    if (!link_stream(l, "rcv-wnd=2m", TERMS)) {
        abort();
    }
    return l;
}

static int64_t stored(const rsti_log_file_t *file)
{
    struct stat status;
    return stat(file->path, &status) == 0 ? (int64_t)status.st_blocks * 512 : INT64_MAX;
}

static int64_t most_stored(const link_t *l)
{
    return rsti_max_i64(stored(&l->publication->base.file), stored(&l->image->file));
}

static void pause_for(link_t *l, int64_t ns)
{
    l->offer_gap_ns = 1000 * RSTI_NS_PER_S;
    l->offer_due_ns = l->now_ns + l->offer_gap_ns;
    link_run(l, ns);
    l->offer_gap_ns = 0;
}

TEST(an_idle_stream_gives_its_memory_back_and_goes_on)
{
    link_t *l = open_pair();
    for (int round = 0; round < 3; round++) {
        const int64_t before = l->bytes_read;
        link_run(l, 3 * RSTI_NS_PER_S);
        CHECK(l->bytes_read - before > 2 * RATE);
        CHECK_EQ(stored(&l->publication->base.file), 48 * MIB + 4096);
        CHECK_EQ(stored(&l->image->file), 48 * MIB + 4096);
        pause_for(l, 2 * RSTI_LOG_QUIET_NS + 2 * RSTI_NS_PER_S);
        CHECK(stored(&l->publication->base.file) <= 12 * MIB);
        CHECK(stored(&l->image->file) <= 10 * MIB);
    }
    CHECK_EQ(l->bytes_read, rsti_log_producer_position(&l->publication->base.file.log));
    link_close(l);
}

TEST(a_slow_stream_holds_little)
{
    link_t *l = open_pair();
    l->offer_gap_ns = 10 * MS; /* 1.4 MB/s */
    l->offer_burst = 10;
    l->offer_due_ns = l->now_ns;
    for (int i = 0; i < 20; i++) {
        link_run(l, 4 * RSTI_NS_PER_S);
        CHECK(most_stored(l) <= 14 * MIB);
    }
    CHECK(l->bytes_read > 100 * MIB);
    link_close(l);
}

static bool is_setup(void *arg, int side, const uint8_t *data, size_t length)
{
    (void)arg;
    return side == 0 && length == RSTI_SETUP_LENGTH
        && ((const rsti_frame_header_t *)(const void *)data)->type == RSTI_FRAME_SETUP;
}

/* Logs that nobody reads, but that could grow to more than there is. */
static void make_storage_tight(link_t *l)
{
    l->drop = is_setup; /* nobody has their ports, and the link keeps the order */
    harness_t *h = l->sides[0].h;
    const int64_t count = rsti_storage_usable(h->driver->dir) / (3 * 1024 * MIB) + 2;
    for (int64_t i = 0; i < count; i++) {
        char channel[128];
        snprintf(channel, sizeof channel, "aeron:udp?endpoint=10.0.0.2:%d|term-length=1g",
            24601 + (int)i);
        (void)add(h, RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION, channel, 11);
    }
}

TEST(a_fast_stream_gives_memory_back_where_storage_is_short)
{
    link_t *l = open_pair();
    link_run(l, 2 * RSTI_NS_PER_S);
    CHECK_EQ(stored(&l->publication->base.file), 48 * MIB + 4096);
    make_storage_tight(l);
    const int64_t before = l->bytes_read;
    int64_t least = INT64_MAX;
    for (int i = 0; i < 60; i++) {
        link_run(l, 50 * MS);
        least = rsti_min_i64(least, stored(&l->publication->base.file));
    }
    CHECK(least <= 14 * MIB);
    CHECK(l->bytes_read - before > 2 * RATE);
    link_close(l);
}

/* What a receiver has not consumed may be asked for again. */
TEST(what_is_not_consumed_is_kept)
{
    link_t *l = open_pair();
    link_run(l, 3 * RSTI_NS_PER_S);
    l->read_bytes_per_s = 1; /* nothing */
    link_run(l, 3 * RSTI_LOG_QUIET_NS);
    const int64_t consumed = *l->image->subscribers.items[0].position;
    const int64_t sent = rsti_load_acquire_i64(&l->publication->position);
    CHECK(sent - consumed > 1 * MIB);
    CHECK(l->publication->base.clean_position <= consumed);
    CHECK(l->image->clean_position <= consumed);
    l->read_bytes_per_s = 0;
    const int64_t before = l->bytes_read;
    link_run(l, 3 * RSTI_NS_PER_S);
    CHECK(l->bytes_read - before > 2 * RATE);
    link_close(l);
}

TEST(a_long_term_takes_a_sixteenth_of_the_storage_at_most)
{
    CHECK_EQ(rsti_log_long_term(INT64_MAX, 16 * MIB), 16 * MIB);
    CHECK_EQ(rsti_log_long_term(800 * MIB, 16 * MIB), 16 * MIB);
    CHECK_EQ(rsti_log_long_term(700 * MIB, 16 * MIB), 8 * MIB);
    CHECK_EQ(rsti_log_long_term(64 * MIB, 16 * MIB), MIB);
    CHECK_EQ(rsti_log_long_term(0, 16 * MIB), MIB);
    CHECK_EQ(rsti_log_long_term(0, 65536), 65536); /* the option of the driver is shorter */
}

/* Long terms are for paths. */
TEST(terms_are_long_where_a_named_stream_follows_a_path)
{
    static const struct {
        const char *channel;
        int64_t term_length;
    } rows[] = {
        {"aeron:udp?endpoint=10.0.0.2:24500|rs-name=a", 16 * MIB},
        {"aeron:udp?endpoint=10.0.0.2:24500|rs-name=b|cc=path", 16 * MIB},
        {"aeron:udp?endpoint=10.0.0.2:24500|rs-name=c|cc=static", MIB},
        {"aeron:udp?endpoint=10.0.0.2:24500|rs-name=d|term-length=64k", 65536},
        {"aeron:udp?endpoint=127.0.0.1:24500|rs-name=e", MIB},
        {"aeron:udp?endpoint=[::1]:24500|rs-name=f", MIB},
        {"aeron:udp?control=127.0.0.1:24501|control-mode=dynamic|rs-name=g", MIB},
        {"aeron:udp?endpoint=127.0.0.1:24500", 16 * MIB}, /* as in Aeron */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        harness_options = (const char *const[]){"term-buffer-length", "16m", NULL};
        harness_t *h = harness_open();
        harness_options = NULL;
        (void)add(h, RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION, rows[i].channel, 10);
        const rsti_network_publication_t *made = h->driver->conductor->publications.items[0];
        CHECK_EQ(made->base.options.term_length, rows[i].term_length);
        harness_close(h);
    }
}

CHECK_MAIN(RUN(a_long_term_takes_a_sixteenth_of_the_storage_at_most),
    RUN(terms_are_long_where_a_named_stream_follows_a_path),
    RUN(an_idle_stream_gives_its_memory_back_and_goes_on), RUN(a_slow_stream_holds_little),
    RUN(a_fast_stream_gives_memory_back_where_storage_is_short), RUN(what_is_not_consumed_is_kept))
