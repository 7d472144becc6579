/* logs.c: see logs.h. */
#include "driver/conductor/logs.h"

#include "cnc/file_system.h"
#include "driver/base/driver_state.h"
#include "util/alloc.h"
#include "util/error.h"

#include <inttypes.h>
#include <stdio.h>

#define RETRY_INTERVAL_NS RSTI_NS_PER_S

rsti_storage_t rsti_storage_judge(int64_t usable, int64_t needed, int64_t warning_threshold)
{
    if (usable < needed) {
        return RSTI_STORAGE_FULL;
    }
    return usable - needed <= warning_threshold ? RSTI_STORAGE_LOW : RSTI_STORAGE_OK;
}

int64_t rsti_log_long_term(int64_t usable, int64_t most)
{
    int64_t length = most;
    while (length > RSTI_NAMED_TERM_LENGTH
        && rsti_log_file_length((int32_t)length, RSTI_TERM_MIN_LENGTH) > usable / 16) {
        length /= 2;
    }
    return length;
}

int rsti_log_check_storage(rst_driver_t *driver, int32_t term_length)
{
    const rst_driver_params_t *params = &driver->params;
    if (!params->storage_checks) {
        return 0;
    }
    const int64_t needed = rsti_log_file_length(term_length, (int32_t)params->page_size);
    const int64_t usable = rsti_storage_usable(driver->dir);
    char what[64];
    switch (rsti_storage_judge(usable, needed, params->low_storage_warning)) {
    case RSTI_STORAGE_FULL:
        snprintf(what, sizeof what, "a log with term-length=%" PRId32, term_length);
        return rsti_storage_error(what, needed, usable, driver->dir);
    case RSTI_STORAGE_LOW:
        /* The text leaves out the free bytes: equal texts share one entry with a count. */
        (void)RST_SET_ERR(RST_ESTORAGE,
            "warning: storage is running low: the next log leaves less"
            " than low-file-store-warning-threshold=%" PRId64 " usable bytes in %s",
            params->low_storage_warning, driver->dir);
        rsti_driver_log_trail(driver, "conductor");
        break;
    case RSTI_STORAGE_OK:
        break;
    }
    return 0;
}

static void tell_storage(rsti_log_file_t *file, int64_t needed, int64_t usable)
{
    rsti_log_storage_t *told = &file->log.metadata->ext.storage;
    rsti_store_relaxed_i64(&told->usable, usable);
    rsti_store_release_i64(&told->needed, needed);
}

int rsti_log_reserve(rst_driver_t *driver, rsti_log_file_t *file, int64_t position)
{
    const int64_t now_ns = driver->conductor->now_ns;
    if (position < file->reserved_position) {
        return 0;
    }
    if (file->is_refused && now_ns < file->retry_ns) {
        return 1;
    }
    const bool was_refused = file->is_refused;
    file->is_refused = rsti_log_file_reserve(file, position) < 0;
    if (!file->is_refused) {
        if (was_refused) {
            tell_storage(file, 0, 0);
        }
        return 0;
    }
    file->retry_ns = now_ns + RSTI_RESERVE_RETRY_NS;
    tell_storage(file, rsti_min_i64(file->log.term_length, RSTI_RESERVE_STEP),
        rst_last_error_code() == RST_ESTORAGE ? rsti_storage_usable(driver->dir)
                                              : RSTI_STORAGE_UNREACHED);
    if (was_refused) {
        rsti_error_clear();
        return 1;
    }
    return -rst_last_error_code();
}

/* True: the file is closed and removed. False: the file is unchanged, and the failure is counted.
 */
static bool free_log(rst_driver_t *driver, rsti_log_file_t *file)
{
    const int64_t length = (int64_t)file->log.length;
    const int result = rsti_log_file_close(file, true);
    if (length > 0 && file->log.base == NULL) {
        rsti_driver_count(driver, RSTI_SYSTEM_BYTES_MAPPED, -length);
    }
    if (result < 0) {
        rsti_driver_count(driver, RSTI_SYSTEM_FREE_FAILS, 1);
        rsti_error_clear();
    }
    return result == 0;
}

/* The release may be part of an error path, so the error trail of the caller is kept. */
void rsti_log_release(rst_driver_t *driver, rsti_log_file_t *file)
{
    rsti_conductor_t *conductor = driver->conductor;
    const int code = rst_last_error_code(), detail = rst_last_error_detail();
    char text[RSTI_ERROR_TEXT_MAX] = "";
    if (file->log.base == NULL && file->path[0] == '\0') {
        return; /* never made */
    }
    if (code != 0) {
        snprintf(text, sizeof text, "%s", rst_last_error_text());
    }
    rsti_log_file_t *queued = rsti_alloc(sizeof *queued);
    if (queued == NULL || rsti_ptr_array_add(&conductor->freed_logs, queued) < 0) {
        rsti_free(queued);
        rsti_error_clear();
        (void)free_log(driver, file);
        if (code != 0) {
            (void)rsti_error_set(code, detail, "%s", text);
        }
        return;
    }
    *queued = *file;
    memset(file, 0, sizeof *file);
}

int64_t rsti_logs_free(rst_driver_t *driver, int64_t now_ns, int64_t *next_deadline_ns)
{
    rsti_conductor_t *conductor = driver->conductor;
    int64_t freed = 0;
    while (conductor->freed_logs.count > 0 && now_ns >= conductor->free_retry_ns
        && freed < driver->params.resource_free_limit) {
        rsti_log_file_t *file = conductor->freed_logs.items[0];
        rsti_ptr_array_remove_at(&conductor->freed_logs, 0);
        if (!free_log(driver, file)) {
            conductor->free_retry_ns = now_ns + RETRY_INTERVAL_NS;
            if (rsti_ptr_array_add(&conductor->freed_logs, file) == 0) { /* after the other files */
                break;
            }
        }
        rsti_free(file);
        freed++;
    }
    if (conductor->freed_logs.count > 0) {
        rsti_lower_deadline(next_deadline_ns, rsti_max_i64(now_ns, conductor->free_retry_ns));
    }
    return freed;
}

void rsti_logs_fini(rst_driver_t *driver)
{
    rsti_ptr_array_t *logs = &driver->conductor->freed_logs;
    for (size_t i = 0; i < logs->count; i++) {
        (void)free_log(driver, logs->items[i]);
        rsti_free(logs->items[i]);
    }
    rsti_ptr_array_fini(logs);
}
