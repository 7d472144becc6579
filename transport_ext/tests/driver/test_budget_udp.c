/* test_budget_udp.c: budgets at work: two drivers on a link in virtual time (link.h), several
 * streams between their endpoints, random messages, readers of different speeds, a link that loses
 * data and status messages.
 *
 * The oracle is independent of the sender: the sent position, read from the datagrams, and the
 * consumed position. Their difference is at most what the sender assumes, so it obeys the same
 * bound:
 *
 *     sent - consumed <= granted + the message that each stream has begun */
#include "driver/sender/send_budget.h"
#include "flow/budget.h"
#include "protocol/sm_items.h"
#include "tests/driver/link.h"

#define STREAMS_MAX 4
#define MESSAGE_MAX 6000
#define TERM (256 * 1024)
/* The length of a message, its frames, and possible padding at the end of a term. */
#define OVER_MAX (2 * (MESSAGE_MAX + 8 * 64))

typedef struct stream_t {
    rsti_network_publication_t *publication;
    rsti_image_t *image;
    rsti_appender_t appender;
    int64_t sent;      /* highest position sent */
    int64_t read_bytes_per_s; /* 0: does not read */
    int64_t read_ns;
    int64_t offered, consumed;
    bool is_gone; /* its reader has gone */
} stream_t;

typedef struct world_t {
    link_t *l;
    rsti_rng_t rng;
    stream_t streams[STREAMS_MAX];
    int count;
    int64_t budget_items, sm_count;
    double loss, control_loss;
    int64_t connection_bytes, stream_bytes; /* the bound to check; 0: none */
    int64_t most_connection, most_stream;   /* maximum bytes in flight so far */
    bool is_checked;
} world_t;

static void on_item(void *arg, uint8_t type, const uint8_t *value, uint8_t length)
{
    world_t *world = arg;
    (void)value, (void)length;
    world->budget_items += type == RSTI_SM_ITEM_BUDGET;
}

static stream_t *find(world_t *world, int32_t stream_id)
{
    return stream_id >= 10 && stream_id < 10 + world->count ? &world->streams[stream_id - 10]
                                                            : NULL;
}

static bool look(void *arg, int side, const uint8_t *data, size_t length)
{
    world_t *world = arg;
    const rsti_data_header_t *header = (const void *)data;
    if (side == 0 && header->frame.type == RSTI_FRAME_DATA && length > RSTI_DATA_HEADER_LENGTH) {
        stream_t *stream = find(world, header->stream_id);
        const rsti_log_t *log = &stream->publication->base.file.log;
        const int64_t end = (int64_t)length
            + rsti_position(header->term_id, header->term_offset, log->position_bits,
                log->initial_term_id);
        stream->sent = rsti_max_i64(stream->sent, end);
        return rsti_rng_unit(&world->rng) < world->loss;
    }
    if (side == 1 && header->frame.type == RSTI_FRAME_SM) {
        world->sm_count++;
        if (length > RSTI_SM_ITEMS_OFFSET) {
            (void)rsti_sm_items_read(data + RSTI_SM_ITEMS_OFFSET, length - RSTI_SM_ITEMS_OFFSET,
                on_item, world);
        }
        return rsti_rng_unit(&world->rng) < world->control_loss;
    }
    return false;
}

static void add_stream(world_t *world, const char *reader)
{
    link_t *l = world->l;
    stream_t *stream = &world->streams[world->count];
    const int32_t stream_id = 10 + world->count++;
    char channel[256];
    snprintf(channel, sizeof channel, "aeron:udp?endpoint=10.0.0.2:24600|rcv-wnd=128k%s", reader);
    (void)add(l->sides[1].h, RSTI_CMD_ADD_SUBSCRIPTION, channel, stream_id);
    snprintf(channel, sizeof channel, "aeron:udp?endpoint=10.0.0.2:24600|term-length=%d", TERM);
    (void)add(l->sides[0].h, RSTI_CMD_ADD_PUBLICATION, channel, stream_id);
    const rsti_ptr_array_t *publications = &l->sides[0].h->driver->conductor->publications;
    CHECK_EQ(publications->count, world->count);
    stream->publication = publications->items[world->count - 1];
    rsti_publication_t *base = &stream->publication->base;
    rsti_appender_init(&stream->appender, &base->file.log, base->pub_lmt, base->session_id,
        stream_id, false);
    for (int i = 0; i < 10000 && !base->file.log.metadata->is_connected; i++) {
        link_step(l, INT64_MAX);
    }
    const rsti_ptr_array_t *images = &l->sides[1].h->driver->conductor->images;
    CHECK_EQ(images->count, world->count);
    stream->image = images->items[world->count - 1];
    CHECK_EQ(stream->image->stream_id, stream_id);
}

static world_t *begin(uint64_t seed, const char *policy, int64_t bytes)
{
    world_t *world = calloc(1, sizeof *world);
    world->l = link_open(&(link_params_t){.delay_ns = MS / 2, .seed = seed});
    world->l->drop = look;
    world->l->drop_arg = world;
    rsti_rng_init(&world->rng, seed);
    rst_driver_params_t *params = &world->l->sides[1].h->driver->params;
    char text[32];
    snprintf(text, sizeof text, "%" PRId64, bytes);
    if (rst_driver_params_set(params, "budget", policy) < 0
        || rst_driver_params_set(params, "budget-bytes", text) < 0) {
        fprintf(stderr, "no such budget: %s\n", rst_last_error_text());
        abort();
    }
    return world;
}

static void end(world_t *world)
{
    link_close(world->l);
    free(world);
}

static void offer(world_t *world, stream_t *stream)
{
    static uint8_t message[MESSAGE_MAX];
    for (int i = 0; i < 20 && !stream->is_gone; i++) {
        const size_t length = 1 + rsti_rng_next(&world->rng) % MESSAGE_MAX;
        const rsti_iovec_t part = {message, length};
        const int64_t position = rsti_append(&stream->appender, &part, 1, length, 0);
        if (position < 0 && position != RST_ADMIN_ACTION) {
            return;
        }
        stream->offered = rsti_max_i64(stream->offered, position);
    }
}

static void read_some(const link_t *l, stream_t *stream)
{
    if (stream->is_gone) {
        return;
    }
    const rsti_log_t *log = &stream->image->file.log;
    int64_t *position = stream->image->subscribers.items[0].position;
    while (*position < stream->image->received) {
        const uint8_t *term = log->terms[rsti_position_index(*position, log->position_bits)];
        const int32_t length = rsti_get_i32(term
            + rsti_position_offset(*position, log->term_length));
        const int64_t took_ns = stream->read_bytes_per_s == 0
            ? INT64_MAX / 4
            : length * RSTI_NS_PER_S / stream->read_bytes_per_s;
        if (stream->read_ns + took_ns > l->now_ns) {
            return;
        }
        stream->read_ns += took_ns;
        *position += rsti_align_i32(length, RSTI_FRAME_ALIGNMENT);
        stream->consumed = *position;
    }
    stream->read_ns = l->now_ns;
}

static void check(world_t *world)
{
    int64_t sum = 0;
    for (int i = 0; i < world->count; i++) {
        const stream_t *stream = &world->streams[i];
        const int64_t under_way = stream->is_gone ? 0 : stream->sent - stream->consumed;
        sum += under_way;
        world->most_stream = rsti_max_i64(world->most_stream, under_way);
        if (world->stream_bytes > 0) {
            CHECK(under_way <= world->stream_bytes + OVER_MAX);
        }
    }
    world->most_connection = rsti_max_i64(world->most_connection, sum);
    if (world->connection_bytes > 0) {
        CHECK(sum <= world->connection_bytes + world->count * OVER_MAX);
    }
}

static void run(world_t *world, int64_t ns, bool is_offering)
{
    link_t *l = world->l;
    for (const int64_t end_ns = l->now_ns + ns; l->now_ns < end_ns;) {
        for (int i = 0; i < world->count; i++) {
            if (is_offering) {
                offer(world, &world->streams[i]);
            }
            read_some(l, &world->streams[i]);
        }
        link_step(l, l->now_ns + LINK_READ_NS);
        check(world);
    }
}

static void finish(world_t *world)
{
    for (int i = 0; i < world->count; i++) {
        world->streams[i].read_bytes_per_s = RSTI_GB;
    }
    for (int i = 0; i < 200; i++) {
        bool is_done = true;
        run(world, 50 * MS, false);
        for (int k = 0; k < world->count; k++) {
            is_done = is_done
                && (world->streams[k].is_gone
                    || world->streams[k].consumed >= world->streams[k].offered);
        }
        if (is_done) {
            break;
        }
    }
    for (int k = 0; k < world->count; k++) {
        CHECK(world->streams[k].is_gone
            || world->streams[k].consumed >= world->streams[k].offered); /* padding may follow */
    }
}

static int64_t held_by(const stream_t *stream)
{
    return stream->publication->base.file.log.metadata->ext.held_by;
}

/* Three readers are slower than their publishers: the bytes in flight stay within the budget, use
 * nearly all of it, and in the end everything has arrived. */
static void contend(uint64_t seed, int64_t bytes, double loss, double control_loss)
{
    world_t *world = begin(seed, "static", bytes);
    for (int i = 0; i < 3; i++) {
        add_stream(world, "");
        world->streams[i].read_bytes_per_s = (2 + 5 * i) * RSTI_MB;
    }
    world->connection_bytes = bytes; /* from the first byte on */
    world->loss = loss;
    world->control_loss = control_loss;
    run(world, 2 * RSTI_NS_PER_S, true);
    CHECK(world->most_connection >= bytes / 2);
    CHECK_EQ(world->l->sides[0].h->driver->conductor->send_endpoints.count, 1);
    for (int i = 0; i < 3; i++) {
        CHECK_EQ(held_by(&world->streams[i]), RSTI_HELD_BY_BUDGET);
        /* The readers could take 4, 14 and 24 MiB: no stream starves the others. */
        CHECK(world->streams[i].consumed > (loss > 0 ? 1 : 7) * RSTI_MB / 2);
    }
    finish(world);
    end(world);
}

TEST(a_connection_keeps_within_its_budget)
{
    contend(check_seed(), 64 * 1024, 0, 0);
    contend(check_seed() + 1, 200 * 1024, 0, 0);
}

TEST(nothing_stands_still_when_acknowledgements_are_lost)
{
    contend(check_seed(), 64 * 1024, 0.02, 0.3);
    contend(check_seed() + 1, 16 * 1024, 0.02, 0.3);
}

/* A budget shorter than a message: one message at a time gets through. */
TEST(one_message_may_go_beyond)
{
    world_t *world = begin(check_seed(), "static", 100);
    add_stream(world, "");
    world->connection_bytes = 100;
    world->streams[0].read_bytes_per_s = 10 * RSTI_MB;
    run(world, 500 * MS, true);
    CHECK(world->streams[0].consumed > 100 * MESSAGE_MAX / 2);
    CHECK(world->most_stream > 100);
    finish(world);
    end(world);
}

/* A stalled reader stops its own stream, and limits the others only as far as it fills the budget.
 */
TEST(a_stream_budget_keeps_a_hanging_reader_to_itself)
{
    world_t *world = begin(check_seed(), "static", 128 * 1024);
    add_stream(world, "|rs-budget=16k");
    add_stream(world, "");
    world->connection_bytes = 128 * 1024;
    world->streams[1].read_bytes_per_s = 5 * RSTI_MB;
    run(world, RSTI_NS_PER_S, true);
    CHECK(world->streams[0].sent - world->streams[0].consumed <= 16 * 1024 + OVER_MAX);
    CHECK(world->streams[0].sent - world->streams[0].consumed >= 16 * 1024);
    CHECK_EQ(world->streams[0].consumed, 0);
    CHECK_EQ(held_by(&world->streams[0]), RSTI_HELD_BY_BUDGET);
    CHECK(world->streams[1].consumed > 4 * RSTI_MB);
    finish(world);
    end(world);
}

/* Without a connection budget, and without any budget, the window alone limits the sender. */
TEST(a_stream_budget_alone)
{
    for (int is_budgeted = 0; is_budgeted < 2; is_budgeted++) {
        world_t *world = begin(check_seed(), "none", 1);
        add_stream(world, is_budgeted ? "|rs-budget=8k" : "");
        world->stream_bytes = is_budgeted ? 8 * 1024 : 0;
        world->streams[0].read_bytes_per_s = RSTI_MB;
        run(world, 300 * MS, true);
        CHECK_EQ(world->budget_items > 0, is_budgeted);
        CHECK_EQ(world->most_stream > 60 * 1024, !is_budgeted);
        CHECK_EQ(held_by(&world->streams[0]),
            is_budgeted ? RSTI_HELD_BY_BUDGET : RSTI_HELD_BY_WINDOW);
        finish(world);
        end(world);
    }
}

/* A reader that keeps up sends about one acknowledgement per fifth of the budget, and few when
 * nothing arrives. */
TEST(acknowledgements_are_few)
{
    world_t *world = begin(check_seed(), "static", 500 * 1024);
    add_stream(world, "");
    world->streams[0].read_bytes_per_s = 20 * RSTI_MB;
    run(world, 20 * MS, false);
    world->budget_items = 0;
    run(world, RSTI_NS_PER_S, true);
    const int64_t steps = world->streams[0].consumed / (50 * 1024);
    CHECK(steps > 300);
    CHECK(world->budget_items >= steps);
    CHECK(world->budget_items <= 2 * steps + 100);
    finish(world);
    run(world, 3 * RSTI_NS_PER_S, false);
    world->budget_items = 0;
    run(world, 10 * RSTI_NS_PER_S, false);
    CHECK(world->budget_items <= 12);
    end(world);
}

static int64_t granted(const world_t *world, size_t index)
{
    const rsti_ptr_array_t *connections = &world->l->sides[1]
                                               .h->driver->conductor->budget_connections;
    return index < connections->count
        ? ((const rsti_budget_connection_t *)connections->items[index])->granted_bytes
        : -1;
}

/* Two endpoints are two connections: the budget is shared anew when one comes and when it goes. */
TEST(connections_come_and_go)
{
    world_t *world = begin(check_seed(), "aggressive", 1);
    rst_driver_params_t *params = &world->l->sides[1].h->driver->params;
    CHECK_EQ(rst_driver_params_set(params, "budget-memory", "4m"), 0);
    CHECK_EQ(rst_driver_params_set(params, "budget-total-share", "0.5"), 0);
    CHECK_EQ(rst_driver_params_set(params, "budget-min", "64k"), 0);
    add_stream(world, "");
    add_stream(world, "");
    CHECK_EQ(granted(world, 0), 2 * RSTI_MB);
    CHECK_EQ(granted(world, 1), -1); /* both streams belong to one connection */
    harness_t *reader = world->l->sides[1].h;
    const int64_t other = add(reader, RSTI_CMD_ADD_SUBSCRIPTION,
        "aeron:udp?endpoint=10.0.0.2:24601", 30);
    (void)add(world->l->sides[0].h, RSTI_CMD_ADD_PUBLICATION,
        "aeron:udp?endpoint=10.0.0.2:24601|term-length=64k", 30);
    run(world, 300 * MS, false);
    CHECK_EQ(granted(world, 0), RSTI_MB);
    CHECK_EQ(granted(world, 1), RSTI_MB);
    CHECK_EQ(world->streams[0].publication->endpoint->budget.granted_bytes, RSTI_MB);
    const int32_t counter_id = rsti_counters_find(&reader->driver->counters.counters,
        RSTI_COUNTER_RECEIVER_BUDGET, world->streams[0].image->endpoint->registration_id);
    CHECK(counter_id >= 0);
    CHECK_EQ(counter(reader, counter_id), RSTI_MB);
    (void)take_away(reader, RSTI_CMD_REMOVE_SUBSCRIPTION, other);
    run(world, 3 * RSTI_NS_PER_S, false);
    CHECK_EQ(granted(world, 0), 2 * RSTI_MB);
    CHECK_EQ(granted(world, 1), -1);
    CHECK_EQ(world->streams[0].publication->endpoint->budget.granted_bytes, 2 * RSTI_MB);
    end(world);
}

/* When a stream with bytes in flight goes, the others get its share back. */
TEST(ended_stream_does_not_count)
{
    world_t *world = begin(check_seed(), "static", 32 * 1024);
    add_stream(world, "");
    add_stream(world, "");
    run(world, 20 * MS, false);
    world->streams[1].read_bytes_per_s = RSTI_MB;
    run(world, 500 * MS, true);
    CHECK(world->streams[0].sent >= 8 * 1024); /* it holds much of the budget and has no reader */
    CHECK(world->l->sides[0].h->driver->conductor->send_endpoints.count == 1);
    const rsti_connection_budget_t *connection = &world->streams[0].publication->endpoint->budget;
    CHECK_EQ(connection->stream_count, 2);
    (void)take_away(world->l->sides[1].h, RSTI_CMD_REMOVE_SUBSCRIPTION,
        world->streams[0].image->subscribers.items[0].subscription->registration_id);
    world->streams[0].is_gone = true;
    run(world, 8 * RSTI_NS_PER_S, true);
    CHECK_EQ(connection->stream_count, 1);
    CHECK(connection->unacknowledged_bytes <= 32 * 1024 + OVER_MAX);
    CHECK_EQ(connection->unacknowledged_bytes,
        world->streams[1].publication->position
            - world->streams[1].publication->budget.acknowledged);
    finish(world);
    end(world);
}

/* Impossible acknowledgements: a position beyond the sent position, or of another term. Late ones
 * change nothing. */
TEST(hostile_words_change_nothing)
{
    world_t *world = begin(check_seed(), "static", 32 * 1024);
    add_stream(world, "");
    run(world, 20 * MS, false);
    run(world, 200 * MS, true);
    rsti_network_publication_t *publication = world->streams[0].publication;
    const rsti_connection_budget_t before = publication->endpoint->budget;
    const int64_t receiver = before.receiver_id, sent = publication->position;
    const rsti_sm_budget_t words[] = {
        {sent + 32, 1, 1},
        {INT64_MAX, 1, 1},
        {INT64_MIN, 1, 1},
        {sent - TERM - 32, 1, 1},
        {publication->budget.acknowledged - 32, 1, 1},
    };
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        rsti_send_budget_on_told(publication, receiver, &words[i], 0);
        CHECK_MEM(&publication->endpoint->budget, &before, sizeof before);
        CHECK_EQ(publication->budget.granted_bytes, 0);
    }
    end(world);
}

CHECK_MAIN(RUN(a_connection_keeps_within_its_budget),
    RUN(nothing_stands_still_when_acknowledgements_are_lost), RUN(one_message_may_go_beyond),
    RUN(a_stream_budget_keeps_a_hanging_reader_to_itself), RUN(a_stream_budget_alone),
    RUN(acknowledgements_are_few), RUN(connections_come_and_go), RUN(ended_stream_does_not_count),
    RUN(hostile_words_change_nothing))
