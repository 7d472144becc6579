/* error_log.h: append-only log of distinct errors (docs/reference/aeron/memory.md 19). One writer
 * at a time per process (a small lock inside: cold path); readers in any process. */
#ifndef RSTI_CONCURRENT_ERROR_LOG_H
#define RSTI_CONCURRENT_ERROR_LOG_H

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>

typedef struct rsti_error_log_t {
    uint8_t *buffer;
    size_t length;
    size_t next_offset;
    int64_t *errors_counter; /* may be NULL; +1 per record */
    pthread_mutex_t lock;
} rsti_error_log_t;

/* The memory is used as it is: existing entries stay. 0 or -RST_EINVAL. */
int rsti_error_log_init(rsti_error_log_t *log, void *buffer, size_t length,
    int64_t *errors_counter);
void rsti_error_log_fini(rsti_error_log_t *log);
/* Writes "RST_ENAME: text", or "<code>: text" for a foreign code, or the text alone for code 0,
 * truncated at RSTI_ERROR_TEXT_MAX. A full log sends the error to stderr. */
void rsti_error_log_record(rsti_error_log_t *log, int code, const char *text, int64_t now_ms);

/* Writes "notice: text". It does not count as an error. */
void rsti_error_log_notice(rsti_error_log_t *log, const char *text, int64_t now_ms);

typedef void (*rsti_error_log_on_error_t)(void *arg, int32_t observations, int64_t first_ms,
    int64_t last_ms, const char *text, size_t text_length);
/* Validates lengths. Returns how many entries were read. */
size_t rsti_error_log_read(const void *buffer, size_t length, rsti_error_log_on_error_t on_error,
    void *arg);
/* Only entries last seen at since_ms or later. */
size_t rsti_error_log_read_since(const void *buffer, size_t length, int64_t since_ms,
    rsti_error_log_on_error_t on_error, void *arg);

#endif
