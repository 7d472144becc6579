/* ipc_publication.h: a publication whose log is read directly by subscribers on this machine.
 *
 * Law: the limit never exceeds the least subscriber position plus the window, nor the position
 * that the rate allows (ipc_rate.h). Memory below the least subscriber position is zero
 * before the limit rises. Owner: conductor. */
#ifndef RSTI_DRIVER_CONDUCTOR_IPC_PUBLICATION_H
#define RSTI_DRIVER_CONDUCTOR_IPC_PUBLICATION_H

#include "driver/base/publication.h"
#include "driver/conductor/ipc_rate.h"

typedef struct rsti_ipc_publication_t {
    rsti_publication_t base;
    int64_t trip_limit;
    int64_t window; /* of now: that of its options, or less (reader_window.h) */
    rsti_ipc_rate_t rate;
    int64_t looks_again_ns; /* a publisher that was refused may not have known that it is to wake
                             * the conductor; INT64_MAX: no */
    bool may_fill; /* of a reader that holds the window; reader_window.h */
    bool is_held_by_rate; /* copy of the word in the log, which the driver writes but never reads */
    int64_t consumer_position; /* highest that any subscriber reached */
    int64_t cool_down_ns; /* after a rejection: no subscriber before this time; else INT64_MIN */
    int64_t reader_client_id; /* of one of its subscribers, or of the last one */
} rsti_ipc_publication_t;

/* Returns 0, or a negative error code with a trail; then *publication is unchanged. */
int rsti_ipc_publication_create(rst_driver_t *driver, rsti_ipc_publication_t **publication,
    const rsti_publication_facts_t *facts);
/* Releases the log, the counters and the subscribers. */
void rsti_ipc_publication_destroy(rst_driver_t *driver, rsti_ipc_publication_t *publication);
/* Each pass: updates the position counter and the limit. */
void rsti_ipc_publication_update(rst_driver_t *driver, rsti_ipc_publication_t *publication,
    int64_t now_ns);
/* The time at which the rate allows a higher limit. INT64_MAX: the rate does not hold the limit. */
int64_t rsti_ipc_publication_due_ns(const rsti_ipc_publication_t *publication);
/* Changes the rate. The limit may fall. 0, or a negative error code with a trail: there is no
 * memory for its counters. */
int rsti_ipc_publication_set_rate(rst_driver_t *driver, rsti_ipc_publication_t *publication,
    const rsti_rate_choice_t *rate, int64_t client_id);
/* The timer calls this function and the next two.
 *
 * Unblocks the log when a dead producer holds its readers up. */
void rsti_ipc_publication_check_blocked(rst_driver_t *driver, rsti_ipc_publication_t *publication,
    int64_t now_ns);
/* True once, after a rejection: subscribers may be linked again. */
bool rsti_ipc_publication_has_cooled_down(rsti_ipc_publication_t *publication, int64_t now_ns);
/* True when it has ended and neither a publisher nor a subscriber has it. It may be freed at
 * once. */
bool rsti_ipc_publication_has_nobody(const rsti_ipc_publication_t *publication);
/* True when the publication may be freed. */
bool rsti_ipc_publication_on_timer(rst_driver_t *driver, rsti_ipc_publication_t *publication,
    int64_t now_ns);
/* A subscriber rejects the publication. The publisher's clients are told. All subscribers are
 * unlinked, and linked again after the image liveness timeout. */
void rsti_ipc_publication_reject(rst_driver_t *driver, rsti_ipc_publication_t *publication,
    const char *reason, int32_t length);
/* The position at which a new subscriber begins. */
int64_t rsti_ipc_publication_join_position(const rsti_ipc_publication_t *publication);
/* True when a new subscriber may be linked. */
bool rsti_ipc_publication_accepts(const rsti_ipc_publication_t *publication);
/* Call it after each change of the subscribers. Updates the limit and the connected flag. */
void rsti_ipc_publication_on_subscribers_changed(rst_driver_t *driver,
    rsti_ipc_publication_t *publication);

#endif
