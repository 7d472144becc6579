/* client_liveness.c: see client_liveness.h. */
#include "driver/conductor/client_liveness.h"

#include "driver/base/counters.h"
#include "driver/base/driver_state.h"
#include "driver/conductor/clients.h"
#include "driver/conductor/publication.h"
#include "driver/conductor/publications.h"
#include "driver/conductor/responses.h"
#include "driver/conductor/subscriptions.h"
#include "driver/conductor/waiting.h"
#include "driver/receiver/image.h"

#define DEATHS_MAX 16
/* A thread that does not sleep on the watch looks this often. */
#define DEATHS_INTERVAL_NS (10 * RSTI_NS_PER_MS)
/* Longest wait for the commands that a dead client sent. */
#define MARK_WAIT_NS RSTI_NS_PER_S /* an rstream client that lives shows its mark long before */
#define DEATH_WAIT_MAX_NS RSTI_NS_PER_S

static void clear_wake_slots(rst_driver_t *driver, int64_t client_id)
{
    const rsti_conductor_t *conductor = driver->conductor;
    const rsti_ptr_array_t *const lists[] = {
        &conductor->ipc_publications, &conductor->publications};
    for (size_t l = 0; l < 2; l++) {
        for (size_t i = 0; i < lists[l]->count; i++) {
            rsti_publication_t *publication = lists[l]->items[i];
            rsti_wake_slots_clear_client(&publication->file.log.metadata->ext, client_id);
        }
    }
    for (size_t i = 0; i < conductor->images.count; i++) {
        rsti_image_t *image = conductor->images.items[i];
        rsti_wake_slots_clear_client(&image->file.log.metadata->ext, client_id);
    }
}

static void remove_client(rst_driver_t *driver, rsti_driver_client_t *client)
{
    rsti_conductor_t *conductor = driver->conductor;
    const int64_t client_id = client->client_id;
    rsti_waiting_forget_client(driver, client_id);
    driver->is_writer_gone = client->is_dead;
    if (!client->is_closed) {
        const rsti_response_t response = {
            .type = RSTI_RSP_CLIENT_TIMEOUT,
            .correlation_id = client_id,
        };
        rsti_respond(driver, &response);
        rsti_driver_count(driver, RSTI_SYSTEM_CLIENT_TIMEOUTS, 1);
    }
    for (int32_t i = 0; i < client->publication_count; i++) {
        if (client->is_dead) {
            rsti_publication_note_death(driver, client->publications[i].publication, client_id);
        }
        rsti_publication_release(driver, client->publications[i].publication, false);
    }
    for (size_t i = conductor->subscriptions.count; i > 0; i--) {
        rsti_subscription_t *subscription = conductor->subscriptions.items[i - 1];
        if (subscription->client_id == client_id) {
            rsti_subscription_remove(driver, subscription);
        }
    }
    for (int32_t i = 0; i < client->counter_count; i++) {
        rsti_respond_counter(driver, RSTI_RSP_UNAVAILABLE_COUNTER,
            client->counters[i].registration_id, client->counters[i].counter_id);
        rsti_counter_release_written(driver, &client->counters[i].counter_id);
    }
    rsti_respond_counter(driver, RSTI_RSP_UNAVAILABLE_COUNTER, client_id, client->heartbeat_id);
    rsti_clients_wake(driver); /* while the wake words of the dead client can still be found */
    rsti_counter_release_written(driver, &client->heartbeat_id);
    clear_wake_slots(driver, client_id);
    rsti_wake_fifo_remove_client(driver->dir, client_id);
    rsti_waker_forget_client(driver->waker, client_id);
    rsti_ptr_array_remove(&conductor->clients, client);
    conductor->dead_count -= client->is_dead;
    rsti_client_destroy(driver, client);
    driver->is_writer_gone = false;
    if (conductor->clients.count == 0) {
        conductor->clientless_since_ns = conductor->now_ns;
    }
}

void rsti_clients_check(rst_driver_t *driver, int64_t now_ns)
{
    rsti_conductor_t *conductor = driver->conductor;
    for (size_t i = conductor->clients.count; i > 0; i--) {
        rsti_driver_client_t *client = conductor->clients.items[i - 1];
        const int64_t heartbeat_ms = rsti_load_acquire_i64(rsti_counter_address(&driver->counters
                                                                                    .counters,
            client->heartbeat_id));
        /* Only a change of the heartbeat counts, not its value. A step of the wall clock, or a
         * sleep of the machine, then kills no client, and a time in the far future does not keep a
         * dead client. */
        if (heartbeat_ms != client->heartbeat_ms) {
            client->heartbeat_ms = heartbeat_ms;
            client->heartbeat_changed_ns = now_ns;
        }
        if (client->is_closed
            || now_ns > client->heartbeat_changed_ns + driver->params.client_liveness_ns) {
            remove_client(driver, client);
        }
    }
    const bool is_idle = driver->params.idle_exit_ns > 0 && conductor->clients.count == 0
        && conductor->publications.count == 0
        && now_ns - conductor->clientless_since_ns > driver->params.idle_exit_ns;
    rsti_store_relaxed_i32(&driver->is_idle, is_idle);
}

/* ---- deaths ---- */

static void mark_dead(rsti_conductor_t *conductor, rsti_driver_client_t *client)
{
    if (client != NULL && !client->is_dead) {
        client->is_dead = true;
        rsti_death_watch_remove(&conductor->deaths, &client->watch_fd); /* told once is enough */
        conductor->dead_since_ns = conductor->dead_count++ == 0 ? conductor->now_ns
                                                                : conductor->dead_since_ns;
    }
}

/* The client tells its process together with its mark, and before that in its FIFO. An Aeron client
 * has none. */
static void watch(rst_driver_t *driver, rsti_driver_client_t *client,
    const rsti_heartbeat_ext_t *ext)
{
    rsti_process_t told;
    bool is_dead = false;
    if (ext != NULL) {
        told = (rsti_process_t){
            .pid = rsti_load_relaxed_i64(&ext->pid),
            .start_time = rsti_load_relaxed_i64(&ext->start_time),
            .pid_namespace = rsti_load_relaxed_i64(&ext->pid_namespace),
        };
    } else if (driver->conductor->now_ns > client->made_ns + MARK_WAIT_NS
        || !rsti_life_read(driver->dir, client->client_id, &told, &is_dead)) {
        if (is_dead) {
            client->is_asked = true;
            rsti_life_remove(driver->dir, client->client_id);
            mark_dead(driver->conductor, client);
        }
        return;
    }
    client->is_asked = true;
    client->watched = rsti_death_watch_add(&driver->conductor->deaths, driver->dir,
        client->client_id, &told, &client->watch_fd);
    if (client->watched == RSTI_WATCHED_DEAD) {
        mark_dead(driver->conductor, client);
    }
}

static void look_for_deaths(rst_driver_t *driver, int64_t now_ns)
{
    rsti_conductor_t *conductor = driver->conductor;
    if (!conductor->has_deaths && now_ns < conductor->deaths_due_ns) {
        return;
    }
    int64_t ids[DEATHS_MAX];
    conductor->has_deaths = false;
    conductor->deaths_due_ns = now_ns + DEATHS_INTERVAL_NS;
    const int count = rsti_death_watch_poll(&conductor->deaths, ids, DEATHS_MAX);
    for (int i = 0; i < count; i++) {
        mark_dead(conductor, rsti_client_find(driver, ids[i]));
    }
}

int64_t rsti_deaths_check(rst_driver_t *driver, int64_t now_ns)
{
    rsti_conductor_t *conductor = driver->conductor;
    look_for_deaths(driver, now_ns);
    if (conductor->dead_count == 0) {
        return 0;
    }
    if (rsti_rb_has_records(&driver->to_driver.rb)
        && now_ns < conductor->dead_since_ns + DEATH_WAIT_MAX_NS) {
        return conductor->is_looking_up ? 0 : 1;
    }
    for (size_t i = conductor->clients.count; i > 0; i--) {
        rsti_driver_client_t *client = conductor->clients.items[i - 1];
        if (client->is_dead) {
            remove_client(driver, client);
        }
    }
    return 1;
}

/* Aeron clients never wake the driver. While one is connected, every agent sleeps only for a short
 * time. A new rstream client shows its mark within milliseconds, so a client without the mark is
 * checked again soon. */
void rsti_clients_check_foreign(rst_driver_t *driver, int64_t now_ns)
{
    rsti_conductor_t *conductor = driver->conductor;
    bool has_foreign = false;
    bool has_old_foreign = false;
    for (size_t i = 0; i < conductor->clients.count; i++) {
        rsti_driver_client_t *client = conductor->clients.items[i];
        const rsti_heartbeat_ext_t *ext = rsti_client_ext(driver, client);
        has_foreign = has_foreign || ext == NULL;
        has_old_foreign = has_old_foreign
            || (ext == NULL && now_ns >= client->made_ns + driver->params.counter_reuse_ns);
        if (!client->is_asked) {
            watch(driver, client, ext);
        }
    }
    /* A client that has just come holds no id of a counter that was freed before. */
    driver->has_foreign = has_old_foreign;
    for (int32_t i = 0; i < driver->thread_count; i++) {
        const bool has_conductor = &driver->threads[i] == driver->thread_of[RSTI_AGENT_CONDUCTOR];
        const int64_t most = has_foreign ? RSTI_FOREIGN_SLEEP_MAX_NS
            : has_conductor              ? RSTI_CONDUCTOR_SLEEP_MAX_NS
                                         : RSTI_NO_DEADLINE;
        if (rsti_load_relaxed_i64(&driver->threads[i].runner.sleep_ns_max) != most) {
            rsti_store_relaxed_i64(&driver->threads[i].runner.sleep_ns_max, most);
            rsti_store_relaxed_i64(&driver->threads[i].runner.sleep_ns_first,
                has_foreign ? RSTI_FOREIGN_SLEEP_FIRST_NS : 0);
            rsti_driver_wake_agent(driver, driver->threads[i].agents[0]);
        }
    }
    conductor->clients_check_due_ns = has_foreign ? now_ns + 20 * RSTI_NS_PER_MS
                                                  : now_ns + driver->params.timer_interval_ns;
}

void rsti_on_keepalive(rst_driver_t *driver, const rsti_command_t *command)
{
    /* An rstream client sends it first, so that its heartbeat exists before its first request. */
    const rsti_driver_client_t *client = rsti_client_get(driver, command->client_id);
    if (client != NULL) {
        rsti_counter_store(driver, client->heartbeat_id, driver->epoch.now_ms);
    }
}

void rsti_on_client_close(rst_driver_t *driver, const rsti_command_t *command)
{
    rsti_driver_client_t *client = rsti_client_find(driver, command->client_id);
    if (client != NULL) {
        client->is_closed = true;
        remove_client(driver, client);
    }
}
