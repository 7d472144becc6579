/* fuzz_command.c: 4 bytes of type, then a message. An accepted message lies inside the input, and
 * encoding it again gives the same message. */
#include "fuzz/check.h"
#include "protocol/command.h"

#include <stdbool.h>

static uint8_t again[FUZZ_BLOCK_MAX * 4];

static void check_inside(rsti_text_t text, const uint8_t *data, size_t size)
{
    if (text.text == NULL) {
        FUZZ_CHECK(text.length == 0);
        return;
    }
    const uint8_t *from = (const uint8_t *)text.text;
    FUZZ_CHECK(text.length >= 0);
    FUZZ_CHECK(from >= data && from <= data + size);
    FUZZ_CHECK((size_t)text.length <= size - (size_t)(from - data));
}

static bool is_same_text(rsti_text_t a, rsti_text_t b)
{
    return a.length == b.length && (a.length == 0 || memcmp(a.text, b.text, (size_t)a.length) == 0);
}

static void check_command(int32_t type, const uint8_t *data, size_t size)
{
    rsti_command_t command;
    int result = rsti_command_decode(type, data, size, &command);
    FUZZ_CHECK(result == 0
        || result == ((type >= 1 && type <= 0x12) || type == 0x7301 || type == 0x7302 ? 7 : 6));
    FUZZ_CHECK(command.type == type);
    bool has_ids = size >= 16;
    FUZZ_CHECK((uint64_t)command.client_id == (has_ids ? fuzz_read(data, 8) : 0));
    FUZZ_CHECK((uint64_t)command.correlation_id == (has_ids ? fuzz_read(data + 8, 8) : 0));
    check_inside(command.channel, data, size);
    check_inside(command.key, data, size);
    check_inside(command.label, data, size);
    if (result != 0) {
        FUZZ_CHECK(command.channel.text == NULL && command.key.text == NULL);
        return;
    }
    int64_t length = rsti_command_encode(&command, again, sizeof again);
    rsti_command_t second;
    FUZZ_CHECK(length >= 16);
    FUZZ_CHECK(rsti_command_decode(type, again, (size_t)length, &second) == 0);
    FUZZ_CHECK(second.client_id == command.client_id
        && second.correlation_id == command.correlation_id
        && second.registration_id == command.registration_id
        && second.destination_id == command.destination_id && second.position == command.position
        && second.stream_id == command.stream_id
        && second.counter_type_id == command.counter_type_id && second.flags == command.flags);
    FUZZ_CHECK(is_same_text(second.channel, command.channel)
        && is_same_text(second.key, command.key) && is_same_text(second.label, command.label));
}

static void check_response(int32_t type, const uint8_t *data, size_t size)
{
    rsti_response_t response;
    int result = rsti_response_decode(type, data, size, &response);
    FUZZ_CHECK(result == 0 || result == (type >= 0x0F01 && type <= 0x0F0D ? 7 : 6));
    FUZZ_CHECK(response.type == type);
    check_inside(response.log_file, data, size);
    check_inside(response.source_identity, data, size);
    if (result != 0) {
        FUZZ_CHECK(response.log_file.text == NULL && response.source_identity.text == NULL);
        return;
    }
    int64_t length = rsti_response_encode(&response, again, sizeof again);
    rsti_response_t second;
    FUZZ_CHECK(length >= 8);
    FUZZ_CHECK(rsti_response_decode(type, again, (size_t)length, &second) == 0);
    FUZZ_CHECK(second.correlation_id == response.correlation_id
        && second.registration_id == response.registration_id
        && second.session_id == response.session_id && second.stream_id == response.stream_id
        && second.counter_id == response.counter_id
        && second.channel_status_id == response.channel_status_id
        && second.error_code == response.error_code && second.receiver_id == response.receiver_id
        && second.group_tag == response.group_tag && second.port == response.port);
    FUZZ_CHECK(is_same_text(second.log_file, response.log_file)
        && is_same_text(second.source_identity, response.source_identity));
}

int LLVMFuzzerTestOneInput(const uint8_t *input, size_t size)
{
    if (size < 4) {
        return 0;
    }
    int32_t type = (int32_t)fuzz_i32(input);
    size -= 4;
    const uint8_t *data = fuzz_exact_copy(input + 4, size);
    check_command(type, data, size);
    check_response(type, data, size);
    /* The same bytes, read as another message. */
    int32_t other = (int32_t)(size % 32);
    check_command(other, data, size);
    check_response(0x0F00 + other, data, size);
    return 0;
}
