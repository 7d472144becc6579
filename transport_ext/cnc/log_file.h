/* log_file.h: creating, mapping and removing log buffer files (docs/reference/aeron/memory.md 1.1,
 * 2). */
#ifndef RSTI_CNC_LOG_FILE_H
#define RSTI_CNC_LOG_FILE_H

#include "logbuffer/descriptor.h"

typedef struct rsti_log_file_t {
    rsti_log_t log;
    int fd;                    /* -1: terms are reserved through path, no descriptor is kept */
    int64_t reserved_position; /* reserved below it; INT64_MAX when all three terms are */
    int64_t reserved_bytes;    /* of the terms */
    int32_t reserved_terms;    /* that have reserved bytes */
    bool is_sparse;   /* of the driver: reserved in steps */
    bool is_refused;  /* of the driver: the last reservation failed; tried again at retry_ns */
    int64_t retry_ns;
    char path[1024];
} rsti_log_file_t;

/* How far a log was at a time; driver/conductor/log_memory.h. */
typedef struct rsti_log_quiet_t {
    int64_t position;
    int64_t since_ns;
} rsti_log_quiet_t;

/* Storage is reserved in steps of so many bytes, or of a term where that is shorter. */
#define RSTI_RESERVE_STEP (1024 * 1024)

/* Driver: creates <dir>/<kind>/<id>.logbuffer with metadata. Sparse files reserve the metadata and
 * the step of the start position at once, and further steps by rsti_log_file_reserve; else
 * everything at once. Full storage: -RST_ESTORAGE naming the size needed. kind: "publications" or
 * "images". */
int rsti_log_file_create(rsti_log_file_t *file, const char *dir, const char *kind, int64_t id,
    const rsti_log_params_t *params);
/* Reserves the steps up to the one of position (fallocate) that are not yet: 0 or -RST_ESTORAGE.
 * Cheap when done. For the publisher limit ask for limit + max message length: one message per
 * producer may lie beyond the limit. */
int rsti_log_file_reserve(rsti_log_file_t *file, int64_t position);
/* Gives the memory of all steps back but those from the one of `from` to the one of `to`: what lies
 * before was read by everybody, nothing beyond was written, and [from, to] is clean where it was
 * not. Reads as zeros. Returns the first position that is kept, -1 when nothing could be given
 * back, or -RST_ESYS with a trail: then less memory counts as reserved than is. */
int64_t rsti_log_file_give_back(rsti_log_file_t *file, int64_t from, int64_t to);
/* Client: maps <dir>/<kind>/<id>.logbuffer read-write, kind and id taken from the end of path (the
 * driver may know the directory by another path; nothing outside dir can be named); checked as
 * untrusted. */
int rsti_log_file_open(rsti_log_file_t *file, const char *dir, const char *path,
    size_t path_length);
/* 0, or -RST_ESYS with a trail: it may be tried again. */
int rsti_log_file_close(rsti_log_file_t *file, bool remove);

#endif
