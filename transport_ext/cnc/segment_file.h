/* segment_file.h: shared segments: files beside the log of a publication in shared memory, in which
 * a large message lies once for all readers (docs/reference/wire.md, "Segments").
 *
 * A segment has the same length for ever, and is sparse: the publisher reserves what it writes and
 * gives memory back by making a hole. So a reader maps it once, and no address that it was given
 * becomes invalid. The driver removes the files with the log. */
#ifndef RSTI_CNC_SEGMENT_FILE_H
#define RSTI_CNC_SEGMENT_FILE_H

#include "cnc/log_file.h"

/* Segments of one publication: they have the numbers from 0 on, without a gap. */
#define RSTI_SEGMENTS_MAX 32
/* An array of 64 MiB, with its description and the like. */
#define RSTI_SEGMENT_LENGTH (INT64_C(65) << 20)
/* Memory is reserved in steps of so many bytes. */
#define RSTI_SEGMENT_STEP (INT64_C(1) << 20)

typedef struct rsti_segment_file_t {
    uint8_t *base; /* NULL: it is not open */
    int64_t reserved; /* of the publisher: bytes from the beginning that have memory */
} rsti_segment_file_t;

/* Publisher: makes <dir>/publications/<id>.<number> beside <id>.logbuffer, and maps it for writing.
 * 0, or negative with a trail. */
int rsti_segment_create(rsti_segment_file_t *segment, const rsti_log_file_t *log, int32_t number);
/* Publisher: gives memory to the first bytes, in steps. -RST_ESTORAGE: there is none. */
int rsti_segment_reserve(rsti_segment_file_t *segment, const rsti_log_file_t *log, int32_t number,
    int64_t length);
/* Publisher: gives the memory behind the first `keep` bytes (whole steps) back, which then reads as
 * zeros. */
int rsti_segment_trim(rsti_segment_file_t *segment, const rsti_log_file_t *log, int32_t number,
    int64_t keep);
/* Reader: maps it for reading; checked as untrusted. -RST_ECORRUPT: it has another length. */
int rsti_segment_open(rsti_segment_file_t *segment, const rsti_log_file_t *log, int32_t number);
/* Whether the file still has the first `length` bytes, for which memory is reserved. 0, or
 * -RST_ECORRUPT with a trail: another program has cut it short, once or now. A load and a look at
 * the guard (map_guard.h), which shows later cuts. A file that was cut and made longer again is not
 * noticed unless somebody read or wrote what was missing. */
int rsti_segment_check(const rsti_segment_file_t *segment, const rsti_log_file_t *log,
    int32_t number, int64_t length);
void rsti_segment_close(rsti_segment_file_t *segment);
/* Driver: removes the segments of a log, whose own file may be gone. */
void rsti_segments_remove(const rsti_log_file_t *log);

#endif
