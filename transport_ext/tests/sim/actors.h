/* actors.h: the actors of a run: drivers, clients, and the roles of the client applications.
 * scenario.c creates them; driver_actor.c, client_actor.c, publisher.c and subscriber.c run them.
 */
#ifndef RSTI_SIM_ACTORS_H
#define RSTI_SIM_ACTORS_H

#include "driver/base/driver_state.h"
#include "driver/driver.h"
#include "rstream/rstream.h"
#include "tests/sim/fibers.h"
#include "tests/sim/model.h"
#include "tests/sim/network.h"

#define SIM_DRIVERS_MAX 6
#define SIM_CLIENTS_MAX 20
#define SIM_ROLES_MAX 40
#define SIM_PARTS_MAX 8
#define SIM_CHANNEL_MAX 256
#define SIM_VIEWS_OPEN_MAX 24
#define SIM_DESTINATIONS_MAX 6
/* Every file of a run lies below this directory, named by process id and seed. Its length is the
 * same in every run of a seed: ring records hold these paths, and the position where a ring wraps
 * must not depend on the number of digits of a process id. */
#define SIM_HOME "/dev/shm/rstream-sim-%07d-%" PRIu64

typedef struct sim_driver_t {
    int32_t index;
    int32_t host;
    sim_process_t *process; /* of the live incarnation; NULL: none */
    rst_driver_params_t params;
    rst_driver_t *driver; /* NULL: not open */
    int64_t counters_at_start;
    bool is_serving; /* it has started up */
    bool should_stop;
    bool has_ended;
    int32_t deaths;
} sim_driver_t;

typedef struct sim_client_t {
    int32_t index;
    sim_driver_t *driver;
    sim_process_t *process;
    rst_client_t *client;
    bool should_stop;
    bool has_ended;
    uint64_t roles_ended; /* changes when a role of this client ends */
    sim_activity_t
        dies_in;  /* the client is killed during such a call, after dies_after_turns more turns */
    int64_t dies_after_turns;
    int32_t claim_deaths; /* number of deaths with an open claim in the ring to the driver */
    int64_t command_patience_ns; /* time it waits for an answer; 0: the common default */
    int32_t deaths;
} sim_client_t;

/* Destinations of a channel with control-mode=manual: they are removed and added again while the
 * channel is in use. */
typedef struct sim_destination_t {
    char channel[96];
    int64_t id; /* while added; 0: not added */
} sim_destination_t;

typedef struct sim_destinations_t {
    sim_destination_t items[SIM_DESTINATIONS_MAX];
    int32_t count;
    double churn; /* probability at each message that one is removed or added */
    int64_t retry_ns;
} sim_destinations_t;

typedef enum sim_method_t {
    METHOD_OFFER,
    METHOD_PARTS,
    METHOD_CLAIM,
    METHOD_MANY,
    METHOD_BLOCK,
    METHOD_COUNT
} sim_method_t;

typedef struct sim_publisher_t {
    int32_t index;
    sim_client_t *client;
    char channel[SIM_CHANNEL_MAX];
    int32_t stream_id;
    bool is_ipc;
    bool is_exclusive;
    int32_t total; /* number of messages */
    int32_t length_max;
    uint32_t methods; /* bit per sim_method_t */
    int64_t pause_ns_max; /* between messages */
    double abort_chance; /* of a claim */
    bool abandons_claim; /* once: the driver unblocks it in a shared log */
    bool has_more_methods; /* publisher_more.c: frames and padding of an exclusive one */
    bool uses_waiter;
    bool revokes;
    bool asks_session; /* requests a session id of its own */
    int32_t session_base; /* requested id, plus one for each new handle; 0: none is requested */
    char led_channel[SIM_CHANNEL_MAX]; /* used instead while the leader publishes */
    const struct sim_publisher_t *leader;
    const struct sim_subscriber_t *follows; /* sends to where that one listens */
    bool must_send_all; /* in a gentle run: a reader exists or will exist */
    int64_t start_ns;
    sim_destinations_t destinations;
    double rate_changes; /* probability at each message that the law of rate changes */
    /* state of the run */
    sim_writer_t *writer;
    rst_publication_t *publication;
    int32_t handles; /* handles opened so far */
    rst_waiter_t *waiter;
    int32_t sent;
    bool is_running, is_done;
} sim_publisher_t;

/* polls.c: a reader takes whole messages, by any poll that assembles them, or raw frames. */
typedef enum sim_reading_t {
    READING_BATCHES,
    READING_WHOLE,
    READING_RAW
} sim_reading_t;

typedef struct sim_subscriber_t {
    int32_t index;
    sim_client_t *client;
    char channel[SIM_CHANNEL_MAX];
    int32_t stream_id;
    bool is_reliable;
    bool is_in_group;
    bool is_sure; /* must receive everything up to the end in a gentle run */
    bool is_evicting; /* rs-evict: a batch reports whether it is still intact */
    int64_t held_ns_max; /* a batch stays intact for so long: an untethered reader may be dropped */
    int32_t only_session; /* reads only this session; 0: all */
    bool is_any_port; /* a port of its driver's range */
    sim_destinations_t destinations;
    int64_t start_ns;
    int64_t leave_ns; /* INT64_MAX: stays to the end */
    int64_t pause_ns_max; /* between polls */
    int64_t stop_from_ns, stop_until_ns; /* consumes nothing in between */
    int32_t batch;
    bool uses_waiter;
    bool holds_batches; /* keeps each until it has the next one */
    double reject_chance; /* of an image, at each message */
    bool uses_demand;
    sim_reading_t reading;
    /* state of the run */
    sim_view_t *views[SIM_VIEWS_OPEN_MAX];
    int32_t view_sessions[SIM_VIEWS_OPEN_MAX];
    int32_t view_count;
    int64_t last_news_ns;
    char address[64]; /* its local address, once it is known */
    bool is_running, is_done;
} sim_subscriber_t;

/* side_roles.h */
typedef enum sim_side_role_kind_t {
    SIDE_ROLE_COUNTERS,
    SIDE_ROLE_OBSERVER,
    SIDE_ROLE_MISUSE,
    SIDE_ROLE_ECHO,
    SIDE_ROLE_KINDS
} sim_side_role_kind_t;

#define SIM_SIDE_ROLES_MAX 8
typedef struct sim_side_role_t {
    int32_t index;
    sim_side_role_kind_t kind;
    sim_client_t *client;
    int64_t start_ns;
    int64_t pause_ns_max; /* between rounds, and within */
    int32_t rounds; /* rounds left */
    bool is_running, is_done;
} sim_side_role_t;

/* A role with a file of its own. */
typedef struct sim_part_t sim_part_t;
typedef struct sim_part_kind_t {
    const char *name;
    bool is_source; /* publishing is not over before it is done */
    bool (*play)(sim_part_t *self); /* true: done; false: it runs again with the next client */
} sim_part_kind_t;

struct sim_part_t {
    const sim_part_kind_t *kind;
    int32_t number; /* among its kind */
    sim_client_t *client;
    int64_t start_ns;
    bool is_running, is_done;
};

typedef struct sim_actors_t {
    char dir[128]; /* SIM_HOME of this run */
    sim_driver_t drivers[SIM_DRIVERS_MAX];
    int32_t driver_count;
    sim_client_t clients[SIM_CLIENTS_MAX];
    int32_t client_count;
    sim_publisher_t publishers[SIM_ROLES_MAX];
    int32_t publisher_count;
    sim_subscriber_t subscribers[SIM_ROLES_MAX];
    int32_t subscriber_count;
    sim_side_role_t side_roles[SIM_SIDE_ROLES_MAX];
    int32_t side_role_count;
    sim_part_t parts[SIM_PARTS_MAX];
    int32_t part_count;
    int64_t calm_ns; /* when the faults end */
    bool is_gentle; /* no deaths, no long pauses: everything must arrive */
    bool is_publishing_over;
} sim_actors_t;

extern sim_actors_t actors;

void sim_driver_start(sim_driver_t *driver);
/* options.c: sometimes the driver's options are written as text and parsed again. */
void sim_options_read(sim_driver_t *driver);
void sim_client_start(sim_client_t *client);
/* destinations.c: adds all that are missing, or (sometimes) removes one or adds it again. */
typedef struct sim_channel_t {
    rst_client_t *client;
    rst_publication_t *publication; /* either this one or the subscription */
    rst_subscription_t *subscription;
} sim_channel_t;
void sim_destinations_add(sim_destinations_t *destinations, const sim_channel_t *channel);
void sim_destinations_forget(sim_destinations_t *destinations); /* its channel was opened anew */
void sim_destinations_churn(sim_destinations_t *destinations, const sim_channel_t *channel);

/* A role's fiber; it ends when its work is done or its client is lost. */
void sim_publisher_start(sim_publisher_t *publisher);
void sim_subscriber_start(sim_subscriber_t *subscriber);
void sim_side_role_start(sim_side_role_t *side_role);
void sim_publisher_on_death(sim_publisher_t *publisher);
void sim_subscriber_on_death(sim_subscriber_t *subscriber);
void sim_side_role_on_death(sim_side_role_t *side_role);

/* rates.c: sometimes changes the rate. */
void sim_publisher_change_rate(sim_publisher_t *self);

/* channels.c: the channel to publish on now; false: it is not known yet. */
bool sim_publisher_channel(const sim_publisher_t *publisher, rst_client_t *client, char *channel,
    size_t size);
/* Fails unless the socket's address lies in the port range of its driver. */
void sim_ports_check(const sim_driver_t *driver, const char *address, bool is_of_sender);

/* parts.c */
void sim_part_start(sim_part_t *part);
void sim_parts_on_death(const sim_client_t *client);
bool sim_parts_run(const sim_client_t *client);
bool sim_parts_start(sim_client_t *client); /* false: no role is left to run */
bool sim_parts_have_published(void);
/* 1: done; 0: refused, with the error trail; negative: the client is lost. */
int sim_part_await(const sim_part_t *part, int64_t correlation_id);
rst_publication_t *sim_part_publish(const sim_part_t *part, const char *channel, int32_t stream_id,
    bool is_exclusive);
rst_subscription_t *sim_part_subscribe(const sim_part_t *part, const char *channel,
    int32_t stream_id);

void sim_driver_kill(sim_driver_t *driver);
void sim_client_kill(sim_client_t *client);

/* publisher_more.c: returns a position or a negative reason, like the methods of publisher.c. */
int64_t sim_publisher_more(sim_publisher_t *publisher);
int64_t sim_publisher_abandon(sim_publisher_t *publisher);
void sim_publisher_wait(sim_publisher_t *publisher, int64_t timeout_ns);
void sim_publisher_end_waits(sim_publisher_t *publisher);

/* Some datagrams of the stream have no receiver, because its destinations come and go. */
bool sim_actors_have_destinations(int32_t stream_id);

/* scenario.c: creates the actors and puts the faults on the agenda. */
void sim_scenario_write(void);

/* Kills a client whose time of death has come. */
void sim_scenario_on_turn(const sim_fiber_t *fiber);
/* dead_claim.c: the same for a client that has just claimed its record in the ring to the driver.
 */
void sim_dead_claim_on_turn(const sim_fiber_t *fiber);

/* client_actor.c: 1: the command is answered. A command of a patient client must be answered. */
int sim_client_await(const sim_client_t *client, int64_t correlation_id);

/* driver_invariants.c: what must hold in the drivers' memory between any two turns. */
void sim_driver_invariants_init(void);
void sim_driver_invariants_check(void);
int64_t sim_driver_counter_count(const rst_driver_t *driver);
int64_t sim_driver_log_count(const rst_driver_t *driver);
/* When the sender's pass began; 0: the driver of that process is closing. */
int64_t sim_driver_send_pass_ns(int32_t process_id);

/* user_counters.c: counters that outlive the clients that made them, and their final values. */
void sim_user_counters_init(void);
int64_t sim_user_counters_static(const sim_driver_t *driver);
void sim_user_counters_check(void);

/* run.c: the run from its first moment to the last check. */
void sim_run(uint64_t seed, bool is_traced);

#endif
