/* fork.h: objects made before a fork are dead in the child.
 *
 * Each object remembers the fork generation of its birth. The child process has another generation,
 * so every function of the API can tell, without a lock, that an object is not usable there. Any
 * thread; nothing here blocks. */
#ifndef RSTI_CLIENT_FORK_H
#define RSTI_CLIENT_FORK_H

#include "concurrent/atomics.h"

#include <stdbool.h>
#include <stdint.h>

/* The number of forks between the first process and this one. */
extern int32_t rsti_fork_generation;

/* Registers the handler that counts forks. Repeated calls do nothing. */
void rsti_fork_guard_init(void);

/* Whether this process is a child forked after the object of that generation was made. */
static inline bool rsti_is_forked(int32_t generation)
{
    return generation != rsti_load_relaxed_i32(&rsti_fork_generation);
}

/* Returns -RST_EFORKED with a trail. `what` names the object: "client", "waiter". */
int rsti_set_forked_error(const char *what);

#endif
