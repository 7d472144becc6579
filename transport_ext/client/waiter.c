/* waiter.c: see waiter.h.
 *
 * The waiter announces that it sleeps, looks again, then sleeps on its FIFO. It announces it in the
 * logs, and in `armed` for events of its own process (image events, loss of the driver, demand). A
 * waker publishes first, then looks for sleepers, then writes to the FIFO (concurrent/wake.h). If a
 * peer never writes (an Aeron driver or client, a full table of sleepers), a sleep lasts 1 ms at
 * most. */
#include "client/waiter.h"

#include "util/alloc.h"
#include "util/error.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <sys/eventfd.h>

#define SPIN_NS INT64_C(20000)
#define POLLING_SLICE_NS RSTI_NS_PER_MS
#define WAITER_ID_MAX 0xFFFF

/* ---- life ---- */

static int open_fd(rst_waiter_t *waiter)
{
    rst_client_t *client = waiter->client;
    if (client->is_rstream) {
        waiter->target.fd = rsti_wake_fifo_create(client->dir, client->client_id,
            waiter->target.waiter_id);
        return waiter->target.fd < 0 ? waiter->target.fd : 0;
    }
    waiter->target.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    return waiter->target.fd < 0 ? RST_SET_ERRNO("cannot make an event descriptor") : 0;
}

/* Sixteen bits, as in the tables of sleepers in the logs. An id is reused only after all others. */
static int32_t free_waiter_id(rst_client_t *client)
{
    for (;;) {
        const int32_t id = client->next_waiter_id % WAITER_ID_MAX + 1;
        client->next_waiter_id = id;
        bool is_used = false;
        for (size_t i = 0; i < client->waiters.count; i++) {
            const rsti_wake_target_t *other = client->waiters.items[i];
            is_used = is_used || other->waiter_id == id;
        }
        if (!is_used) {
            return id;
        }
    }
}

static int register_waiter(rst_waiter_t *waiter)
{
    rst_client_t *client = waiter->client;
    pthread_mutex_lock(&client->lock);
    const int32_t state = rsti_client_state_now(client);
    int result = rsti_client_state_error(client, state);
    if (result == 0 && client->waiters.count >= WAITER_ID_MAX / 2) {
        result = RST_SET_ERR(RST_EFULL, "%zu waiters are open in one client",
            client->waiters.count);
    }
    if (result == 0) {
        waiter->target.waiter_id = free_waiter_id(client);
        waiter->set.waiter_id = waiter->target.waiter_id;
        result = open_fd(waiter);
    }
    if (result == 0) {
        result = rsti_ptr_array_add(&client->waiters, &waiter->target);
    }
    if (result == 0 && client->waiters.count == 1) {
        /* it watches the driver more closely while there are waiters */
        rsti_client_kick_conductor(client);
    }
    pthread_mutex_unlock(&client->lock);
    return result;
}

static void free_waiter(rst_waiter_t *waiter)
{
    if (waiter->target.fd >= 0) {
        rsti_fd_close(waiter->target.fd);
    }
    rsti_wait_set_free(&waiter->set);
    rsti_free(waiter);
}

RST_API int rst_waiter_create(rst_waiter_t **waiter, rst_client_t *client)
{
    if (waiter == NULL) {
        return RST_SET_ERR(RST_EINVAL, "waiter is NULL");
    }
    *waiter = NULL;
    int result = rsti_client_check(client);
    if (result < 0) {
        return result;
    }
    rst_waiter_t *created = rsti_alloc(sizeof *created);
    if (created == NULL) {
        return -RST_ENOMEM;
    }
    created->generation = client->generation;
    created->client = client;
    created->set.client = client;
    created->target.fd = -1;
    (void)pthread_mutex_init(&created->lock, NULL);
    result = register_waiter(created);
    if (result < 0) {
        (void)pthread_mutex_destroy(&created->lock);
        free_waiter(created);
        return result;
    }
    rsti_client_ref(client);
    *waiter = created;
    return 0;
}

RST_API void rst_waiter_destroy(rst_waiter_t *waiter)
{
    if (waiter == NULL) {
        return;
    }
    if (rsti_is_forked(waiter->generation)) {
        free_waiter(waiter);
        return;
    }
    rst_client_t *client = waiter->client;
    pthread_mutex_lock(&client->lock);
    (void)rsti_ptr_array_remove(&client->waiters, &waiter->target);
    if (client->is_rstream && rsti_client_state_now(client) == RST_CLIENT_OPEN) {
        rsti_wake_fifo_remove(client->dir, client->client_id, waiter->target.waiter_id);
    }
    pthread_mutex_unlock(&client->lock);
    pthread_mutex_lock(&waiter->lock);
    rsti_wait_set_clear(&waiter->set);
    pthread_mutex_unlock(&waiter->lock);
    (void)pthread_mutex_destroy(&waiter->lock);
    free_waiter(waiter);
    rsti_client_unref(client);
}

/* ---- attaching ---- */

static int check(const rst_waiter_t *waiter, int32_t generation)
{
    if (rsti_is_forked(waiter->generation) || rsti_is_forked(generation)) {
        return rsti_set_forked_error("waiter");
    }
    return 0;
}

static int attach(rst_waiter_t *waiter, rst_subscription_t *subscription,
    rst_publication_t *publication, bool is_demand)
{
    pthread_mutex_lock(&waiter->lock);
    const int result = rsti_wait_set_attach(&waiter->set, subscription, publication, is_demand);
    pthread_mutex_unlock(&waiter->lock);
    /* a waiter that sleeps already must be armed there too */
    rsti_wake_target_kick(&waiter->target);
    return result;
}

RST_API int rst_waiter_attach_subscription(rst_waiter_t *waiter, rst_subscription_t *subscription)
{
    if (waiter == NULL || subscription == NULL || waiter->client != subscription->client) {
        return RST_SET_ERR(RST_EINVAL,
            "the waiter and the subscription must belong to the same client");
    }
    const int checked = check(waiter, subscription->generation);
    return checked < 0 ? checked : attach(waiter, subscription, NULL, false);
}

static int attach_publication(rst_waiter_t *waiter, rst_publication_t *publication, bool is_demand)
{
    if (waiter == NULL || publication == NULL || waiter->client != publication->client) {
        return RST_SET_ERR(RST_EINVAL,
            "the waiter and the publication must belong to the same client");
    }
    const int checked = check(waiter, publication->generation);
    return checked < 0 ? checked : attach(waiter, NULL, publication, is_demand);
}

RST_API int rst_waiter_attach_publication(rst_waiter_t *waiter, rst_publication_t *publication)
{
    return attach_publication(waiter, publication, false);
}

RST_API int rst_waiter_attach_demand(rst_waiter_t *waiter, rst_publication_t *publication)
{
    return attach_publication(waiter, publication, true);
}

static void detach(rst_waiter_t *waiter, const rst_subscription_t *subscription,
    const rst_publication_t *publication, bool is_demand)
{
    if (waiter == NULL || (subscription == NULL && publication == NULL)
        || rsti_is_forked(waiter->generation)) {
        return;
    }
    pthread_mutex_lock(&waiter->lock);
    rsti_wait_set_detach(&waiter->set, subscription, publication, is_demand);
    pthread_mutex_unlock(&waiter->lock);
}

RST_API void rst_waiter_detach_subscription(rst_waiter_t *waiter, rst_subscription_t *subscription)
{
    detach(waiter, subscription, NULL, false);
}

RST_API void rst_waiter_detach_publication(rst_waiter_t *waiter, rst_publication_t *publication)
{
    detach(waiter, NULL, publication, false);
}

RST_API void rst_waiter_detach_demand(rst_waiter_t *waiter, rst_publication_t *publication)
{
    detach(waiter, NULL, publication, true);
}

/* ---- looking ---- */

/* 1: ready or woken; 0: nothing; negative: the client is lost and everything has been read. */
static int look_locked(rst_waiter_t *waiter)
{
    if (rsti_load_relaxed_i32(&waiter->is_woken) != 0
        && rsti_exchange_i32(&waiter->is_woken, 0) != 0) {
        return 1;
    }
    if (rsti_wait_set_is_ready(&waiter->set, true)) {
        return 1;
    }
    const int32_t state = rsti_client_state_now(waiter->client);
    return state == RST_CLIENT_OPEN ? 0 : rsti_client_state_error(waiter->client, state);
}

static int look(rst_waiter_t *waiter)
{
    pthread_mutex_lock(&waiter->lock);
    const int result = look_locked(waiter);
    pthread_mutex_unlock(&waiter->lock);
    return result;
}

/* ---- sleeping ---- */

static void disarm_locked(rst_waiter_t *waiter)
{
    rsti_store_release_i32(&waiter->target.armed, 0);
    rsti_store_release_i32(&waiter->target.is_loop_polled, 0);
    rsti_wait_set_disarm(&waiter->set);
}

/* 0: armed, go to sleep. Otherwise as look(). */
static int arm(rst_waiter_t *waiter, bool *needs_polling)
{
    pthread_mutex_lock(&waiter->lock);
    /* Before the images are copied: an image that comes meanwhile finds the waiter armed. */
    (void)rsti_exchange_i32(&waiter->target.armed, 1);
    *needs_polling = rsti_wait_set_refresh(&waiter->set) < 0;
    *needs_polling = rsti_wait_set_arm(&waiter->set) || *needs_polling;
    rsti_fence();
    const int result = look_locked(waiter);
    if (result != 0) {
        disarm_locked(waiter);
    }
    pthread_mutex_unlock(&waiter->lock);
    return result;
}

static void disarm(rst_waiter_t *waiter)
{
    pthread_mutex_lock(&waiter->lock);
    disarm_locked(waiter);
    pthread_mutex_unlock(&waiter->lock);
}

/* Looks at least once. It yields only if there is time left: a caller without time may hold a lock
 * that others wait for, such as Python's. */
static int spin(rst_waiter_t *waiter, const rsti_clock_t *clock, int64_t until_ns)
{
    int result = look(waiter);
    while (result == 0 && rsti_clock_nano_time(clock) < until_ns) {
        (void)sched_yield(); /* on few cores the awaited thread may need this core */
        result = look(waiter);
    }
    return result;
}

RST_API int rst_waiter_wait(rst_waiter_t *waiter, int64_t timeout_ns, int64_t spin_ns)
{
    if (waiter == NULL) {
        return RST_SET_ERR(RST_EINVAL, "waiter is NULL");
    }
    if (rsti_is_forked(waiter->generation)) {
        return rsti_set_forked_error("waiter");
    }
    const rsti_clock_t clock = rsti_clock_system();
    const int64_t begin_ns = rsti_clock_nano_time(&clock);
    const int64_t until_ns = rsti_saturating_add_i64(begin_ns, rsti_max_i64(timeout_ns, 0));
    /* As the driver's agents do: after a short sleep, looking a little longer saves a sleep. */
    const int64_t look_ns = waiter->last_sleep_ns < 2 * SPIN_NS ? SPIN_NS : 0;
    const int64_t spin_until_ns = rsti_min_i64(until_ns,
        rsti_saturating_add_i64(begin_ns, rsti_max_i64(spin_ns, look_ns)));
    int result = spin(waiter, &clock, spin_until_ns);
    while (result == 0) {
        const int64_t left_ns = until_ns - rsti_clock_nano_time(&clock);
        if (left_ns <= 0) {
            return 0;
        }
        bool needs_polling = false;
        result = arm(waiter, &needs_polling);
        if (result == 0) {
            const int64_t asleep_ns = rsti_clock_nano_time(&clock);
            (void)rsti_wake_fifo_wait(waiter->target.fd,
                needs_polling ? rsti_min_i64(left_ns, POLLING_SLICE_NS) : left_ns);
            waiter->last_sleep_ns = rsti_clock_nano_time(&clock) - asleep_ns;
            disarm(waiter);
            result = look(waiter);
        }
    }
    return result;
}

/* ---- event loops ---- */

RST_API int rst_waiter_fd(const rst_waiter_t *waiter)
{
    if (waiter == NULL) {
        return RST_SET_ERR(RST_EINVAL, "waiter is NULL");
    }
    return rsti_is_forked(waiter->generation) ? rsti_set_forked_error("waiter") : waiter->target.fd;
}

RST_API int rst_waiter_arm(rst_waiter_t *waiter)
{
    if (waiter == NULL) {
        return RST_SET_ERR(RST_EINVAL, "waiter is NULL");
    }
    if (rsti_is_forked(waiter->generation)) {
        return rsti_set_forked_error("waiter");
    }
    bool needs_polling = false;
    rsti_wake_fifo_drain(waiter->target.fd); /* wake-ups of an earlier time; arm() looks again */
    const int result = arm(waiter, &needs_polling);
    if (result == 0 && needs_polling) {
        rsti_store_release_i32(&waiter->target.is_loop_polled, 1);
        rsti_client_kick_conductor(waiter->client);
    }
    return result;
}

RST_API void rst_waiter_disarm(rst_waiter_t *waiter)
{
    if (waiter == NULL || rsti_is_forked(waiter->generation)) {
        return;
    }
    disarm(waiter);
    rsti_wake_fifo_drain(waiter->target.fd);
}

_Static_assert(offsetof(rst_waiter_t, target) == 0,
    "a wake target is at the address of its waiter");

void rsti_waiter_poll_for_loop(rsti_wake_target_t *target)
{
    rst_waiter_t *waiter = (rst_waiter_t *)target;
    if (pthread_mutex_trylock(&waiter->lock) != 0) {
        return; /* its owner holds the lock and looks for itself */
    }
    const bool is_ready = rsti_wait_set_is_ready(&waiter->set, false);
    pthread_mutex_unlock(&waiter->lock);
    if (is_ready) {
        rsti_wake_target_kick(&waiter->target);
    }
}

/* ---- waking ---- */

RST_API void rst_waiter_wake(rst_waiter_t *waiter)
{
    if (waiter == NULL || rsti_is_forked(waiter->generation)) {
        return;
    }
    rsti_store_release_i32(&waiter->is_woken, 1);
    rsti_wake_target_kick(&waiter->target);
}
