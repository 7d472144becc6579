/* retransmit_handler.h: how a sender answers a NAK (docs/reference/aeron/wire.md 9.4). Pure: the
 * resend is a callback given with the call. Unicast has one action, a group has a pool of them.
 *
 * With rstream receivers (docs/reference/wire.md, "Repair") unicast has a pool too. An action then
 * lingers for a round trip, and a full pool drops its oldest action and accepts the new NAK. Only
 * where every action waits for room on the path, a NAK is ignored: its repetition is served. The
 * caller bounds the bytes that NAKs may cost.
 *
 * Data that is asked for a second time was lost twice, and delays everything behind it by another
 * round trip. It is therefore sent twice, and three times when it is asked for a third time
 * (RSTI_RETRANSMIT_COPIES_MAX). If a share p of datagrams is lost, this costs p^2 of the rate, and
 * p^4 of the data instead of p^3 waits once more. At 5 %, 100 ms and 100 MB/s such a wait happens
 * in less than one of twenty round trips instead of each one. The places of the pool are used in
 * turn, so that it remembers as long as it can. */
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
    int32_t times; /* how often it was asked for and resent */
    int32_t done; /* delayed: so much of it was resent already */
    rsti_retransmit_state_t state;
} rsti_retransmit_action_t;

typedef struct rsti_retransmit_handler_t {
    rsti_retransmit_action_t *actions; /* allocated at init, as many as there may be */
    int32_t pool_size;                 /* places for new actions */
    int32_t place_count;               /* places where actions may linger: at least pool_size */
    int32_t next_place;                /* repairing: place of the next action, if it is free */
    int32_t active_count;
    bool is_group;
    bool is_repairing; /* the receivers are rstream */
    int64_t delay_ns;
    int64_t linger_ns;
    int64_t standard_linger_ns; /* the value given at init */
    int64_t next_due_ns;        /* lower bound: no timer is due earlier */
} rsti_retransmit_handler_t;

/* Resends [term_offset, + length) of term_id. Returns 0; how much of it was resent, if the path had
 * room for no more; RSTI_RESEND_BLOCKED if the path or the socket was full and nothing was sent. In
 * these two cases the next pass goes on. Another negative value if there is nothing to send: such a
 * NAK takes no place in the pool, and its repetition is served. */
#define RSTI_RESEND_BLOCKED (-2)
typedef int (*rsti_on_resend_t)(void *arg, int32_t term_id, int32_t term_offset, int32_t length);

int rsti_retransmit_init(rsti_retransmit_handler_t *handler, bool is_group, int32_t max_resend,
    int64_t delay_ns, int64_t linger_ns);
/* The receivers of a unicast stream are rstream, with this round trip; 0: they are not, or it is
 * not known. Lingering actions keep their time, even when the pool shrinks to one place. */
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
