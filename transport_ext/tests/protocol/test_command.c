/* test_command.c: every message against the reference vectors, byte for byte in both directions,
 * and truncated, extended and corrupted ones. */
#include "protocol/command.h"

#include "tests/check.h"
#include "tests/hex.h"
#include "tests/vectors/protocol.h"
#include "util/bits.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TEXT(literal) {(literal), (int32_t)(sizeof(literal) - 1)}
#define CHANNEL TEXT("aeron:udp?endpoint=localhost:40456")

/* In the order of the vectors. */
static const rsti_command_t commands[] = {
    {.type = RSTI_CMD_ADD_PUBLICATION,
        .client_id = 5,
        .correlation_id = 6,
        .stream_id = 1001,
        .channel = CHANNEL},
    {.type = RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION,
        .client_id = 5,
        .correlation_id = 6,
        .stream_id = 1001,
        .channel = CHANNEL},
    {.type = RSTI_CMD_ADD_SUBSCRIPTION,
        .client_id = 5,
        .correlation_id = 7,
        .registration_id = -1,
        .stream_id = 1001,
        .channel = CHANNEL},
    {.type = RSTI_CMD_REMOVE_PUBLICATION,
        .client_id = 5,
        .correlation_id = 8,
        .registration_id = 6,
        .flags = 1},
    {.type = RSTI_CMD_REMOVE_SUBSCRIPTION,
        .client_id = 5,
        .correlation_id = 9,
        .registration_id = 7},
    {.type = RSTI_CMD_CLIENT_KEEPALIVE, .client_id = 5},
    {.type = RSTI_CMD_CLIENT_CLOSE, .client_id = 5, .correlation_id = -1},
    {.type = RSTI_CMD_ADD_DESTINATION,
        .client_id = 5,
        .correlation_id = 10,
        .registration_id = 6,
        .channel = CHANNEL},
    {.type = RSTI_CMD_REMOVE_DESTINATION_BY_ID,
        .client_id = 5,
        .correlation_id = 11,
        .registration_id = 6,
        .destination_id = 10},
    {.type = RSTI_CMD_ADD_COUNTER,
        .client_id = 5,
        .correlation_id = 12,
        .counter_type_id = 1101,
        .key = TEXT("KEY45"),
        .label = TEXT("labl")},
    {.type = RSTI_CMD_ADD_STATIC_COUNTER,
        .client_id = 5,
        .correlation_id = 13,
        .registration_id = 99,
        .counter_type_id = 1101,
        .label = TEXT("labl")},
    {.type = RSTI_CMD_REJECT_IMAGE,
        .client_id = 5,
        .correlation_id = 14,
        .registration_id = 77,
        .position = 4096,
        .channel = TEXT("reason")},
    {.type = RSTI_CMD_NEXT_SESSION_ID, .client_id = 5, .correlation_id = 15, .stream_id = 1001},
    {.type = RSTI_CMD_TERMINATE_DRIVER,
        .client_id = 5,
        .correlation_id = 16,
        .channel = TEXT("tok")},
};

static const rsti_response_t responses[] = {
    {.type = RSTI_RSP_PUBLICATION_READY,
        .correlation_id = 6,
        .registration_id = 6,
        .session_id = -9,
        .stream_id = 1001,
        .counter_id = 50,
        .channel_status_id = 49,
        .log_file = TEXT("/dev/shm/aeron-u/publications/6.logbuffer")},
    {.type = RSTI_RSP_SUBSCRIPTION_READY, .correlation_id = 7, .channel_status_id = 51},
    {.type = RSTI_RSP_AVAILABLE_IMAGE,
        .correlation_id = 20,
        .session_id = -9,
        .stream_id = 1001,
        .registration_id = 7,
        .counter_id = 55,
        .log_file = TEXT("/dev/shm/aeron-u/images/20.logbuffer"),
        .source_identity = TEXT("127.0.0.1:50000")},
    {.type = RSTI_RSP_UNAVAILABLE_IMAGE,
        .correlation_id = 20,
        .registration_id = 7,
        .stream_id = 1001,
        .log_file = CHANNEL},
    {.type = RSTI_RSP_OPERATION_SUCCESS, .correlation_id = 8},
    {.type = RSTI_RSP_ON_ERROR,
        .correlation_id = 8,
        .error_code = 3,
        .log_file = TEXT("unknown publication")},
    {.type = RSTI_RSP_COUNTER_READY, .correlation_id = 12, .counter_id = 60},
    {.type = RSTI_RSP_UNAVAILABLE_COUNTER, .registration_id = 12, .counter_id = 60},
    {.type = RSTI_RSP_CLIENT_TIMEOUT, .correlation_id = 5},
    {.type = RSTI_RSP_NEXT_SESSION_ID, .correlation_id = 15, .session_id = 1234},
    {.type = RSTI_RSP_PUBLICATION_ERROR,
        .registration_id = 6,
        .destination_id = -1,
        .session_id = -9,
        .stream_id = 1001,
        .receiver_id = INT64_C(0x1122334455667788),
        .group_tag = -1,
        .address_kind = 1,
        .port = 50000,
        .address = {127, 0, 0, 1},
        .error_code = 13,
        .log_file = TEXT("no thanks")},
};

_Static_assert(COUNT(commands) + COUNT(responses) == COUNT(vector_commands), "every vector");

static bool is_same_text(rsti_text_t a, rsti_text_t b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.text, b.text, (size_t)a.length) == 0);
}

static bool is_same_command(const rsti_command_t *a, const rsti_command_t *b)
{
    return a->type == b->type && a->client_id == b->client_id
        && a->correlation_id == b->correlation_id && a->registration_id == b->registration_id
        && a->destination_id == b->destination_id && a->position == b->position
        && a->stream_id == b->stream_id && a->counter_type_id == b->counter_type_id
        && a->flags == b->flags && is_same_text(a->channel, b->channel)
        && is_same_text(a->key, b->key) && is_same_text(a->label, b->label);
}

static bool is_same_response(const rsti_response_t *a, const rsti_response_t *b)
{
    return a->type == b->type && a->correlation_id == b->correlation_id
        && a->registration_id == b->registration_id && a->session_id == b->session_id
        && a->stream_id == b->stream_id && a->counter_id == b->counter_id
        && a->channel_status_id == b->channel_status_id && a->error_code == b->error_code
        && is_same_text(a->log_file, b->log_file)
        && is_same_text(a->source_identity, b->source_identity)
        && a->destination_id == b->destination_id && a->receiver_id == b->receiver_id
        && a->group_tag == b->group_tag && a->address_kind == b->address_kind && a->port == b->port
        && memcmp(a->address, b->address, sizeof a->address) == 0;
}

TEST(commands_match_the_vectors)
{
    for (size_t i = 0; i < COUNT(commands); i++) {
        size_t length;
        uint8_t *bytes = hex_bytes(vector_commands[i].hex, &length);
        uint8_t encoded[256];
        memset(encoded, 0xEE, sizeof encoded);
        CHECK_EQ(commands[i].type, vector_commands[i].type);
        CHECK_EQ(rsti_command_encode(&commands[i], encoded, sizeof encoded), length);
        CHECK_MEM(encoded, bytes, length);
        CHECK_EQ(encoded[length], 0xEE);
        rsti_command_t decoded;
        CHECK_EQ(rsti_command_decode(vector_commands[i].type, bytes, length, &decoded), 0);
        CHECK(is_same_command(&decoded, &commands[i]));
        free(bytes);
    }
}

TEST(responses_match_the_vectors)
{
    for (size_t i = 0; i < COUNT(responses); i++) {
        const vector_command_t *vector = &vector_commands[COUNT(commands) + i];
        size_t length;
        uint8_t *bytes = hex_bytes(vector->hex, &length);
        uint8_t encoded[256];
        memset(encoded, 0xEE, sizeof encoded);
        CHECK_EQ(responses[i].type, vector->type);
        CHECK_EQ(rsti_response_encode(&responses[i], encoded, sizeof encoded), length);
        CHECK_MEM(encoded, bytes, length);
        CHECK_EQ(encoded[length], 0xEE);
        rsti_response_t decoded;
        CHECK_EQ(rsti_response_decode(vector->type, bytes, length, &decoded), 0);
        CHECK(is_same_response(&decoded, &responses[i]));
        free(bytes);
    }
}

/* Types that share a layout with another one, and that the vectors leave out. */
TEST(layouts_that_are_shared)
{
    static const int32_t pairs[][2] = {
        {RSTI_CMD_ADD_DESTINATION, RSTI_CMD_REMOVE_DESTINATION},
        {RSTI_CMD_ADD_DESTINATION, RSTI_CMD_ADD_RCV_DESTINATION},
        {RSTI_CMD_ADD_DESTINATION, RSTI_CMD_REMOVE_RCV_DESTINATION},
        {RSTI_CMD_ADD_DESTINATION, RSTI_CMD_SET_RATE},
        {RSTI_CMD_REMOVE_SUBSCRIPTION, RSTI_CMD_REMOVE_COUNTER},
        {RSTI_RSP_PUBLICATION_READY, RSTI_RSP_EXCLUSIVE_PUBLICATION_READY},
        {RSTI_RSP_COUNTER_READY, RSTI_RSP_STATIC_COUNTER},
    };
    for (size_t i = 0; i < COUNT(pairs); i++) {
        bool is_response = pairs[i][0] >= 0x0F00;
        uint8_t first[128];
        uint8_t second[128];
        int64_t first_length;
        int64_t second_length;
        if (is_response) {
            rsti_response_t response = {.type = pairs[i][0],
                .correlation_id = 1,
                .registration_id = 2,
                .session_id = 3,
                .stream_id = 4,
                .counter_id = 5,
                .channel_status_id = 6,
                .log_file = TEXT("log")};
            first_length = rsti_response_encode(&response, first, sizeof first);
            response.type = pairs[i][1];
            second_length = rsti_response_encode(&response, second, sizeof second);
        } else {
            rsti_command_t command = {.type = pairs[i][0],
                .client_id = 1,
                .correlation_id = 2,
                .registration_id = 3,
                .channel = TEXT("aeron:ipc")};
            first_length = rsti_command_encode(&command, first, sizeof first);
            command.type = pairs[i][1];
            second_length = rsti_command_encode(&command, second, sizeof second);
        }
        CHECK(first_length > 0);
        CHECK_EQ(first_length, second_length);
        CHECK_MEM(first, second, first_length);
    }
}

/* The shortest length that must decode: texts may not be truncated; tail padding and optional flags
 * may. */
static size_t length_needed(int32_t type, size_t length)
{
    return type == RSTI_CMD_REMOVE_PUBLICATION ? 24 : length;
}

TEST(cut_messages_are_malformed)
{
    for (size_t i = 0; i < COUNT(vector_commands); i++) {
        size_t length;
        uint8_t *bytes = hex_bytes(vector_commands[i].hex, &length);
        int32_t type = vector_commands[i].type;
        for (size_t cut = 0; cut < length; cut++) {
            uint8_t *exact = hex_copy(bytes, cut);
            rsti_command_t command;
            rsti_response_t response;
            int result = i < COUNT(commands) ? rsti_command_decode(type, exact, cut, &command)
                                             : rsti_response_decode(type, exact, cut, &response);
            CHECK_EQ(result, cut >= length_needed(type, length) ? 0 : 7);
            if (i < COUNT(commands)) {
                CHECK_EQ(command.type, type);
                CHECK_EQ(command.client_id, cut >= 16 ? commands[i].client_id : 0);
                CHECK_EQ(command.correlation_id, cut >= 16 ? commands[i].correlation_id : 0);
                CHECK_EQ(command.flags, 0);
            }
            free(exact);
        }
        free(bytes);
    }
}

TEST(encoders_stop_at_the_capacity)
{
    for (size_t i = 0; i < COUNT(vector_commands); i++) {
        size_t length = strlen(vector_commands[i].hex) / 2;
        for (size_t capacity = 0; capacity <= length; capacity++) {
            uint8_t *exact = malloc(capacity + 1);
            exact[capacity] = 0xEE;
            int64_t written = i < COUNT(commands)
                ? rsti_command_encode(&commands[i], exact, capacity)
                : rsti_response_encode(&responses[i - COUNT(commands)], exact, capacity);
            CHECK_EQ(written, capacity == length ? (int64_t)length : -1);
            CHECK_EQ(exact[capacity], 0xEE);
            free(exact);
        }
    }
}

TEST(tail_padding)
{
    rsti_command_t reject = {.type = RSTI_CMD_REJECT_IMAGE, .channel = TEXT("no")};
    uint8_t buffer[128];
    memset(buffer, 0xEE, sizeof buffer);
    CHECK_EQ(rsti_command_encode(&reject, buffer, sizeof buffer), 40);
    CHECK_EQ(buffer[38] | buffer[39], 0);
    CHECK_EQ(rsti_command_encode(&reject, buffer, 39), -1);
    rsti_command_t command;
    CHECK_EQ(rsti_command_decode(RSTI_CMD_REJECT_IMAGE, buffer, 40, &command), 0);
    CHECK(is_same_text(command.channel, reject.channel));
    CHECK_EQ(rsti_command_decode(RSTI_CMD_REJECT_IMAGE, buffer, 38, &command), 0);
    CHECK_EQ(rsti_command_decode(RSTI_CMD_REJECT_IMAGE, buffer, 37, &command), 7);

    rsti_response_t error = {.type = RSTI_RSP_PUBLICATION_ERROR, .log_file = TEXT("abc")};
    rsti_response_t decoded;
    memset(buffer, 0xEE, sizeof buffer);
    CHECK_EQ(rsti_response_encode(&error, buffer, sizeof buffer), 72);
    CHECK_EQ(buffer[71], 0);
    CHECK_EQ(rsti_response_encode(&error, buffer, 71), -1);
    CHECK_EQ(rsti_response_decode(error.type, buffer, 72, &decoded), 0);
    CHECK(is_same_response(&decoded, &error));
    CHECK_EQ(rsti_response_decode(error.type, buffer, 71, &decoded), 7);
}

TEST(text_lengths_are_not_trusted)
{
    static const int32_t lengths[] = {-1, 35, INT32_MAX, INT32_MIN, 0x10000};
    for (size_t i = 0; i < COUNT(lengths); i++) {
        size_t length;
        uint8_t *bytes = hex_bytes(vector_commands[0].hex, &length);
        rsti_put_i32(bytes + 20, lengths[i]);
        rsti_command_t command;
        CHECK_EQ(rsti_command_decode(RSTI_CMD_ADD_PUBLICATION, bytes, length, &command), 7);
        CHECK_EQ(command.correlation_id, 6);
        CHECK(command.channel.text == NULL);
        free(bytes);
    }
    /* Shorter than the following data is fine: the rest is not read. */
    size_t length;
    uint8_t *bytes = hex_bytes(vector_commands[0].hex, &length);
    rsti_put_i32(bytes + 20, 9);
    rsti_command_t command;
    CHECK_EQ(rsti_command_decode(RSTI_CMD_ADD_PUBLICATION, bytes, length, &command), 0);
    CHECK_EQ(command.channel.length, 9);
    free(bytes);
}

TEST(padding_between_key_and_label)
{
    static const char key[] = "01234567";
    for (int32_t key_length = 0; key_length <= 8; key_length++) {
        rsti_command_t counter = {.type = RSTI_CMD_ADD_COUNTER,
            .counter_type_id = 7300,
            .key = {key, key_length},
            .label = TEXT("x")};
        uint8_t buffer[64];
        memset(buffer, 0xEE, sizeof buffer);
        int64_t padded = rsti_align_i32(key_length, 4);
        int64_t length = rsti_command_encode(&counter, buffer, sizeof buffer);
        CHECK_EQ(length, 24 + padded + 4 + 1);
        for (int64_t at = 24 + key_length; at < 24 + padded; at++) {
            CHECK_EQ(buffer[at], 0);
        }
        uint8_t *exact = hex_copy(buffer, (size_t)length);
        rsti_command_t decoded;
        CHECK_EQ(rsti_command_decode(RSTI_CMD_ADD_COUNTER, exact, (size_t)length, &decoded), 0);
        CHECK(is_same_command(&decoded, &counter));
        free(exact);
    }
}

TEST(unknown_types)
{
    static const int32_t types[] = {
        0, -1, 0x13, 0x0E00, 0x0F00, 0x0F0E, 0x7300, INT32_MAX, INT32_MIN};
    uint8_t bytes[64] = {1, 0, 0, 0, 0, 0, 0, 0, 2};
    for (size_t i = 0; i < COUNT(types); i++) {
        rsti_command_t command = {.type = types[i]};
        rsti_response_t response = {.type = types[i]};
        CHECK_EQ(rsti_command_encode(&command, bytes, sizeof bytes), -1);
        CHECK_EQ(rsti_response_encode(&response, bytes, sizeof bytes), -1);
        CHECK_EQ(rsti_command_decode(types[i], bytes, sizeof bytes, &command), 6);
        CHECK_EQ(command.client_id, 1);
        CHECK_EQ(command.correlation_id, 2);
        CHECK_EQ(rsti_command_decode(types[i], bytes, 15, &command), 6);
        CHECK_EQ(command.correlation_id, 0);
        CHECK_EQ(rsti_response_decode(types[i], bytes, sizeof bytes, &response), 6);
    }
    /* Each direction has its own codes. */
    rsti_command_t command;
    rsti_response_t response;
    CHECK_EQ(rsti_command_decode(RSTI_RSP_ON_ERROR, bytes, sizeof bytes, &command), 6);
    CHECK_EQ(rsti_response_decode(RSTI_CMD_ADD_COUNTER, bytes, sizeof bytes, &response), 6);
}

TEST(flipped_messages_do_no_harm)
{
    for (size_t i = 0; i < COUNT(vector_commands); i++) {
        size_t length;
        uint8_t *bytes = hex_bytes(vector_commands[i].hex, &length);
        for (size_t bit = 0; bit < length * 8; bit++) {
            bytes[bit / 8] = (uint8_t)(bytes[bit / 8] ^ 1U << bit % 8);
            rsti_command_t command = {0};
            rsti_response_t response = {0};
            int32_t type = vector_commands[i].type;
            rsti_text_t text;
            if (i < COUNT(commands)) {
                (void)rsti_command_decode(type, bytes, length, &command);
                text = command.channel;
            } else {
                (void)rsti_response_decode(type, bytes, length, &response);
                text = response.log_file;
            }
            CHECK(text.length >= 0);
            CHECK(text.length == 0
                || ((const uint8_t *)text.text >= bytes
                    && (const uint8_t *)text.text + text.length <= bytes + length));
            bytes[bit / 8] = (uint8_t)(bytes[bit / 8] ^ 1U << bit % 8);
        }
        free(bytes);
    }
}

TEST(counter_keys)
{
    uint8_t key[112];
    char text[200];
    memset(text, 'c', sizeof text);
    memset(key, 0xEE, sizeof key);
    CHECK_EQ(rsti_stream_key_encode(key, 77, -2, 3, "abc", 3), 23);
    static const uint8_t stream_key[24] = {
        77, 0, 0, 0, 0, 0, 0, 0, 0xFE, 0xFF, 0xFF, 0xFF, 3, 0, 0, 0, 3, 0, 0, 0, 'a', 'b', 'c', 0};
    CHECK_MEM(key, stream_key, sizeof stream_key);
    CHECK_EQ(key[111], 0);
    CHECK_EQ(rsti_stream_key_encode(key, 77, -2, 3, text, 92), 112);
    CHECK_EQ(rsti_stream_key_encode(key, 77, -2, 3, text, 93), 112);
    CHECK_EQ(rsti_get_i32(key + 16), 92);

    CHECK_EQ(rsti_channel_key_encode(key, "abc", 3), 7);
    CHECK_EQ(rsti_get_i32(key), 3);
    CHECK_MEM(key + 4, "abc\0", 4);
    CHECK_EQ(rsti_channel_key_encode(key, text, 108), 112);
    CHECK_EQ(rsti_channel_key_encode(key, text, sizeof text), 112);
    CHECK_EQ(rsti_get_i32(key), 108);
    CHECK_EQ(rsti_channel_key_encode(key, NULL, 0), 4);

    CHECK_EQ(rsti_sockaddr_key_encode(key, -1, "127.0.0.1:40456"), 8 + 15);
    CHECK_EQ(rsti_get_i32(key), -1);
    CHECK_EQ(rsti_get_i32(key + 4), 15);
    CHECK_STR((const char *)key + 8, "127.0.0.1:40456");
    text[150] = '\0';
    CHECK_EQ(rsti_sockaddr_key_encode(key, -1, text), 8 + 103);
    CHECK_EQ(key[111], 0);
}

/* N26 */
TEST(system_counters_have_their_ids)
{
    CHECK_EQ(RSTI_SYSTEM_BYTES_SENT, 0);
    CHECK_EQ(RSTI_SYSTEM_INVALID_PACKETS, 14);
    CHECK_EQ(RSTI_SYSTEM_LOSS_GAP_FILLS, 23);
    CHECK_EQ(RSTI_SYSTEM_VERSION, 34);
    CHECK_EQ(RSTI_SYSTEM_CONTROL_PROTOCOL_VERSION, 43);
    CHECK_EQ(RSTI_SYSTEM_SM_REJECTED, 44);
    CHECK_EQ(RSTI_SYSTEM_COUNTER_COUNT, 46);
}

CHECK_MAIN(RUN(commands_match_the_vectors), RUN(responses_match_the_vectors),
    RUN(layouts_that_are_shared), RUN(cut_messages_are_malformed),
    RUN(encoders_stop_at_the_capacity), RUN(tail_padding), RUN(text_lengths_are_not_trusted),
    RUN(padding_between_key_and_label), RUN(unknown_types), RUN(flipped_messages_do_no_harm),
    RUN(counter_keys), RUN(system_counters_have_their_ids))
