/* name_lookup.h: look-up of host names in separate threads, so that the conductor need not wait,
 * and one slow name does not hold other names up. The conductor asks again in its next passes until
 * the answer is there. A thread starts when a name comes and no thread is free, so a driver that is
 * given only numeric addresses has none. */
#ifndef RSTI_DRIVER_BASE_NAME_LOOKUP_H
#define RSTI_DRIVER_BASE_NAME_LOOKUP_H

#include "util/clock.h"
#include "util/name_resolver.h"

/* Names being looked up, and answers that are still fresh. */
#define RSTI_LOOKUPS_MAX 32
#define RSTI_LOOKUP_THREADS_MAX 8
/* An answer is kept for this long after the last request for it. A command with two names needs
 * both answers at once, but a later look-up of the same name needs a new answer. A failure is kept
 * for this long after the first request that got it: it ends its command, and the next command
 * needs a new try. */
#define RSTI_LOOKUP_FRESH_NS (500 * RSTI_NS_PER_MS)
/* No answer is kept longer than this after the first request that got it: the host may have moved.
 */
#define RSTI_LOOKUP_KEPT_NS (10 * RSTI_NS_PER_S)
/* An answer that no request has got yet is kept for this long. */
#define RSTI_LOOKUP_UNTAKEN_NS (10 * RSTI_NS_PER_S)

typedef struct rsti_name_lookup_t rsti_name_lookup_t;

typedef struct rsti_name_lookup_params_t {
    rsti_name_resolver_t inner; /* may block; its argument must outlive the last look-up */
    rsti_clock_t clock;
    /* Called after each look-up in its thread, one call at a time; never after destroy(). */
    void (*on_done)(void *arg, int64_t took_ns);
    void *arg;
} rsti_name_lookup_params_t;

/* 0 or -RST_ENOMEM. */
int rsti_name_lookup_create(rsti_name_lookup_t **lookup, const rsti_name_lookup_params_t *params);
/* Does not wait for a look-up that hangs: the last look-up thread frees the memory. */
void rsti_name_lookup_destroy(rsti_name_lookup_t *lookup);
/* The function of the resolver; arg is the look-up. -RST_EFULL when too many names wait. Called by
 * the conductor. */
int rsti_name_lookup_resolve(void *arg, const char *host, int family,
    struct sockaddr_storage *address);

#endif
