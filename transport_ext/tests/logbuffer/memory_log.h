/* memory_log.h: a log in heap memory, laid out as the file is, for tests. */
#ifndef RSTI_TESTS_LOGBUFFER_MEMORY_LOG_H
#define RSTI_TESTS_LOGBUFFER_MEMORY_LOG_H

#include "logbuffer/descriptor.h"

#include <stdlib.h>
#include <string.h>

#define MEMORY_LOG_SESSION_ID 11
#define MEMORY_LOG_STREAM_ID 22
#define MEMORY_LOG_MTU 1408

typedef struct memory_log_t {
    rsti_log_t log;
    int64_t limit;
} memory_log_t;

static inline rsti_log_params_t memory_log_params(int32_t initial_term_id, int32_t term_length)
{
    return (rsti_log_params_t){
        .correlation_id = 77,
        .session_id = MEMORY_LOG_SESSION_ID,
        .stream_id = MEMORY_LOG_STREAM_ID,
        .initial_term_id = initial_term_id,
        .term_id = initial_term_id,
        .term_offset = 0,
        .term_length = term_length,
        .mtu = MEMORY_LOG_MTU,
        .page_size = 4096,
        .entity_tag = -1,
        .response_correlation_id = -1,
        .type = RSTI_LOG_CONCURRENT,
    };
}

static inline void memory_log_make(memory_log_t *memory, const rsti_log_params_t *params)
{
    const int64_t length = rsti_log_file_length(params->term_length, params->page_size);
    uint8_t *base = (uint8_t *)aligned_alloc(4096, (size_t)length);
    if (base == NULL) {
        abort();
    }
    memset(base, 0, (size_t)length);
    rsti_log_metadata_t *metadata = (rsti_log_metadata_t *)(void *)(base + length
        - RSTI_LOG_METADATA_LENGTH);
    rsti_log_metadata_init(metadata, params);
    metadata->is_connected = 1;
    if (rsti_log_init(&memory->log, base, (size_t)length) != 0) {
        abort();
    }
    memory->limit = INT64_MAX;
}

static inline void memory_log_init(memory_log_t *memory, int32_t initial_term_id,
    int32_t term_length)
{
    const rsti_log_params_t params = memory_log_params(initial_term_id, term_length);
    memory_log_make(memory, &params);
}

static inline void memory_log_fini(memory_log_t *memory)
{
    free(memory->log.base);
}

/* Writes a frame header directly; length may be negative. */
static inline void put_frame(uint8_t *term, int16_t type, int32_t length, int32_t term_offset,
    int32_t term_id)
{
    rsti_data_header_t header;
    rsti_data_header_fill(&header, RSTI_FLAG_UNFRAGMENTED, type, MEMORY_LOG_SESSION_ID,
        MEMORY_LOG_STREAM_ID, term_id, term_offset);
    header.frame.frame_length = length;
    memcpy(term + term_offset, &header, sizeof header);
}

static inline rsti_data_header_t frame_at(const uint8_t *term, int32_t offset)
{
    rsti_data_header_t header;
    memcpy(&header, term + offset, sizeof header);
    return header;
}

#endif
