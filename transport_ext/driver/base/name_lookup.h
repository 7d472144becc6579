/* name_lookup.h: host names looked up in a thread of its own, for a conductor that must not wait:
 * it asks again in its next passes. The thread starts with the first name, so a driver that is
 * given numbers has none. */
#ifndef RSTI_DRIVER_BASE_NAME_LOOKUP_H
#define RSTI_DRIVER_BASE_NAME_LOOKUP_H

#include "util/clock.h"
#include "util/name_resolver.h"

/* Names being looked up, and answers that are still fresh. */
#define RSTI_LOOKUPS_MAX 32
/* An answer that was taken is kept while it is asked for, and so long after: a command with two
 * names needs both at once, and a name that is looked up again needs a new one. A failure is kept
 * so long however often it is asked for: it ends its command, and the next one may have better
 * luck. */
#define RSTI_LOOKUP_FRESH_NS (500 * RSTI_NS_PER_MS)
/* No answer is kept longer, once it was taken: what it names may have moved. */
#define RSTI_LOOKUP_KEPT_NS (10 * RSTI_NS_PER_S)
/* One that nobody has taken yet. */
#define RSTI_LOOKUP_UNTAKEN_NS (10 * RSTI_NS_PER_S)

typedef struct rsti_name_lookup_t rsti_name_lookup_t;

typedef struct rsti_name_lookup_params_t {
    rsti_name_resolver_t inner; /* blocks; its argument must outlive the process's last look-up */
    rsti_clock_t clock;
    /* After each look-up, in its thread; never after destroy(). */
    void (*on_done)(void *arg, int64_t took_ns);
    void *arg;
} rsti_name_lookup_params_t;

int rsti_name_lookup_create(rsti_name_lookup_t **lookup, const rsti_name_lookup_params_t *params);
/* Does not wait for a look-up that hangs: its thread cleans up when it comes back. */
void rsti_name_lookup_destroy(rsti_name_lookup_t *lookup);
/* A resolver's function; arg is the look-up. -RST_EFULL when too many names wait. */
int rsti_name_lookup_resolve(void *arg, const char *host, int family,
    struct sockaddr_storage *address);

#endif
