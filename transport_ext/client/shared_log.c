/* shared_log.c: see shared_log.h. */
#include "client/shared_log.h"

#include "util/alloc.h"
#include "util/error.h"

#include <errno.h>
#include <string.h>

static rsti_shared_log_t *find_locked(rst_client_t *client, const char *path, size_t path_length)
{
    for (size_t i = 0; i < client->logs.count; i++) {
        rsti_shared_log_t *log = client->logs.items[i];
        if (strlen(log->file.path) == path_length
            && memcmp(log->file.path, path, path_length) == 0) {
            return log;
        }
    }
    return NULL;
}

/* A client that stood still may read what its driver had announced before it died. The next driver
 * in the directory gives its logs the same names. It makes its CnC file before any log, so a log
 * that was opened while the CnC file was still ours is ours. */
static int check_owner(const rst_client_t *client, const char *path)
{
    if (!rsti_cnc_is_replaced(&client->cnc, client->dir)) {
        return 0;
    }
    (void)rsti_error_set(RST_ECLOSED, ENOENT,
        "%s belongs to another driver: the one that announced it has died", path);
    return -RST_ECLOSED;
}

static int open_locked(rst_client_t *client, const char *path, size_t path_length,
    rsti_shared_log_t **opened)
{
    rsti_shared_log_t *log = rsti_alloc(sizeof *log);
    if (log == NULL) {
        return -RST_ENOMEM;
    }
    int result = rsti_log_file_open(&log->file, client->dir, path, path_length);
    if (result < 0) {
        rsti_free(log);
        return result;
    }
    log->client = client;
    log->refs = 1;
    result = check_owner(client, log->file.path);
    if (result == 0) {
        result = rsti_ptr_array_add(&client->logs, log);
    }
    if (result < 0) {
        (void)rsti_log_file_close(&log->file, false);
        rsti_free(log);
        return result;
    }
    *opened = log;
    return 0;
}

int rsti_shared_log_open(rst_client_t *client, const char *path, size_t path_length,
    rsti_shared_log_t **log)
{
    int result = 0;
    pthread_mutex_lock(&client->logs_lock);
    *log = find_locked(client, path, path_length);
    if (*log != NULL) {
        (*log)->refs++;
    } else {
        result = open_locked(client, path, path_length, log);
    }
    pthread_mutex_unlock(&client->logs_lock);
    return result;
}

void rsti_shared_log_ref(rsti_shared_log_t *log)
{
    pthread_mutex_lock(&log->client->logs_lock);
    log->refs++;
    pthread_mutex_unlock(&log->client->logs_lock);
}

void rsti_shared_log_unref(rsti_shared_log_t *log)
{
    rst_client_t *client = log->client;
    pthread_mutex_lock(&client->logs_lock);
    const bool is_last = --log->refs == 0;
    if (is_last) {
        (void)rsti_ptr_array_remove(&client->logs, log);
    }
    pthread_mutex_unlock(&client->logs_lock);
    if (is_last) {
        for (int32_t i = 0; log->segments != NULL && i < RSTI_SEGMENTS_MAX; i++) {
            rsti_segment_close(&log->segments[i]);
        }
        rsti_free(log->segments);
        (void)rsti_log_file_close(&log->file, false);
        rsti_free(log);
    }
}

static int segment_locked(rsti_shared_log_t *log, int32_t number)
{
    if (log->segments == NULL) {
        log->segments = rsti_alloc(RSTI_SEGMENTS_MAX * sizeof *log->segments);
        if (log->segments == NULL) {
            return -RST_ENOMEM;
        }
    }
    return log->segments[number].base != NULL
        ? 0
        : rsti_segment_open(&log->segments[number], &log->file, number);
}

int rsti_shared_log_segment(rsti_shared_log_t *log, int32_t number, int64_t length,
    const uint8_t **data)
{
    pthread_mutex_lock(&log->client->logs_lock);
    int result = segment_locked(log, number);
    if (result == 0) {
        result = rsti_segment_check(&log->segments[number], &log->file, number, length);
        *data = log->segments[number].base;
    }
    pthread_mutex_unlock(&log->client->logs_lock);
    return result;
}

int32_t rsti_shared_log_number_of(rsti_shared_log_t *log, const uint8_t *data)
{
    int32_t number = -1;
    pthread_mutex_lock(&log->client->logs_lock);
    for (int32_t i = 0; log->segments != NULL && i < RSTI_SEGMENTS_MAX; i++) {
        number = log->segments[i].base == data ? i : number;
    }
    pthread_mutex_unlock(&log->client->logs_lock);
    return number;
}
