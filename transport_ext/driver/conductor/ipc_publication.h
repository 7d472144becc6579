/* ipc_publication.h: a publication whose log is read directly by subscribers on this machine.
 * Law: limit <= least subscriber position + window, limit <= what the rate allows
 * (flow/allowance.h), and memory below the least subscriber position is zero before the limit
 * rises. Owner: conductor. */
#ifndef RSTI_DRIVER_CONDUCTOR_IPC_PUBLICATION_H
#define RSTI_DRIVER_CONDUCTOR_IPC_PUBLICATION_H

#include "driver/base/publication.h"
#include "flow/allowance.h"

typedef struct rsti_ipc_publication_t {
    rsti_publication_t base;
    int64_t trip_limit;
    rsti_allowance_t allowance;
    bool is_held_by_rate; /* what the log says, which is written and never read */
    int64_t consumer_position; /* highest that any subscriber reached */
    int64_t cool_down_ns; /* rejected: no subscriber until then; INT64_MIN */
} rsti_ipc_publication_t;

int rsti_ipc_publication_create(rst_driver_t *driver, rsti_ipc_publication_t **publication,
    const rsti_publication_facts_t *facts);
void rsti_ipc_publication_destroy(rst_driver_t *driver, rsti_ipc_publication_t *publication);
/* Position and limit; every conductor pass. */
void rsti_ipc_publication_update(rst_driver_t *driver, rsti_ipc_publication_t *publication,
    int64_t now_ns);
/* When the rate lets its limit rise; INT64_MAX: it holds nothing back. */
int64_t rsti_ipc_publication_due_ns(const rsti_ipc_publication_t *publication);
void rsti_ipc_publication_set_rate(rst_driver_t *driver, rsti_ipc_publication_t *publication,
    const rsti_rate_choice_t *rate);
/* 1 s timer, these three. A producer that died may hold its readers up. */
void rsti_ipc_publication_check_blocked(rst_driver_t *driver, rsti_ipc_publication_t *publication,
    int64_t now_ns);
/* True once, after a rejection: subscribers may be linked again. */
bool rsti_ipc_publication_has_cooled_down(rsti_ipc_publication_t *publication, int64_t now_ns);
/* True when the publication may be freed. */
bool rsti_ipc_publication_on_timer(rst_driver_t *driver, rsti_ipc_publication_t *publication,
    int64_t now_ns);
/* A subscriber wants no more of it: the publisher's clients are told, all subscribers lose it, and
 * get it again after the image liveness timeout. */
void rsti_ipc_publication_reject(rst_driver_t *driver, rsti_ipc_publication_t *publication,
    const char *reason, int32_t length);
int64_t rsti_ipc_publication_join_position(const rsti_ipc_publication_t *publication);
bool rsti_ipc_publication_accepts(const rsti_ipc_publication_t *publication);
void rsti_ipc_publication_on_subscribers_changed(rst_driver_t *driver,
    rsti_ipc_publication_t *publication);

#endif
