/* client_state.c: see client_state.h. */
#include "client/client_state.h"

#include "util/alloc.h"
#include "util/error.h"

/* ---- life ---- */

void rsti_client_disconnect(rst_client_t *client)
{
    if (client->lock_fd >= 0) {
        rsti_fd_close(client->lock_fd);
        client->lock_fd = -1;
    }
    if (client->cnc.base != NULL) {
        rsti_cnc_close(&client->cnc);
        client->cnc = (rsti_cnc_t){0};
    }
}

static void free_client(rst_client_t *client)
{
    rsti_broadcast_rx_fini(&client->to_clients);
    if (client->waker != NULL) {
        rsti_waker_destroy(client->waker);
    }
    rsti_fd_close(client->wake_fd);
    rsti_fd_close(client->life_fd);
    rsti_client_disconnect(client);
    rsti_hash_map_fini(&client->pending);
    rsti_hash_map_fini(&client->publications);
    rsti_hash_map_fini(&client->subscriptions);
    rsti_hash_map_fini(&client->user_counters);
    rsti_counter_events_fini(&client->counter_events);
    rsti_outbox_fini(&client->outbox);
    rsti_ptr_array_fini(&client->waiters);
    rsti_ptr_array_fini(&client->logs);
    (void)pthread_cond_destroy(&client->answered);
    (void)pthread_mutex_destroy(&client->lock);
    (void)pthread_mutex_destroy(&client->logs_lock);
    rsti_free(client);
}

void rsti_client_ref(rst_client_t *client)
{
    (void)rsti_fetch_add_i32(&client->refs, 1);
}

void rsti_client_unref(rst_client_t *client)
{
    if (rsti_fetch_add_i32(&client->refs, -1) == 1) {
        free_client(client);
    }
}

/* ---- state ---- */

int rsti_client_state_error(const rst_client_t *client, int32_t state)
{
    switch (state) {
    case RST_CLIENT_OPEN:
        return 0;
    case RST_CLIENT_DRIVER_LOST:
        return RST_SET_ERR(RST_EDRIVERLOST, "media driver in %s: %s", client->dir, client->failure);
    case RST_CLIENT_TIMED_OUT:
        return RST_SET_ERR(RST_ECLIENTTIMEOUT, "media driver in %s: %s", client->dir,
            client->failure);
    default:
        return RST_SET_ERR(RST_ECLOSED, "the client of %s is closed", client->dir);
    }
}

int rsti_client_check(const rst_client_t *client)
{
    if (client == NULL) {
        return RST_SET_ERR(RST_EINVAL, "client is NULL");
    }
    if (rsti_is_forked(client->generation)) {
        return rsti_set_forked_error("client");
    }
    const int32_t state = rsti_client_state_now(client);
    return state == RST_CLIENT_OPEN ? 0 : rsti_client_state_error(client, state);
}

/* ---- waking ---- */

void rsti_client_kick_conductor(rst_client_t *client)
{
    rsti_fd_kick(client->wake_fd);
}

void rsti_client_kick_waiters(rst_client_t *client)
{
    for (size_t i = 0; i < client->waiters.count; i++) {
        rsti_wake_target_kick(client->waiters.items[i]);
    }
}

void rsti_client_wake_agent(rst_client_t *client, rsti_agent_id_t agent)
{
    if (client->is_rstream && rsti_wake_take_word(&client->cnc.ext->agent_armed[agent])) {
        rsti_waker_wake(client->waker, 0,
            rsti_load_relaxed_i32(&client->cnc.ext->agent_fifo[agent]));
    }
}

void rsti_client_on_wake(void *arg, int64_t client_id, int32_t waiter_id)
{
    rst_client_t *client = arg;
    rsti_waker_wake(client->waker, client_id, waiter_id);
}
