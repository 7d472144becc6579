/* driver_state.h: the state of a driver that all its agents use, and the calls on it. Any agent may
 * call these functions.
 *
 * Threads: conductor, sender and receiver run in one, two or three threads, or in the thread of the
 * caller. Each struct names the writer of its fields under "written by". Agents send each other
 * commands through the proxies (proxies.h): direct calls when they share a thread, else a ring.
 * Name look-ups and file creation happen in the conductor and may block it. Data keeps flowing
 * meanwhile if sender and receiver have threads of their own.
 *
 * The state of each agent is behind an opaque pointer. */
#ifndef RSTI_DRIVER_BASE_DRIVER_STATE_H
#define RSTI_DRIVER_BASE_DRIVER_STATE_H

#include "rstream/driver.h"

#include "cnc/cnc_file.h"
#include "cnc/frame_log_file.h"
#include "cnc/loss_report_file.h"
#include "cnc/wake_fifo.h"
#include "concurrent/agent.h"
#include "concurrent/error_log.h"
#include "concurrent/loss_report.h"
#include "concurrent/mpsc_rb.h"
#include "concurrent/spsc_rb.h"
#include "driver/base/context.h"
#include "driver/base/csv_resolver.h"
#include "driver/base/name_lookup.h"
#include "logbuffer/descriptor.h"
#include "media/frame_log.h"
#include "media/loss_interceptors.h"
#include "protocol/command.h"
#include "util/secret.h"
#include "util/source_list.h"

#define RSTI_DRIVER_AGENTS 3
/* Longest sleeps of the conductor. Aeron's clients never wake it: the second one applies while such
 * a client is connected. */
#define RSTI_CONDUCTOR_SLEEP_MAX_NS (50 * RSTI_NS_PER_MS)
#define RSTI_FOREIGN_SLEEP_MAX_NS RSTI_NS_PER_MS
#define RSTI_FOREIGN_SLEEP_FIRST_NS INT64_C(20000) /* the first one after work */

typedef struct rsti_conductor_t rsti_conductor_t;
typedef struct rsti_sender_t rsti_sender_t;
typedef struct rsti_receiver_t rsti_receiver_t;

/* A thread and the agents that run in it, in the order of their ids in agents[]. */
typedef struct rsti_driver_thread_t {
    rst_driver_t *driver;
    rsti_agent_runner_t runner;
    int32_t agents[RSTI_DRIVER_AGENTS];
    int32_t agent_count;
    int32_t fifo_id;
    int fifo_fd;
    rsti_poller_t poller;
    bool has_poller;
    /* Blocking threads, and those with many sockets, ask the poller which sockets to read instead
     * of trying each of them. */
    bool is_hinted;
    bool is_blocking;
    int32_t socket_count;
    int32_t passes_since_hint;
    int64_t next_deadline_ns;
} rsti_driver_thread_t;

/* How long an agent's passes take: written by that agent. */
typedef struct rsti_cycle_t {
    int64_t *max;
    int64_t *exceeded;
    int64_t max_ns;
    int64_t threshold_ns;
    int64_t begin_ns;
} rsti_cycle_t;

struct rsti_agent_command_t;
typedef void (*rsti_on_agent_command_t)(void *agent, int32_t type,
    const struct rsti_agent_command_t *command);

/* Commands for one agent, and the function that carries them out (proxies.h). */
typedef struct rsti_agent_inbox_t {
    union {
        rsti_rb_t ring;
        rsti_spsc_rb_t from_conductor; /* of sender and receiver */
        rsti_mpsc_rb_t from_agents; /* of the conductor */
    };
    void *memory;
    rsti_on_agent_command_t on_command;
    void *agent;
} rsti_agent_inbox_t;

struct rst_driver_t {
    rst_driver_params_t params;
    char dir[RSTI_PATH_MAX];
    int lock_fd;
    rsti_clock_t clock;
    rsti_secret_t secret;
    rsti_media_t media;
    rsti_source_list_t sources; /* of all sockets */
    rsti_name_resolver_t resolver; /* the conductor's */
    rsti_csv_resolver_t *name_table; /* NULL: the system's names only */
    struct rsti_name_agent_t *name_agent; /* NULL: drivers do not tell this one names */
    rsti_name_lookup_t *lookup; /* NULL: names are looked up while the conductor waits */
    rsti_media_t udp_media; /* ours to destroy when owns_udp_media */
    bool owns_udp_media;
    bool has_sealing; /* ours to destroy; it owns the table below */
    bool has_interceptor;
    rsti_loss_interceptors_t losses;
    rsti_frame_log_t frame_log;
    rsti_frame_log_file_t frame_log_file;
    rsti_socket_probe_t probe; /* all zero with an injected media table */
    rsti_cnc_t cnc;
    bool has_cnc;
    rsti_mpsc_rb_t to_driver;
    rsti_broadcast_tx_t to_clients;
    rsti_counters_manager_t counters;
    rsti_error_log_t error_log;
    rsti_loss_report_file_t loss_file;
    rsti_loss_report_t loss_report; /* written by: conductor */
    rsti_waker_t *waker;
    rsti_threading_t threading;
    bool is_direct; /* all agents share a thread: proxies call directly */
    bool wants_pass; /* is_direct: an agent woke another one of the same thread */
    bool is_started;
    /* written by: conductor */
    bool has_foreign; /* a client is attached that does not speak rstream */
    bool is_writer_gone; /* the client of what is being released writes to it no more */
    int32_t is_idle; /* atomic; written by: conductor */
    int32_t is_terminated; /* atomic; written by: conductor */
    rsti_driver_thread_t threads[RSTI_DRIVER_AGENTS];
    int32_t thread_count;
    rsti_driver_thread_t *thread_of[RSTI_DRIVER_AGENTS]; /* by agent id; NULL without threads */
    rsti_cycle_t cycles[RSTI_DRIVER_AGENTS]; /* by agent id */
    int64_t promised_ns; /* without threads: the deadline that the last pass returned */
    rsti_cached_epoch_t epoch; /* written by: conductor */
    rsti_agent_inbox_t inboxes[RSTI_DRIVER_AGENTS]; /* by agent id */
    rsti_conductor_t *conductor;
    rsti_sender_t *sender;
    rsti_receiver_t *receiver;
};

/* Wakes an agent. Called in the thread of an agent. */
void rsti_driver_wake_agent(rst_driver_t *driver, int32_t agent_id);
/* Wakes an agent. Called in any other thread. */
void rsti_driver_wake_from_outside(rst_driver_t *driver, int32_t agent_id);
/* Wakes the clients that wait for this log. */
void rsti_driver_wake_log(rst_driver_t *driver, const rsti_log_t *log, int32_t kind);
/* Writes an entry to the error log. */
void rsti_driver_log_error(rst_driver_t *driver, int code, const char *text);
/* Writes the thread's error trail to the error log and clears the trail. */
void rsti_driver_log_trail(rst_driver_t *driver, const char *where);

/* Adds to a system counter. */
static inline void rsti_driver_count(rst_driver_t *driver, rsti_system_counter_t counter,
    int64_t amount)
{
    rsti_fetch_add_i64(rsti_counter_address(&driver->counters.counters, (int32_t)counter), amount);
}

/* Returns the wake-up time for a timer that may be late, such as a heartbeat or a repeated status
 * message. It is due_ns, but at least a twentieth of the interval from now, so that one pass serves
 * the timers of many streams. Each pass visits every stream. With one pass for each timer, the cost
 * of an idle driver would grow with the square of its streams: 1 000 streams cost a whole core. */
static inline int64_t rsti_with_slack(int64_t due_ns, int64_t interval_ns, int64_t now_ns)
{
    return rsti_max_i64(due_ns, now_ns + interval_ns / 20);
}

/* Lowers the deadline to the candidate if that is earlier. */
static inline void rsti_lower_deadline(int64_t *deadline_ns, int64_t candidate_ns)
{
    if (candidate_ns < *deadline_ns) {
        *deadline_ns = candidate_ns;
    }
}

#endif
