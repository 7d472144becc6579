/* shared_log.c: see shared_log.h. */
#include "client/shared_log.h"

#include "util/alloc.h"
#include "util/error.h"

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
    result = rsti_ptr_array_add(&client->logs, log);
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
        (void)rsti_log_file_close(&log->file, false);
        rsti_free(log);
    }
}
