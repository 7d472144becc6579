/* client_state.h: the state that all parts of a client share.
 *
 * Locks, in the order in which a thread may take them: client->lock, waiter->lock,
 * subscription->lock, client->logs_lock. offer takes no lock. poll takes the lock of its
 * subscription; every other holder of that lock keeps it for a few list operations only.
 *
 * Life: clients, publications, subscriptions, images and mapped logs are reference counted. A
 * user's handle is one reference. An image holds a reference to its subscription, every object
 * holds one to its client, and every object that points into a mapping holds one to the mapped log.
 * So a mapping stays valid while any object can still read it, in whatever order a garbage
 * collector closes the handles. rst_client_close marks all objects as closed; the last close call
 * frees the memory. */
#ifndef RSTI_CLIENT_CLIENT_STATE_H
#define RSTI_CLIENT_CLIENT_STATE_H

#include "client/counter_events.h"
#include "client/fork.h"
#include "client/outbox.h"
#include "client/wake_target.h"
#include "cnc/cnc_file.h"
#include "cnc/death_watch.h"
#include "cnc/driver_dir.h"
#include "cnc/wake_fifo.h"
#include "concurrent/agent.h"
#include "concurrent/broadcast.h"
#include "concurrent/counters.h"
#include "rstream/rstream.h"
#include "util/hash_map.h"
#include "util/ptr_array.h"

#include <pthread.h>

#define RSTI_CLIENT_NAME_MAX 100

struct rst_client_t {
    int32_t refs;              /* atomic */
    int32_t generation;        /* see fork.h */
    int32_t state;             /* atomic: rst_client_state_t; written under lock */
    int32_t has_foreign_peers; /* atomic: some clients of this driver never wake this one */
    bool is_rstream;           /* the driver is rstream's, not Aeron's */
    char dir[RSTI_PATH_MAX];
    char name[RSTI_CLIENT_NAME_MAX + 1];
    int64_t driver_timeout_ns;
    int64_t keepalive_interval_ns;
    int64_t client_id;

    rsti_cnc_t cnc;
    rsti_mpsc_rb_t to_driver;
    rsti_outbox_t outbox; /* under lock */
    rsti_broadcast_rx_t to_clients;
    rsti_counters_t counters;
    rsti_waker_t *waker; /* NULL beside an Aeron driver */
    int lock_fd;         /* of driver.lock; -1 beside an Aeron driver */
    int wake_fd;         /* the conductor sleeps on it */
    int life_fd;         /* its hang-up tells the driver that this process died; -1: none */
    rsti_process_t process;
    rsti_agent_runner_t runner;

    pthread_mutex_t lock;
    pthread_cond_t answered;       /* an answer came, or the state changed */
    rsti_hash_map_t pending;       /* correlation id -> rsti_pending_t */
    int32_t pending_count;         /* atomic: unanswered commands; written under lock */
    rsti_hash_map_t publications;  /* correlation id -> rst_publication_t, no reference */
    rsti_hash_map_t subscriptions; /* registration id -> rst_subscription_t, no reference */
    rsti_hash_map_t user_counters; /* correlation id -> rst_user_counter_t, no reference */
    rsti_counter_events_t counter_events;
    rsti_ptr_array_t waiters;      /* rsti_wake_target_t of each open waiter, no reference */
    int32_t next_waiter_id;
    char failure[256];             /* the reason of the state */

    /* written by: conductor */
    int32_t heartbeat_counter_id; /* atomic: written under lock, read by the conductor without it */
    int64_t keepalive_deadline_ns;
    int64_t watch_deadline_ns;
    int64_t last_work_ns; /* 0 before the first duty cycle */
    int64_t driver_heartbeat_ms;
    int64_t driver_heartbeat_changed_ns;

    pthread_mutex_t logs_lock;
    rsti_ptr_array_t logs; /* rsti_shared_log_t, no reference; under logs_lock */
};

static inline int64_t rsti_client_now_ns(void)
{
    const rsti_clock_t clock = rsti_clock_system();
    return rsti_clock_nano_time(&clock);
}

/* ---- life ---- */

void rsti_client_ref(rst_client_t *client);
/* The last reference disconnects from the driver and frees the memory. */
void rsti_client_unref(rst_client_t *client);
/* Unmaps the CnC file and closes driver.lock. Repeated calls do nothing. */
void rsti_client_disconnect(rst_client_t *client);

/* ---- state ---- */

static inline int32_t rsti_client_state_now(const rst_client_t *client)
{
    return rsti_load_acquire_i32(&client->state);
}
/* 0 for an open client; otherwise the error of the state, with a trail. */
int rsti_client_state_error(const rst_client_t *client, int32_t state);
/* 0 for a usable client. Negative with a trail: NULL, forked, closed, driver lost, timed out. */
int rsti_client_check(const rst_client_t *client);

/* ---- waking; any thread, none of these blocks ---- */

void rsti_client_kick_conductor(rst_client_t *client);
/* Wakes the armed waiters. The caller holds client->lock. */
void rsti_client_kick_waiters(rst_client_t *client);
/* Wakes an agent of the driver if it sleeps. Beside an Aeron driver it does nothing. */
void rsti_client_wake_agent(rst_client_t *client, rsti_agent_id_t agent);
/* The callback for rsti_wake_log(): wakes one waiter of one client of the driver. */
void rsti_client_on_wake(void *arg, int64_t client_id, int32_t waiter_id);

#endif
