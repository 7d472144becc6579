/* data_header.c: packing of the reserved value, and the name hash. */
#include "protocol/data_header.h"

#define FNV_OFFSET_BASIS UINT32_C(2166136261)
#define FNV_PRIME UINT32_C(16777619)

int64_t rsti_stream_header_encode(const rsti_stream_header_t *header)
{
    uint64_t value = (uint64_t)header->version << 56 | (uint64_t)header->kind << 48
        | (uint64_t)header->flags << 40 | (uint64_t)header->codec_id << 32
        | (uint64_t)header->target << 16 | (uint64_t)header->name_hash;
    return (int64_t)value;
}

bool rsti_stream_header_decode(int64_t reserved_value, rsti_stream_header_t *header)
{
    uint64_t value = (uint64_t)reserved_value;
    *header = (rsti_stream_header_t){
        .version = (uint8_t)(value >> 56),
        .kind = (uint8_t)(value >> 48),
        .flags = (uint8_t)(value >> 40),
        .codec_id = (uint8_t)(value >> 32),
        .target = (uint16_t)(value >> 16),
        .name_hash = (uint16_t)value,
    };
    return header->version == RSTI_DATA_HEADER_VERSION;
}

uint16_t rsti_name_hash(const char *name, size_t length)
{
    if (length == 0) {
        return 0;
    }
    uint32_t hash = FNV_OFFSET_BASIS;
    for (size_t i = 0; i < length; i++) {
        hash = (hash ^ (uint8_t)name[i]) * FNV_PRIME;
    }
    uint16_t folded = (uint16_t)(hash >> 16 ^ hash);
    /* 0 means "unnamed", so a hash that folds to 0 (one in 65536) becomes another value. */
    return folded == 0 ? 1 : folded;
}
