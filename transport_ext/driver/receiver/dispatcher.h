/* dispatcher.h: the table of the sessions of a receive endpoint (docs/reference/aeron/wire.md 6.4).
 * The conductor makes and frees it; all other functions are called by the receiver.
 *
 *   state              entered                                  data      SETUP
 *   (none)             at first, and when forgotten             asked     proof, then image
 *   INIT_IN_PROGRESS   an image was asked for                   ignored   ignored
 *   ACTIVE             the image exists                         inserted  refreshes its connection
 *   COOL_DOWN          the image ended without end of stream    ignored   ignored
 *
 * The entries are one block of memory that the conductor allocates. When all are in use, a new
 * session replaces the oldest entry in COOL_DOWN. A session that finds no place is ignored. Only
 * sessions that a subscription wants get an entry, and only once their source is admitted
 * (admission.h): strangers cannot fill the table. */
#ifndef RSTI_DRIVER_RECEIVER_DISPATCHER_H
#define RSTI_DRIVER_RECEIVER_DISPATCHER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rsti_image_t rsti_image_t;

typedef enum rsti_session_state_t {
    RSTI_SESSION_ACTIVE = 0,
    RSTI_SESSION_INIT_IN_PROGRESS,
    RSTI_SESSION_COOL_DOWN,
    RSTI_SESSION_STATES
} rsti_session_state_t;

typedef struct rsti_session_t {
    int32_t stream_id;
    int32_t session_id;
    rsti_session_state_t state;
    int32_t next; /* index + 1 in the chain or the free list; 0 ends */
    rsti_image_t *image;
    int64_t since_ns;
} rsti_session_t;

/* The interest of a subscription in a stream, or in one session of it. The conductor makes it, the
 * receiver links it, and the agent that unlinks it frees it. */
typedef struct rsti_interest_t {
    int64_t registration_id;
    int32_t stream_id;
    bool has_session;
    int32_t session_id;
    struct rsti_interest_t *next;
} rsti_interest_t;

#define RSTI_SESSION_BUCKETS 256

typedef struct rsti_dispatcher_t {
    rsti_session_t *sessions;
    int32_t capacity;
    int32_t free_head; /* index + 1 */
    int32_t counts[RSTI_SESSION_STATES];
    int32_t buckets[RSTI_SESSION_BUCKETS]; /* index + 1 */
    rsti_interest_t *interests;
} rsti_dispatcher_t;

/* Allocates the entries. 0 or -RST_ENOMEM. */
int rsti_dispatcher_init(rsti_dispatcher_t *dispatcher, int32_t capacity);
void rsti_dispatcher_fini(rsti_dispatcher_t *dispatcher);

/* NULL when there is no such session. */
rsti_session_t *rsti_dispatcher_find(rsti_dispatcher_t *dispatcher, int32_t stream_id,
    int32_t session_id);
/* Adds a session in that state. NULL when the table is full. */
rsti_session_t *rsti_dispatcher_put(rsti_dispatcher_t *dispatcher, int32_t stream_id,
    int32_t session_id, rsti_session_state_t state, int64_t now_ns);
void rsti_dispatcher_set_state(rsti_dispatcher_t *dispatcher, rsti_session_t *session,
    rsti_session_state_t state, int64_t now_ns);
void rsti_dispatcher_forget(rsti_dispatcher_t *dispatcher, rsti_session_t *session);
/* True when a subscription is interested in that session. */
bool rsti_dispatcher_is_wanted(const rsti_dispatcher_t *dispatcher, int32_t stream_id,
    int32_t session_id);
bool rsti_dispatcher_has_interest(const rsti_dispatcher_t *dispatcher);
void rsti_dispatcher_add_interest(rsti_dispatcher_t *dispatcher, rsti_interest_t *interest);
/* Removes an interest, and the sessions that no other subscription is interested in. */
void rsti_dispatcher_remove_interest(rsti_dispatcher_t *dispatcher, int64_t registration_id);

#endif
