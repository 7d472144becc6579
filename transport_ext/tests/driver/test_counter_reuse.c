/* test_counter_reuse.c: many clients that come and go do not use up the counters, and none takes
 * all of them. */
#include "tests/driver/harness.h"

#define STREAM 10
#define UDP "aeron:udp?endpoint=127.0.0.1:24400"

static void be_rstream(harness_t *h)
{
    rsti_command_t hello = {.type = RSTI_CMD_CLIENT_KEEPALIVE};
    (void)command(h, &hello);
    become_rstream(h);
    advance_alive(h, 40 * MS, 10 * MS); /* the driver looks for new marks */
}

static bool is_ready(harness_t *h, int64_t id)
{
    const answer_t *ready = answer(h, RSTI_RSP_EXCLUSIVE_PUBLICATION_READY, id);
    h->answer_count = 0;
    return ready != NULL;
}

/* Opens and closes publications without any time between. Returns how many were opened. */
static int reconnect(harness_t *h, const char *channel, int times)
{
    for (int i = 0; i < times; i++) {
        const int64_t id = add(h, RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION, channel, STREAM);
        if (!is_ready(h, id)) {
            return i;
        }
        (void)take_away(h, RSTI_CMD_REMOVE_PUBLICATION, id);
        pass(h);
        pass(h);
    }
    return times;
}

TEST(a_thousand_reconnects_need_no_time)
{
    static const struct {
        const char *channel;
        int times; /* more than there are counters for */
    } rows[] = {{"aeron:ipc", 4500}, {UDP, 1500}};
    for (int i = 0; i < 2; i++) {
        harness_t *h = harness_open();
        be_rstream(h);
        CHECK_EQ(reconnect(h, rows[i].channel, rows[i].times), rows[i].times);
        CHECK_EQ(h->driver->conductor->ipc_publications.count, 0);
        CHECK_EQ(h->driver->conductor->publications.count, 0);
        harness_close(h);
    }
}

/* An Aeron client may hold ids of counters: they rest for the reuse timeout. */
TEST(ids_rest_while_an_aeron_client_is_attached)
{
    harness_t *h = harness_open();
    (void)add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:ipc?session-id=9", STREAM);
    advance_alive(h, 2 * RSTI_NS_PER_S, 50 * MS);
    const int64_t id = add(h, RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION, UDP, STREAM);
    CHECK(answer(h, RSTI_RSP_EXCLUSIVE_PUBLICATION_READY, id) != NULL);
    const int32_t freed = rsti_counters_find(&h->driver->counters.counters,
        RSTI_COUNTER_PUBLISHER_LIMIT, id);
    CHECK(freed >= 0);
    (void)take_away(h, RSTI_CMD_REMOVE_PUBLICATION, id);
    pass(h);
    const rsti_counter_metadata_t *metadata = &h->driver->counters.counters.metadata[freed];
    CHECK_EQ(metadata->state, RSTI_COUNTER_RECLAIMED);
    CHECK_EQ(metadata->free_for_reuse_deadline_ms,
        rsti_clock_epoch_ms(&h->clock) + h->driver->params.counter_reuse_ns / MS);
    harness_close(h);
}

static bool is_resting(const harness_t *h, int32_t counter_id)
{
    const rsti_counter_metadata_t *metadata = &h->driver->counters.counters.metadata[counter_id];
    return metadata->state == RSTI_COUNTER_RECLAIMED
        && metadata->free_for_reuse_deadline_ms > rsti_clock_epoch_ms(&h->clock);
}

/* A reader may still write its position where it was, unless it has said that it left. */
TEST(a_position_that_a_client_writes_rests)
{
    harness_t *h = harness_open();
    be_rstream(h);
    (void)add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:ipc", STREAM);
    const int64_t id = add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", STREAM);
    const int64_t second_id = add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", STREAM);
    const rsti_counters_t *counters = &h->driver->counters.counters;
    const int32_t freed = rsti_counters_find(counters, RSTI_COUNTER_SUBSCRIBER_POSITION, id);
    const int32_t second = rsti_counters_find(counters, RSTI_COUNTER_SUBSCRIBER_POSITION,
        second_id);
    CHECK(freed >= 0 && second >= 0);
    (void)take_away(h, RSTI_CMD_REMOVE_SUBSCRIPTION, id);
    CHECK_EQ(counters->metadata[freed].state, RSTI_COUNTER_RECLAIMED);
    CHECK(!is_resting(h, freed));
    rsti_command_t closing = {.type = RSTI_CMD_CLIENT_CLOSE};
    (void)command(h, &closing); /* its threads may be about to write */
    CHECK(is_resting(h, second));
    harness_close(h);
}

static int32_t fill(harness_t *h, int64_t *error_id)
{
    rsti_command_t c = {
        .type = RSTI_CMD_ADD_COUNTER,
        .counter_type_id = 1001,
        .label = {"x", 1},
    };
    for (int32_t made = 0; made < 9000; made++) {
        h->answer_count = 0;
        *error_id = command(h, &c);
        if (answer(h, RSTI_RSP_ON_ERROR, *error_id) != NULL) {
            return made;
        }
    }
    return -1;
}

/* The last eighth of the counters is for clients that have less than three quarters of them. */
TEST(a_client_cannot_take_all_counters)
{
    harness_t *h = harness_open();
    be_rstream(h);
    int64_t error_id;
    const int32_t made = fill(h, &error_id);
    const answer_t *error = answer(h, RSTI_RSP_ON_ERROR, error_id);
    CHECK(made > 6144 && made < 7168);
    CHECK(strstr(error->text, "of 8192 counters") != NULL);
    CHECK(strstr(error->text, "counters-buffer-length") != NULL);
    const rsti_command_t other = {
        .type = RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION,
        .client_id = CLIENT_ID + 1,
        .correlation_id = rsti_mpsc_rb_next_correlation_id(&h->driver->to_driver),
        .registration_id = -1,
        .stream_id = STREAM,
        .channel = {UDP, (int32_t)strlen(UDP)},
    };
    uint8_t buffer[256];
    const int64_t length = rsti_command_encode(&other, buffer, sizeof buffer);
    CHECK_EQ(rsti_mpsc_rb_write(&h->driver->to_driver, other.type, buffer, (size_t)length),
        RSTI_RB_OK);
    pass(h);
    CHECK(answer(h, RSTI_RSP_EXCLUSIVE_PUBLICATION_READY, other.correlation_id) != NULL);
    harness_close(h);
}

CHECK_MAIN(RUN(a_thousand_reconnects_need_no_time), RUN(ids_rest_while_an_aeron_client_is_attached),
    RUN(a_position_that_a_client_writes_rests), RUN(a_client_cannot_take_all_counters))
