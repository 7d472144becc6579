/* driver.c: opening, running and closing a media driver. */
#include "driver/internal.h"

#include "util/alloc.h"
#include "util/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define POLL_TAGS 16

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
        driver->wants_pass = true; /* the agent runs in this very thread: one more pass will do */
        return;
    }
    if (rsti_wake_take_word(&words[agent_id])) {
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

int64_t rsti_driver_poll_add(rst_driver_t *driver, int32_t agent_id, rsti_socket_t *socket,
    bool *is_readable)
{
    *is_readable = true; /* what came before the poller knew it */
    rsti_driver_thread_t *thread = driver->thread_of[agent_id];
    const int fd = driver->media.table->fd(driver->media.arg, socket);
    if (thread == NULL || !thread->has_poller || fd < 0) {
        return 0;
    }
    if (rsti_poller_add(&thread->poller, fd, is_readable) < 0) {
        rsti_driver_log_trail(driver, "poller");
        return -1;
    }
    return 0;
}

void rsti_driver_poll_remove(rst_driver_t *driver, int32_t agent_id, rsti_socket_t *socket)
{
    rsti_driver_thread_t *thread = driver->thread_of[agent_id];
    const int fd = driver->media.table->fd(driver->media.arg, socket);
    if (thread != NULL && thread->has_poller && fd >= 0) {
        rsti_poller_remove(&thread->poller, fd);
    }
}

bool rsti_driver_should_poll(const rst_driver_t *driver, int32_t agent_id, rsti_socket_t *socket,
    bool is_readable, int64_t now_ns)
{
    const rsti_driver_thread_t *thread = driver->thread_of[agent_id];
    const rsti_media_t *media = &driver->media;
    return is_readable || thread == NULL || !thread->is_hinted
        || media->table->fd(media->arg, socket) < 0
        || media->table->next_deadline_ns(media->arg, socket) <= now_ns;
}

/* ---- threads ---- */

/* An empty recvmmsg costs as much as a poll of all sockets, so a blocking thread reads those only
 * that the poller named. It always asks before it sleeps; beside that every third pass. */
#define PASSES_PER_HINT 3

static void refresh_hints(rsti_driver_thread_t *thread, int64_t timeout_ns)
{
    void *tags[POLL_TAGS];
    const int count = rsti_poller_wait(&thread->poller, timeout_ns, tags, POLL_TAGS);
    for (int i = 0; i < count; i++) {
        *(bool *)tags[i] = true;
    }
    thread->passes_since_hint = 0;
}

static int64_t run_agent(rst_driver_t *driver, int32_t agent_id, int64_t now_ns,
    int64_t *next_deadline_ns)
{
    switch (agent_id) {
    case RSTI_AGENT_SENDER:
        return rsti_sender_do_work(&driver->sender, now_ns, next_deadline_ns);
    case RSTI_AGENT_RECEIVER:
        return rsti_receiver_do_work(&driver->receiver, now_ns, next_deadline_ns);
    default:
        return rsti_conductor_do_work(driver, now_ns, next_deadline_ns);
    }
}

/* 1 when an agent asked for another pass of its own thread. */
static int64_t take_wish(rst_driver_t *driver)
{
    if (!driver->is_direct || !driver->wants_pass) {
        return 0;
    }
    driver->wants_pass = false;
    return 1;
}

static int64_t thread_do_work(void *arg, int64_t now_ns, int64_t *next_deadline_ns)
{
    rsti_driver_thread_t *thread = arg;
    int64_t work = 0;
    if (thread->is_hinted && thread->passes_since_hint++ >= PASSES_PER_HINT) {
        refresh_hints(thread, 0);
    }
    for (int32_t i = 0; i < thread->agent_count; i++) {
        work += run_agent(thread->driver, thread->agents[i], now_ns, next_deadline_ns);
    }
    return work + take_wish(thread->driver);
}

static bool thread_arm(void *arg)
{
    const rsti_driver_thread_t *thread = arg;
    int32_t *words = thread->driver->cnc.ext->agent_armed;
    for (int32_t i = 0; i < thread->agent_count; i++) {
        rsti_wake_arm_word(&words[thread->agents[i]]);
    }
    return true;
}

static void thread_disarm(void *arg)
{
    const rsti_driver_thread_t *thread = arg;
    int32_t *words = thread->driver->cnc.ext->agent_armed;
    for (int32_t i = 0; i < thread->agent_count; i++) {
        rsti_store_relaxed_i32(&words[thread->agents[i]], 0);
    }
}

static void thread_wait(void *arg, int64_t timeout_ns)
{
    rsti_driver_thread_t *thread = arg;
    refresh_hints(thread, timeout_ns);
    thread_disarm(thread);
}

static void thread_wake(void *arg)
{
    rsti_driver_thread_t *thread = arg;
    rsti_waker_wake(thread->driver->waker, 0, thread->fifo_id);
}

/* Which agents share which thread, in the order of a pass. The conductor's thread comes first. */
static void plan_threads(rst_driver_t *driver)
{
    static const struct {
        int32_t count;
        int32_t agents[RSTI_DRIVER_AGENTS];
        const char *name;
    } plans[][RSTI_DRIVER_AGENTS] = {
        [RSTI_THREADING_AUTO] = {{0, {0}, ""}},
        [RSTI_THREADING_SHARED] = {{3,
            {RSTI_AGENT_SENDER, RSTI_AGENT_RECEIVER, RSTI_AGENT_CONDUCTOR}, "rst-shared"}},
        [RSTI_THREADING_SHARED_NETWORK] = {{1, {RSTI_AGENT_CONDUCTOR}, "rst-conductor"},
            {2, {RSTI_AGENT_SENDER, RSTI_AGENT_RECEIVER}, "rst-network"}},
        [RSTI_THREADING_DEDICATED] = {{1, {RSTI_AGENT_CONDUCTOR}, "rst-conductor"},
            {1, {RSTI_AGENT_SENDER}, "rst-sender"}, {1, {RSTI_AGENT_RECEIVER}, "rst-receiver"}},
        [RSTI_THREADING_INVOKER] = {{0, {0}, ""}},
    };
    for (int32_t t = 0; t < RSTI_DRIVER_AGENTS && plans[driver->threading][t].count > 0; t++) {
        rsti_driver_thread_t *thread = &driver->threads[t];
        thread->driver = driver;
        thread->fifo_id = t;
        thread->fifo_fd = -1;
        thread->agent_count = plans[driver->threading][t].count;
        snprintf(thread->runner.name, sizeof thread->runner.name, "%s",
            plans[driver->threading][t].name);
        for (int32_t i = 0; i < thread->agent_count; i++) {
            const int32_t agent_id = plans[driver->threading][t].agents[i];
            thread->agents[i] = agent_id;
            driver->thread_of[agent_id] = thread;
            driver->cnc.ext->agent_fifo[agent_id] = t;
        }
        driver->thread_count = t + 1;
    }
    driver->is_direct = driver->thread_count <= 1;
}

static int prepare_threads(rst_driver_t *driver)
{
    plan_threads(driver);
    for (int32_t t = 0; t < driver->thread_count; t++) {
        rsti_driver_thread_t *thread = &driver->threads[t];
        thread->fifo_fd = rsti_wake_fifo_create(driver->dir, 0, thread->fifo_id);
        if (thread->fifo_fd < 0 || rsti_poller_open(&thread->poller, thread->fifo_fd) < 0) {
            return -rst_last_error_code();
        }
        thread->has_poller = true;
        thread->is_hinted = driver->params.idle_kind == RSTI_IDLE_BLOCK;
        thread->runner.do_work = thread_do_work;
        thread->runner.work_arg = thread;
        thread->runner.clock = driver->clock;
        thread->runner.idle_kind = (rsti_idle_kind_t)driver->params.idle_kind;
        thread->runner.sleep_ns_max = t == 0 ? RSTI_CONDUCTOR_SLEEP_MAX_NS : RSTI_NO_DEADLINE;
        thread->runner.sleeper = (rsti_sleeper_t){
            .arm = thread_arm,
            .wait = thread_wait,
            .disarm = thread_disarm,
            .arg = thread,
            .spin_ns = driver->params.idle_spin_ns,
        };
    }
    return 0;
}

/* ---- opening ---- */

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
    }
    rsti_fault_params_t fault = driver->params.fault;
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
    driver->owns_udp_media = false; /* the interceptor took it over */
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
    if (rsti_mpsc_rb_init(&driver->to_driver, cnc->to_driver, cnc->to_driver_length) < 0
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

static rsti_threading_t choose_threading(const rst_driver_params_t *params)
{
    if (params->threading != RSTI_THREADING_AUTO) {
        return (rsti_threading_t)params->threading;
    }
    return sysconf(_SC_NPROCESSORS_ONLN) <= 4 ? RSTI_THREADING_SHARED : RSTI_THREADING_DEDICATED;
}

static int open_all(rst_driver_t *driver, const rsti_media_t *media, uint64_t seed)
{
    if (rsti_driver_dir_acquire(driver->dir, driver->params.driver_timeout_ns / RSTI_NS_PER_MS,
            rsti_clock_epoch_ms(&driver->clock), &driver->lock_fd)
        < 0) {
        driver->lock_fd = -1;
        return -rst_last_error_code();
    }
    if (open_media(driver, media) < 0 || open_cnc(driver) < 0
        || open_loss_report(driver) < 0 || rsti_waker_create(&driver->waker, driver->dir) < 0
        || rsti_conductor_init(driver, seed) < 0 || rsti_sender_init(&driver->sender, driver) < 0
        || rsti_receiver_init(&driver->receiver, driver) < 0 || prepare_threads(driver) < 0) {
        return -rst_last_error_code();
    }
    /* Correlation ids begin at 1: 0 is nobody. */
    (void)rsti_mpsc_rb_next_correlation_id(&driver->to_driver);
    rsti_mpsc_rb_set_heartbeat(&driver->to_driver, rsti_clock_epoch_ms(&driver->clock));
    rsti_cnc_publish(&driver->cnc);
    return 0;
}

int rsti_driver_open_with(rst_driver_t **driver, const rst_driver_params_t *params,
    const rsti_clock_t *clock, const rsti_media_t *media, uint64_t seed)
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
    made->threading = choose_threading(params);
    int result = 0;
    if (params->dir[0] == '\0') {
        result = rsti_driver_dir_default(made->dir, sizeof made->dir);
    } else {
        memcpy(made->dir, params->dir, sizeof made->dir);
    }
    if (result < 0 || open_all(made, media, seed) < 0) {
        result = -rst_last_error_code();
        rst_driver_close(made);
        return result;
    }
    *driver = made;
    return 0;
}

int rst_driver_open(rst_driver_t **driver, const rst_driver_params_t *params)
{
    const rsti_clock_t clock = rsti_clock_system();
    return rsti_driver_open_with(driver, params, &clock, NULL, rsti_rng_entropy());
}

/* ---- running ---- */

int rst_driver_start(rst_driver_t *driver)
{
    if (driver->thread_count == 0) {
        return RST_SET_ERR(RST_EINVAL,
            "threading=invoker: the caller runs the agents with rst_driver_do_work");
    }
    driver->is_started = true;
    /* The conductor's thread is the first and starts last: clients are served when all run. */
    for (int32_t t = driver->thread_count; t > 0; t--) {
        if (rsti_agent_start(&driver->threads[t - 1].runner) < 0) {
            return -rst_last_error_code();
        }
    }
    return 0;
}

int64_t rst_driver_do_work(rst_driver_t *driver, int64_t *next_deadline_ns)
{
    static const int32_t order[] = {RSTI_AGENT_SENDER, RSTI_AGENT_RECEIVER, RSTI_AGENT_CONDUCTOR};
    *next_deadline_ns = RSTI_NO_DEADLINE;
    if (driver->is_started) {
        return 0;
    }
    const int64_t now_ns = rsti_clock_nano_time(&driver->clock);
    int64_t work = 0;
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        work += run_agent(driver, order[i], now_ns, next_deadline_ns);
    }
    return work + take_wish(driver);
}

const char *rst_driver_dir(const rst_driver_t *driver)
{
    return driver->dir;
}

int rst_driver_is_idle(const rst_driver_t *driver)
{
    return rsti_load_relaxed_i32(&driver->is_idle);
}

/* ---- closing ---- */

static void close_threads(rst_driver_t *driver)
{
    for (int32_t t = 0; t < driver->thread_count; t++) {
        rsti_driver_thread_t *thread = &driver->threads[t];
        rsti_agent_stop(&thread->runner, thread_wake, thread);
    }
    driver->is_direct = true;
    if (driver->is_started) {
        /* What the conductor still gave them: it must have an owner to be freed by. */
        (void)rsti_agent_queue_drain(driver, RSTI_AGENT_SENDER, SIZE_MAX);
        (void)rsti_agent_queue_drain(driver, RSTI_AGENT_RECEIVER, SIZE_MAX);
    }
    for (int32_t t = 0; t < driver->thread_count; t++) {
        rsti_driver_thread_t *thread = &driver->threads[t];
        if (thread->has_poller) {
            rsti_poller_close(&thread->poller);
            thread->has_poller = false;
        }
        if (thread->fifo_fd >= 0) {
            rsti_wake_fifo_remove(driver->dir, 0, thread->fifo_id);
            rsti_fd_close(thread->fifo_fd);
            thread->fifo_fd = -1;
        }
    }
}

void rst_driver_close(rst_driver_t *driver)
{
    if (driver == NULL) {
        return;
    }
    close_threads(driver);
    if (driver->has_cnc) {
        if (driver->to_driver.trailer != NULL) {
            rsti_mpsc_rb_set_heartbeat(&driver->to_driver, -1);
        }
        driver->conductor.has_responses = true; /* clients look at the heartbeat when woken */
        rsti_responses_wake(driver);
        rsti_conductor_fini(driver);
    }
    rsti_sender_fini(&driver->sender);
    rsti_receiver_fini(&driver->receiver);
    if (driver->waker != NULL) {
        rsti_waker_destroy(driver->waker);
    }
    if (driver->has_interceptor) {
        rsti_media_interceptor_destroy(&driver->media);
    } else if (driver->owns_udp_media) {
        rsti_media_udp_destroy(&driver->udp_media);
    }
    if (driver->has_cnc) {
        rsti_error_log_fini(&driver->error_log);
        rsti_counters_manager_fini(&driver->counters);
        rsti_cnc_close(&driver->cnc);
    }
    rsti_loss_report_file_close(&driver->loss_file);
    if (driver->lock_fd >= 0) {
        rsti_driver_dir_release(driver->dir, driver->lock_fd, driver->params.remove_dir != 0);
    }
    rsti_free(driver);
}
