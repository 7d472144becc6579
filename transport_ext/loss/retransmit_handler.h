/* retransmit_handler.h: what a NAK makes the sender do (docs/reference/aeron/wire.md 9.4). Pure:
 * the resend is a callback given with the call. Unicast: one action; groups: a pool.
 *
 * Towards rstream receivers of a unicast stream (docs/reference/wire.md, "Repair") there is a pool
 * too, an action lingers for a round trip, and a full pool gives the oldest action up instead of
 * refusing: a NAK is never unheard, and what NAKs may cost is bounded in bytes by the caller.
 *
 * What is asked for a second time was lost twice, and holds everything behind it back for another
 * round trip: it is sent twice, and what is asked for a third time three times
 * (RSTI_RETRANSMIT_COPIES_MAX). With loss p that costs p^2 of the rate, and leaves p^4 instead of
 * p^3 to wait once more: at 5 %, 100 ms and 100 MB/s less than one in twenty round trips instead of
 * each one. The pool is used in turn, so that it remembers as long as it can. */
#ifndef RSTI_LOSS_RETRANSMIT_HANDLER_H
#define RSTI_LOSS_RETRANSMIT_HANDLER_H

#include <stdbool.h>
#include <stdint.h>

#define RSTI_RETRANSMIT_POOL_MAX 256
#define RSTI_RETRANSMIT_POOL_REPAIR 512
#define RSTI_RETRANSMIT_COPIES_MAX 3

typedef enum rsti_retransmit_state_t {
    RSTI_RETRANSMIT_INACTIVE = 0,
    RSTI_RETRANSMIT_DELAYED,
    RSTI_RETRANSMIT_LINGERING
} rsti_retransmit_state_t;

typedef struct rsti_retransmit_action_t {
    int64_t expiry_ns;
    int32_t term_id;
    int32_t term_offset;
    int32_t length;
    int32_t times; /* it was asked for, and answered */
    rsti_retransmit_state_t state;
} rsti_retransmit_action_t;

typedef struct rsti_retransmit_handler_t {
    rsti_retransmit_action_t *actions; /* allocated at init, as many as there may be */
    int32_t pool_size;                 /* that new ones may take */
    int32_t place_count;               /* that may still linger: at least pool_size */
    int32_t next_place;                /* repairing: where the next one goes, if it is free */
    int32_t active_count;
    bool is_group;
    bool is_repairing; /* the receivers are rstream */
    int64_t delay_ns;
    int64_t linger_ns;
    int64_t standard_linger_ns; /* as at init */
    int64_t next_due_ns;        /* lower bound: before it no timer is due */
} rsti_retransmit_handler_t;

/* Resends [term_offset, + length) of term_id: 0; RSTI_RESEND_BLOCKED when nothing was sent because
 * the socket took nothing: it waits for the next pass; else negative when there is nothing to send:
 * such a NAK takes no place, and is heard again when it is repeated. */
#define RSTI_RESEND_BLOCKED (-2)
typedef int (*rsti_on_resend_t)(void *arg, int32_t term_id, int32_t term_offset, int32_t length);

int rsti_retransmit_init(rsti_retransmit_handler_t *handler, bool is_group, int32_t max_resend,
    int64_t delay_ns, int64_t linger_ns);
/* The receivers of a unicast stream are rstream and this far away; 0: they are not, or not known to
 * be. Actions that linger keep their time, though the pool becomes one. */
void rsti_retransmit_set_rtt(rsti_retransmit_handler_t *handler, int64_t rtt_ns);
void rsti_retransmit_fini(rsti_retransmit_handler_t *handler);
/* length is the NAK's, resend_length the clamped one. Returns 1 handled, 0 ignored, -1 pool full.
 */
int rsti_retransmit_on_nak(rsti_retransmit_handler_t *handler, int32_t term_id, int32_t term_offset,
    int32_t length, int32_t resend_length, int64_t now_ns, rsti_on_resend_t on_resend, void *arg);
/* Runs timers; returns how many actions resent; *next_due_ns as in the loss detector. */
int rsti_retransmit_process(rsti_retransmit_handler_t *handler, int64_t now_ns,
    rsti_on_resend_t on_resend, void *arg, int64_t *next_due_ns);

#endif
