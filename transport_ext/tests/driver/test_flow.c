/* test_flow.c: the limits of a publication: its receivers, when it is connected, what slows it and
 * what no longer does (docs/reference/aeron/wire.md 4.2, 7.3, 10). */
#include "logbuffer/appender.h"
#include "protocol/sm_items.h"
#include "tests/driver/harness.h"

#define START "|init-term-id=5|term-id=5|term-offset=0|term-length=64k"
#define GROUP "aeron:udp?endpoint=224.20.30.39:24326|interface=127.0.0.1" START
#define UNICAST "aeron:udp?endpoint=127.0.0.1:24400" START
#define RECEIVER "127.0.0.1:31001"
#define STREAM 10
#define WINDOW (16 * 1024)

typedef struct publisher_t {
    harness_t *h;
    int64_t id;
    rsti_network_publication_t *publication;
    rsti_appender_t appender;
} publisher_t;

static void publisher_open(publisher_t *p, const char *channel, const char *const *options)
{
    harness_options = options;
    p->h = harness_open();
    p->id = add(p->h, RSTI_CMD_ADD_PUBLICATION, channel, STREAM);
    if (p->h->driver->conductor->publications.count == 0) {
        fprintf(stderr, "%s: not added\n", channel);
        exit(1);
    }
    p->publication = p->h->driver->conductor->publications.items[0];
    rsti_publication_t *base = &p->publication->base;
    rsti_appender_init(&p->appender, &base->file.log, base->pub_lmt, base->session_id, STREAM,
        false);
    forget_frames(p->h);
}

typedef struct sm_t {
    int64_t receiver_id, position, tag;
    bool has_tag;
    uint8_t flags;
} sm_t;

static void hear(publisher_t *p, const sm_t *message)
{
    uint8_t frame[RSTI_SM_TAGGED_LENGTH];
    const int32_t length = message->has_tag ? RSTI_SM_TAGGED_LENGTH : RSTI_SM_LENGTH;
    const bool is_setup = (message->flags & RSTI_SM_FLAG_SEND_SETUP) != 0;
    const rsti_sm_t sm = {
        .frame = {length, 0, message->flags, RSTI_FRAME_SM},
        .session_id = p->publication->base.session_id,
        .stream_id = STREAM,
        .consumption_term_id = is_setup ? 0 : 5 + (int32_t)(message->position >> 16),
        .consumption_term_offset = is_setup ? 0 : (int32_t)(message->position & 0xFFFF),
        .receiver_window = is_setup ? 0 : WINDOW,
        .receiver_id = message->receiver_id,
    };
    memcpy(frame, &sm, sizeof sm);
    rsti_put_i64(frame + RSTI_SM_LENGTH, message->tag);
    inject(p->h, p->publication->endpoint->socket, RECEIVER, frame, (size_t)length);
}

/* Plain status messages, processed at once. */
static void consumed(publisher_t *p, int64_t receiver_id, int64_t position)
{
    hear(p, &(sm_t){.receiver_id = receiver_id, .position = position});
    pass(p->h);
}

static void consumed_tagged(publisher_t *p, int64_t receiver_id, int64_t position, int64_t tag)
{
    hear(p, &(sm_t){.receiver_id = receiver_id, .position = position, .has_tag = true, .tag = tag});
    pass(p->h);
}

static void flagged(publisher_t *p, int64_t receiver_id, int64_t position, uint8_t flags)
{
    hear(p, &(sm_t){.receiver_id = receiver_id, .position = position, .flags = flags});
    pass(p->h);
}

static void reject(publisher_t *p, int64_t receiver_id)
{
    const rsti_err_t err = {
        .frame = {RSTI_ERR_LENGTH, 0, 0, RSTI_FRAME_ERR},
        .session_id = p->publication->base.session_id,
        .stream_id = STREAM,
        .receiver_id = receiver_id,
        .error_code = 13,
    };
    inject(p->h, p->publication->endpoint->socket, RECEIVER, &err, sizeof err);
    pass(p->h);
}

static bool is_connected(const publisher_t *p)
{
    return p->publication->base.file.log.metadata->is_connected != 0;
}

static int64_t limit_of(const publisher_t *p)
{
    return *p->publication->snd_lmt;
}

/* Sends as much as the limit allows. */
static int64_t send_all(publisher_t *p)
{
    static uint8_t message[992];
    const rsti_iovec_t part = {message, sizeof message};
    for (int i = 0; i < 200; i++) {
        (void)rsti_append(&p->appender, &part, 1, sizeof message, 0);
        pass(p->h);
        forget_frames(p->h);
    }
    return *p->publication->snd_pos;
}

static int32_t counter_of_type(const publisher_t *p, int32_t type_id)
{
    return rsti_counters_find(&p->h->driver->counters.counters, type_id, p->id);
}

/* I2, I3, I8 */
TEST(min_goes_with_the_slowest_until_it_is_gone)
{
    publisher_t p;
    publisher_open(&p, GROUP "|fc=min", NULL);
    const int32_t counter_id = counter_of_type(&p, RSTI_COUNTER_FC_RECEIVERS);
    CHECK(counter_id >= 0);
    CHECK(counter_id < p.publication->base.pub_pos_id); /* docs/reference/aeron/memory.md 18 */
    CHECK_EQ(counter(p.h, counter_id), 0);
    consumed(&p, 1, 0);
    consumed(&p, 2, 0);
    CHECK(is_connected(&p));
    CHECK_EQ(counter(p.h, counter_id), 2);
    CHECK_EQ(send_all(&p), WINDOW);
    consumed(&p, 1, WINDOW); /* the fast one */
    CHECK_EQ(limit_of(&p), WINDOW);
    CHECK_EQ(send_all(&p), WINDOW);
    consumed(&p, 2, 4096); /* the slow one */
    CHECK_EQ(send_all(&p), WINDOW + 4096);
    /* The slow receiver dies. The fast one goes on sending status messages; after five seconds it
     * alone sets the limit. */
    for (int i = 0; i < 48; i++) {
        advance_alive(p.h, 100 * MS, 20 * MS);
        consumed(&p, 1, *p.publication->snd_pos);
        CHECK_EQ(send_all(&p), WINDOW + 4096);
    }
    for (int i = 0; i < 4; i++) {
        advance_alive(p.h, 100 * MS, 20 * MS);
        consumed(&p, 1, *p.publication->snd_pos);
    }
    CHECK_EQ(counter(p.h, counter_id), 1);
    CHECK(is_connected(&p));
    CHECK(send_all(&p) > WINDOW + 4096);
    harness_close(p.h);
}

/* I3, N13 */
TEST(departing_receiver_holds_nothing_up)
{
    publisher_t p;
    publisher_open(&p, GROUP "|fc=min", NULL);
    const int32_t counter_id = counter_of_type(&p, RSTI_COUNTER_FC_RECEIVERS);
    consumed(&p, 1, 0);
    consumed(&p, 2, 0);
    consumed(&p, 3, 0);
    (void)send_all(&p);
    consumed(&p, 1, WINDOW);
    flagged(&p, 2, 0, RSTI_SM_FLAG_EOS);
    pass(p.h);
    CHECK_EQ(counter(p.h, counter_id), 2);
    CHECK_EQ(send_all(&p), WINDOW);
    reject(&p, 3); /* 12.4: a receiver that rejects the stream counts too */
    pass(p.h);
    CHECK_EQ(counter(p.h, counter_id), 1);
    CHECK_EQ(limit_of(&p), 2 * WINDOW);
    CHECK_EQ(send_all(&p), 2 * WINDOW);
    CHECK(is_connected(&p));
    flagged(&p, 1, WINDOW, RSTI_SM_FLAG_EOS);
    CHECK(!is_connected(&p));
    CHECK(!p.publication->has_unicast_eos); /* 7.3: on unicast channels only */
    harness_close(p.h);
}

/* I4 */
TEST(a_group_is_connected_from_its_least_size_on)
{
    publisher_t p;
    publisher_open(&p, GROUP "|fc=min,g:/2", NULL);
    consumed(&p, 1, 0);
    CHECK(!is_connected(&p));
    CHECK(p.publication->has_receivers); /* connected, and waiting for more receivers */
    CHECK_EQ(limit_of(&p), 0);
    consumed(&p, 2, 0);
    CHECK(is_connected(&p));
    CHECK_EQ(limit_of(&p), WINDOW);
    flagged(&p, 2, 0, RSTI_SM_FLAG_EOS);
    pass(p.h);
    CHECK(!is_connected(&p));
    harness_close(p.h);
    publisher_open(&p, GROUP "|fc=min,g:/0", NULL);
    pass(p.h);
    CHECK(!is_connected(&p)); /* a group of size 0 still needs one */
    consumed(&p, 1, 0);
    CHECK(is_connected(&p));
    harness_close(p.h);
}

/* I5 */
TEST(tagged_goes_with_those_that_carry_the_tag)
{
    static const char *const options[] = {"multicast-flow-control", "tagged",
        "flow-control-group-tag", "123", "flow-control-receiver-timeout", "1s", NULL};
    publisher_t p;
    publisher_open(&p, GROUP, options);
    const int32_t counter_id = counter_of_type(&p, RSTI_COUNTER_FC_RECEIVERS);
    consumed_tagged(&p, 1, 0, 123);
    consumed_tagged(&p, 2, 0, 999);
    consumed(&p, 3, 0);
    CHECK_EQ(counter(p.h, counter_id), 1);
    (void)send_all(&p);
    consumed(&p, 3, WINDOW);
    consumed_tagged(&p, 2, WINDOW, 999);
    CHECK_EQ(limit_of(&p), WINDOW); /* limited by the receiver that counts */
    consumed_tagged(&p, 1, 8192, 123);
    CHECK_EQ(limit_of(&p), WINDOW + 8192);
    /* Its time-out is the driver's; without it the group behaves as under max. */
    advance_alive(p.h, 1100 * MS, 50 * MS);
    CHECK_EQ(counter(p.h, counter_id), 0);
    consumed(&p, 3, WINDOW);
    CHECK_EQ(limit_of(&p), 2 * WINDOW);
    harness_close(p.h);
}

/* A status message of receiver 1 at 0 with that tail. */
static void hear_tail(publisher_t *p, const uint8_t *tail, size_t length)
{
    uint8_t frame[RSTI_SM_LENGTH + 256] = {0};
    const rsti_sm_t sm = {
        .frame = {(int32_t)(RSTI_SM_LENGTH + length), 0, 0, RSTI_FRAME_SM},
        .session_id = p->publication->base.session_id,
        .stream_id = STREAM,
        .consumption_term_id = 5,
        .receiver_window = WINDOW,
        .receiver_id = 1,
    };
    memcpy(frame, &sm, sizeof sm);
    memcpy(frame + RSTI_SM_LENGTH, tail, length);
    inject(p->h, p->publication->endpoint->socket, RECEIVER, frame, RSTI_SM_LENGTH + length);
    pass(p->h);
}

/* I5: lengths other than 8 contain no tag; such a receiver is reported, and counts as one without a
 * tag. */
TEST(a_tail_that_is_no_tag_is_an_error)
{
    publisher_t p;
    publisher_open(&p, GROUP "|fc=tagged,g:123", NULL);
    const int32_t counter_id = counter_of_type(&p, RSTI_COUNTER_FC_RECEIVERS);
    uint8_t tail[256] = {123};
    static const size_t odd[] = {1, 4, 7, 9, 23, 200};
    for (size_t i = 0; i < sizeof odd / sizeof odd[0]; i++) {
        char word[32];
        snprintf(word, sizeof word, "ends in %zu bytes", odd[i]);
        hear_tail(&p, tail, odd[i]);
        CHECK_EQ(error_count(p.h, word), 1);
        CHECK_EQ(error_count(p.h, "neither a group tag"), (int)i + 1);
        hear_tail(&p, tail, 7); /* again within the second: not logged */
        advance_alive(p.h, RSTI_NS_PER_S, 100 * MS);
        hear_tail(&p, tail, odd[i]); /* later: the same log entry */
        CHECK_EQ(error_count(p.h, "neither a group tag"), (int)i + 1);
        advance_alive(p.h, RSTI_NS_PER_S, 100 * MS);
    }
    CHECK_EQ(counter(p.h, counter_id), 0);
    CHECK_EQ(counter(p.h, RSTI_SYSTEM_SM_REJECTED), 0);
    CHECK(is_connected(&p)); /* like any receiver without a tag */
    hear_tail(&p, tail, 8);
    CHECK_EQ(counter(p.h, counter_id), 1);
    harness_close(p.h);
}

/* I5 */
TEST(a_tail_of_items_is_no_error)
{
    static const int64_t rtt_ns = 1000;
    uint8_t tail[8 + RSTI_SM_ITEMS_MAX] = {0};
    rsti_sm_items_writer_t writer;
    rsti_sm_items_begin(&writer, tail + 8, RSTI_SM_ITEMS_MAX);
    CHECK(rsti_sm_items_add(&writer, RSTI_SM_ITEM_ROUND_TRIP, &rtt_ns, sizeof rtt_ns));
    CHECK(rsti_sm_items_add(&writer, 200, "later", 5)); /* of a future type */
    const size_t length = 8 + rsti_sm_items_end(&writer);
    publisher_t p;
    publisher_open(&p, GROUP "|fc=tagged,g:123", NULL);
    hear_tail(&p, tail, length);
    CHECK_EQ(p.publication->receivers[0].rtt_ns, rtt_ns);
    hear_tail(&p, tail, 0);
    hear_tail(&p, tail, 8);
    CHECK_EQ(counter(p.h, RSTI_SYSTEM_ERRORS), 0);
    hear_tail(&p, tail, length - 1);
    CHECK_EQ(error_count(p.h, "neither a group tag"), 1);
    harness_close(p.h);
    /* No other flow control reads tags. */
    publisher_open(&p, GROUP "|fc=min", NULL);
    hear_tail(&p, tail, 5);
    CHECK_EQ(counter(p.h, RSTI_SYSTEM_ERRORS), 0);
    harness_close(p.h);
}

/* I8 */
TEST(max_leaves_the_slow_one_behind)
{
    publisher_t p;
    publisher_open(&p, GROUP, NULL);
    CHECK_EQ(counter_of_type(&p, RSTI_COUNTER_FC_RECEIVERS), RSTI_NULL_COUNTER);
    consumed(&p, 1, 0);
    consumed(&p, 2, 0);
    int64_t position = 0;
    for (int i = 0; i < 4; i++) {
        position = send_all(&p);
        consumed(&p, 1, position);
    }
    CHECK_EQ(position, 4 * WINDOW);
    /* The slow receiver's status message is too far behind to count any more, and it is given up.
     */
    for (int i = 0; i < 60; i++) {
        consumed(&p, 2, 0);
        consumed(&p, 1, position);
        advance_alive(p.h, 100 * MS, 50 * MS);
    }
    CHECK(counter(p.h, RSTI_SYSTEM_SM_REJECTED) >= 60);
    CHECK_EQ(p.publication->receiver_count, 1);
    CHECK_EQ(p.publication->receivers[0].receiver_id, 1);
    harness_close(p.h);
}

/* I6 */
TEST(a_joiner_is_waited_for)
{
    publisher_t p;
    publisher_open(&p, GROUP "|fc=min", NULL);
    consumed(&p, 1, 0);
    (void)send_all(&p);
    consumed(&p, 1, 8192);
    const int64_t guarded = limit_of(&p);
    advance_alive(p.h, 200 * MS, 50 * MS);
    flagged(&p, 2, 0, RSTI_SM_FLAG_SEND_SETUP);
    pass(p.h);
    CHECK_EQ(count_frames(p.h, RSTI_FRAME_SETUP), 1);
    consumed(&p, 1, *p.publication->snd_pos);
    CHECK_EQ(limit_of(&p), guarded);
    (void)send_all(&p);
    consumed(&p, 2, guarded - WINDOW); /* joined where its SETUP said */
    consumed(&p, 1, guarded);
    CHECK_EQ(limit_of(&p), guarded);
    consumed(&p, 2, guarded);
    CHECK_EQ(limit_of(&p), guarded + WINDOW);
    harness_close(p.h);
}

/* J5 */
TEST(a_status_message_from_far_away_is_no_sign_of_life)
{
    publisher_t p;
    publisher_open(&p, UNICAST, NULL);
    consumed(&p, 1, 32768 + 32);
    CHECK_EQ(counter(p.h, RSTI_SYSTEM_SM_REJECTED), 1);
    CHECK(!is_connected(&p) && !p.publication->has_initial_connection);
    consumed(&p, 1, 0);
    CHECK(is_connected(&p));
    for (int i = 0; i < 4; i++) {
        consumed(&p, 1, send_all(&p));
    }
    const int64_t position = send_all(&p);
    for (int i = 0; i < 51; i++) { /* more than half a term behind */
        consumed(&p, 1, position - 32768 - 32);
        advance_alive(p.h, 100 * MS, 50 * MS);
    }
    CHECK_EQ(counter(p.h, RSTI_SYSTEM_SM_REJECTED), 52);
    CHECK(!is_connected(&p));
    consumed(&p, 1, position - 32768); /* exactly half a term is near enough */
    CHECK(is_connected(&p));
    harness_close(p.h);
}

/* J6, N20 */
TEST(a_start_position_far_from_the_reader_does_not_connect)
{
    publisher_t p;
    publisher_open(&p,
        "aeron:udp?endpoint=127.0.0.1:24400|init-term-id=5|term-id=7|term-offset=0|term-length=64k",
        NULL);
    consumed(&p, 1, 0);
    consumed(&p, 1, 65536);
    CHECK(!is_connected(&p));
    CHECK_EQ(limit_of(&p), 2 * 65536);
    CHECK_EQ(counter(p.h, RSTI_SYSTEM_SM_REJECTED), 2);
    consumed(&p, 1, 2 * 65536);
    CHECK(is_connected(&p));
    harness_close(p.h);
}

/* I1, F9 */
TEST(a_bad_fc_is_refused_by_name_on_groups_only)
{
    publisher_t p;
    publisher_open(&p, UNICAST "|fc=foo,bar", NULL);
    CHECK_STR(p.publication->flow.strategy->name, "unicast");
    static const char *const bad[] = {"fc=foo", "fc=min,g:", "fc=tagged,g:abc", "fc=max,rrwm:0"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char channel[256];
        snprintf(channel, sizeof channel, GROUP "|%s", bad[i]);
        const size_t before = p.h->driver->conductor->publications.count;
        const int64_t id = add(p.h, RSTI_CMD_ADD_PUBLICATION, channel, 20 + (int32_t)i);
        const answer_t *error = answer(p.h, RSTI_RSP_ON_ERROR, id);
        CHECK(error != NULL);
        CHECK(strstr(error->text, bad[i]) != NULL);
        CHECK_EQ(p.h->driver->conductor->publications.count, before);
    }
    harness_close(p.h);
}

/* The limit of receivers whose liveness is tracked. */
TEST(more_receivers_than_are_watched_keep_the_stream_connected)
{
    publisher_t p;
    publisher_open(&p, GROUP, NULL);
    for (int i = 1; i <= RSTI_GROUP_RECEIVERS_MAX + 1; i++) {
        consumed(&p, i, 0);
        p.h->manual.now_ns += 1000;
    }
    CHECK_EQ(p.publication->receiver_count, RSTI_GROUP_RECEIVERS_MAX);
    bool has_first = false, has_last = false;
    for (int i = 0; i < RSTI_GROUP_RECEIVERS_MAX; i++) {
        has_first = has_first || p.publication->receivers[i].receiver_id == 1;
        has_last = has_last
            || p.publication->receivers[i].receiver_id == RSTI_GROUP_RECEIVERS_MAX + 1;
    }
    CHECK(!has_first && has_last); /* it replaced the one heard least recently */
    CHECK(is_connected(&p));
    harness_close(p.h);
}

/* I6: many receivers join at once (docs/reference/aeron/driver.md 13, mistake 23). */
TEST(fifty_join_a_min_group_at_once)
{
    publisher_t p;
    publisher_open(&p, GROUP "|fc=min", NULL);
    for (int i = 1; i <= 50; i++) {
        flagged(&p, i, 0, RSTI_SM_FLAG_SEND_SETUP);
    }
    int64_t before = 0;
    for (int i = 1; i <= 50; i++) {
        consumed(&p, i, 0);
        CHECK(limit_of(&p) >= before);
        before = limit_of(&p);
    }
    CHECK_EQ(limit_of(&p), WINDOW);
    CHECK_EQ(counter(p.h, counter_of_type(&p, RSTI_COUNTER_FC_RECEIVERS)), 50);
    (void)send_all(&p);
    for (int i = 1; i <= 50; i++) {
        CHECK_EQ(limit_of(&p), WINDOW);
        consumed(&p, i, 4096);
    }
    CHECK_EQ(limit_of(&p), WINDOW + 4096);
    harness_close(p.h);
}

static int64_t half_on_message(void *state, const rst_flow_message_t *message, int64_t limit,
    int64_t now_ns)
{
    (void)state;
    (void)now_ns;
    const int64_t edge = message->position + message->window / 2;
    return edge > limit ? edge : limit;
}

/* I1 */
TEST(a_registered_strategy_serves_a_channel)
{
    const rst_flow_strategy_t half = {
        .struct_size = sizeof half, .name = "half", .on_status_message = half_on_message};
    CHECK_EQ(rst_flow_strategy_register(&half), 0);
    publisher_t p;
    publisher_open(&p, GROUP "|fc=half", NULL);
    consumed(&p, 1, 0);
    CHECK(is_connected(&p));
    CHECK_EQ(send_all(&p), WINDOW / 2);
    harness_close(p.h);
    static const char *const options[] = {"unicast-flow-control", "half", NULL};
    publisher_open(&p, UNICAST, options);
    consumed(&p, 1, 0);
    CHECK_EQ(send_all(&p), WINDOW / 2);
    harness_close(p.h);
}

CHECK_MAIN(RUN(min_goes_with_the_slowest_until_it_is_gone),
    RUN(departing_receiver_holds_nothing_up), RUN(a_group_is_connected_from_its_least_size_on),
    RUN(tagged_goes_with_those_that_carry_the_tag), RUN(a_tail_that_is_no_tag_is_an_error),
    RUN(a_tail_of_items_is_no_error), RUN(max_leaves_the_slow_one_behind),
    RUN(a_joiner_is_waited_for), RUN(a_status_message_from_far_away_is_no_sign_of_life),
    RUN(a_start_position_far_from_the_reader_does_not_connect),
    RUN(a_bad_fc_is_refused_by_name_on_groups_only),
    RUN(more_receivers_than_are_watched_keep_the_stream_connected),
    RUN(fifty_join_a_min_group_at_once), RUN(a_registered_strategy_serves_a_channel))
