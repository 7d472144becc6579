/* command.c: one table row per message lists its fields in order. The encoder and the decoder both
 * walk it, so they cannot disagree. */
#include "protocol/command.h"

#include "util/bits.h"

#include <string.h>

#define FIELDS_MAX 12 /* the longest row and the end mark */

typedef enum field_kind_t {
    FIELD_END = 0,
    FIELD_I64,
    FIELD_I32,
    FIELD_U16,
    FIELD_OPTIONAL_I64, /* older clients omit it: zero then */
    FIELD_BYTES_16,
    FIELD_TEXT,         /* i32 length, bytes */
    FIELD_ALIGNED_TEXT  /* likewise, at the next multiple of 4 */
} field_kind_t;

typedef struct field_t {
    field_kind_t kind;
    size_t offset; /* in the decoded struct */
} field_t;

typedef struct layout_t {
    size_t length_min; /* a writer pads to it; 0: no padding */
    bool is_min_required; /* a shorter message is malformed */
    field_t fields[FIELDS_MAX];
} layout_t;

#define C(kind, field) {FIELD_##kind, offsetof(rsti_command_t, field)}
#define R(kind, field) {FIELD_##kind, offsetof(rsti_response_t, field)}

#define IDS C(I64, client_id), C(I64, correlation_id)
#define REMOVE_LAYOUT                                                                              \
    {                                                                                              \
        .fields = {IDS, C(I64, registration_id)}                                                   \
    }
#define ADD_PUBLICATION_LAYOUT                                                                     \
    {                                                                                              \
        .fields = {IDS, C(I32, stream_id), C(TEXT, channel)}                                       \
    }
#define DESTINATION_LAYOUT                                                                         \
    {                                                                                              \
        .fields = {IDS, C(I64, registration_id), C(TEXT, channel)}                                 \
    }

static const layout_t command_layouts[] = {
    [RSTI_CMD_ADD_PUBLICATION] = ADD_PUBLICATION_LAYOUT,
    [RSTI_CMD_REMOVE_PUBLICATION] = {.fields = {IDS, C(I64, registration_id),
                                         C(OPTIONAL_I64, flags)}},
    [RSTI_CMD_ADD_EXCLUSIVE_PUBLICATION] = ADD_PUBLICATION_LAYOUT,
    [RSTI_CMD_ADD_SUBSCRIPTION] = {.fields = {IDS, C(I64, registration_id), C(I32, stream_id),
                                       C(TEXT, channel)}},
    [RSTI_CMD_REMOVE_SUBSCRIPTION] = REMOVE_LAYOUT,
    [RSTI_CMD_CLIENT_KEEPALIVE] = {.fields = {IDS}},
    [RSTI_CMD_ADD_DESTINATION] = DESTINATION_LAYOUT,
    [RSTI_CMD_REMOVE_DESTINATION] = DESTINATION_LAYOUT,
    [RSTI_CMD_ADD_COUNTER] = {.fields = {IDS, C(I32, counter_type_id), C(TEXT, key),
                                  C(ALIGNED_TEXT, label)}},
    [RSTI_CMD_REMOVE_COUNTER] = REMOVE_LAYOUT,
    [RSTI_CMD_CLIENT_CLOSE] = {.fields = {IDS}},
    [RSTI_CMD_ADD_RCV_DESTINATION] = DESTINATION_LAYOUT,
    [RSTI_CMD_REMOVE_RCV_DESTINATION] = DESTINATION_LAYOUT,
    [RSTI_CMD_TERMINATE_DRIVER] = {.fields = {IDS, C(TEXT, channel)}},
    [RSTI_CMD_ADD_STATIC_COUNTER] = {.fields = {IDS, C(I64, registration_id),
                                         C(I32, counter_type_id), C(TEXT, key),
                                         C(ALIGNED_TEXT, label)}},
    /* Aeron's driver expects the size of its struct with tail padding, even if the reason ends
     * before. So the encoder writes that length, and the decoder accepts less. */
    [RSTI_CMD_REJECT_IMAGE] = {.length_min = 40,
        .fields = {IDS, C(I64, registration_id), C(I64, position), C(TEXT, channel)}},
    [RSTI_CMD_REMOVE_DESTINATION_BY_ID] = {.fields = {IDS, C(I64, registration_id),
                                               C(I64, destination_id)}},
    [RSTI_CMD_NEXT_SESSION_ID] = {.fields = {IDS, C(I32, stream_id)}},
};

static const layout_t own_layouts[] = {
    [RSTI_CMD_SET_RATE - RSTI_CMD_OURS] = DESTINATION_LAYOUT,
    [RSTI_CMD_SAY_WHY - RSTI_CMD_OURS] = DESTINATION_LAYOUT,
};

#define RESPONSE_BASE 0x0F00
#define RESPONSE_ROW(type) [(type) - RESPONSE_BASE]
#define PUBLICATION_READY_LAYOUT                                                                   \
    {                                                                                              \
        .fields = {R(I64, correlation_id), R(I64, registration_id), R(I32, session_id),            \
            R(I32, stream_id), R(I32, counter_id), R(I32, channel_status_id), R(TEXT, log_file)}   \
    }
#define COUNTER_READY_LAYOUT                                                                       \
    {                                                                                              \
        .fields = {R(I64, correlation_id), R(I32, counter_id)}                                     \
    }

static const layout_t response_layouts[] = {
    RESPONSE_ROW(RSTI_RSP_ON_ERROR) = {.fields = {R(I64, correlation_id), R(I32, error_code),
                                           R(TEXT, log_file)}},
    RESPONSE_ROW(RSTI_RSP_AVAILABLE_IMAGE) = {.fields = {R(I64, correlation_id), R(I32, session_id),
                                                  R(I32, stream_id), R(I64, registration_id),
                                                  R(I32, counter_id), R(TEXT, log_file),
                                                  R(ALIGNED_TEXT, source_identity)}},
    RESPONSE_ROW(RSTI_RSP_PUBLICATION_READY) = PUBLICATION_READY_LAYOUT,
    RESPONSE_ROW(RSTI_RSP_OPERATION_SUCCESS) = {.fields = {R(I64, correlation_id)}},
    RESPONSE_ROW(RSTI_RSP_UNAVAILABLE_IMAGE) = {.fields = {R(I64, correlation_id),
                                                    R(I64, registration_id), R(I32, stream_id),
                                                    R(TEXT, log_file)}},
    RESPONSE_ROW(RSTI_RSP_EXCLUSIVE_PUBLICATION_READY) = PUBLICATION_READY_LAYOUT,
    RESPONSE_ROW(RSTI_RSP_SUBSCRIPTION_READY) = {.fields = {R(I64, correlation_id),
                                                     R(I32, channel_status_id)}},
    RESPONSE_ROW(RSTI_RSP_COUNTER_READY) = COUNTER_READY_LAYOUT,
    RESPONSE_ROW(RSTI_RSP_UNAVAILABLE_COUNTER) = {.fields = {R(I64, registration_id),
                                                      R(I32, counter_id)}},
    RESPONSE_ROW(RSTI_RSP_CLIENT_TIMEOUT) = {.fields = {R(I64, correlation_id)}},
    RESPONSE_ROW(RSTI_RSP_STATIC_COUNTER) = COUNTER_READY_LAYOUT,
    RESPONSE_ROW(RSTI_RSP_PUBLICATION_ERROR) = {.length_min = 72,
        .is_min_required = true,
        .fields = {R(I64, registration_id), R(I64, destination_id), R(I32, session_id),
            R(I32, stream_id), R(I64, receiver_id), R(I64, group_tag), R(U16, address_kind),
            R(U16, port), R(BYTES_16, address), R(I32, error_code), R(TEXT, log_file)}},
    RESPONSE_ROW(RSTI_RSP_NEXT_SESSION_ID) = {.fields = {R(I64, correlation_id),
                                                  R(I32, session_id)}},
};

#undef C
#undef R

#define COMMAND_COUNT (sizeof command_layouts / sizeof command_layouts[0])
#define OWN_COUNT (sizeof own_layouts / sizeof own_layouts[0])
#define RESPONSE_COUNT (sizeof response_layouts / sizeof response_layouts[0])

/* NULL for an unknown type. Rows without fields are holes of the table. */
static const layout_t *find_layout(const layout_t *layouts, size_t count, int32_t type,
    int32_t base)
{
    if (type <= base || (size_t)((int64_t)type - base) >= count) {
        return NULL;
    }
    const layout_t *layout = &layouts[type - base];
    return layout->fields[0].kind == FIELD_END ? NULL : layout;
}

static const layout_t *find_command(int32_t type)
{
    return type > RSTI_CMD_OURS ? find_layout(own_layouts, OWN_COUNT, type, RSTI_CMD_OURS)
                                : find_layout(command_layouts, COMMAND_COUNT, type, 0);
}

static size_t align_4(size_t offset)
{
    return (offset + 3) & ~(size_t)3;
}

static size_t scalar_length(field_kind_t kind)
{
    switch (kind) {
    case FIELD_I64:
    case FIELD_OPTIONAL_I64:
        return sizeof(int64_t);
    case FIELD_I32:
        return sizeof(int32_t);
    case FIELD_U16:
        return sizeof(uint16_t);
    default:
        return 16;
    }
}

static bool is_text(field_kind_t kind)
{
    return kind == FIELD_TEXT || kind == FIELD_ALIGNED_TEXT;
}

/* The place of the next byte. SIZE_MAX: the text does not fit. */
static size_t encode_text(const rsti_text_t *text, field_kind_t kind, uint8_t *buffer,
    size_t capacity, size_t at)
{
    RST_ASSERT(text->length >= 0);
    size_t begin = kind == FIELD_ALIGNED_TEXT ? align_4(at) : at;
    size_t length = (size_t)text->length;
    if (begin > capacity || capacity - begin < sizeof(int32_t)
        || capacity - begin - sizeof(int32_t) < length) {
        return SIZE_MAX;
    }
    memset(buffer + at, 0, begin - at);
    rsti_put_i32(buffer + begin, text->length);
    if (length > 0) {
        memcpy(buffer + begin + sizeof(int32_t), text->text, length);
    }
    return begin + sizeof(int32_t) + length;
}

static int64_t encode(const layout_t *layout, const void *record, uint8_t *buffer, size_t capacity)
{
    if (layout == NULL) {
        return -1;
    }
    size_t at = 0;
    for (const field_t *field = layout->fields; field->kind != FIELD_END; field++) {
        const uint8_t *from = (const uint8_t *)record + field->offset;
        if (is_text(field->kind)) {
            at = encode_text((const rsti_text_t *)(const void *)from, field->kind, buffer, capacity,
                at);
            if (at == SIZE_MAX) {
                return -1;
            }
        } else {
            size_t length = scalar_length(field->kind);
            if (capacity - at < length) {
                return -1;
            }
            memcpy(buffer + at, from, length);
            at += length;
        }
    }
    if (at < layout->length_min) {
        if (capacity < layout->length_min) {
            return -1;
        }
        memset(buffer + at, 0, layout->length_min - at);
        at = layout->length_min;
    }
    return (int64_t)at;
}

/* The place of the next field. SIZE_MAX: the text is not inside the message. */
static size_t decode_text(rsti_text_t *text, field_kind_t kind, const uint8_t *buffer,
    size_t length, size_t at)
{
    size_t begin = kind == FIELD_ALIGNED_TEXT ? align_4(at) : at;
    if (begin > length || length - begin < sizeof(int32_t)) {
        return SIZE_MAX;
    }
    int32_t text_length = rsti_get_i32(buffer + begin);
    begin += sizeof(int32_t);
    if (text_length < 0 || (size_t)text_length > length - begin) {
        return SIZE_MAX;
    }
    *text = (rsti_text_t){.text = (const char *)buffer + begin, .length = text_length};
    return begin + (size_t)text_length;
}

static bool decode(const layout_t *layout, const uint8_t *buffer, size_t length, void *record)
{
    if (layout->is_min_required && length < layout->length_min) {
        return false;
    }
    size_t at = 0;
    for (const field_t *field = layout->fields; field->kind != FIELD_END; field++) {
        uint8_t *to = (uint8_t *)record + field->offset;
        if (is_text(field->kind)) {
            at = decode_text((rsti_text_t *)(void *)to, field->kind, buffer, length, at);
            if (at == SIZE_MAX) {
                return false;
            }
        } else {
            size_t scalar = scalar_length(field->kind);
            if (length - at >= scalar) {
                memcpy(to, buffer + at, scalar);
                at += scalar;
            } else if (field->kind != FIELD_OPTIONAL_I64) {
                return false;
            }
        }
    }
    return true;
}

int64_t rsti_command_encode(const rsti_command_t *command, uint8_t *buffer, size_t capacity)
{
    return encode(find_command(command->type), command, buffer, capacity);
}

int rsti_command_decode(int32_t type, const uint8_t *buffer, size_t length, rsti_command_t *command)
{
    const layout_t *layout = find_command(type);
    *command = (rsti_command_t){.type = type};
    if (layout != NULL && decode(layout, buffer, length, command)) {
        return 0;
    }
    *command = (rsti_command_t){.type = type};
    if (length >= 2 * sizeof(int64_t)) {
        command->client_id = rsti_get_i64(buffer);
        command->correlation_id = rsti_get_i64(buffer + sizeof(int64_t));
    }
    return layout == NULL ? RSTI_DRIVER_UNKNOWN_COMMAND : RSTI_DRIVER_MALFORMED_COMMAND;
}

int64_t rsti_response_encode(const rsti_response_t *response, uint8_t *buffer, size_t capacity)
{
    return encode(find_layout(response_layouts, RESPONSE_COUNT, response->type, RESPONSE_BASE),
        response, buffer, capacity);
}

int rsti_response_decode(int32_t type, const uint8_t *buffer, size_t length,
    rsti_response_t *response)
{
    const layout_t *layout = find_layout(response_layouts, RESPONSE_COUNT, type, RESPONSE_BASE);
    *response = (rsti_response_t){.type = type};
    if (layout != NULL && decode(layout, buffer, length, response)) {
        return 0;
    }
    *response = (rsti_response_t){.type = type};
    return layout == NULL ? RSTI_DRIVER_UNKNOWN_COMMAND : RSTI_DRIVER_MALFORMED_COMMAND;
}

/* --- counter keys ----------------------------------------------------------------------------- */

#define KEY_LENGTH 112

/* i32 length and text at offset; the text is truncated to the key. Returns the end. */
static size_t put_key_text(uint8_t key[KEY_LENGTH], size_t offset, const char *text, size_t length,
    size_t length_max)
{
    RST_ASSERT(offset + sizeof(int32_t) + length_max <= KEY_LENGTH);
    size_t cut = length < length_max ? length : length_max;
    rsti_put_i32(key + offset, (int32_t)cut);
    if (cut > 0) {
        memcpy(key + offset + sizeof(int32_t), text, cut);
    }
    return offset + sizeof(int32_t) + cut;
}

size_t rsti_stream_key_encode(uint8_t key[112], int64_t registration_id, int32_t session_id,
    int32_t stream_id, const char *channel, size_t channel_length)
{
    memset(key, 0, KEY_LENGTH);
    rsti_put_i64(key, registration_id);
    rsti_put_i32(key + 8, session_id);
    rsti_put_i32(key + 12, stream_id);
    return put_key_text(key, 16, channel, channel_length, 92);
}

size_t rsti_channel_key_encode(uint8_t key[112], const char *channel, size_t channel_length)
{
    memset(key, 0, KEY_LENGTH);
    return put_key_text(key, 0, channel, channel_length, 108);
}

size_t rsti_sockaddr_key_encode(uint8_t key[112], int32_t channel_status_id, const char *address)
{
    memset(key, 0, KEY_LENGTH);
    rsti_put_i32(key, channel_status_id);
    return put_key_text(key, 4, address, strlen(address), 103);
}
