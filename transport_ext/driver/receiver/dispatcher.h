/* dispatcher.h: what a receive endpoint knows about sessions (docs/reference/aeron/wire.md 6.4).
 * Owner: receiver.
 *
 *   state              entered                                  data      SETUP
 *   (none)             at first, and when forgotten             elicit    create image
 *   PENDING_SETUP      a SETUP was elicited; forgotten in 1 s   ignored   create image
 *   INIT_IN_PROGRESS   an image was asked for                   ignored   ignored
 *   ACTIVE             the image is there                       inserted  refreshes its connection
 *   COOL_DOWN          the image went without end of stream     ignored   ignored
 *
 * The entries lie in one block made by the conductor. When all are taken a new session takes the
 * place of the oldest that cools down; a SETUP also that of the oldest elicited one, so that a
 * flood of data cannot keep publishers out; else it is ignored. "No interest" is not stored: it is
 * asked again, which a flood of unwanted sessions cannot fill. */
#ifndef RSTI_DRIVER_RECEIVER_DISPATCHER_H
#define RSTI_DRIVER_RECEIVER_DISPATCHER_H

#include <stdbool.h>
#include <stdint.h>

typedef struct rsti_image_t rsti_image_t;

typedef enum rsti_session_state_t {
    RSTI_SESSION_ACTIVE = 0,
    RSTI_SESSION_PENDING_SETUP,
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

/* A subscription wants a stream, or one session of it. Made by the conductor, linked by the
 * receiver, freed by the agent that unlinks it. */
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

int rsti_dispatcher_init(rsti_dispatcher_t *dispatcher, int32_t capacity);
void rsti_dispatcher_fini(rsti_dispatcher_t *dispatcher);

rsti_session_t *rsti_dispatcher_find(rsti_dispatcher_t *dispatcher, int32_t stream_id,
    int32_t session_id);
/* NULL when full. */
rsti_session_t *rsti_dispatcher_put(rsti_dispatcher_t *dispatcher, int32_t stream_id,
    int32_t session_id, rsti_session_state_t state, int64_t now_ns);
void rsti_dispatcher_set_state(rsti_dispatcher_t *dispatcher, rsti_session_t *session,
    rsti_session_state_t state, int64_t now_ns);
void rsti_dispatcher_forget(rsti_dispatcher_t *dispatcher, rsti_session_t *session);
bool rsti_dispatcher_is_wanted(const rsti_dispatcher_t *dispatcher, int32_t stream_id,
    int32_t session_id);
bool rsti_dispatcher_has_interest(const rsti_dispatcher_t *dispatcher);
void rsti_dispatcher_add_interest(rsti_dispatcher_t *dispatcher, rsti_interest_t *interest);
/* Drops the sessions that nobody wants any more. */
void rsti_dispatcher_remove_interest(rsti_dispatcher_t *dispatcher, int64_t registration_id);
/* Forgets set-ups that nobody answered for limit_ns. Returns when the next one is due. */
int64_t rsti_dispatcher_expire(rsti_dispatcher_t *dispatcher, int64_t limit_ns, int64_t now_ns);

#endif
