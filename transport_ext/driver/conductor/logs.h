/* logs.h: checks free storage before a log is made (docs/reference/aeron/memory.md 1.1), and frees
 * logs. Freeing hundreds of megabytes takes time, so each pass frees only a few logs. A failed
 * attempt is repeated. The conductor makes log files itself, for which Aeron has a fourth agent. */
#ifndef RSTI_DRIVER_CONDUCTOR_LOGS_H
#define RSTI_DRIVER_CONDUCTOR_LOGS_H

#include "cnc/log_file.h"
#include "driver/conductor/conductor_state.h"

typedef enum rsti_storage_t {
    RSTI_STORAGE_OK = 0,
    RSTI_STORAGE_LOW, /* at most warning_threshold bytes are left over */
    RSTI_STORAGE_FULL
} rsti_storage_t;
/* Judges whether needed bytes fit into the usable bytes, and how many are left over. */
rsti_storage_t rsti_storage_judge(int64_t usable, int64_t needed, int64_t warning_threshold);
/* Terms of a named stream on the host itself, and the shortest that rsti_log_long_term returns. */
#define RSTI_NAMED_TERM_LENGTH (1024 * 1024)
/* The length of the terms of a log that may take a sixteenth of the usable bytes: most, or half of
 * it, a quarter and so on. */
int64_t rsti_log_long_term(int64_t usable, int64_t most);
/* Call it before a log is made. Returns 0, or -RST_ESTORAGE with a trail. Writes a warning to the
 * error log when little storage is left. */
int rsti_log_check_storage(rst_driver_t *driver, int32_t term_length);
/* Reserves the steps up to the one of position. Returns 0 when they are reserved. Negative with a
 * trail: storage has just run out (-RST_ESTORAGE), or the file could not be opened, and the log's
 * metadata says so to publishers. 1: it ran out before, and there is still no room. A failed
 * attempt is repeated after RSTI_RESERVE_RETRY_NS. */
int rsti_log_reserve(rst_driver_t *driver, rsti_log_file_t *file, int64_t position);
#define RSTI_RESERVE_RETRY_NS (10 * RSTI_NS_PER_MS)
/* Takes over the file. A later pass unmaps and removes it. Keeps the error trail of the caller. */
void rsti_log_release(rst_driver_t *driver, rsti_log_file_t *file);
/* Each pass: frees at most resource-free-limit logs. Returns their number. */
int64_t rsti_logs_free(rst_driver_t *driver, int64_t now_ns, int64_t *next_deadline_ns);
/* Frees all logs that are left. Takes as long as the system needs to unmap them. */
void rsti_logs_fini(rst_driver_t *driver);

#endif
