/* client.c: opening and closing a client. */
#include "client/client_fail.h"
#include "client/client_state.h"
#include "client/conductor.h"
#include "client/pending.h"
#include "client/send.h"
#include "util/alloc.h"
#include "util/error.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <time.h>

#define CONNECT_RETRY_NS (4 * RSTI_NS_PER_MS)

RST_API void rst_client_params_init(rst_client_params_t *params)
{
    if (params != NULL) {
        *params = (rst_client_params_t){
            .driver_timeout_ms = 10000, .keepalive_interval_ns = 500 * RSTI_NS_PER_MS};
    }
}

/* ---- connecting ---- */

static int check_heartbeat(const rst_client_t *client)
{
    const rsti_clock_t clock = rsti_clock_system();
    const int64_t heartbeat_ms = rsti_mpsc_rb_heartbeat(&client->to_driver);
    if (heartbeat_ms == 0) {
        return RST_SET_ERR(RST_ENODRIVER, "the driver in %s is still starting", client->dir);
    }
    if (heartbeat_ms < 0) {
        return RST_SET_ERR(RST_ENODRIVER, "the driver in %s was shut down", client->dir);
    }
    const int64_t age_ms = rsti_clock_epoch_ms(&clock) - heartbeat_ms;
    if (age_ms > client->driver_timeout_ns / RSTI_NS_PER_MS) {
        return RST_SET_ERR(RST_ENODRIVER,
            "the driver in %s has not been heard of for %" PRId64 " ms", client->dir, age_ms);
    }
    return 0;
}

static int check_lock(rst_client_t *client)
{
    client->lock_fd = rsti_driver_lock_open(client->dir);
    if (client->lock_fd < 0 || !rsti_driver_lock_is_held(client->lock_fd)) {
        return RST_SET_ERR(RST_ENODRIVER, "the files in %s are those of a dead driver",
            client->dir);
    }
    return 0;
}

static int try_connect(rst_client_t *client)
{
    int result = rsti_cnc_open(&client->cnc, client->dir, false);
    if (result < 0) {
        client->cnc = (rsti_cnc_t){0};
        return result;
    }
    client->is_rstream = rsti_cnc_is_rstream(&client->cnc);
    result = client->is_rstream ? check_lock(client) : 0;
    if (result == 0) {
        result = rsti_rb_init(&client->to_driver.rb, client->cnc.to_driver,
            client->cnc.to_driver_length);
    }
    if (result == 0) {
        result = check_heartbeat(client);
    }
    if (result < 0) {
        rsti_client_disconnect(client);
    }
    return result;
}

static int connect_to_driver(rst_client_t *client)
{
    const int64_t begin_ns = rsti_client_now_ns();
    for (;;) {
        const int result = try_connect(client);
        if (result != -RST_ENODRIVER) {
            return result;
        }
        if (rsti_client_now_ns() - begin_ns >= client->driver_timeout_ns) {
            return RST_APPEND_ERR("no living media driver in %s within %" PRId64
                                  " ms: start rstreamd there, or name another directory",
                client->dir, client->driver_timeout_ns / RSTI_NS_PER_MS);
        }
        const struct timespec pause = {.tv_nsec = CONNECT_RETRY_NS};
        (void)nanosleep(&pause, NULL);
    }
}

/* ---- open ---- */

static int init_params(rst_client_t *client, const rst_client_params_t *given)
{
    rst_client_params_t params;
    rst_client_params_init(&params);
    if (given != NULL) {
        params = *given;
    }
    if (params.driver_timeout_ms < 0 || params.driver_timeout_ms > INT64_C(86400000)) {
        return RST_SET_ERR(RST_EINVAL, "driver timeout %" PRId64 " ms: must be 0 to 86400000",
            params.driver_timeout_ms);
    }
    if (params.keepalive_interval_ns < RSTI_NS_PER_MS) {
        return RST_SET_ERR(RST_EINVAL, "keepalive interval %" PRId64 " ns: at least 1 ms",
            params.keepalive_interval_ns);
    }
    client->driver_timeout_ns = params.driver_timeout_ms * RSTI_NS_PER_MS;
    client->keepalive_interval_ns = params.keepalive_interval_ns;
    if (params.name != NULL) {
        (void)snprintf(client->name, sizeof client->name, "%s", params.name);
    }
    if (params.dir == NULL) {
        return rsti_driver_dir_default(client->dir, sizeof client->dir);
    }
    if (params.dir[0] == '\0' || strlen(params.dir) >= sizeof client->dir) {
        return RST_SET_ERR(RST_EINVAL, "driver directory \"%s\": must be 1 to %d bytes long",
            params.dir, RSTI_PATH_MAX - 1);
    }
    (void)snprintf(client->dir, sizeof client->dir, "%s", params.dir);
    return 0;
}

static int init_wake(rst_client_t *client)
{
    if (!client->is_rstream) {
        /* No other process wakes this client: a descriptor without a name is enough. */
        client->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
        return client->wake_fd < 0 ? RST_SET_ERRNO("cannot make an event descriptor") : 0;
    }
    client->wake_fd = rsti_wake_fifo_create(client->dir, client->client_id, 0);
    if (client->wake_fd < 0) {
        return client->wake_fd;
    }
    client->process = rsti_process_self();
    client->life_fd = rsti_life_hold(client->dir, client->client_id, &client->process);
    if (client->life_fd < 0) {
        rsti_error_clear(); /* the driver learns of a death from the process or the heartbeat */
    }
    return rsti_waker_create(&client->waker, client->dir);
}

static int init_regions(rst_client_t *client)
{
    int result = rsti_counters_init(&client->counters, client->cnc.counter_values,
        client->cnc.counter_values_length, client->cnc.counter_metadata,
        client->cnc.counter_metadata_length);
    if (result == 0) {
        result = rsti_broadcast_rx_init(&client->to_clients, client->cnc.to_clients,
            client->cnc.to_clients_length);
    }
    if (result == 0) {
        client->client_id = rsti_mpsc_rb_next_correlation_id(&client->to_driver);
        result = client->client_id > 0
            ? init_wake(client)
            : RST_SET_ERR(RST_ECORRUPT,
                  "media driver in %s: the counter of correlation ids in cnc.dat is not positive; "
                  "another process wrote it: start the driver anew",
                  client->dir);
    }
    return result;
}

static void init_locks(rst_client_t *client)
{
    pthread_condattr_t attributes;
    (void)pthread_condattr_init(&attributes);
    (void)pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&client->answered, &attributes);
    (void)pthread_condattr_destroy(&attributes);
    (void)pthread_mutex_init(&client->lock, NULL);
    (void)pthread_mutex_init(&client->logs_lock, NULL);
}

RST_API int rst_client_open(rst_client_t **client, const rst_client_params_t *params)
{
    if (client == NULL) {
        return RST_SET_ERR(RST_EINVAL, "client is NULL");
    }
    *client = NULL;
    rsti_fork_guard_init();
    rst_client_t *opened = rsti_alloc(sizeof *opened);
    if (opened == NULL) {
        return -RST_ENOMEM;
    }
    opened->refs = 1;
    opened->generation = rsti_load_relaxed_i32(&rsti_fork_generation);
    opened->lock_fd = -1;
    opened->wake_fd = -1;
    opened->life_fd = -1;
    init_locks(opened);
    int result = init_params(opened, params);
    if (result == 0) {
        result = connect_to_driver(opened);
    }
    if (result == 0) {
        result = init_regions(opened);
    }
    if (result == 0) {
        result = rsti_client_conductor_init(opened);
    }
    if (result < 0) {
        if (opened->is_rstream && opened->wake_fd >= 0) {
            rsti_wake_fifo_remove(opened->dir, opened->client_id, 0);
            rsti_life_remove(opened->dir, opened->client_id);
        }
        rsti_client_unref(opened);
        return result;
    }
    *client = opened;
    return 0;
}

/* ---- close ---- */

static void free_pending(void *arg, int64_t key, void *value)
{
    (void)arg;
    (void)key;
    rsti_pending_free(value);
}

static void kick_conductor(void *arg)
{
    rsti_client_kick_conductor(arg);
}

static void remove_fifos_locked(rst_client_t *client)
{
    rsti_wake_fifo_remove(client->dir, client->client_id, 0);
    rsti_life_remove(client->dir, client->client_id);
    for (size_t i = 0; i < client->waiters.count; i++) {
        const rsti_wake_target_t *target = client->waiters.items[i];
        rsti_wake_fifo_remove(client->dir, client->client_id, target->waiter_id);
    }
}

RST_API void rst_client_close(rst_client_t *client)
{
    if (client == NULL) {
        return;
    }
    if (rsti_is_forked(client->generation)) {
        rsti_free(client); /* locks and lists belong to the parent: free only this memory */
        return;
    }
    pthread_mutex_lock(&client->lock);
    if (rsti_client_state_now(client) == RST_CLIENT_OPEN) {
        /* Only while this driver lives. A later driver starts its ids again, so a name in its
         * directory may belong to another client. */
        if (client->is_rstream) {
            remove_fifos_locked(client);
        }
    }
    rsti_client_fail(client, RST_CLIENT_CLOSED, "the client was closed");
    rsti_hash_map_for_each(&client->pending, free_pending, NULL);
    rsti_hash_map_fini(&client->pending);
    client->pending = (rsti_hash_map_t){0};
    pthread_mutex_unlock(&client->lock);
    rsti_agent_stop(&client->runner, kick_conductor, client);
    rsti_client_unref(client);
}

/* ---- facts ---- */

RST_API int64_t rst_client_id(const rst_client_t *client)
{
    return client != NULL ? client->client_id : RST_SET_ERR(RST_EINVAL, "client is NULL");
}

RST_API int rst_client_state(const rst_client_t *client)
{
    if (client == NULL) {
        return RST_SET_ERR(RST_EINVAL, "client is NULL");
    }
    if (rsti_is_forked(client->generation)) {
        return rsti_set_forked_error("client");
    }
    return (int)rsti_client_state_now(client);
}

RST_API const char *rst_client_dir(const rst_client_t *client)
{
    return client != NULL ? client->dir : "";
}

RST_API int rst_client_is_aeron_driver(const rst_client_t *client)
{
    return client != NULL && !client->is_rstream;
}
