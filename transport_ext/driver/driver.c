/* driver.c: opening, running and closing a media driver. */
#include "driver/driver.h"

#include "driver/base/context_checks.h"
#include "driver/base/counters.h"
#include "driver/base/driver_state.h"
#include "driver/conductor/conductor.h"
#include "driver/receiver/receiver.h"
#include "driver/sender/sender.h"
#include "driver/threads.h"
#include "media/sealing.h"
#include "util/alloc.h"
#include "util/error.h"
#include "util/rng.h"
#include "util/secret.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

/* ---- opening ---- */

/* The log records plain frames between the sockets and the fault injection, so a datagram that a
 * fault drops on the way out is not in it. */
static int open_frame_log(rst_driver_t *driver)
{
    const rst_driver_params_t *params = &driver->params;
    if (params->frame_log[0] == '\0') {
        return 0;
    }
    driver->frame_log = (rsti_frame_log_t){
        driver->clock, rsti_frame_log_file_write, &driver->frame_log_file};
    const rsti_tap_t tap = {rsti_frame_log_on_datagram, &driver->frame_log};
    rsti_media_udp_tap(&driver->udp_media, &tap);
    rsti_media_sealing_tap(&driver->media, &tap);
    return rsti_frame_log_file_open(&driver->frame_log_file, params->frame_log,
        params->frame_log_length);
}

static int open_media(rst_driver_t *driver, const rsti_media_t *media)
{
    if (media != NULL) {
        driver->media = *media;
    } else {
        if (rsti_media_udp_create(&driver->udp_media) < 0) {
            return -rst_last_error_code();
        }
        driver->owns_udp_media = true;
        driver->media = driver->udp_media;
        /* The fault injection below looks at frames, so it is above the seals. */
        if (rsti_media_sealing_create(&driver->media, &driver->udp_media, &driver->clock) < 0) {
            return -rst_last_error_code();
        }
        driver->owns_udp_media = false; /* the sealing took it over */
        driver->has_sealing = true;
        if (open_frame_log(driver) < 0) {
            return -rst_last_error_code();
        }
    }
    rsti_fault_params_t fault = driver->params.fault;
    if (driver->params.interceptors[0] != '\0') {
        (void)rsti_driver_params_losses(&driver->params, &driver->losses); /* was checked */
        fault.drop = rsti_loss_interceptors_drop;
        fault.drop_arg = &driver->losses;
    }
    if (!rsti_fault_is_active(&fault)) {
        return 0;
    }
    if (fault.seed == 0) {
        fault.seed = rsti_rng_entropy();
    }
    const rsti_media_t inner = driver->media;
    if (rsti_media_interceptor_create(&driver->media, &inner, &fault, &driver->clock) < 0) {
        return -rst_last_error_code();
    }
    driver->has_interceptor = true;
    driver->has_sealing = false; /* the interceptor took it over */
    return 0;
}

static int open_cnc(rst_driver_t *driver)
{
    const rst_driver_params_t *params = &driver->params;
    const rsti_cnc_params_t cnc_params = {
        .to_driver_length = (int32_t)params->to_driver_length + RSTI_RB_TRAILER_LENGTH,
        .to_clients_length = (int32_t)params->to_clients_length + RSTI_BROADCAST_TRAILER_LENGTH,
        .counter_values_length = (int32_t)params->counters_length,
        .error_log_length = (int32_t)params->error_length,
        .client_liveness_timeout_ns = params->client_liveness_ns,
        .start_timestamp_ms = rsti_clock_epoch_ms(&driver->clock),
        .file_page_size = (int32_t)params->page_size,
    };
    rsti_cnc_t *cnc = &driver->cnc;
    if (rsti_cnc_create(cnc, driver->dir, &cnc_params) < 0) {
        return -rst_last_error_code();
    }
    driver->has_cnc = true;
    if (rsti_rb_init(&driver->to_driver.rb, cnc->to_driver, cnc->to_driver_length) < 0
        || rsti_broadcast_tx_init(&driver->to_clients, cnc->to_clients, cnc->to_clients_length) < 0
        || rsti_counters_manager_init(&driver->counters, cnc->counter_values,
               cnc->counter_values_length, cnc->counter_metadata, cnc->counter_metadata_length,
               params->counter_reuse_ns / RSTI_NS_PER_MS)
            < 0
        || rsti_system_counters_init(driver) < 0
        || (driver->udp_media.table != NULL && rsti_datagram_counters_init(driver) < 0)
        || rsti_error_log_init(&driver->error_log, cnc->error_log, cnc->error_log_length,
               rsti_counter_address(&driver->counters.counters, RSTI_SYSTEM_ERRORS))
            < 0) {
        return -rst_last_error_code();
    }
    rsti_cycles_init(driver);
    rsti_driver_count(driver, RSTI_SYSTEM_BYTES_MAPPED, (int64_t)cnc->length);
    return 0;
}

static int open_loss_report(rst_driver_t *driver)
{
    if (rsti_loss_report_file_create(&driver->loss_file, driver->dir,
            driver->params.loss_report_length, driver->params.page_size)
        < 0) {
        return -rst_last_error_code();
    }
    rsti_loss_report_init(&driver->loss_report, driver->loss_file.base, driver->loss_file.length);
    rsti_driver_count(driver, RSTI_SYSTEM_BYTES_MAPPED, (int64_t)driver->loss_file.length);
    return 0;
}

/* Checks the socket options before anything is made. 0 or -RST_EINVAL. A system without sockets is
 * accepted, because shared memory still works there. */
static int probe_sockets(rst_driver_t *driver)
{
    const rst_driver_params_t *params = &driver->params;
    if (rsti_media_udp_probe(params->so_rcvbuf, params->so_sndbuf, &driver->probe) < 0) {
        driver->probe = (rsti_socket_probe_t){.rcvbuf = INT64_MAX, .sndbuf = INT64_MAX};
        rsti_error_clear();
        return 0;
    }
    return rsti_driver_params_check_sockets(params, &driver->probe);
}

static void warn_of_small_buffers(rst_driver_t *driver)
{
    const struct {
        const char *option;
        int64_t wanted;
        int64_t given;
        const char *limit;
    } rows[] = {
        {"so-rcvbuf", driver->params.so_rcvbuf, driver->probe.rcvbuf, "net.core.rmem_max"},
        {"so-sndbuf", driver->params.so_sndbuf, driver->probe.sndbuf, "net.core.wmem_max"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        if (rows[i].wanted > rows[i].given && rows[i].given > 0) {
            char text[160];
            (void)snprintf(text, sizeof text,
                "%s=%" PRId64 ": the system gives %" PRId64 " bytes only, raise %s", rows[i].option,
                rows[i].wanted, rows[i].given, rows[i].limit);
            rsti_driver_log_error(driver, 0, text);
        }
    }
}

static void warn_of_unused_idle(rst_driver_t *driver)
{
    const char *option = rsti_driver_params_unused_idle(&driver->params, driver->threading);
    if (option != NULL && driver->threading != RSTI_THREADING_INVOKER) {
        char text[160];
        (void)snprintf(text, sizeof text,
            "%s has no effect with threading=%s: no thread of that mode uses it", option,
            driver->threading == RSTI_THREADING_SHARED          ? "shared"
                : driver->threading == RSTI_THREADING_DEDICATED ? "dedicated"
                                                                : "shared-network");
        rst_driver_notice(driver, text);
    }
}

static int take_directory(rst_driver_t *driver)
{
    const rst_driver_params_t *params = &driver->params;
    /* The lock shows whether an rstream driver is alive. An Aeron driver has only a heartbeat,
     * which stays young for a while after the driver was killed: dir-delete-on-start ignores it. */
    const int64_t timeout_ns = params->dir_delete_on_start != 0 ? 0 : params->driver_timeout_ns;
    if (params->dir_warn_if_exists != 0 && rsti_driver_dir_exists(driver->dir)) {
        fprintf(stderr, "rstream: warning: driver directory %s exists\n", driver->dir);
    }
    if ((params->dir_make_parents != 0 && rsti_driver_dir_make_parents(driver->dir) < 0)
        || rsti_driver_dir_acquire(driver->dir, timeout_ns / RSTI_NS_PER_MS,
               rsti_clock_epoch_ms(&driver->clock), &driver->lock_fd)
            < 0) {
        driver->lock_fd = -1;
        return -rst_last_error_code();
    }
    return params->wake_beside != 0 ? rsti_wake_dir_move_beside(driver->dir) : 0;
}

static int open_all(rst_driver_t *driver, const rsti_media_t *media)
{
    if (take_directory(driver) < 0) {
        return -rst_last_error_code();
    }
    if (open_media(driver, media) < 0 || open_cnc(driver) < 0 || open_loss_report(driver) < 0
        || rsti_waker_create(&driver->waker, driver->dir) < 0 || rsti_conductor_create(driver) < 0
        || rsti_sender_create(driver) < 0 || rsti_receiver_create(driver) < 0
        || rsti_threads_prepare(driver) < 0 || rsti_conductor_open_names(driver) < 0) {
        return -rst_last_error_code();
    }
    warn_of_small_buffers(driver);
    warn_of_unused_idle(driver);
    /* Correlation ids begin at 1, because 0 means "none". */
    (void)rsti_mpsc_rb_next_correlation_id(&driver->to_driver);
    rsti_mpsc_rb_set_heartbeat(&driver->to_driver, rsti_clock_epoch_ms(&driver->clock));
    rsti_cnc_publish(&driver->cnc);
    return 0;
}

int rsti_driver_open_with(rst_driver_t **driver, const rst_driver_params_t *params,
    const rsti_clock_t *clock, const rsti_media_t *media, const rsti_secret_t *secret)
{
    if (rsti_driver_params_validate(params) < 0) {
        return -rst_last_error_code();
    }
    rst_driver_t *made = rsti_alloc(sizeof *made);
    if (made == NULL) {
        return -RST_ENOMEM;
    }
    made->params = *params;
    made->lock_fd = -1;
    made->clock = *clock;
    made->secret = *secret;
    made->threading = rsti_driver_params_threading(params);
    (void)rsti_source_list_parse(&made->sources, params->sources); /* was checked */
    int result = 0;
    if (params->dir[0] == '\0') {
        result = rsti_driver_dir_default(made->dir, sizeof made->dir);
    } else {
        memcpy(made->dir, params->dir, sizeof made->dir);
    }
    if (result == 0 && media == NULL) {
        result = probe_sockets(made);
    }
    if (result < 0 || open_all(made, media) < 0) {
        result = -rst_last_error_code();
        /* Clients would wait for a cnc.dat that never gets ready. */
        made->params.remove_dir = 1;
        rst_driver_close(made);
        return result;
    }
    *driver = made;
    return 0;
}

int rst_driver_open(rst_driver_t **driver, const rst_driver_params_t *params)
{
    const rsti_clock_t clock = rsti_clock_system();
    const rsti_secret_t secret = rsti_secret_random();
    return rsti_driver_open_with(driver, params, &clock, NULL, &secret);
}

/* ---- running ---- */

int rst_driver_start(rst_driver_t *driver)
{
    if (driver->thread_count == 0) {
        return RST_SET_ERR(RST_EINVAL,
            "threading=invoker: the caller runs the agents with rst_driver_do_work");
    }
    driver->is_started = true;
    return rsti_threads_start(driver);
}

int64_t rst_driver_do_work(rst_driver_t *driver, int64_t *next_deadline_ns)
{
    *next_deadline_ns = RSTI_NO_DEADLINE;
    return driver->is_started ? 0 : rsti_driver_pass(driver, next_deadline_ns);
}

const char *rst_driver_dir(const rst_driver_t *driver)
{
    return driver->dir;
}

void rst_driver_notice(rst_driver_t *driver, const char *text)
{
    rsti_error_log_notice(&driver->error_log, text, rsti_clock_epoch_ms(&driver->clock));
}

int rst_driver_is_idle(const rst_driver_t *driver)
{
    return rsti_load_relaxed_i32(&driver->is_idle);
}

int rst_driver_is_terminated(const rst_driver_t *driver)
{
    return rsti_load_relaxed_i32(&driver->is_terminated);
}

/* ---- closing ---- */

void rst_driver_close(rst_driver_t *driver)
{
    if (driver == NULL) {
        return;
    }
    rsti_threads_close(driver);
    if (driver->has_cnc && driver->to_driver.rb.trailer != NULL) {
        rsti_mpsc_rb_set_heartbeat(&driver->to_driver, -1);
    }
    rsti_sender_tell_ends(driver);
    rsti_conductor_destroy(driver);
    rsti_sender_destroy(driver);
    rsti_receiver_destroy(driver);
    if (driver->waker != NULL) {
        rsti_waker_destroy(driver->waker);
    }
    if (driver->has_interceptor) {
        rsti_media_interceptor_destroy(&driver->media);
    } else if (driver->has_sealing) {
        rsti_media_sealing_destroy(&driver->media);
    } else if (driver->owns_udp_media) {
        rsti_media_udp_destroy(&driver->udp_media);
    }
    if (driver->has_cnc) {
        rsti_error_log_fini(&driver->error_log);
        rsti_counters_manager_fini(&driver->counters);
        rsti_cnc_close(&driver->cnc);
    }
    rsti_frame_log_file_close(&driver->frame_log_file);
    rsti_loss_report_file_close(&driver->loss_file);
    if (driver->lock_fd >= 0) {
        rsti_driver_dir_release(driver->dir, driver->lock_fd, driver->params.remove_dir != 0);
    }
    rsti_free(driver);
}
