/* conductor.c: see conductor.h.
 *
 * The conductor sleeps on the FIFO <client id>.0. It is armed by a word in the client's heartbeat
 * counter, which the driver reads after each announcement. Without that counter, and beside an
 * Aeron driver, no process wakes the conductor. It then looks every millisecond while an answer is
 * awaited, otherwise every 16 ms. */
#include "client/conductor.h"

#include "client/client_fail.h"
#include "client/responses.h"
#include "client/send.h"
#include "client/waiter.h"
#include "util/error.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define WATCH_INTERVAL_NS (100 * RSTI_NS_PER_MS)
#define POLL_AWAITING_NS RSTI_NS_PER_MS
#define POLL_IDLE_NS (16 * RSTI_NS_PER_MS)
#define HELLO_WAIT_NS (20 * RSTI_NS_PER_MS)
#define HELLO_LOOK_NS (20 * 1000)

static rsti_heartbeat_ext_t *heartbeat_ext(const rst_client_t *client)
{
    return (rsti_heartbeat_ext_t *)(void *)client->counters
        .values[rsti_load_acquire_i32(&client->heartbeat_counter_id)]
        .spare;
}
_Static_assert(sizeof(rsti_heartbeat_ext_t) <= sizeof(((rsti_counter_value_t *)0)->spare),
    "heartbeat extension fits the value record");

/* ---- our heartbeat ---- */

static bool is_ours(const rst_client_t *client, int32_t counter_id)
{
    const rsti_counter_metadata_t *metadata = &client->counters.metadata[counter_id];
    return rsti_load_acquire_i32(&metadata->state) == RSTI_COUNTER_ALLOCATED
        && metadata->type_id == RSTI_COUNTER_CLIENT_HEARTBEAT
        && rsti_load_acquire_i64(&client->counters.values[counter_id].registration_id)
        == client->client_id;
}

static void adopt_heartbeat(rst_client_t *client, int32_t counter_id)
{
    char text[RSTI_CLIENT_NAME_MAX + 64];
    rsti_store_release_i32(&client->heartbeat_counter_id,
        counter_id); /* the thread reads it before it sleeps */
    (void)snprintf(text, sizeof text, " name=%s version=%s commit=rstream", client->name,
        RSTI_VERSION_TEXT);
    rsti_counters_append_label(&client->counters, counter_id, text);
    if (client->is_rstream) {
        rsti_heartbeat_ext_t *ext = heartbeat_ext(client);
        rsti_store_relaxed_i32(&ext->conductor_armed, 0);
        rsti_store_relaxed_i64(&ext->pid, client->process.pid);
        rsti_store_relaxed_i64(&ext->start_time, client->process.start_time);
        rsti_store_relaxed_i64(&ext->pid_namespace, client->process.pid_namespace);
        rsti_store_relaxed_i32(&ext->version, RSTI_EXT_VERSION);
        rsti_store_release_i32(&ext->magic, RSTI_EXT_MAGIC);
    }
    client->keepalive_deadline_ns = 0; /* send the first heartbeat at once */
}

static void find_heartbeat(rst_client_t *client)
{
    if (client->heartbeat_counter_id == RSTI_NULL_COUNTER) {
        const int32_t id = rsti_counters_find(&client->counters, RSTI_COUNTER_CLIENT_HEARTBEAT,
            client->client_id);
        if (id >= 0) {
            adopt_heartbeat(client, id);
        }
    }
}

/* Aeron clients of an rstream driver write without waking anyone. */
static bool find_foreign_peers(const rst_client_t *client)
{
    for (int32_t id = 0; id <= client->counters.max_counter_id; id++) {
        const rsti_counter_metadata_t *metadata = &client->counters.metadata[id];
        const int32_t state = rsti_load_acquire_i32(&metadata->state);
        if (state == RSTI_COUNTER_UNUSED) {
            return false;
        }
        if (state == RSTI_COUNTER_ALLOCATED && metadata->type_id == RSTI_COUNTER_CLIENT_HEARTBEAT) {
            const rsti_heartbeat_ext_t *ext =
                (const rsti_heartbeat_ext_t *)(const void *)client->counters.values[id].spare;
            if (rsti_load_acquire_i32(&ext->magic) != RSTI_EXT_MAGIC) {
                return true;
            }
        }
    }
    return false;
}

static void look_for_foreign_peers(rst_client_t *client)
{
    if (!client->is_rstream || client->waiters.count == 0) {
        return;
    }
    const int32_t found = find_foreign_peers(client) ? 1 : 0;
    if (found != rsti_load_relaxed_i32(&client->has_foreign_peers)) {
        rsti_store_release_i32(&client->has_foreign_peers, found);
        rsti_client_kick_waiters(client); /* they begin or cease to sleep in slices */
    }
}

/* A waker that is killed after it has cleared the flag of a sleeper and before it writes to the
 * FIFO leaves a sleeper that no other waker can see. This look ends its sleep. */
static void look_for_forgotten_sleepers(rst_client_t *client)
{
    for (size_t i = 0; i < client->waiters.count; i++) {
        rsti_wake_target_t *target = client->waiters.items[i];
        if (rsti_load_relaxed_i32(&target->armed) != 0) {
            rsti_waiter_poll_for_loop(target);
        }
    }
}

static void keep_alive(rst_client_t *client, int64_t now_ns)
{
    if (now_ns < client->keepalive_deadline_ns) {
        return;
    }
    client->keepalive_deadline_ns = rsti_saturating_add_i64(now_ns, client->keepalive_interval_ns);
    look_for_foreign_peers(client);
    look_for_forgotten_sleepers(client);
    if (client->heartbeat_counter_id == RSTI_NULL_COUNTER) {
        return;
    }
    if (!is_ours(client, client->heartbeat_counter_id)) {
        /* A driver that shuts down frees the counter too. Its own heartbeat decides what to
         * report. */
        if (rsti_mpsc_rb_heartbeat(&client->to_driver) >= 0) {
            rsti_client_fail(client, RST_CLIENT_TIMED_OUT,
                "it gave this client up: no heartbeat within its client liveness timeout");
        }
        return;
    }
    rsti_store_release_i64(rsti_counter_address(&client->counters, client->heartbeat_counter_id),
        rsti_clock_epoch_ms(&client->runner.clock));
}

/* ---- the driver's life ---- */

static void watch_driver(rst_client_t *client, int64_t now_ns)
{
    if (now_ns < client->watch_deadline_ns) {
        return;
    }
    const bool is_waited_for = rsti_load_relaxed_i32(&client->pending_count) > 0
        || client->waiters.count > 0;
    client->watch_deadline_ns = rsti_saturating_add_i64(now_ns,
        is_waited_for ? rsti_min_i64(WATCH_INTERVAL_NS, client->keepalive_interval_ns)
                      : client->keepalive_interval_ns);

    const int64_t heartbeat_ms = rsti_mpsc_rb_heartbeat(&client->to_driver);
    if (heartbeat_ms < 0) {
        rsti_client_fail(client, RST_CLIENT_DRIVER_LOST, "it was shut down");
        return;
    }
    if (client->is_rstream && !rsti_driver_lock_is_held(client->lock_fd)) {
        rsti_client_fail(client, RST_CLIENT_DRIVER_LOST, "its process died");
        return;
    }
    /* By the monotonic clock of this process: a step of the wall clock or a suspended machine
     * closes no client. */
    if (heartbeat_ms != client->driver_heartbeat_ms) {
        client->driver_heartbeat_ms = heartbeat_ms;
        client->driver_heartbeat_changed_ns = now_ns;
        return;
    }
    const int64_t still_ns = now_ns - client->driver_heartbeat_changed_ns;
    if (still_ns > rsti_max_i64(client->driver_timeout_ns, RSTI_NS_PER_S)) {
        rsti_client_fail(client, RST_CLIENT_DRIVER_LOST, "its heartbeat stands still");
    } else if (client->is_rstream && rsti_cnc_is_replaced(&client->cnc, client->dir)) {
        /* The lock is held by the successor. */
        rsti_client_fail(client, RST_CLIENT_DRIVER_LOST, "it died, another one took its place");
    }
}

/* A conductor that did not run for so long sent no heartbeat. The driver may have given this client
 * up already, and its counters and logs to others. */
static void watch_oneself(rst_client_t *client, int64_t now_ns)
{
    const int64_t limit_ns = client->cnc.header->client_liveness_timeout_ns;
    const int64_t last_ns = client->last_work_ns;
    client->last_work_ns = now_ns;
    if (last_ns != 0 && limit_ns > 0 && now_ns - last_ns > limit_ns
        && rsti_client_state_now(client) == RST_CLIENT_OPEN) {
        char text[sizeof client->failure];
        (void)snprintf(text, sizeof text,
            "this client's conductor did not run for %" PRId64
            " ms, longer than the client liveness timeout of %" PRId64 " ms",
            (now_ns - last_ns) / RSTI_NS_PER_MS, limit_ns / RSTI_NS_PER_MS);
        rsti_client_fail(client, RST_CLIENT_TIMED_OUT, text);
    }
}

/* ---- the loop ---- */

static int64_t flush_outbox(rst_client_t *client)
{
    const int32_t sent = rsti_outbox_flush(&client->outbox, &client->to_driver);
    if (sent > 0) {
        rsti_client_wake_agent(client, RSTI_AGENT_CONDUCTOR);
    }
    return sent;
}

static bool needs_polling_for_loops(rst_client_t *client)
{
    bool found = false;
    for (size_t i = 0; i < client->waiters.count; i++) {
        rsti_wake_target_t *target = client->waiters.items[i];
        if (rsti_load_acquire_i32(&target->is_loop_polled) != 0) {
            found = true;
            rsti_waiter_poll_for_loop(target);
        }
    }
    return found;
}

static int64_t next_deadline(const rst_client_t *client, int64_t now_ns, bool is_polling)
{
    const bool is_awaiting = rsti_load_relaxed_i32(&client->pending_count) > 0;
    int64_t deadline_ns = rsti_min_i64(client->keepalive_deadline_ns, client->watch_deadline_ns);
    if (is_awaiting && client->watch_deadline_ns - now_ns > WATCH_INTERVAL_NS) {
        deadline_ns = rsti_min_i64(deadline_ns, now_ns + WATCH_INTERVAL_NS);
    }
    if (is_polling) {
        deadline_ns = rsti_min_i64(deadline_ns, now_ns + RSTI_NS_PER_MS);
    }
    if (client->outbox.count > 0) {
        deadline_ns = rsti_min_i64(deadline_ns, now_ns + POLL_AWAITING_NS);
    }
    if (!client->is_rstream || client->heartbeat_counter_id == RSTI_NULL_COUNTER) {
        deadline_ns = rsti_min_i64(deadline_ns,
            now_ns + (is_awaiting ? POLL_AWAITING_NS : POLL_IDLE_NS));
    }
    return deadline_ns;
}

int64_t rsti_client_do_work(void *arg, int64_t now_ns, int64_t *next_deadline_ns)
{
    rst_client_t *client = arg;
    int64_t work = 0;
    *next_deadline_ns = RSTI_NO_DEADLINE;
    pthread_mutex_lock(&client->lock);
    watch_oneself(client, now_ns);
    if (rsti_client_state_now(client) == RST_CLIENT_OPEN) {
        work = rsti_client_receive(client);
        if (work < 0) {
            rsti_client_fail(client, RST_CLIENT_TIMED_OUT,
                "this client could not keep up with its announcements");
            work = 0;
        }
        work += flush_outbox(client);
    }
    if (rsti_client_state_now(client) == RST_CLIENT_OPEN) {
        find_heartbeat(client);
        watch_driver(client, now_ns);
    }
    if (rsti_client_state_now(client) == RST_CLIENT_OPEN) {
        keep_alive(client, now_ns);
        const bool is_polling = needs_polling_for_loops(client);
        *next_deadline_ns = next_deadline(client, now_ns, is_polling);
    }
    pthread_mutex_unlock(&client->lock);
    return work;
}

/* ---- sleeping ---- */

static bool arm(void *arg)
{
    rst_client_t *client = arg;
    if (client->is_rstream
        && rsti_load_acquire_i32(&client->heartbeat_counter_id) != RSTI_NULL_COUNTER
        && rsti_client_state_now(client) == RST_CLIENT_OPEN) {
        rsti_wake_arm_word(&heartbeat_ext(client)->conductor_armed);
    }
    return true;
}

static void disarm(void *arg)
{
    rst_client_t *client = arg;
    if (client->is_rstream
        && rsti_load_acquire_i32(&client->heartbeat_counter_id) != RSTI_NULL_COUNTER
        && rsti_client_state_now(client) == RST_CLIENT_OPEN) {
        rsti_store_release_i32(&heartbeat_ext(client)->conductor_armed, 0);
    }
}

static void sleep_on_fd(void *arg, int64_t timeout_ns)
{
    rst_client_t *client = arg;
    (void)rsti_wake_fifo_wait(client->wake_fd, timeout_ns);
    disarm(arg);
}

/* The driver makes the counter within a fraction of a millisecond, and this client writes its
 * process and name there. What it opens next is then told to the other end by name. A driver that
 * does not run now (a test steps it) makes the counter later. */
static void await_heartbeat(rst_client_t *client)
{
    const struct timespec pause = {.tv_nsec = HELLO_LOOK_NS};
    const int64_t until_ns = rsti_client_now_ns() + HELLO_WAIT_NS;
    find_heartbeat(client);
    while (client->heartbeat_counter_id == RSTI_NULL_COUNTER && rsti_client_now_ns() < until_ns) {
        (void)nanosleep(&pause, NULL);
        find_heartbeat(client);
    }
}

int rsti_client_conductor_init(rst_client_t *client)
{
    rsti_store_release_i32(&client->heartbeat_counter_id, RSTI_NULL_COUNTER);
    client->driver_heartbeat_ms = rsti_mpsc_rb_heartbeat(&client->to_driver);
    client->driver_heartbeat_changed_ns = rsti_client_now_ns();
    client->runner = (rsti_agent_runner_t){
        .name = "rst-client",
        .do_work = rsti_client_do_work,
        .work_arg = client,
        .clock = rsti_clock_system(),
        .idle = {.kind = RSTI_IDLE_BLOCK},
        .sleeper = {.arm = arm, .wait = sleep_on_fd, .disarm = disarm, .arg = client},
        .sleep_ns_max = RSTI_NO_DEADLINE,
    };
    if (client->is_rstream) {
        /* Announces this client before its first command. The driver then makes the heartbeat
         * counter, and an idle driver does not end itself. An Aeron driver ignores the command. */
        const rsti_command_t hello = {.type = RSTI_CMD_CLIENT_KEEPALIVE, .correlation_id = 0};
        const int result = rsti_client_send(client, &hello);
        if (result < 0) {
            return result;
        }
        await_heartbeat(client);
    }
    return rsti_agent_start(&client->runner);
}
