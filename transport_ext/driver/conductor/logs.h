/* logs.h: room for logs before they are made (docs/reference/aeron/memory.md 1.1), and freeing
 * them: a few in a pass, because giving back hundreds of megabytes takes time; what fails is tried
 * again. */
#ifndef RSTI_DRIVER_CONDUCTOR_LOGS_H
#define RSTI_DRIVER_CONDUCTOR_LOGS_H

#include "cnc/log_file.h"
#include "driver/conductor/conductor_state.h"

typedef enum rsti_storage_t {
    RSTI_STORAGE_OK = 0,
    RSTI_STORAGE_LOW, /* at most warning_threshold is left over */
    RSTI_STORAGE_FULL
} rsti_storage_t;
rsti_storage_t rsti_storage_judge(int64_t usable, int64_t needed, int64_t warning_threshold);
/* Before a log is made: 0 or -RST_ESTORAGE; little room is written to the error log. */
int rsti_log_check_storage(rst_driver_t *driver, int32_t term_length);
/* Takes the file over, to be unmapped and removed in one of the next passes. */
void rsti_log_release(rst_driver_t *driver, rsti_log_file_t *file);
int64_t rsti_logs_free(rst_driver_t *driver, int64_t now_ns, int64_t *next_deadline_ns);
void rsti_logs_fini(rst_driver_t *driver);

#endif
