#include "protocol/resolution.h"

#include "protocol/frame.h"
#include "util/bits.h"

#include <string.h>

#define SELF_FLAG 0x80
#define KIND_IPV4 1
#define KIND_IPV6 2
#define ADDRESS_AT 8
#define ALIGNMENT 8

static size_t aligned(size_t length)
{
    return (length + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static uint16_t get_u16(const uint8_t *from)
{
    return (uint16_t)(from[0] | from[1] << 8);
}

static void put_u16(uint8_t *to, uint16_t value)
{
    to[0] = (uint8_t)value;
    to[1] = (uint8_t)(value >> 8);
}

bool rsti_resolution_reader_init(rsti_resolution_reader_t *reader, const uint8_t *datagram,
    size_t length)
{
    rsti_frame_header_t header;
    if (!rsti_frame_is_acceptable(datagram, length)) {
        return false;
    }
    memcpy(&header, datagram, sizeof header);
    *reader = (rsti_resolution_reader_t){
        .data = datagram,
        .length = (size_t)header.frame_length,
        .at = sizeof header,
    };
    return header.type == RSTI_FRAME_RES;
}

int rsti_resolution_next(rsti_resolution_reader_t *reader, rsti_resolution_t *entry)
{
    const uint8_t *bytes = reader->data + reader->at;
    const size_t rest = reader->length - reader->at;
    if (rest == 0) {
        return 0;
    }
    const size_t address_length = bytes[0] == KIND_IPV4 ? 4 : bytes[0] == KIND_IPV6 ? 16 : 0;
    const size_t name_at = ADDRESS_AT + address_length + 2;
    if (address_length == 0 || rest < name_at) {
        return -1;
    }
    const size_t name_length = get_u16(bytes + name_at - 2);
    if (name_length == 0 || name_length > RSTI_RESOLUTION_NAME_MAX || rest < name_at + name_length
        || memchr(bytes + name_at, '\0', name_length) != NULL) {
        return -1;
    }
    *entry = (rsti_resolution_t){
        .address =
            {
                .family = bytes[0] == KIND_IPV4 ? AF_INET : AF_INET6,
                .port = get_u16(bytes + 2),
            },
        .is_self = (bytes[1] & SELF_FLAG) != 0,
        .age_ms = rsti_get_i32(bytes + 4) < 0 ? 0 : rsti_get_i32(bytes + 4),
    };
    memcpy(entry->address.bytes, bytes + ADDRESS_AT, address_length);
    memcpy(entry->name, bytes + name_at, name_length);
    const size_t span = aligned(name_at + name_length);
    reader->at += span < rest ? span : rest; /* the last entry may lack its padding */
    return 1;
}

size_t rsti_resolution_append(uint8_t *datagram, size_t capacity, size_t length,
    const rsti_resolution_t *entry)
{
    const size_t at = length == 0 ? sizeof(rsti_frame_header_t) : length;
    const size_t address_length = entry->address.family == AF_INET6 ? 16 : 4;
    const size_t name_length = strlen(entry->name);
    const size_t name_at = ADDRESS_AT + address_length + 2;
    const size_t end = at + aligned(name_at + name_length);
    if (end > capacity) {
        return 0;
    }
    uint8_t *bytes = datagram + at;
    memset(bytes, 0, end - at);
    bytes[0] = address_length == 16 ? KIND_IPV6 : KIND_IPV4;
    bytes[1] = entry->is_self ? SELF_FLAG : 0;
    put_u16(bytes + 2, entry->address.port);
    rsti_put_i32(bytes + 4, entry->age_ms);
    memcpy(bytes + ADDRESS_AT, entry->address.bytes, address_length);
    put_u16(bytes + name_at - 2, (uint16_t)name_length);
    memcpy(bytes + name_at, entry->name, name_length);
    const rsti_frame_header_t header = {(int32_t)end, 0, 0, RSTI_FRAME_RES};
    memcpy(datagram, &header, sizeof header);
    return end;
}
