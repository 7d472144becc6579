#include "protocol/sm_items.h"

#include "tests/check.h"
#include "tests/hex.h"

typedef struct seen_t {
    int count;
    uint8_t types[64];
    uint8_t lengths[64];
    int64_t last_i64;
    unsigned sum; /* touches every value byte, so that a sanitizer sees them read */
} seen_t;

static void on_item(void *arg, uint8_t type, const uint8_t *value, uint8_t length)
{
    seen_t *seen = arg;
    if (seen->count < 64) {
        seen->types[seen->count] = type;
        seen->lengths[seen->count] = length;
    }
    seen->count++;
    for (uint8_t i = 0; i < length; i++) {
        seen->sum += value[i];
    }
    if (length == 8) {
        memcpy(&seen->last_i64, value, 8);
    }
}

static bool read_exact(const uint8_t *tail, size_t length, seen_t *seen)
{
    *seen = (seen_t){0};
    uint8_t *exact = hex_copy(tail, length);
    bool result = rsti_sm_items_read(exact, length, on_item, seen);
    free(exact);
    return result;
}

TEST(encoding_and_decoding_are_inverse)
{
    uint8_t buffer[RSTI_SM_ITEMS_MAX];
    rsti_sm_items_writer_t writer;
    uint8_t present = 1;
    int64_t rtt_ns = INT64_C(0x0102030405060708);
    rsti_sm_items_begin(&writer, buffer, sizeof buffer);
    CHECK(rsti_sm_items_add(&writer, RSTI_SM_ITEM_TAG_PRESENT, &present, 1));
    CHECK(rsti_sm_items_add(&writer, RSTI_SM_ITEM_ROUND_TRIP, &rtt_ns, 8));
    CHECK(rsti_sm_items_add(&writer, 200, NULL, 0));
    size_t length = rsti_sm_items_end(&writer);
    CHECK_EQ(length, 4 + 3 + 10 + 2);
    static const uint8_t expected[] = {1, 3, 15, 0, 1, 1, 1, 5, 8, 8, 7, 6, 5, 4, 3, 2, 1, 200, 0};
    CHECK_MEM(buffer, expected, sizeof expected);
    seen_t seen;
    CHECK(read_exact(buffer, length, &seen));
    CHECK_EQ(seen.count, 3);
    CHECK_EQ(seen.types[0], RSTI_SM_ITEM_TAG_PRESENT);
    CHECK_EQ(seen.types[1], RSTI_SM_ITEM_ROUND_TRIP);
    CHECK_EQ(seen.types[2], 200);
    CHECK_EQ(seen.last_i64, rtt_ns);
}

TEST(short_lists_are_padded_to_16)
{
    uint8_t buffer[16];
    memset(buffer, 0xEE, sizeof buffer);
    rsti_sm_items_writer_t writer;
    rsti_sm_items_begin(&writer, buffer, sizeof buffer);
    CHECK_EQ(rsti_sm_items_end(&writer), 16);
    static const uint8_t expected[16] = {1, 0, 0, 0};
    CHECK_MEM(buffer, expected, 16);
    seen_t seen;
    CHECK(read_exact(buffer, 16, &seen));
    CHECK_EQ(seen.count, 0);
}

TEST(a_full_writer_refuses)
{
    uint8_t buffer[256];
    uint8_t value[255] = {0};
    rsti_sm_items_writer_t writer;
    rsti_sm_items_begin(&writer, buffer, sizeof buffer); /* no more than the limit is used */
    CHECK(!rsti_sm_items_add(&writer, 9, value, RSTI_SM_ITEMS_MAX - 5));
    CHECK(rsti_sm_items_add(&writer, 9, value, RSTI_SM_ITEMS_MAX - 6));
    CHECK(!rsti_sm_items_add(&writer, 9, value, 0));
    CHECK_EQ(rsti_sm_items_end(&writer), RSTI_SM_ITEMS_MAX);
    seen_t seen;
    CHECK(read_exact(buffer, RSTI_SM_ITEMS_MAX, &seen));
    CHECK_EQ(seen.lengths[0], RSTI_SM_ITEMS_MAX - 6);
    for (size_t capacity = 0; capacity < 16; capacity++) {
        rsti_sm_items_begin(&writer, buffer, capacity);
        CHECK_EQ(rsti_sm_items_add(&writer, 9, value, 1), capacity >= 7);
        CHECK_EQ(rsti_sm_items_end(&writer), 0);
    }
}

TEST(malformed_tails_deliver_nothing)
{
    static const struct {
        uint8_t bytes[24];
        size_t length;
        bool is_valid;
    } rows[] = {
        {{1, 1, 3, 0, 1, 1, 1}, 16, true},
        {{1, 1, 3, 0, 1, 1, 1}, 15, false},          /* too short */
        {{1, 1, 3, 0, 1, 1, 1}, 0, false},
        {{0, 1, 3, 0, 1, 1, 1}, 16, false},          /* version */
        {{2, 1, 3, 0, 1, 1, 1}, 16, false},
        {{1, 2, 3, 0, 1, 1, 1}, 16, false},          /* count too large */
        {{1, 0, 3, 0, 1, 1, 1}, 16, false},          /* count too small */
        {{1, 1, 2, 0, 1, 1, 1}, 16, false},          /* item beyond the list */
        {{1, 1, 4, 0, 1, 1, 1}, 16, false},          /* list beyond the item */
        {{1, 1, 13, 0, 99, 11}, 16, false},           /* list beyond the tail */
        {{1, 1, 12, 0, 99, 10}, 16, true},
        {{1, 1, 12, 0, 99, 11}, 16, false},
        {{1, 1, 0xFF, 0xFF, 99, 10}, 16, false},
        {{1, 255, 0, 0}, 16, false},
        {{1, 1, 2, 0, 1, 0}, 16, false},             /* a tag item without its byte */
        {{1, 1, 9, 0, 5, 7}, 16, false},             /* a round trip of 7 bytes */
        {{1, 1, 10, 0, 5, 8}, 16, true},
        {{1, 1, 11, 0, 5, 9}, 16, true},             /* a later version's, longer */
        {{1, 2, 5, 0, 1, 1, 1, 99, 1}, 16, false},    /* the second is malformed */
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        seen_t seen;
        bool is_valid = read_exact(rows[i].bytes, rows[i].length, &seen);
        if (is_valid != rows[i].is_valid || (!is_valid && seen.count != 0)) {
            CHECK_FAIL("row %zu: %d, %d items", i, is_valid, seen.count);
        }
    }
    uint8_t large[RSTI_SM_ITEMS_MAX + 1] = {1};
    seen_t seen;
    CHECK(read_exact(large, RSTI_SM_ITEMS_MAX, &seen));
    CHECK(!read_exact(large, RSTI_SM_ITEMS_MAX + 1, &seen));
}

/* One status message with every item of a receiver, and the decoded values. */
TEST(all_items_are_decoded_at_once)
{
    _Alignas(8) uint8_t frame[RSTI_SM_ITEMS_OFFSET + RSTI_SM_ITEMS_MAX] = {0};
    uint8_t value[RSTI_SM_FILL_LENGTH];
    const int64_t rtt_ns = 1000, rate = 2000, target_ns = 3000;
    const rsti_sm_demand_t demand = {4, 5};
    const rsti_sm_noop_t first = {6, 5}, noop = {8, 7};
    rsti_sm_items_writer_t writer;
    rsti_sm_items_t items;
    rsti_sm_t *sm = (void *)frame;
    rsti_sm_items_begin(&writer, frame + RSTI_SM_ITEMS_OFFSET, RSTI_SM_ITEMS_MAX);
    CHECK(rsti_sm_items_add(&writer, RSTI_SM_ITEM_ROUND_TRIP, &rtt_ns, 8));
    CHECK(rsti_sm_items_add(&writer, RSTI_SM_ITEM_ARRIVAL_RATE, &rate, 8));
    CHECK(rsti_sm_items_add(&writer, RSTI_SM_ITEM_TARGET_DELAY, &target_ns, 8));
    rsti_sm_demand_encode(&demand, value);
    CHECK(rsti_sm_items_add(&writer, RSTI_SM_ITEM_DEMAND, value, RSTI_SM_DEMAND_LENGTH));
    rsti_sm_noop_encode(&first, value);
    CHECK(rsti_sm_items_add(&writer, RSTI_SM_ITEM_NOOP, value, RSTI_SM_NOOP_LENGTH));
    rsti_sm_noop_encode(&noop, value);
    CHECK(rsti_sm_items_add(&writer, RSTI_SM_ITEM_NOOP, value, RSTI_SM_NOOP_LENGTH));
    CHECK(rsti_sm_items_add(&writer, 200, NULL, 0));
    sm->frame.frame_length = (int32_t)(RSTI_SM_ITEMS_OFFSET + rsti_sm_items_end(&writer));
    CHECK(rsti_sm_items_decode(&items, sm));
    CHECK_EQ(items.rtt_ns, rtt_ns);
    CHECK_EQ(items.arrival_rate, rate);
    CHECK_EQ(items.target_ns, target_ns);
    CHECK(items.has_demand && items.has_noop && !items.has_fill && !items.has_budget);
    CHECK_EQ(items.demand.position, 4);
    CHECK_EQ(items.demand.messages, 5);
    CHECK_EQ(items.noop.heard, 8); /* the last one counts */
    CHECK_EQ(items.noop.answered, 7);
}

/* 2 was a fill NAK with another value: a peer that sends it is told nothing and harms nothing. */
TEST(a_fill_nak_is_the_item_of_type_9)
{
    static const struct {
        uint8_t type, length;
        bool is_valid, has_fill;
    } rows[] = {{9, 32, true, true}, {9, 40, true, true}, {9, 31, false, false},
        {2, 32, true, false}, {2, 0, true, false}};
    const rsti_sm_fill_t fill = {.fill = 0.5, .drain = 1, .allowed = 2, .buffer_bytes = 3};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        _Alignas(8) uint8_t frame[RSTI_SM_ITEMS_OFFSET + RSTI_SM_ITEMS_MAX] = {0};
        uint8_t value[RSTI_SM_FILL_LENGTH + 8] = {0};
        rsti_sm_items_writer_t writer;
        rsti_sm_items_t items;
        rsti_sm_t *sm = (void *)frame;
        rsti_sm_fill_encode(&fill, value);
        rsti_sm_items_begin(&writer, frame + RSTI_SM_ITEMS_OFFSET, RSTI_SM_ITEMS_MAX);
        CHECK(rsti_sm_items_add(&writer, rows[i].type, value, rows[i].length));
        sm->frame.frame_length = (int32_t)(RSTI_SM_ITEMS_OFFSET + rsti_sm_items_end(&writer));
        CHECK_EQ(rsti_sm_items_decode(&items, sm), rows[i].is_valid);
        CHECK_EQ(items.has_fill, rows[i].has_fill);
        CHECK_EQ(items.fill.allowed, rows[i].has_fill ? 2 : 0);
    }
}

/* Untrusted: any 64 bytes are a value, and 63 are none. */
TEST(an_arrival_is_the_item_of_type_11)
{
    static const struct {
        uint8_t length;
        bool is_valid;
    } rows[] = {{64, true}, {72, true}, {63, false}, {0, false}};
    const rsti_sm_path_t path = {1, -2, INT64_MAX, INT64_MIN, 5, 6, 7, 8};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        _Alignas(8) uint8_t frame[RSTI_SM_ITEMS_OFFSET + RSTI_SM_ITEMS_MAX] = {0};
        uint8_t value[RSTI_SM_PATH_LENGTH + 8] = {0};
        rsti_sm_items_writer_t writer;
        rsti_sm_items_t items;
        rsti_sm_t *sm = (void *)frame;
        rsti_sm_path_encode(&path, value);
        rsti_sm_items_begin(&writer, frame + RSTI_SM_ITEMS_OFFSET, RSTI_SM_ITEMS_MAX);
        CHECK(rsti_sm_items_add(&writer, RSTI_SM_ITEM_PATH, value, rows[i].length));
        sm->frame.frame_length = (int32_t)(RSTI_SM_ITEMS_OFFSET + rsti_sm_items_end(&writer));
        CHECK_EQ(rsti_sm_items_decode(&items, sm), rows[i].is_valid);
        CHECK_EQ(items.has_path, rows[i].is_valid);
        if (rows[i].is_valid) {
            CHECK_MEM(&items.path, &path, sizeof path);
        }
    }
}

TEST(a_plain_status_message_has_no_items)
{
    _Alignas(8) uint8_t frame[RSTI_SM_ITEMS_OFFSET + RSTI_SM_ITEMS_MIN] = {0};
    rsti_sm_items_t items = {.rtt_ns = 1, .has_fill = true};
    rsti_sm_t *sm = (void *)frame;
    for (int32_t length = RSTI_SM_LENGTH; length <= (int32_t)sizeof frame; length++) {
        sm->frame.frame_length = length;
        CHECK(!rsti_sm_items_decode(&items, sm)); /* version 0 at most */
        CHECK(items.rtt_ns == 0 && !items.has_fill);
    }
}

CHECK_MAIN(RUN(encoding_and_decoding_are_inverse), RUN(short_lists_are_padded_to_16),
    RUN(a_full_writer_refuses), RUN(malformed_tails_deliver_nothing),
    RUN(all_items_are_decoded_at_once), RUN(a_fill_nak_is_the_item_of_type_9),
    RUN(an_arrival_is_the_item_of_type_11), RUN(a_plain_status_message_has_no_items))
