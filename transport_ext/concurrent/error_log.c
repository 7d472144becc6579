#include "concurrent/error_log.h"

#include "concurrent/atomics.h"
#include "util/bits.h"
#include "util/error.h"

#include <stdbool.h>
#include <stdio.h>

#define ENTRY_ALIGNMENT 8

/* Followed by the text. length is with this header and not aligned; the next entry is. */
typedef struct entry_t {
    int32_t length; /* 0 = end of the list; written last */
    int32_t observation_count;
    int64_t last_observation_ms;
    int64_t first_observation_ms;
} entry_t;
_Static_assert(sizeof(entry_t) == 24, "error log entry");

static size_t align_entry(size_t offset)
{
    return (offset + (ENTRY_ALIGNMENT - 1)) & ~(size_t)(ENTRY_ALIGNMENT - 1);
}

/* The entry at the offset with its length checked against the region, or NULL at the end. */
static const entry_t *entry_at(const void *buffer, size_t length, size_t offset,
    size_t *entry_length)
{
    if (offset > length || length - offset < sizeof(entry_t)) {
        return NULL;
    }
    const entry_t *entry = (const entry_t *)(const void *)((const uint8_t *)buffer + offset);
    int32_t stored = rsti_load_acquire_i32(&entry->length);
    if (stored < (int32_t)sizeof(entry_t) || (size_t)stored > length - offset) {
        return NULL;
    }
    *entry_length = (size_t)stored;
    return entry;
}

int rsti_error_log_init(rsti_error_log_t *log, void *buffer, size_t length, int64_t *errors_counter)
{
    if (length < sizeof(entry_t) || length > INT32_MAX || ((uintptr_t)buffer & 7) != 0) {
        return RST_SET_ERR(RST_EINVAL,
            "error log of %zu bytes: must be aligned to 8 and hold at least one entry", length);
    }
    *log = (rsti_error_log_t){.buffer = buffer, .length = length, .errors_counter = errors_counter};
    size_t entry_length;
    while (entry_at(buffer, length, log->next_offset, &entry_length) != NULL) {
        log->next_offset = align_entry(log->next_offset + entry_length);
    }
    int result = pthread_mutex_init(&log->lock, NULL);
    return result == 0 ? 0 : rsti_error_set_errno(result, "cannot make the error log's lock");
}

void rsti_error_log_fini(rsti_error_log_t *log)
{
    if (log->buffer != NULL) {
        (void)pthread_mutex_destroy(&log->lock);
        log->buffer = NULL;
    }
}

static entry_t *find_entry(const rsti_error_log_t *log, const char *text, size_t text_length)
{
    size_t offset = 0;
    size_t entry_length;
    while (offset < log->next_offset) {
        const entry_t *entry = entry_at(log->buffer, log->length, offset, &entry_length);
        if (entry == NULL) {
            break;
        }
        if (entry_length == sizeof(entry_t) + text_length
            && memcmp(entry + 1, text, text_length) == 0) {
            return (entry_t *)(void *)(log->buffer + offset);
        }
        offset = align_entry(offset + entry_length);
    }
    return NULL;
}

static bool append_entry(rsti_error_log_t *log, const char *text, size_t text_length,
    int64_t now_ms)
{
    size_t entry_length = sizeof(entry_t) + text_length;
    if (log->next_offset > log->length || log->length - log->next_offset < entry_length) {
        return false;
    }
    entry_t *entry = (entry_t *)(void *)(log->buffer + log->next_offset);
    memcpy(entry + 1, text, text_length);
    entry->first_observation_ms = now_ms;
    rsti_store_relaxed_i64(&entry->last_observation_ms, now_ms);
    rsti_store_relaxed_i32(&entry->observation_count, 1);
    rsti_store_release_i32(&entry->length, (int32_t)entry_length);
    log->next_offset = align_entry(log->next_offset + entry_length);
    return true;
}

static size_t format_error(char *to, size_t to_size, int code, const char *text)
{
    int written;
    if (code == 0) {
        written = snprintf(to, to_size, "%s", text);
    } else if (strcmp(rst_error_name(code), "RST_UNKNOWN") == 0) {
        written = snprintf(to, to_size, "%d: %s", code, text);
    } else {
        written = snprintf(to, to_size, "%s: %s", rst_error_name(code), text);
    }
    if (written < 0) {
        return 0;
    }
    return (size_t)written < to_size ? (size_t)written : to_size - 1;
}

static void write_line(rsti_error_log_t *log, const char *line, size_t length, int64_t now_ms)
{
    bool is_kept = true;
    (void)pthread_mutex_lock(&log->lock);
    entry_t *entry = find_entry(log, line, length);
    if (entry != NULL) {
        (void)rsti_fetch_add_i32(&entry->observation_count, 1);
        rsti_store_release_i64(&entry->last_observation_ms, now_ms);
    } else {
        is_kept = append_entry(log, line, length, now_ms);
    }
    (void)pthread_mutex_unlock(&log->lock);
    if (!is_kept) {
        (void)fprintf(stderr, "rstream: error log full: %.*s\n", (int)length, line);
    }
}

void rsti_error_log_record(rsti_error_log_t *log, int code, const char *text, int64_t now_ms)
{
    char line[RSTI_ERROR_TEXT_MAX];
    const size_t length = format_error(line, sizeof line, code, text);
    write_line(log, line, length, now_ms);
    if (log->errors_counter != NULL) {
        (void)rsti_fetch_add_i64(log->errors_counter, 1);
    }
}

void rsti_error_log_notice(rsti_error_log_t *log, const char *text, int64_t now_ms)
{
    char line[RSTI_ERROR_TEXT_MAX];
    (void)snprintf(line, sizeof line, "notice: %s", text);
    write_line(log, line, strlen(line), now_ms);
}

size_t rsti_error_log_read_since(const void *buffer, size_t length, int64_t since_ms,
    rsti_error_log_on_error_t on_error, void *arg)
{
    size_t count = 0;
    size_t offset = 0;
    size_t entry_length;
    const entry_t *entry;
    while ((entry = entry_at(buffer, length, offset, &entry_length)) != NULL) {
        const int64_t last_ms = rsti_load_acquire_i64(&entry->last_observation_ms);
        if (last_ms >= since_ms) {
            on_error(arg, rsti_load_acquire_i32(&entry->observation_count),
                rsti_load_relaxed_i64(&entry->first_observation_ms), last_ms,
                (const char *)(entry + 1), entry_length - sizeof(entry_t));
            count++;
        }
        offset = align_entry(offset + entry_length);
    }
    return count;
}

size_t rsti_error_log_read(const void *buffer, size_t length, rsti_error_log_on_error_t on_error,
    void *arg)
{
    return rsti_error_log_read_since(buffer, length, INT64_MIN, on_error, arg);
}
