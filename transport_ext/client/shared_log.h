/* shared_log.h: log mappings of one client, one per log file.
 *
 * An IPC publication and its subscriptions in one process share a mapping. The last reference
 * unmaps it. Any thread; each function takes client->logs_lock for a few list operations, and
 * opening maps the file under it. */
#ifndef RSTI_CLIENT_SHARED_LOG_H
#define RSTI_CLIENT_SHARED_LOG_H

#include "client/client_state.h"
#include "cnc/log_file.h"
#include "cnc/segment_file.h"

typedef struct rsti_shared_log_t {
    rsti_log_file_t file;
    int32_t refs; /* under client->logs_lock */
    rst_client_t *client;
    rsti_segment_file_t *segments; /* RSTI_SEGMENTS_MAX, for reading; NULL: none is mapped */
} rsti_shared_log_t;

/* Gives the mapping of the path, with a reference. 0, or negative with a trail. */
int rsti_shared_log_open(rst_client_t *client, const char *path, size_t path_length,
    rsti_shared_log_t **log);
void rsti_shared_log_ref(rsti_shared_log_t *log);
void rsti_shared_log_unref(rsti_shared_log_t *log);
/* The beginning of a segment of the log, mapped at its first use, of which `length` bytes will be
 * read. 0, or negative with a trail. -RST_ECORRUPT: the file was cut short. */
int rsti_shared_log_segment(rsti_shared_log_t *log, int32_t number, int64_t length,
    const uint8_t **data);
/* The number of the mapped segment that begins there, or -1. */
int32_t rsti_shared_log_number_of(rsti_shared_log_t *log, const uint8_t *data);

/* rstream's part of the log's metadata; valid when its magic is RSTI_EXT_MAGIC. */
static inline rsti_log_ext_t *rsti_shared_log_ext(const rsti_shared_log_t *log)
{
    return &log->file.log.metadata->ext;
}

#endif
