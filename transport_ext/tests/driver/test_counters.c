/* The counters: which exist, in which order, their owners and values
 * (docs/reference/aeron/memory.md 16 to 18); counters of clients; clients that go. */
#include "tests/driver/harness.h"

#include <inttypes.h>

#define UDP "aeron:udp?endpoint=127.0.0.1:24400"

typedef struct expected_t {
    int32_t type_id;
    const char *label; /* up to the first space or colon */
    int64_t owner_id;
    int64_t registration_id; /* -1: not checked */
} expected_t;

/* The counters from first_id on, in the order of their ids. Returns the next id. */
static int32_t check_counters(const harness_t *h, int32_t first_id, const expected_t *expected,
    int32_t count)
{
    const rsti_counters_t *counters = &h->driver->counters.counters;
    for (int32_t i = 0; i < count; i++) {
        const rsti_counter_metadata_t *metadata = &counters->metadata[first_id + i];
        const rsti_counter_value_t *value = &counters->values[first_id + i];
        const size_t length = strlen(expected[i].label);
        if (metadata->state != RSTI_COUNTER_ALLOCATED || metadata->type_id != expected[i].type_id
            || strncmp(metadata->label, expected[i].label, length) != 0
            || value->owner_id != expected[i].owner_id
            || (expected[i].registration_id >= 0
                && value->registration_id != expected[i].registration_id)) {
            fprintf(stderr,
                "counter %" PRId32 ": type %" PRId32 " owner %" PRId64 " registration %" PRId64
                " \"%.*s\", expected %s\n",
                first_id + i, metadata->type_id, value->owner_id, value->registration_id,
                metadata->label_length, metadata->label, expected[i].label);
            return -1;
        }
    }
    return first_id + count;
}

static int32_t next_counter_id(const harness_t *h)
{
    return h->driver->counters.high_water_mark + 1;
}

/* N26, N4: the counters of everything a client can add, in allocation order, with owner and
 * registration ids. */
TEST(stream_counters_in_order)
{
    harness_t *h = harness_open();
    int32_t id = next_counter_id(h);
    const int64_t pub = add(h, RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION, UDP "|session-id=7", 10);
    const int64_t client = CLIENT_ID;
    const expected_t network[] = {
        {11, "client-heartbeat: id=77", client, client},
        {6, "snd-channel: " UDP "|session-id=7 0.0.0.0:50000", client, pub},
        {14, "snd-local-sockaddr: ", client, pub},
        {12, "pub-pos (exclusive): ", client, pub},
        {1, "pub-lmt: ", client, pub},
        {2, "snd-pos: ", client, pub},
        {9, "snd-lmt: ", client, pub},
        {13, "snd-bpe: ", client, pub},
        {19, "snd-naks-received: ", client, pub},
        /* rstream's own, after Aeron's */
        {RSTI_COUNTER_SENDER_CONSUMED, "snd-consumed: ", client, pub},
    };
    id = check_counters(h, id, network, sizeof network / sizeof network[0]);
    CHECK(id > 0);
    const int64_t ipc = add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:ipc?session-id=8", 11);
    const int64_t sub = add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc", 11);
    const expected_t local[] = {
        {12, "pub-pos (concurrent): ", client, ipc},
        {1, "pub-lmt: ", client, ipc},
        {4, "sub-pos: ", client, sub},
        {RSTI_COUNTER_SUBSCRIPTION, "rs-subscription: ", client, sub},
    };
    const int32_t sub_pos_id = id + 2;
    id = check_counters(h, id, local, 4);
    CHECK(id > 0);
    const rsti_counters_t *counters = &h->driver->counters.counters;
    CHECK_EQ(counters->values[sub_pos_id].reference_id, ipc);
    char label[128];
    snprintf(label, sizeof label, "sub-pos: %" PRId64 " 8 11 aeron:ipc @0", sub);
    const rsti_counter_metadata_t *metadata = &counters->metadata[sub_pos_id];
    CHECK_EQ(metadata->label_length, (int32_t)strlen(label));
    CHECK_EQ(memcmp(metadata->label, label, strlen(label)), 0);
    CHECK_EQ(rsti_get_i64(metadata->key), sub);
    CHECK_EQ(rsti_get_i32(metadata->key + 8), 8);
    CHECK_EQ(rsti_get_i32(metadata->key + 12), 11);
    CHECK_EQ(rsti_get_i32(metadata->key + 16), 9);
    CHECK_EQ(memcmp(metadata->key + 20, "aeron:ipc", 9), 0);
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:udp?endpoint=127.0.0.1:24401", 10);
    const expected_t receiver[] = {
        {7, "rcv-channel: aeron:udp?endpoint=127.0.0.1:24401 127.0.0.1:24401", client, -1},
        {14, "rcv-local-sockaddr: ", client, -1},
        {RSTI_COUNTER_SUBSCRIPTION, "rs-subscription: ", client, -1},
    };
    CHECK(check_counters(h, id, receiver, 3) > 0);
    harness_close(h);
}

/* Tools see a subscription that waits for a publisher, and since when. */
TEST(waiting_subscriptions_have_a_counter)
{
    harness_t *h = harness_open();
    const rsti_counters_t *counters = &h->driver->counters.counters;
    const int64_t sub = add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc?rs-name=tick", 12);
    const int32_t id = rsti_counters_find(counters, RSTI_COUNTER_SUBSCRIPTION, sub);
    CHECK(id >= 0);
    CHECK_EQ(*rsti_counter_address(counters, id), h->driver->epoch.now_ms);
    CHECK(rsti_counters_find(counters, RSTI_COUNTER_SUBSCRIBER_POSITION, sub) < 0);
    (void)take_away(h, RSTI_CMD_REMOVE_SUBSCRIPTION, sub);
    CHECK(rsti_counters_find(counters, RSTI_COUNTER_SUBSCRIPTION, sub) < 0);
    harness_close(h);
}

/* N26: system counters have the ids of the reference, registration id = id, owner -1. */
TEST(system_counters)
{
    harness_t *h = harness_open();
    const rsti_counters_t *counters = &h->driver->counters.counters;
    for (int32_t id = 0; id < 46; id++) {
        CHECK_EQ(counters->metadata[id].type_id, 0);
        CHECK_EQ(counters->values[id].registration_id, id);
        CHECK_EQ(counters->values[id].owner_id, -1);
        CHECK_EQ(rsti_get_i32(counters->metadata[id].key), id);
    }
    CHECK_EQ(counter(h, 43), 65536);
    CHECK_EQ(memcmp(counters->metadata[17].label, "Failed attempts to free log buffers", 35), 0);
    harness_close(h);
}

static int64_t add_counter(harness_t *h, int32_t type, int32_t type_id, int64_t registration_id)
{
    rsti_command_t c = {
        .type = type,
        .counter_type_id = type_id,
        .registration_id = registration_id,
        .key = {"key", 3},
        .label = {"label", 5},
    };
    return command(h, &c);
}

static int32_t gone_counter(const harness_t *h, int64_t registration_id)
{
    for (int i = 0; i < h->answer_count; i++) {
        const rsti_response_t *response = &h->answers[i].response;
        if (h->answers[i].type == RSTI_RSP_UNAVAILABLE_COUNTER
            && response->registration_id == registration_id) {
            return response->counter_id;
        }
    }
    return -1;
}

/* N26 */
/* N26 */
/* L9, L3: a static counter is found again, has no owner and survives the client; a counter that
 * belongs to a client is not mistaken for it. */
TEST(static_counters)
{
    harness_t *h = harness_open();
    const int64_t first = add_counter(h, RSTI_CMD_ADD_STATIC_COUNTER, 1001, 5);
    const answer_t *made = answer(h, RSTI_RSP_STATIC_COUNTER, first);
    CHECK(made != NULL);
    const int32_t id = made->response.counter_id;
    CHECK_EQ(h->driver->counters.counters.values[id].owner_id, -1);
    CHECK_EQ(h->driver->counters.counters.values[id].registration_id, 5);
    const int64_t again = add_counter(h, RSTI_CMD_ADD_STATIC_COUNTER, 1001, 5);
    CHECK_EQ(answer(h, RSTI_RSP_STATIC_COUNTER, again)->response.counter_id, id);
    const int64_t own = add_counter(h, RSTI_CMD_ADD_COUNTER, 1002, 0);
    const int64_t clash = add_counter(h, RSTI_CMD_ADD_STATIC_COUNTER, 1002, own);
    CHECK(answer(h, RSTI_RSP_ON_ERROR, clash) != NULL);
    const int32_t own_id = answer(h, RSTI_RSP_COUNTER_READY, own)->response.counter_id;
    h->answer_count = 0;
    (void)take_away(h, RSTI_CMD_CLIENT_CLOSE, 0);
    CHECK(answer_of_type(h, RSTI_RSP_CLIENT_TIMEOUT) == NULL); /* it was freed with its client */
    CHECK_EQ(gone_counter(h, own), own_id);
    CHECK(gone_counter(h, CLIENT_ID) >= 0);
    CHECK_EQ(h->driver->conductor->clients.count, 0);
    CHECK_EQ(h->driver->counters.counters.metadata[id].state, RSTI_COUNTER_ALLOCATED);
    CHECK_EQ(h->driver->counters.counters.metadata[own_id].state, RSTI_COUNTER_RECLAIMED);
    harness_close(h);
}

/* N17 */
/* N17 */
/* L5, lesson 9: the same channel is closed and opened at once, over and over: no command is
 * refused, and in the end nothing is left. */
TEST(closed_and_reopened_at_once)
{
    harness_t *h = harness_open();
    int64_t pub = -1, sub = -1;
    for (int i = 0; i < 50; i++) {
        if (pub >= 0) {
            (void)take_away(h, RSTI_CMD_REMOVE_PUBLICATION, pub);
            (void)take_away(h, RSTI_CMD_REMOVE_SUBSCRIPTION, sub);
        }
        h->answer_count = 0;
        pub = add(h, RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION, UDP "|linger=0|session-id=3", 10);
        sub = add(h, RSTI_CMD_ADD_SUBSCRIPTION, UDP, 10);
        advance_alive(h, (1 + i % 7) * 10 * MS, 10 * MS);
        CHECK(answer(h, RSTI_RSP_EXCLUSIVE_PUBLICATION_READY, pub) != NULL);
        CHECK(answer(h, RSTI_RSP_SUBSCRIPTION_READY, sub) != NULL);
        forget_frames(h);
        h->answer_count = 0;
    }
    CHECK_EQ(counter(h, RSTI_SYSTEM_ERRORS), 0);
    (void)take_away(h, RSTI_CMD_REMOVE_PUBLICATION, pub);
    (void)take_away(h, RSTI_CMD_REMOVE_SUBSCRIPTION, sub);
    advance_alive(h, 2 * RSTI_NS_PER_S, 100 * MS);
    CHECK_EQ(h->driver->conductor->send_endpoints.count, 0);
    CHECK_EQ(h->driver->conductor->receive_endpoints.count, 0);
    for (int i = 0; i < SOCKETS_MAX; i++) {
        CHECK(!h->sockets[i].is_open);
    }
    harness_close(h);
}

/* L3: all resources of a dead client are freed, also those of a spy and an untethered reader. */
TEST(dead_client_leaves_nothing)
{
    harness_t *h = harness_open();
    const int32_t first_id = next_counter_id(h);
    (void)add(h, RSTI_CMD_ADD_PUBLICATION, UDP "|ssc=true", 10);
    (void)add(h, RSTI_CMD_ADD_PUBLICATION, "aeron:ipc", 10);
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, UDP, 10);
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron:ipc?tether=false", 10);
    (void)add(h, RSTI_CMD_ADD_SUBSCRIPTION, "aeron-spy:" UDP, 10);
    (void)add_counter(h, RSTI_CMD_ADD_COUNTER, 1001, 0);
    h->answer_count = 0;
    for (int i = 0; i < 300; i++) {
        advance(h, 100 * MS, 100 * MS);
        forget_frames(h);
        h->answer_count = h->answer_count > 40 ? 40 : h->answer_count;
    }
    const rsti_conductor_t *conductor = h->driver->conductor;
    CHECK_EQ(conductor->clients.count + conductor->publications.count
            + conductor->ipc_publications.count + conductor->subscriptions.count
            + conductor->send_endpoints.count + conductor->receive_endpoints.count
            + conductor->freed_logs.count,
        0);
    const rsti_counters_t *counters = &h->driver->counters.counters;
    for (int32_t id = first_id; id < next_counter_id(h); id++) {
        CHECK(counters->metadata[id].state != RSTI_COUNTER_ALLOCATED);
    }
    CHECK_EQ(counter(h, RSTI_SYSTEM_CLIENT_TIMEOUTS), 1);
    harness_close(h);
}

/* L1, L2: malformed commands of every kind get an error and change nothing. */
TEST(every_command_cut_short_is_answered)
{
    static const int32_t types[] = {RSTI_CMD_ADD_PUBLICATION, RSTI_CMD_REMOVE_PUBLICATION,
        RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION, RSTI_CMD_ADD_SUBSCRIPTION, RSTI_CMD_REMOVE_SUBSCRIPTION,
        RSTI_CMD_ADD_DESTINATION, RSTI_CMD_REMOVE_DESTINATION, RSTI_CMD_ADD_COUNTER,
        RSTI_CMD_REMOVE_COUNTER, RSTI_CMD_ADD_RCV_DESTINATION, RSTI_CMD_REMOVE_RCV_DESTINATION,
        RSTI_CMD_TERMINATE_DRIVER, RSTI_CMD_ADD_STATIC_COUNTER, RSTI_CMD_REMOVE_DESTINATION_BY_ID,
        RSTI_CMD_NEXT_SESSION_ID};
    harness_t *h = harness_open();
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        uint8_t bytes[16] = {0};
        rsti_put_i64(bytes, CLIENT_ID);
        rsti_put_i64(bytes + 8, 9000 + (int64_t)i);
        h->answer_count = 0;
        CHECK_EQ(rsti_mpsc_rb_write(&h->driver->to_driver, types[i], bytes, sizeof bytes),
            RSTI_RB_OK);
        pass(h);
        const answer_t *error = answer(h, RSTI_RSP_ON_ERROR, 9000 + (int64_t)i);
        CHECK(error != NULL);
        CHECK_EQ(error->response.error_code, RSTI_DRIVER_MALFORMED_COMMAND);
    }
    harness_close(h);
}

/* L2: a channel longer than the maximum. */
TEST(too_long_channels_are_refused)
{
    harness_t *h = harness_open();
    static char channel[RSTI_CHANNEL_URI_MAX + 2];
    memset(channel, 'x', sizeof channel - 1);
    memcpy(channel, "aeron:ipc?alias=", 16);
    uint8_t buffer[RSTI_CHANNEL_URI_MAX + 100];
    rsti_command_t c = {
        .type = RSTI_CMD_ADD_SUBSCRIPTION,
        .client_id = CLIENT_ID,
        .correlation_id = 4000,
        .registration_id = -1,
        .stream_id = 1,
        .channel = {channel, RSTI_CHANNEL_URI_MAX + 1},
    };
    for (int i = 0; i < 2; i++) {
        const int64_t length = rsti_command_encode(&c, buffer, sizeof buffer);
        CHECK_EQ(rsti_mpsc_rb_write(&h->driver->to_driver, c.type, buffer, (size_t)length),
            RSTI_RB_OK);
        pass(h);
        c.correlation_id++;
        c.channel.length--;
    }
    CHECK(answer(h, RSTI_RSP_ON_ERROR, 4000) != NULL);
    CHECK(answer(h, RSTI_RSP_SUBSCRIPTION_READY, 4001) != NULL);
    harness_close(h);
}

CHECK_MAIN(RUN(stream_counters_in_order), RUN(waiting_subscriptions_have_a_counter),
    RUN(system_counters), RUN(static_counters), RUN(closed_and_reopened_at_once),
    RUN(dead_client_leaves_nothing), RUN(every_command_cut_short_is_answered),
    RUN(too_long_channels_are_refused))
