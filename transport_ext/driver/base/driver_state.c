/* driver_state.c: see driver_state.h. */
#include "driver/base/driver_state.h"

#include "util/error.h"

#include <stdio.h>

void rsti_driver_log_error(rst_driver_t *driver, int code, const char *text)
{
    rsti_error_log_record(&driver->error_log, code, text, rsti_clock_epoch_ms(&driver->clock));
}

void rsti_driver_log_trail(rst_driver_t *driver, const char *where)
{
    char text[RSTI_ERROR_TEXT_MAX];
    snprintf(text, sizeof text, "%s: %s", where, rst_last_error_text());
    rsti_driver_log_error(driver, rst_last_error_code(), text);
    rsti_error_clear();
}

void rsti_driver_wake_agent(rst_driver_t *driver, int32_t agent_id)
{
    rsti_cnc_ext_t *ext = driver->cnc.ext;
    int32_t *words = ext->agent_armed;
    if (driver->is_direct) {
        driver->wants_pass = true; /* the agent runs in this thread: it needs one more pass */
        return;
    }
    if (rsti_wake_take_word(&words[agent_id])) {
        rsti_waker_wake(driver->waker, 0, ext->agent_fifo[agent_id]);
    }
}

void rsti_driver_wake_from_outside(rst_driver_t *driver, int32_t agent_id)
{
    rsti_cnc_ext_t *ext = driver->cnc.ext;
    if (rsti_wake_take_word(&ext->agent_armed[agent_id])) {
        rsti_waker_wake(driver->waker, 0, ext->agent_fifo[agent_id]);
    }
}

static void on_wake(void *arg, int64_t client_id, int32_t waiter_id)
{
    rst_driver_t *driver = arg;
    rsti_waker_wake(driver->waker, client_id, waiter_id);
}

void rsti_driver_wake_log(rst_driver_t *driver, const rsti_log_t *log, int32_t kind)
{
    if (rsti_wake_is_log_armed(&log->metadata->ext, kind)) {
        rsti_wake_log(&log->metadata->ext, kind, on_wake, driver);
    }
}
