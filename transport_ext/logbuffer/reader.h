/* reader.h: walks committed frames, to the end of one term at most. Frames come from the memory of
 * another process. A length that is impossible or leaves the term ends the scan and sets
 * *is_corrupt; it is never asserted and never followed. */
#ifndef RSTI_LOGBUFFER_READER_H
#define RSTI_LOGBUFFER_READER_H

#include "logbuffer/descriptor.h"

typedef struct rsti_fragment_t {
    const rsti_data_header_t *header;
    const uint8_t *payload;
    int32_t payload_length;
    uint8_t flags;
} rsti_fragment_t;

/* Collects up to capacity DATA fragments from offset; PAD frames are skipped. Returns the count;
 * *next_offset is where the scan ended (<= term_length). */
int32_t rsti_term_read(uint8_t *term, int32_t term_length, int32_t offset,
    rsti_fragment_t *fragments, int32_t capacity, int32_t *next_offset, bool *is_corrupt);

/* The sender's scan (docs/reference/aeron/wire.md 7.1): whole committed frames from offset, at most
 * max_length bytes; a PAD counts 32 and ends the scan. Returns bytes for one datagram; negative =
 * the first frame alone is longer than max_length; *padding = bytes behind a PAD header that are
 * skipped. */
int32_t rsti_term_scan(uint8_t *term, int32_t term_length, int32_t offset, int32_t max_length,
    int32_t *padding);

/* The end of the committed frames from there on: at a frame that is not there yet, at an impossible
 * one, or at `to`, which the last one may pass. Walks two terms at most. */
int64_t rsti_log_committed_end(const rsti_log_t *log, int64_t from, int64_t to);

#endif
