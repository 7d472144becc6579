/* internal.h: the driver's own struct and the calls between its files.
 *
 * Threads: conductor, sender and receiver run in one, two or three threads, or in the caller's.
 * What an agent writes stands under "written by" in each struct; agents tell each other by the
 * proxies (proxies.c): straight calls when they share a thread, commands in a ring otherwise. Name
 * look-ups and file creation happen in the conductor and may block it; data keeps flowing, as long
 * as the agents have threads of their own. */
#ifndef RSTI_DRIVER_INTERNAL_H
#define RSTI_DRIVER_INTERNAL_H

#include "cnc/cnc_file.h"
#include "cnc/frame_log_file.h"
#include "cnc/loss_report_file.h"
#include "cnc/wake_fifo.h"
#include "concurrent/agent.h"
#include "concurrent/error_log.h"
#include "concurrent/sequence.h"
#include "concurrent/spsc_rb.h"
#include "driver/base/context.h"
#include "driver/base/csv_resolver.h"
#include "driver/conductor/ipc_publication.h"
#include "driver/base/name_lookup.h"
#include "driver/sender/network_publication.h"
#include "driver/base/port_manager.h"
#include "driver/receiver/image.h"
#include "driver/receiver/receive_endpoint.h"
#include "driver/sender/send_endpoint.h"
#include "media/frame_log.h"
#include "protocol/command.h"
#include "util/netaddr.h"
#include "util/ptr_array.h"

#define RSTI_DRIVER_AGENTS 3
#define RSTI_RESPONSE_MAX 8192
#define RSTI_AGENT_QUEUE_CAPACITY (128 * 1024)
#define RSTI_CONTROL_BURST 16
#define RSTI_CONTROL_BUFFER 2048
#define RSTI_PENDING_SETUP_NS RSTI_NS_PER_S
/* So many status message time-outs pass between the end of a stream and the going of its image. */
#define RSTI_DRAIN_SM_TIMEOUTS 5
/* A foreign client never wakes us: until one is there the conductor looks this often. */
#define RSTI_CONDUCTOR_SLEEP_MAX_NS (50 * RSTI_NS_PER_MS)
#define RSTI_FOREIGN_SLEEP_MAX_NS RSTI_NS_PER_MS

typedef struct rsti_publication_link_t {
    int64_t registration_id; /* correlation id of this client's add command */
    rsti_publication_t *publication;
} rsti_publication_link_t;

typedef struct rsti_counter_link_t {
    int64_t registration_id;
    int32_t counter_id;
} rsti_counter_link_t;

typedef struct rsti_driver_client_t {
    int64_t client_id;
    int32_t heartbeat_id;
    int64_t heartbeat_ms; /* as last seen, and when it changed by our own clock */
    int64_t heartbeat_changed_ns;
    bool is_closed; /* by command */
    rsti_publication_link_t *publications;
    int32_t publication_count, publication_capacity;
    rsti_counter_link_t *counters;
    int32_t counter_count, counter_capacity;
} rsti_driver_client_t;

struct rsti_subscription_t {
    int64_t registration_id;
    int64_t client_id;
    /* 0, or this stands for an IPC or spy destination of the subscription with the same
     * registration id: that one has the endpoint, this one the links. */
    int64_t destination_id;
    int32_t stream_id;
    bool is_ipc;
    bool is_spy;
    bool is_tethered;
    bool is_response; /* control-mode=response: wants nothing until a session is told */
    bool has_session;
    int32_t session_id;
    char *uri;
    size_t uri_length;
    char *name;
    rsti_receive_endpoint_t *endpoint; /* UDP only */
    bool is_reliable;
    bool is_rejoin;
    bool is_sparse;
    rsti_tristate_t group;
    int64_t nak_delay_ns;
    int32_t window;
    int64_t budget_bytes; /* rs-budget: of each of its images; 0: no limit */
    bool is_fill_window;  /* rs-fill-window */
    char cc[32];
    rsti_tether_times_t tether_times; /* of images; logs of this driver bring their own */
    int64_t evict_ns;     /* rs-evict; 0: not asked for */
    int64_t evicted_ns;   /* when it was let go; INT64_MAX: it was not */
    bool is_interest_over; /* evicted, and its endpoint knows it */
    /* Spies only. */
    int64_t channel_tag;
    char *canonical;
};

/* A name whose address went silent and is looked up again. */
typedef struct rsti_reresolution_t {
    void *endpoint;
    int64_t registration_id; /* of a manual destination; -1: the endpoint's own */
} rsti_reresolution_t;
/* At once; more are asked for again in a second. */
#define RSTI_RERESOLUTIONS_MAX 64

typedef struct rsti_conductor_t {
    rsti_rng_t rng;
    rsti_mpsc_rb_t queue; /* from sender and receiver */
    void *queue_memory;
    rsti_ptr_array_t clients, subscriptions, ipc_publications, publications, images;
    rsti_ptr_array_t send_endpoints, receive_endpoints;
    rsti_ptr_array_t budget_connections; /* rsti_budget_connection_t */
    rsti_ptr_array_t freed_logs; /* rsti_log_file_t of things that are gone */
    int64_t free_retry_ns;
    int64_t now_ns;
    rsti_cached_epoch_t epoch;
    int64_t timer_due_ns;
    int64_t evictions_due_ns; /* INT64_MAX: no subscription asks for it */
    int64_t image_error_due_ns; /* until then failures to make images are not logged again */
    int64_t clients_check_due_ns;
    int64_t clientless_since_ns;
    int64_t ring_head;
    int64_t ring_moved_ns;
    int32_t next_session_id;
    int64_t next_receiver_id;
    int32_t wildcard_count;
    rsti_port_manager_t sender_ports, receiver_ports;
    int32_t closing_count; /* endpoints that wait for their agent's release */
    bool has_responses;
    bool is_looking_up; /* a name, in another thread: that is no work to stay awake for */
    rsti_reresolution_t reresolutions[RSTI_RERESOLUTIONS_MAX];
    int32_t reresolution_count;
    bool is_retry; /* a command was left in the ring */
    rsti_channel_t channel;
    uint8_t response[RSTI_RESPONSE_MAX];
} rsti_conductor_t;

struct rsti_sender_t {
    rst_driver_t *driver;
    rsti_spsc_rb_t queue; /* from the conductor */
    void *queue_memory;
    rsti_network_publication_t *publications;
    rsti_network_publication_t *start; /* where this pass begins */
    rsti_send_endpoint_t *endpoints;
    rsti_datagram_t datagrams[RSTI_MEDIA_BURST_MAX];
    int64_t ends[RSTI_MEDIA_BURST_MAX]; /* position behind each datagram */
    rsti_datagram_t control[RSTI_CONTROL_BURST];
    uint8_t *control_buffers;
    int64_t now_ns; /* of this pass */
    int64_t names_due_ns; /* when silent names are looked for */
    bool has_names;       /* at the last look */
    int64_t last_status_poll_ns;
    int32_t passes_since_poll;
    bool is_short;
};

struct rsti_receiver_t {
    rst_driver_t *driver;
    rsti_spsc_rb_t queue; /* from the conductor */
    void *queue_memory;
    rsti_receive_endpoint_t *endpoints;
    rsti_image_t *images;
    int32_t named_count; /* transports whose control address is a name */
    int64_t names_due_ns;
    rsti_datagram_t datagrams[RSTI_MEDIA_BURST_MAX];
    uint8_t *buffers;
    rsti_image_t *touched[RSTI_MEDIA_BURST_MAX];
    int32_t touched_count;
    /* Of data that found no room, on the wire. The system counter counts heartbeats and padding
     * from beyond it too. */
    int64_t overrun_bytes;
};

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

struct rst_driver_t {
    rst_driver_params_t params;
    char dir[RSTI_PATH_MAX];
    int lock_fd;
    rsti_clock_t clock;
    rsti_media_t media;
    rsti_name_resolver_t resolver; /* the conductor's */
    rsti_csv_resolver_t *name_table; /* NULL: the system's names only */
    rsti_name_lookup_t *lookup;    /* NULL: names are looked up while the conductor waits */
    rsti_media_t udp_media;   /* ours to destroy when owns_udp_media */
    bool owns_udp_media;
    bool has_interceptor;
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
    bool is_direct; /* proxies call straight through */
    bool wants_pass; /* is_direct: an agent woke another one of the same thread */
    bool is_started;
    int32_t is_idle; /* atomic; written by: conductor */
    int32_t is_terminated; /* likewise */
    rsti_driver_thread_t threads[RSTI_DRIVER_AGENTS];
    int32_t thread_count;
    rsti_driver_thread_t *thread_of[RSTI_DRIVER_AGENTS]; /* by agent id; NULL without threads */
    rsti_cycle_t cycles[RSTI_DRIVER_AGENTS];             /* by agent id */
    int64_t promised_ns; /* without threads: when the caller was told to come back */
    rsti_conductor_t conductor;
    rsti_sender_t sender;
    rsti_receiver_t receiver;
};

/* driver.c: with an injected clock, media table (not taken over) and seed: for tests. */
int rsti_driver_open_with(rst_driver_t **driver, const rst_driver_params_t *params,
    const rsti_clock_t *clock, const rsti_media_t *media, uint64_t seed);
/* threads.c */
int rsti_threads_prepare(rst_driver_t *driver);
int rsti_threads_start(rst_driver_t *driver);
void rsti_threads_close(rst_driver_t *driver);
void rsti_cycles_init(rst_driver_t *driver);
/* One pass in the caller's thread. */
int64_t rsti_driver_pass(rst_driver_t *driver, int64_t *next_deadline_ns);
void rsti_driver_wake_agent(rst_driver_t *driver, int32_t agent_id);
/* From a thread that is none of the agents'. */
void rsti_driver_wake_from_outside(rst_driver_t *driver, int32_t agent_id);
/* Wakes the clients that wait for this log. */
void rsti_driver_wake_log(rst_driver_t *driver, const rsti_log_t *log, int32_t kind);
void rsti_driver_log_error(rst_driver_t *driver, int code, const char *text);
/* The thread's error trail goes to the error log and is cleared. */
void rsti_driver_log_trail(rst_driver_t *driver, const char *where);
/* *is_readable belongs to the socket's endpoint: set by the agent's thread when the poller says so.
 */
int64_t rsti_driver_poll_add(rst_driver_t *driver, int32_t agent_id, rsti_socket_t *socket,
    bool *is_readable);
/* Whether reading the socket can give anything now: hinted threads skip the others. */
bool rsti_driver_should_poll(const rst_driver_t *driver, int32_t agent_id, rsti_socket_t *socket,
    bool is_readable, int64_t now_ns);
void rsti_driver_poll_remove(rst_driver_t *driver, int32_t agent_id, rsti_socket_t *socket);

static inline void rsti_driver_count(rst_driver_t *driver, rsti_system_counter_t counter,
    int64_t amount)
{
    rsti_fetch_add_i64(rsti_counter_address(&driver->counters.counters, (int32_t)counter), amount);
}

/* When a timer that nobody waits for sharply (a heartbeat, a repeated status message) is wanted:
 * when it is due, but no sooner than a twentieth of its interval from now, so that those of many
 * streams are looked at together. A pass looks at every stream: with a pass for each timer an idle
 * driver cost the square of its streams, at 1 000 of them a whole core. */
static inline int64_t rsti_with_slack(int64_t due_ns, int64_t interval_ns, int64_t now_ns)
{
    return rsti_max_i64(due_ns, now_ns + interval_ns / 20);
}

static inline void rsti_lower_deadline(int64_t *deadline_ns, int64_t candidate_ns)
{
    if (candidate_ns < *deadline_ns) {
        *deadline_ns = candidate_ns;
    }
}

/* agents */
int64_t rsti_sender_do_work(void *arg, int64_t now_ns, int64_t *next_deadline_ns);
int64_t rsti_receiver_do_work(void *arg, int64_t now_ns, int64_t *next_deadline_ns);
int64_t rsti_conductor_do_work(void *arg, int64_t now_ns, int64_t *next_deadline_ns);
int rsti_sender_init(rsti_sender_t *sender, rst_driver_t *driver);
void rsti_sender_fini(rsti_sender_t *sender);
int rsti_receiver_init(rsti_receiver_t *receiver, rst_driver_t *driver);
void rsti_receiver_fini(rsti_receiver_t *receiver);
int rsti_conductor_init(rst_driver_t *driver, uint64_t seed);
void rsti_conductor_fini(rst_driver_t *driver);
void rsti_receiver_touch(rsti_receiver_t *receiver, rsti_image_t *image);

/* proxies.c */
typedef enum rsti_agent_command_type_t {
    RSTI_AGENT_ADD_ENDPOINT = 1,
    RSTI_AGENT_REMOVE_ENDPOINT,
    RSTI_AGENT_ADD_PUBLICATION,
    RSTI_AGENT_REMOVE_PUBLICATION,
    RSTI_AGENT_ADD_TRANSPORT,
    RSTI_AGENT_REMOVE_TRANSPORT,
    RSTI_AGENT_RESOLVE_CONTROL,
    RSTI_AGENT_SET_CONTROL,
    RSTI_AGENT_ADD_INTEREST,
    RSTI_AGENT_REMOVE_INTEREST,
    RSTI_AGENT_ELICIT, /* to the receiver: ask for the set-up of one session again */
    RSTI_AGENT_ADD_IMAGE,
    RSTI_AGENT_REMOVE_IMAGE,
    RSTI_AGENT_REMOVE_COOL_DOWN,
    RSTI_AGENT_REMOVE_INIT,
    RSTI_AGENT_ADD_DESTINATION,    /* of a send endpoint */
    RSTI_AGENT_REMOVE_DESTINATION,
    RSTI_AGENT_RESOLVED,  /* to the sender: an endpoint or destination has another address */
    RSTI_AGENT_SET_RATE,  /* to the sender: a publication has another law of rate */
    RSTI_AGENT_RERESOLVE, /* to the conductor: nothing came from there for long */
    RSTI_AGENT_CREATE_IMAGE,
    RSTI_AGENT_PUBLICATION_ERROR,
    RSTI_AGENT_RESPONSE_SETUP
} rsti_agent_command_type_t;

typedef struct rsti_agent_command_t {
    void *endpoint; /* send or receive endpoint */
    void *object;   /* publication, image, interest, transport */
    int64_t registration_id;
    int32_t stream_id;
    int32_t session_id;
    struct sockaddr_storage address; /* source of a SETUP or ERR; of a destination */
    bool has_name;                   /* of a destination: its address may change */
    rsti_setup_t setup;
    rsti_err_t err;
    rsti_rate_choice_t rate;
    rsti_rate_counters_t rate_counters; /* of that rate; all NULL: it needs none */
    char text[RSTI_ERR_TEXT_MAX + 1];
} rsti_agent_command_t;

void rsti_sender_on_command(rsti_sender_t *sender, int32_t type,
    const rsti_agent_command_t *command);
void rsti_receiver_on_command(rsti_receiver_t *receiver, int32_t type,
    const rsti_agent_command_t *command);
void rsti_conductor_on_command(rst_driver_t *driver, int32_t type,
    const rsti_agent_command_t *command);

int rsti_agent_queue_create(rsti_rb_t *queue, void **memory);
int64_t rsti_agent_queue_drain(rst_driver_t *driver, int32_t agent_id, size_t limit);
/* Never fails: waits for room while the agent works. */
void rsti_tell_sender(rst_driver_t *driver, int32_t type, const rsti_agent_command_t *command);
void rsti_tell_receiver(rst_driver_t *driver, int32_t type, const rsti_agent_command_t *command);
/* False when the conductor's queue is full (counted): the caller tries again later. */
bool rsti_tell_conductor(rst_driver_t *driver, int32_t type, const rsti_agent_command_t *command);
bool rsti_proxies_have_room(const rst_driver_t *driver);

/* responses.c */
void rsti_respond(rst_driver_t *driver, const rsti_response_t *response);
void rsti_respond_error(rst_driver_t *driver, int64_t correlation_id, int code, const char *text);
/* From the thread's error trail. */
void rsti_respond_trail(rst_driver_t *driver, int64_t correlation_id);
void rsti_respond_ok(rst_driver_t *driver, int64_t correlation_id);
void rsti_respond_counter(rst_driver_t *driver, int32_t type, int64_t correlation_id,
    int32_t counter_id);
void rsti_respond_available(rst_driver_t *driver, int64_t image_id, int32_t session_id,
    int32_t stream_id, const rsti_subscriber_t *subscriber, const char *path, const char *source);
void rsti_respond_unavailable(rst_driver_t *driver, int64_t image_id,
    const rsti_subscription_t *subscription);
/* The same, with since when the stream goes on without it. */
void rsti_respond_evicted(rst_driver_t *driver, int64_t image_id,
    const rsti_subscription_t *subscription, int64_t evicted_ms);
/* The same, of an untethered one: what it has not read is cleaned after the linger. */
void rsti_respond_let_go(rst_driver_t *driver, int64_t image_id,
    const rsti_subscription_t *subscription);
/* The ids, code and text of response; source NULL: nobody on the network. */
void rsti_respond_publication_error(rst_driver_t *driver, rsti_response_t *response,
    const struct sockaddr_storage *source);
void rsti_responses_wake(rst_driver_t *driver);

/* conductor_counters.c */
int rsti_system_counters_init(rst_driver_t *driver);
/* The two counters of our own that the UDP sockets count into. */
int rsti_datagram_counters_init(rst_driver_t *driver);
typedef struct rsti_stream_counter_t {
    int32_t type_id;
    const char *name;
    int64_t registration_id;
    int64_t client_id;
    int64_t reference_id;
    int32_t session_id;
    int32_t stream_id;
    const char *uri;
    bool has_join_position;
    int64_t value;
} rsti_stream_counter_t;
/* Id, or negative with a trail; *address is the value. */
int32_t rsti_stream_counter_allocate(rst_driver_t *driver, const rsti_stream_counter_t *facts,
    int64_t **address);
/* What counters of channels and of their addresses say. */
typedef enum rsti_channel_status_t {
    RSTI_CHANNEL_ERRORED = -1, /* its socket could not be had: seen until the id is used again */
    RSTI_CHANNEL_INITIALISING = 0,
    RSTI_CHANNEL_ACTIVE = 1,
    RSTI_CHANNEL_CLOSING = 2
} rsti_channel_status_t;
/* Its value is 0, of a channel: initialising. */
int32_t rsti_channel_counter_allocate(rst_driver_t *driver, int32_t type_id, const char *name,
    const char *uri, int64_t registration_id, int64_t client_id);
/* Active, with the address of its only socket behind the label. */
void rsti_channel_status_bound(rst_driver_t *driver, int32_t channel_status_id,
    rsti_socket_t *socket);
int32_t rsti_sockaddr_counter_allocate(rst_driver_t *driver, const char *name,
    int32_t channel_status_id, const char *bound_address, int64_t registration_id,
    int64_t client_id);
void rsti_counter_release(rst_driver_t *driver, int32_t *counter_id);
void rsti_counter_store(rst_driver_t *driver, int32_t counter_id, int64_t value);

/* conductor_reports.c */
/* A gap whose NAK is due (or that is filled): into the loss report, each byte once. */
void rsti_image_report_loss(rst_driver_t *driver, rsti_image_t *image, const rsti_gap_t *gap);

/* conductor_clients.c */
rsti_driver_client_t *rsti_client_find(rst_driver_t *driver, int64_t client_id);
/* It says so in its heartbeat counter. */
bool rsti_client_is_rstream(rst_driver_t *driver, int64_t client_id);
/* Makes it, with its heartbeat counter, at the first command; NULL with a trail. */
rsti_driver_client_t *rsti_client_get(rst_driver_t *driver, int64_t client_id);
/* Room for one more link: then linking cannot fail. */
int rsti_client_reserve_link(rsti_driver_client_t *client);
void rsti_client_link_publication(rsti_driver_client_t *client, int64_t registration_id,
    rsti_publication_t *publication);
void rsti_clients_check(rst_driver_t *driver, int64_t now_ns);
void rsti_clients_check_foreign(rst_driver_t *driver, int64_t now_ns);
void rsti_client_destroy(rsti_driver_client_t *client);
void rsti_on_keepalive(rst_driver_t *driver, const rsti_command_t *command);
void rsti_on_client_close(rst_driver_t *driver, const rsti_command_t *command);
void rsti_on_add_counter(rst_driver_t *driver, const rsti_command_t *command);
void rsti_on_add_static_counter(rst_driver_t *driver, const rsti_command_t *command);
void rsti_on_remove_counter(rst_driver_t *driver, const rsti_command_t *command);

/* conductor_publications.c. true: leave the command in the ring and try it again. */
bool rsti_on_add_publication(rst_driver_t *driver, const rsti_command_t *command);
/* Two names on one IPC stream id are refused: -RST_ECHANNEL naming both. */
int rsti_channel_check_name(rst_driver_t *driver, const rsti_channel_t *channel, int32_t stream_id);
/* By its own id or that of a client's link to it. */
rsti_publication_t *rsti_publication_of_id(const rst_driver_t *driver, int64_t registration_id);
void rsti_respond_unknown_publication(rst_driver_t *driver, const rsti_command_t *command);
void rsti_on_remove_publication(rst_driver_t *driver, const rsti_command_t *command);
void rsti_publication_release(rst_driver_t *driver, rsti_publication_t *publication,
    bool is_revoke);
void rsti_publications_update(rst_driver_t *driver, int64_t now_ns);
void rsti_publications_check(rst_driver_t *driver, int64_t now_ns, bool is_timer,
    int64_t *next_deadline_ns);

/* conductor_sessions.c */
rsti_ptr_array_t *rsti_publication_list(rst_driver_t *driver, bool is_network);
const rsti_send_endpoint_t *rsti_publication_endpoint(const rsti_publication_t *publication);
/* -RST_ECHANNEL naming the parameter when it is given and not that of the publication. */
int rsti_publication_check_equal(const char *name, int64_t asked, int64_t existing);
typedef struct rsti_session_scope_t {
    const rsti_send_endpoint_t *endpoint; /* NULL: IPC */
    bool is_any_kind;                     /* on no publication of the stream at all */
} rsti_session_scope_t;
int32_t rsti_session_next(rst_driver_t *driver, const rsti_session_scope_t *scope,
    int32_t stream_id);
bool rsti_session_is_taken(rst_driver_t *driver, const rsti_send_endpoint_t *endpoint,
    int32_t stream_id, int32_t session_id);
int rsti_session_resolve_tag(rst_driver_t *driver, rsti_channel_t *channel);
void rsti_on_next_session_id(rst_driver_t *driver, const rsti_command_t *command);

/* conductor_response_channels.c */
int64_t rsti_response_id_of(const rsti_channel_t *channel);
/* What response-correlation-id names must be there. 0 or -RST_ECHANNEL. */
int rsti_response_check_publication(rst_driver_t *driver, const rsti_channel_t *channel);
/* A publication is there: whoever waits for its session is told. */
void rsti_response_on_publication(rst_driver_t *driver, rsti_publication_t *publication);
/* It is connected, or going: nobody needs to be told any more. */
void rsti_response_settle(rst_driver_t *driver, rsti_network_publication_t *publication);
/* A publisher's driver told the session of our responses. */
void rsti_on_response_setup(rst_driver_t *driver, const rsti_agent_command_t *command);

/* conductor_subscriptions.c */
int rsti_subscription_add_interest(rst_driver_t *driver, const rsti_subscription_t *subscription);
bool rsti_on_add_subscription(rst_driver_t *driver, const rsti_command_t *command);
void rsti_subscription_free(rsti_subscription_t *subscription);
/* Of a channel, where it says nothing the driver's. */
rsti_tether_times_t rsti_tether_times_of(const rst_driver_params_t *params,
    const rsti_channel_t *channel);
/* An IPC or spy destination of parent; NULL with a trail. */
rsti_subscription_t *rsti_subscription_make_destination(rst_driver_t *driver,
    const rsti_subscription_t *parent, const rsti_channel_t *channel, int64_t destination_id);
void rsti_on_remove_subscription(rst_driver_t *driver, const rsti_command_t *command);
void rsti_subscription_remove(rst_driver_t *driver, rsti_subscription_t *subscription);

/* conductor_links.c */
/* One subscriber of a log: counter, then AVAILABLE_IMAGE. */
int rsti_link_ipc(rst_driver_t *driver, rsti_ipc_publication_t *publication,
    rsti_subscription_t *subscription);
int rsti_link_spy(rst_driver_t *driver, rsti_network_publication_t *publication,
    rsti_subscription_t *subscription);
int rsti_link_image(rst_driver_t *driver, rsti_image_t *image, rsti_subscription_t *subscription);
void rsti_link_ipc_subscribers(rst_driver_t *driver, rsti_ipc_publication_t *publication);
void rsti_link_spies(rst_driver_t *driver, rsti_network_publication_t *publication);
/* To every log there is. */
void rsti_link_existing(rst_driver_t *driver, rsti_subscription_t *subscription);
void rsti_unlink_subscription(rst_driver_t *driver, const rsti_subscription_t *subscription);
/* Those of its logs that the other one, of the same registration, brings as well are read for that
 * one now, from where they are. */
void rsti_subscription_hand_over(rst_driver_t *driver, const rsti_subscription_t *from,
    rsti_subscription_t *to);
/* UNAVAILABLE_IMAGE of all that it is linked to. */
void rsti_subscription_tell_unavailable(rst_driver_t *driver,
    const rsti_subscription_t *subscription);
/* True when it was there. */
bool rsti_subscribers_unlink(rst_driver_t *driver, rsti_subscribers_t *subscribers,
    const rsti_subscription_t *subscription);
/* UNAVAILABLE_IMAGE to each of them that has it. */
void rsti_subscribers_tell_unavailable(rst_driver_t *driver, rsti_subscribers_t *subscribers,
    int64_t image_id);
/* Only to rstream's clients, which read what is left and note the end by themselves. Aeron's forget
 * an image as soon as they are told, so their users would miss its end of stream: they are told
 * later. True when one was told. */
bool rsti_subscribers_tell_ours_unavailable(rst_driver_t *driver, rsti_subscribers_t *subscribers,
    int64_t image_id);
bool rsti_subscribers_know_unavailable(const rsti_subscribers_t *subscribers);
void rsti_subscribers_clear(rst_driver_t *driver, rsti_subscribers_t *subscribers);
/* Into the error log, once per subscriber: its position counter holds something impossible. */
void rsti_subscribers_tell_refused(rst_driver_t *driver, const rsti_subscribers_t *subscribers);
bool rsti_subscription_wants(const rsti_subscription_t *subscription, int32_t stream_id,
    int32_t session_id);
bool rsti_subscription_spies_on(const rsti_subscription_t *subscription,
    const rsti_network_publication_t *publication);
/* Untethered subscribers; timer. */
void rsti_tethers_check(rst_driver_t *driver);
/* slowest.c: which local reader holds a publication back; timer. */
void rsti_slowest_on_timer(rst_driver_t *driver, int64_t now_ns);
/* eviction.c: subscriptions with rs-evict. */
void rsti_eviction_watch(rst_driver_t *driver, rsti_subscription_t *subscription, int64_t evict_ns);
void rsti_eviction_times(const rsti_subscription_t *subscription, rsti_tether_t *tether);
static inline bool rsti_is_evicted(const rsti_subscription_t *subscription)
{
    return subscription->evicted_ns != INT64_MAX;
}
void rsti_evict(rst_driver_t *driver, rsti_subscription_t *subscription);
void rsti_evictions_poll(rst_driver_t *driver, int64_t now_ns, int64_t *next_deadline_ns);

/* conductor_logs.c */
typedef enum rsti_storage_t {
    RSTI_STORAGE_OK = 0,
    RSTI_STORAGE_LOW, /* at most warning_threshold is left over */
    RSTI_STORAGE_FULL
} rsti_storage_t;
rsti_storage_t rsti_storage_judge(int64_t usable, int64_t needed, int64_t warning_threshold);
/* Before a log is made: 0 or -RST_ESTORAGE; little room is written to the error log. */
int rsti_log_check_storage(rst_driver_t *driver, int32_t term_length);
/* Takes the file over, to be unmapped and removed in one of the next passes. */
void rsti_log_release(rst_driver_t *driver, rsti_log_file_t *file);
int64_t rsti_logs_free(rst_driver_t *driver, int64_t now_ns, int64_t *next_deadline_ns);
void rsti_logs_fini(rst_driver_t *driver);

/* conductor_images.c */
void rsti_on_create_image(rst_driver_t *driver, const rsti_agent_command_t *command);
void rsti_on_reject_image(rst_driver_t *driver, const rsti_command_t *command);
void rsti_images_rebuild(rst_driver_t *driver, int64_t now_ns, int64_t *next_deadline_ns);
void rsti_images_check(rst_driver_t *driver, int64_t now_ns, int64_t *next_deadline_ns);

/* conductor_image_limits.c: -RST_EFULL when there are enough already. */
int rsti_image_check_limits(rst_driver_t *driver, const rsti_receive_endpoint_t *endpoint,
    const rsti_setup_t *setup, bool is_sparse);
bool rsti_unproven_images_fit(int64_t held, int64_t wanted, int64_t most, int64_t usable);

/* endpoint_sender.c: how many were taken; fewer is counted, and the pass comes again soon. */
int32_t rsti_send_endpoint_send(rsti_sender_t *sender, rsti_send_endpoint_t *endpoint,
    rsti_datagram_t *datagrams, int32_t count);
void rsti_send_endpoint_on_sm(rsti_sender_t *sender, rsti_send_endpoint_t *endpoint,
    int64_t receiver_id, const struct sockaddr_storage *source, int64_t now_ns);
void rsti_send_endpoint_on_destination(rsti_sender_t *sender, int32_t type,
    const rsti_agent_command_t *command);
void rsti_send_endpoint_on_resolved(rsti_sender_t *sender, const rsti_agent_command_t *command);
/* Names whose addresses are silent are asked for again; true when there is any name at all. */
bool rsti_send_endpoint_check_names(rsti_sender_t *sender, rsti_send_endpoint_t *endpoint,
    int64_t now_ns);
void rsti_send_endpoint_check(rsti_sender_t *sender, rsti_send_endpoint_t *endpoint, int64_t now_ns,
    int64_t *next_deadline_ns);

/* conductor_names.c */
int rsti_names_init(rst_driver_t *driver);
void rsti_names_fini(rst_driver_t *driver);
void rsti_on_reresolve(rst_driver_t *driver, const rsti_agent_command_t *command);
void rsti_reresolutions_poll(rst_driver_t *driver, int64_t now_ns, int64_t *next_deadline_ns);

/* conductor_destinations.c: destinations of publications. true: try the command again. */
bool rsti_on_add_destination(rst_driver_t *driver, const rsti_command_t *command);
bool rsti_on_remove_destination(rst_driver_t *driver, const rsti_command_t *command);
void rsti_on_remove_destination_by_id(rst_driver_t *driver, const rsti_command_t *command);

/* conductor_rates.c: the channel's rate, else the driver's; one publication has one. */
int rsti_rate_of_channel(const rst_driver_t *driver, const rsti_channel_t *channel,
    rsti_rate_choice_t *rate);
int rsti_rate_check_shared(const rsti_publication_t *publication, const rsti_channel_t *channel);
void rsti_on_set_rate(rst_driver_t *driver, const rsti_command_t *command);

/* conductor_channels.c: what is served, and endpoints found or made. */
int rsti_channel_check_address(const rsti_channel_t *channel, const rsti_udp_channel_t *udp);
int rsti_channel_check_supported(const rsti_channel_t *channel, bool is_publication);
/* *is_closing: it is just being closed, try again. References are counted by the caller. */
int rsti_send_endpoint_get(rst_driver_t *driver, const rsti_channel_t *channel,
    const rsti_command_t *command, rsti_send_endpoint_t **endpoint, bool *is_closing);
int rsti_receive_endpoint_get(rst_driver_t *driver, const rsti_channel_t *channel,
    const rsti_command_t *command, rsti_receive_endpoint_t **endpoint, bool *is_closing);
/* A socket buffer asked for must be that of the socket which is there. */
int rsti_channel_check_buffer(const char *name, int64_t asked, int64_t existing,
    const rsti_channel_t *channel);
void rsti_send_endpoint_put(rst_driver_t *driver, rsti_send_endpoint_t *endpoint);
void rsti_receive_endpoint_put(rst_driver_t *driver, rsti_receive_endpoint_t *endpoint);
void rsti_endpoints_sweep(rst_driver_t *driver);
/* Whether what an agent has released may be freed: nothing in the conductor's queue names it. */
bool rsti_is_let_go(const rst_driver_t *driver, const int32_t *is_released);

/* conductor_receive_endpoints.c: the addresses of a subscription or one of its destinations, and
 * the transports of receive endpoints. */
/* 0, RSTI_LOOKUP_PENDING, or negative with a trail. */
int rsti_receive_channel_resolve(rst_driver_t *driver, const rsti_channel_t *channel,
    rsti_udp_channel_t *udp);
/* Makes it and hands it to the receiver. */
int rsti_receive_transport_add(rst_driver_t *driver, const rsti_transport_facts_t *facts);
void rsti_receive_transport_remove(rst_driver_t *driver, rsti_receive_transport_t *transport);
/* Closes what the receiver has released. */
void rsti_receive_endpoints_sweep(rst_driver_t *driver);

/* conductor_rcv_destinations.c */
/* True: leave the command in the ring and try it again. */
bool rsti_on_add_rcv_destination(rst_driver_t *driver, const rsti_command_t *command);
bool rsti_on_remove_rcv_destination(rst_driver_t *driver, const rsti_command_t *command);
/* False: no subscription has a destination of that id, nothing was answered. */
bool rsti_on_remove_rcv_destination_by_id(rst_driver_t *driver, const rsti_command_t *command);

/* receive_names.c */
void rsti_receiver_check_names(rsti_receiver_t *receiver, int64_t now_ns,
    int64_t *next_deadline_ns);
void rsti_on_resolve_control(rst_driver_t *driver, const rsti_agent_command_t *command);
void rsti_receiver_set_control(rsti_receiver_t *receiver, rsti_receive_transport_t *transport,
    const struct sockaddr_storage *address, int64_t now_ns);

/* receive_endpoint.c: *frame: the status message with the endpoint's group tag, when it has one.
 * Returns its length. */
size_t rsti_sm_with_tag(uint8_t frame[RSTI_SM_TAGGED_LENGTH], const rsti_sm_t *sm,
    const rsti_receive_endpoint_t *endpoint);

#endif
